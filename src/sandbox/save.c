/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State in a file: one JSON document, {"resourceVersion": N, "objects": [{"group", "plural", "object"}, …]}. Written to
 * a temporary file beside it, synced, renamed. Watch history is not kept: after loading everything before is compacted.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"
#include "sandbox/controllers.h"
#include "sandbox/crd.h"
#include "sandbox/gc.h"
#include "sandbox/prepare.h"

#define SAVE_MAX_BYTES JSON_MAX_BYTES

static void add_shelf(struct buf *out, const struct shelf *shelf, bool *is_first) {
        for (size_t i = 0; i < shelf->count; i++) {
                buf_addc(out, *is_first ? "\n" : ",\n");
                *is_first = false;
                buf_addf(out, "{\"group\":\"%.*s\",\"plural\":\"%.*s\",\"object\":", STR_FMT(shelf->group),
                         STR_FMT(shelf->plural));
                value_print(shelf->items[i]->value, out);
                buf_addch(out, '}');
        }
}

static int write_all(int fd, struct str text) {
        while (text.n) {
                ssize_t n = write(fd, text.p, text.n);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -1;
                text = str_sub(text, (size_t)n, text.n);
        }
        return fsync(fd);
}

static int replace_file(const char *path, struct str text, struct err *err) {
        _cleanup_(buf_done) struct buf temporary = buf_make(GIT_MAX_PATH_BYTES);

        buf_addf(&temporary, "%s.new", path);
        int fd = open(temporary.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0)
                return err_set_errno(err, errno, "cannot write %s", temporary.p);
        int r = write_all(fd, text), why = errno;
        if (close(fd) < 0 && r == 0) {
                r = -1;
                why = errno;
        }
        if (r == 0 && rename(temporary.p, path) < 0) {
                r = -1;
                why = errno;
        }
        if (r < 0) {
                unlink(temporary.p);
                return err_set_errno(err, why, "cannot write %s", path);
        }
        return 0;
}

int sandbox_save(struct sandbox *s, const char *path, struct err *err) {
        _cleanup_(buf_done) struct buf out = buf_make(SAVE_MAX_BYTES);
        struct shelf *shelf;
        bool is_first = true;
        size_t at = 0;

        buf_addf(&out, "{\"resourceVersion\":%" PRIu64 ",\"objects\":[", store_rv(s->store));
        while ((shelf = store_next_shelf(s->store, &at)))
                add_shelf(&out, shelf, &is_first);
        buf_addc(&out, "\n]}\n");
        int r = buf_check(&out, "the sandbox's state", err);
        return r < 0 ? r : replace_file(path, buf_str(&out), err);
}

/* ---- loading ---- */

static int read_file(const char *path, struct buf *out, struct err *err) {
        char piece[64 * KIB];
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        if (fd < 0)
                return err_set_errno(err, errno, "cannot read %s", path);
        while ((n = read(fd, piece, sizeof piece)) > 0)
                buf_add(out, (struct str){ piece, (size_t)n });
        int why = errno;
        close(fd);
        if (n < 0)
                return err_set_errno(err, why, "cannot read %s", path);
        return buf_check(out, path, err);
}

static int restore(struct sandbox *s, const struct value *entry, size_t index, struct err *err) {
        const struct value *plural = value_getc(entry, "plural"), *object = value_getc(entry, "object");
        struct str group = value_text(value_getc(entry, "group"));
        uint64_t rv = 0;

        if (!value_is(plural, VALUE_STRING) || !value_is(object, VALUE_MAP) || meta_text(object, "name").n == 0 ||
            !str_to_u64(meta_text(object, "resourceVersion"), &rv))
                return err_set(err, ERR_CORRUPT, "object %zu of the saved state is damaged", index);
        struct shelf *shelf = store_shelf(s->store, group, plural->text);
        if (shelf_find(shelf, meta_text(object, "namespace"), meta_text(object, "name")))
                return err_set(err, ERR_CORRUPT, "object %zu of the saved state is there twice", index);
        shelf_restore(shelf, object, rv);
        return 0;
}

/* The sandbox's parts learn of what was loaded as of new objects. */
static void tell_all(struct sandbox *s) {
        const struct kind *kind;
        size_t at = 0;

        crds_restore(s->crds);
        while ((kind = kinds_next(s->kinds, &at))) {
                if (!kind->shelf || kind->storage != kind)
                        continue;
                for (size_t i = 0; i < kind->shelf->count; i++) {
                        if (str_eqc(kind->resource->kind, "Service") && kind->resource->group.n == 0)
                                allocator_tell(s->allocator, NULL, kind->shelf->items[i]->value);
                        if (s->gc)
                                gc_tell(s->gc, kind, NULL, kind->shelf->items[i]);
                        if (s->controllers)
                                controllers_tell(s->controllers, kind, NULL, kind->shelf->items[i]);
                }
        }
}

static void forget_all(struct sandbox *s) {
        struct shelf *shelf;
        size_t at = 0;

        while ((shelf = store_next_shelf(s->store, &at)))
                shelf_clear(shelf);
        store_compact(s->store);
        allocator_free(s->allocator);
        s->allocator = allocator_new();
        gc_free(s->gc);
        s->gc = s->options.no_controllers ? NULL : gc_new(s);
        if (s->controllers)
                controllers_reset(s->controllers);
}

int sandbox_load(struct sandbox *s, const char *path, struct err *err) {
        _cleanup_(buf_done) struct buf text = buf_make(SAVE_MAX_BYTES);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *document;
        int64_t rv = 0;
        int r = read_file(path, &text, err);

        if (r < 0)
                return r;
        if (json_parse(buf_str(&text), a, &document, NULL) < 0)
                return err_set(err, ERR_CORRUPT, "%s is no JSON", path);
        const struct value *objects = value_getc(document, "objects");
        if (!value_is(objects, VALUE_LIST) || !value_to_i64(value_getc(document, "resourceVersion"), &rv))
                return err_set(err, ERR_CORRUPT, "%s is no saved state of a sandbox", path);
        forget_all(s);
        for (size_t i = 0; i < objects->list.count; i++) {
                r = restore(s, objects->list.items[i], i, err);
                if (r < 0)
                        return r;
        }
        store_set_rv(s->store, (uint64_t)rv);
        tell_all(s);
        return 0;
}

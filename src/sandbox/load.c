/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a saved state back (save_impl.h). Objects in the store were decoded and validated, and everybody relies on that.
 * Loading does neither again: the sum tells that the file is as it was written. Everything is read before anything is
 * replaced, so a file that cannot be loaded changes nothing. Watch history is not kept: after loading everything before
 * is compacted.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "sandbox/controllers.h"
#include "sandbox/crd.h"
#include "sandbox/expiry.h"
#include "sandbox/gc.h"
#include "sandbox/namespace.h"
#include "sandbox/prepare.h"
#include "sandbox/save_impl.h"

/* What is no plain file (a pipe, a terminal) may never end. */
static int read_open(int fd, struct buf *out) {
        char piece[64 * KIB];
        struct stat st;
        ssize_t n = 0;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
        while (!out->overflow && (n = read(fd, piece, sizeof piece)) > 0)
                buf_add(out, (struct str){ piece, (size_t)n });
        return n < 0 ? -errno : 0;
}

static int read_file(const char *path, struct buf *out, struct err *err) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        if (fd < 0)
                return err_set_errno(err, errno, "cannot read %s", path);
        int r = read_open(fd, out);
        close(fd);
        if (r == -EINVAL)
                return err_set(err, ERR_INVAL, "%s is no plain file", path);
        return r < 0 ? err_set_errno(err, -r, "cannot read %s", path) : buf_check(out, path, err);
}

struct saved {
        struct str group, plural;
        const struct value *object;
        uint64_t rv;
};

struct state {
        int64_t rv;
        struct saved *objects;
        size_t count;
};

static int read_saved(const struct value *entry, size_t index, struct saved *ret, struct err *err) {
        const struct value *object = value_getc(entry, "object");

        *ret = (struct saved){
                .group = value_text(value_getc(entry, "group")),
                .plural = value_text(value_getc(entry, "plural")),
                .object = object,
        };
        if (ret->plural.n == 0 || !value_is(object, VALUE_MAP) || meta_text(object, "name").n == 0 ||
            meta_text(object, "uid").n == 0 || !str_to_u64(meta_text(object, "resourceVersion"), &ret->rv))
                return err_set(err, ERR_CORRUPT, "object %zu of the saved state is damaged", index);
        return 0;
}

static int saved_cmp(const void *a, const void *b) {
        const struct saved *x = a, *y = b;
        const struct str texts[][2] = {
                { x->group, y->group },
                { x->plural, y->plural },
                { meta_text(x->object, "namespace"), meta_text(y->object, "namespace") },
                { meta_text(x->object, "name"), meta_text(y->object, "name") },
        };
        int order = 0;

        for (size_t i = 0; order == 0 && i < ARRAY_LEN(texts); i++)
                order = str_cmp(texts[i][0], texts[i][1]);
        return order;
}

static int check_twice(const struct state *state, struct arena *a, struct err *err) {
        struct saved *sorted = arena_alloc(a, state->count * sizeof *sorted);

        if (state->count == 0)
                return 0;
        memcpy(sorted, state->objects, state->count * sizeof *sorted);
        qsort(sorted, state->count, sizeof *sorted, saved_cmp);
        for (size_t i = 1; i < state->count; i++)
                if (saved_cmp(&sorted[i - 1], &sorted[i]) == 0)
                        return err_set(err, ERR_CORRUPT, "%.*s '%.*s' of the saved state is there twice",
                                       STR_FMT(sorted[i].plural), STR_FMT(meta_text(sorted[i].object, "name")));
        return 0;
}

/* What is in the file is what was written. */
static int check_sum(struct str text, const struct value *document, struct err *err) {
        char sum[HASH128_HEX_BYTES + 1];
        struct str rest = text, line;
        int64_t format = 0;

        if (!value_to_i64(value_getc(document, "format"), &format))
                return err_set(err, ERR_CORRUPT, "is no saved state of a sandbox");
        if (format != SAVE_FORMAT)
                return err_set(err, ERR_UNSUPPORTED,
                               "has format %" PRId64 ", and this truce reads only format %d: another version wrote it",
                               format, SAVE_FORMAT);
        str_next(&rest, '\n', &line);
        save_sum(rest, sum);
        if (!str_eqc(value_text(value_getc(document, "sum")), sum))
                return err_set(err, ERR_CORRUPT, "is damaged, or was changed by something else than truce sandbox");
        return 0;
}

static int read_state(struct str text, struct arena *a, struct state *ret, struct err *err) {
        const struct value *document, *objects;

        if (json_parse(text, a, &document, NULL) < 0)
                return err_set(err, ERR_CORRUPT, "is no JSON: damaged, or no saved state of a sandbox");
        int r = check_sum(text, document, err);
        if (r < 0)
                return r;
        objects = value_getc(document, "objects");
        if (!value_is(objects, VALUE_LIST) || !value_to_i64(value_getc(document, "resourceVersion"), &ret->rv) ||
            ret->rv < 0)
                return err_set(err, ERR_CORRUPT, "is no saved state of a sandbox");
        ret->count = objects->list.count;
        ret->objects = arena_alloc(a, ret->count * sizeof *ret->objects);
        for (size_t i = 0; i < ret->count; i++) {
                r = read_saved(objects->list.items[i], i, &ret->objects[i], err);
                if (r < 0)
                        return r;
        }
        return check_twice(ret, a, err);
}

/* The sandbox's parts learn of what was loaded as of new objects. */
static void tell_kind(struct sandbox *s, const struct kind *kind) {
        bool is_service = str_eqc(kind->resource->kind, "Service") && kind->resource->group.n == 0;

        for (size_t i = 0; i < kind->shelf->count; i++) {
                struct version *v = kind->shelf->items[i];

                if (is_service)
                        allocator_tell(s->allocator, NULL, v->value);
                namespaces_tell(s->namespaces, kind, NULL, v);
                expiry_tell(s->expiry, kind, v);
                if (s->gc)
                        gc_tell(s->gc, kind, NULL, v);
                if (s->controllers)
                        controllers_tell(s->controllers, kind, NULL, v);
        }
}

static void tell_all(struct sandbox *s) {
        const struct kind *kind;
        size_t at = 0;

        crds_restore(s->crds);
        while ((kind = kinds_next(s->kinds, &at))) /* each shelf once: the version of storage may not be served */
                if (kind->shelf && kind == kinds_of_resource(s->kinds, kind->shelf->group, kind->resource->plural))
                        tell_kind(s, kind);
}

static void forget_all(struct sandbox *s) {
        struct shelf *shelf;
        size_t at = 0;

        while ((shelf = store_next_shelf(s->store, &at)))
                shelf_clear(shelf);
        store_compact(s->store);
        allocator_free(s->allocator);
        s->allocator = allocator_new();
        namespaces_reset(s->namespaces);
        expiry_reset(s->expiry);
        gc_free(s->gc);
        s->gc = s->options.no_controllers ? NULL : gc_new(s);
        if (s->controllers)
                controllers_reset(s->controllers);
}

int sandbox_load(struct sandbox *s, const char *path, struct err *err) {
        _cleanup_(buf_done) struct buf text = buf_make(SAVE_MAX_BYTES);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct state state = { 0 };
        int r = read_file(path, &text, err);

        if (r < 0)
                return r;
        r = read_state(buf_str(&text), a, &state, err);
        if (r < 0)
                return err_wrap(err, r, "%s", path);
        forget_all(s);
        for (size_t i = 0; i < state.count; i++) {
                const struct saved *o = &state.objects[i];

                shelf_restore(store_shelf(s->store, o->group, o->plural), o->object, o->rv);
        }
        store_set_rv(s->store, (uint64_t)state.rv);
        tell_all(s);
        return 0;
}

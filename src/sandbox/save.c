/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State in a file: one JSON document, {"format": 1, "sum": …, "resourceVersion": N, "objects": [{"group", "plural",
 * "object"}, …]}. Written to a temporary file beside it, synced, renamed. Watch history is not kept: after loading
 * everything before is compacted.
 *
 * Objects in the store were decoded and validated, and everybody relies on that. Loading does neither again: the sum,
 * over all that follows the first line, tells that the file is as it was written. Everything is read before anything is
 * replaced, so a file that cannot be loaded changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "sandbox/controllers.h"
#include "sandbox/crd.h"
#include "sandbox/expiry.h"
#include "sandbox/gc.h"
#include "sandbox/namespace.h"
#include "sandbox/prepare.h"

#define SAVE_MAX_BYTES JSON_MAX_BYTES
#define SAVE_FORMAT    1
#define HEAD           "{\"format\":%d,\"sum\":\"%s\",\n"

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

/* Against damage, not against malice. */
static void sum_of(struct str text, char ret_hex[HASH128_HEX_BYTES + 1]) {
        static const struct hash_key key = { 0x74727563652d7361, 0x6e64626f782d7374 };

        hash128_hex(hash128(&key, text), ret_hex);
}

int sandbox_save(struct sandbox *s, const char *path, struct err *err) {
        _cleanup_(buf_done) struct buf out = buf_make(SAVE_MAX_BYTES);
        char sum[HASH128_HEX_BYTES + 1] = "00000000000000000000000000000000";
        struct shelf *shelf;
        bool is_first = true;
        size_t at = 0;

        buf_addf(&out, HEAD, SAVE_FORMAT, sum);
        size_t head = out.n;
        buf_addf(&out, "\"resourceVersion\":%" PRIu64 ",\"objects\":[", store_rv(s->store));
        while ((shelf = store_next_shelf(s->store, &at)))
                add_shelf(&out, shelf, &is_first);
        buf_addc(&out, "\n]}\n");
        int r = buf_check(&out, "the sandbox's state", err);
        if (r < 0)
                return r;
        sum_of(str_sub(buf_str(&out), head, out.n), sum);
        memcpy(out.p + head - 3 - HASH128_HEX_BYTES, sum, HASH128_HEX_BYTES);
        return replace_file(path, buf_str(&out), err);
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
        sum_of(rest, sum);
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
        while ((kind = kinds_next(s->kinds, &at)))
                if (kind->shelf && kind->storage == kind)
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State in a file (save_impl.h), written to a temporary file beside it, synced, renamed. Versions in the store never
 * change, so a snapshot only holds on to them; printing, which takes long, looks at nothing else.
 */
#include "sandbox/save_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#define HEAD "{\"format\":%d,\"sum\":\"%s\",\n"

struct sandbox_snapshot {
        uint64_t rv;
        struct entry {
                const struct shelf *shelf; /* its names; shelves live as long as the store */
                struct version *version;
        } * entries;
        size_t count;
};

/* ---- taking ---- */

static void take_shelf(struct sandbox_snapshot *n, size_t *cap, const struct shelf *shelf) {
        n->entries = mem_grow(n->entries, cap, n->count + shelf->count, sizeof *n->entries);
        for (size_t i = 0; i < shelf->count; i++)
                n->entries[n->count++] = (struct entry){ shelf, version_ref(shelf->items[i]) };
}

struct sandbox_snapshot *sandbox_snapshot_take(struct sandbox *s) {
        struct sandbox_snapshot *n = mem_zalloc(sizeof *n);
        const struct shelf *shelf;
        size_t at = 0, cap = 0;

        n->rv = store_rv(s->store);
        while ((shelf = store_next_shelf(s->store, &at)))
                take_shelf(n, &cap, shelf);
        return n;
}

void sandbox_snapshot_free(struct sandbox_snapshot *n) {
        if (!n)
                return;
        for (size_t i = 0; i < n->count; i++)
                version_unref(n->entries[i].version);
        free(n->entries);
        free(n);
}

/* ---- writing ---- */

static void print_entry(struct buf *out, const struct entry *e, bool is_first) {
        buf_addc(out, is_first ? "\n" : ",\n");
        buf_addf(out, "{\"group\":\"%.*s\",\"plural\":\"%.*s\",\"object\":", STR_FMT(e->shelf->group),
                 STR_FMT(e->shelf->plural));
        value_print(e->version->value, out);
        buf_addch(out, '}');
}

void save_sum(struct str text, char ret_hex[HASH128_HEX_BYTES + 1]) {
        static const struct hash_key key = { 0x74727563652d7361, 0x6e64626f782d7374 };

        hash128_hex(hash128(&key, text), ret_hex);
}

static int print_snapshot(const struct sandbox_snapshot *n, struct buf *out, struct err *err) {
        char sum[HASH128_HEX_BYTES + 1] = "00000000000000000000000000000000";

        buf_addf(out, HEAD, SAVE_FORMAT, sum);
        size_t head = out->n;
        buf_addf(out, "\"resourceVersion\":%" PRIu64 ",\"objects\":[", n->rv);
        for (size_t i = 0; i < n->count; i++)
                print_entry(out, &n->entries[i], i == 0);
        buf_addc(out, "\n]}\n");
        int r = buf_check(out, "the sandbox's state", err);
        if (r < 0)
                return r;
        save_sum(str_sub(buf_str(out), head, out->n), sum);
        memcpy(out->p + head - 3 - HASH128_HEX_BYTES, sum, HASH128_HEX_BYTES);
        return 0;
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

/* There are Secrets in it: nobody else may read it, also where a file of that name was left behind. */
static int open_for_owner(const char *path) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd >= 0 && fchmod(fd, 0600) < 0) {
                int why = errno;

                close(fd);
                errno = why;
                return -1;
        }
        return fd;
}

static int replace_file(const char *path, struct str text, struct err *err) {
        _cleanup_(buf_done) struct buf temporary = buf_make(GIT_MAX_PATH_BYTES);

        buf_addf(&temporary, "%s.new", path);
        int fd = open_for_owner(temporary.p);
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

int sandbox_snapshot_write(const struct sandbox_snapshot *n, const char *path, struct err *err) {
        _cleanup_(buf_done) struct buf out = buf_make(SAVE_MAX_BYTES);
        int r = print_snapshot(n, &out, err);

        return r < 0 ? r : replace_file(path, buf_str(&out), err);
}

int sandbox_save(struct sandbox *s, const char *path, struct err *err) {
        _cleanup_(sandbox_snapshot_freep) struct sandbox_snapshot *n = sandbox_snapshot_take(s);

        return sandbox_snapshot_write(n, path, err);
}

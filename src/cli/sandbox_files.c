/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/yaml.h"
#include "cli/objects.h"
#include "cli/session.h"

#define KUBECONFIG_MARK  "# Written by truce sandbox, and replaced at its next start.\n"
#define TOKEN_BYTES      16
#define SERVED_AFTER_MS  5000 /* a definition's kind, at the latest */

/* ---- the kubeconfig ---- */

int sandbox_new_token(struct arena *a, struct str *ret_token, struct err *err) {
        unsigned char bytes[TOKEN_BYTES];
        char hex[2 * TOKEN_BYTES + 1];

        if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
                return err_set_errno(err, errno, "no random bytes for a token");
        for (size_t i = 0; i < sizeof bytes; i++)
                snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
        *ret_token = arena_str(a, str_from(hex));
        return 0;
}

struct entry {
        struct str context, url, user, token;
};

static struct entry entry_of(struct str server, const struct sandbox_user *u, bool is_first, struct arena *a) {
        return (struct entry){
                .context = is_first ? STR("truce-sandbox") : arena_strf(a, "truce-sandbox-%.*s", STR_FMT(u->name)),
                .url = arena_strf(a, "%.*s/token/%.*s", STR_FMT(server), STR_FMT(u->token)),
                .user = u->name,
                .token = u->token,
        };
}

static void add_pair(struct buf *out, const char *before, struct str text) {
        buf_addc(out, before);
        value_print_string(text, out);
}

/* A cluster, a user and a context: the token stands in the cluster's path for clients that send none without TLS. */
static void print_entries(struct buf *out, const struct entry *e, size_t count) {
        buf_addc(out, "clusters:\n");
        for (size_t i = 0; i < count; i++) {
                add_pair(out, "- {\"name\": ", e[i].context);
                add_pair(out, ", \"cluster\": {\"server\": ", e[i].url);
                buf_addc(out, "}}\n");
        }
        buf_addc(out, "users:\n");
        for (size_t i = 0; i < count; i++) {
                add_pair(out, "- {\"name\": ", e[i].user);
                add_pair(out, ", \"user\": {\"token\": ", e[i].token);
                buf_addc(out, "}}\n");
        }
        buf_addc(out, "contexts:\n");
        for (size_t i = 0; i < count; i++) {
                add_pair(out, "- {\"name\": ", e[i].context);
                add_pair(out, ", \"context\": {\"cluster\": ", e[i].context);
                add_pair(out, ", \"namespace\": \"default\", \"user\": ", e[i].user);
                buf_addc(out, "}}\n");
        }
}

static void print_kubeconfig(struct buf *out, struct str server, const struct sandbox_user *users, size_t count) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct entry *entries = arena_alloc(a, count * sizeof *entries);

        for (size_t i = 0; i < count; i++)
                entries[i] = entry_of(server, &users[i], i == 0, a);
        buf_addc(out, KUBECONFIG_MARK "apiVersion: v1\nkind: Config\n");
        print_entries(out, entries, count);
        buf_addc(out, "current-context: truce-sandbox\n");
}

/* Nobody's own kubeconfig may be lost by a wrong flag. */
static int check_is_ours(const char *path, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str text;

        if (access(path, F_OK) < 0)
                return 0;
        int r = objects_read_text(path, a, &text, err);
        if (r < 0)
                return r;
        if (text.n && !str_starts(text, STR(KUBECONFIG_MARK)))
                return err_set(err, ERR_INVAL, "%s was not written by truce sandbox, so it is not replaced", path);
        return 0;
}

static int write_new(const char *path, struct str text) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd < 0)
                return -1;
        ssize_t n = fchmod(fd, 0600) < 0 ? -1 : write(fd, text.p, text.n);
        return close(fd) < 0 || n != (ssize_t)text.n ? -1 : 0;
}

int sandbox_write_kubeconfig(const char *path, struct str server, const struct sandbox_user *users, size_t count,
                             struct err *err) {
        _cleanup_(buf_done) struct buf out = buf_make(MIB), temporary = buf_make(GIT_MAX_PATH_BYTES);
        int r = check_is_ours(path, err);

        if (r < 0)
                return r;
        print_kubeconfig(&out, server, users, count);
        buf_addf(&temporary, "%s.new", path);
        if (write_new(temporary.p, buf_str(&out)) < 0 || rename(temporary.p, path) < 0) {
                int why = errno;

                unlink(temporary.p);
                return err_set_errno(err, why, "cannot write %s", path);
        }
        return 0;
}

/* ---- the state's lock ---- */

static bool is_locked(int fd) {
        int r;

        do
                r = flock(fd, LOCK_EX | LOCK_NB);
        while (r < 0 && errno == EINTR);
        return r == 0;
}

int sandbox_lock_state(const char *path, struct sandbox_lock *ret, struct err *err) {
        _cleanup_(buf_done) struct buf lock = buf_make(GIT_MAX_PATH_BYTES);
        struct stat st = { 0 };
        int fd;

        buf_addf(&lock, "%s.lock", path);
        for (;;) {
                fd = open(lock.p, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
                if (fd < 0)
                        return err_set_errno(err, errno, "cannot write %s", lock.p);
                if (!is_locked(fd)) {
                        int why = errno;

                        close(fd);
                        if (why != EWOULDBLOCK)
                                return err_set_errno(err, why, "cannot lock %s", lock.p);
                        return err_set(err, ERR_CONFLICT, "%s is in use by another truce sandbox", path);
                }
                if (fstat(fd, &st) == 0 && st.st_nlink > 0)
                        break;
                close(fd); /* its holder was just ending: that file has gone */
        }
        *ret = (struct sandbox_lock){ .path = buf_take(&lock), .fd = fd };
        return 0;
}

void sandbox_lock_done(struct sandbox_lock *l) {
        if (!l->path)
                return;
        unlink(l->path);
        close(l->fd);
        free(l->path);
        l->path = NULL;
}

/* ---- manifests ---- */

static unsigned rank(const struct value *object) {
        struct str kind = value_text(value_getc(object, "kind"));

        return str_eqc(kind, "CustomResourceDefinition") ? 0 : str_eqc(kind, "Namespace") ? 1 : 2;
}

/* The kind of a definition is served a moment after it was added. Who ends the loop meanwhile means all of it. */
static int add_when_served(struct sandbox *s, const struct value *object, struct err *err) {
        int r = sandbox_add(s, object, err);

        for (int64_t waited_ms = 0; r == ERR_NOTFOUND && waited_ms < SERVED_AFTER_MS; waited_ms += 50) {
                if (loop_run_for(sandbox_loop(s), 50))
                        return err_set(err, ERR_CANCELLED, "interrupted");
                r = sandbox_add(s, object, err);
        }
        return r;
}

static int add_collected(struct sandbox *s, const struct objects *l, struct err *err) {
        for (size_t i = 0; i < 3 * l->count; i++) {
                const struct value *object = l->items[i % l->count].value;

                if (rank(object) != i / l->count)
                        continue;
                int r = i / l->count < 2 ? sandbox_add(s, object, err) : add_when_served(s, object, err);
                if (r < 0)
                        return err_wrap(err, r, "%s: %.*s '%.*s'", l->items[i % l->count].file.p,
                                        STR_FMT(value_text(value_getc(object, "kind"))),
                                        STR_FMT(value_text(value_path(object, "metadata", "name", NULL))));
        }
        return 0;
}

int sandbox_load_manifests(struct sandbox *s, struct str path, size_t *ret_count, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct objects l = { .arena = a };
        int r = objects_read(&l, path, err);

        if (r == 0)
                r = add_collected(s, &l, err);
        if (r == 0)
                *ret_count = l.count;
        objects_done(&l);
        return r;
}

/* ---- dumps ---- */

static void say_note(void *ctx, struct str text) {
        (void)ctx;
        session_say(text);
}

static int load_collected(struct sandbox *s, const struct objects *l, struct err *err) {
        static const struct sandbox_noter noter = { say_note, NULL };
        struct sandbox_dumped *objects = arena_alloc(l->arena, l->count * sizeof *objects);

        if (l->count == 0)
                return err_set(err, ERR_INVAL, "there is no object in it");
        for (size_t i = 0; i < l->count; i++)
                objects[i] = (struct sandbox_dumped){ l->items[i].value, l->items[i].file };
        return sandbox_load_dump(s, objects, l->count, &noter, err);
}

int sandbox_load_dumps(struct sandbox *s, const struct str *paths, size_t path_count, size_t *ret_count, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct objects l = { .arena = a };
        int r = 0;

        for (size_t i = 0; r == 0 && i < path_count; i++)
                r = objects_read(&l, paths[i], err);
        if (r == ERR_LIMIT)
                r = err_wrap(err, r, "too much for one file: split it, and give each part");
        if (r == 0)
                r = load_collected(s, &l, err);
        if (r == 0)
                *ret_count = l.count;
        objects_done(&l);
        return r;
}

int sandbox_load_rules(struct sandbox *s, struct str path, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct yaml_document *docs;
        size_t count;
        struct str file = arena_str(a, path);
        int r = objects_read_documents(file.p, a, &docs, &count, err);

        if (r < 0)
                return r;
        if (count != 1 || !docs[0].value)
                return err_set(err, ERR_INVAL, "%s: not one document", file.p);
        r = sandbox_set_rules(s, docs[0].value, err);
        return r < 0 ? err_wrap(err, r, "%s", file.p) : 0;
}

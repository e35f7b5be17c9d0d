/* SPDX-License-Identifier: Apache-2.0 */
#include "git/fetch.h"

#include "base/buf.h"
#include "base/limits.h"
#include "git/http_subtransport.h"
#include "git/refs.h"

#define LOCAL_PREFIX "refs/truce/"
/* A file name: longer ones are not kept, and fetched anew the next time. */
#define LOCAL_MAX_BYTES 200
#define MAX_WANTS 256

struct job {
        const struct fetch *f;
        struct fetch_link link;
        git_remote *remote;
        uint64_t bytes_before;
        const git_remote_head **heads; /* what the remote has; borrowed from `remote` */
        size_t heads_count;
        /* What to download: refspecs, and the heads they stand for (NULL for a bare commit). */
        char *specs[MAX_WANTS];
        const git_remote_head *wanted[MAX_WANTS];
        size_t wants;
};

/* ---- local names ---- */

static bool local_name(struct str remote_name, struct buf *b) {
        buf_addc(b, LOCAL_PREFIX);
        for (size_t i = 0; i < remote_name.n; i++) {
                if (remote_name.p[i] == '/')
                        buf_addc(b, "%2F");
                else if (remote_name.p[i] == '%')
                        buf_addc(b, "%25");
                else
                        buf_addch(b, remote_name.p[i]);
        }
        return !b->overflow && b->n <= LOCAL_MAX_BYTES;
}

static void remote_name(const char *local, struct buf *b) {
        for (const char *p = local + strlen(LOCAL_PREFIX); *p; p++) {
                if (str_starts(str_from(p), STR("%2F")) || str_starts(str_from(p), STR("%25"))) {
                        buf_addch(b, p[2] == 'F' ? '/' : '%');
                        p += 2;
                } else {
                        buf_addch(b, *p);
                }
        }
}

static void keep_ref(struct generation *g, struct str name, const git_oid *oid) {
        _cleanup_(git_reference_freep) git_reference *ref = NULL;
        _cleanup_(buf_done) struct buf local = buf_make(4 * KIB);

        /* Without it the next fetch sends more than it must: no reason to fail this one. */
        if (local_name(name, &local))
                git_reference_create(&ref, g->repo, local.p, oid, 1, NULL);
}

/* ---- libgit2 ---- */

static int on_progress(const git_indexer_progress *p, void *ctx) {
        struct job *j = ctx;
        int r = git_deadline_check(j->f->deadline, "receiving objects", &j->link.err);

        if (r == 0 && j->bytes_before + p->received_bytes > j->f->max_bytes)
                r = err_set(&j->link.err, ERR_LIMIT,
                            "the repository needs more than the %llu MiB that its store may take",
                            (unsigned long long)(j->f->max_bytes / MIB));
        return r;
}

/* Our own error counts when there is one: libgit2 only knows that a callback failed. */
static int fail_job(struct job *j, int result, struct err *err) {
        struct str url = j->f->config->url.text;

        if (j->link.err.code == ERR_OK) {
                int r = lib_fail(err, result, "fetching");

                return err_wrap(err, r, "%.*s", STR_FMT(url));
        }
        if (err)
                *err = j->link.err;
        return j->link.err.code;
}

static int new_transport(git_transport **out, git_remote *owner, void *ctx) {
        struct job *j = ctx;

        return fetch_link_transport(out, owner, &j->link);
}

static int connect_job(struct job *j, struct err *err) {
        git_remote_create_options create = GIT_REMOTE_CREATE_OPTIONS_INIT;
        git_remote_connect_options opts = GIT_REMOTE_CONNECT_OPTIONS_INIT;
        int r;

        create.repository = j->f->into->repo;
        create.flags = GIT_REMOTE_CREATE_SKIP_INSTEADOF | GIT_REMOTE_CREATE_SKIP_DEFAULT_FETCHSPEC;
        r = git_remote_create_with_opts(&j->remote, j->f->config->url.text.p, &create);
        if (r < 0)
                return fail_job(j, r, err);
        opts.callbacks.transport = new_transport;
        opts.callbacks.transfer_progress = on_progress;
        opts.callbacks.payload = j;
        r = git_remote_connect_ext(j->remote, GIT_DIRECTION_FETCH, &opts);
        if (r == 0)
                r = git_remote_ls(&j->heads, &j->heads_count, j->remote);
        return r < 0 ? fail_job(j, r, err) : 0;
}

static void clear_wants(struct job *j) {
        for (size_t i = 0; i < j->wants; i++)
                free(j->specs[i]);
        j->wants = 0;
}

static void close_job(struct job *j) {
        clear_wants(j);
        git_remote_free(j->remote);
        fetch_link_done(&j->link);
}

/* ---- what to want ---- */

static const git_remote_head *find_head(const struct job *j, struct str name) {
        for (size_t i = 0; i < j->heads_count; i++) {
                if (str_eqc(name, j->heads[i]->name))
                        return j->heads[i];
        }
        return NULL;
}

static void want(struct job *j, struct str spec, const git_remote_head *head) {
        if (j->wants == MAX_WANTS)
                return;
        j->specs[j->wants] = str_dup(spec);
        j->wanted[j->wants++] = head;
}

/* The refs that the old generation kept, so that other applications' revisions come along into a fresh one. */
static void want_tracked(struct job *j, struct str except) {
        _cleanup_(git_reference_iterator_freep) git_reference_iterator *it = NULL;
        const char *local;

        if (!j->f->tracked || git_reference_iterator_glob_new(&it, j->f->tracked->repo, LOCAL_PREFIX "*") < 0)
                return;
        while (git_reference_next_name(&local, it) == 0) {
                _cleanup_(buf_done) struct buf name = buf_make(4 * KIB);
                const git_remote_head *head;

                remote_name(local, &name);
                head = find_head(j, buf_str(&name));
                if (head && !str_eq(buf_str(&name), except))
                        want(j, buf_str(&name), head);
        }
}

static int download(struct job *j, struct err *err) {
        git_fetch_options opts = GIT_FETCH_OPTIONS_INIT;
        git_strarray specs = { .strings = j->specs, .count = j->wants };
        int r;

        opts.callbacks.transfer_progress = on_progress;
        opts.callbacks.payload = j;
        opts.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
        r = git_remote_download(j->remote, &specs, &opts);
        if (r < 0)
                return fail_job(j, r, err);
        for (size_t i = 0; i < j->wants; i++) {
                if (j->wanted[i])
                        keep_ref(j->f->into, str_from(j->wanted[i]->name), &j->wanted[i]->oid);
        }
        return 0;
}

/* ---- by name, by commit ---- */

static bool have(const struct job *j, const struct git_id *commit) {
        return generation_has_commit(j->f->into, commit);
}

/* Asks for the commit itself; only servers that allow it answer. True when it is there now. */
static bool try_commit(struct job *j, const struct git_id *commit, struct err *err) {
        char hex[GIT_OID_HEX_BYTES + 1];
        git_oid oid = lib_oid(commit);

        git_id_hex(commit, hex);
        clear_wants(j);
        want(j, str_from(hex), NULL);
        if (download(j, err) < 0 || !have(j, commit))
                return false;
        keep_ref(j->f->into, str_from(hex), &oid);
        return true;
}

/* A broken line, an end of time or a limit is final; a server that says no is not. */
static bool is_refusal(const struct job *j) {
        return j->link.err.code == ERR_OK || j->link.err.code == ERR_NOTFOUND;
}

static int reconnect(struct job *j, struct err *err) {
        clear_wants(j);
        git_remote_free(j->remote);
        j->remote = NULL;
        j->link.err = (struct err){ 0 };
        return connect_job(j, err);
}

static int fetch_everything(struct job *j, struct err *err) {
        clear_wants(j);
        /* libgit2 wants a right side for a pattern; a download alone never writes it. */
        want(j, STR("refs/heads/*:refs/unused/heads/*"), NULL);
        want(j, STR("refs/tags/*:refs/unused/tags/*"), NULL);
        return download(j, err);
}

static int fetch_by_refs(struct job *j, const struct git_revision *rev, struct err *err) {
        git_oid oid = lib_oid(&rev->commit);
        int r = fetch_everything(j, err);

        if (r < 0)
                return r;
        if (!have(j, &rev->commit))
                return err_set(err, ERR_NOTFOUND,
                               "%.*s: commit %.*s is on no branch or tag, and the server hands out no others",
                               STR_FMT(j->f->config->url.text), STR_FMT(rev->name));
        keep_ref(j->f->into, rev->name, &oid);
        return 0;
}

static int fetch_commit(struct job *j, const struct git_revision *rev, struct err *err) {
        int r;

        want_tracked(j, STR(""));
        r = j->wants ? download(j, err) : 0;
        if (r < 0 || have(j, &rev->commit))
                return r;
        if (try_commit(j, &rev->commit, err))
                return 0;
        if (!is_refusal(j))
                return j->link.err.code;
        r = reconnect(j, err);
        return r < 0 ? r : fetch_by_refs(j, rev, err);
}

/* A tag may point to anything; Git only says so once it is there. */
static bool is_no_commit(const struct job *j, const struct git_id *id) {
        git_oid oid = lib_oid(id);
        git_object_t type;
        size_t n;

        return git_odb_read_header(&n, &type, j->f->into->odb, &oid) == 0 && type != GIT_OBJECT_COMMIT;
}

static int fetch_ref(struct job *j, const struct git_revision *rev, struct err *err) {
        const git_remote_head *head = find_head(j, rev->name);
        struct str url = j->f->config->url.text;
        int r;

        if (!head)
                return err_set(err, ERR_NOTFOUND, "%.*s: %.*s is gone", STR_FMT(url), STR_FMT(rev->name));
        want(j, rev->name, head);
        want_tracked(j, rev->name);
        r = download(j, err);
        if (r < 0 || have(j, &rev->commit))
                return r;
        if (is_no_commit(j, &rev->commit))
                return err_set(err, ERR_INVAL, "%.*s: %.*s points to something that is no commit", STR_FMT(url),
                               STR_FMT(rev->name));
        if (try_commit(j, &rev->commit, err))
                return 0;
        if (!is_refusal(j))
                return j->link.err.code;
        return err_set(err, ERR_CONFLICT, "%.*s: %.*s was moved while it was fetched, its old commit is not to be had",
                       STR_FMT(url), STR_FMT(rev->name));
}

int fetch_run(const struct fetch *f, const struct git_revision *rev, struct err *err) {
        _cleanup_(close_job) struct job j = { .f = f, .bytes_before = generation_size(f->into).bytes };
        struct git_id id;
        int r;

        fetch_link_init(&j.link, f->config, f->deadline);
        r = connect_job(&j, err);
        if (r < 0)
                return r;
        if (str_eq(rev->name, STR(FETCH_EVERYTHING)))
                return fetch_everything(&j, err);
        return git_id_from_hex(rev->name, &id) ? fetch_commit(&j, rev, err) : fetch_ref(&j, rev, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "git/remote.h"

#include <assert.h>
#include <pthread.h>

#include "base/buf.h"
#include "base/limits.h"
#include "git/fetch.h"
#include "git/smart.h"
#include "git/tree.h"

#define SUBJECT_MAX_BYTES 200

struct remote {
        struct git_source source; /* first */
        struct arena *arena;
        struct git_url url;
        bool in_place;            /* a file URL: no http, no store */
        struct http_config http;
        struct store store;
        uint64_t max_store_bytes;

        pthread_mutex_t lock;     /* guards what follows; held for work on the disk, never while waiting for a server */
        struct generation *current;
        struct generation *previous; /* of a swap: still readable until the next idle poll */
        bool used;                /* since the last resolve() */
        bool damaged;             /* the store turned out corrupt: fetch afresh */
};

static void unlock(pthread_mutex_t **lock) {
        pthread_mutex_unlock(*lock);
}

#define LOCKED(r)                                                                                                      \
        _cleanup_(unlock) pthread_mutex_t *locked = &(r)->lock;                                                        \
        pthread_mutex_lock(locked)

static struct remote *remote_of(struct git_source *s) {
        return CONTAINER_OF(s, struct remote, source);
}

/* ---- generations, under the lock ---- */

static int open_current(struct remote *r, struct err *err) {
        r->used = true;
        if (r->current)
                return 0;
        if (r->in_place)
                return generation_open_path(r->url.path, &r->current, err);
        return store_open_newest(&r->store, &r->current, err);
}

static void close_all(struct remote *r) {
        generation_free(TAKE_PTR(r->current));
        generation_free(TAKE_PTR(r->previous));
}

/*
 * Packs, windows and caches that nobody needed since the last poll are given back. A repository in place stays open:
 * its refs are read at every poll, and libgit2 1.5 loses memory when it opens one of format version 1.
 */
static void close_idle(struct remote *r) {
        LOCKED(r);
        if (!r->used && !r->in_place)
                close_all(r);
        r->used = false;
}

/* A commit that an old generation alone still has stays readable through it. */
static int find_commit(struct remote *r, const struct git_id *commit, struct generation **ret, struct err *err) {
        char hex[GIT_OID_HEX_BYTES + 1];
        int rc = open_current(r, err);

        if (rc < 0)
                return rc;
        if (r->current && generation_has_commit(r->current, commit)) {
                *ret = r->current;
                return 0;
        }
        if (r->previous && generation_has_commit(r->previous, commit)) {
                *ret = r->previous;
                return 0;
        }
        git_id_hex(commit, hex);
        return err_set(err, ERR_NOTFOUND, "commit %s has not been fetched", hex);
}

/* The fetched generation takes the place of the one that readers had. */
static void adopt(struct remote *r, struct generation *g) {
        LOCKED(r);
        if (r->current && r->current->number != g->number) {
                generation_free(r->previous);
                r->previous = TAKE_PTR(r->current);
        }
        generation_free(r->current);
        r->current = g;
        r->used = true;
        r->damaged = false;
}

static int note_damage(struct remote *r, int rc) {
        if (rc == ERR_CORRUPT)
                r->damaged = true;
        return rc;
}

/* Attempts that fail may come before one that succeeds: errors are collected aside, and cleaned on their way out. */
static int give_error(struct remote *r, struct err *e, struct err *ret) {
        http_hide_secrets(&r->http, e);
        if (ret)
                *ret = *e;
        return e->code;
}

/* ---- resolve ---- */

/* What "HEAD" and the refs of a repository on disk are. */
static int add_local_ref(git_repository *repo, const char *name, struct arena *a, struct git_ref *ret) {
        _cleanup_(git_reference_freep) git_reference *ref = NULL, *direct = NULL;
        _cleanup_(git_object_freep) git_object *commit = NULL;

        if (git_reference_lookup(&ref, repo, name) < 0 || git_reference_resolve(&direct, ref) < 0)
                return -1;
        *ret = (struct git_ref){ .name = arena_str(a, str_from(name)), .id = lib_id(git_reference_target(direct)) };
        if (git_reference_type(ref) == GIT_REFERENCE_SYMBOLIC)
                ret->target = arena_str(a, str_from(git_reference_symbolic_target(ref)));
        if (git_reference_peel(&commit, direct, GIT_OBJECT_COMMIT) == 0 &&
            !git_oid_equal(git_object_id(commit), git_reference_target(direct)))
                ret->peeled = lib_id(git_object_id(commit));
        return 0;
}

/* Only the refs asked for, or all of them: peeling ten thousand tags at every poll would be a waste. */
static struct git_ref_list look_up_refs(git_repository *repo, const struct str *names, size_t count, struct arena *a) {
        git_strarray all = { 0 };
        struct git_ref *refs;
        size_t n = 0;

        if (count == 0)
                git_reference_list(&all, repo);
        refs = arena_alloc(a, (all.count + count + 1) * sizeof *refs);
        for (size_t i = 0; i < count; i++)
                n += add_local_ref(repo, names[i].p, a, &refs[n]) == 0;
        for (size_t i = 0; i < all.count; i++)
                n += add_local_ref(repo, all.strings[i], a, &refs[n]) == 0;
        if (count == 0)
                n += add_local_ref(repo, "HEAD", a, &refs[n]) == 0;
        git_strarray_dispose(&all);
        return (struct git_ref_list){ refs, n };
}

/* The repository in place as it is now, under the lock. */
static int open_in_place_now(struct remote *r, git_repository **ret, struct err *err) {
        int rc;

        if (r->current && access(git_repository_path(r->current->repo), F_OK) < 0)
                close_all(r); /* moved away: an open repository without its folder would seem to be empty */
        rc = open_current(r, err);
        if (rc < 0)
                return rc;
        assert(r->current); /* there is no store that could be empty */
        *ret = r->current->repo;
        return 0;
}

static int list_local_refs(struct remote *r, const struct str *names, size_t count, struct arena *a,
                           struct git_ref_list *ret, struct err *err) {
        git_repository *repo;
        int rc;

        LOCKED(r);
        rc = open_in_place_now(r, &repo, err);
        if (rc == 0)
                *ret = look_up_refs(repo, names, count, a);
        return rc;
}

/* Names alone tell which one a range of versions stands for: it is then looked up. When there is none, names are all. */
static int list_local_range(struct remote *r, struct str word, struct arena *a, struct git_ref_list *ret, struct err *err) {
        const struct git_ref *found;
        git_strarray all = { 0 };
        struct git_ref *refs;
        git_repository *repo;
        int rc;

        LOCKED(r);
        rc = open_in_place_now(r, &repo, err);
        if (rc < 0)
                return rc;
        git_reference_list(&all, repo);
        refs = arena_zalloc(a, (all.count + 1) * sizeof *refs);
        for (size_t i = 0; i < all.count; i++)
                refs[i].name = arena_str(a, str_from(all.strings[i]));
        *ret = (struct git_ref_list){ refs, all.count };
        git_strarray_dispose(&all);
        found = git_refs_find(*ret, word, a);
        if (found)
                *ret = look_up_refs(repo, &found->name, 1, a);
        return 0;
}

/* The refs that the names may begin; all branches and tags when there are no names. */
static int list_refs(struct remote *r, const struct str *names, size_t count, struct git_deadline d, struct arena *a,
                     struct git_ref_list *ret, struct err *err) {
        struct smart smart;
        int rc;

        if (r->in_place)
                return list_local_refs(r, names, count, a, ret, err);
        smart_init(&smart, &r->http, d);
        rc = smart_list_refs(&smart, names, count, a, ret, err);
        smart_done(&smart);
        return rc;
}

static void revision_of_commit(const struct git_id *id, struct arena *a, struct git_revision *ret) {
        char hex[GIT_OID_HEX_BYTES + 1];

        git_id_hex(id, hex);
        *ret = (struct git_revision){ *id, arena_str(a, str_from(hex)) };
}

static int find_short_in_store(struct remote *r, struct str hex, struct git_id *ret, struct err *err) {
        int rc;

        LOCKED(r);
        rc = open_current(r, err);
        if (rc < 0)
                return rc;
        if (!r->current)
                return err_set(err, ERR_NOTFOUND, "no commit begins with %.*s", STR_FMT(hex));
        return generation_find_short(r->current, hex, ret, err);
}

/* Tips and store together, so that a word is ambiguous when two commits anywhere begin with it. */
static int find_short(struct remote *r, struct git_ref_list list, struct str hex, struct git_id *ret, struct err *err) {
        struct git_ref both[2] = { 0 };
        int tip = git_refs_find_short(list, hex, &both[0].id, err);
        int stored = tip == 0 || tip == ERR_NOTFOUND ? find_short_in_store(r, hex, &both[1].id, err) : tip;

        if (tip == ERR_NOTFOUND || stored < 0) {
                bool found = tip == 0 && stored == ERR_NOTFOUND;

                *ret = found ? both[0].id : both[1].id;
                return found ? 0 : stored;
        }
        return git_refs_find_short((struct git_ref_list){ both, 2 }, hex, ret, err);
}

/* Fetches all branches and tags into the store, so that a short commit that is no tip can be found. */
static int fetch_everything(struct remote *r, struct git_deadline d, struct err *err);

static int resolve_short(struct remote *r, struct str hex, struct git_deadline d, struct arena *a,
                         struct git_revision *ret, struct err *err) {
        struct git_ref_list list = { 0 };
        struct git_id id;
        int rc = list_refs(r, NULL, 0, d, a, &list, err);

        if (rc < 0)
                return rc;
        rc = find_short(r, list, hex, &id, err);
        if (rc == ERR_NOTFOUND && !r->in_place && list.count > 0) {
                rc = fetch_everything(r, d, err);
                if (rc == 0)
                        rc = find_short(r, list, hex, &id, err);
        }
        if (rc == ERR_NOTFOUND)
                return git_refs_not_found(list, hex, err);
        if (rc == 0)
                revision_of_commit(&id, a, ret);
        return rc;
}

static int resolve(struct remote *r, struct str word, struct git_deadline d, struct arena *a, struct git_revision *ret,
                   struct err *err) {
        struct str names[GIT_WORD_MAX_NAMES];
        struct git_ref_list list = { 0 };
        const struct git_ref *ref;
        enum git_word_kind kind;
        struct git_id id;
        int rc = git_word_check(word, &kind, &id, err);

        if (rc < 0)
                return rc;
        if (kind == GIT_WORD_COMMIT) {
                revision_of_commit(&id, a, ret);
                return 0;
        }
        if (kind == GIT_WORD_RANGE && r->in_place)
                rc = list_local_range(r, word, a, &list, err);
        else
                rc = list_refs(r, names, git_word_names(word, a, names), d, a, &list, err);
        if (rc < 0)
                return rc;
        ref = git_refs_find(list, word, a);
        if (ref) {
                *ret = (struct git_revision){ git_ref_commit(ref), ref->target.n ? ref->target : ref->name };
                return 0;
        }
        if (kind == GIT_WORD_SHORT)
                return resolve_short(r, word, d, a, ret, err);
        rc = kind == GIT_WORD_RANGE ? 0 : list_refs(r, NULL, 0, d, a, &list, err);
        return rc < 0 ? rc : git_refs_not_found(list, word, err);
}

static int remote_resolve(struct git_source *s, struct str word, struct git_deadline d, struct arena *a,
                          struct git_revision *ret, struct err *err) {
        struct remote *r = remote_of(s);
        struct err e = { 0 };
        int rc = git_deadline_check(d, "waiting for its turn", &e);

        close_idle(r);
        if (rc == 0)
                rc = resolve(r, word, d, a, ret, &e);
        return rc < 0 ? give_error(r, &e, err) : 0;
}

/* ---- fetch ---- */

static bool is_stored(struct remote *r, const struct git_id *commit) {
        struct generation *g;

        LOCKED(r);
        return find_commit(r, commit, &g, NULL) == 0 && !r->damaged && g == r->current;
}

static bool is_damaged(struct remote *r) {
        LOCKED(r);
        return r->damaged;
}

/* Into a new generation beside `old` (NULL: the first one), which takes its place when all went well. */
static int fetch_afresh(struct remote *r, struct generation *old, struct fetch *f, const struct git_revision *rev,
                        struct generation **ret, struct err *err) {
        _cleanup_(generation_freep) struct generation *g = NULL;
        int rc = store_begin(&r->store, &g, err);

        if (rc < 0)
                return rc;
        f->into = g;
        f->tracked = old;
        rc = fetch_run(f, rev, err);
        if (rc == 0)
                rc = store_promote(&r->store, g, err);
        if (rc == 0)
                *ret = TAKE_PTR(g);
        return rc;
}

/* Under the store's lock: somebody else may have fetched meanwhile; `*g` is the newest generation or NULL. */
static int fetch_locked(struct remote *r, struct generation **g, const struct git_revision *rev, struct git_deadline d,
                        struct err *err) {
        struct fetch f = { .config = &r->http, .deadline = d, .max_bytes = r->max_store_bytes, .into = *g };
        _cleanup_(generation_freep) struct generation *fresh = NULL;
        bool damaged = is_damaged(r);
        int rc;

        if (*g && !damaged && generation_has_commit(*g, &rev->commit))
                return 0;
        if (*g && !damaged && !store_is_untidy(generation_size(*g))) {
                rc = fetch_run(&f, rev, err);
                /* What was fetched in vain over the time may be what fills the store. */
                if (rc != ERR_LIMIT || generation_size(*g).packs < 2)
                        return rc;
        }
        rc = fetch_afresh(r, *g, &f, rev, &fresh, err);
        if (rc < 0)
                return rc;
        generation_free(*g);
        *g = TAKE_PTR(fresh);
        return 0;
}

static int fetch_stored(struct remote *r, const struct git_revision *rev, struct git_deadline d, struct err *err) {
        _cleanup_(generation_freep) struct generation *g = NULL;
        int lock_fd = -1, rc = store_lock(&r->store, d, &lock_fd, err);

        if (rc < 0)
                return rc;
        /* One that cannot be opened any more is replaced like one that was never there. */
        store_open_newest(&r->store, &g, err);
        rc = fetch_locked(r, &g, rev, d, err);
        if (rc == 0) {
                uint64_t number = g->number;

                adopt(r, TAKE_PTR(g));
                store_sweep(&r->store, number);
        }
        close(lock_fd);
        return rc;
}

static int fetch_everything(struct remote *r, struct git_deadline d, struct err *err) {
        struct git_revision everything = { .name = STR(FETCH_EVERYTHING) };

        return fetch_stored(r, &everything, d, err);
}

static int remote_fetch(struct git_source *s, const struct git_revision *rev, struct git_deadline d, struct err *err) {
        struct remote *r = remote_of(s);
        struct err e = { 0 };
        int rc = git_deadline_check(d, "waiting for its turn", &e);

        if (rc == 0 && is_stored(r, &rev->commit))
                return 0;
        if (rc == 0 && r->in_place)
                rc = err_set(&e, ERR_NOTFOUND, "%.*s: the commit of %.*s is not there", STR_FMT(r->url.text),
                             STR_FMT(rev->name));
        else if (rc == 0)
                rc = fetch_stored(r, rev, d, &e);
        return rc < 0 ? give_error(r, &e, err) : 0;
}

/* ---- reading ---- */

/* One line for people: what is no printable UTF-8 becomes a blank. */
static struct str one_line(const char *text, size_t max_bytes, struct arena *a) {
        size_t n = 0;
        struct str s;

        while (text && text[n] && text[n] != '\n' && n < max_bytes)
                n++;
        while (n > 0 && n == max_bytes && ((unsigned char)text[n] & 0xc0) == 0x80)
                n--;
        s = arena_str(a, (struct str){ text, n });
        bool utf8 = str_is_utf8(s);
        for (char *p = (char *)s.p; p < s.p + s.n; p++) {
                unsigned char c = (unsigned char)*p;

                if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8))
                        *p = ' ';
        }
        return str_trim(s);
}

static int open_commit(struct generation *g, const struct git_id *id, git_commit **ret, struct err *err) {
        git_oid oid = lib_oid(id);
        int rc = git_commit_lookup(ret, g->repo, &oid);

        return rc < 0 ? lib_fail(err, rc, "reading a commit") : 0;
}

static int remote_describe(struct git_source *s, const struct git_id *commit, struct arena *a,
                           struct git_commit_info *ret, struct err *err) {
        struct remote *r = remote_of(s);
        _cleanup_(git_commit_freep) git_commit *c = NULL;
        const git_signature *author;
        struct generation *g;
        int rc;

        LOCKED(r);
        rc = find_commit(r, commit, &g, err);
        if (rc == 0)
                rc = note_damage(r, open_commit(g, commit, &c, err));
        if (rc < 0)
                return rc;
        author = git_commit_author(c);
        ret->subject = one_line(git_commit_message(c), SUBJECT_MAX_BYTES, a);
        ret->author = arena_strf(a, "%.*s <%.*s>", STR_FMT(one_line(author->name, SUBJECT_MAX_BYTES, a)),
                                 STR_FMT(one_line(author->email, SUBJECT_MAX_BYTES, a)));
        ret->committed_s = git_commit_time(c);
        return 0;
}

static enum tree_kind kind_of(const git_tree_entry *e) {
        switch (git_tree_entry_filemode_raw(e) & 0170000) {
        case 0040000:
                return TREE_FOLDER;
        case 0120000:
                return TREE_LINK;
        case 0160000:
                return TREE_SUBMODULE;
        default:
                return TREE_FILE;
        }
}

static int tree_entries(void *ctx, const struct git_id *id, size_t max, struct arena *a,
                        const struct tree_entry **ret_entries, size_t *ret_count, struct err *err) {
        const struct generation *g = ctx;
        _cleanup_(git_tree_freep) git_tree *tree = NULL;
        git_oid oid = lib_oid(id);
        struct tree_entry *entries;
        size_t count;
        int rc = git_tree_lookup(&tree, g->repo, &oid);

        if (rc == GIT_ENOTFOUND)
                return err_set(err, ERR_CORRUPT, "a folder of the commit is missing from the store");
        if (rc < 0)
                return lib_fail(err, rc, "reading a folder");
        count = git_tree_entrycount(tree);
        if (count > max)
                return err_set(err, ERR_LIMIT, "the folders hold more than %d entries", TREE_MAX_ENTRIES);
        entries = arena_alloc(a, count * sizeof *entries);
        for (size_t i = 0; i < count; i++) {
                const git_tree_entry *e = git_tree_entry_byindex(tree, i);

                entries[i] = (struct tree_entry){ arena_str(a, str_from(git_tree_entry_name(e))), kind_of(e),
                                                  lib_id(git_tree_entry_id(e)) };
        }
        *ret_entries = entries;
        *ret_count = count;
        return 0;
}

static int blob_size(void *ctx, const struct git_id *blob, uint64_t *ret_bytes, struct err *err) {
        return generation_blob_size(ctx, blob, ret_bytes, err);
}

static int blob_content(void *ctx, const struct git_id *blob, size_t max_bytes, struct arena *a, struct str *ret,
                        struct err *err) {
        return generation_read_blob(ctx, blob, max_bytes, a, ret, err);
}

static const struct tree_ops tree_ops = { .entries = tree_entries, .size = blob_size, .content = blob_content };

static int remote_list(struct git_source *s, const struct git_id *commit, struct str dir, bool recurse,
                       struct arena *a, const struct git_file **ret_files, size_t *ret_count, struct err *err) {
        struct remote *r = remote_of(s);
        _cleanup_(git_commit_freep) git_commit *c = NULL;
        struct generation *g;
        struct git_id root;
        int rc;

        LOCKED(r);
        rc = find_commit(r, commit, &g, err);
        if (rc == 0)
                rc = note_damage(r, open_commit(g, commit, &c, err));
        if (rc < 0)
                return rc;
        root = lib_id(git_commit_tree_id(c));
        return note_damage(r, tree_list(&tree_ops, g, &root, dir, recurse, a, ret_files, ret_count, err));
}

static int read_any(struct remote *r, const struct git_id *blob, size_t max_bytes, struct arena *a, struct str *ret,
                    struct err *err) {
        int rc = open_current(r, err);

        if (rc < 0)
                return rc;
        if (!r->current)
                return err_set(err, ERR_NOTFOUND, "nothing has been fetched from %.*s yet", STR_FMT(r->url.text));
        rc = generation_read_blob(r->current, blob, max_bytes, a, ret, err);
        if (rc == ERR_CORRUPT && r->previous)
                rc = generation_read_blob(r->previous, blob, max_bytes, a, ret, err);
        return note_damage(r, rc);
}

static int remote_read(struct git_source *s, const struct git_id *blob, size_t max_bytes, struct arena *a,
                       struct str *ret_content, struct err *err) {
        struct remote *r = remote_of(s);
        struct str content;
        struct err e = { 0 };
        int rc;

        LOCKED(r);
        rc = read_any(r, blob, max_bytes < GIT_MAX_BLOB_BYTES ? max_bytes : GIT_MAX_BLOB_BYTES, a, &content, &e);
        if (rc < 0)
                return give_error(r, &e, err);
        if (tree_is_lfs_pointer(content))
                return tree_refuse_lfs(content, err);
        *ret_content = content;
        return 0;
}

/* ---- life cycle ---- */

static void remote_free(struct git_source *s) {
        struct remote *r = remote_of(s);

        close_all(r);
        store_done(&r->store);
        http_config_done(&r->http);
        pthread_mutex_destroy(&r->lock);
        arena_free(r->arena);
        free(r);
}

static const struct git_source_ops remote_ops = {
        .resolve = remote_resolve, .fetch = remote_fetch, .describe = remote_describe,
        .list = remote_list,       .read = remote_read,   .free = remote_free,
};

static int open_http(struct remote *r, const struct git_remote_options *o, struct err *err) {
        struct str key = r->url.text;
        int rc = http_config_init(&r->http, &r->url, o, err);

        /* What is stored costs no question to the server, which knows who may read it. */
        if (o->scope.n)
                key = arena_strf(r->arena, "%.*s %.*s", STR_FMT(key), STR_FMT(o->scope));
        return rc < 0 ? rc : store_init(&r->store, o->store_dir, key, err);
}

static int open_in_place(struct remote *r, const struct git_remote_options *o, struct err *err) {
        LOCKED(r);
        r->in_place = true;
        if (!o->allow_file)
                return err_set(
                        err, ERR_INVAL,
                        "repository URL \"%.*s\": local repositories are only allowed on the command line or where "
                        "the Agent allows them",
                        STR_FMT(r->url.text));
        return open_current(r, err);
}

int git_remote_open(const struct git_remote_options *o, struct git_source **ret, struct err *err) {
        struct remote *r;
        int rc = git_init_library(err);

        if (rc < 0)
                return rc;
        r = mem_zalloc(sizeof *r);
        r->source.ops = &remote_ops;
        r->arena = arena_new(KIB);
        r->max_store_bytes = o->max_store_bytes ? o->max_store_bytes : GIT_STORE_MAX_BYTES;
        pthread_mutex_init(&r->lock, NULL);
        rc = git_url_parse(o->url, r->arena, &r->url, err);
        if (rc == 0)
                rc = r->url.scheme == GIT_URL_FILE ? open_in_place(r, o, err) : open_http(r, o, err);
        if (rc < 0) {
                remote_free(&r->source);
                return rc;
        }
        *ret = &r->source;
        return 0;
}

int git_remote_key(struct str url, struct arena *a, struct str *ret_key, struct err *err) {
        struct git_url u;
        int rc = git_url_parse(url, a, &u, err);

        if (rc == 0)
                *ret_key = u.text;
        return rc;
}

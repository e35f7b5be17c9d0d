/* SPDX-License-Identifier: Apache-2.0 */
#include "git/memory.h"

#include <pthread.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/map.h"
#include "git/refs.h"
#include "git/tree.h"

/* A blob, a tree, a commit or a tag, found by its id. */
enum object_kind { OBJECT_BLOB, OBJECT_TREE, OBJECT_COMMIT, OBJECT_TAG };

struct object {
        enum object_kind kind;
        struct git_id id;
        struct str content;             /* blob; subject of a commit */
        const struct tree_entry *entries;
        size_t count;
        struct git_id target;           /* a commit's tree, a tag's commit */
        int64_t made_s;
        bool fetched;
};

struct ref {
        struct git_id id;
};

struct script {
        enum err_code code;
        char *msg;
        unsigned times;
        int64_t takes_ms;
        unsigned calls;
};

struct git_memory {
        struct git_source source; /* first */
        pthread_mutex_t lock;
        struct arena *arena;
        struct map *objects; /* id → struct object, in the arena */
        struct map *refs;    /* name → struct ref, in the arena */
        char *head;
        int64_t commits;
        struct script scripts[GIT_MEMORY_OP_COUNT];
        int64_t (*now_ms)(void *ctx);
        void *now_ctx;
        void (*hook)(void *ctx, enum git_memory_op op);
        void *hook_ctx;
};

static void unlock(pthread_mutex_t **lock) {
        pthread_mutex_unlock(*lock);
}

#define LOCKED(m)                                                                                                      \
        _cleanup_(unlock) pthread_mutex_t *locked = &(m)->lock;                                                        \
        pthread_mutex_lock(locked)

/* ---- objects ---- */

static struct str id_key(const struct git_id *id) {
        return (struct str){ (const char *)id->bytes, GIT_OID_BYTES };
}

static struct object *find(struct git_memory *m, const struct git_id *id, enum object_kind kind) {
        struct object *o = map_find(m->objects, id_key(id));

        return o && o->kind == kind ? o : NULL;
}

/* Ids follow from the content, as Git's do: equal trees are one tree. */
static struct git_id id_of(enum object_kind kind, struct str content) {
        static const struct hash_key k1 = { 1, 2 }, k2 = { 3, 4 };
        struct hash_key kinded = { k1.k0 + kind, k1.k1 };
        struct hash128 a = hash128(&kinded, content);
        uint64_t b = hash64(&k2, content);
        struct git_id id;

        memcpy(id.bytes, &a, 16);
        memcpy(id.bytes + 16, &b, 4);
        return id;
}

static struct object *add(struct git_memory *m, enum object_kind kind, struct str content) {
        struct git_id id = id_of(kind, content);
        struct object *o = find(m, &id, kind);

        if (o)
                return o;
        o = arena_zalloc(m->arena, sizeof *o);
        *o = (struct object){ .kind = kind, .id = id };
        map_set(m->objects, id_key(&o->id), o);
        return o;
}

static struct git_id add_blob(struct git_memory *m, struct str content) {
        struct object *o = add(m, OBJECT_BLOB, content);

        if (!o->content.p)
                o->content = arena_str(m->arena, content);
        return o->id;
}

static int by_path(const void *a, const void *b) {
        const struct git_memory_file *x = a, *y = b;

        return str_cmp(str_from(x->path), str_from(y->path));
}

static struct str first_part(const char *path) {
        struct str rest = str_from(path), part = STR("");

        str_next(&rest, '/', &part);
        return part;
}

static struct git_id add_tree(struct git_memory *m, const struct git_memory_file *files, size_t count, size_t skip);

static struct tree_entry entry_of(struct git_memory *m, const struct git_memory_file *f, size_t run, size_t skip) {
        struct str name = first_part(f->path + skip);
        struct tree_entry e = { .name = arena_str(m->arena, name), .kind = TREE_FILE };

        if (f->path[skip + name.n] == '/') {
                e.kind = TREE_FOLDER;
                e.id = add_tree(m, f, run, skip + name.n + 1);
        } else if (f->kind == GIT_MEMORY_SUBMODULE) {
                e.kind = TREE_SUBMODULE;
                e.id = id_of(OBJECT_COMMIT, str_from(f->path));
        } else {
                e.kind = f->kind == GIT_MEMORY_LINK ? TREE_LINK : TREE_FILE;
                e.id = add_blob(m, f->content);
        }
        return e;
}

/* A tree of files[0..count), which share the first `skip` bytes of their paths and are sorted. */
static struct git_id add_tree(struct git_memory *m, const struct git_memory_file *files, size_t count, size_t skip) {
        struct tree_entry *entries = arena_alloc(m->arena, count * sizeof *entries);
        _cleanup_(buf_done) struct buf text = buf_make(SIZE_MAX / 2);
        size_t n = 0;

        for (size_t i = 0, run; i < count; i += run) {
                struct str name = first_part(files[i].path + skip);

                for (run = 1; i + run < count && str_eq(first_part(files[i + run].path + skip), name);)
                        run++;
                entries[n] = entry_of(m, &files[i], run, skip);
                buf_add(&text, entries[n].name);
                buf_addch(&text, '\0');
                buf_addch(&text, (char)entries[n].kind);
                buf_add(&text, id_key(&entries[n].id));
                n++;
        }

        struct object *o = add(m, OBJECT_TREE, buf_str(&text));
        o->entries = entries;
        o->count = n;
        return o->id;
}

/* ---- the test's side ---- */

struct git_id git_memory_commit(struct git_memory *m, const char *subject, const struct git_memory_file *files,
                                size_t count) {
        _cleanup_(buf_done) struct buf text = buf_make(64 * KIB);
        _cleanup_(mem_freep) struct git_memory_file *sorted = mem_alloc(count * sizeof *sorted + 1);
        struct git_id tree;
        struct object *o;

        LOCKED(m);
        if (count) {
                memcpy(sorted, files, count * sizeof *sorted);
                qsort(sorted, count, sizeof *sorted, by_path);
        }
        tree = add_tree(m, sorted, count, 0);
        m->commits++;
        buf_addf(&text, "%lld %s ", (long long)m->commits, subject);
        buf_add(&text, id_key(&tree));
        o = add(m, OBJECT_COMMIT, buf_str(&text));
        o->target = tree;
        o->content = arena_str(m->arena, str_from(subject));
        o->made_s = m->commits;
        return o->id;
}

struct git_id git_memory_push(struct git_memory *m, const struct git_memory_file *files, size_t count) {
        struct git_id id = git_memory_commit(m, "pushed", files, count);

        git_memory_set_ref(m, "refs/heads/main", &id);
        return id;
}

struct git_id git_memory_tag(struct git_memory *m, const struct git_id *commit) {
        struct object *o;

        LOCKED(m);
        o = add(m, OBJECT_TAG, id_key(commit));
        o->target = *commit;
        return o->id;
}

void git_memory_set_ref(struct git_memory *m, const char *name, const struct git_id *id) {
        struct ref *ref;

        LOCKED(m);
        if (!id) {
                map_remove(m->refs, str_from(name));
                return;
        }
        ref = arena_alloc(m->arena, sizeof *ref);
        ref->id = *id;
        map_set(m->refs, str_from(name), ref);
}

void git_memory_set_head(struct git_memory *m, const char *ref) {
        LOCKED(m);
        free(m->head);
        m->head = str_dup(str_from(ref));
}

void git_memory_fail(struct git_memory *m, enum git_memory_op op, enum err_code code, const char *msg, unsigned times) {
        struct script *s = &m->scripts[op];

        LOCKED(m);
        free(s->msg);
        s->msg = str_dup(str_from(msg));
        s->code = code;
        s->times = times;
}

void git_memory_delay(struct git_memory *m, enum git_memory_op op, int64_t takes_ms) {
        LOCKED(m);
        m->scripts[op].takes_ms = takes_ms;
}

void git_memory_set_clock(struct git_memory *m, int64_t (*now_ms)(void *ctx), void *ctx) {
        LOCKED(m);
        m->now_ms = now_ms;
        m->now_ctx = ctx;
}

void git_memory_set_hook(struct git_memory *m, void (*hook)(void *ctx, enum git_memory_op op), void *ctx) {
        LOCKED(m);
        m->hook = hook;
        m->hook_ctx = ctx;
}

unsigned git_memory_calls(struct git_memory *m, enum git_memory_op op) {
        LOCKED(m);
        return m->scripts[op].calls;
}

/* ---- the source's side ---- */

static struct git_memory *memory_of(struct git_source *s) {
        return CONTAINER_OF(s, struct git_memory, source);
}

static void run_hook(struct git_memory *m, enum git_memory_op op) {
        void (*hook)(void *ctx, enum git_memory_op op);
        void *ctx;

        pthread_mutex_lock(&m->lock);
        hook = m->hook;
        ctx = m->hook_ctx;
        m->scripts[op].calls++;
        pthread_mutex_unlock(&m->lock);
        if (hook)
                hook(ctx, op);
}

/* The script's say, under the lock: a failure of its own, or a delay that outlasts the deadline. */
static int play(struct git_memory *m, enum git_memory_op op, const struct git_deadline *d, struct err *err) {
        struct script *s = &m->scripts[op];
        int64_t now = m->now_ms ? m->now_ms(m->now_ctx) : 0;

        if (d && d->cancelled && atomic_load(d->cancelled))
                return err_set(err, ERR_CANCELLED, "cancelled while waiting for the server");
        if (d && s->takes_ms > d->at_ms - now)
                return err_set(err, ERR_TIMEOUT, "the deadline passed while waiting for the server");
        if (s->times == 0)
                return 0;
        s->times--;
        return err_set(err, s->code, "%s", s->msg);
}

static struct git_ref ref_of(struct git_memory *m, struct str name, const struct git_id *id, struct arena *a) {
        struct git_ref ref = { .name = arena_str(a, name), .id = *id };
        const struct object *tag = find(m, id, OBJECT_TAG);

        if (tag)
                ref.peeled = tag->target;
        return ref;
}

static struct git_ref_list list_refs(struct git_memory *m, struct arena *a) {
        struct git_ref *refs = arena_alloc(a, (map_count(m->refs) + 1) * sizeof *refs);
        struct ref *head = map_find(m->refs, str_from(m->head));
        size_t n = 0, at = 0;
        struct str name;
        void *ref;

        while (map_next(m->refs, &at, &name, &ref))
                refs[n++] = ref_of(m, name, &((struct ref *)ref)->id, a);
        if (head) {
                refs[n] = ref_of(m, STR("HEAD"), &head->id, a);
                refs[n++].target = arena_str(a, str_from(m->head));
        }
        return (struct git_ref_list){ refs, n };
}

/* Every commit as a ref without a name, for short words. */
static struct git_ref_list list_commits(struct git_memory *m, struct arena *a) {
        struct git_ref *refs = arena_alloc(a, map_count(m->objects) * sizeof *refs);
        size_t n = 0, at = 0;
        void *object;

        while (map_next(m->objects, &at, NULL, &object)) {
                const struct object *o = object;

                if (o->kind == OBJECT_COMMIT)
                        refs[n++] = (struct git_ref){ .name = STR(""), .id = o->id };
        }
        return (struct git_ref_list){ refs, n };
}

static void commit_revision(const struct git_id *id, struct arena *a, struct git_revision *ret) {
        char hex[GIT_OID_HEX_BYTES + 1];

        git_id_hex(id, hex);
        *ret = (struct git_revision){ *id, arena_str(a, str_from(hex)) };
}

static int memory_resolve(struct git_source *s, struct str word, struct git_deadline d, struct arena *a,
                          struct git_revision *ret, struct err *err) {
        struct git_memory *m = memory_of(s);
        const struct git_ref *ref;
        struct git_ref_list list;
        enum git_word_kind kind;
        struct git_id id;
        int r;

        run_hook(m, GIT_MEMORY_RESOLVE);
        LOCKED(m);
        r = git_word_check(word, &kind, &id, err);
        if (r == 0)
                r = play(m, GIT_MEMORY_RESOLVE, &d, err);
        if (r < 0)
                return r;
        if (kind == GIT_WORD_COMMIT) {
                commit_revision(&id, a, ret);
                return 0;
        }
        list = list_refs(m, a);
        ref = git_refs_find(list, word, a);
        if (ref) {
                *ret = (struct git_revision){ git_ref_commit(ref), ref->target.n ? ref->target : ref->name };
                return 0;
        }
        if (kind != GIT_WORD_SHORT)
                return git_refs_not_found(list, word, err);
        r = git_refs_find_short(list_commits(m, a), word, &id, err);
        if (r == 0)
                commit_revision(&id, a, ret);
        return r;
}

static int memory_fetch(struct git_source *s, const struct git_revision *rev, struct git_deadline d, struct err *err) {
        struct git_memory *m = memory_of(s);
        struct object *o;
        int r;

        run_hook(m, GIT_MEMORY_FETCH);
        LOCKED(m);
        o = find(m, &rev->commit, OBJECT_COMMIT);
        if (o && o->fetched)
                return 0;
        r = play(m, GIT_MEMORY_FETCH, &d, err);
        if (r < 0)
                return r;
        if (!o)
                return err_set(err, ERR_NOTFOUND, "commit of %.*s is not in the repository", STR_FMT(rev->name));
        o->fetched = true;
        return 0;
}

static int find_fetched(struct git_memory *m, const struct git_id *commit, struct object **ret, struct err *err) {
        struct object *o = find(m, commit, OBJECT_COMMIT);
        char hex[GIT_OID_HEX_BYTES + 1];

        git_id_hex(commit, hex);
        if (!o || !o->fetched)
                return err_set(err, ERR_NOTFOUND, "commit %s has not been fetched", hex);
        *ret = o;
        return 0;
}

static int memory_describe(struct git_source *s, const struct git_id *commit, struct arena *a,
                           struct git_commit_info *ret, struct err *err) {
        struct git_memory *m = memory_of(s);
        struct object *o = NULL;
        int r;

        run_hook(m, GIT_MEMORY_DESCRIBE);
        LOCKED(m);
        r = play(m, GIT_MEMORY_DESCRIBE, NULL, err);
        if (r >= 0)
                r = find_fetched(m, commit, &o, err);
        if (r < 0)
                return r;
        *ret = (struct git_commit_info){ arena_str(a, o->content), STR("Somebody <somebody@example.com>"), o->made_s };
        return 0;
}

static int tree_entries(void *ctx, const struct git_id *tree, size_t max, struct arena *a,
                        const struct tree_entry **ret_entries, size_t *ret_count, struct err *err) {
        struct object *o = find(ctx, tree, OBJECT_TREE);

        (void)a;
        if (!o)
                return err_set(err, ERR_CORRUPT, "a tree is missing");
        if (o->count > max)
                return err_set(err, ERR_LIMIT, "the repository's trees hold more than %d entries", TREE_MAX_ENTRIES);
        *ret_entries = o->entries;
        *ret_count = o->count;
        return 0;
}

static int blob_size(void *ctx, const struct git_id *blob, uint64_t *ret_bytes, struct err *err) {
        struct object *o = find(ctx, blob, OBJECT_BLOB);

        if (!o)
                return err_set(err, ERR_CORRUPT, "a file's content is missing");
        *ret_bytes = o->content.n;
        return 0;
}

static int blob_content(void *ctx, const struct git_id *blob, size_t max_bytes, struct arena *a, struct str *ret,
                        struct err *err) {
        struct object *o = find(ctx, blob, OBJECT_BLOB);

        if (!o)
                return err_set(err, ERR_CORRUPT, "a file's content is missing");
        if (o->content.n > max_bytes)
                return err_set(err, ERR_LIMIT, "the file has %zu bytes, allowed are %zu", o->content.n, max_bytes);
        *ret = arena_str(a, o->content);
        return 0;
}

static const struct tree_ops tree_ops = { .entries = tree_entries, .size = blob_size, .content = blob_content };

static int memory_list(struct git_source *s, const struct git_id *commit, struct str dir, bool recurse,
                       struct arena *a, const struct git_file **ret_files, size_t *ret_count, struct err *err) {
        struct git_memory *m = memory_of(s);
        struct object *o = NULL;
        int r;

        run_hook(m, GIT_MEMORY_LIST);
        LOCKED(m);
        r = play(m, GIT_MEMORY_LIST, NULL, err);
        if (r == 0)
                r = find_fetched(m, commit, &o, err);
        return r < 0 ? r : tree_list(&tree_ops, m, &o->target, dir, recurse, a, ret_files, ret_count, err);
}

static int memory_read(struct git_source *s, const struct git_id *blob, size_t max_bytes, struct arena *a,
                       struct str *ret_content, struct err *err) {
        struct git_memory *m = memory_of(s);
        struct str content;
        int r;

        run_hook(m, GIT_MEMORY_READ);
        LOCKED(m);
        r = play(m, GIT_MEMORY_READ, NULL, err);
        if (r >= 0)
                r = blob_content(m, blob, max_bytes < GIT_MAX_BLOB_BYTES ? max_bytes : GIT_MAX_BLOB_BYTES, a, &content,
                                 err);
        if (r < 0)
                return r;
        if (tree_is_lfs_pointer(content))
                return tree_refuse_lfs(content, err);
        *ret_content = content;
        return 0;
}

static void memory_free(struct git_source *s) {
        struct git_memory *m = memory_of(s);

        for (size_t i = 0; i < GIT_MEMORY_OP_COUNT; i++)
                free(m->scripts[i].msg);
        free(m->head);
        map_free(m->refs);
        map_free(m->objects);
        arena_free(m->arena);
        pthread_mutex_destroy(&m->lock);
        free(m);
}

static const struct git_source_ops memory_ops = {
        .resolve = memory_resolve, .fetch = memory_fetch, .describe = memory_describe,
        .list = memory_list,       .read = memory_read,   .free = memory_free,
};

struct git_memory *git_memory_new(void) {
        struct git_memory *m = mem_zalloc(sizeof *m);

        m->source.ops = &memory_ops;
        pthread_mutex_init(&m->lock, NULL);
        m->arena = arena_new(0);
        m->objects = map_new(NULL);
        m->refs = map_new(NULL);
        m->head = str_dup(STR("refs/heads/main"));
        return m;
}

struct git_source *git_memory_source(struct git_memory *m) {
        return &m->source;
}

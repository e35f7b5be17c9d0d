/* SPDX-License-Identifier: Apache-2.0 */
#include "repo.h"

#include "base/yaml.h"

#define FILE_MAX_BYTES (1 << 20)

struct repo {
        struct loop *loop;
        struct git_memory *memory;
        unsigned users;
};

struct borrowed {
        struct git_source base; /* first */
        struct repo *repo;
};

static struct git_source *real(struct git_source *s) {
        return git_memory_source(((struct borrowed *)s)->repo->memory);
}

static int do_resolve(struct git_source *s, struct str word, struct git_deadline d, struct arena *a,
                      struct git_revision *ret, struct err *err) {
        return git_source_resolve(real(s), word, d, a, ret, err);
}

static int do_fetch(struct git_source *s, const struct git_revision *rev, struct git_deadline d, struct err *err) {
        return git_source_fetch(real(s), rev, d, err);
}

static int do_describe(struct git_source *s, const struct git_id *commit, struct arena *a, struct git_commit_info *ret,
                       struct err *err) {
        return git_source_describe(real(s), commit, a, ret, err);
}

static int do_list(struct git_source *s, const struct git_id *commit, struct str dir, bool recurse, struct arena *a,
                   const struct git_file **ret_files, size_t *ret_count, struct err *err) {
        return git_source_list(real(s), commit, dir, recurse, a, ret_files, ret_count, err);
}

static int do_read(struct git_source *s, const struct git_id *blob, size_t max_bytes, struct arena *a,
                   struct str *ret_content, struct err *err) {
        return git_source_read(real(s), blob, max_bytes, a, ret_content, err);
}

static void do_free(struct git_source *s) {
        struct borrowed *b = (struct borrowed *)s;

        b->repo->users--;
        free(b);
}

static const struct git_source_ops ops = {
        .resolve = do_resolve, .fetch = do_fetch, .describe = do_describe,
        .list = do_list,       .read = do_read,   .free = do_free,
};

static int64_t now_ms(void *ctx) {
        return loop_now_ms(((struct repo *)ctx)->loop);
}

struct repo *repo_new(struct loop *l) {
        struct repo *r = mem_zalloc(sizeof *r);

        r->loop = l;
        r->memory = git_memory_new();
        git_memory_set_clock(r->memory, now_ms, r);
        return r;
}

void repo_free(struct repo *r) {
        if (!r)
                return;
        git_source_free(git_memory_source(r->memory));
        free(r);
}

struct git_memory *repo_memory(struct repo *r) {
        return r->memory;
}

unsigned repo_users(const struct repo *r) {
        return r->users;
}

struct git_source *repo_source(struct repo *r) {
        struct borrowed *b = mem_zalloc(sizeof *b);

        b->base.ops = &ops;
        b->repo = r;
        r->users++;
        return &b->base;
}

static struct str text_of(const struct value *content, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(FILE_MAX_BYTES);

        if (content->kind != VALUE_LIST)
                return value_text(content);
        for (size_t i = 0; i < content->list.count; i++) {
                buf_addc(&out, "---\n");
                yaml_print(content->list.items[i], &out);
        }
        return arena_str(a, buf_str(&out));
}

struct git_id repo_commit(struct repo *r, const char *subject, const struct value *files) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        size_t count = value_count(files);
        struct git_memory_file *list = arena_alloc(a, (count + 1) * sizeof *list);

        for (size_t i = 0; i < count; i++) {
                const struct value_member *m = &files->map.members[i];

                list[i] = (struct git_memory_file){ arena_str(a, m->key).p, GIT_MEMORY_FILE, text_of(m->value, a) };
        }
        return git_memory_commit(r->memory, subject, list, count);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs every folder of tests/cases/render through the in-memory repository:
 *   tree/      what the commit holds
 *   case.yaml  path, recurse, include, exclude, anyExtension, namespace, strict, maxBytes, links: {path: target}
 *   expected   what comes out, one line an object, error or warning
 * A case with a new folder needs no C. TRUCE_UPDATE=1 writes `expected` anew.
 */
#include "base/yaml.h"
#include "git/memory.h"
#include "manifest/render.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <cmocka.h>

#define CASES TRUCE_SOURCE_DIR "/tests/cases/render"
#define MAX_FILES 64
#define MAX_BYTES (1024 * 1024)

struct tree {
        struct arena *a;
        struct git_memory_file files[MAX_FILES];
        size_t count;
};

static struct str slurp(struct arena *a, const char *path) {
        _cleanup_(buf_done) struct buf b = buf_make(MAX_BYTES);
        FILE *f = fopen(path, "rb");
        char chunk[4096];
        size_t n;

        if (!f)
                fail_msg("%s cannot be read", path);
        while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
                buf_add(&b, (struct str){ chunk, n });
        fclose(f);
        return arena_str(a, buf_str(&b));
}

static int cmp_file(const void *x, const void *y) {
        const struct git_memory_file *a = x, *b = y;

        return strcmp(a->path, b->path);
}

static void load(struct tree *t, const char *root, const char *prefix) {
        DIR *d = opendir(root);
        struct dirent *e;

        while (d && (e = readdir(d))) {
                struct str path = arena_strf(t->a, "%s/%s", root, e->d_name);
                struct str name = arena_strf(t->a, "%s%s", prefix, e->d_name);
                struct stat st;

                if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                        continue;
                assert_int_equal(stat(path.p, &st), 0);
                if (S_ISDIR(st.st_mode)) {
                        load(t, path.p, arena_strf(t->a, "%s/", name.p).p);
                        continue;
                }
                assert_true(t->count < MAX_FILES);
                t->files[t->count++] = (struct git_memory_file){ name.p, GIT_MEMORY_FILE, slurp(t->a, path.p) };
        }
        if (d)
                closedir(d);
}

static void add_links(struct tree *t, const struct value *links) {
        for (size_t i = 0; i < value_count(links); i++) {
                const struct value_member *m = &links->map.members[i];

                t->files[t->count++] = (struct git_memory_file){
                        arena_str(t->a, m->key).p, GIT_MEMORY_LINK, value_text(m->value),
                };
        }
}

static struct manifest_source source_of(const struct value *v) {
        int64_t max = 0;

        value_to_i64(value_getc(v, "maxBytes"), &max);
        return (struct manifest_source){
                .path = value_text(value_getc(v, "path")),
                .recurse = value_truth(value_getc(v, "recurse"), false),
                .include = value_text(value_getc(v, "include")),
                .exclude = value_text(value_getc(v, "exclude")),
                .any_extension = value_truth(value_getc(v, "anyExtension"), false),
                .default_namespace = value_text(value_getc(v, "namespace")),
                .strict_yaml = value_truth(value_getc(v, "strict"), false),
                .max_bytes = (uint64_t)max,
        };
}

static void print_objects(struct buf *out, const char *word, const struct manifest_object *o, size_t count,
                          struct arena *a) {
        for (size_t i = 0; i < count; i++)
                buf_addf(out, "%s %s at %.*s:%u\n", word, manifest_title(&o[i], a).p, STR_FMT(o[i].file), o[i].line);
}

static void print_problems(struct buf *out, const char *word, const struct manifest_problem *p, size_t count) {
        for (size_t i = 0; i < count; i++) {
                buf_addf(out, "%s ", word);
                if (p[i].code != ERR_OK)
                        buf_addf(out, "%s ", err_code_name(p[i].code));
                manifest_problem_print(&p[i], out);
                buf_addch(out, '\n');
        }
}

static void run(struct arena *a, const char *dir, struct buf *out) {
        struct tree t = { .a = a };
        struct git_memory *m = git_memory_new();
        struct git_source *git = git_memory_source(m);
        struct git_deadline d = { INT64_MAX, NULL };
        _cleanup_(manifest_set_freep) struct manifest_set *set = NULL;
        const struct yaml_document *docs;
        size_t count;
        struct err err;

        assert_int_equal(yaml_parse(slurp(a, arena_strf(a, "%s/case.yaml", dir).p), a, &docs, &count, &err), 0);
        load(&t, arena_strf(a, "%s/tree", dir).p, "");
        add_links(&t, value_getc(docs[0].value, "links"));
        qsort(t.files, t.count, sizeof(t.files[0]), cmp_file);

        struct git_id commit = git_memory_push(m, t.files, t.count);
        struct git_revision rev = { .commit = commit };
        struct manifest_source source = source_of(docs[0].value);

        assert_int_equal(git_source_fetch(git, &rev, d, &err), 0);
        if (manifest_render(git, &commit, &source, NULL, d, &set, &err) < 0) {
                buf_addf(out, "fails %s %s\n", err_code_name(err.code), err.msg);
        } else {
                print_objects(out, "object", set->objects, set->object_count, a);
                print_objects(out, "refused", set->refused, set->refused_count, a);
                print_problems(out, "error", set->errors, set->error_count);
                print_problems(out, "warning", set->warnings, set->warning_count);
                buf_addf(out, "%s, %zu files\n", set->complete ? "complete" : "incomplete", set->file_count);
        }
        git_source_free(git);
}

static void a_folder_renders_as_its_case_says(void **state) {
        const char *name = *state;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(MAX_BYTES);
        struct str dir = arena_strf(a, "%s/%s", CASES, name), expected = arena_strf(a, "%s/expected", dir.p);

        run(a, dir.p, &out);
        if (getenv("TRUCE_UPDATE")) {
                FILE *f = fopen(expected.p, "wb");

                fwrite(out.p, 1, out.n, f);
                fclose(f);
        }
        assert_string_equal(out.p, slurp(a, expected.p).p);
}

int main(void) {
        struct CMUnitTest tests[256] = { 0 };
        struct dirent **names;
        int n = scandir(CASES, &names, NULL, alphasort), count = 0, failed;

        for (int i = 0; i < n && count < 256; i++)
                if (names[i]->d_name[0] != '.')
                        tests[count++] = (struct CMUnitTest){ names[i]->d_name, a_folder_renders_as_its_case_says, NULL,
                                                              NULL, names[i]->d_name };
        if (count < 30) {
                fprintf(stderr, "only %d cases in %s\n", count, CASES);
                return 1;
        }
        failed = _cmocka_run_group_tests("render cases", tests, (size_t)count, NULL, NULL);
        for (int i = 0; i < n; i++)
                free(names[i]);
        free(names);
        return failed;
}

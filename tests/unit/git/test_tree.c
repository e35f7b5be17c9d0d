/* SPDX-License-Identifier: Apache-2.0 */
/* Path rules, over the in-memory repository; that a real one gives the same is in test_remote_file.c. */
#include "git/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/buf.h"
#include "git/memory.h"

#define F(path) { path, GIT_MEMORY_FILE, STR("x: 1\n") }
#define L(path, to) { path, GIT_MEMORY_LINK, STR(to) }

struct fixture {
        struct git_memory *m;
        struct git_source *source;
        struct arena *a;
        struct err err;
        const struct git_file *files;
        size_t n;
};

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->m = git_memory_new();
        f->source = git_memory_source(f->m);
        f->a = arena_new(0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        git_source_free(f->source);
        arena_free(f->a);
        free(f);
        return 0;
}

static int list_tree(struct fixture *f, const struct git_memory_file *files, size_t n, const char *dir, bool recurse) {
        struct git_revision rev = { .commit = git_memory_push(f->m, files, n), .name = STR("refs/heads/main") };
        struct git_deadline never = { .at_ms = INT64_MAX };

        assert_int_equal(git_source_fetch(f->source, &rev, never, &f->err), 0);
        return git_source_list(f->source, &rev.commit, str_from(dir), recurse, f->a, &f->files, &f->n, &f->err);
}

#define LIST(f, tree, dir, recurse) list_tree(f, tree, ARRAY_LEN(tree), dir, recurse)

/* The paths found, joined by blanks. */
static void assert_paths(struct fixture *f, const char *paths) {
        _cleanup_(buf_done) struct buf b = buf_make(1 << 16);

        for (size_t i = 0; i < f->n; i++)
                buf_addf(&b, "%s%.*s", i ? " " : "", STR_FMT(f->files[i].path));
        assert_string_equal(b.p, paths);
}

static void assert_said(struct fixture *f, const char *text) {
        if (!strstr(f->err.msg, text))
                fail_msg("\"%s\" is not in: %s", text, f->err.msg);
}

/* What is longer than a path may be is looked at when it is cleaned, too. */
static void a_path_is_text_however_long_it_is_written(void **state) {
        struct fixture *f = *state;
        struct buf b = buf_make(GIT_MAX_PATH_BYTES * 2);
        struct str path;

        buf_addc(&b, "a\x01");
        while (b.n <= GIT_MAX_PATH_BYTES)
                buf_addch(&b, '/');
        assert_int_equal(tree_clean_path(buf_str(&b), f->a, &path, &f->err), ERR_INVAL);
        assert_said(f, "a control character");
        b.p[1] = 'b';
        assert_int_equal(tree_clean_path(buf_str(&b), f->a, &path, &f->err), 0);
        assert_true(str_eqc(path, "ab"));
        buf_done(&b);
}

static void files_come_sorted_by_whole_path(void **state) {
        static const struct git_memory_file tree[] = { F("a/z"), F("a.b"), F("a/b/c"), F("a-b"), F("b") };
        struct fixture *f = *state;

        assert_int_equal(LIST(f, tree, ".", true), 0);
        assert_paths(f, "a-b a.b a/b/c a/z b");
        assert_int_equal(LIST(f, tree, "", false), 0);
        assert_paths(f, "a-b a.b b");
        assert_int_equal(LIST(f, tree, "a", true), 0);
        assert_paths(f, "a/b/c a/z");
}

static void spellings_of_a_folder_are_one(void **state) {
        static const struct git_memory_file tree[] = { F("a/b/c") };
        static const char *const rows[] = { "a/b", "a/b/", "./a/b", "a//b", "a/./b/." };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_int_equal(LIST(f, tree, rows[i], false), 0);
                assert_paths(f, "a/b/c");
        }
}

static void folders_that_cannot_be_are_refused(void **state) {
        static const struct git_memory_file tree[] = { F("a/b") };
        static const struct {
                const char *dir;
                enum err_code code;
        } rows[] = {
                { "nowhere", ERR_NOTFOUND }, { "a/b/c", ERR_NOTFOUND }, { "A", ERR_NOTFOUND },   { "a/b", ERR_INVAL },
                { "..", ERR_INVAL },         { "a/../a", ERR_INVAL },   { "/a", ERR_INVAL },     { "a\nb", ERR_INVAL },
                { "\xff", ERR_INVAL },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(LIST(f, tree, rows[i].dir, true), rows[i].code);
}

static void an_in_bounds_link_gives_the_files_content(void **state) {
        static const struct git_memory_file tree[] = {
                { "shared/real.yaml", GIT_MEMORY_FILE, STR("real: yes\n") }, L("app/link.yaml", "../shared/real.yaml"),
                L("app/twice.yaml", "link.yaml"),
        };
        struct fixture *f = *state;
        struct str content;

        assert_int_equal(LIST(f, tree, "app", true), 0);
        assert_paths(f, "app/link.yaml app/twice.yaml");
        assert_int_equal(f->files[0].bytes, 10);
        assert_int_equal(git_source_read(f->source, &f->files[1].blob, 100, f->a, &content, &f->err), 0);
        assert_string_equal(content.p, "real: yes\n");
}

static void a_dangling_link_is_left_out(void **state) {
        static const struct git_memory_file tree[] = {
                F("app/a.yaml"),
                L("app/gone.yaml", "nowhere.yaml"),
                L("app/through.yaml", "a.yaml/x"),
                L("app/empty", ""),
        };
        struct fixture *f = *state;

        assert_int_equal(LIST(f, tree, "app", true), 0);
        assert_paths(f, "app/a.yaml");
}

static void links_in_a_circle_are_refused_by_name(void **state) {
        static const struct git_memory_file two[] = { L("app/a.yaml", "b.yaml"), L("app/b.yaml", "a.yaml") };
        static const struct git_memory_file self[] = { L("app/self", "self/x") };
        struct fixture *f = *state;

        assert_int_equal(LIST(f, two, "app", true), ERR_INVAL);
        assert_said(f, "\"app/a.yaml\"");
        assert_said(f, "circles");
        assert_int_equal(LIST(f, self, "app", true), ERR_INVAL);
}

static void a_link_out_of_the_repository_is_refused_by_name(void **state) {
        static const char *const targets[] = { "../../etc/passwd", "../..", "../x/../../y", "/etc/passwd", "/" };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
                struct git_memory_file tree[] = { F("x/y"), { "app/bad.yaml", GIT_MEMORY_LINK, str_from(targets[i]) } };

                assert_int_equal(LIST(f, tree, "app", true), ERR_INVAL);
                assert_said(f, "app/bad.yaml");
        }
        /* Elsewhere it does not matter. */
        struct git_memory_file tree[] = { F("ok/a"), L("app/bad.yaml", "/etc/passwd") };
        assert_int_equal(LIST(f, tree, "ok", true), 0);
}

static void up_from_a_linked_folder_is_its_real_parent(void **state) {
        /* deep/in → far/away; "deep/in/../x" is far/x, as the kernel has it, not deep/x. */
        static const struct git_memory_file tree[] = {
                { "far/x", GIT_MEMORY_FILE, STR("far\n") },
                F("far/away/y"),
                { "deep/x", GIT_MEMORY_FILE, STR("deep!\n") },
                L("deep/in", "../far/away"),
                L("app/link", "../deep/in/../x"),
        };
        struct fixture *f = *state;

        assert_int_equal(LIST(f, tree, "app", true), 0);
        assert_paths(f, "app/link");
        assert_int_equal(f->files[0].bytes, 4);
}

static void a_link_to_a_folder_is_checked_but_not_walked(void **state) {
        static const struct git_memory_file tree[] = { F("base/a"), L("app/base", "../base"), F("app/b") };
        static const struct git_memory_file out[] = { L("app/base", "../..") };
        struct fixture *f = *state;

        assert_int_equal(LIST(f, tree, "app", true), 0);
        assert_paths(f, "app/b");
        assert_int_equal(LIST(f, out, "app", true), ERR_INVAL);
}

static void the_folder_itself_may_be_reached_through_links(void **state) {
        static const struct git_memory_file tree[] = {
                F("v2/web/a"), L("current", "v2"), L("v2/web/up", "../../other"),
                F("other"),    L("out", ".."),     L("gone", "x"),
        };
        struct fixture *f = *state;

        assert_int_equal(LIST(f, tree, "current/web", true), 0);
        assert_paths(f, "current/web/a current/web/up");
        assert_int_equal(LIST(f, tree, "out", true), ERR_INVAL);
        assert_int_equal(LIST(f, tree, "gone", true), ERR_NOTFOUND);
}

static void sixteen_links_in_a_row_are_the_most(void **state) {
        struct git_memory_file tree[GIT_MAX_LINK_HOPS + 2] = { F("l0") };
        struct fixture *f = *state;

        for (size_t i = 1; i < ARRAY_LEN(tree); i++) {
                tree[i] = (struct git_memory_file){ arena_strf(f->a, "l%zu", i).p, GIT_MEMORY_LINK,
                                                    arena_strf(f->a, "l%zu", i - 1) };
        }
        assert_int_equal(list_tree(f, tree, GIT_MAX_LINK_HOPS + 1, "", true), 0);
        assert_int_equal(f->n, GIT_MAX_LINK_HOPS + 1);
        assert_int_equal(list_tree(f, tree, GIT_MAX_LINK_HOPS + 2, "", true), ERR_INVAL);
}

static void a_submodule_is_named_with_its_url(void **state) {
        static const struct git_memory_file tree[] = {
                { ".gitmodules", GIT_MEMORY_FILE,
                  STR("[submodule \"x\"]\n\turl = https://h/x\n\tpath = other\n[submodule \"lib\"]\n\tpath = app/lib\n"
                      "\turl = https://u:secret@h/lib.git\n") },
                F("ok/a"), { "app/lib", GIT_MEMORY_SUBMODULE }, L("ok2/l", "../app/lib/x"), F("ok2/a"),
        };
        struct fixture *f = *state;

        assert_int_equal(LIST(f, tree, "app", false), ERR_UNSUPPORTED);
        assert_said(f, "\"app/lib\" is a submodule (https://***@h/lib.git)");
        assert_int_equal(LIST(f, tree, "app/lib/x", true), ERR_UNSUPPORTED);
        assert_int_equal(LIST(f, tree, "ok2", true), ERR_UNSUPPORTED);
        assert_int_equal(LIST(f, tree, "", true), ERR_UNSUPPORTED);
        assert_int_equal(LIST(f, tree, "", false), 0); /* below folders that are not entered */
        assert_int_equal(LIST(f, tree, "ok", true), 0);
}

static void names_that_lie_are_refused_escaped(void **state) {
        static const char *const names[] = { "app/a\nb.yaml", "app/\x1b[2Jx", "app/\xff.yaml",
                                             "app/.",         "app/..",       "app/\x7f" };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                struct git_memory_file tree[] = { { names[i], GIT_MEMORY_FILE, STR("") } };

                assert_int_equal(LIST(f, tree, "", true), ERR_INVAL);
                assert_null(strpbrk(f->err.msg, "\n\x1b\x7f\xff"));
        }
        struct git_memory_file tree[] = { F("app/gr\xc3\xbcn \xe2\x80\xa6.yaml") };
        assert_int_equal(LIST(f, tree, "", true), 0);
}

static void depth_has_a_limit(void **state) {
        struct fixture *f = *state;
        _cleanup_(buf_done) struct buf b = buf_make(1000);

        for (int i = 0; i < GIT_MAX_PATH_DEPTH; i++)
                buf_addc(&b, "d/");
        struct git_memory_file at[] = { F(arena_strf(f->a, "%sx", b.p).p) };
        assert_int_equal(LIST(f, at, "", true), 0);
        assert_int_equal(LIST(f, at, b.p, true), 0);
        buf_addc(&b, "d/");
        struct git_memory_file above[] = { F(arena_strf(f->a, "%sx", b.p).p) };
        assert_int_equal(LIST(f, above, "", true), ERR_LIMIT);
        assert_int_equal(LIST(f, above, b.p, true), ERR_LIMIT);
}

static void the_length_of_a_path_has_a_limit(void **state) {
        struct fixture *f = *state;
        _cleanup_(buf_done) struct buf b = buf_make(GIT_MAX_PATH_BYTES + 10);

        while (b.n < GIT_MAX_PATH_BYTES)
                buf_addc(&b, b.n % 100 == 99 ? "/" : "x");
        struct git_memory_file at[] = { F(b.p) };
        assert_int_equal(LIST(f, at, "", true), 0);
        assert_int_equal(f->files[0].path.n, GIT_MAX_PATH_BYTES);
        buf_addc(&b, "x");
        struct git_memory_file above[] = { F(b.p) };
        assert_int_equal(LIST(f, above, "", true), ERR_LIMIT);
        assert_int_equal(LIST(f, above, b.p, true), ERR_LIMIT);
}

static void the_number_of_files_has_a_limit(void **state) {
        struct fixture *f = *state;
        struct git_memory_file *tree = mem_alloc((GIT_MAX_TREE_FILES + 1) * sizeof *tree);

        for (int i = 0; i <= GIT_MAX_TREE_FILES; i++)
                tree[i] = (struct git_memory_file)F(arena_strf(f->a, "d%d/%d", i / 1000, i).p);
        assert_int_equal(list_tree(f, tree, GIT_MAX_TREE_FILES, "", true), 0);
        assert_int_equal(f->n, GIT_MAX_TREE_FILES);
        assert_int_equal(list_tree(f, tree, GIT_MAX_TREE_FILES + 1, "", true), ERR_LIMIT);
        free(tree);
}

/* A "git bomb": each folder holds the next one many times. Made of ops, since no list of files could. */
static int bomb_entries(void *ctx, const struct git_id *tree, size_t max, struct arena *a,
                        const struct tree_entry **ret_entries, size_t *ret_count, struct err *e) {
        struct tree_entry *entries = arena_zalloc(a, 50 * sizeof *entries);

        (void)ctx;
        (void)max;
        (void)e;
        for (int i = 0; i < 50; i++) {
                entries[i] = (struct tree_entry){ .name = arena_strf(a, "d%d", i), .kind = TREE_FOLDER };
                entries[i].id.bytes[0] = (unsigned char)(tree->bytes[0] + 1);
        }
        *ret_entries = entries;
        *ret_count = 50;
        return 0;
}

static void a_bomb_of_folders_hits_the_limit(void **state) {
        static const struct tree_ops bomb = { .entries = bomb_entries };
        struct fixture *f = *state;
        struct git_id root = { { 0 } };

        assert_int_equal(tree_list(&bomb, NULL, &root, STR(""), true, f->a, &f->files, &f->n, &f->err), ERR_LIMIT);
        assert_int_equal(tree_list(&bomb, NULL, &root, STR(""), false, f->a, &f->files, &f->n, &f->err), 0);
        assert_int_equal(f->n, 0);
}

static void gitmodules_are_read_leniently(void **state) {
        static const struct {
                const char *text, *url;
        } rows[] = {
                { "[submodule \"a\"]\npath=p\nurl=u", "u" },
                { "[submodule \"a\"]\n  url = \"u\"\n  path = \"p\"\n", "u" },
                { "[submodule \"a\"]\npath = q\nurl = no\n[submodule \"b\"]\nurl = yes\npath = p\n", "yes" },
                { "[submodule \"a\"]\npath = p\n[submodule \"b\"]\nurl = no\n", "" },
                { "garbage\n[[[\n=\npath", "" },
                { "", "" },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct str url = tree_submodule_url(str_from(rows[i].text), STR("p"), f->a);

                assert_true(str_eqc(url, rows[i].url));
        }
}

static void lfs_pointers_are_told_from_manifests(void **state) {
        char big[1024];

        (void)state;
        assert_true(tree_is_lfs_pointer(STR("version https://git-lfs.github.com/spec/v1\noid sha256:1\n")));
        assert_false(tree_is_lfs_pointer(STR("version: https://git-lfs.github.com\n")));
        assert_false(tree_is_lfs_pointer(STR("")));
        memset(big, 'x', sizeof big);
        memcpy(big, "version https://git-lfs", 23);
        assert_true(tree_is_lfs_pointer((struct str){ big, 1023 }));
        assert_false(tree_is_lfs_pointer((struct str){ big, 1024 }));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_path_is_text_however_long_it_is_written),
                TEST(files_come_sorted_by_whole_path),
                TEST(spellings_of_a_folder_are_one),
                TEST(folders_that_cannot_be_are_refused),
                TEST(an_in_bounds_link_gives_the_files_content),
                TEST(a_dangling_link_is_left_out),
                TEST(links_in_a_circle_are_refused_by_name),
                TEST(a_link_out_of_the_repository_is_refused_by_name),
                TEST(up_from_a_linked_folder_is_its_real_parent),
                TEST(a_link_to_a_folder_is_checked_but_not_walked),
                TEST(the_folder_itself_may_be_reached_through_links),
                TEST(sixteen_links_in_a_row_are_the_most),
                TEST(a_submodule_is_named_with_its_url),
                TEST(names_that_lie_are_refused_escaped),
                TEST(depth_has_a_limit),
                TEST(the_length_of_a_path_has_a_limit),
                TEST(the_number_of_files_has_a_limit),
                TEST(a_bomb_of_folders_hits_the_limit),
                TEST(gitmodules_are_read_leniently),
                TEST(lfs_pointers_are_told_from_manifests),
        };

        return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}

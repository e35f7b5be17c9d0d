/* SPDX-License-Identifier: Apache-2.0 */
#include "git/remote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "git/refs.h"
#include "scratch.h"

#define SOON 20000

struct fixture {
        struct scratch s;
        struct arena *a;
        struct git_source *source;
        struct err err;
};

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        scratch_init(&f->s);
        scratch_repo(&f->s, "repo");
        f->a = arena_new(0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        git_source_free(f->source);
        arena_free(f->a);
        scratch_done(&f->s);
        free(f);
        return 0;
}

static void open_source(struct fixture *f, const char *name) {
        struct git_remote_options o = { .url = str_from(scratch_path(&f->s, name)), .allow_file = true };

        assert_int_equal(git_remote_open(&o, &f->source, &f->err), 0);
}

static int resolve(struct fixture *f, const char *word, struct git_revision *ret) {
        return git_source_resolve(f->source, str_from(word), scratch_deadline(SOON), f->a, ret, &f->err);
}

static void assert_resolves(struct fixture *f, const char *word, const char *hex, const char *name) {
        char found[GIT_OID_HEX_BYTES + 1];
        struct git_revision rev;

        if (resolve(f, word, &rev) < 0)
                fail_msg("%s: %s", word, f->err.msg);
        git_id_hex(&rev.commit, found);
        assert_string_equal(found, hex);
        assert_int_equal(rev.name.n, strlen(name));
        assert_memory_equal(rev.name.p, name, rev.name.n);
}

static void every_kind_of_word_resolves(void **state) {
        struct fixture *f = *state;

        scratch_write(&f->s, "repo/a.yaml", "a: 1\n");
        char *first = scratch_commit(&f->s, "repo", "first");
        GIT(&f->s, "repo", "tag", "light");
        GIT(&f->s, "repo", "tag", "-a", "-m", "x", "heavy");
        GIT(&f->s, "repo", "tag", "-a", "-m", "x", "twice", "heavy");
        GIT(&f->s, "repo", "tag", "both");
        GIT(&f->s, "repo", "tag", "-a", "-m", "x", "v1.10.0");
        GIT(&f->s, "repo", "tag", "v1.9.0");
        char *second = scratch_commit(&f->s, "repo", "second");
        GIT(&f->s, "repo", "branch", "both");
        GIT(&f->s, "repo", "branch", "2.x");
        open_source(f, "repo");

        char seven[8];
        snprintf(seven, sizeof seven, "%s", first);
        assert_resolves(f, "", second, "refs/heads/main");
        assert_resolves(f, "HEAD", second, "refs/heads/main");
        assert_resolves(f, "main", second, "refs/heads/main");
        assert_resolves(f, "heads/main", second, "refs/heads/main");
        assert_resolves(f, "refs/heads/main", second, "refs/heads/main");
        assert_resolves(f, "light", first, "refs/tags/light");
        assert_resolves(f, "heavy", first, "refs/tags/heavy");
        assert_resolves(f, "twice", first, "refs/tags/twice");
        assert_resolves(f, "both", second, "refs/heads/both");
        assert_resolves(f, "tags/both", first, "refs/tags/both");
        assert_resolves(f, "2.x", second, "refs/heads/2.x");
        assert_resolves(f, "1.*", first, "refs/tags/v1.10.0");
        assert_resolves(f, first, first, first);
        assert_resolves(f, seven, first, first);
        free(first);
        free(second);
}

static void new_commits_are_noticed_in_place(void **state) {
        struct fixture *f = *state;

        free(scratch_commit(&f->s, "repo", "first"));
        open_source(f, "repo");
        for (int i = 0; i < 3; i++) {
                char *hex = scratch_commit(&f->s, "repo", "more");

                assert_resolves(f, "main", hex, "refs/heads/main");
                free(hex);
        }
        GIT(&f->s, "repo", "gc", "-q", "--prune=now");
        char *hex = scratch_commit(&f->s, "repo", "after gc");
        assert_resolves(f, "main", hex, "refs/heads/main");
        free(hex);
}

static void bare_repositories_and_worktrees_open(void **state) {
        static const char *const names[] = { "bare.git", "tree", "repo/.git" };
        struct fixture *f = *state;

        char *hex = scratch_commit(&f->s, "repo", "first");
        GIT(&f->s, ".", "clone", "-q", "--bare", "repo", "bare.git");
        GIT(&f->s, "repo", "worktree", "add", "-q", "-b", "side", "../tree");
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                open_source(f, names[i]);
                assert_resolves(f, "main", hex, "refs/heads/main");
                git_source_free(TAKE_PTR(f->source));
        }
        free(hex);
}

static void files_are_listed_and_read(void **state) {
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_commit_info info;
        struct git_revision rev;
        struct str content;
        size_t n;

        scratch_write(&f->s, "repo/apps/web/b.yaml", "b: 2\n");
        scratch_write(&f->s, "repo/apps/web/a.yaml", "a: 1\n");
        scratch_write(&f->s, "repo/apps/web.yaml", "w: 1\n");
        free(scratch_commit(&f->s, "repo", "a subject\n\nand a body"));
        open_source(f, "repo");
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_int_equal(git_source_fetch(f->source, &rev, scratch_deadline(SOON), &f->err), 0);

        assert_int_equal(git_source_list(f->source, &rev.commit, STR("apps"), true, f->a, &files, &n, &f->err), 0);
        assert_int_equal(n, 3);
        assert_string_equal(files[0].path.p, "apps/web.yaml");
        assert_string_equal(files[1].path.p, "apps/web/a.yaml");
        assert_string_equal(files[2].path.p, "apps/web/b.yaml");
        assert_int_equal(files[1].bytes, 5);
        assert_int_equal(git_source_read(f->source, &files[1].blob, 5, f->a, &content, &f->err), 0);
        assert_int_equal(content.n, 5);
        assert_string_equal(content.p, "a: 1\n");

        assert_int_equal(git_source_list(f->source, &rev.commit, STR("apps"), false, f->a, &files, &n, &f->err), 0);
        assert_int_equal(n, 1);
        assert_int_equal(git_source_describe(f->source, &rev.commit, f->a, &info, &f->err), 0);
        assert_true(str_eq(info.subject, STR("a subject")));
        assert_true(str_eq(info.author, STR("A U Thor <author@example.com>")));
        assert_true(info.committed_s > 1500000000);
}

static void a_blob_above_the_cap_is_refused_unread(void **state) {
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_revision rev;
        struct str content;
        size_t n;

        char *big = mem_alloc(100001);
        memset(big, 'x', 100000);
        big[100000] = '\0';
        scratch_write(&f->s, "repo/big.yaml", big);
        free(big);
        free(scratch_commit(&f->s, "repo", "big"));
        open_source(f, "repo");
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_int_equal(git_source_list(f->source, &rev.commit, STR("."), true, f->a, &files, &n, &f->err), 0);
        assert_int_equal(files[0].bytes, 100000);
        assert_int_equal(git_source_read(f->source, &files[0].blob, 99999, f->a, &content, &f->err), ERR_LIMIT);
        assert_non_null(strstr(f->err.msg, "100000"));
        assert_int_equal(git_source_read(f->source, &files[0].blob, 100000, f->a, &content, &f->err), 0);
}

static void lfs_pointers_say_what_to_do(void **state) {
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_revision rev;
        struct str content;
        size_t n;

        scratch_write(
                &f->s, "repo/a.yaml",
                "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258"
                "daaa5e2ca24d17e2393\nsize 12345\n");
        free(scratch_commit(&f->s, "repo", "lfs"));
        open_source(f, "repo");
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_int_equal(git_source_list(f->source, &rev.commit, STR(""), true, f->a, &files, &n, &f->err), 0);
        assert_int_equal(git_source_read(f->source, &files[0].blob, 1000, f->a, &content, &f->err), ERR_UNSUPPORTED);
        assert_non_null(strstr(f->err.msg, "LFS"));
        assert_non_null(strstr(f->err.msg, "sha256:4d7a214614ab"));
}

static void a_submodule_below_the_folder_is_named_with_its_url(void **state) {
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_revision rev;
        size_t n;

        scratch_write(&f->s, "repo/ok/a.yaml", "a: 1\n");
        char *hex = scratch_commit(&f->s, "repo", "first");
        scratch_write(&f->s, "repo/.gitmodules",
                      "[submodule \"lib\"]\n\tpath = apps/lib\n\turl = https://user:secret@example.com/lib.git\n");
        char entry[80];
        snprintf(entry, sizeof entry, "160000,%s,apps/lib", hex);
        GIT(&f->s, "repo", "add", ".gitmodules");
        GIT(&f->s, "repo", "update-index", "--add", "--cacheinfo", entry);
        GIT(&f->s, "repo", "commit", "-q", "-m", "submodule");
        free(hex);
        open_source(f, "repo");
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_int_equal(git_source_list(f->source, &rev.commit, STR("apps"), false, f->a, &files, &n, &f->err),
                         ERR_UNSUPPORTED);
        assert_non_null(strstr(f->err.msg, "apps/lib"));
        assert_non_null(strstr(f->err.msg, "https://***@example.com/lib.git"));
        assert_null(strstr(f->err.msg, "secret"));
        /* Elsewhere it does not matter. */
        assert_int_equal(git_source_list(f->source, &rev.commit, STR("ok"), true, f->a, &files, &n, &f->err), 0);
}

static void links_of_a_real_tree_obey_the_rules(void **state) {
        static const struct {
                const char *dir, *link, *to;
                int result;
                size_t files;
        } rows[] = {
                { "in-bounds", "repo/in-bounds/a.yaml", "../files/a.yaml", 0, 1 },
                { "dangling", "repo/dangling/a.yaml", "nowhere.yaml", 0, 0 },
                { "circular", "repo/circular/a.yaml", "a.yaml", ERR_INVAL, 0 },
                { "outside", "repo/outside/a.yaml", "../../secret.yaml", ERR_INVAL, 0 },
                { "absolute", "repo/absolute/a.yaml", "/etc/passwd", ERR_INVAL, 0 },
                { "folder", "repo/folder/sub", "../files", 0, 0 },
        };
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_revision rev;
        struct str content;
        size_t n;

        scratch_write(&f->s, "repo/files/a.yaml", "a: 1\n");
        scratch_write(&f->s, "secret.yaml", "secret: 1\n");
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char path[64];

                snprintf(path, sizeof path, "repo/%s", rows[i].dir);
                assert_int_equal(mkdir(scratch_path(&f->s, path), 0755), 0);
                assert_int_equal(symlink(rows[i].to, scratch_path(&f->s, rows[i].link)), 0);
        }
        free(scratch_commit(&f->s, "repo", "links"));
        open_source(f, "repo");
        assert_int_equal(resolve(f, "main", &rev), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int r = git_source_list(f->source, &rev.commit, str_from(rows[i].dir), true, f->a, &files, &n, &f->err);

                assert_int_equal(r, rows[i].result);
                if (r == 0)
                        assert_int_equal(n, rows[i].files);
                else
                        assert_non_null(strstr(f->err.msg, "a.yaml"));
        }
        assert_int_equal(git_source_list(f->source, &rev.commit, STR("in-bounds"), true, f->a, &files, &n, &f->err), 0);
        assert_int_equal(git_source_read(f->source, &files[0].blob, 100, f->a, &content, &f->err), 0);
        assert_string_equal(content.p, "a: 1\n");
}

static void a_name_with_a_line_break_is_refused_escaped(void **state) {
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_revision rev;
        size_t n;

        scratch_write(&f->s, "repo/a\nb.yaml", "a: 1\n");
        free(scratch_commit(&f->s, "repo", "x"));
        open_source(f, "repo");
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_int_equal(git_source_list(f->source, &rev.commit, STR(""), true, f->a, &files, &n, &f->err), ERR_INVAL);
        assert_non_null(strstr(f->err.msg, "a\\x0ab.yaml"));
}

static void a_path_that_is_no_repository_is_not_found(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = { .url = str_from(scratch_path(&f->s, "nowhere")), .allow_file = true };

        assert_int_equal(git_remote_open(&o, &f->source, &f->err), ERR_NOTFOUND);
        /* No search upwards: a folder inside a repository is no repository. */
        scratch_write(&f->s, "repo/sub/a.yaml", "a: 1\n");
        o.url = str_from(scratch_path(&f->s, "repo/sub"));
        assert_int_equal(git_remote_open(&o, &f->source, &f->err), ERR_NOTFOUND);
        assert_null(f->source);
}

static void local_repositories_need_permission(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = { .url = str_from(scratch_path(&f->s, "repo")) };

        assert_int_equal(git_remote_open(&o, &f->source, &f->err), ERR_INVAL);
        assert_non_null(strstr(f->err.msg, "local repositories"));
}

static void sha256_repositories_are_refused_by_name(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = { .url = str_from(scratch_path(&f->s, "new.git")), .allow_file = true };

        GIT(&f->s, ".", "init", "-q", "--bare", "--object-format=sha256", "new.git");
        assert_int_equal(git_remote_open(&o, &f->source, &f->err), ERR_UNSUPPORTED);
        assert_non_null(strstr(f->err.msg, "SHA-256"));
}

static void an_empty_repository_says_so(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        open_source(f, "repo");
        assert_int_equal(resolve(f, "HEAD", &rev), ERR_NOTFOUND);
        assert_non_null(strstr(f->err.msg, "empty"));
}

static void a_repository_that_was_moved_away_is_told_by_its_path(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;
        char from[SCRATCH_PATH_BYTES], to[SCRATCH_PATH_BYTES];

        char *hex = scratch_commit(&f->s, "repo", "only");
        snprintf(from, sizeof from, "%s", scratch_path(&f->s, "repo"));
        snprintf(to, sizeof to, "%s", scratch_path(&f->s, "elsewhere"));
        open_source(f, "repo");
        assert_resolves(f, "main", hex, "refs/heads/main");
        assert_int_equal(rename(from, to), 0);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(resolve(f, "main", &rev), ERR_NOTFOUND);
                assert_non_null(strstr(f->err.msg, from));
                assert_null(strstr(f->err.msg, "empty"));
        }
        assert_int_equal(rename(to, from), 0);
        assert_resolves(f, "main", hex, "refs/heads/main");
        free(hex);
}

static void a_digit_too_many_is_not_found(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;
        char word[13];

        char *hex = scratch_commit(&f->s, "repo", "only");
        open_source(f, "repo");
        snprintf(word, sizeof word, "%.12s", hex);
        assert_resolves(f, word, hex, hex);
        word[11] = word[11] == 'f' ? '0' : 'f';
        assert_int_equal(resolve(f, word, &rev), ERR_NOTFOUND);
        free(hex);
}

static void a_commit_that_is_not_there_is_not_found(void **state) {
        static const char hex[] = "1234567890123456789012345678901234567890";
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_revision rev;
        size_t n;

        free(scratch_commit(&f->s, "repo", "only"));
        open_source(f, "repo");
        assert_int_equal(resolve(f, hex, &rev), 0);
        assert_int_equal(git_source_fetch(f->source, &rev, scratch_deadline(SOON), &f->err), ERR_NOTFOUND);
        assert_int_equal(git_source_list(f->source, &rev.commit, STR(""), true, f->a, &files, &n, &f->err),
                         ERR_NOTFOUND);
        assert_non_null(strstr(f->err.msg, hex));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(every_kind_of_word_resolves),
                TEST(new_commits_are_noticed_in_place),
                TEST(bare_repositories_and_worktrees_open),
                TEST(files_are_listed_and_read),
                TEST(a_blob_above_the_cap_is_refused_unread),
                TEST(lfs_pointers_say_what_to_do),
                TEST(a_submodule_below_the_folder_is_named_with_its_url),
                TEST(links_of_a_real_tree_obey_the_rules),
                TEST(a_name_with_a_line_break_is_refused_escaped),
                TEST(a_path_that_is_no_repository_is_not_found),
                TEST(local_repositories_need_permission),
                TEST(sha256_repositories_are_refused_by_name),
                TEST(an_empty_repository_says_so),
                TEST(a_repository_that_was_moved_away_is_told_by_its_path),
                TEST(a_digit_too_many_is_not_found),
                TEST(a_commit_that_is_not_there_is_not_found),
        };

        return cmocka_run_group_tests_name("remote_file", tests, NULL, NULL);
}

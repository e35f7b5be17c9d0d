/* SPDX-License-Identifier: Apache-2.0 */
/* The remote against a well-behaved server: git http-backend on loopback. What goes wrong is in test_trouble.c. */
#include "remote_fixture.h"

static void a_repository_is_fetched_and_read(void **state) {
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_revision rev;
        struct str content;
        size_t n;

        scratch_write(&f->s, "repo/app/a.yaml", "a: 1\n");
        push(f, "first");
        open_source(f);
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_true(str_eq(rev.name, STR("refs/heads/main")));
        assert_int_equal(git_source_list(f->source, &rev.commit, STR(""), true, f->a, &files, &n, &f->err),
                         ERR_NOTFOUND);
        assert_int_equal(fetch(f, &rev), 0);
        assert_int_equal(git_source_list(f->source, &rev.commit, STR("app"), true, f->a, &files, &n, &f->err), 0);
        assert_int_equal(n, 1);
        assert_int_equal(git_source_read(f->source, &files[0].blob, 100, f->a, &content, &f->err), 0);
        assert_string_equal(content.p, "a: 1\n");
}

static void a_poll_is_two_small_requests(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        push(f, "first");
        for (int i = 0; i < 300; i++) {
                char name[32];

                snprintf(name, sizeof name, "refs/heads/feature-%d", i);
                GIT(&f->s, "served.git", "update-ref", name, "main");
        }
        open_source(f);
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_int_equal(atomic_load(&f->b.shared->requests), 2);
        assert_true(atomic_load(&f->b.shared->bytes_out) < 2000);

        atomic_store(&f->b.shared->bytes_out, 0);
        atomic_store(&f->b.shared->old_protocol, 1);
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_int_equal(atomic_load(&f->b.shared->requests), 3);
        assert_true(atomic_load(&f->b.shared->bytes_out) > 10000);
}

static void what_is_stored_costs_no_request(void **state) {
        struct fixture *f = *state;
        const char *hex = push(f, "first");
        struct git_revision rev;

        open_source(f);
        assert_fetches(f, "main", hex);
        int before = atomic_load(&f->b.shared->requests);
        assert_int_equal(resolve(f, hex, &rev), 0);
        assert_int_equal(fetch(f, &rev), 0);
        assert_int_equal(atomic_load(&f->b.shared->requests), before);
}

/* A commit that is named whole and is there needs no server, which would ask who wants it. */
static void what_is_stored_for_a_scope_is_for_that_scope_alone(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = options(f);
        const char *first = push(f, "first");
        struct git_revision rev;

        o.scope = STR("team");
        assert_int_equal(git_remote_open(&o, &f->source, &f->err), 0);
        assert_fetches(f, first, first);
        git_source_free(TAKE_PTR(f->source));
        snprintf(f->b.shared->authorization, BACKEND_TEXT_BYTES, "Basic xyz");
        assert_int_equal(git_remote_open(&o, &f->source, &f->err), 0);
        assert_fetches(f, first, first);
        git_source_free(TAKE_PTR(f->source));
        open_source(f);
        assert_int_equal(resolve(f, first, &rev), 0);
        assert_int_equal(fetch(f, &rev), ERR_UNAUTH);
        assert_int_equal(git_source_list(f->source, &rev.commit, STR(""), true, f->a, &(const struct git_file *){ NULL },
                                         &(size_t){ 0 }, &f->err), ERR_NOTFOUND);
}

static void a_force_push_is_followed(void **state) {
        struct fixture *f = *state;
        const char *first = push(f, "first");

        open_source(f);
        assert_fetches(f, "main", push(f, "second"));
        GIT(&f->s, "repo", "reset", "-q", "--hard", first);
        assert_fetches(f, "main", push(f, "another second"));
        GIT(&f->s, "repo", "checkout", "-q", "--orphan", "fresh");
        assert_fetches(f, "main", push(f, "no common history"));
}

static void a_range_of_versions_costs_no_more_than_a_branch(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;
        char found[GIT_OID_HEX_BYTES + 1];

        push(f, "first");
        GIT(&f->s, "repo", "tag", "-a", "-m", "annotated", "v1.2.0");
        const char *second = push(f, "second");
        GIT(&f->s, "repo", "tag", "-a", "-m", "annotated", "v1.10.0");
        push(f, "third");
        GIT(&f->s, "repo", "tag", "v2.0.0");
        GIT(&f->s, "repo", "push", "-q", "--tags", "origin");
        open_source(f);
        assert_fetches(f, "1.*", second);
        int before = atomic_load(&f->b.shared->requests);
        assert_int_equal(resolve(f, "main", &rev), 0);
        int branch = atomic_load(&f->b.shared->requests) - before;
        assert_int_equal(resolve(f, "^1.3", &rev), 0);
        assert_int_equal(atomic_load(&f->b.shared->requests) - before, 2 * branch);
        git_id_hex(&rev.commit, found);
        assert_string_equal(found, second);
        assert_true(str_eqc(rev.name, "refs/tags/v1.10.0"));
        assert_int_equal(resolve(f, "^3", &rev), ERR_NOTFOUND);
        assert_non_null(strstr(f->err.msg, "the highest version among the tags is v2.0.0"));
}

static void a_moved_tag_is_followed(void **state) {
        struct fixture *f = *state;
        const char *first = push(f, "first");

        GIT(&f->s, "repo", "tag", "-a", "-m", "x", "v1");
        GIT(&f->s, "repo", "push", "-q", "origin", "v1");
        open_source(f);
        assert_fetches(f, "v1", first);
        const char *second = push(f, "second");
        GIT(&f->s, "repo", "tag", "-f", "v1");
        GIT(&f->s, "repo", "push", "-q", "-f", "origin", "v1");
        assert_fetches(f, "v1", second);
        GIT(&f->s, "repo", "tag", "-f", "-a", "-m", "x", "v1", first);
        GIT(&f->s, "repo", "push", "-q", "-f", "origin", "v1");
        assert_fetches(f, "refs/tags/v1", first);
}

static void a_branch_beats_a_tag_of_its_name(void **state) {
        struct fixture *f = *state;
        const char *first = push(f, "first");

        GIT(&f->s, "repo", "tag", "x");
        const char *second = push(f, "second");
        GIT(&f->s, "repo", "push", "-q", "origin", "refs/tags/x", "HEAD:refs/heads/x");
        open_source(f);
        assert_fetches(f, "x", second);
        assert_fetches(f, "refs/tags/x", first);
        atomic_store(&f->b.shared->old_protocol, 1);
        assert_fetches(f, "x", second);
}

static void head_follows_the_default_branch(void **state) {
        struct fixture *f = *state;
        const char *first = push(f, "first");
        struct git_revision rev;

        open_source(f);
        assert_fetches(f, "HEAD", first);
        const char *second = push(f, "second");
        GIT(&f->s, "repo", "push", "-q", "origin", "HEAD:refs/heads/other");
        GIT(&f->s, "served.git", "symbolic-ref", "HEAD", "refs/heads/other");
        for (int old = 0; old < 2; old++) {
                atomic_store(&f->b.shared->old_protocol, old);
                assert_int_equal(resolve(f, "", &rev), 0);
                assert_true(str_eq(rev.name, STR("refs/heads/other")));
                assert_fetches(f, "HEAD", second);
        }
}

static void a_deleted_branch_is_not_found_and_its_neighbours_are_named(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        push(f, "first");
        GIT(&f->s, "repo", "push", "-q", "origin", "HEAD:refs/heads/release-1.2", "HEAD:refs/heads/gone");
        open_source(f);
        assert_int_equal(resolve(f, "gone", &rev), 0);
        GIT(&f->s, "repo", "push", "-q", "origin", ":gone");
        assert_int_equal(resolve(f, "gone", &rev), ERR_NOTFOUND);
        assert_int_equal(resolve(f, "release-1.1", &rev), ERR_NOTFOUND);
        assert_non_null(strstr(f->err.msg, "\"release-1.2\""));
        assert_null(strstr(f->err.msg, "main"));
}

static void a_branch_that_becomes_a_folder_of_branches_is_fetched(void **state) {
        struct fixture *f = *state;

        push(f, "first");
        GIT(&f->s, "repo", "push", "-q", "origin", "HEAD:refs/heads/a");
        open_source(f);
        char *hex = scratch_git(&f->s, "repo", "rev-parse", "HEAD", NULL);
        assert_fetches(f, "a", hex);
        free(hex);
        const char *second = push(f, "second");
        GIT(&f->s, "repo", "push", "-q", "origin", ":a");
        GIT(&f->s, "repo", "push", "-q", "origin", "HEAD:refs/heads/a/b");
        assert_fetches(f, "a/b", second);
}

static void a_short_commit_that_is_no_tip_is_found(void **state) {
        struct fixture *f = *state;
        const char *first = push(f, "first");
        struct git_revision rev;
        char seven[8], none[8];

        push(f, "second");
        snprintf(seven, sizeof seven, "%s", first);
        open_source(f);
        assert_fetches(f, seven, first);
        snprintf(none, sizeof none, "%s", "0000000");
        assert_int_equal(resolve(f, none, &rev), ERR_NOTFOUND);
        assert_int_equal(resolve(f, "abcdef", &rev), ERR_NOTFOUND); /* six digits: a name, no commit */
}

static void an_ambiguous_short_commit_lists_its_meanings(void **state) {
        /* Found by trying: with this author, date and tree these two messages give commits with 7 equal digits. */
        static const char *const messages[] = { "12115", "15844" };
        struct fixture *f = *state;
        struct git_revision rev;

        push(f, "first");
        setenv("GIT_AUTHOR_DATE", "1700000000 +0000", 1);
        setenv("GIT_COMMITTER_DATE", "1700000000 +0000", 1);
        setenv("GIT_AUTHOR_NAME", "T", 1);
        setenv("GIT_AUTHOR_EMAIL", "t@example.com", 1);
        setenv("GIT_COMMITTER_NAME", "T", 1);
        setenv("GIT_COMMITTER_EMAIL", "t@example.com", 1);
        free(scratch_git(&f->s, "repo", "hash-object", "-w", "-t", "tree", "/dev/null", NULL));
        for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
                char *hex = scratch_git(&f->s, "repo", "commit-tree", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "-m",
                                        messages[i], NULL), name[64];

                assert_memory_equal(hex, "7a797b7", 7);
                /* A commit on top, so that it is no tip and must be looked up in the store. */
                char *top = scratch_git(&f->s, "repo", "commit-tree", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "-p",
                                        hex, "-m", "top", NULL);
                snprintf(name, sizeof name, "%s:refs/heads/b%zu", top, i);
                GIT(&f->s, "repo", "push", "-q", "origin", name);
                free(hex);
                free(top);
        }
        unsetenv("GIT_AUTHOR_DATE");
        unsetenv("GIT_COMMITTER_DATE");
        open_source(f);
        assert_int_equal(resolve(f, "7a797b7", &rev), ERR_INVAL);
        assert_non_null(strstr(f->err.msg, "7a797b729bebdf22ce5170312f528fcbabd611d1"));
        assert_non_null(strstr(f->err.msg, "7a797b7988bfd1cd175d4413f409466951a5bc7f"));
        assert_fetches(f, "7a797b72", "7a797b729bebdf22ce5170312f528fcbabd611d1");
}

static void an_unadvertised_commit_is_fetched(void **state) {
        static const char *const allow[] = { "false", "true" };
        struct fixture *f = *state;
        const char *first = push(f, "first");

        push(f, "second");
        /* Once through the branches, once by asking for the commit itself. */
        for (size_t i = 0; i < ARRAY_LEN(allow); i++) {
                GIT(&f->s, "served.git", "config", "uploadpack.allowReachableSHA1InWant", allow[i]);
                open_source(f);
                assert_fetches(f, first, first);
                git_source_free(TAKE_PTR(f->source));
                scratch_remove(scratch_path(&f->s, "store"));
        }
}

static void a_commit_on_no_branch_needs_the_servers_consent(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;
        const char *first = push(f, "first"), *lost = push(f, "lost");

        GIT(&f->s, "repo", "reset", "-q", "--hard", first);
        push(f, "second");
        open_source(f);
        assert_int_equal(resolve(f, lost, &rev), 0);
        assert_int_equal(fetch(f, &rev), ERR_NOTFOUND);
        assert_non_null(strstr(f->err.msg, lost));
        GIT(&f->s, "served.git", "config", "uploadpack.allowAnySHA1InWant", "true");
        assert_fetches(f, lost, lost);
}

static void a_branch_that_was_rewritten_between_resolve_and_fetch_is_a_conflict(void **state) {
        struct fixture *f = *state;
        const char *first = push(f, "first");
        struct git_revision rev;

        push(f, "second");
        open_source(f);
        assert_int_equal(resolve(f, "main", &rev), 0);
        GIT(&f->s, "repo", "reset", "-q", "--hard", first);
        push(f, "another");
        assert_int_equal(fetch(f, &rev), ERR_CONFLICT);
        assert_true(err_is_transient(ERR_CONFLICT));
        GIT(&f->s, "served.git", "update-ref", "-d", "refs/heads/main");
        assert_int_equal(fetch(f, &rev), ERR_NOTFOUND);
}

static void a_tag_of_a_tree_is_no_revision(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        push(f, "first");
        GIT(&f->s, "repo", "tag", "-a", "-m", "x", "odd", "HEAD^{tree}");
        GIT(&f->s, "repo", "push", "-q", "origin", "odd");
        open_source(f);
        assert_int_equal(resolve(f, "odd", &rev), 0);
        assert_int_equal(fetch(f, &rev), ERR_INVAL);
        assert_non_null(strstr(f->err.msg, "no commit"));
}

static void an_empty_repository_says_so(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        open_source(f);
        for (int old = 0; old < 2; old++) {
                atomic_store(&f->b.shared->old_protocol, old);
                assert_int_equal(resolve(f, "HEAD", &rev), ERR_NOTFOUND);
                assert_non_null(strstr(f->err.msg, "the repository is empty"));
                assert_int_equal(resolve(f, "abcdef01", &rev), ERR_NOTFOUND);
        }
}

static void a_sha256_repository_is_refused_by_name(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        scratch_remove(scratch_path(&f->s, "served.git"));
        GIT(&f->s, ".", "init", "-q", "--bare", "--object-format=sha256", "served.git");
        GIT(&f->s, ".", "init", "-q", "-b", "main", "--object-format=sha256", "new");
        free(scratch_commit(&f->s, "new", "x"));
        GIT(&f->s, "new", "push", "-q", scratch_path(&f->s, "served.git"), "HEAD:main");
        open_source(f);
        for (int old = 0; old < 2; old++) {
                atomic_store(&f->b.shared->old_protocol, old);
                assert_int_equal(resolve(f, "HEAD", &rev), ERR_UNSUPPORTED);
                assert_non_null(strstr(f->err.msg, "SHA-256"));
        }
}

static void an_unknown_repository_is_not_found(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d/nowhere.git", f->b.port);
        open_source(f);
        assert_int_equal(resolve(f, "HEAD", &rev), ERR_NOTFOUND);
        assert_int_equal(f->err.http_status, 404);
        assert_non_null(strstr(f->err.msg, "nowhere.git: repository not found"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_repository_is_fetched_and_read),
                TEST(a_poll_is_two_small_requests),
                TEST(what_is_stored_costs_no_request),
                TEST(what_is_stored_for_a_scope_is_for_that_scope_alone),
                TEST(a_force_push_is_followed),
                TEST(a_range_of_versions_costs_no_more_than_a_branch),
                TEST(a_moved_tag_is_followed),
                TEST(a_branch_beats_a_tag_of_its_name),
                TEST(head_follows_the_default_branch),
                TEST(a_deleted_branch_is_not_found_and_its_neighbours_are_named),
                TEST(a_branch_that_becomes_a_folder_of_branches_is_fetched),
                TEST(a_short_commit_that_is_no_tip_is_found),
                TEST(an_ambiguous_short_commit_lists_its_meanings),
                TEST(an_unadvertised_commit_is_fetched),
                TEST(a_commit_on_no_branch_needs_the_servers_consent),
                TEST(a_branch_that_was_rewritten_between_resolve_and_fetch_is_a_conflict),
                TEST(a_tag_of_a_tree_is_no_revision),
                TEST(an_empty_repository_says_so),
                TEST(a_sha256_repository_is_refused_by_name),
                TEST(an_unknown_repository_is_not_found),
        };

        return cmocka_run_group_tests_name("remote_http", tests, NULL, NULL);
}

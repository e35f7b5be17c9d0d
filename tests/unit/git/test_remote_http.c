/* SPDX-License-Identifier: Apache-2.0 */
/* The remote against a well-behaved server: git http-backend on loopback. What goes wrong is in test_trouble.c. */
#include "git/remote.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "git/refs.h"
#include "http_backend.h"

#define SOON 30000

struct fixture {
        struct scratch s;
        struct backend b;
        struct arena *a;
        struct git_source *source;
        struct err err;
        char url[128];
};

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        scratch_init(&f->s);
        scratch_repo(&f->s, "repo");
        GIT(&f->s, ".", "init", "-q", "--bare", "-b", "main", "served.git");
        GIT(&f->s, "repo", "remote", "add", "origin", scratch_path(&f->s, "served.git"));
        backend_start(&f->b, f->s.dir);
        snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d/served.git", f->b.port);
        f->a = arena_new(0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        git_source_free(f->source);
        backend_stop(&f->b);
        arena_free(f->a);
        scratch_done(&f->s);
        free(f);
        return 0;
}

static struct git_remote_options options(struct fixture *f) {
        return (struct git_remote_options){ .url = str_from(f->url),
                                            .store_dir = str_from(scratch_path(&f->s, "store")) };
}

static void open_source(struct fixture *f) {
        struct git_remote_options o = options(f);

        if (git_remote_open(&o, &f->source, &f->err) < 0)
                fail_msg("%s", f->err.msg);
}

/* Commits and pushes main; the commit's hex lives in the arena. */
static const char *push(struct fixture *f, const char *message) {
        _cleanup_(mem_freep) char *hex = scratch_commit(&f->s, "repo", message);

        GIT(&f->s, "repo", "push", "-q", "-f", "origin", "HEAD:main");
        return arena_str(f->a, str_from(hex)).p;
}

static int resolve(struct fixture *f, const char *word, struct git_revision *ret) {
        return git_source_resolve(f->source, str_from(word), scratch_deadline(SOON), f->a, ret, &f->err);
}

static int fetch(struct fixture *f, const struct git_revision *rev) {
        return git_source_fetch(f->source, rev, scratch_deadline(SOON), &f->err);
}

/* Resolves and fetches; the commit must be `hex` and be readable then. */
static void assert_fetches(struct fixture *f, const char *word, const char *hex) {
        char found[GIT_OID_HEX_BYTES + 1];
        const struct git_file *files;
        struct git_revision rev;
        size_t n;

        if (resolve(f, word, &rev) < 0 || fetch(f, &rev) < 0)
                fail_msg("%s: %s", word, f->err.msg);
        git_id_hex(&rev.commit, found);
        assert_string_equal(found, hex);
        if (git_source_list(f->source, &rev.commit, STR(""), true, f->a, &files, &n, &f->err) < 0)
                fail_msg("%s: %s", word, f->err.msg);
}

/* Text that does not compress. */
static void write_noise(struct fixture *f, const char *name, size_t n) {
        _cleanup_(mem_freep) char *noise = mem_alloc(n + 256);

        for (size_t i = 0; i < n; i += 256)
                hash_random(noise + i, 256);
        for (size_t i = 0; i < n; i++)
                noise[i] = (char)('!' + (unsigned char)noise[i] % 90);
        noise[n] = '\0';
        scratch_write(&f->s, name, noise);
}

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

static void the_second_fetch_brings_only_what_is_new(void **state) {
        struct fixture *f = *state;

        write_noise(f, "repo/big.txt", 200000);
        const char *first = push(f, "first");
        open_source(f);
        assert_fetches(f, "main", first);
        long whole = atomic_exchange(&f->b.shared->bytes_out, 0);

        scratch_write(&f->s, "repo/small.txt", "small\n");
        assert_fetches(f, "main", push(f, "second"));
        long more = atomic_load(&f->b.shared->bytes_out);
        assert_true(more < 4000);
        assert_true(whole > 10 * more);
}

static void a_store_outlives_its_source(void **state) {
        struct fixture *f = *state;
        const char *hex = push(f, "first");
        struct git_revision rev;

        open_source(f);
        assert_fetches(f, "main", hex);
        git_source_free(TAKE_PTR(f->source));
        open_source(f);
        assert_int_equal(resolve(f, hex, &rev), 0);
        int before = atomic_load(&f->b.shared->requests);
        assert_int_equal(fetch(f, &rev), 0);
        assert_int_equal(atomic_load(&f->b.shared->requests), before);
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

/* The one folder of the store; generations in it are counted, their largest number is given back. */
static unsigned count_generations(struct fixture *f, unsigned *ret_largest) {
        char *dir = NULL;
        unsigned count = 0, number;
        struct dirent *e;
        DIR *d = opendir(scratch_path(&f->s, "store"));

        while ((e = readdir(d))) {
                if (strlen(e->d_name) == GIT_OID_HEX_BYTES)
                        dir = str_dup(str_from(e->d_name));
        }
        closedir(d);
        char path[256];
        snprintf(path, sizeof path, "store/%s", dir);
        d = opendir(scratch_path(&f->s, path));
        *ret_largest = 0;
        while ((e = readdir(d))) {
                if (sscanf(e->d_name, "gen-%u.git", &number) != 1)
                        continue;
                count++;
                *ret_largest = number > *ret_largest ? number : *ret_largest;
        }
        closedir(d);
        free(dir);
        return count;
}

/* A commit made on the server itself: two processes instead of a dozen. */
static const char *commit_on_top(struct fixture *f, const char *parent) {
        _cleanup_(mem_freep) char *hex =
                scratch_git(&f->s, "served.git", "commit-tree", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "-p",
                            parent, "-m", "more", NULL);

        GIT(&f->s, "served.git", "update-ref", "refs/heads/main", hex);
        return arena_str(f->a, str_from(hex)).p;
}

static void a_store_of_many_packs_is_fetched_afresh(void **state) {
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_revision side;
        const char *first = push(f, "first"), *tip = first;
        unsigned largest;
        size_t n;

        GIT(&f->s, "repo", "push", "-q", "origin", "HEAD:refs/heads/side");
        open_source(f);
        assert_fetches(f, "side", first);
        assert_int_equal(resolve(f, "side", &side), 0);
        for (int i = 0; i < 52; i++) {
                struct git_revision rev = { .name = STR("refs/heads/main") };

                tip = commit_on_top(f, tip);
                assert_true(git_id_from_hex(str_from(tip), &rev.commit));
                assert_int_equal(fetch(f, &rev), 0);
        }
        assert_int_equal(count_generations(f, &largest), 2); /* the old one is held open by this very source */
        assert_int_equal(largest, 2);
        /* The other branch came along. */
        assert_int_equal(git_source_list(f->source, &side.commit, STR(""), true, f->a, &files, &n, &f->err), 0);
        /* Two polls later nobody holds the old one, and the next fetch clears it away. */
        assert_int_equal(resolve(f, "main", &side), 0);
        assert_int_equal(resolve(f, "main", &side), 0);
        assert_fetches(f, "main", push(f, "last"));
        assert_int_equal(count_generations(f, &largest), 1);
        assert_int_equal(largest, 2);
}

/* Turns the bytes in the middle of every pack of the store over. */
static int spoil_pack(const char *path, const struct stat *st, int kind, struct FTW *walk) {
        char bytes[64];
        int fd;

        (void)kind;
        (void)walk;
        if (!str_ends(str_from(path), STR(".pack")))
                return 0;
        chmod(path, 0600);
        fd = open(path, O_RDWR);
        off_t at = st->st_size / 2;
        ssize_t n = pread(fd, bytes, sizeof bytes, at);
        for (ssize_t i = 0; i < n; i++)
                bytes[i] = (char)~bytes[i];
        assert_int_equal(pwrite(fd, bytes, (size_t)n, at), n);
        close(fd);
        return 0;
}

static void a_damaged_store_is_fetched_afresh(void **state) {
        struct fixture *f = *state;
        const struct git_file *files;
        struct git_revision rev;
        struct str content;
        unsigned largest;
        size_t n;

        write_noise(f, "repo/a.yaml", 100000);
        push(f, "first");
        open_source(f);
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_int_equal(fetch(f, &rev), 0);
        assert_int_equal(git_source_list(f->source, &rev.commit, STR(""), true, f->a, &files, &n, &f->err), 0);
        git_source_free(TAKE_PTR(f->source));
        nftw(scratch_path(&f->s, "store"), spoil_pack, 16, FTW_PHYS);

        open_source(f);
        assert_int_equal(git_source_read(f->source, &files[0].blob, 200000, f->a, &content, &f->err), ERR_CORRUPT);
        assert_int_equal(fetch(f, &rev), 0);
        assert_int_equal(git_source_read(f->source, &files[0].blob, 200000, f->a, &content, &f->err), 0);
        assert_int_equal(content.n, 100000);
        count_generations(f, &largest);
        assert_int_equal(largest, 2);
}

static void a_fetch_beyond_the_stores_limit_is_refused(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = options(f);
        struct git_revision rev;

        write_noise(f, "repo/big.txt", 400000);
        push(f, "first");
        o.max_store_bytes = 100000;
        assert_int_equal(git_remote_open(&o, &f->source, &f->err), 0);
        assert_int_equal(resolve(f, "main", &rev), 0);
        assert_int_equal(fetch(f, &rev), ERR_LIMIT);
        o.max_store_bytes = 1000000;
        git_source_free(TAKE_PTR(f->source));
        assert_int_equal(git_remote_open(&o, &f->source, &f->err), 0);
        assert_int_equal(fetch(f, &rev), 0);
}

static void a_store_that_was_cleared_away_is_made_again(void **state) {
        struct fixture *f = *state;

        open_source(f);
        assert_fetches(f, "main", push(f, "first"));
        scratch_remove(scratch_path(&f->s, "store"));
        assert_fetches(f, "main", push(f, "second"));
        git_source_free(TAKE_PTR(f->source));
        open_source(f);
        assert_fetches(f, "main", push(f, "third"));
}

static void the_store_is_private(void **state) {
        struct fixture *f = *state;
        struct stat st;

        open_source(f);
        assert_int_equal(stat(scratch_path(&f->s, "store"), &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_repository_is_fetched_and_read),
                TEST(a_poll_is_two_small_requests),
                TEST(what_is_stored_costs_no_request),
                TEST(the_second_fetch_brings_only_what_is_new),
                TEST(a_store_outlives_its_source),
                TEST(a_force_push_is_followed),
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
                TEST(a_store_of_many_packs_is_fetched_afresh),
                TEST(a_damaged_store_is_fetched_afresh),
                TEST(a_fetch_beyond_the_stores_limit_is_refused),
                TEST(a_store_that_was_cleared_away_is_made_again),
                TEST(the_store_is_private),
        };

        return cmocka_run_group_tests_name("remote_http", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The object store of a remote: grows by what is new, is shared, capped, cleaned up and repaired. */
#include "remote_fixture.h"

#include <dirent.h>

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

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_second_fetch_brings_only_what_is_new),
                TEST(a_store_outlives_its_source),
                TEST(a_store_of_many_packs_is_fetched_afresh),
                TEST(a_damaged_store_is_fetched_afresh),
                TEST(a_fetch_beyond_the_stores_limit_is_refused),
                TEST(a_store_that_was_cleared_away_is_made_again),
                TEST(the_store_is_private),
        };

        return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}

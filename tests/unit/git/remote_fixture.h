/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a work tree "repo" that pushes into "served.git", which a backend serves, and a remote that is opened on
 * it with the store in "store".
 */
#ifndef TRUCE_TEST_GIT_REMOTE_FIXTURE_H
#define TRUCE_TEST_GIT_REMOTE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "git/refs.h"
#include "git/remote.h"
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

static inline int setup(void **state) {
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

static inline int teardown(void **state) {
        struct fixture *f = *state;

        git_source_free(f->source);
        backend_stop(&f->b);
        arena_free(f->a);
        scratch_done(&f->s);
        free(f);
        return 0;
}

static inline struct git_remote_options options(struct fixture *f) {
        return (struct git_remote_options){ .url = str_from(f->url),
                                            .store_dir = str_from(scratch_path(&f->s, "store")) };
}

static inline void open_source(struct fixture *f) {
        struct git_remote_options o = options(f);

        if (git_remote_open(&o, &f->source, &f->err) < 0)
                fail_msg("%s", f->err.msg);
}

/* Commits and pushes main; the commit's hex lives in the arena. */
static inline const char *push(struct fixture *f, const char *message) {
        _cleanup_(mem_freep) char *hex = scratch_commit(&f->s, "repo", message);

        GIT(&f->s, "repo", "push", "-q", "-f", "origin", "HEAD:main");
        return arena_str(f->a, str_from(hex)).p;
}

static inline int resolve(struct fixture *f, const char *word, struct git_revision *ret) {
        return git_source_resolve(f->source, str_from(word), scratch_deadline(SOON), f->a, ret, &f->err);
}

static inline int fetch(struct fixture *f, const struct git_revision *rev) {
        return git_source_fetch(f->source, rev, scratch_deadline(SOON), &f->err);
}

/* Resolves and fetches; the commit must be `hex` and be readable then. */
static inline void assert_fetches(struct fixture *f, const char *word, const char *hex) {
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
static inline void write_noise(struct fixture *f, const char *name, size_t n) {
        _cleanup_(mem_freep) char *noise = mem_alloc(n + 256);

        for (size_t i = 0; i < n; i += 256)
                hash_random(noise + i, 256);
        for (size_t i = 0; i < n; i++)
                noise[i] = (char)('!' + (unsigned char)noise[i] % 90);
        noise[n] = '\0';
        scratch_write(&f->s, name, noise);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif

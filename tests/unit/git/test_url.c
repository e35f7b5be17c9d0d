/* SPDX-License-Identifier: Apache-2.0 */
#include "git/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/buf.h"

static struct arena *arena;
static struct err err;

static int setup(void **state) {
        (void)state;
        arena = arena_new(0);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        arena_free(arena);
        return 0;
}

static struct git_url parse(const char *text) {
        struct git_url u;

        if (git_url_parse(str_from(text), arena, &u, &err) < 0)
                fail_msg("%s", err.msg);
        return u;
}

static int refusal(const char *text) {
        struct git_url u;

        return git_url_parse(str_from(text), arena, &u, &err);
}

static void assert_str(struct str s, const char *text) {
        if (!str_eqc(s, text))
                fail_msg("\"%.*s\" is not \"%s\"", STR_FMT(s), text);
}

static void urls_are_normalised(void **state) {
        static const char *const rows[][2] = {
                { "https://example.com/a/b.git", "https://example.com/a/b.git" },
                { "HTTPS://Example.COM/a/B.git/", "https://example.com/a/B.git" },
                { "https://example.com:443/a", "https://example.com/a" },
                { "https://example.com:/a", "https://example.com/a" },
                { "http://example.com:80/a//", "http://example.com/a" },
                { "http://example.com:8080/a", "http://example.com:8080/a" },
                { "https://[2001:DB8::1]:8443/a", "https://[2001:db8::1]:8443/a" },
                { "https://user:pw@example.com/a", "https://example.com/a" },
                { "https://example.com/a%20b", "https://example.com/a%20b" },
                { "https://dev.azure.com/org/proj/_git/repo", "https://dev.azure.com/org/proj/_git/repo" },
                { "https://example.com/a@b", "https://example.com/a@b" },
                { "file:///srv/git/a%20b.git/", "file:///srv/git/a b.git" },
                { "/srv/git/a", "file:///srv/git/a" },
                { "./a", "./a" },
                { "a/b:c", "a/b:c" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_str(parse(rows[i][0]).text, rows[i][1]);
}

static void userinfo_is_decoded_and_taken_out(void **state) {
        struct git_url u = parse("https://us%40er:p%2Fa:ss@h/x");

        (void)state;
        assert_str(u.username, "us@er");
        assert_str(u.password, "p/a:ss");
        u = parse("https://token@h/x");
        assert_str(u.username, "token");
        assert_str(u.password, "");
        u = parse("https://a@b:c@h/x");
        assert_str(u.host, "h");
        assert_str(u.username, "a@b");
}

static void ssh_says_it_comes_later(void **state) {
        static const char *const rows[] = {
                "ssh://git@github.com/a/b", "git@github.com:a/b.git", "github.com:a/b", "SSH://x/y", "git+ssh://x/y",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_int_equal(refusal(rows[i]), ERR_UNSUPPORTED);
                assert_non_null(strstr(err.msg, "ssh is not supported yet: use the repository's https URL"));
        }
        assert_int_equal(refusal("git://example.com/a"), ERR_UNSUPPORTED);
        assert_int_equal(refusal("ftp://example.com/a"), ERR_UNSUPPORTED);
}

static void malformed_urls_are_refused(void **state) {
        static const char *const rows[] = {
                "", "-u", "--upload-pack=x", "https://", "https:///a", "https://h", "https://h/", "https://h?x=1/a",
                "https://-h/a", "https://h/a b", "https://h/a\n", "https://h/a\x7f", "https://h/a?b=1", "https://h/a#b",
                "https://h:0/a", "https://h:65536/a", "https://h:x/a", "https://h/../a", "https://h/a/..",
                "https://[::1/a", "https://[::1]x/a", "https://[g::1]/a", "https://h\xc3\xa4/a", "https://h/\xff",
                "https://u:p%4@h/a", "https://u:p%zz@h/a", "https://%00@h/a", "file://host/a", "file://", "file:///%00",
                "https://u:p/w@h/a", "https://u:12/w@h/a", "https://h'/a", "https://h\\/a",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                if (refusal(rows[i]) != ERR_INVAL)
                        fail_msg("\"%s\" was not refused", rows[i]);
        }
}

static void long_urls_are_refused(void **state) {
        _cleanup_(buf_done) struct buf b = buf_make(GIT_URL_MAX_BYTES + 10);

        (void)state;
        buf_addc(&b, "https://h/");
        while (b.n < GIT_URL_MAX_BYTES)
                buf_addch(&b, 'x');
        assert_int_equal(refusal(b.p), 0);
        buf_addch(&b, 'x');
        assert_int_equal(refusal(b.p), ERR_INVAL);
}

static void refusals_never_show_a_password(void **state) {
        static const char *const rows[] = {
                "https://user:secret@h/a b",   "https://user:secret@-h/a",
                "https://user:sec/secret@h/a", "https://secret@",
                "ssh://user:secret@h/a",       "secret@h:a",
                "https://user:secret@h/a?b",   "ftp://u:secret@h",
                "https://u:secret@h/..",       "https://user:secret%zz@h/a",
                "https://a:secret/b@c/d@h/x",  "https://u:secret@h:99999/a",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_true(refusal(rows[i]) < 0);
                if (strstr(err.msg, "secret"))
                        fail_msg("%s", err.msg);
        }
}

static void redacted_text_is_fit_for_a_terminal(void **state) {
        (void)state;
        assert_str(git_url_redact(STR("https://h/a\n\x1b[1m"), arena), "https://h/a\\x0a\\x1b[1m");
        assert_str(git_url_redact(STR("a\xff"), arena), "a\\xff");
        assert_str(git_url_redact(STR("https://u:p@h/a.git?token=hunter2"), arena), "https://***@h/a.git?***");
        assert_str(git_url_redact(STR("https://h/a?token=hunter2"), arena), "https://h/a?***");
        assert_str(git_url_redact(STR("https://u@h/a@b"), arena), "https://***@h/a@b");
        assert_str(git_url_redact(STR(""), arena), "");
        assert_str(git_url_redact(STR("no url at all"), arena), "no url at all");

        char text[1000];
        memset(text, 'x', sizeof text);
        assert_true(git_url_redact((struct str){ text, sizeof text }, arena).n < 400);
}

static void origins_are_scheme_host_and_port(void **state) {
        struct git_url a = parse("https://h/a"), b = parse("https://u@H:443/b"), c = parse("http://h/a"),
                       d = parse("https://h:444/a"), e = parse("https://g/a");

        (void)state;
        assert_true(git_url_same_origin(&a, &b));
        assert_false(git_url_same_origin(&a, &c));
        assert_false(git_url_same_origin(&a, &d));
        assert_false(git_url_same_origin(&a, &e));
}

static void loopback_is_this_machine_only(void **state) {
        static const struct {
                const char *url;
                bool loopback;
        } rows[] = {
                { "http://localhost/a", true },
                { "http://127.0.0.1/a", true },
                { "http://127.1.2.3:80/a", true },
                { "http://[::1]/a", true },
                { "/a", true },
                { "http://127.evil.com/a", false },
                { "http://10.0.0.1/a", false },
                { "http://localhost.evil.com/a", false },
                { "http://[::2]/a", false },
                { "http://127.0.0.1.evil.com/a", false },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct git_url u = parse(rows[i].url);

                if (git_url_is_loopback(&u) != rows[i].loopback)
                        fail_msg("%s", rows[i].url);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(urls_are_normalised),
                cmocka_unit_test(userinfo_is_decoded_and_taken_out),
                cmocka_unit_test(ssh_says_it_comes_later),
                cmocka_unit_test(malformed_urls_are_refused),
                cmocka_unit_test(long_urls_are_refused),
                cmocka_unit_test(refusals_never_show_a_password),
                cmocka_unit_test(redacted_text_is_fit_for_a_terminal),
                cmocka_unit_test(origins_are_scheme_host_and_port),
                cmocka_unit_test(loopback_is_this_machine_only),
        };

        return cmocka_run_group_tests_name("url", tests, setup, teardown);
}

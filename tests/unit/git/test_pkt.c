/* SPDX-License-Identifier: Apache-2.0 */
#include "git/pkt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/limits.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ZERO "0000000000000000000000000000000000000000"

static struct arena *arena;
static struct buf body;
static struct err err;

static int setup(void **state) {
        (void)state;
        arena = arena_new(0);
        body = buf_make(MIB);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        arena_free(arena);
        buf_done(&body);
        return 0;
}

/* Appends packets; NULL ends. "0000" and "0001" are the special packets. */
static void add(const char *first, ...) {
        va_list ap;

        va_start(ap, first);
        for (const char *p = first; p; p = va_arg(ap, const char *)) {
                if (strcmp(p, "0000") == 0 || strcmp(p, "0001") == 0)
                        buf_addc(&body, p);
                else
                        pkt_add(&body, str_from(p));
        }
        va_end(ap);
}

static int parse_advert(struct pkt_advert *ret) {
        return pkt_parse_advert(buf_str(&body), arena, ret, &err);
}

static int parse_ls(struct git_ref_list *ret) {
        return pkt_parse_ls_refs(buf_str(&body), arena, ret, &err);
}

static void packets_are_cut_off_one_by_one(void **state) {
        struct str rest = STR("0006a\n0005b0000000100020004"), data;
        enum pkt_kind kind;

        (void)state;
        assert_int_equal(pkt_next(&rest, &kind, &data, &err), 0);
        assert_int_equal(kind, PKT_DATA);
        assert_true(str_eq(data, STR("a")));
        assert_int_equal(pkt_next(&rest, &kind, &data, &err), 0);
        assert_true(str_eq(data, STR("b")));
        assert_int_equal(pkt_next(&rest, &kind, &data, &err), 0);
        assert_int_equal(kind, PKT_FLUSH);
        assert_int_equal(pkt_next(&rest, &kind, &data, &err), 0);
        assert_int_equal(kind, PKT_DELIM);
        assert_int_equal(pkt_next(&rest, &kind, &data, &err), 0);
        assert_int_equal(kind, PKT_END);
        assert_int_equal(pkt_next(&rest, &kind, &data, &err), 0);
        assert_int_equal(kind, PKT_DATA);
        assert_int_equal(data.n, 0);
        assert_int_equal(pkt_next(&rest, &kind, &data, &err), ERR_PARSE);
}

static void malformed_packets_are_refused(void **state) {
        static const char *const rows[] = { "", "0", "000", "0003", "000g", "0005", "fff1", "-005a", " 005a", "+005a" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct str rest = str_from(rows[i]), data;
                enum pkt_kind kind;

                assert_int_equal(pkt_next(&rest, &kind, &data, &err), ERR_PARSE);
        }
}

static void a_v0_listing_gives_refs_and_peeled_tags(void **state) {
        static const char first[] = A " HEAD\0multi_ack symref=HEAD:refs/heads/main object-format=sha1 agent=git/2";
        struct pkt_advert advert;

        (void)state;
        add("# service=git-upload-pack\n", "0000", NULL);
        pkt_add(&body, (struct str){ first, sizeof first - 1 });
        add(A " refs/heads/main\n", B " refs/tags/v1\n", A " refs/tags/v1^{}\n", "shallow " A "\n", "0000", NULL);
        assert_int_equal(parse_advert(&advert), 0);
        assert_false(advert.v2);
        assert_int_equal(advert.refs.count, 3);
        assert_true(str_eq(advert.refs.refs[0].target, STR("refs/heads/main")));
        assert_true(git_id_is_zero(&advert.refs.refs[1].peeled));
        assert_true(str_eq(advert.refs.refs[2].name, STR("refs/tags/v1")));
        struct git_id commit = git_ref_commit(&advert.refs.refs[2]);
        assert_true(git_id_eq(&commit, &advert.refs.refs[0].id));
}

static void an_empty_repository_has_no_refs(void **state) {
        static const char first[] = ZERO " capabilities^{}\0agent=git/2";
        struct pkt_advert advert;

        (void)state;
        add("# service=git-upload-pack\n", "0000", NULL);
        pkt_add(&body, (struct str){ first, sizeof first - 1 });
        add("0000", NULL);
        assert_int_equal(parse_advert(&advert), 0);
        assert_int_equal(advert.refs.count, 0);
        buf_clear(&body);
        add("# service=git-upload-pack\n", "0000", "0000", NULL);
        assert_int_equal(parse_advert(&advert), 0);
        assert_int_equal(advert.refs.count, 0);
}

static void version_2_is_recognised_with_and_without_the_header(void **state) {
        struct pkt_advert advert;

        (void)state;
        add("# service=git-upload-pack\n", "0000", "version 2\n", "ls-refs=unborn\n", "object-format=sha1\n", "0000",
            NULL);
        assert_int_equal(parse_advert(&advert), 0);
        assert_true(advert.v2);
        buf_clear(&body);
        add("version 2\n", "ls-refs\n", "0000", NULL);
        assert_int_equal(parse_advert(&advert), 0);
        assert_true(advert.v2);
        buf_clear(&body);
        add("# service=git-upload-pack\n", "0000", "version 1\n", A " HEAD\n", "0000", NULL);
        assert_int_equal(parse_advert(&advert), 0);
        assert_int_equal(advert.refs.count, 1);
}

static void sha256_is_unsupported_in_every_version(void **state) {
        static const char first[] = A " HEAD\0object-format=sha256";
        struct pkt_advert advert;

        (void)state;
        pkt_add(&body, (struct str){ first, sizeof first - 1 });
        add("0000", NULL);
        assert_int_equal(parse_advert(&advert), ERR_UNSUPPORTED);
        buf_clear(&body);
        add("version 2\n", "object-format=sha256\n", "0000", NULL);
        assert_int_equal(parse_advert(&advert), ERR_UNSUPPORTED);
}

static void the_servers_own_error_is_passed_on_clean(void **state) {
        struct git_ref_list list;
        struct pkt_advert advert;

        (void)state;
        add("# service=git-upload-pack\n", "0000", "ERR access denied\x1b[1m or \xff not exported", NULL);
        assert_int_equal(parse_advert(&advert), ERR_NOTFOUND);
        assert_non_null(strstr(err.msg, "the server says: access denied"));
        assert_null(strchr(err.msg, '\x1b'));
        buf_clear(&body);
        add("ERR no", NULL);
        assert_int_equal(parse_ls(&list), ERR_NOTFOUND);
}

static void an_ls_refs_answer_gives_refs(void **state) {
        struct git_ref_list list;

        (void)state;
        add("unborn HEAD symref-target:refs/heads/x\n", A " HEAD symref-target:refs/heads/main\n",
            B " refs/tags/v1 peeled:" A "\n", A " refs/heads/main future:thing\n", A " something/else\n", "0000", NULL);
        assert_int_equal(parse_ls(&list), 0);
        assert_int_equal(list.count, 3);
        assert_true(str_eq(list.refs[0].target, STR("refs/heads/main")));
        assert_true(git_id_eq(&list.refs[1].peeled, &list.refs[0].id));
}

static void malformed_answers_are_refused(void **state) {
        static const char *const rows[] = { "aaaa refs/heads/x", A, A "xrefs/heads/x", "g" A " refs/heads/x",
                                            A " refs/tags/x peeled:123" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct git_ref_list list;

                buf_clear(&body);
                add(rows[i], "0000", NULL);
                assert_int_equal(parse_ls(&list), ERR_PARSE);
        }
}

static void an_answer_without_its_end_is_refused(void **state) {
        struct pkt_advert advert;
        struct git_ref_list list;

        (void)state;
        add(A " HEAD", NULL);
        assert_int_equal(parse_ls(&list), ERR_PARSE);
        assert_int_equal(parse_advert(&advert), ERR_PARSE);
        buf_clear(&body);
        assert_int_equal(parse_ls(&list), ERR_PARSE);
        add("version 2\n", NULL);
        assert_int_equal(parse_advert(&advert), ERR_PARSE);
}

static void names_that_no_word_can_mean_are_left_out(void **state) {
        struct git_ref_list list;

        (void)state;
        add(A " refs/heads/a\x01" "b\n", A " refs/heads/a:b\n", A " ../../x\n", A " refs/heads/ok\n", "0000", NULL);
        assert_int_equal(parse_ls(&list), 0);
        assert_int_equal(list.count, 1);
}

static void a_request_asks_for_the_prefixes(void **state) {
        const struct str prefixes[] = { STR("refs/heads/main"), STR("refs/tags/main") };

        (void)state;
        pkt_add_ls_refs(&body, prefixes, 2);
        assert_string_equal(body.p, "0014command=ls-refs\n00010009peel\n000csymrefs\n001fref-prefix refs/heads/main\n"
                                    "001eref-prefix refs/tags/main\n0000");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(packets_are_cut_off_one_by_one, setup, teardown),
                cmocka_unit_test_setup_teardown(malformed_packets_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(a_v0_listing_gives_refs_and_peeled_tags, setup, teardown),
                cmocka_unit_test_setup_teardown(an_empty_repository_has_no_refs, setup, teardown),
                cmocka_unit_test_setup_teardown(version_2_is_recognised_with_and_without_the_header, setup, teardown),
                cmocka_unit_test_setup_teardown(sha256_is_unsupported_in_every_version, setup, teardown),
                cmocka_unit_test_setup_teardown(the_servers_own_error_is_passed_on_clean, setup, teardown),
                cmocka_unit_test_setup_teardown(an_ls_refs_answer_gives_refs, setup, teardown),
                cmocka_unit_test_setup_teardown(malformed_answers_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(an_answer_without_its_end_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(names_that_no_word_can_mean_are_left_out, setup, teardown),
                cmocka_unit_test_setup_teardown(a_request_asks_for_the_prefixes, setup, teardown),
        };

        return cmocka_run_group_tests_name("pkt", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Labels for what is paired: in texts, in values, and filled in again for each side. */
#include "comparing.h"

static void learn(struct comparing *c, enum pair_kind kind, const char *real, const char *sandbox) {
        pairs_learn(c->pairs, kind, str_from(real), str_from(sandbox));
}

#define assert_text(c, side, text, wanted)                                                                             \
        assert_string_equal(pairs_label_text((c)->pairs, (c)->a, side, str_from(text)).p, wanted)

#define FILLER " and so on and on and so on and on "

/* --- texts --- */

static void a_pair_is_labelled_on_both_sides(void **state) {
        struct comparing *c = *state;

        learn(c, PAIR_UID, UID_A, UID_B);
        assert_text(c, SIDE_REAL, "uid: " UID_A ", and", "uid: @U1.0@, and");
        assert_text(c, SIDE_SANDBOX, "uid: " UID_B ", and", "uid: @U1.0@, and");
        pairs_step(c->pairs, 12);
        learn(c, PAIR_NAME, "made-abcde", "made-fghij");
        learn(c, PAIR_ADDRESS, "10.96.0.1", "10.96.0.2");
        assert_text(c, SIDE_REAL, "made-abcde 10.96.0.1", "@N12.0@ @A12.1@");
        assert_text(c, SIDE_SANDBOX, "\"made-fghij\":10.96.0.2.", "\"@N12.0@\":@A12.1@.");
}

static void a_side_does_not_know_what_the_other_has(void **state) {
        struct comparing *c = *state;

        learn(c, PAIR_TOKEN, "abc", "xyz");
        assert_text(c, SIDE_REAL, "abc xyz", "@T1.0@ xyz");
        assert_text(c, SIDE_SANDBOX, "abc xyz", "abc @T1.0@");
}

static void only_whole_words_are_paired(void **state) {
        struct comparing *c = *state;

        learn(c, PAIR_TOKEN, "abc", "xyz");
        assert_text(c, SIDE_REAL, "abcd, x-abc, abc_, abc.d, (abc)", "abcd, x-abc, abc_, abc.d, (@T1.0@)");
        assert_text(c, SIDE_REAL, "aabc zabc Aabc Zabc 0abc 9abc", "aabc zabc Aabc Zabc 0abc 9abc");
        assert_text(c, SIDE_REAL, "@abc/abc:abc`abc{abc[abc^abc", "@@T1.0@/@T1.0@:@T1.0@`@T1.0@{@T1.0@[@T1.0@^@T1.0@");
        /* A sentence's end, and a name that goes on. */
        assert_text(c, SIDE_REAL, "abc. abc- abc..", "@T1.0@. @T1.0@- @T1.0@..");
        assert_text(c, SIDE_REAL, "", "");
}

static void a_pod_of_a_job_has_a_number_behind_its_name(void **state) {
        struct comparing *c = *state;

        learn(c, PAIR_NAME, "made-abcde", "made-fghij");
        assert_text(c, SIDE_REAL, "made-abcde-0 made-abcde-12", "@N1.0@-0 @N1.0@-12");
        assert_text(c, SIDE_SANDBOX, "made-fghij-0", "@N1.0@-0");
        assert_text(c, SIDE_REAL, "Bad_other-0", "@name@-0");
        learn(c, PAIR_NAME, "a", "b");
        assert_text(c, SIDE_REAL, "a-1 ab1 a1", "@N1.1@-1 ab1 a1");
        assert_text(c, SIDE_REAL, "made-abcde-x made-abcde0 one-0 -0", "made-abcde-x made-abcde0 one-0 -0");
}

static void ports_and_versions_are_words_only_where_they_may_be(void **state) {
        struct comparing *c = *state;

        learn(c, PAIR_PORT, "30001", "30002");
        learn(c, PAIR_VERSION, "150", "16");
        assert_text(c, SIDE_REAL, "port 30001", "port @P1.0@");
        assert_text(c, SIDE_REAL, "150 times", "150 times");
        assert_text(c, SIDE_REAL, "resourceVersion: 150", "resourceVersion: @V1.1@");
        assert_text(c, SIDE_SANDBOX, "resourceVersion: 16", "resourceVersion: @V1.1@");
        assert_text(c, SIDE_REAL, "ResourceVersion 150, and 150", "ResourceVersion @V1.1@, and 150");
        assert_text(c, SIDE_REAL, "resourceVersion: \"0\" or 150", "resourceVersion: \"0\" or 150");
        assert_text(c, SIDE_REAL, "resourceVersion: \"9\" or 150", "resourceVersion: \"9\" or 150");
        assert_text(c, SIDE_REAL, "resourceVersion, which is not far from here: 150",
                    "resourceVersion, which is not far from here: @V1.1@");
        assert_text(c, SIDE_REAL, "resourceVersion" FILLER FILLER FILLER FILLER "150",
                    "resourceVersion" FILLER FILLER FILLER FILLER "150");
        assert_text(c, SIDE_REAL, "{\"resourceVersion\":\"a\",\"x\":\"150\"}",
                    "{\"resourceVersion\":\"a\",\"x\":\"150\"}");
        assert_text(c, SIDE_REAL, "{\"resourceVersion\":{\"x\":\"150\"}}", "{\"resourceVersion\":{\"x\":\"@V1.1@\"}}");
        assert_text(c, SIDE_REAL, "150 of a resourceVersion", "150 of a resourceVersion");
        assert_text(c, SIDE_REAL, "{\"path\":\"/metadata/resourceVersion\",\"value\":\"150\"}",
                    "{\"path\":\"/metadata/resourceVersion\",\"value\":\"@V1.1@\"}");
}

static void what_nobody_has_learned_is_told_by_its_kind(void **state) {
        struct comparing *c = *state;

        assert_text(c, SIDE_REAL, UID_C, "@uid@");
        assert_text(c, SIDE_REAL, "11111111-0000-0000-0000-000000000000", "11111111-0000-0000-0000-000000000000");
        assert_text(c, SIDE_REAL, "10.96.3.4", "@address@");
        assert_text(c, SIDE_REAL, "10.97.3.4", "10.97.3.4");
        assert_text(c, SIDE_REAL, "made-abcde", "@name@");
        assert_text(c, SIDE_REAL, "Bad_abcde", "@name@");
        assert_text(c, SIDE_REAL, "made-abcd made-abcdef Bad_abcd", "made-abcd made-abcdef Bad_abcd");
        assert_text(c, SIDE_REAL, "nodePort: 31000, 29999, 310000", "nodePort: @port@, 29999, 310000");
        assert_text(c, SIDE_REAL, "31000", "31000");
        assert_text(c, SIDE_REAL, "resourceVersion: 77", "resourceVersion: @version@");
        assert_text(c, SIDE_REAL, "resourceVersion: 10", "resourceVersion: @version@");
        assert_text(c, SIDE_REAL, "resourceVersion: 9", "resourceVersion: 9");
        assert_text(c, SIDE_REAL, "77", "77");
}

static void what_is_cut_in_the_middle_tells_nothing(void **state) {
        struct comparing *c = *state;

        assert_text(c, SIDE_REAL, "{\"uid\":\"1234 ...", "{\"uid\":\"@cut@ ...");
        assert_text(c, SIDE_REAL, "{\"resourceVersion\":\"1 ...", "{\"resourceVersion\":\"@cut@ ...");
        assert_text(c, SIDE_REAL, "{\"name\":\"1234 ...", "{\"name\":\"1234 ...");
        assert_text(c, SIDE_REAL, "{\"uid\":\"1234 and", "{\"uid\":\"1234 and");
}

/* --- values --- */

static void a_real_value_gets_labels(void **state) {
        struct comparing *c = *state;
        const struct value *v;

        learn(c, PAIR_UID, UID_A, UID_B);
        learn(c, PAIR_VERSION, "150", "16");
        learn(c, PAIR_PORT, "30001", "30002");
        learn(c, PAIR_TOKEN, "tok", "ken");
        v = json_of(c, "{'metadata':{'uid':'" UID_A "','resourceVersion':'150','continue':'tok'},"
                       "'ports':[30001,30002,80],'x':'150','y':'" UID_B "','z':[true,null]}");
        assert_string_equal(value_canonical(c->a, pairs_label(c->pairs, c->a, v)).p,
                            "{\"metadata\":{\"continue\":\"@T1.3@\",\"resourceVersion\":\"@V1.1@\",\"uid\":\"@U1.0@\"},"
                            "\"ports\":[\"@P1.2@\",30002,80],\"x\":\"150\",\"y\":\"@uid@\",\"z\":[true,null]}");
}

static void an_unknown_version_stays_what_it_is(void **state) {
        struct comparing *c = *state;
        const struct value *v = json_of(c, "{'resourceVersion':'77','continue':'x','port':31000}");

        assert_string_equal(value_canonical(c->a, pairs_label(c->pairs, c->a, v)).p,
                            "{\"continue\":\"x\",\"port\":31000,\"resourceVersion\":\"77\"}");
}

static void each_side_gets_its_own(void **state) {
        static const char text[] = "{\"a\":\"@U1.0@\",\"p\":\"@P1.1@\",\"q\":\"x@P1.1@\",\"n\":\"@Fns@\"}";
        struct comparing *c = *state;

        learn(c, PAIR_UID, UID_A, UID_B);
        learn(c, PAIR_PORT, "30001", "30002");
        pairs_add(c->pairs, "Fns", STR("here"), STR("there"));
        assert_string_equal(pairs_fill(c->pairs, c->a, SIDE_REAL, str_from(text)).p,
                            "{\"a\":\"" UID_A "\",\"p\":30001,\"q\":\"x30001\",\"n\":\"here\"}");
        assert_string_equal(pairs_fill(c->pairs, c->a, SIDE_SANDBOX, str_from(text)).p,
                            "{\"a\":\"" UID_B "\",\"p\":30002,\"q\":\"x30002\",\"n\":\"there\"}");
        assert_string_equal(pairs_fill(c->pairs, c->a, SIDE_REAL, STR("a@b @none@ @")).p, "a@b @none@ @");
        assert_text(c, SIDE_REAL, "in here", "in @Fns@");
        assert_text(c, SIDE_SANDBOX, "in there", "in @Fns@");
}

/* --- kinds and order --- */

static void a_kind_does_not_know_the_others(void **state) {
        struct comparing *c = *state;

        learn(c, PAIR_UID, "x", "y");
        assert_non_null(pairs_find(c->pairs, c->a, SIDE_REAL, PAIR_UID, STR("x")));
        assert_ptr_equal(pairs_find(c->pairs, c->a, SIDE_REAL, PAIR_UID, STR("x")),
                         pairs_find(c->pairs, c->a, SIDE_SANDBOX, PAIR_UID, STR("y")));
        assert_null(pairs_find(c->pairs, c->a, SIDE_REAL, PAIR_NAME, STR("x")));
        assert_null(pairs_find(c->pairs, c->a, SIDE_SANDBOX, PAIR_UID, STR("x")));
}

static void a_number_is_a_port_in_the_range_of_node_ports(void **state) {
        struct comparing *c = *state;

        assert_true(pairs_is_port(json_of(c, "30000")));
        assert_true(pairs_is_port(json_of(c, "32800")));
        assert_false(pairs_is_port(json_of(c, "29999")));
        assert_false(pairs_is_port(json_of(c, "32801")));
        assert_false(pairs_is_port(json_of(c, "'30000'")));
}

static bool in_order(struct comparing *c, const char *real, const char *sandbox) {
        return pairs_in_order(c->pairs, c->a, str_from(real), str_from(sandbox));
}

static void a_version_is_new_once(void **state) {
        struct comparing *c = *state;

        assert_true(in_order(c, "10", "1"));
        learn(c, PAIR_VERSION, "10", "1");
        assert_true(in_order(c, "20", "2"));
        learn(c, PAIR_VERSION, "20", "2");
        assert_false(in_order(c, "30", "0"));
        /* Of those that are known the pair tells. */
        assert_true(in_order(c, "10", "2"));
        assert_true(in_order(c, "30", "2"));
        assert_true(in_order(c, "10", "3"));
        assert_true(in_order(c, "odd", "3"));
        assert_true(in_order(c, "30", "odd"));
        assert_true(pairs_is_latest(c->pairs, SIDE_REAL, STR("20")));
        assert_false(pairs_is_latest(c->pairs, SIDE_REAL, STR("19")));
        assert_true(pairs_is_latest(c->pairs, SIDE_SANDBOX, STR("2")));
        assert_false(pairs_is_latest(c->pairs, SIDE_SANDBOX, STR("1")));
        assert_false(pairs_is_latest(c->pairs, SIDE_REAL, STR("odd")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_pair_is_labelled_on_both_sides),
                CASE(a_side_does_not_know_what_the_other_has),
                CASE(only_whole_words_are_paired),
                CASE(a_pod_of_a_job_has_a_number_behind_its_name),
                CASE(ports_and_versions_are_words_only_where_they_may_be),
                CASE(what_nobody_has_learned_is_told_by_its_kind),
                CASE(what_is_cut_in_the_middle_tells_nothing),
                CASE(a_real_value_gets_labels),
                CASE(an_unknown_version_stays_what_it_is),
                CASE(each_side_gets_its_own),
                CASE(a_kind_does_not_know_the_others),
                CASE(a_number_is_a_port_in_the_range_of_node_ports),
                CASE(a_version_is_new_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

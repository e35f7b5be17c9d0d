/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation and questions, on the engine in process and in virtual time; what the worker adds is in test_jq_worker.c. */
#include "jq_fixture.h"

#include "base/limits.h"

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->l = loop_new_virtual(1, 0);
        f->engine = jq_in_process_new(f->l);
        f->to = answers_new(f->l);
        *state = f;
        return 0;
}

/* ---- paths ---- */

static void each_rule_gets_its_paths_in_its_place(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, ".spec.containers[] | select(.name == \"b\")", ".spec.replicas", "empty");
        EXPECT_PATHS(f->to, 0, "[[\"spec\",\"containers\",1]]");
        EXPECT_PATHS(f->to, 1, "[[\"spec\",\"replicas\"]]");
        EXPECT_PATHS(f->to, 2, "[]");
}

static void the_whole_object_is_a_path_without_steps(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, ".", ".spec, .");
        EXPECT_PATHS(f->to, 0, "[[]]");
        EXPECT_PATHS(f->to, 1, "[[\"spec\"],[]]");
}

static void slices_and_indexes_from_the_end_become_indexes_of_this_object(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, ".spec.containers[1].env[1:]", ".spec.containers[-1].env[-3:-1]",
            ".spec.containers[1].env[1:][0]", ".spec.containers[1].env[1:][-1]", ".spec.containers[1].env[1:][1:]",
            ".spec.containers[-1].name");
        EXPECT_PATHS(f->to, 0, "[[\"spec\",\"containers\",1,\"env\",1],[\"spec\",\"containers\",1,\"env\",2]]");
        EXPECT_PATHS(f->to, 1, "[[\"spec\",\"containers\",1,\"env\",0],[\"spec\",\"containers\",1,\"env\",1]]");
        EXPECT_PATHS(f->to, 2, "[[\"spec\",\"containers\",1,\"env\",1]]");
        EXPECT_PATHS(f->to, 3, "[[\"spec\",\"containers\",1,\"env\",2]]");
        EXPECT_PATHS(f->to, 4, "[[\"spec\",\"containers\",1,\"env\",2]]");
        EXPECT_PATHS(f->to, 5, "[[\"spec\",\"containers\",1,\"name\"]]");
}

static void items_that_this_object_does_not_have_from_the_end_are_no_paths(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, ".spec.containers[-3]", ".spec.none[-1]", ".spec.none[1:]", ".spec.containers[2:]",
            ".spec.containers[1:][1]", ".spec.containers[nan]", ".spec.containers[0.5]", ".spec.containers[7]");
        for (size_t i = 0; i < 7; i++)
                EXPECT_PATHS(f->to, i, "[]");
        EXPECT_PATHS(f->to, 7, "[[\"spec\",\"containers\",7]]");
}

static void a_comment_at_the_end_ends_with_the_expression(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, ".spec # all of it", "\n.spec\n");
        EXPECT_PATHS(f->to, 0, "[[\"spec\"]]");
        EXPECT_PATHS(f->to, 1, "[[\"spec\"]]");
}

/* ---- what is wrong with a rule ---- */

static void what_does_not_compile_says_so_with_its_place(void **state) {
        struct fixture *f = *state;

        /* A string that does not end is in tests/cases/jq: libjq 1.6 leaks it, which matters in process only. */
        ASK(f->engine, f->to, pod, ".spec |", ".spec | nosuch(1)", ".spec", ".[", "");
        EXPECT_REFUSED(f->to, 0, JQ_INVALID, ERR_INVAL,
                       "rules:1: this jq expression does not compile: syntax error, unexpected ')'");
        EXPECT_REFUSED(f->to, 1, JQ_INVALID, ERR_INVAL,
                       "rules:2: this jq expression does not compile: nosuch/1 is not defined");
        EXPECT_PATHS(f->to, 2, "[[\"spec\"]]");
        assert_int_equal(f->to->results[3].verdict, JQ_INVALID);
        assert_int_equal(f->to->results[4].verdict, JQ_INVALID);
}

static void a_failure_on_this_object_is_told_without_hurting_the_others(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, ".spec.containers.name", "error(\"so\")", "error({})", ".spec | keys", ".spec");
        EXPECT_REFUSED(f->to, 0, JQ_FAILED, ERR_INVAL,
                       "rules:1: this jq expression fails on the object: Cannot index array with string \"name\"");
        EXPECT_REFUSED(f->to, 1, JQ_FAILED, ERR_INVAL, "rules:2: this jq expression fails on the object: so");
        EXPECT_REFUSED(f->to, 2, JQ_FAILED, ERR_INVAL,
                       "rules:3: this jq expression fails on the object: it raises an error");
        assert_int_equal(f->to->results[3].verdict, JQ_FAILED);
        EXPECT_PATHS(f->to, 4, "[[\"spec\"]]");
}

static void of_a_secret_no_message_of_jq_is_shown(void **state) {
        struct fixture *f = *state;
        const struct jq_rule rules[] = { { STR(".data | error(.key)"), STR("cm:3") }, { STR(".data"), STR("cm:4") } };
        const struct jq_question q = {
                .object = STR("{\"data\":{\"key\":\"aHVudGVyMg==\"}}"), .is_secret = true, .rules = rules, .count = 2
        };

        jq_engine_eval(f->engine, &q, on_answers, f->to);
        loop_run(f->l);
        EXPECT_REFUSED(f->to, 0, JQ_FAILED, ERR_INVAL, "cm:3: this jq expression fails on the object");
        EXPECT_PATHS(f->to, 1, "[[\"data\"]]");
}

static void a_long_message_is_cut_between_characters(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, "{}", "error(\"€\" * 1000)", "error(\"x\" + \"€\" * 1000)", "error(\"one\\ntwo\")");
        for (size_t i = 0; i < 2; i++) {
                assert_true(strlen(f->to->msgs[i]) > 300 && strlen(f->to->msgs[i]) < 400);
                assert_true(str_is_utf8(str_from(f->to->msgs[i])));
        }
        EXPECT_REFUSED(f->to, 2, JQ_FAILED, ERR_INVAL, "rules:3: this jq expression fails on the object: one");
}

static void what_an_expression_must_not_do_is_not_there(void **state) {
        struct fixture *f = *state;

        setenv("TRUCE_SECRET", "leaks", 1);
        ASK(f->engine, f->to, "{\"a\":{\"b\":1}}", "input", "first(inputs)", "halt", "halt_error", "\"x\" | halt_error(1)",
            ".a | debug | .b", ".a | stderr | .b", "select(env == {}) | .a", "select($ENV == {}) | .a",
            "select(env.TRUCE_SECRET) | .a", "select(input_filename == null) | .a", "\"x\" | modulemeta",
            "get_search_list", "import \"x\" as x; .a", "include \"x\"; .a", "import \"passwd\" as $x {search:\"/etc\"}; .a");
        unsetenv("TRUCE_SECRET");
        EXPECT_REFUSED(f->to, 0, JQ_FAILED, ERR_INVAL,
                       "rules:1: this jq expression fails on the object: input is not available here");
        for (size_t i = 1; i < 5; i++)
                assert_non_null(strstr(f->to->msgs[i], "is not available here"));
        EXPECT_PATHS(f->to, 5, "[[\"a\",\"b\"]]");
        EXPECT_PATHS(f->to, 6, "[[\"a\",\"b\"]]");
        EXPECT_PATHS(f->to, 7, "[[\"a\"]]");
        EXPECT_PATHS(f->to, 8, "[[\"a\"]]");
        EXPECT_PATHS(f->to, 9, "[]");
        EXPECT_PATHS(f->to, 10, "[[\"a\"]]");
        assert_non_null(strstr(f->to->msgs[11], "modulemeta is not available here"));
        assert_non_null(strstr(f->to->msgs[12], "get_search_list is not available here"));
        for (size_t i = 13; i < 16; i++)
                assert_int_equal(f->to->results[i].verdict, JQ_INVALID);
}

/* The text may close our parenthesis: what it opens behind has no more rights, and no paths no results. */
static void a_text_that_breaks_out_gains_nothing(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, "{\"a\":1}", ".a) | (input", ".a) | (\"text\"", ".a), ([{\"x\":1}]", ".a), path(.b");
        assert_non_null(strstr(f->to->msgs[0], "input is not available here"));
        EXPECT_REFUSED(f->to, 1, JQ_FAILED, ERR_INVAL, "rules:2: this jq expression does not select paths");
        assert_int_equal(f->to->results[2].verdict, JQ_FAILED);
        EXPECT_PATHS(f->to, 3, "[[\"a\"],[\"b\"]]");
}

/* ---- limits ---- */

static void an_expression_at_the_limit_is_compiled_and_a_longer_one_is_not(void **state) {
        struct fixture *f = *state;
        _cleanup_(mem_freep) char *text = mem_zalloc(JQ_MAX_PROGRAM_BYTES + 2);

        memset(text, ' ', JQ_MAX_PROGRAM_BYTES);
        memcpy(text, ".spec", 5);
        ASK(f->engine, f->to, pod, text);
        EXPECT_PATHS(f->to, 0, "[[\"spec\"]]");

        text[JQ_MAX_PROGRAM_BYTES] = ' ';
        ASK(f->engine, f->to, pod, text);
        EXPECT_REFUSED(f->to, 0, JQ_INVALID, ERR_LIMIT, "rules:1: this jq expression is longer than 16384 bytes");
}

static void text_that_is_not_utf_8_is_no_expression(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, ".\"\xff\"");
        EXPECT_REFUSED(f->to, 0, JQ_INVALID, ERR_INVAL, "rules:1: this jq expression is not UTF-8 text");
}

static void paths_at_the_limit_are_given_and_one_more_is_refused(void **state) {
        struct fixture *f = *state;
        char at[64], above[64], slice[64];

        snprintf(at, sizeof at, ".[range(%d)]", JQ_MAX_PATHS);
        snprintf(above, sizeof above, ".[range(%d)]", JQ_MAX_PATHS + 1);
        snprintf(slice, sizeof slice, "range(%d) as $i | .[0:2]", JQ_MAX_PATHS);
        ASK(f->engine, f->to, "[1,2]", at, above, slice, "repeat(.[0:1])", ".[0]");
        assert_int_equal(f->to->results[0].count, JQ_MAX_PATHS);
        for (size_t i = 1; i < 4; i++) {
                assert_int_equal(f->to->results[i].verdict, JQ_FAILED);
                assert_int_equal(f->to->codes[i], ERR_LIMIT);
                assert_non_null(strstr(f->to->msgs[i], "selects more than 20000 paths"));
        }
        EXPECT_PATHS(f->to, 4, "[[0]]");
}

static void paths_that_are_too_long_together_are_refused(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, "{}", ".[(\"x\" * 1000000) | (., ., ., ., .)]", ".[(\"x\" * 1000000) | (., ., .)]");
        assert_int_equal(f->to->codes[0], ERR_LIMIT);
        assert_int_equal(f->to->results[1].count, 3);
}

static void an_object_above_the_limit_is_refused(void **state) {
        struct fixture *f = *state;
        _cleanup_(mem_freep) char *object = mem_zalloc(KUBE_MAX_OBJECT_BYTES + 2);

        memset(object, ' ', KUBE_MAX_OBJECT_BYTES);
        object[0] = '1';
        ASK(f->engine, f->to, object, ".");
        EXPECT_PATHS(f->to, 0, "[[]]");
        object[KUBE_MAX_OBJECT_BYTES] = ' ';
        ASK(f->engine, f->to, object, ".");
        EXPECT_REFUSED(f->to, 0, JQ_FAILED, ERR_LIMIT, "rules:1: the object is too large");
}

static void what_jq_does_not_take_for_an_object_is_refused(void **state) {
        struct fixture *f = *state;
        char deep[1024];

        ASK(f->engine, f->to, "{\"a\":", ".a", ".b");
        EXPECT_REFUSED(f->to, 0, JQ_FAILED, ERR_INVAL, "rules:1: jq does not take the object");
        EXPECT_REFUSED(f->to, 1, JQ_FAILED, ERR_INVAL, "rules:2: jq does not take the object");

        memset(deep, '[', 300);
        memset(deep + 300, ']', 300);
        deep[600] = '\0';
        ASK(f->engine, f->to, deep, ".[0]");
        assert_int_equal(f->to->results[0].verdict, JQ_FAILED);
}

static void beyond_so_many_programs_new_ones_are_refused_until_old_ones_are_forgotten(void **state) {
        struct fixture *f = *state;
        char texts[100][16];
        const char *list[100];
        struct jq_stats stats;

        /* All wrong, as those compile in no time. */
        for (unsigned k = 0; k < JQ_MAX_PROGRAMS / 100; k++) {
                for (unsigned i = 0; i < 100; i++) {
                        snprintf(texts[i], sizeof texts[i], "%u |", k * 100 + i);
                        list[i] = texts[i];
                }
                ask_all(f->engine, f->to, "", list, 100);
        }
        ASK(f->engine, f->to, "", ".one", "0 |");
        EXPECT_REFUSED(f->to, 0, JQ_INVALID, ERR_LIMIT, "rules:1: there are too many jq expressions");
        assert_int_equal(f->to->codes[1], ERR_INVAL);
        jq_engine_stats(f->engine, &stats);
        assert_int_equal(stats.programs, JQ_MAX_PROGRAMS);

        jq_engine_keep(f->engine, &(struct jq_rule){ .text = STR("0 |") }, 1);
        jq_engine_stats(f->engine, &stats);
        assert_int_equal(stats.programs, 1);
        ASK(f->engine, f->to, "", ".one");
        EXPECT_PATHS(f->to, 0, "[]");
}

/* ---- questions ---- */

static void without_an_object_rules_are_only_checked(void **state) {
        struct fixture *f = *state;
        struct jq_stats stats;

        ASK(f->engine, f->to, "", ".a", ".a |", "error(\"never run\")");
        EXPECT_PATHS(f->to, 0, "[]");
        assert_int_equal(f->to->results[1].verdict, JQ_INVALID);
        EXPECT_PATHS(f->to, 2, "[]");
        jq_engine_stats(f->engine, &stats);
        assert_int_equal(stats.evaluations, 0);
}

static void a_question_without_rules_is_answered(void **state) {
        struct fixture *f = *state;

        ask_all(f->engine, f->to, pod, NULL, 0);
}

struct order {
        struct jq_eval *other;
        char seen[16];
};

static void note(void *ctx, const struct jq_result *results, size_t count) {
        struct order *o = ctx;

        (void)results;
        (void)count;
        strncat(o->seen, "x", sizeof o->seen - strlen(o->seen) - 1);
        jq_eval_cancel(TAKE_PTR(o->other));
}

static void cancelled_questions_are_not_answered_and_the_others_are(void **state) {
        struct fixture *f = *state;
        struct order first = { 0 }, second = { 0 }, third = { 0 };
        const struct jq_rule rule = { STR(".spec"), STR("r") };
        const struct jq_question q = { .object = str_from(pod), .rules = &rule, .count = 1 };

        jq_eval_cancel(jq_engine_eval(f->engine, &q, note, &first));
        jq_engine_eval(f->engine, &q, note, &second);
        second.other = jq_engine_eval(f->engine, &q, note, &third);
        jq_eval_cancel(NULL);
        loop_run(f->l);
        assert_string_equal(first.seen, "");
        assert_string_equal(second.seen, "x");
        assert_string_equal(third.seen, "");
}

static void free_it(void *ctx, const struct jq_result *results, size_t count) {
        struct fixture *f = ctx;

        assert_int_equal(results[0].verdict, JQ_PATHS);
        assert_int_equal(count, 1);
        jq_engine_free(TAKE_PTR(f->engine));
}

static void an_answer_may_free_the_engine_with_what_waits(void **state) {
        struct fixture *f = *state;
        struct order never = { 0 };
        const struct jq_rule rule = { STR(".spec"), STR("r") };
        const struct jq_question q = { .object = str_from(pod), .rules = &rule, .count = 1 };

        jq_engine_eval(f->engine, &q, free_it, f);
        jq_engine_eval(f->engine, &q, note, &never);
        loop_run(f->l);
        assert_null(f->engine);
        assert_string_equal(never.seen, "");
}

#define TEST(claim) cmocka_unit_test_setup_teardown(claim, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(each_rule_gets_its_paths_in_its_place),
                TEST(the_whole_object_is_a_path_without_steps),
                TEST(slices_and_indexes_from_the_end_become_indexes_of_this_object),
                TEST(items_that_this_object_does_not_have_from_the_end_are_no_paths),
                TEST(a_comment_at_the_end_ends_with_the_expression),
                TEST(what_does_not_compile_says_so_with_its_place),
                TEST(a_failure_on_this_object_is_told_without_hurting_the_others),
                TEST(of_a_secret_no_message_of_jq_is_shown),
                TEST(a_long_message_is_cut_between_characters),
                TEST(what_an_expression_must_not_do_is_not_there),
                TEST(a_text_that_breaks_out_gains_nothing),
                TEST(an_expression_at_the_limit_is_compiled_and_a_longer_one_is_not),
                TEST(text_that_is_not_utf_8_is_no_expression),
                TEST(paths_at_the_limit_are_given_and_one_more_is_refused),
                TEST(paths_that_are_too_long_together_are_refused),
                TEST(an_object_above_the_limit_is_refused),
                TEST(what_jq_does_not_take_for_an_object_is_refused),
                TEST(beyond_so_many_programs_new_ones_are_refused_until_old_ones_are_forgotten),
                TEST(without_an_object_rules_are_only_checked),
                TEST(a_question_without_rules_is_answered),
                TEST(cancelled_questions_are_not_answered_and_the_others_are),
                TEST(an_answer_may_free_the_engine_with_what_waits),
        };

        return cmocka_run_group_tests_name("jq", tests, NULL, NULL);
}

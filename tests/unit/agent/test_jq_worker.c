/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker on the real loop: expressions that take it down, and children that are no workers at all. Nothing here is
 * timed; how long the longest turn was and how much memory is used is printed for people.
 */
#include "jq_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "agent/jq_impl.h"
#include "base/limits.h"

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->l = loop_new(1, 1, NULL);
        f->engine = jq_worker_new(f->l, &(struct jq_worker_spec){ 0 });
        f->to = answers_new(f->l);
        *state = f;
        return 0;
}

#define B_PATHS "[[\"spec\",\"containers\",1]]"
#define SELECT_B ".spec.containers[] | select(.name == \"b\")"

static struct jq_stats stats_of(const struct fixture *f) {
        struct jq_stats stats;

        jq_engine_stats(f->engine, &stats);
        return stats;
}

/* The number of our one child; 0: there is none. */
static pid_t the_child(void) {
        char path[64], text[64] = "";

        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        size_t n = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        return n > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

static long resident_kib(pid_t pid) {
        char path[64];
        long pages = 0;

        snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%*d %ld", &pages) != 1)
                pages = 0;
        if (file)
                fclose(file);
        return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ---- everyday ---- */

static void no_child_is_started_before_there_is_a_question(void **state) {
        struct fixture *f = *state;

        loop_run_for(f->l, 1);
        assert_int_equal(the_child(), 0);
        assert_int_equal(stats_of(f).starts, 0);
}

static void one_child_answers_all_questions(void **state) {
        struct fixture *f = *state;

        for (int i = 0; i < 20; i++) {
                ASK(f->engine, f->to, pod, SELECT_B, ".spec.replicas", ".spec |", "error(\"no\")", SELECT_B);
                EXPECT_PATHS(f->to, 0, B_PATHS);
                EXPECT_PATHS(f->to, 1, "[[\"spec\",\"replicas\"]]");
                EXPECT_REFUSED(f->to, 2, JQ_INVALID, ERR_INVAL,
                               "rules:3: this jq expression does not compile: syntax error, unexpected ')'");
                EXPECT_REFUSED(f->to, 3, JQ_FAILED, ERR_INVAL, "rules:4: this jq expression fails on the object: no");
                EXPECT_PATHS(f->to, 4, B_PATHS);
        }
        assert_int_equal(stats_of(f).starts, 1);
        assert_int_equal(stats_of(f).deaths, 0);
        assert_int_equal(stats_of(f).programs, 4);
        assert_int_equal(stats_of(f).evaluations, 20 * 4);
}

static void a_check_needs_no_object(void **state) {
        struct fixture *f = *state;

        for (int i = 0; i < 2; i++) {
                ASK(f->engine, f->to, "", ".a", "def f: f; f", ".a |", ".a");
                EXPECT_PATHS(f->to, 0, "[]");
                EXPECT_PATHS(f->to, 1, "[]");
                assert_int_equal(f->to->results[2].verdict, JQ_INVALID);
                EXPECT_PATHS(f->to, 3, "[]");
        }
        assert_int_equal(stats_of(f).evaluations, 0);
}

static void what_jq_does_not_take_for_an_object_is_the_objects_fault(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, "{\"a\":", ".a", ".a |");
        EXPECT_REFUSED(f->to, 0, JQ_FAILED, ERR_INVAL, "rules:1: jq does not take the object");
        assert_int_equal(f->to->results[1].verdict, JQ_INVALID);
        ASK(f->engine, f->to, pod, SELECT_B);
        EXPECT_PATHS(f->to, 0, B_PATHS);
        assert_int_equal(stats_of(f).deaths, 0);
}

static void large_objects_and_many_paths_pass_the_pipes(void **state) {
        struct fixture *f = *state;
        _cleanup_(buf_done) struct buf object = buf_make(KUBE_MAX_OBJECT_BYTES);

        buf_addc(&object, "{\"items\":[0");
        for (int i = 1; i < JQ_MAX_PATHS; i++)
                buf_addf(&object, ",{\"a-rather-long-name-of-a-field\":\"%0100d\"}", i);
        buf_addc(&object, "]}");
        ASK(f->engine, f->to, object.p, ".items[]", ".items[1:][] | .[keys[0]]", ".items[-1]", "..");
        assert_int_equal(f->to->results[0].count, JQ_MAX_PATHS);
        assert_int_equal(f->to->results[1].count, JQ_MAX_PATHS - 1);
        EXPECT_PATHS(f->to, 2, "[[\"items\",19999]]");
        assert_int_equal(f->to->codes[3], ERR_LIMIT);
        assert_int_equal(stats_of(f).deaths, 0);
}

struct order {
        struct jq_eval *other;
        char *seen;
        const char *name;
        struct loop *l;
};

static void note(void *ctx, const struct jq_result *results, size_t count) {
        struct order *o = ctx;

        assert_int_equal(count, 1);
        assert_int_equal(results[0].verdict, JQ_PATHS);
        strncat(o->seen, o->name, 1);
        jq_eval_cancel(TAKE_PTR(o->other));
        if (o->l)
                loop_stop(o->l);
}

static void answers_come_in_the_order_of_the_questions_without_the_cancelled(void **state) {
        struct fixture *f = *state;
        char seen[16] = "";
        struct order orders[] = { { .seen = seen, .name = "0" }, { .seen = seen, .name = "1" },
                                  { .seen = seen, .name = "2" }, { .seen = seen, .name = "3", .l = f->l } };
        const struct jq_rule rule = { STR(".spec"), STR("r") };
        const struct jq_question q = { .object = str_from(pod), .rules = &rule, .count = 1 };

        struct jq_eval *cancelled = jq_engine_eval(f->engine, &q, note, &orders[0]);
        jq_engine_eval(f->engine, &q, note, &orders[1]);
        orders[1].other = jq_engine_eval(f->engine, &q, note, &orders[2]);
        jq_engine_eval(f->engine, &q, note, &orders[3]);
        jq_eval_cancel(cancelled);
        loop_run_for(f->l, JQ_TEST_PATIENCE_MS);
        assert_string_equal(seen, "13");
}

static void a_question_that_is_with_the_child_may_be_cancelled(void **state) {
        struct fixture *f = *state;
        char seen[16] = "";
        struct order never = { .seen = seen, .name = "x" };
        const struct jq_rule rule = { STR(".spec"), STR("r") };
        const struct jq_question q = { .object = str_from(pod), .rules = &rule, .count = 1 };

        struct jq_eval *eval = jq_engine_eval(f->engine, &q, note, &never);
        while (stats_of(f).starts == 0)
                loop_run_for(f->l, 1);
        jq_eval_cancel(eval);
        ASK(f->engine, f->to, pod, SELECT_B);
        EXPECT_PATHS(f->to, 0, B_PATHS);
        assert_string_equal(seen, "");
}

static void free_it(void *ctx, const struct jq_result *results, size_t count) {
        struct fixture *f = ctx;

        (void)results;
        (void)count;
        jq_engine_free(TAKE_PTR(f->engine));
}

static void an_answer_may_free_the_engine_with_what_waits(void **state) {
        struct fixture *f = *state;
        char seen[16] = "";
        struct order never = { .seen = seen, .name = "x" };
        const struct jq_rule rule = { STR(".spec"), STR("r") };
        const struct jq_question q = { .object = str_from(pod), .rules = &rule, .count = 1 };

        jq_engine_eval(f->engine, &q, free_it, f);
        jq_engine_eval(f->engine, &q, note, &never);
        jq_engine_eval(f->engine, &q, note, &never);
        loop_run(f->l);
        assert_null(f->engine);
        assert_string_equal(seen, "");
}

static void programs_that_are_forgotten_leave_with_their_child(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, SELECT_B, ".spec");
        jq_engine_keep(f->engine, &(struct jq_rule){ .text = STR(".spec") }, 1);
        assert_int_equal(stats_of(f).programs, 1);
        ASK(f->engine, f->to, pod, ".spec");
        EXPECT_PATHS(f->to, 0, "[[\"spec\"]]");
        assert_int_equal(stats_of(f).starts, 2);
        assert_int_equal(stats_of(f).deaths, 0);
        jq_engine_keep(f->engine, &(struct jq_rule){ .text = STR(".spec") }, 1);
        ASK(f->engine, f->to, pod, ".spec");
        assert_int_equal(stats_of(f).starts, 2);
}

/* ---- hostile expressions ---- */

#define QUARANTINE ": this jq expression is not evaluated any more until it changes: "

/* How long the loop was held up, and how much memory the two took, while the engine was busy. */
struct watcher {
        struct loop *l;
        struct loop_timer *t;
        long parent_kib, child_kib;
};

static void look(void *ctx) {
        struct watcher *w = ctx;
        pid_t child = the_child();
        long parent_kib = resident_kib(getpid()), child_kib = child > 0 ? resident_kib(child) : 0;

        w->parent_kib = parent_kib > w->parent_kib ? parent_kib : w->parent_kib;
        w->child_kib = child_kib > w->child_kib ? child_kib : w->child_kib;
        loop_timer_start(w->t, 20);
}

static void ask_hostile(struct fixture *f, const char *text) {
        struct watcher w = { .l = f->l };

        w.t = loop_timer_new(f->l, look, &w);
        loop_timer_start(w.t, 0);
        loop_longest_turn_us(f->l);
        ASK(f->engine, f->to, pod, SELECT_B, text, ".spec.x");
        loop_timer_free(w.t);
        print_message("%-44.44s %s\n    longest turn %lld us, at most %ld KiB here, %ld KiB there\n", text,
                      f->to->results[1].verdict == JQ_PATHS ? "(paths)" : f->to->msgs[1],
                      (long long)loop_longest_turn_us(f->l), w.parent_kib, w.child_kib);
        EXPECT_PATHS(f->to, 0, B_PATHS);
        EXPECT_PATHS(f->to, 2, "[[\"spec\",\"x\"]]");
}

/* `what`: a word of the message that must be there. */
static void expect_contained(struct fixture *f, const char *text, enum jq_verdict verdict, const char *what) {
        uint64_t starts;

        ask_hostile(f, text);
        assert_int_equal(f->to->results[1].verdict, verdict);
        assert_true(str_starts(str_from(f->to->msgs[1]), STR("rules:2: ")));
        assert_non_null(strstr(f->to->msgs[1], what));
        if (verdict != JQ_QUARANTINED)
                return;
        /* From now on it costs nothing, and harms nobody. */
        starts = stats_of(f).starts;
        ask_hostile(f, text);
        assert_int_equal(f->to->results[1].verdict, JQ_QUARANTINED);
        assert_int_equal(stats_of(f).starts, starts);
}

static void endless_expressions_are_quarantined(void **state) {
        struct fixture *f = *state;
        const char *const texts[] = { "def f: f; f", "until(false; .)", "recurse(.none?)|empty",
                                      "first(range(1e12)|select(. < 0))", "[limit(1e9; repeat(1))]|empty|.a",
                                      "[range(100)|try (\"x\"*40|test(\"(x+x+)+y\")) catch .]|empty" };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                expect_contained(f, texts[i], JQ_QUARANTINED, "it takes more than ");
        assert_int_equal(stats_of(f).quarantined, ARRAY_LEN(texts));
}

static void expressions_that_eat_memory_or_crash_jq_are_quarantined(void **state) {
        struct fixture *f = *state;
        const char *const texts[] = { "[range(1e12)]", "def f: 1 + f; f", "def f: [f]; f", "\"a\" * 1e9 | empty",
                                      "reduce range(1e7) as $i (.; [.]) | empty",
                                      "reduce range(40) as $i (\"x\"; . + .) | empty" };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                expect_contained(f, texts[i], JQ_QUARANTINED, QUARANTINE);
}

static void what_ends_by_itself_is_only_refused(void **state) {
        struct fixture *f = *state;

        expect_contained(f, "repeat(.)", JQ_FAILED, "selects more than 20000 paths");
        expect_contained(f, "recurse(.spec?)", JQ_FAILED, "selects more than 20000 paths");
        expect_contained(f, "input", JQ_FAILED, "input is not available here");
        expect_contained(f, "env", JQ_FAILED, "Invalid path expression");
        expect_contained(f, "halt", JQ_FAILED, "halt is not available here");
        expect_contained(f, "import \"x\" as x; .", JQ_INVALID, "does not compile");
        expect_contained(f, "select(\"x\"|test(\"(\"))", JQ_FAILED, "Regex failure: end pattern");
        /* The library of regular expressions has a limit of its own. */
        expect_contained(f, "select(\"x\"*40|test(\"(x+x+)+y\"))", JQ_FAILED, "retry-limit");
        assert_int_equal(stats_of(f).deaths, 0);
}

/* jq's parser and compiler recurse. */
static void programs_made_to_break_the_compiler_are_contained(void **state) {
        struct fixture *f = *state;
        const char *const pieces[] = { "[", "(", "\"\\(", "if ", "-", ".[", "def f: ", ".a|", ".a[]?//" };

        for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
                _cleanup_(buf_done) struct buf text = buf_make(JQ_MAX_PROGRAM_BYTES);

                while (text.n + strlen(pieces[i]) < JQ_MAX_PROGRAM_BYTES)
                        buf_addc(&text, pieces[i]);
                ask_hostile(f, text.p);
                assert_int_not_equal(f->to->results[1].verdict, JQ_PATHS);
        }
}

static void a_quarantine_ends_when_the_text_changes_or_is_forgotten(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, "def f: f; f");
        EXPECT_REFUSED(f->to, 0, JQ_QUARANTINED, ERR_TIMEOUT,
                       "rules:1" QUARANTINE "it takes more than 1 s of processor time");
        ASK(f->engine, f->to, pod, "def f: .; f");
        EXPECT_PATHS(f->to, 0, "[[]]");
        jq_engine_keep(f->engine, NULL, 0);
        assert_int_equal(stats_of(f).quarantined, 0);
        ASK(f->engine, f->to, "", "def f: f; f");
        EXPECT_PATHS(f->to, 0, "[]");
}

static void the_same_hostile_text_twice_is_tried_once(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, "def f: f; f", SELECT_B, "def f: f; f");
        assert_int_equal(f->to->results[0].verdict, JQ_QUARANTINED);
        EXPECT_PATHS(f->to, 1, B_PATHS);
        EXPECT_REFUSED(f->to, 2, JQ_QUARANTINED, ERR_TIMEOUT,
                       "rules:3" QUARANTINE "it takes more than 1 s of processor time");
        assert_int_equal(stats_of(f).deaths, 1);
}

/* ---- misfortunes of the child ---- */

static void kill_child(void *ctx) {
        pid_t child = the_child();

        (void)ctx;
        if (child > 0)
                kill(child, SIGKILL);
}

static void a_child_that_dies_between_questions_is_replaced(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, SELECT_B);
        kill_child(NULL);
        while (stats_of(f).deaths == 0)
                loop_run_for(f->l, 1);
        ASK(f->engine, f->to, pod, SELECT_B);
        EXPECT_PATHS(f->to, 0, B_PATHS);
        assert_int_equal(stats_of(f).starts, 2);
}

static void an_innocent_rule_survives_a_killer_from_outside(void **state) {
        struct fixture *f = *state;
        _cleanup_(loop_timer_freep) struct loop_timer *t = loop_timer_new(f->l, kill_child, NULL);
        const char *slow = "select([limit(200000; repeat(1))] | length > 1) | .spec";

        ASK(f->engine, f->to, pod, SELECT_B);
        loop_timer_start(t, 5);
        ASK(f->engine, f->to, pod, SELECT_B, slow);
        EXPECT_PATHS(f->to, 0, B_PATHS);
        /* Killed or not, and in a child that had worked before or not: it is not quarantined. */
        assert_int_not_equal(f->to->results[1].verdict, JQ_QUARANTINED);
        ASK(f->engine, f->to, pod, slow);
        EXPECT_PATHS(f->to, 0, "[[\"spec\"]]");
}

static void use_worker(struct fixture *f, const struct jq_worker_spec *spec) {
        jq_engine_free(f->engine);
        f->engine = jq_worker_new(f->l, spec);
}

/* A shell script in place of the worker; its first question is `pod` with one rule. */
static void ask_impostor(struct fixture *f, const char *const *argv) {
        use_worker(f, &(struct jq_worker_spec){ .argv = argv });
        ASK(f->engine, f->to, pod, SELECT_B);
        print_message("%s: %s\n", argv[2] ? argv[2] : argv[0], f->to->msgs[0]);
        assert_int_not_equal(f->to->results[0].verdict, JQ_PATHS);
}

#define IMPOSTOR(script) ((const char *const[]){ "/bin/sh", "-c", script, NULL })

static void who_is_no_worker_is_unavailable(void **state) {
        struct fixture *f = *state;

        ask_impostor(f, (const char *const[]){ "/no/such/program", "x", NULL });
        EXPECT_REFUSED(f->to, 0, JQ_UNAVAILABLE, ERR_UNREACHABLE,
                       "rules:1: there is no jq worker: cannot run /no/such/program: No such file or directory");
        ask_impostor(f, IMPOSTOR("exit 0"));
        EXPECT_REFUSED(f->to, 0, JQ_UNAVAILABLE, ERR_UNREACHABLE, "rules:1: the jq worker does not start");
        ask_impostor(f, IMPOSTOR("echo this is no frame at all; exec sleep 1000"));
        EXPECT_REFUSED(f->to, 0, JQ_UNAVAILABLE, ERR_UNREACHABLE, "rules:1: the jq worker does not start");
        ask_impostor(f, IMPOSTOR("exec cat /dev/zero"));
        EXPECT_REFUSED(f->to, 0, JQ_UNAVAILABLE, ERR_UNREACHABLE, "rules:1: the jq worker does not start");
}

/* A fake worker: says READY, then `script` of its own. As octal for printf; the machine is little-endian. */
#define WORD(n)   "\\" #n "\\000qj"
#define HEAD(n)   WORD(n) "\\000\\000\\000\\000"
#define NO_BYTES  "\\000\\000\\000\\000\\000\\000\\000\\000"
#define READY     HEAD(021) NO_BYTES
#define DONE      HEAD(022) NO_BYTES

static void who_lies_after_a_good_start_is_stopped(void **state) {
        struct fixture *f = *state;
        const char *const scripts[] = {
                /* READY twice, nonsense, an answer of four gigabytes, paths for an object, the end within a frame. */
                "printf '" READY READY "'; exec sleep 1000",
                "printf '" READY "nonsense nonsense nonsense'; exec sleep 1000",
                "printf '" READY HEAD(023) "\\377\\377\\377\\377\\000\\000\\000\\000'; exec sleep 1000",
                "printf '" READY HEAD(023) "\\002\\000\\000\\000\\000\\000\\000\\000[]'; exec sleep 1000",
                "printf '" READY DONE DONE "\\021'; exit 0",
                /* Paths that are none, and a failure without a code. */
                "printf '" READY DONE DONE HEAD(023) "\\004\\000\\000\\000\\000\\000\\000\\000[12]'; exec sleep 1000",
                "printf '" READY DONE DONE HEAD(024) "\\004\\000\\000\\000\\000\\000\\000\\000oops'; exec sleep 1000",
        };

        for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
                ask_impostor(f, IMPOSTOR(scripts[i]));
                assert_int_not_equal(f->to->results[0].verdict, JQ_INVALID);
                assert_true(stats_of(f).deaths >= 1);
        }
}

/* More than are free: the next child waits, and the questions with it; none is lost. */
static void deaths_in_a_row_slow_down_and_lose_no_question(void **state) {
        struct fixture *f = *state;

        use_worker(f, &(struct jq_worker_spec){ .argv = IMPOSTOR("exit 0") });
        for (int i = 0; i < 6; i++) {
                ASK(f->engine, f->to, pod, SELECT_B);
                assert_int_equal(f->to->results[0].verdict, JQ_UNAVAILABLE);
        }
        assert_int_equal(stats_of(f).starts, 6);
        assert_int_equal(stats_of(f).quarantined, 0);
}

static void who_does_not_answer_is_given_up_and_the_rule_is_not_convicted_at_once(void **state) {
        struct fixture *f = *state;

        use_worker(f, &(struct jq_worker_spec){ .argv = IMPOSTOR("printf '" READY DONE DONE "'; exec sleep 1000"),
                                                .wall_ms = 100 });
        for (int i = 0; i < 2; i++) {
                ASK(f->engine, f->to, pod, SELECT_B);
                EXPECT_REFUSED(f->to, 0, JQ_UNAVAILABLE, ERR_TIMEOUT,
                               "rules:1: the jq worker did not answer in time");
        }
        ASK(f->engine, f->to, pod, SELECT_B);
        EXPECT_REFUSED(f->to, 0, JQ_QUARANTINED, ERR_TIMEOUT,
                       "rules:1" QUARANTINE "the jq worker did not answer in time");
}

static void a_child_ends_when_it_was_idle_and_another_takes_its_place(void **state) {
        struct fixture *f = *state;

        use_worker(f, &(struct jq_worker_spec){ .idle_ms = 1 });
        for (unsigned i = 1; i <= 3; i++) {
                ASK(f->engine, f->to, pod, SELECT_B);
                EXPECT_PATHS(f->to, 0, B_PATHS);
                /* Nothing is left that could call back. */
                loop_run(f->l);
                assert_int_equal(stats_of(f).starts, i);
        }
        assert_int_equal(stats_of(f).deaths, 0);
}

/* This one claims 60 s. */
#define WORN "\\002\\000\\000\\000\\140\\352\\000\\000"

static void a_worn_child_is_replaced_between_questions(void **state) {
        struct fixture *f = *state;

        use_worker(f, &(struct jq_worker_spec){
                              .argv = IMPOSTOR("printf '" READY DONE DONE HEAD(023) WORN "[]'; exec sleep 1000") });
        for (unsigned i = 1; i <= 3; i++) {
                ASK(f->engine, f->to, pod, SELECT_B);
                EXPECT_PATHS(f->to, 0, "[]");
                assert_int_equal(stats_of(f).starts, i);
        }
        assert_int_equal(stats_of(f).deaths, 0);
}

static void a_check_may_wait_for_its_answer(void **state) {
        struct fixture *f = *state;
        const struct jq_rule rules[] = { { STR(".a"), STR("cm:1") }, { STR(".a |"), STR("cm:2") } };

        assert_int_equal(jq_check(&(struct jq_worker_spec){ 0 }, rules, 2, on_answers, f->to, NULL), 0);
        assert_int_equal(f->to->calls, 1);
        EXPECT_PATHS(f->to, 0, "[]");
        EXPECT_REFUSED(f->to, 1, JQ_INVALID, ERR_INVAL,
                       "cm:2: this jq expression does not compile: syntax error, unexpected ')'");

        assert_int_equal(jq_check(&(struct jq_worker_spec){ .argv = (const char *const[]){ "/none", NULL } }, rules, 2,
                                  on_answers, f->to, NULL),
                         0);
        assert_int_equal(f->to->results[0].verdict, JQ_UNAVAILABLE);
}

static void freeing_the_engine_ends_the_child(void **state) {
        struct fixture *f = *state;

        ASK(f->engine, f->to, pod, SELECT_B);
        assert_true(the_child() > 0);
        jq_engine_free(TAKE_PTR(f->engine));
        loop_free(f->l);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        f->l = loop_new(1, 1, NULL);
}

#define TEST(claim) cmocka_unit_test_setup_teardown(claim, setup, teardown)

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                TEST(no_child_is_started_before_there_is_a_question),
                TEST(one_child_answers_all_questions),
                TEST(a_check_needs_no_object),
                TEST(what_jq_does_not_take_for_an_object_is_the_objects_fault),
                TEST(large_objects_and_many_paths_pass_the_pipes),
                TEST(answers_come_in_the_order_of_the_questions_without_the_cancelled),
                TEST(a_question_that_is_with_the_child_may_be_cancelled),
                TEST(an_answer_may_free_the_engine_with_what_waits),
                TEST(programs_that_are_forgotten_leave_with_their_child),
                TEST(endless_expressions_are_quarantined),
                TEST(expressions_that_eat_memory_or_crash_jq_are_quarantined),
                TEST(what_ends_by_itself_is_only_refused),
                TEST(programs_made_to_break_the_compiler_are_contained),
                TEST(a_quarantine_ends_when_the_text_changes_or_is_forgotten),
                TEST(the_same_hostile_text_twice_is_tried_once),
                TEST(a_child_that_dies_between_questions_is_replaced),
                TEST(an_innocent_rule_survives_a_killer_from_outside),
                TEST(who_is_no_worker_is_unavailable),
                TEST(who_lies_after_a_good_start_is_stopped),
                TEST(deaths_in_a_row_slow_down_and_lose_no_question),
                TEST(who_does_not_answer_is_given_up_and_the_rule_is_not_convicted_at_once),
                TEST(a_child_ends_when_it_was_idle_and_another_takes_its_place),
                TEST(a_worn_child_is_replaced_between_questions),
                TEST(a_check_may_wait_for_its_answer),
                TEST(freeing_the_engine_ends_the_child),
        };

        /* The worker of these tests is this program. */
        if (argc == 2 && strcmp(argv[1], JQ_WORKER_VERB) == 0)
                return jq_worker_main();
        return cmocka_run_group_tests_name("jq_worker", tests, NULL, NULL);
}

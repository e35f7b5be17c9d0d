/* SPDX-License-Identifier: Apache-2.0 */
/* Children of the real loop are real programs here: sh, cat, env of the system. */
#include "base/loop.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/limits.h"

#define SECOND   INT64_C(1000)
#define PATIENCE (60 * SECOND)
/* Long enough for a shell to set its traps on a machine that is busy. */
#define DEADLINE (2 * SECOND)

static const char *const plain_env[] = { "PATH=/usr/bin:/bin", NULL };

/* What done() was told. */
struct ended {
        struct loop *l;
        struct loop_child *child;
        unsigned calls;
        int exit_code;
        enum err_code code;
        char msg[ERR_MSG_MAX_BYTES];
        char *out, *err;
        size_t out_bytes, err_bytes;
};

static void on_end(void *ctx, const struct loop_child_result *result, const struct err *err) {
        struct ended *e = ctx;

        e->calls++;
        e->exit_code = result->exit_code;
        e->code = err ? err->code : ERR_OK;
        snprintf(e->msg, sizeof e->msg, "%s", err ? err->msg : "");
        e->out = str_dup(result->out);
        e->out_bytes = result->out.n;
        e->err = str_dup(result->err);
        e->err_bytes = result->err.n;
        /* Allowed here, and without effect. */
        loop_child_cancel(e->child);
}

static void ended_done(struct ended *e) {
        free(e->out);
        free(e->err);
}

static int setup(void **state) {
        *state = loop_new(1, 1, NULL);
        return *state ? 0 : -1;
}

static int teardown(void **state) {
        loop_free(*state);
        return 0;
}

/* Starts it; the caller runs the loop. */
static bool start(struct ended *e, struct loop *l, const struct loop_child_spec *spec, struct err *err) {
        *e = (struct ended){ .l = l };
        e->child = loop_child_start(l, spec, on_end, e, err);
        return e->child != NULL;
}

static void run_to_end(struct ended *e, struct loop *l, const struct loop_child_spec *spec) {
        assert_true(start(e, l, spec, NULL));
        assert_int_equal(e->calls, 0);
        loop_run(l);
        assert_int_equal(e->calls, 1);
}

/* `script` for /bin/sh under a deadline, with what else a spec may say. */
#define SHELL_FOR(ms, script, ...)                                                                                     \
        (&(struct loop_child_spec){ .argv = (const char *const[]){ "sh", "-c", script, NULL },                         \
                                    .env = plain_env,                                                                  \
                                    .deadline_ms = ms,                                                                 \
                                    __VA_ARGS__ })
#define SHELL(script, ...) SHELL_FOR(PATIENCE, script, __VA_ARGS__)

/* ---- results ---- */

static void output_error_and_exit_code_come_back(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL("echo out; echo err >&2; exit 7"));
        assert_int_equal(e.code, ERR_OK);
        assert_int_equal(e.exit_code, 7);
        assert_string_equal(e.out, "out\n");
        assert_string_equal(e.err, "err\n");
}

static void a_signal_is_128_and_its_number(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL("kill -USR1 $$"));
        assert_int_equal(e.code, ERR_OK);
        assert_int_equal(e.exit_code, 128 + SIGUSR1);
}

static void input_larger_than_any_pipe_comes_back_unchanged(void **state) {
        _cleanup_(ended_done) struct ended e;
        size_t n = 3 * 1024 * 1024;
        _cleanup_(mem_freep) char *input = mem_alloc(n);

        for (size_t i = 0; i < n; i++)
                input[i] = (char)(i * 31 % 251);
        run_to_end(&e, *state, SHELL("exec cat", .input = { input, n }));
        assert_int_equal(e.exit_code, 0);
        assert_int_equal(e.out_bytes, n);
        assert_memory_equal(e.out, input, n);
}

static void input_that_nobody_reads_is_no_error(void **state) {
        _cleanup_(ended_done) struct ended e;
        size_t n = 1024 * 1024;
        _cleanup_(mem_freep) char *input = mem_zalloc(n);

        run_to_end(&e, *state, SHELL("exit 0", .input = { input, n }));
        assert_int_equal(e.code, ERR_OK);
        assert_int_equal(e.exit_code, 0);
}

static void no_input_is_an_empty_one(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL("cat; echo end"));
        assert_string_equal(e.out, "end\n");
}

static void many_children_at_once_keep_apart(void **state) {
        struct ended e[20];
        char scripts[20][32];

        for (size_t i = 0; i < ARRAY_LEN(e); i++) {
                snprintf(scripts[i], sizeof scripts[i], "echo %zu; exit %zu", i, i);
                assert_true(start(&e[i], *state, SHELL(scripts[i]), NULL));
        }
        loop_run(*state);
        for (size_t i = 0; i < ARRAY_LEN(e); i++) {
                assert_int_equal(e[i].calls, 1);
                assert_int_equal(e[i].exit_code, i);
                assert_int_equal(strtol(e[i].out, NULL, 10), i);
                ended_done(&e[i]);
        }
}

/* ---- surroundings ---- */

static void the_environment_is_only_what_was_given(void **state) {
        static const char *const env[] = { "PATH=/usr/bin:/bin", "ONLY=this", NULL };
        static const char *const argv[] = { "env", NULL };
        _cleanup_(ended_done) struct ended e;

        setenv("TRUCE_SECRET", "leaks", 1);
        run_to_end(&e, *state, &(struct loop_child_spec){ .argv = argv, .env = env, .deadline_ms = PATIENCE });
        assert_string_equal(e.out, "PATH=/usr/bin:/bin\nONLY=this\n");
        unsetenv("TRUCE_SECRET");
}

static void no_environment_is_an_empty_one(void **state) {
        static const char *const argv[] = { "/usr/bin/env", NULL };
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, &(struct loop_child_spec){ .argv = argv, .deadline_ms = PATIENCE });
        assert_int_equal(e.exit_code, 0);
        assert_string_equal(e.out, "");
}

static void it_runs_in_the_folder_given_or_else_in_the_root(void **state) {
        _cleanup_(ended_done) struct ended given, none;

        run_to_end(&given, *state, SHELL("pwd", .dir = "/usr"));
        run_to_end(&none, *state, SHELL("pwd"));
        assert_string_equal(given.out, "/usr\n");
        assert_string_equal(none.out, "/\n");
}

static void it_leads_a_session_and_group_of_its_own(void **state) {
        _cleanup_(ended_done) struct ended e;

        /* Fields 5 and 6 of /proc/PID/stat, counted behind the name: process group and session. */
        run_to_end(&e, *state, SHELL("read -r pid comm state ppid group session rest < /proc/$$/stat;"
                                     "echo $((group == $$)) $((session == $$))"));
        assert_string_equal(e.out, "1 1\n");
}

/* One descriptor here is inheritable on purpose. `ls` itself opens the folder: 3. */
static void no_descriptor_is_inherited(void **state) {
        _cleanup_(ended_done) struct ended e;
        int leaky = open("/dev/null", O_RDONLY);

        assert_true(leaky >= 0);
        run_to_end(&e, *state, SHELL("exec ls /proc/self/fd"));
        assert_string_equal(e.out, "0\n1\n2\n3\n");
        close(leaky);
}

/* SIGPIPE is ignored in us, and a mask would be inherited as well. */
static void signals_are_as_a_program_expects_them(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL("exec grep -E '^Sig(Blk|Ign)' /proc/self/status"));
        assert_string_equal(e.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

static void limits_hold_from_the_first_instruction(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL("ulimit -v; ulimit -t; ulimit -c", .rlimit_as_bytes = 512 * 1024 * 1024,
                                     .rlimit_cpu_s = 5));
        assert_string_equal(e.out, "524288\n5\n0\n");
}

static void without_limits_only_core_dumps_are_off(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL("ulimit -v; ulimit -c"));
        assert_string_equal(e.out, "unlimited\n0\n");
}

static void a_child_that_burns_its_cpu_time_is_killed(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL("while :; do :; done", .rlimit_cpu_s = 1));
        assert_int_equal(e.code, ERR_OK);
        assert_int_equal(e.exit_code, 128 + SIGXCPU);
}

/* ---- deadlines, caps, groups ---- */

static void the_deadline_sends_sigterm_first(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL_FOR(DEADLINE, "trap 'echo bye; exit 5' TERM; echo hi; while :; do sleep 0.01; done"));
        assert_int_equal(e.code, ERR_TIMEOUT);
        assert_string_equal(e.msg, "sh was stopped: it ran for more than 2000 ms");
        assert_int_equal(e.exit_code, 5);
        assert_string_equal(e.out, "hi\nbye\n");
}

static void who_ignores_sigterm_is_killed_with_its_group(void **state) {
        struct loop *l = *state;
        _cleanup_(ended_done) struct ended e;
        int64_t start_ms = loop_now_ms(l);

        run_to_end(&e, l, SHELL_FOR(DEADLINE, "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000"));
        assert_int_equal(e.code, ERR_TIMEOUT);
        assert_int_equal(e.exit_code, 128 + SIGKILL);
        assert_true(loop_now_ms(l) - start_ms >= DEADLINE + CHILD_KILL_AFTER_MS);
}

/* Is `pid` (text) still running? A zombie that nobody of us reaps counts as gone. */
static bool is_running(const char *pid_text) {
        char path[64], stat[256] = "";
        pid_t pid = (pid_t)strtol(pid_text, NULL, 10);

        assert_true(pid > 1);
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *f = fopen(path, "re");
        if (!f)
                return false;
        size_t n = fread(stat, 1, sizeof stat - 1, f);
        fclose(f);
        return n > 0 && !strstr(stat, ") Z ") && !strstr(stat, ") X ");
}

static void expect_gone(const char *pid_text) {
        /* SIGKILL was sent; the kernel carries it out when it gets to it. */
        for (int i = 0; i < 10000 && is_running(pid_text); i++)
                usleep(1000);
        assert_false(is_running(pid_text));
}

static void grandchildren_that_hold_the_pipes_are_killed_and_not_waited_for(void **state) {
        struct loop *l = *state;
        _cleanup_(ended_done) struct ended e;
        int64_t start_ms = loop_now_ms(l);

        run_to_end(&e, l, SHELL("sleep 1000 & echo $!; exit 4"));
        assert_int_equal(e.code, ERR_OK);
        assert_int_equal(e.exit_code, 4);
        assert_true(loop_now_ms(l) - start_ms < PATIENCE);
        expect_gone(e.out);
}

static void a_grandchild_that_fled_its_group_is_not_waited_for_either(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL("setsid sleep 1000 & echo $!; exit 0"));
        assert_int_equal(e.code, ERR_OK);
        /* Ours alone: setsid keeps the number when it need not fork. */
        kill((pid_t)strtol(e.out, NULL, 10), SIGKILL);
}

static void output_at_the_cap_is_fine_and_one_byte_more_is_not(void **state) {
        _cleanup_(ended_done) struct ended at, above;

        run_to_end(&at, *state, SHELL("printf 12345678", .max_stdout_bytes = 8));
        assert_int_equal(at.code, ERR_OK);
        assert_string_equal(at.out, "12345678");

        run_to_end(&above, *state, SHELL("printf 123456789", .max_stdout_bytes = 8));
        assert_int_equal(above.code, ERR_LIMIT);
        assert_string_equal(above.out, "12345678");
}

static void endless_output_is_cut_off_and_killed(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL("yes", .max_stdout_bytes = 100000));
        assert_int_equal(e.code, ERR_LIMIT);
        assert_string_equal(e.msg, "sh was stopped: it wrote more than 100000 bytes");
        assert_int_equal(e.exit_code, 128 + SIGKILL);
        assert_int_equal(e.out_bytes, 100000);
}

static void too_much_on_standard_error_is_dropped_but_no_error(void **state) {
        _cleanup_(ended_done) struct ended e;

        run_to_end(&e, *state, SHELL("head -c 1000000 /dev/zero >&2; echo ok", .max_stderr_bytes = 10));
        assert_int_equal(e.code, ERR_OK);
        assert_int_equal(e.err_bytes, 10);
        assert_string_equal(e.out, "ok\n");
}

/* ---- cancelling ---- */

static void cancel_and_stop(void *ctx) {
        struct ended *e = ctx;

        loop_child_cancel(TAKE_PTR(e->child));
        loop_stop(e->l);
}

static void cancelling_kills_the_group_without_a_word(void **state) {
        struct loop *l = *state;
        struct ended e;
        char pid[16] = "";
        int fds[2];
        char script[64];
        _cleanup_(loop_timer_freep) struct loop_timer *t = loop_timer_new(l, cancel_and_stop, &e);

        /* The grandchild's number comes over a FIFO of ours, since done() will not be called. */
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        snprintf(script, sizeof script, "sleep 1000 & echo $! > /proc/%d/fd/%d; wait", (int)getpid(), fds[1]);
        assert_true(start(&e, l, SHELL(script), NULL));
        assert_true(read(fds[0], pid, sizeof pid - 1) > 0);
        loop_timer_start(t, 1);
        loop_run(l);
        loop_run_for(l, 10);

        assert_int_equal(e.calls, 0);
        expect_gone(pid);
        close(fds[0]);
        close(fds[1]);
        loop_child_cancel(NULL);
}

static void freeing_the_loop_kills_what_still_runs(void **state) {
        struct ended e;

        assert_true(start(&e, *state, SHELL("trap '' TERM; sleep 1000"), NULL));
        assert_true(start(&e, *state, SHELL("sleep 1000"), NULL));
        loop_free(*state);
        *state = NULL;
        assert_int_equal(e.calls, 0);
        /* Both were reaped: we have no child left. */
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- conversations ---- */

/* What was heard, and what the test does about it. */
struct talk {
        struct ended end; /* first: the context of both callbacks */
        struct buf heard;
        void (*on_word)(struct talk *t);
        unsigned words;
};

static void on_heard(void *ctx, struct str bytes) {
        struct talk *t = CONTAINER_OF((struct ended *)ctx, struct talk, end);

        assert_int_equal(t->end.calls, 0);
        assert_true(bytes.n > 0);
        buf_add(&t->heard, bytes);
        t->words++;
        if (t->on_word)
                t->on_word(t);
}

static void talk_start(struct talk *t, struct loop *l, const char *script, const struct loop_child_spec *more) {
        struct loop_child_spec spec = *more;

        *t = (struct talk){ .heard = buf_make(16 * 1024 * 1024) };
        spec.argv = (const char *const[]){ "sh", "-c", script, NULL };
        spec.env = plain_env;
        spec.heard = on_heard;
        assert_true(start(&t->end, l, &spec, NULL));
}

static void talk_done(struct talk *t) {
        buf_done(&t->heard);
        ended_done(&t->end);
}

#define TALK(t, l, script, ...) talk_start(t, l, script, &(struct loop_child_spec){ __VA_ARGS__ })

/* Says the next number for each that comes back, up to 100. */
static void count_on(struct talk *t) {
        char number[16];

        if (t->heard.p[t->heard.n - 1] != '\n')
                return;
        if (t->words == 100) {
                loop_child_close_input(t->end.child);
                return;
        }
        snprintf(number, sizeof number, "%u\n", t->words);
        assert_int_equal(loop_child_write(t->end.child, str_from(number), NULL), 0);
}

static void each_word_is_answered_while_the_child_lives(void **state) {
        _cleanup_(talk_done) struct talk t;

        TALK(&t, *state, "while read -r n; do echo \"<$n>\"; done; echo bye; exit 3");
        t.on_word = count_on;
        assert_int_equal(loop_child_write(t.end.child, STR("0\n"), NULL), 0);
        loop_run(*state);

        assert_int_equal(t.end.calls, 1);
        assert_int_equal(t.end.code, ERR_OK);
        assert_int_equal(t.end.exit_code, 3);
        assert_int_equal(t.end.out_bytes, 0);
        assert_true(str_starts(buf_str(&t.heard), STR("<0>\n<1>\n<2>\n")));
        assert_true(str_ends(buf_str(&t.heard), STR("<99>\nbye\n")));
}

static void words_wait_until_they_are_read_and_come_in_their_order(void **state) {
        _cleanup_(talk_done) struct talk t;
        size_t n = 5 * 1024 * 1024, step = 77777;
        _cleanup_(mem_freep) char *bytes = mem_alloc(n);

        for (size_t i = 0; i < n; i++)
                bytes[i] = (char)(i * 31 % 251);
        TALK(&t, *state, "exec cat");
        for (size_t i = 0; i < n; i += step)
                assert_int_equal(loop_child_write(t.end.child, str_sub((struct str){ bytes, n }, i, i + step), NULL), 0);
        loop_child_close_input(t.end.child);
        loop_run(*state);

        assert_int_equal(t.end.exit_code, 0);
        assert_int_equal(t.heard.n, n);
        assert_memory_equal(t.heard.p, bytes, n);
}

static void what_a_child_is_told_at_its_start_comes_first(void **state) {
        _cleanup_(talk_done) struct talk t;

        TALK(&t, *state, "exec cat", .input = STR("first "));
        assert_int_equal(loop_child_write(t.end.child, STR("second"), NULL), 0);
        loop_child_close_input(t.end.child);
        loop_run(*state);
        assert_string_equal(t.heard.p, "first second");
}

static void a_child_that_dies_takes_nothing_more(void **state) {
        _cleanup_(talk_done) struct talk t;
        _cleanup_(mem_freep) char *bytes = mem_zalloc(1024 * 1024);

        TALK(&t, *state, "echo dying; echo why >&2; kill -SEGV $$");
        assert_int_equal(loop_child_write(t.end.child, (struct str){ bytes, 1024 * 1024 }, NULL), 0);
        loop_run(*state);
        assert_int_equal(t.end.calls, 1);
        assert_int_equal(t.end.code, ERR_OK);
        assert_int_equal(t.end.exit_code, 128 + SIGSEGV);
        assert_string_equal(t.heard.p, "dying\n");
        assert_string_equal(t.end.err, "why\n");
}

static void say_more(struct talk *t) {
        /* It has closed its input: the first write finds out, the rest goes nowhere; neither is an error. */
        for (int i = 0; i < 3; i++)
                assert_int_equal(loop_child_write(t->end.child, STR("more"), NULL), 0);
}

static void a_closed_input_is_no_error(void **state) {
        _cleanup_(talk_done) struct talk t;

        TALK(&t, *state, "exec <&-; echo closed; sleep 0.1; echo again");
        t.on_word = say_more;
        loop_run(*state);
        assert_int_equal(t.end.exit_code, 0);
        assert_string_equal(t.heard.p, "closed\nagain\n");
}

static void what_waits_for_a_child_that_never_reads_is_capped(void **state) {
        struct loop *l = *state;
        _cleanup_(talk_done) struct talk t;
        struct err err = { 0 };
        size_t n = CHILD_MAX_UNSENT_BYTES;
        _cleanup_(mem_freep) char *bytes = mem_zalloc(n);

        TALK(&t, l, "sleep 1000");
        assert_int_equal(loop_child_write(t.end.child, (struct str){ bytes, n }, &err), 0);
        assert_int_equal(loop_child_write(t.end.child, STR("x"), &err), ERR_LIMIT);
        assert_string_equal(err.msg, "sh does not read: more than 67108864 bytes wait for it");
        /* What the pipe holds was sent; the rest waits. */
        assert_false(loop_run_for(l, 1));
        loop_child_cancel(t.end.child);
        loop_run(l);
        assert_int_equal(t.end.calls, 0);
}

static void a_flood_beyond_the_cap_ends_a_conversation(void **state) {
        _cleanup_(talk_done) struct talk t, at;

        TALK(&t, *state, "yes", .max_stdout_bytes = 100000);
        loop_run(*state);
        assert_int_equal(t.end.calls, 1);
        assert_int_equal(t.end.code, ERR_LIMIT);
        assert_string_equal(t.end.msg, "sh was stopped: it wrote more than 100000 bytes");
        assert_int_equal(t.heard.n, 100000);

        TALK(&at, *state, "printf 12345678", .max_stdout_bytes = 8);
        loop_run(*state);
        assert_int_equal(at.end.code, ERR_OK);
        assert_string_equal(at.heard.p, "12345678");
}

static void a_conversation_may_have_a_deadline(void **state) {
        _cleanup_(talk_done) struct talk t;

        TALK(&t, *state, "echo hi; exec sleep 1000", .deadline_ms = DEADLINE);
        loop_run(*state);
        assert_int_equal(t.end.code, ERR_TIMEOUT);
        assert_string_equal(t.heard.p, "hi\n");
}

static void cancel_it(struct talk *t) {
        loop_child_cancel(TAKE_PTR(t->end.child));
}

static void it_may_be_cancelled_by_what_it_says(void **state) {
        _cleanup_(talk_done) struct talk t;
        _cleanup_(mem_freep) char *bytes = mem_zalloc(1024 * 1024);

        TALK(&t, *state, "sleep 1000 & echo $!; wait");
        t.on_word = cancel_it;
        /* Much is still to be written. */
        assert_int_equal(loop_child_write(t.end.child, (struct str){ bytes, 1024 * 1024 }, NULL), 0);
        loop_run(*state);
        assert_int_equal(t.end.calls, 0);
        assert_int_equal(t.words, 1);
        expect_gone(t.heard.p);
}

/* It is gone before the loop looks: what it wrote is read then. */
static void its_last_words_may_cancel_it_too(void **state) {
        struct loop *l = *state;
        _cleanup_(talk_done) struct talk t;
        siginfo_t info;

        TALK(&t, l, "head -c 1000 /dev/zero");
        t.on_word = cancel_it;
        assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
        loop_run(l);
        assert_int_equal(t.end.calls, 0);
        assert_int_equal(t.words, 1);
        loop_free(l);
        *state = NULL;
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_silent_conversation_keeps_the_loop_going(void **state) {
        struct loop *l = *state;
        _cleanup_(talk_done) struct talk t;

        TALK(&t, l, "exec >&- 2>&-; read -r x; exit 5");
        loop_run_for(l, 50);
        assert_int_equal(t.end.calls, 0);
        assert_int_equal(loop_child_write(t.end.child, STR("x\n"), NULL), 0);
        loop_run(l);
        assert_int_equal(t.end.calls, 1);
        assert_int_equal(t.end.exit_code, 5);
}

static void freeing_the_loop_ends_conversations(void **state) {
        struct talk t;

        TALK(&t, *state, "trap '' TERM; sleep 1000");
        assert_int_equal(loop_child_write(t.end.child, STR("hello"), NULL), 0);
        loop_free(*state);
        *state = NULL;
        assert_int_equal(t.end.calls, 0);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        buf_done(&t.heard);
}

/* ---- what cannot start ---- */

static void expect_refusal(void **state, const struct loop_child_spec *spec, enum err_code code, const char *msg) {
        struct ended e;
        struct err err = { 0 };

        assert_false(start(&e, *state, spec, &err));
        assert_int_equal(err.code, code);
        assert_string_equal(err.msg, msg);
        loop_run(*state);
        assert_int_equal(e.calls, 0);
}

#define PROGRAM(name, ...)                                                                                             \
        (&(struct loop_child_spec){ .argv = (const char *const[]){ name, NULL }, .deadline_ms = PATIENCE, __VA_ARGS__ })

static void a_missing_program_is_not_found(void **state) {
        expect_refusal(state, PROGRAM("no-such-program", .env = plain_env), ERR_NOTFOUND,
                       "cannot run no-such-program: No such file or directory");
        expect_refusal(state, PROGRAM("/no/such/program"), ERR_NOTFOUND,
                       "cannot run /no/such/program: No such file or directory");
}

static void without_a_path_only_a_name_with_a_slash_is_found(void **state) {
        _cleanup_(ended_done) struct ended e;

        expect_refusal(state, PROGRAM("true"), ERR_NOTFOUND, "cannot run true: No such file or directory");
        run_to_end(&e, *state, PROGRAM("bin/true"));
        assert_int_equal(e.exit_code, 0);
}

static void what_may_not_be_executed_is_forbidden(void **state) {
        expect_refusal(state, PROGRAM("/etc/passwd"), ERR_FORBIDDEN, "cannot run /etc/passwd: Permission denied");
        expect_refusal(state, PROGRAM("passwd", .env = (const char *const[]){ "PATH=/etc", NULL }), ERR_FORBIDDEN,
                       "cannot run passwd: Permission denied");
}

static void a_missing_folder_is_named(void **state) {
        expect_refusal(state, SHELL("true", .dir = "/no/such/dir"), ERR_NOTFOUND,
                       "cannot enter /no/such/dir: No such file or directory");
}

/* Otherwise whoever may write a file into a working directory could choose what runs. */
static void relative_folders_of_path_are_not_searched(void **state) {
        expect_refusal(state, PROGRAM("true", .env = (const char *const[]){ "PATH=bin::.:/nowhere", NULL }),
                       ERR_NOTFOUND, "cannot run true: No such file or directory");
}

static void a_program_name_beyond_the_systems_limit_is_refused(void **state) {
        char name[5000];
        struct ended e;
        struct err err = { 0 };

        memset(name, 'x', sizeof name - 1);
        name[0] = '/';
        name[sizeof name - 1] = '\0';
        assert_false(start(&e, *state, PROGRAM(name), &err));
        assert_true(err.code < 0);
}

#define REAL(claim) cmocka_unit_test_setup_teardown(claim, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                REAL(output_error_and_exit_code_come_back),
                REAL(a_signal_is_128_and_its_number),
                REAL(input_larger_than_any_pipe_comes_back_unchanged),
                REAL(input_that_nobody_reads_is_no_error),
                REAL(no_input_is_an_empty_one),
                REAL(many_children_at_once_keep_apart),
                REAL(the_environment_is_only_what_was_given),
                REAL(no_environment_is_an_empty_one),
                REAL(it_runs_in_the_folder_given_or_else_in_the_root),
                REAL(it_leads_a_session_and_group_of_its_own),
                REAL(no_descriptor_is_inherited),
                REAL(signals_are_as_a_program_expects_them),
                REAL(limits_hold_from_the_first_instruction),
                REAL(without_limits_only_core_dumps_are_off),
                REAL(a_child_that_burns_its_cpu_time_is_killed),
                REAL(the_deadline_sends_sigterm_first),
                REAL(who_ignores_sigterm_is_killed_with_its_group),
                REAL(grandchildren_that_hold_the_pipes_are_killed_and_not_waited_for),
                REAL(a_grandchild_that_fled_its_group_is_not_waited_for_either),
                REAL(output_at_the_cap_is_fine_and_one_byte_more_is_not),
                REAL(endless_output_is_cut_off_and_killed),
                REAL(too_much_on_standard_error_is_dropped_but_no_error),
                REAL(cancelling_kills_the_group_without_a_word),
                REAL(freeing_the_loop_kills_what_still_runs),
                REAL(each_word_is_answered_while_the_child_lives),
                REAL(words_wait_until_they_are_read_and_come_in_their_order),
                REAL(what_a_child_is_told_at_its_start_comes_first),
                REAL(a_child_that_dies_takes_nothing_more),
                REAL(a_closed_input_is_no_error),
                REAL(what_waits_for_a_child_that_never_reads_is_capped),
                REAL(a_flood_beyond_the_cap_ends_a_conversation),
                REAL(a_conversation_may_have_a_deadline),
                REAL(it_may_be_cancelled_by_what_it_says),
                REAL(its_last_words_may_cancel_it_too),
                REAL(a_silent_conversation_keeps_the_loop_going),
                REAL(freeing_the_loop_ends_conversations),
                REAL(a_missing_program_is_not_found),
                REAL(without_a_path_only_a_name_with_a_slash_is_found),
                REAL(what_may_not_be_executed_is_forbidden),
                REAL(a_missing_folder_is_named),
                REAL(relative_folders_of_path_are_not_searched),
                REAL(a_program_name_beyond_the_systems_limit_is_refused),
        };

        return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/log_impl.h"

/* What was written since the last call, borrowed until the next. The pipe holds any line of these tests. */
static const char *written(int fd) {
        static char bytes[128 * 1024];
        ssize_t n = read(fd, bytes, sizeof bytes - 1);

        bytes[n > 0 ? n : 0] = '\0';
        return bytes;
}

/* The line behind its time stamp, which must have the documented form. */
static const char *written_text(int fd) {
        const char *line = written(fd);
        regex_t form;

        assert_int_equal(regcomp(&form, "^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z ",
                                 REG_EXTENDED | REG_NOSUB), 0);
        assert_int_equal(regexec(&form, line, 0, NULL, 0), 0);
        regfree(&form);
        return line + strlen("2026-11-29T19:40:00.123Z ");
}

static const char *written_json(int fd) {
        static const char head[] = "{\"time\":\"2026-11-29T19:40:00.123Z\"";
        const char *line = written(fd);

        assert_memory_equal(line, head, strlen("{\"time\":\"20"));
        return line + sizeof head - 1;
}

static int setup(void **state) {
        static int fds[2];

        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0 || fcntl(fds[1], F_SETPIPE_SZ, 128 * 1024) < 0)
                return -1;
        *state = fds;
        return 0;
}

static int teardown(void **state) {
        int *fds = *state;

        close(fds[0]);
        close(fds[1]);
        return 0;
}

static int text(void **state) {
        log_init(LOG_DEBUG, LOG_TEXT, ((int *)*state)[1]);
        return 0;
}

static int json(void **state) {
        log_init(LOG_DEBUG, LOG_JSON, ((int *)*state)[1]);
        return 0;
}

static int in(void **state) {
        return ((int *)*state)[0];
}

static void a_text_line_is_keys_and_values(void **state) {
        log_event(LOG_INFO, "agent", "applied", "app", "shop", "obj", "deploy/web", NULL);
        assert_string_equal(written_text(in(state)), "info agent msg=\"applied\" app=shop obj=deploy/web\n");
}

static void a_json_line_is_one_object_of_strings(void **state) {
        log_event(LOG_WARN, "http", "slow", "ms", "12", NULL);
        assert_string_equal(written_json(in(state)),
                            ",\"level\":\"warn\",\"module\":\"http\",\"msg\":\"slow\",\"ms\":\"12\"}\n");
}

static void a_line_without_pairs_is_complete(void **state) {
        log_event(LOG_ERROR, "cli", "no", NULL);
        assert_string_equal(written_text(in(state)), "error cli msg=\"no\"\n");
}

static void values_are_quoted_in_text_when_they_need_it(void **state) {
        static const struct {
                const char *value, *expected;
        } cases[] = {
                { "plain-1.2/x:y", "plain-1.2/x:y" },
                { "", "\"\"" },
                { NULL, "\"\"" },
                { "two words", "\"two words\"" },
                { "a=b", "\"a=b\"" },
                { "say \"hi\"", "\"say \\\"hi\\\"\"" },
                { "back\\slash", "\"back\\\\slash\"" },
                { "one\ntwo\r\n\tthree", "\"one\\ntwo\\r\\n\\tthree\"" },
                { "esc \x1b[31m", "\"esc \\u001b[31m\"" },
                { "\x7f", "\"\\u007f\"" },
                { "gr\xc3\xbc\xc3\x9f" "e", "gr\xc3\xbc\xc3\x9f" "e" },
                { "cut\xc3", "\"cut\xef\xbf\xbd\"" },
                { "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char expected[128];

                log_event(LOG_INFO, "m", "x", "k", cases[i].value, NULL);
                snprintf(expected, sizeof expected, "info m msg=\"x\" k=%s\n", cases[i].expected);
                assert_string_equal(written_text(in(state)), expected);
        }
}

static void json_escapes_keys_messages_and_values(void **state) {
        log_event(LOG_INFO, "m", "a \"b\"\n", "k\"", "v\\\x01\xff", NULL);
        assert_string_equal(written_json(in(state)), ",\"level\":\"info\",\"module\":\"m\",\"msg\":\"a \\\"b\\\"\\n\","
                                                     "\"k\\\"\":\"v\\\\\\u0001\xef\xbf\xbd\"}\n");
}

static void lines_below_the_level_are_not_written(void **state) {
        log_init(LOG_WARN, LOG_TEXT, ((int *)*state)[1]);
        log_event(LOG_DEBUG, "m", "no", NULL);
        log_event(LOG_INFO, "m", "no", NULL);
        log_event_limited(LOG_INFO, "m", "no", NULL);
        assert_string_equal(written(in(state)), "");
        assert_false(log_is_on(LOG_INFO));
        assert_true(log_is_on(LOG_WARN));

        log_event(LOG_WARN, "m", "yes", NULL);
        assert_string_equal(written_text(in(state)), "warn m msg=\"yes\"\n");
}

static void levels_have_names_and_nothing_else_is_one(void **state) {
        enum log_level level = LOG_DEBUG;

        (void)state;
        assert_true(log_level_from(STR("error"), &level));
        assert_int_equal(level, LOG_ERROR);
        assert_true(log_level_from(STR("debug"), &level));
        assert_int_equal(level, LOG_DEBUG);
        assert_false(log_level_from(STR("INFO"), &level));
        assert_false(log_level_from(STR(""), &level));
        assert_false(log_level_from(STR("warning"), &level));
        assert_int_equal(level, LOG_DEBUG);
}

#define VALUE_KEPT_BYTES (8 * 1024)

static char *run_of(char c, size_t n) {
        char *s = mem_alloc(n + 1);

        memset(s, c, n);
        s[n] = '\0';
        return s;
}

static void a_value_at_its_limit_is_whole_and_one_above_is_cut(void **state) {
        _cleanup_(mem_freep) char *at = run_of('x', VALUE_KEPT_BYTES), *above = run_of('y', VALUE_KEPT_BYTES + 1);

        log_event(LOG_INFO, "m", "x", "k", at, NULL);
        const char *line = written_text(in(state));
        assert_int_equal(strlen(line), strlen("info m msg=\"x\" k=\n") + VALUE_KEPT_BYTES);

        log_event(LOG_INFO, "m", "x", "k", above, NULL);
        line = written_text(in(state));
        assert_int_equal(strlen(line), strlen("info m msg=\"x\" k=\xe2\x80\xa6\n") + VALUE_KEPT_BYTES);
        assert_string_equal(line + strlen(line) - strlen("y\xe2\x80\xa6\n"), "y\xe2\x80\xa6\n");
}

/* 8 KiB of control characters are 48 KiB when written: the second does not fit into the line any more. */
static void pairs_beyond_the_lines_limit_are_left_out_and_the_line_still_ends(void **state) {
        _cleanup_(mem_freep) char *wide = run_of('\1', VALUE_KEPT_BYTES);

        log_event(LOG_INFO, "m", "x", "a", wide, "b", wide, "c", "small", NULL);
        const char *line = written_json(in(state));

        assert_null(strstr(line, "\"b\""));
        assert_null(strstr(line, "\"c\""));
        assert_string_equal(line + strlen(line) - strlen("\\u0001\"}\n"), "\\u0001\"}\n");
}

static void a_repeated_line_is_held_back_and_another_is_not(void **state) {
        for (int i = 0; i < 5; i++)
                log_event_limited(LOG_INFO, "m", "again", "obj", "a", "n", i ? "other" : "first", NULL);
        assert_string_equal(written_text(in(state)), "info m msg=\"again\" obj=a n=first\n");

        log_event_limited(LOG_INFO, "m", "again", "obj", "b", NULL);
        assert_string_equal(written_text(in(state)), "info m msg=\"again\" obj=b\n");
        log_event_limited(LOG_INFO, "m", "again", NULL);
        assert_string_equal(written_text(in(state)), "info m msg=\"again\"\n");
        log_event_limited(LOG_INFO, "other", "again", NULL);
        assert_string_equal(written_text(in(state)), "info other msg=\"again\"\n");
}

static void after_a_minute_the_line_comes_again_with_the_count(void **state) {
        unsigned repeated = 99;

        (void)state;
        assert_true(log_pass(77, 1000, &repeated));
        assert_int_equal(repeated, 0);
        assert_false(log_pass(77, 1000, &repeated));
        assert_false(log_pass(77, 1000 + LOG_LIMITED_EVERY_S - 1, &repeated));
        assert_true(log_pass(77, 1000 + LOG_LIMITED_EVERY_S, &repeated));
        assert_int_equal(repeated, 2);
        assert_false(log_pass(77, 1000 + LOG_LIMITED_EVERY_S, &repeated));
        assert_true(log_pass(79, 1000, &repeated));
        assert_int_equal(repeated, 0);
}

#define LINES 500

static void *write_lines(void *arg) {
        for (int i = 0; i < LINES; i++)
                log_event(LOG_INFO, "m", "line", "thread", arg, NULL);
        return NULL;
}

static void lines_of_threads_do_not_mix(void **state) {
        int fd = open("/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
        static char as[] = "aaaaaaaaaaaaaaaaaaaa", bs[] = "bbbbbbbbbbbbbbbbbbbb";
        pthread_t a, b;

        (void)state;
        assert_true(fd >= 0);
        log_init(LOG_INFO, LOG_TEXT, fd);
        assert_int_equal(pthread_create(&a, NULL, write_lines, as), 0);
        assert_int_equal(pthread_create(&b, NULL, write_lines, bs), 0);
        pthread_join(a, NULL);
        pthread_join(b, NULL);

        FILE *f = fdopen(fd, "r+");
        char line[256];
        int lines = 0, whole = 0;
        assert_non_null(f);
        rewind(f);
        while (fgets(line, sizeof line, f)) {
                const char *rest = line + strlen("2026-11-29T19:40:00.123Z ");

                lines++;
                whole += strcmp(rest, "info m msg=\"line\" thread=aaaaaaaaaaaaaaaaaaaa\n") == 0 ||
                         strcmp(rest, "info m msg=\"line\" thread=bbbbbbbbbbbbbbbbbbbb\n") == 0;
        }
        fclose(f);
        assert_int_equal(lines, 2 * LINES);
        assert_int_equal(whole, lines);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(a_text_line_is_keys_and_values, text),
                cmocka_unit_test_setup(a_json_line_is_one_object_of_strings, json),
                cmocka_unit_test_setup(a_line_without_pairs_is_complete, text),
                cmocka_unit_test_setup(values_are_quoted_in_text_when_they_need_it, text),
                cmocka_unit_test_setup(json_escapes_keys_messages_and_values, json),
                cmocka_unit_test_setup(lines_below_the_level_are_not_written, text),
                cmocka_unit_test(levels_have_names_and_nothing_else_is_one),
                cmocka_unit_test_setup(a_value_at_its_limit_is_whole_and_one_above_is_cut, text),
                cmocka_unit_test_setup(pairs_beyond_the_lines_limit_are_left_out_and_the_line_still_ends, json),
                cmocka_unit_test_setup(a_repeated_line_is_held_back_and_another_is_not, text),
                cmocka_unit_test_setup(after_a_minute_the_line_comes_again_with_the_count, text),
                cmocka_unit_test(lines_of_threads_do_not_mix),
        };

        return cmocka_run_group_tests_name("log", tests, setup, teardown);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static const struct report_case ok = { .suite = STR("a.io/Kind"), .name = STR("x.yaml"), .path = STR("d: x.yaml"),
                                       .file = STR("d/suite"), .line = 2, .is_health = true };
static const struct report_case odd = {
        .suite = STR("a.io/Kind"), .name = STR("<#&\">"), .path = STR("d: #1 \\ \x1b[31m"), .file = STR("d/suite"),
        .line = 3, .result = REPORT_FAILED, .is_health = true, .wanted = { STR("Healthy"), STR("\"a\"\n\xff") },
        .complaints = STR("one\ntwo"), .rule = STR("r"), .took_us = 1500000,
};
static const struct report_case none = { .suite = STR("b.io/Kind"), .name = STR("s"), .path = STR("e"),
                                         .result = REPORT_ERROR, .complaints = STR("no ]]> such file") };

static char *print(enum report_format format) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        char *text = NULL;
        size_t n;
        struct report r = { .arena = a, .sinks = { { format, open_memstream(&text, &n) } }, .sink_count = 1, .rules = 2,
                            .suites = 2, .action_suites = 1 };

        report_begin(&r);
        report_add(&r, &ok);
        report_add(&r, &odd);
        report_add(&r, &none);
        report_note(&r, STR("a note"));
        report_end(&r);
        fclose(r.sinks[0].out);
        report_done(&r);
        return text;
}

static void plain_lines_are_for_people(void **state) {
        char *text = print(REPORT_PLAIN);

        (void)state;
        assert_string_equal(text, "ok - d: x.yaml\n"
                                  "not ok - d: #1 \\ \\x1b[31m\n    one\n    two\n"
                                  "not ok - e\n    no ]]> such file\n"
                                  "note: a note\n"
                                  "1 suite of actions passed over: truce has none\n"
                                  "2 rules, 2 suites, 3 cases, 1 failed, 1 could not be run\n");
        free(text);
}

static void tap_has_a_plan_and_escapes(void **state) {
        char *text = print(REPORT_TAP);

        (void)state;
        assert_string_equal(text, "TAP version 14\n"
                                  "ok 1 - d: x.yaml\n"
                                  "not ok 2 - d: \\#1 \\\\ \\\\x1b[31m\n"
                                  "  ---\n  severity: fail\n  message: \"one\\ntwo\"\n"
                                  "  wanted: {status: \"Healthy\", message: \"\\\"a\\\"\\n\\ufffd\"}\n"
                                  "  got: {status: \"\", message: \"\"}\n"
                                  "  rule: \"r\"\n  file: \"d/suite\"\n  line: 3\n  ...\n"
                                  "not ok 3 - e\n"
                                  "  ---\n  severity: error\n  message: \"no ]]> such file\"\n  ...\n"
                                  "# a note\n# 1 suite of actions passed over: truce has none\n1..3\n");
        free(text);
}

static void junit_has_a_suite_for_each_rule(void **state) {
        char *text = print(REPORT_JUNIT);

        (void)state;
        assert_string_equal(
                text,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<testsuites name=\"truce test\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\" time=\"1.500000\">\n"
                "  <testsuite name=\"a.io/Kind\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"1.500000\">\n"
                "    <testcase classname=\"a.io/Kind\" name=\"x.yaml\" file=\"d/suite\" line=\"2\" time=\"0.000000\"/>\n"
                "    <testcase classname=\"a.io/Kind\" name=\"&#60;#&#38;&#34;&#62;\" file=\"d/suite\" line=\"3\" "
                "time=\"1.500000\">\n"
                "      <failure message=\"wanted Healthy: &#34;\\&#34;a\\&#34;\\n\\ufffd&#34;, got no health\">one\ntwo"
                "</failure>\n"
                "    </testcase>\n"
                "  </testsuite>\n"
                "  <testsuite name=\"b.io/Kind\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0.000000\">\n"
                "    <testcase classname=\"b.io/Kind\" name=\"s\" file=\"e\" time=\"0.000000\">\n"
                "      <error message=\"no ]]&#62; such file\">no ]]&#62; such file</error>\n"
                "    </testcase>\n"
                "  </testsuite>\n"
                "</testsuites>\n");
        free(text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(plain_lines_are_for_people),
                cmocka_unit_test(tap_has_a_plan_and_escapes),
                cmocka_unit_test(junit_has_a_suite_for_each_rule),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

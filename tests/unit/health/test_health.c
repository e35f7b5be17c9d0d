/* SPDX-License-Identifier: Apache-2.0 */
#include "health_test.h"

#include <string.h>

#include "health/message.h"

static void words_are_argo_cds(void **state) {
        enum health_code code = HEALTH_NONE;

        (void)state;
        for (int i = HEALTH_HEALTHY; i <= HEALTH_UNKNOWN; i++) {
                assert_true(health_from_name(str_from(health_name((enum health_code)i)), &code));
                assert_int_equal(code, i);
        }
        assert_string_equal(health_name(HEALTH_NONE), "");
        assert_false(health_from_name(STR("healthy"), &code));
        assert_false(health_from_name(STR(""), &code));
        assert_false(health_from_name(STR("Healthy "), &code));
}

static void marks_are_read(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct health_marks none = health_marks_of(object_of(a, "kind: Pod"));
        struct health_marks both =
                health_marks_of(object_of(a, "metadata: {annotations: {argocd.argoproj.io/ignore-healthcheck: 'true', "
                                             "truce.dev/suspended-is-healthy: 'true'}}"));
        struct health_marks no =
                health_marks_of(object_of(a, "metadata: {annotations: {argocd.argoproj.io/ignore-healthcheck: 'false', "
                                             "truce.dev/suspended-is-healthy: true}}"));

        (void)state;
        assert_false(none.ignored || none.suspended_is_healthy);
        assert_true(both.ignored && both.suspended_is_healthy);
        assert_false(no.ignored || no.suspended_is_healthy);
}

static void who_publishes_a_generation_is_known(void **state) {
        static const struct {
                const char *object;
                bool publishes;
        } cases[] = {
                { "{apiVersion: apps/v1, kind: Deployment}", true },
                { "{apiVersion: batch/v1, kind: Job, status: {active: 1}}", false },
                { "{apiVersion: example.com/v1, kind: W}", false },
                { "{apiVersion: example.com/v1, kind: W, status: {observedGeneration: 1}}", true },
                { "{apiVersion: example.com/v1, kind: W, status: {observedGeneration: 7d9f5c}}", false },
                { "{apiVersion: example.com/v1, kind: W, status: {conditions: [{type: Ready}]}}", false },
                { "{apiVersion: example.com/v1, kind: W, status: {conditions: [{type: Ready, observedGeneration: 1}]}}",
                  true },
                { "{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, status: {observedGeneration: 1}}",
                  false },
                { "{apiVersion: ray.io/v1, kind: RayCluster, status: {observedGeneration: 1}}", false },
                { "{apiVersion: serving.kserve.io/v1alpha2, kind: LLMInferenceService, status: {observedGeneration: "
                  "1}}",
                  false },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);

                if (health_publishes_generation(object_of(a, cases[i].object)) != cases[i].publishes)
                        fail_msg("%s", cases[i].object);
        }
}

static void messages_obey_no_terminal(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        (void)state;
        assert_str(message_bounded(a, STR("two\nlines\tand \x1b[31mred\x7f \xc2\x9b")), "two\nlines\tand  [31mred   ");
        assert_str(message_bounded(a, STR("broken \xff\xc3 text ä")), "broken \xef\xbf\xbd\xef\xbf\xbd text ä");
        assert_str(message_bounded(a, STR("")), "");
        assert_str(message_bounded(a, STR("a\0b")), "a b");
}

/* Cut where a character begins, with the ellipsis inside the limit. */
static void long_messages_are_cut(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        char *text = arena_alloc(a, 3 * HEALTH_MAX_MESSAGE_BYTES);

        (void)state;
        memset(text, 'x', 3 * HEALTH_MAX_MESSAGE_BYTES);
        assert_int_equal(message_bounded(a, (struct str){ text, HEALTH_MAX_MESSAGE_BYTES }).n,
                         HEALTH_MAX_MESSAGE_BYTES);
        assert_false(str_contains(message_bounded(a, (struct str){ text, HEALTH_MAX_MESSAGE_BYTES }), STR("…")));
        for (size_t shift = 0; shift < 4; shift++) {
                struct str cut;

                for (size_t i = shift; i + 3 <= (size_t)2 * HEALTH_MAX_MESSAGE_BYTES; i += 3)
                        memcpy(text + i, "€", 3);
                cut = message_bounded(a, (struct str){ text, 2 * HEALTH_MAX_MESSAGE_BYTES });
                assert_true(cut.n <= HEALTH_MAX_MESSAGE_BYTES && cut.n > HEALTH_MAX_MESSAGE_BYTES - 6);
                assert_true(str_is_utf8(cut) && str_ends(cut, STR("…")));
                memset(text, 'x', 4);
        }
}

static void a_line_is_one(void **state) {
        static const struct {
                const char *text, *line;
        } cases[] = {
                { "", "" },
                { " \n ", "" },
                { "one", "one" },
                { "  one\n\n b\t \x01"
                  "c \n",
                  "one b c" },
                { "0123456789", "0123456789" },
                { "0123456789a", "0123456…" },
                { "0123456 789a", "0123456…" },
                { "ääääääää", "äää…" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(buf_done) struct buf out = buf_make(100);

                buf_addc(&out, ">");
                message_add_line(&out, str_from(cases[i].text), 10);
                assert_str(str_sub(buf_str(&out), 1, out.n), cases[i].line);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_are_argo_cds),
                cmocka_unit_test(marks_are_read),
                cmocka_unit_test(who_publishes_a_generation_is_known),
                cmocka_unit_test(messages_obey_no_terminal),
                cmocka_unit_test(long_messages_are_cut),
                cmocka_unit_test(a_line_is_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

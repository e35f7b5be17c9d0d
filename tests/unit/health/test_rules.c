/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule judges, and what Lua's answers come to. */
#include "health_test.h"

#define WIDGET "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2}, status: {size: 3}}"

/* A rule that says which one it is. */
#define SAYS(word) "return {status = 'Healthy', message = '" word "'}"

static struct health_rules *rules_of(const char *lua) {
        struct health_rules *r = health_rules_new();

        add_rule(r, "example.com", "Widget", lua, "argocd-cm.yaml", 14);
        return r;
}

static void a_rule_gets_the_object_and_answers(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r =
                rules_of("hs = {}\nhs.status = 'Progressing'\nhs.message = 'size is ' .. obj.status.size\nreturn hs");
        struct health h = judged(r, object_of(a, WIDGET), a);

        (void)state;
        assert_int_equal(h.code, HEALTH_PROGRESSING);
        assert_str(h.message, "size is 3");
        assert_string_equal(h.rule, "argocd-cm.yaml:14");
        assert_int_equal(h.failure, ERR_OK);
        assert_false(h.terminal || h.guard || h.again_ms);
}

/* What Lua may return, and what it comes to; `failed` answers are of this object alone. */
static void answers_are_read_as_argo_cd_reads_them(void **state) {
        static const struct {
                const char *lua;
                enum health_code code;
                const char *message;
                bool failed;
        } cases[] = {
                { "local x = 1", HEALTH_NONE, "", false },
                { "return nil", HEALTH_NONE, "", false },
                { "return {}", HEALTH_NONE, "", false },
                { "return {status = 'Healthy'}", HEALTH_HEALTHY, "", false },
                { "return {status = 'Missing', message = 'gone'}", HEALTH_MISSING, "gone", false },
                { "return {status = 'Unknown'}", HEALTH_UNKNOWN, "", false },
                { "return {status = 'Healthy', message = 'two\\nlines'}", HEALTH_HEALTHY, "two\nlines", false },
                { "return {Status = 'Healthy', MESSAGE = 'any case'}", HEALTH_HEALTHY, "any case", false },
                { "return {status = 'Healthy', other = {1, 2}}", HEALTH_HEALTHY, "", false },
                { "return {status = 'healthy'}", HEALTH_UNKNOWN, "Lua returned an invalid health status: healthy",
                  true },
                { "return {status = 'Fine\\27[0m'}", HEALTH_UNKNOWN, "Lua returned an invalid health status: Fine [0m",
                  true },
                { "return {status = ''}", HEALTH_UNKNOWN, "Lua returned an invalid health status: none", true },
                { "return {message = 'x'}", HEALTH_UNKNOWN, "Lua returned an invalid health status: none", true },
                { "return {status = 1}", HEALTH_UNKNOWN, "Lua returned a number as its status, which must be text",
                  true },
                { "return {status = 'Healthy', message = 3}", HEALTH_UNKNOWN,
                  "Lua returned a number as its message, which must be text", true },
                { "return {status = 'Healthy', message = {}}", HEALTH_UNKNOWN,
                  "Lua returned a table as its message, which must be text", true },
                { "return 'Healthy'", HEALTH_UNKNOWN, "Lua returned a string, not a table", true },
                { "return 1", HEALTH_UNKNOWN, "Lua returned a number, not a table", true },
                { "return true", HEALTH_UNKNOWN, "Lua returned a bool, not a table", true },
                { "return {'Healthy'}", HEALTH_UNKNOWN, "Lua returned a list, not a table with a status", true },
                { "\nerror('no')", HEALTH_UNKNOWN, "argocd-cm.yaml:15: no", true },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                _cleanup_(health_rules_unrefp) struct health_rules *r = rules_of(cases[i].lua);
                struct health h = judged(r, object_of(a, WIDGET), a);

                if (h.code != cases[i].code || !str_eqc(h.message, cases[i].message) ||
                    (h.failure == ERR_INVAL) != cases[i].failed)
                        fail_msg("%s: %s \"%.*s\"", cases[i].lua, health_name(h.code), STR_FMT(h.message));
        }
}

static void a_rule_may_say_when_to_look_again_and_that_it_is_for_good(void **state) {
        static const struct {
                const char *lua;
                int64_t again_ms;
                bool terminal;
        } cases[] = {
                { "return {status = 'Progressing', again = 30}", NOON_MS + 30000, false },
                { "return {status = 'Progressing', again = 2.5}", NOON_MS + 2000, false },
                { "return {status = 'Progressing', again = 0}", 0, false },
                { "return {status = 'Progressing', again = -1}", 0, false },
                { "return {status = 'Progressing', again = 'soon'}", 0, false },
                { "return {status = 'Progressing', again = 1e15}", NOON_MS + 86400000, false },
                { "return {status = 'Degraded', terminal = true}", 0, true },
                { "return {status = 'Degraded', terminal = 'yes'}", 0, false },
                { "return {status = 'Healthy', terminal = true}", 0, false },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                _cleanup_(health_rules_unrefp) struct health_rules *r = rules_of(cases[i].lua);
                struct health h = judged(r, object_of(a, WIDGET), a);

                if (h.again_ms != cases[i].again_ms || h.terminal != cases[i].terminal)
                        fail_msg("%s: again %lld, terminal %d", cases[i].lua, (long long)h.again_ms, h.terminal);
        }
}

static void a_rule_sees_the_time_it_is_given(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r =
                rules_of("return {status = 'Healthy', message = tostring(require('os').time())}");

        (void)state;
        assert_str(judged(r, object_of(a, WIDGET), a).message, "1767268800");
}

static void a_rule_of_a_person_may_use_the_shared_helpers(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r =
                rules_of("local t = require('truce')\nreturn t.degraded_for_good('worn out')");
        struct health h = judged(r, object_of(a, WIDGET), a);

        (void)state;
        assert_int_equal(h.code, HEALTH_DEGRADED);
        assert_str(h.message, "worn out");
        assert_true(h.terminal);
}

/* The most fitting rule; patterns in the order in which they are added. */
static void the_most_exact_rule_judges(void **state) {
        static const struct {
                const char *group, *kind, *says;
        } rules[] = {
                { "*", "*", "anything" },
                { "*.com", "*", "any com" },
                { "example.com", "*", "any of example.com" },
                { "example.com", "Wid*", "wid" },
                { "example.com", "Wid?et", "later" },
                { "example.com", "Widget", "exact" },
                { "", "Pod", "pod" },
                { "", "*", "anything at all" },
                { "*", "Gadget", "gadget" },
                { "apps", "{Deployment,StatefulSet}", "two" },
        };
        static const struct {
                const char *object, *says;
        } cases[] = {
                { "{apiVersion: example.com/v1, kind: Widget}", "exact" },
                { "{apiVersion: example.com/v7, kind: Widgets}", "wid" },
                { "{apiVersion: example.com/v1, kind: Wonder}", "any of example.com" },
                { "{apiVersion: other.com/v1, kind: Wonder}", "anything" },
                { "{apiVersion: other.org/v1, kind: Gadget}", "anything" },
                { "{apiVersion: v1, kind: Pod}", "pod" },
                { "{apiVersion: v1, kind: Service}", "anything at all" },
                { "{apiVersion: apps/v1, kind: StatefulSet}", "two" },
                { "{apiVersion: apps/v1, kind: DaemonSet}", "anything" },
        };
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rules); i++)
                add_rule(r, rules[i].group, rules[i].kind,
                         arena_strf(a, "return {status = 'Healthy', message = '%s'}", rules[i].says).p, "cm", 0);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct health h = judged(r, object_of(a, cases[i].object), a);

                if (!str_eqc(h.message, cases[i].says))
                        fail_msg("%s: %.*s", cases[i].object, STR_FMT(h.message));
        }
}

static void of_equal_rules_the_first_judges(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();

        (void)state;
        add_rule(r, "example.com", "W*", SAYS("first"), "cm", 0);
        add_rule(r, "example.com", "W?dget", SAYS("second"), "cm", 0);
        assert_str(judged(r, object_of(a, WIDGET), a).message, "first");
}

static void a_persons_rule_goes_before_the_built_in_one(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
        const struct value *job = object_of(a, "{apiVersion: batch/v1, kind: Job}");
        struct health_rule_view view;

        (void)state;
        assert_string_equal(judged(r, job, a).rule, "batch/Job, built in");
        assert_true(health_rules_find(r, STR("batch"), STR("Job"), &view));
        assert_string_equal(view.name, "batch/Job, built in");
        assert_false(view.user || view.bundled || view.text.n);
        assert_false(health_rules_find(r, STR("example.com"), STR("Widget"), &view));

        add_rule(r, "batch", "*", SAYS("mine"), "health/batch/_/health.lua", 0);
        assert_string_equal(judged(r, job, a).rule, "health/batch/_/health.lua");
        assert_true(health_rules_find(r, STR("batch"), STR("Job"), &view));
        assert_true(view.user && !view.bundled);
        assert_str(view.text, SAYS("mine"));
}

static void names_that_are_no_names_have_no_rule(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
        char *text = arena_alloc(a, 4001);

        (void)state;
        add_rule(r, "*", "*", SAYS("mine"), "cm", 0);
        for (size_t i = 0; i < 4000; i++)
                text[i] = 'k';
        text[4000] = '\0';
        assert_int_equal(judged(r, object_of(a, arena_strf(a, "{apiVersion: a/v1, kind: %s}", text).p), a).code,
                         HEALTH_NONE);
        assert_int_equal(judged(r, NULL, a).code, HEALTH_NONE);
        assert_int_equal(judged(r, &value_null, a).code, HEALTH_NONE);
}

static void what_cannot_be_a_rule_is_refused_with_its_place(void **state) {
        static const struct {
                const char *group, *kind, *lua, *message;
        } cases[] = {
                { "a", "B", "return {", "cm.yaml:7: " },
                { "a", "B", "\n\nx x", "cm.yaml:9: " },
                { "a", "{B", "return nil", "cm.yaml:7: glob has a" },
                { "a", "", "return nil", "cm.yaml:7: health rule without a kind" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
                struct health_source source = {
                        .group = str_from(cases[i].group),
                        .kind = str_from(cases[i].kind),
                        .lua = { .text = str_from(cases[i].lua), .name = STR("cm.yaml"), .line = 7 },
                };
                struct err err = { 0 };

                assert_int_equal(health_rules_add(r, &source, &err), ERR_INVAL);
                if (!str_starts(str_from(err.msg), str_from(cases[i].message)))
                        fail_msg("%s", err.msg);
                assert_int_equal(health_rules_add(r, &source, NULL), ERR_INVAL);
        }
}

static void rules_have_an_end(void **state) {
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
        struct health_source source = { .group = STR("a"),
                                        .kind = STR("B"),
                                        .lua = { .text = STR(""), .name = STR("cm") } };
        struct err err = { 0 };

        (void)state;
        for (size_t i = 0; i < HEALTH_MAX_RULES; i++)
                assert_int_equal(health_rules_add(r, &source, &err), 0);
        assert_int_equal(health_rules_add(r, &source, &err), ERR_LIMIT);
        assert_string_equal(err.msg, "cm: more than 10000 health rules");
}

/* --- quarantine --------------------------------------------------------------------------------------------------- */

/* Runs for ever on a Widget, and fine on any other kind: what is in quarantine is not run on those either. */
#define ENDLESS  "while obj.kind == 'Widget' do end return {status = 'Healthy'}"
#define TOO_MUCH "local s = 'x' while obj.kind == 'Widget' do s = s .. s end return {status = 'Healthy'}"

static void assert_failed(struct health h, enum err_code failure, const char *message) {
        assert_int_equal(h.code, HEALTH_UNKNOWN);
        assert_int_equal(h.failure, failure);
        assert_str(h.message, message);
}

static void what_took_too_long_is_not_run_again(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
        const struct value *widget = object_of(a, WIDGET);
        const struct value *other = object_of(a, "{apiVersion: example.com/v1, kind: Gadget}");

        (void)state;
        add_rule(r, "example.com", "*", ENDLESS, "cm", 3);
        assert_int_equal(judged(r, other, a).code, HEALTH_HEALTHY);
        assert_failed(judged(r, widget, a), ERR_TIMEOUT, "cm:3: not done after 1000 ms; not run again until it changes");
        assert_failed(judged(r, other, a), ERR_TIMEOUT, "rule cm:3 timed out; not run again until it changes");
}

/* What an object is made of decides how much that is: the next one may do. */
static void what_took_too_much_is_of_one_object(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
        const struct value *widget = object_of(a, WIDGET);
        const struct value *other = object_of(a, "{apiVersion: example.com/v1, kind: Gadget}");

        (void)state;
        add_rule(r, "example.com", "*", TOO_MUCH, "cm", 3);
        assert_failed(judged(r, widget, a), ERR_LIMIT, "cm:3: needs more than 16384 KiB of memory");
        assert_int_equal(judged(r, other, a).code, HEALTH_HEALTHY);
}

static void quarantine_lasts_until_the_text_changes(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *old = rules_of(ENDLESS);
        _cleanup_(health_rules_unrefp) struct health_rules *same = health_rules_new();
        _cleanup_(health_rules_unrefp) struct health_rules *changed = rules_of(ENDLESS " -- better");
        const struct value *widget = object_of(a, WIDGET),
                           *other = object_of(a, "{apiVersion: example.com/v1, kind: Gadget}");

        (void)state;
        assert_int_equal(judged(old, widget, a).failure, ERR_TIMEOUT);
        /* The same text for more kinds, in another place. */
        add_rule(same, "example.com", "*", ENDLESS, "elsewhere", 1);
        health_rules_inherit(same, old);
        assert_failed(judged(same, other, a), ERR_TIMEOUT, "rule elsewhere:1 timed out; not run again until it changes");
        health_rules_inherit(changed, old);
        add_rule(changed, "example.com", "Gadget", ENDLESS " -- better", "cm", 1);
        assert_int_equal(judged(changed, other, a).code, HEALTH_HEALTHY);
}

static struct health_rules *rules_of_two(const char *first, const char *second) {
        struct health_rules *r = health_rules_new();

        add_rule(r, "example.com", first, ENDLESS, "cm", 1);
        add_rule(r, "example.com", second, ENDLESS, "cm", 9);
        return r;
}

static void quarantine_stays_with_the_kind_when_a_text_is_there_twice(void **state) {
        (void)state;
        for (int i = 0; i < 2; i++) {
                const char *first = i ? "Widget" : "Gadget", *second = i ? "Gadget" : "Widget";
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                _cleanup_(health_rules_unrefp) struct health_rules *old = rules_of_two(first, second);
                _cleanup_(health_rules_unrefp) struct health_rules *same = rules_of_two(first, second);

                assert_int_equal(judged(old, object_of(a, WIDGET), a).failure, ERR_TIMEOUT);
                health_rules_inherit(same, old);
                assert_failed(judged(same, object_of(a, WIDGET), a), ERR_TIMEOUT,
                              i ? "rule cm:1 timed out; not run again until it changes"
                                : "rule cm:9 timed out; not run again until it changes");
                assert_int_equal(judged(same, object_of(a, "{apiVersion: example.com/v1, kind: Gadget}"), a).code,
                                 HEALTH_HEALTHY);
        }
}

/* With other libraries it may end. */
static void quarantine_ends_when_the_libraries_change(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *old = health_rules_new(), *changed = health_rules_new();
        struct health_source source = { .group = STR("example.com"), .kind = STR("Widget"),
                                        .lua = { STR("while not os do end return {status = 'Healthy'}"), STR("cm"), 1 } };

        (void)state;
        assert_int_equal(health_rules_add(old, &source, NULL), 0);
        source.open_libs = true;
        assert_int_equal(health_rules_add(changed, &source, NULL), 0);
        assert_int_equal(judged(old, object_of(a, WIDGET), a).failure, ERR_TIMEOUT);
        health_rules_inherit(changed, old);
        assert_int_equal(judged(changed, object_of(a, WIDGET), a).code, HEALTH_HEALTHY);
}

static void an_error_is_of_one_object(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();

        (void)state;
        add_rule(r, "example.com", "*", "return {status = 'Healthy', message = obj.status.size + 1 .. ''}", "cm", 1);
        assert_int_equal(judged(r, object_of(a, "{apiVersion: example.com/v1, kind: A}"), a).failure, ERR_INVAL);
        assert_str(judged(r, object_of(a, WIDGET), a).message, "4");
}

static void the_guard_hands_a_script_what_is_fresh(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
        const struct value *object =
                object_of(a, "{apiVersion: g/v1, kind: Route, metadata: {generation: 2}, status: {"
                             "conditions: [{type: A, status: 'True', observedGeneration: 1}], "
                             "parents: [{conditions: [{type: B, status: 'True', observedGeneration: 1}]}], "
                             "listeners: [{conditions: [{type: C, status: 'True', observedGeneration: 2}]}], "
                             "ancestors: [{conditions: [{type: D, status: 'False', observedGeneration: 1}]}]}}");
        struct health_question q = { .object = object, .now_ms = NOON_MS, .guard = true };
        struct health h;

        (void)state;
        add_rule(r, "g", "Route",
                 "local s = obj.status\nreturn {status = 'Healthy', message = s.conditions[1].status .. ' ' .. "
                 "s.parents[1].conditions[1].status .. ' ' .. s.listeners[1].conditions[1].status .. ' ' .. "
                 "s.ancestors[1].conditions[1].status}",
                 "cm", 1);
        health_judge(r, &q, a, &h);
        assert_str(h.message, "Unknown Unknown True Unknown");
        assert_str(judged(r, object, a).message, "True True True False");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_rule_gets_the_object_and_answers),
                cmocka_unit_test(answers_are_read_as_argo_cd_reads_them),
                cmocka_unit_test(a_rule_may_say_when_to_look_again_and_that_it_is_for_good),
                cmocka_unit_test(a_rule_sees_the_time_it_is_given),
                cmocka_unit_test(a_rule_of_a_person_may_use_the_shared_helpers),
                cmocka_unit_test(the_most_exact_rule_judges),
                cmocka_unit_test(of_equal_rules_the_first_judges),
                cmocka_unit_test(a_persons_rule_goes_before_the_built_in_one),
                cmocka_unit_test(names_that_are_no_names_have_no_rule),
                cmocka_unit_test(what_cannot_be_a_rule_is_refused_with_its_place),
                cmocka_unit_test(rules_have_an_end),
                cmocka_unit_test(what_took_too_long_is_not_run_again),
                cmocka_unit_test(what_took_too_much_is_of_one_object),
                cmocka_unit_test(quarantine_lasts_until_the_text_changes),
                cmocka_unit_test(quarantine_stays_with_the_kind_when_a_text_is_there_twice),
                cmocka_unit_test(quarantine_ends_when_the_libraries_change),
                cmocka_unit_test(an_error_is_of_one_object),
                cmocka_unit_test(the_guard_hands_a_script_what_is_fresh),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

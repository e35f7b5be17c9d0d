/* SPDX-License-Identifier: Apache-2.0 */
/* The pack that the program carries: whole, and in order. */
#include "health_test.h"

#include <stdio.h>
#include <string.h>

#include "health/builtin.h"
#include "health/bundle.h"

#define FILE_MAX_BYTES (1024 * 1024)

static void assert_is_file(struct str text, const char *file) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        char *bytes = arena_alloc(a, FILE_MAX_BYTES);
        FILE *f = fopen(arena_strf(a, TRUCE_SOURCE_DIR "/%s", file).p, "r");
        size_t n;

        if (!f)
                fail_msg("%s is not there", file);
        n = fread(bytes, 1, FILE_MAX_BYTES, f);
        fclose(f);
        if (!str_eq(text, (struct str){ bytes, n }))
                fail_msg("%s is not what is carried", file);
}

static void files_are_carried_as_they_are(void **state) {
        const struct bundle_module *modules;
        const struct bundle_rule *rules;
        size_t rule_count = bundle_rules(&rules), module_count = bundle_modules(&modules);

        (void)state;
        print_message("%zu rules, %zu modules\n", rule_count, module_count);
        assert_true(module_count >= 1);
        for (size_t i = 0; i < rule_count; i++) {
                assert_is_file(rules[i].text, rules[i].file);
                assert_true(rules[i].kind.n > 0);
                assert_true(i == 0 || strcmp(rules[i - 1].file, rules[i].file) < 0);
        }
        for (size_t i = 0; i < module_count; i++)
                assert_is_file(modules[i].text, modules[i].file);
}

static void every_text_compiles(void **state) {
        const struct bundle_module *modules;
        const struct bundle_rule *rules;
        size_t rule_count = bundle_rules(&rules), module_count = bundle_modules(&modules);
        struct err err = { 0 };

        (void)state;
        for (size_t i = 0; i < rule_count + module_count; i++) {
                bool is_rule = i < rule_count;
                struct lua_source source = {
                        .text = is_rule ? rules[i].text : modules[i - rule_count].text,
                        .name = str_from(is_rule ? rules[i].file : modules[i - rule_count].file),
                };
                struct lua_script *script = lua_script_new(&source, &err);

                if (!script)
                        fail_msg("%s", err.msg);
                lua_script_unref(script);
        }
}

/* The next rule, from *i on, that is for one kind; NULL: there is none. */
static const struct value *next_object(size_t *i, struct arena *a) {
        struct str group, kind, text;

        while (health_bundled_at(*i, &group, &kind, &text)) {
                struct str object =
                        arena_strf(a, "{apiVersion: \"%.*s/v1\", kind: \"%.*s\"}", STR_FMT(group), STR_FMT(kind));

                ++*i;
                if (!str_contains(object, STR("*")))
                        return object_of(a, object.p);
        }
        return NULL;
}

/* On an object with nothing in it no rule may fail. */
static void every_rule_takes_an_empty_object(void **state) {
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;

        (void)state;
        for (size_t i = 0; (object = next_object(&i, a));) {
                struct health h = judged(r, object, a);

                if (h.failure != ERR_OK)
                        fail_msg("%s: %.*s", h.rule, STR_FMT(h.message));
                assert_true(str_starts(str_from(h.rule), STR("health/")));
        }
}

static void every_rule_is_found_by_its_kind(void **state) {
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
        struct str group, kind, text;

        (void)state;
        for (size_t i = 0; health_bundled_at(i, &group, &kind, &text); i++) {
                struct health_rule_view view;

                if (!health_rules_find(r, group, kind, &view) || !str_eq(view.text, text))
                        fail_msg("%.*s/%.*s is not found", STR_FMT(group), STR_FMT(kind));
                assert_true(view.bundled && !view.user);
        }
}

/* A kind has one rule: what is in C has none in Lua. */
static void no_rule_is_there_twice(void **state) {
        struct str group, kind, text;

        (void)state;
        for (size_t i = 0; health_bundled_at(i, &group, &kind, &text); i++)
                if (builtin_find(group, kind))
                        fail_msg("%.*s/%.*s is built in", STR_FMT(group), STR_FMT(kind));
}

static void what_is_compiled_is_taken_over(void **state) {
        _cleanup_(health_rules_unrefp) struct health_rules *old = health_rules_new();
        _cleanup_(health_rules_unrefp) struct health_rules *next = health_rules_new();
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        size_t i = 0;
        const struct value *object = next_object(&i, a);

        (void)state;
        if (!object)
                skip();
        judged(old, object, a);
        health_rules_inherit(next, old);
        health_rules_inherit(next, old);
        assert_int_equal(judged(next, object, a).failure, ERR_OK);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(files_are_carried_as_they_are),    cmocka_unit_test(every_text_compiles),
                cmocka_unit_test(every_rule_takes_an_empty_object), cmocka_unit_test(every_rule_is_found_by_its_kind),
                cmocka_unit_test(no_rule_is_there_twice),           cmocka_unit_test(what_is_compiled_is_taken_over),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

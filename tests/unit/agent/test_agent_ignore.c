/* SPDX-License-Identifier: Apache-2.0 */
/* What may differ: what the agent does about it, and what it tells of rules that do nothing or too much. */
#include "agent/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "agent/ignore.h"
#include "base/limits.h"
#include "world.h"

#define RULES "apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec:\n  ignore:\n    rules:\n"
#define NOTED(name, annotation, value)                                                                                 \
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " name "\n  annotations:\n    " annotation                 \
        "\ndata: {key: \"" value "\"}\n"

/* As begin(), with a document. */
static void begin_with(struct world *w, const char *document, const char *yaml) {
        struct config_app_flags flags = { .repo = STR("https://git.example/shop.git"), .path = STR("app"),
                                          .revision = STR("main"), .ns = STR("shop"), .prune = true, .self_heal = true };
        struct err err;

        prepare(w, yaml);
        config_free(w->config);
        if (config_load_text(str_from(document), STR("agent.yaml"), &w->config, &err) < 0 ||
            config_add_flags(w->config, &flags, &err) < 0)
                fail_msg("%s", err.msg);
        w->config->agent.installation_id = STR("test");
        w->config->agent.poll_ms = POLL_MS;
        config_settle(w->config);
        start_agent(w);
        loop_run_for(w->loop, A_WHILE_MS);
}

static void an_edit_of_a_path_that_an_annotation_names_is_left_alone(void **state) {
        struct world w;

        (void)state;
        begin(&w, NOTED("a", "truce.dev/ignore: .data.key", "1") "---\n" CM("b", "1"));
        size_t before = script_count(w.twin.script, KUBE_PATCH, IN_SHOP);
        edit(&w, STR(PATH_A), "theirs");
        loop_run_for(w.loop, 1000);
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, IN_SHOP), before);
        assert_int_equal(app_sync_status(agent_app(w.agent, 0)), APP_SYNCED);
        edit(&w, STR(PATH_B), "theirs");
        loop_run_for(w.loop, 1000);
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, IN_SHOP), before + 1);
        end(&w);
}

static void an_object_whose_annotation_cannot_be_read_is_refused_and_the_rest_goes_on(void **state) {
        struct world w;
        struct app_counts counts;

        (void)state;
        begin(&w, NOTED("a", "truce.dev/ignore: '.data[0]'", "1") "---\n" CM("b", "1"));
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, PATH_A), 0);
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, PATH_B), 1);
        app_counts(agent_app(w.agent, 0), &counts);
        assert_int_equal(counts.refused, 1);
        end(&w);
}

static void annotations_are_read_or_refused_whole(void **state) {
        static const struct {
                const char *annotation, *value, *says; /* NULL: it can be read */
        } cases[] = {
                { IGNORE_ANNOTATION, ".data.a\r\n.data.b\r\n", NULL },
                { IGNORE_ANNOTATION, ".metadata.annotations", NULL },
                { IGNORE_ANNOTATION, ".data.a,.metadata.name", "cannot be ignored" },
                { IGNORE_ANNOTATION, "metadata", "cannot be ignored" },
                { IGNORE_ANNOTATION, "[\"metadata\"][\"namespace\"]", "cannot be ignored" },
                { IGNORE_ANNOTATION, "/kind", "cannot be ignored" },
                { IGNORE_MANAGERS_ANNOTATION, "istiod\r\nregion-*\r\n", NULL },
                { IGNORE_MANAGERS_ANNOTATION, "istiod,*", "skip-reconcile does that" },
                { IGNORE_MANAGERS_ANNOTATION, "*-operator", "may only stand at the end" },
                { IGNORE_MANAGERS_ANNOTATION, "istiod\ntruce", "what it owns is Git's" },
                { IGNORE_MANAGERS_ANNOTATION, "truce-keeper", "what it owns is Git's" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                const struct str way[] = { STR("metadata"), STR("annotations"), str_from(cases[i].annotation) };
                const struct value *object = value_with_path(a, NULL, way, ARRAY_LEN(way), value_stringc(a, cases[i].value));
                struct err err = { 0 };
                const char *key;
                int r = ignore_check_annotations(object, &key, &err);

                assert_int_equal(r, cases[i].says ? ERR_INVAL : 0);
                if (cases[i].says && !strstr(err.msg, cases[i].says))
                        fail_msg("%s: %s", cases[i].value, err.msg);
        }
}

static void rules_that_do_nothing_are_told_once_where_they_speak_of_objects(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, RULES "    - {kind: ConfigMap, paths: [.data.key]}\n"
                             "    - {kind: ConfigMap, paths: [.data.nokey]}\n"
                             "    - {kind: ConfigMap, managers: [nobody-at-all]}\n"
                             "    - {kind: Secret, paths: [.data]}\n",
                   CM("a", "1"));
        assert_string_equal(w.remarks,
                            "agent.yaml:8: this ignore rule has no effect so far: no object that it speaks of has such a path, in "
                            "Git or live\n"
                            "agent.yaml:9: this ignore rule has no effect so far: its managers own nothing in any object that it "
                            "speaks of\n");
        push(&w, CM("a", "2") "---\n" CM("b", "1"));
        loop_run_for(w.loop, 2 * A_WHILE_MS);
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, PATH_A), 1); /* its key may differ */
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, PATH_B), 1);
        assert_null(strstr(strstr(w.remarks, "agent.yaml:9") + 1, "agent.yaml"));
        end(&w);
}

static void what_is_ignored_and_taken_is_told_once(void **state) {
        struct world w;

        (void)state;
        begin_with(&w, RULES "    - {paths: [.data.key]}\n  ownership:\n    rules:\n    - {name: keys, path: .data, action: take}\n",
                   CM("a", "1") "---\n" CM("b", "1"));
        assert_string_equal(w.remarks, "agent.yaml:7: this ignore rule names .data.key, which the ownership rule keys takes: as no "
                                       "difference is seen there, nothing is taken back; remove one of them\n");
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_edit_of_a_path_that_an_annotation_names_is_left_alone),
                cmocka_unit_test(an_object_whose_annotation_cannot_be_read_is_refused_and_the_rest_goes_on),
                cmocka_unit_test(annotations_are_read_or_refused_whole),
                cmocka_unit_test(rules_that_do_nothing_are_told_once_where_they_speak_of_objects),
                cmocka_unit_test(what_is_ignored_and_taken_is_told_once),
        };

        return cmocka_run_group_tests_name("agent_ignore", tests, NULL, NULL);
}

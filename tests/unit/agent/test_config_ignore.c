/* SPDX-License-Identifier: Apache-2.0 */
/* Ignore rules of Applications and of argocd-cm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "config_test.h"

#define CM "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n"
#define WITH_RULES(rules) APP "  ignoreDifferences:\n" rules

static void a_rule_arrives_whole(void **state) {
        struct fixture *f = *state;

        must_load(f, WITH_RULES("  - {group: apps, kind: Deployment, name: 'web-*', namespace: shop,\n"
                                "     jsonPointers: [/spec/replicas, /metadata/annotations/a~1b],\n"
                                "     managedFieldsManagers: [kube-controller-manager]}\n")
                        "  syncPolicy: {syncOptions: [RespectIgnoreDifferences=true]}\n");
        const struct config_app *app = &f->c->apps[0];
        const struct config_ignore *r = app->ignores.rules;

        assert_string_equal(problems(f), "");
        assert_int_equal(app->ignores.count, 1);
        assert_true(app->respect_ignores);
        assert_str(r->group, "apps");
        assert_str(r->kind, "Deployment");
        assert_str(r->object, "web-*");
        assert_str(r->ns, "shop");
        assert_int_equal(r->pointer_count, 2);
        assert_str(r->pointers[1].tokens[2], "a/b");
        assert_int_equal(r->manager_count, 1);
        assert_string_equal(r->managers[0], "kube-controller-manager");
        assert_string_equal(r->place, "apps.yaml:13");
        assert_string_equal(r->name, "ignoreDifferences");
}

static void rules_of_the_system_come_after_those_of_the_application(void **state) {
        struct fixture *f = *state;

        must_load(f, WITH_RULES("  - {kind: ConfigMap, jsonPointers: [/data/a]}\n")
                  CM "  resource.customizations.ignoreDifferences.apps_Deployment: |\n    jsonPointers:\n    - /spec/replicas\n"
                     "  resource.customizations.ignoreDifferences.all: 'managedFieldsManagers: [x]'\n"
                     "  resource.customizations.ignoreDifferences.Secret: |\n    jsonPointers: [/data]\n");
        const struct config_ignores *all = &f->c->apps[0].ignores;

        assert_string_equal(problems(f), "");
        assert_int_equal(all->count, 4);
        assert_str(all->rules[0].kind, "ConfigMap");
        assert_false(f->c->apps[0].respect_ignores);
        for (size_t i = 1; i < all->count; i++) {
                const struct config_ignore *r = &all->rules[i];

                if (str_eqc(r->kind, "Deployment")) {
                        assert_str(r->group, "apps");
                        assert_string_equal(r->place, "apps.yaml:20");
                } else if (str_eqc(r->kind, "Secret")) {
                        assert_int_equal(r->group.n, 0);
                } else {
                        assert_str(r->kind, "*");
                        assert_str(r->group, "*");
                        assert_string_equal(r->place, "apps.yaml:22");
                }
        }
}

static void the_older_nested_form_takes_globs_and_gives_way_to_the_newer_one(void **state) {
        struct fixture *f = *state;

        must_load(f, APP CM "  resource.customizations: |\n"
                            "    \"*.example.com/*\":\n"
                            "      actions: |\n        definitions: []\n"
                            "      ignoreDifferences: |\n"
                            "        jsonPointers: [/spec/x]\n"
                            "    apps/Deployment:\n"
                            "      ignoreDifferences: |\n        jsonPointers: [/spec/old]\n"
                            "    Secret:\n"
                            "      ignoreDifferences:\n        jsonPointers: [/data]\n"
                            "  resource.customizations.ignoreDifferences.apps_Deployment: |\n    jsonPointers: [/spec/new]\n");
        const struct config_ignores *all = &f->c->apps[0].ignores;

        assert_string_equal(problems(f),
                            "notice 1 settings have no meaning here and are left out (resource.customizations: "
                            "*.example.com/*: actions)\n");
        assert_int_equal(all->count, 3);
        assert_str(all->rules[0].group, "*.example.com");
        assert_str(all->rules[0].kind, "*");
        assert_string_equal(all->rules[0].place, "apps.yaml:22");
        assert_str(all->rules[1].kind, "Secret");
        assert_int_equal(all->rules[1].group.n, 0);
        assert_str(all->rules[2].kind, "Deployment");
        assert_str(all->rules[2].pointers[0].tokens[1], "new");
}

static void roles_that_gather_others_rules_are_ignored_when_asked(void **state) {
        struct fixture *f = *state;

        must_load(f, APP CM "  resource.compareoptions: |\n    ignoreAggregatedRoles: true\n    ignoreResourceStatusField: all\n"
                            "    ignoreDifferencesOnResourceUpdates: false\n");
        const struct config_ignore *r = f->c->apps[0].ignores.rules;

        assert_string_equal(problems(f), "");
        assert_int_equal(f->c->apps[0].ignores.count, 1);
        assert_true(r->aggregated);
        assert_str(r->kind, "*Role");
        assert_str(r->pointers[0].tokens[0], "rules");
        assert_string_equal(r->place, "apps.yaml:18");
        must_load(f, APP CM "  resource.compareoptions: 'ignoreAggregatedRoles: false'\n");
        assert_int_equal(f->c->apps[0].ignores.count, 0);
}

#define AGENT "---\napiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec:\n  ignore:\n    rules:\n"

static void rules_of_the_agent_go_by_paths_and_fit_what_they_leave_out(void **state) {
        struct fixture *f = *state;

        must_load(f, APP AGENT "    - {kind: Deployment, application: 'sh*', paths: [/spec/replicas, '.spec.template.spec.containers[name=\"p\"]'],\n"
                               "       managers: ['istio*']}\n    - {paths: [.data]}\n");
        const struct config_ignores *all = &f->c->apps[0].ignores;

        assert_string_equal(problems(f), "");
        assert_int_equal(all->count, 2);
        assert_str(all->rules[0].group, "*");
        assert_str(all->rules[0].kind, "Deployment");
        assert_str(all->rules[0].application, "sh*");
        assert_int_equal(all->rules[0].path_count, 2);
        assert_string_equal(all->rules[0].managers[0], "istio*");
        assert_string_equal(all->rules[0].place, "apps.yaml:19");
        assert_string_equal(all->rules[0].name, "ignore.rules");
        assert_str(all->rules[1].kind, "*");
}

static void what_is_wrong_with_a_rule_of_the_agent_is_told_with_its_line(void **state) {
        static const struct {
                const char *rules, *problems;
        } bad[] = {
                { "    - {kind: Deployment}\n", "warning apps.yaml:19: spec.ignore.rules: this rule never has an effect: it has no "
                                                "paths or managers\n" },
                { "    - {path: [.spec]}\n", "error apps.yaml:19: spec.ignore.rules: unknown key path, did you mean paths?\n" },
                { "    - {jsonPointers: [/spec]}\n", "error apps.yaml:19: spec.ignore.rules: unknown key jsonPointers\n" },
                { "    - paths:\n      - '.spec.containers[0]'\n      - /spec/containers/0\n      - .metadata.name\n",
                  "error apps.yaml:20: spec.ignore.rules: path \".spec.containers[0]\": list items go by their keys, not by their "
                  "places: [name=\"api\"]\n"
                  "error apps.yaml:21: spec.ignore.rules: path \"/spec/containers/0\": a pointer cannot name list items, whose places "
                  "change: write .spec.containers[name=\"api\"]; a key of a map that is a number, .data[\"0\"]\n"
                  "error apps.yaml:22: spec.ignore.rules: path \".metadata.name\" names what makes an object that object; it cannot be "
                  "ignored\n" },
                { "      x: 1\n", "error apps.yaml:18: spec.ignore.rules must be a list of at most 1000 rules\n" },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                _cleanup_(buf_done) struct buf b = buf_make(8192);

                buf_addf(&b, "%s%s", APP AGENT, bad[i].rules);
                load(f, b.p);
                assert_string_equal(problems(f), bad[i].problems);
        }
}

static void known_type_fields_are_read_in_both_forms(void **state) {
        struct fixture *f = *state;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        size_t count;

        must_load(f, APP CM "  resource.customizations.knownTypeFields.example.com_Widget: |\n"
                            "    - {field: spec.podSpec, type: core/v1/PodSpec}\n    - {field: .spec.size, type: core/Quantity}\n"
                            "  resource.customizations: |\n"
                            "    \"*.example.com/*\":\n      knownTypeFields: |\n        - {field: spec.x, type: meta/v1/Duration}\n"
                            "    example.com/Widget:\n      knownTypeFields:\n      - {field: spec.old, type: core/Quantity}\n");
        assert_string_equal(problems(f), "");
        const struct known_field *fields = config_known_fields_of(&f->c->apps[0], STR("example.com"), STR("Widget"), a, &count);
        assert_int_equal(count, 2);
        for (size_t i = 0; i < count; i++) /* keys of a map stand in their order */
                assert_true(str_eqc(fields[i].type, i ? "core/Quantity" : "core/v1/PodSpec"));
        assert_int_equal(fields[0].count, 2);
        assert_str(fields[0].names[1], "podSpec");
        assert_str(fields[1].names[0], "spec");
        fields = config_known_fields_of(&f->c->apps[0], STR("a.example.com"), STR("Any"), a, &count);
        assert_int_equal(count, 1);
        assert_str(fields[0].type, "meta/v1/Duration");
        config_known_fields_of(&f->c->apps[0], STR("argoproj.io"), STR("Rollout"), a, &count);
        assert_int_equal(count, 1);
        config_known_fields_of(&f->c->apps[0], STR(""), STR("Widget"), a, &count);
        assert_int_equal(count, 0);
}

static void annotations_to_be_masked_are_read(void **state) {
        struct fixture *f = *state;

        must_load(f, APP CM "  resource.sensitive.mask.annotations: 'a.com/token, ,b'\n");
        assert_string_equal(problems(f), "");
        assert_int_equal(f->c->mask.count, 2);
        assert_str(f->c->mask.keys[0], "a.com/token");
        assert_str(f->c->mask.keys[1], "b");
}

#define WITH_OPTIONS(options) "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: shop\n  namespace: argocd\n"   \
        "  annotations: {argocd.argoproj.io/compare-options: '" options "'}\nspec:\n" SOURCE DESTINATION

static void compare_options_of_an_application_are_classed(void **state) {
        struct fixture *f = *state;

        must_load(f, WITH_OPTIONS("ServerSideDiff=true, IncludeMutationWebhook=false"));
        assert_string_equal(problems(f), "");
        must_load(f, WITH_OPTIONS("ServerSideDiff=false,IncludeMutationWebhook=true"));
        assert_string_equal(problems(f), "notice apps.yaml:6: application argocd/shop: argocd.argoproj.io/compare-options: ServerSideDiff=false: truce always "
                                         "compares by server-side apply\n"
                                         "notice apps.yaml:6: application argocd/shop: argocd.argoproj.io/compare-options: IncludeMutationWebhook=true: what "
                                         "admission plug-ins add is named, and no difference\n");
        must_load(f, WITH_OPTIONS("ServerSideDif=true"));
        assert_string_equal(problems(f), "warning apps.yaml:6: application argocd/shop: argocd.argoproj.io/compare-options: unknown "
                                         "option \"ServerSideDif=true\", did you mean ServerSideDiff?\n");
}

/* What is told of rules in an Application, in place of `rules`. */
static const struct {
        const char *rules, *problems;
} told[] = {
        { "  - {kind: Deployment, jsonPointers: [/spec/replicas]}\n",
          "warning apps.yaml:13: application argocd/shop: spec.ignoreDifferences: this rule never has an effect: without a "
          "group it is about the core group, and Deployment is in apps; write group: apps\n" },
        { "  - {group: apps, kind: deployment, jsonPointers: [/spec/replicas]}\n",
          "warning apps.yaml:13: application argocd/shop: spec.ignoreDifferences: this rule never has an effect: no kind "
          "begins with a small letter (deployment)\n" },
        { "  - {group: apps, kind: Deployment}\n",
          "warning apps.yaml:13: application argocd/shop: spec.ignoreDifferences: this rule never has an effect: it has no "
          "jsonPointers, jqPathExpressions or managedFieldsManagers\n" },
        { "  - {group: apps, jsonPointers: [/spec/replicas]}\n",
          "error apps.yaml:13: application argocd/shop: spec.ignoreDifferences: kind is missing; \"*\" is any\n" },
        { "  - group: apps\n    kind: Deployment\n    jsonPointer: [/spec]\n",
          "error apps.yaml:15: application argocd/shop: spec.ignoreDifferences: unknown key jsonPointer, did you mean "
          "jsonPointers?\n" },
        { "  - kind: ConfigMap\n    jsonPointers:\n    - /data\n    - data/x\n    - /data/~x\n    - /metadata/name\n",
          "error apps.yaml:16: application argocd/shop: spec.ignoreDifferences: JSON pointer \"data/x\" does not begin with /\n"
          "error apps.yaml:17: application argocd/shop: spec.ignoreDifferences: JSON pointer \"/data/~x\" has a ~ that is "
          "neither ~0 nor ~1\n"
          "error apps.yaml:18: application argocd/shop: spec.ignoreDifferences: JSON pointer \"/metadata/name\" names what "
          "makes an object that object; it cannot be ignored\n" },
        { "  - {kind: ConfigMap, jsonPointers: /data}\n",
          "error apps.yaml:13: application argocd/shop: spec.ignoreDifferences: jsonPointers must be a list of strings, not a "
          "string\n" },
        { "  - {kind: ConfigMap, jsonPointers: [7]}\n",
          "error apps.yaml:13: application argocd/shop: spec.ignoreDifferences: jsonPointers must be a list of strings\n" },
        { "  - {kind: '[a', jsonPointers: [/data]}\n",
          "error apps.yaml:13: application argocd/shop: spec.ignoreDifferences: kind: glob has a \"[\" without \"]\"\n"
          "error apps.yaml:13: application argocd/shop: spec.ignoreDifferences: kind is missing; \"*\" is any\n" },
        { "  - [kind]\n",
          "error apps.yaml:13: application argocd/shop: spec.ignoreDifferences: a rule is a map, not a list\n" },
        { "    kind: ConfigMap\n",
          "error apps.yaml:12: application argocd/shop: spec.ignoreDifferences must be a list of at most 1000 rules\n" },
        { "  - kind: ConfigMap\n    managedFieldsManagers:\n    - truce\n    - '*-operator'\n    - truce-*\n    - truce-keeper\n",
          "warning apps.yaml:15: application argocd/shop: spec.ignoreDifferences: manager \"truce\" never has an effect: what it owns is "
          "Git's\n"
          "warning apps.yaml:16: application argocd/shop: spec.ignoreDifferences: manager \"*-operator\" never has an effect: a \"*\" may "
          "only stand at the end\n"
          "warning apps.yaml:18: application argocd/shop: spec.ignoreDifferences: manager \"truce-keeper\" never has an effect: what it "
          "owns is Git's\n" },
        { "  - {kind: ConfigMap, jqPathExpressions: [.data, '']}\n",
          "error apps.yaml:13: application argocd/shop: spec.ignoreDifferences: jqPathExpressions must be a list of strings\n" },
        /* All of a core kind, and globs, are none of these. */
        { "  - {kind: Secret, jsonPointers: [/data]}\n  - {group: '*', kind: '*', jsonPointers: [/status]}\n", "" },
};

static void what_is_wrong_with_a_rule_is_told_with_its_line(void **state) {
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(told); i++) {
                _cleanup_(buf_done) struct buf b = buf_make(8192);

                buf_addf(&b, "%s%s", WITH_RULES(""), told[i].rules);
                load(f, b.p);
                assert_string_equal(problems(f), told[i].problems);
        }
}

/* The same of argocd-cm. */
static const struct {
        const char *data, *problems;
} told_of_the_system[] = {
        { "  resource.customizations.ignoreDifferences.apps_Deployment_x: 'jsonPointers: [/spec]'\n",
          "error apps.yaml:17: resource.customizations.ignoreDifferences.apps_Deployment_x: must end in <group>_<Kind>, <Kind> "
          "or all\n" },
        { "  resource.customizations.ignoreDifferences.Secret: |\n    jsonPointers: [/data]\n    name: x\n",
          "error apps.yaml:19: resource.customizations.ignoreDifferences.Secret: unknown key name\n" },
        { "  resource.customizations.ignoreDifferences.Secret: |\n    - jsonPointers: [/data]\n",
          "error apps.yaml:18: resource.customizations.ignoreDifferences.Secret must be a map, not a list\n" },
        { "  resource.customizations.ignoreDifferences.Secret: |\n    jsonPointers: [/data\n",
          "error apps.yaml:19: resource.customizations.ignoreDifferences.Secret: while parsing a flow sequence, did not find expected ',' or ']'\n" },
        { "  resource.customizations.ignoreDifference.Secret: x\n",
          "error apps.yaml:17: unknown key data.resource.customizations.ignoreDifference.Secret: the types of "
          "resource.customizations.<type>.<group>_<Kind> are actions, health, ignoreDifferences, ignoreResourceUpdates, "
          "knownTypeFields and useOpenLibs\n" },
        { "  resource.customizations.ignoreDifferences.Deployment: 'jsonPointers: [/spec]'\n",
          "warning apps.yaml:17: resource.customizations.ignoreDifferences.Deployment: this rule never has an effect: without a "
          "group it is about the core group, and Deployment is in apps; write group: apps\n" },
        { "  resource.customizations: |\n    apps/:\n      ignoreDifferences: 'jsonPointers: [/spec]'\n",
          "error apps.yaml:18: resource.customizations: apps/ names no kind: <group>/<Kind>, or <Kind> of the core group\n" },
        { "  resource.customizations: |\n    apps/Deployment:\n      ignoreDifference: x\n",
          "error apps.yaml:19: unknown key resource.customizations: apps/Deployment: ignoreDifference, did you mean "
          "ignoreDifferences?\n" },
        { "  resource.customizations: |\n    apps/Deployment: x\n",
          "error apps.yaml:18: resource.customizations: apps/Deployment must be a map, not a string\n" },
        { "  resource.customizations: '[]'\n", "error apps.yaml:17: resource.customizations must be a map, not a list\n" },
        { "  resource.compareoptions: |\n    ignoreAggregatedRole: true\n",
          "error apps.yaml:18: unknown key resource.compareoptions: ignoreAggregatedRole, did you mean ignoreAggregatedRoles?\n" },
        { "  resource.compareoptions: |\n    ignoreAggregatedRoles: 'yes'\n    ignoreResourceStatusField: none\n",
          "error apps.yaml:18: resource.compareoptions: ignoreAggregatedRoles must be true or false, not a string\n"
          "notice apps.yaml:19: resource.compareoptions: ignoreResourceStatusField: status is never compared\n" },
        { "  resource.customizations.knownTypeFields.e.com_X: |\n    - {field: spec.a, type: core/v1/PodSpek}\n",
          "error apps.yaml:18: resource.customizations.knownTypeFields.e.com_X: unknown type \"core/v1/PodSpek\", did you mean "
          "core/v1/PodSpec?\n" },
        { "  resource.customizations.knownTypeFields.e.com_X: |\n    - {field: spec..a, type: core/Quantity}\n    - x\n    - {fiel: a}\n",
          "error apps.yaml:18: resource.customizations.knownTypeFields.e.com_X: field \"spec..a\" must be names with dots between, as "
          "spec.podSpec\n"
          "error apps.yaml:19: resource.customizations.knownTypeFields.e.com_X: an entry is a map of field and type, not a string\n"
          "error apps.yaml:20: resource.customizations.knownTypeFields.e.com_X: unknown key fiel, did you mean field?\n" },
        { "  resource.customizations.knownTypeFields.e.com_X: 'field: a'\n",
          "error apps.yaml:17: resource.customizations.knownTypeFields.e.com_X must be a list of at most 1000 fields\n" },
        { "  resource.sensitive.mask.annotations: [a]\n",
          "error apps.yaml:17: resource.sensitive.mask.annotations must be keys of annotations with commas between, not a list\n" },
        { "  resource.compareoptions: x\n", "error apps.yaml:17: resource.compareoptions must be a map, not a string\n" },
        { "  resource.customizations: ''\n  resource.compareoptions: ''\n", "" },
};

static void what_is_wrong_with_argocd_cm_is_told_with_its_line(void **state) {
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(told_of_the_system); i++) {
                _cleanup_(buf_done) struct buf b = buf_make(8192);

                buf_addf(&b, "%s%s", APP CM, told_of_the_system[i].data);
                load(f, b.p);
                assert_string_equal(problems(f), told_of_the_system[i].problems);
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_rule_arrives_whole),
                TEST(rules_of_the_system_come_after_those_of_the_application),
                TEST(the_older_nested_form_takes_globs_and_gives_way_to_the_newer_one),
                TEST(roles_that_gather_others_rules_are_ignored_when_asked),
                TEST(rules_of_the_agent_go_by_paths_and_fit_what_they_leave_out),
                TEST(what_is_wrong_with_a_rule_of_the_agent_is_told_with_its_line),
                TEST(known_type_fields_are_read_in_both_forms),
                TEST(annotations_to_be_masked_are_read),
                TEST(compare_options_of_an_application_are_classed),
                TEST(what_is_wrong_with_a_rule_is_told_with_its_line),
                TEST(what_is_wrong_with_argocd_cm_is_told_with_its_line),
        };

        return cmocka_run_group_tests_name("config_ignore", tests, NULL, NULL);
}

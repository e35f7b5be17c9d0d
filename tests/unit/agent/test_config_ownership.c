/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define AGENT "apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec:\n  ownership:\n    rules:\n"
#define APP(annotations)                                                                                               \
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: shop\n  annotations:\n" annotations       \
        "spec:\n  source: {repoURL: 'https://git.example.com/shop.git'}\n"                                               \
        "  destination: {name: in-cluster}\n"

struct fixture {
        struct config *c;
        struct err err;
        struct buf text;
};

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->text = buf_make(65536);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        config_free(f->c);
        buf_done(&f->text);
        free(f);
        return 0;
}

static int load(struct fixture *f, const char *text) {
        int r;

        config_free(f->c);
        f->c = NULL;
        r = config_load_text(str_from(text), STR("c.yaml"), &f->c, &f->err);
        buf_clear(&f->text);
        for (size_t i = 0; i < f->c->problem_count; i++) {
                config_problem_print(&f->c->problems[i], &f->text);
                buf_addch(&f->text, '\n');
        }
        config_settle(f->c);
        return r;
}

static const struct policy_rule *agent_rule(struct fixture *f, size_t i) {
        assert_true(i < f->c->agent.rules.count);
        return &f->c->agent.rules.rules[i];
}

static void assert_path(const struct policy_rule *r, const char *text) {
        _cleanup_(buf_done) struct buf b = buf_make(4096);

        assert_non_null(r->path);
        field_path_print(*r->path, &b);
        assert_string_equal(b.p, text);
}

static void rules_of_the_agent_are_read_with_their_places(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, AGENT
                              "    - {manager: region-operator, path: '.spec.containers[name=\"api\"].env', action: yield}\n"
                              "    - name: dashboards\n      class: person\n      subresource: ''\n      group: ''\n"
                              "      kind: ConfigMap\n      namespace: shop\n      objectName: board-*\n"
                              "      application: shop\n      path: /data/board.json\n      action: report\n"
                              "    - {manager: istio-*, action: take}\n"), 0);
        const struct policy_rule *r = agent_rule(f, 0);
        assert_string_equal(r->manager, "region-operator");
        assert_string_equal(r->name, "c.yaml:7");
        assert_string_equal(r->place, "c.yaml:7");
        assert_int_equal(r->action, POLICY_YIELD);
        assert_path(r, ".spec.containers[name=\"api\"].env");
        assert_null(r->kind);

        r = agent_rule(f, 1);
        assert_string_equal(r->name, "dashboards");
        assert_string_equal(r->place, "c.yaml:8");
        assert_int_equal(r->classes, 1u << POLICY_PERSON);
        assert_string_equal(r->subresource, "");
        assert_string_equal(r->group, "");
        assert_string_equal(r->ns, "shop");
        assert_string_equal(r->object, "board-*");
        assert_string_equal(r->application, "shop");
        assert_path(r, ".data.board.json");
        assert_int_equal(f->c->agent.rules.count, 3);
        assert_string_equal(f->text.p ? f->text.p : "", "");
}

static void an_applications_rules_come_before_the_agents(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, AGENT "    - {manager: b, action: take}\n---\n"
                              APP("    truce.dev/ownership: |\n      - {manager: a, action: yield}\n"
                                  "      - manager: c\n        action: report\n")), 0);
        const struct policy *p = &f->c->apps[0].policy;
        assert_int_equal(p->count, 3);
        assert_string_equal(p->rules[0].manager, "a");
        assert_string_equal(p->rules[0].place, "c.yaml:15");
        assert_string_equal(p->rules[1].place, "c.yaml:16");
        assert_string_equal(p->rules[2].manager, "b");

        assert_int_equal(load(f, APP("    truce.dev/ownership: '[{manager: a, action: yield}]'\n")), 0);
        assert_string_equal(f->c->apps[0].policy.rules[0].place, "c.yaml:6");
}

static void no_rules_are_no_rules(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, "apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec: {ownership: "
                                 "{rules: }}\n---\n" APP("    truce.dev/ownership: ''\n")), 0);
        assert_int_equal(f->c->apps[0].policy.count, 0);
}

static void flags_make_applications_that_follow_the_agents_rules(void **state) {
        struct fixture *f = *state;
        struct config_app_flags flags = { .repo = STR("https://git.example.com/a.git"), .path = STR(".") };

        assert_int_equal(load(f, AGENT "    - {manager: b, action: take}\n"), 0);
        assert_int_equal(config_add_flags(f->c, &flags, &f->err), 0);
        config_settle(f->c);
        assert_int_equal(f->c->apps[0].policy.count, 1);
}

static void taking_everything_is_told(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, AGENT "    - {kind: Deployment, action: take}\n"), 0);
        assert_non_null(strstr(f->text.p, "c.yaml:7: spec.ownership.rules: this rule takes every path, replicas under an"));
}

static void a_rule_about_truce_itself_is_told(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, AGENT "    - {manager: truce, action: yield}\n"), 0);
        assert_non_null(strstr(f->text.p, "c.yaml:7: spec.ownership.rules: this rule never has an effect: what truce owns is "
                                          "Git's"));
}

static void mistakes_are_errors_with_file_line_and_a_hint(void **state) {
        static const struct {
                const char *rule, *message;
        } rows[] = {
                { "    - {manger: x, action: take}\n", "c.yaml:7: spec.ownership.rules: unknown key manger, did you mean manager?" },
                { "    - manager: x\n      action: yeld\n", "c.yaml:8: spec.ownership.rules: unknown action \"yeld\", did you mean yield?" },
                { "    - {class: persons, action: take}\n", "unknown class \"persons\", did you mean person?" },
                { "    - {manager: x}\n", "c.yaml:7: spec.ownership.rules: action is missing: take, yield or report" },
                { "    - {manager: 5, action: take}\n", "manager must be a string, not a" },
                { "    - {manager: '', action: take}\n", "manager is empty" },
                { "    - {manager: 'a*b', action: take}\n", "a \"*\" may only stand at the end" },
                { "    - {path: /spec/containers/0/image, action: take}\n", "a pointer cannot name list items" },
                { "    - {path: '.list[0]', action: yield}\n", "list items go by their keys" },
                { "    - {path: '.metadata', action: yield}\n", "is what an object is known by" },
                { "    - {path: '.containers[web]', action: yield}\n", "in brackets stands" },
                { "    - {path: 7, action: yield}\n", "path must be a string" },
                { "    - take\n", "a rule is a map, not a string" },
                { "      manager: x\n", "spec.ownership.rules must be a list" },
        };
        struct fixture *f = *state;
        char text[1024];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                snprintf(text, sizeof text, "%s%s", AGENT, rows[i].rule);
                assert_int_equal(load(f, text), ERR_INVAL);
                if (!strstr(f->text.p, rows[i].message))
                        fail_msg("%s lacks \"%s\"", f->text.p, rows[i].message);
        }
}

static void a_mistyped_setting_of_ownership_is_named(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, "apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec:\n  ownership:\n"
                                 "    rule: []\n"), ERR_INVAL);
        assert_non_null(strstr(f->text.p, "c.yaml:6: unknown key ownership.rule, did you mean ownership.rules?"));
}

static void mistakes_in_an_annotation_have_the_lines_of_the_file(void **state) {
        static const struct {
                const char *annotation, *message;
        } rows[] = {
                { "    truce.dev/ownership: |\n      - manager: a\n        action: yield\n      - manager: b\n        acton: take\n",
                  "c.yaml:10: application shop: truce.dev/ownership: unknown key acton, did you mean action?" },
                { "    truce.dev/ownership: '[{action: tak}]'\n", "c.yaml:6: application shop: truce.dev/ownership: unknown action" },
                { "    truce.dev/ownership: '[{action: '\n", "c.yaml:7: application shop: truce.dev/ownership: while parsing " },
                { "    truce.dev/ownership: 'take'\n", "truce.dev/ownership must be a list" },
                { "    truce.dev/ownership: |\n      - manager: b\n        action: take\n        action: yield\n",
                  "c.yaml:9: application shop: truce.dev/ownership: the key \"action\" is given twice" },
                { "    truce.dev/ownership: |\n      --- []\n      --- []\n", "more than one document" },
                { "    truce.dev/onwership: ''\n", "c.yaml:6: application shop: unknown annotation truce.dev/onwership, did you mean "
                  "truce.dev/ownership?" },
        };
        struct fixture *f = *state;
        char text[1024];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                snprintf(text, sizeof text, APP("%s"), rows[i].annotation);
                assert_int_equal(load(f, text), ERR_INVAL);
                if (!strstr(f->text.p, rows[i].message))
                        fail_msg("%s lacks \"%s\"", f->text.p, rows[i].message);
        }
}

static void rules_above_the_limit_are_refused(void **state) {
        struct fixture *f = *state;
        struct buf b = buf_make(1 << 20);

        buf_addc(&b, AGENT);
        for (int i = 0; i < CONFIG_MAX_RULES; i++)
                buf_addc(&b, "    - {manager: x, action: take}\n");
        assert_int_equal(load(f, b.p), 0);
        buf_addc(&b, "    - {manager: x, action: take}\n");
        assert_int_equal(load(f, b.p), ERR_INVAL);
        buf_done(&b);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(rules_of_the_agent_are_read_with_their_places),
                CASE(an_applications_rules_come_before_the_agents),
                CASE(no_rules_are_no_rules),
                CASE(flags_make_applications_that_follow_the_agents_rules),
                CASE(taking_everything_is_told),
                CASE(a_rule_about_truce_itself_is_told),
                CASE(mistakes_are_errors_with_file_line_and_a_hint),
                CASE(a_mistyped_setting_of_ownership_is_named),
                CASE(mistakes_in_an_annotation_have_the_lines_of_the_file),
                CASE(rules_above_the_limit_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

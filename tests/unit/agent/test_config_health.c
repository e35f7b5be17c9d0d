/* SPDX-License-Identifier: Apache-2.0 */
/* Health rules of the configuration: argocd-cm's two forms, a folder, and what is told of broken ones. */
#include "agent/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/json.h"
#include "config_test.h"

#define CM "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n"
#define HEALTH "  resource.customizations.health."

/* What the rules say of an object; its rule goes to *ret_rule. */
static enum health_code judge(const struct config *c, const char *object, const char **ret_rule) {
        static _Thread_local char rule[256];
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct health_question q = { .now_ms = 1000000 };
        struct health h;

        assert_int_equal(json_parse(str_from(object), a, &q.object, NULL), 0);
        health_judge(c->health, &q, a, &h);
        snprintf(rule, sizeof rule, "%s", h.rule ? h.rule : "");
        *ret_rule = rule;
        return h.code;
}

static void both_forms_of_argocd_cm_are_read(void **state) {
        struct fixture *f = *state;
        const char *rule;

        must_load(f, CM HEALTH "apps_Deployment: |\n    return {status = \"Suspended\"}\n"
                        HEALTH "Secret: return {status = \"Degraded\"}\n"
                        "  resource.customizations.useOpenLibs.apps_Deployment: \"true\"\n"
                        "  resource.customizations: |\n"
                        "    \"*.example.com/*\":\n"
                        "      health.lua: |\n"
                        "        return {status = \"Progressing\"}\n"
                        "      health.lua.useOpenLibs: true\n"
                        "    apps/Deployment:\n"
                        "      health.lua: |\n        return {status = \"Degraded\"}\n");
        assert_string_equal(problems(f), "");
        assert_int_equal(f->c->healths.count, 3);
        assert_int_equal(judge(f->c, "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}", &rule), HEALTH_SUSPENDED);
        assert_string_equal(rule, "apps.yaml:6");
        assert_int_equal(judge(f->c, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}", &rule), HEALTH_DEGRADED);
        assert_string_equal(rule, "apps.yaml:7");
        assert_int_equal(judge(f->c, "{\"apiVersion\":\"a.example.com/v1\",\"kind\":\"Widget\"}", &rule), HEALTH_PROGRESSING);
        assert_string_equal(rule, "apps.yaml:12");
        for (size_t i = 0; i < f->c->healths.count; i++)
                assert_int_equal(f->c->healths.rules[i].open_libs, !str_eqc(f->c->healths.rules[i].kind, "Secret"));
}

static void a_broken_script_is_an_error_at_its_line(void **state) {
        struct fixture *f = *state;

        must_load(f, CM HEALTH "apps_Deployment: |\n    local hs = {}\n    hs.status == 1\n    return hs\n"
                        HEALTH "ConfigMap: |\n    return {status = \"Healthy\"}\n"
                        "  resource.customizations: |\n"
                        "    example.com/Widget:\n"
                        "      health.lua: |\n"
                        "        return {}\n"
                        "        end\n");
        assert_int_equal(f->c->problem_count, 2);
        assert_non_null(strstr(problems(f), "error apps.yaml:7: this health rule cannot be used: "));
        assert_non_null(strstr(problems(f), "error apps.yaml:15: this health rule cannot be used: "));
        assert_int_equal(f->c->healths.count, 1);
}

/* Where a script's lines are none of the file, the line on which it begins is named, and the script's own. */
static void a_broken_script_that_is_no_literal_block_is_told_where_it_begins(void **state) {
        struct fixture *f = *state;

        must_load(f, CM HEALTH "a.io_One: >\n    local a\n\n    )\n"
                        HEALTH "a.io_Two: \"local a\\nlocal b\\n)\\n\"\n"
                        HEALTH "a.io_Three:\n    'local a\n\n    local b\n\n    )'\n"
                        HEALTH "a.io_Four:\n    |\n    local a\n    )\n"
                        HEALTH "a.io_Five: )\n"
                        HEALTH "a.io_Six:\n    return 1\n    )\n");
        assert_int_equal(f->c->problem_count, 6);
        assert_non_null(strstr(problems(f), "error apps.yaml:5: this health rule cannot be used: line 2 of the script: "));
        assert_non_null(strstr(problems(f), "error apps.yaml:9: this health rule cannot be used: line 3 of the script: "));
        assert_non_null(strstr(problems(f), "error apps.yaml:11: this health rule cannot be used: line 3 of the script: "));
        assert_non_null(strstr(problems(f), "error apps.yaml:19: this health rule cannot be used: unexpected symbol"));
        assert_non_null(strstr(problems(f), "error apps.yaml:20: this health rule cannot be used: unexpected symbol"));
        assert_non_null(strstr(problems(f), "error apps.yaml:22: this health rule cannot be used: line 1 of the script: "));
}

/* The same below resource.customizations, whose own text may be any of these. */
static void so_is_one_in_a_text_that_is_none(void **state) {
        struct fixture *f = *state;

        load(f, CM "  resource.customizations: \"a.io/One:\\n  typo: 1\\n\"\n");
        assert_non_null(strstr(problems(f), "error apps.yaml:5: unknown key resource.customizations: a.io/One: typo"));
        load(f, CM "  resource.customizations: \"a.io/One:\\n  'typo\\n\"\n");
        assert_non_null(strstr(problems(f), "error apps.yaml:5: resource.customizations: line 3 of the text: "));
        must_load(f, CM "  resource.customizations: \"a.io/One:\\n  health.lua: |\\n    local a\\n    )\\n\"\n");
        assert_int_equal(f->c->problem_count, 1);
        assert_non_null(strstr(problems(f), "error apps.yaml:5: this health rule cannot be used: line 2 of the script: "));
        must_load(f, CM "  resource.customizations: |\n    a.io/One:\n      health.lua: \"local a\\n)\"\n"
                        "    a.io/Two:\n      health.lua:\n        |\n        local a\n        )\n");
        assert_non_null(strstr(problems(f), "error apps.yaml:7: this health rule cannot be used: line 2 of the script: "));
        assert_non_null(strstr(problems(f), "error apps.yaml:12: this health rule cannot be used: unexpected symbol"));
}

/* What a script says while it runs, and the rule's name. */
static void the_place_of_a_quoted_script_is_its_beginning(void **state) {
        struct fixture *f = *state;
        const char *rule;

        must_load(f, CM HEALTH "Secret: \"local a\\nerror('no')\\n\"\n");
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct health_question q = { .now_ms = 1000000 };
        struct health h;

        assert_int_equal(json_parse(STR("{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}"), a, &q.object, NULL), 0);
        health_judge(f->c->health, &q, a, &h);
        assert_string_equal(arena_str(a, h.message).p, "apps.yaml:5, script:2: no");
        assert_int_equal(judge(f->c, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}", &rule), HEALTH_UNKNOWN);
        assert_string_equal(rule, "apps.yaml:5");
}

static void what_is_no_script_is_told(void **state) {
        struct fixture *f = *state;

        load(f, CM HEALTH "a_b_c: return nil\n" HEALTH "Secret: 7\n"
                   "  resource.customizations.useOpenLibs.Secret: \"yes please\"\n" HEALTH "ConfigMap: \"\"\n");
        assert_string_equal(problems(f),
                            "error apps.yaml:6: resource.customizations.health.Secret must be a script in Lua, not a number\n"
                            "error apps.yaml:5: resource.customizations.health.a_b_c: must end in <group>_<Kind>, <Kind> or all\n"
                            "error apps.yaml:7: resource.customizations.useOpenLibs.Secret must be true or false\n");
}

/* Of the cluster: there are no lines but the script's own. */
static void a_script_of_the_cluster_is_told_with_its_key(void **state) {
        struct fixture *f = *state;
        struct config_document document = {
                STR("ConfigMap argocd/argocd-cm"),
                STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"argocd-cm\"},\"data\":{"
                    "\"resource.customizations.health.apps_Deployment\":\"local a\\n)\\n\"}}"),
        };
        struct config_documents documents = { &document, 1 };

        assert_int_equal(config_load_with(NULL, 0, &documents, &f->c, &f->err), 0);
        config_settle(f->c);
        assert_int_equal(f->c->problem_count, 1);
        assert_non_null(strstr(problems(f), "ConfigMap argocd/argocd-cm: resource.customizations.health.apps_Deployment:2: "));
}

/* --- the folder ----------------------------------------------------------------------------------------------------- */

static void put(const char *dir, const char *path, const char *text) {
        char name[512];
        FILE *file;

        snprintf(name, sizeof name, "%s/%s", dir, path);
        for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = 0;
                mkdir(name, 0755);
                *slash = '/';
        }
        file = fopen(name, "w");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
}

static void a_folder_has_the_layout_of_argo_cds_own(void **state) {
        struct fixture *f = *state;
        char dir[] = "/tmp/truce-health-XXXXXX", command[64];
        const char *rule;

        assert_non_null(mkdtemp(dir));
        put(dir, "apps/Deployment/health.lua", "return {status = \"Suspended\"}\n");
        put(dir, "apps/Deployment/health_test.yaml", "tests: []\n");
        put(dir, "apps/Deployment/testdata/health.lua", "this is none\n");
        put(dir, "Secret/health.lua", "return {status = \"Degraded\"}\n");
        put(dir, "_.example.com/_/health.lua", "return {status = \"Progressing\"}\n");
        put(dir, "broken.io/Thing/health.lua", "\n\nreturn return\n");
        put(dir, ".git/x/health.lua", "this is none\n");
        assert_int_equal(load(f, CM HEALTH "apps_Deployment: return {}\n"), 0);
        f->c->agent.health_dir = str_from(dir);
        struct hash128 before = config_health_stamp(f->c->agent.health_dir);
        config_settle(f->c);

        assert_int_equal(f->c->healths.count, 3);
        assert_int_equal(judge(f->c, "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}", &rule), HEALTH_SUSPENDED);
        assert_int_equal(judge(f->c, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}", &rule), HEALTH_DEGRADED);
        assert_int_equal(judge(f->c, "{\"apiVersion\":\"b.example.com/v1\",\"kind\":\"Widget\"}", &rule), HEALTH_PROGRESSING);
        assert_non_null(strstr(problems(f), "broken.io/Thing/health.lua:3: this health rule cannot be used: "));
        assert_non_null(strstr(problems(f), "notice apps.yaml:5: another health rule for apps/Deployment counts, at /tmp/"));

        put(dir, "batch/Job/health.lua", "return {status = \"Healthy\"}\n");
        assert_false(hash128_eq(before, config_health_stamp(f->c->agent.health_dir)));
        snprintf(command, sizeof command, "%s/gone", dir);
        f->c->agent.health_dir = str_from(command);
        config_settle(f->c);
        assert_non_null(strstr(problems(f), "/gone: "));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(both_forms_of_argocd_cm_are_read),
                CASE(a_broken_script_is_an_error_at_its_line),
                CASE(a_broken_script_that_is_no_literal_block_is_told_where_it_begins),
                CASE(so_is_one_in_a_text_that_is_none),
                CASE(the_place_of_a_quoted_script_is_its_beginning),
                CASE(what_is_no_script_is_told),
                CASE(a_script_of_the_cluster_is_told_with_its_key),
                CASE(a_folder_has_the_layout_of_argo_cds_own),
        };

        return cmocka_run_group_tests_name("config health", tests, NULL, NULL);
}

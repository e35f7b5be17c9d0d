/* SPDX-License-Identifier: Apache-2.0 */
/* Applications of several sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "config_test.h"

#define TWO_SOURCES                                                                                                    \
        "  sources:\n"                                                                                                 \
        "  - {repoURL: https://git.example.com/team/shop.git, path: a, targetRevision: 1.2.*, directory: {recurse: true}}\n" \
        "  - {repoURL: https://git.example.com/infra/base, name: common, directory: {include: 'x*'}}\n"

static void several_sources_are_read_in_order(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD TWO_SOURCES DESTINATION);
        const struct config_app *a = &f->c->apps[0];

        assert_int_equal(a->source_count, 2);
        assert_str(a->sources[0].repo_url, "https://git.example.com/team/shop.git");
        assert_str(a->sources[0].path, "a");
        assert_str(a->sources[0].revision, "1.2.*");
        assert_str(a->sources[0].title, "shop");
        assert_true(a->sources[0].recurse);
        assert_int_equal(a->sources[0].place.line, 8);
        assert_str(a->sources[1].path, ".");
        assert_str(a->sources[1].revision, "HEAD");
        assert_str(a->sources[1].include, "x*");
        assert_str(a->sources[1].title, "common");
        assert_false(a->sources[1].recurse);
}

/* As in Argo CD; what stands in `source` is then not even looked at. */
static void sources_win_over_source(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD SOURCE "    helm: {releaseName: x}\n" TWO_SOURCES DESTINATION);
        assert_int_equal(f->c->apps[0].source_count, 2);
        assert_string_equal(problems(f), "notice 1 settings have no meaning here and are left out (spec.source)\n");
        must_load(f, APP_HEAD SOURCE "  sources: []\n" DESTINATION);
        assert_int_equal(f->c->apps[0].source_count, 1);
        assert_str(f->c->apps[0].sources->title, "");
        assert_string_equal(problems(f), "");
}

static void a_source_that_only_has_values_for_helm_is_left_out(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD TWO_SOURCES "  - {repoURL: https://git.example.com/values, ref: values}\n" DESTINATION);
        assert_int_equal(f->c->apps[0].source_count, 2);
        assert_int_equal(f->c->irrelevant_count, 1);
        assert_str(f->c->irrelevant[0].key, "spec.sources[2].ref");
        must_load(f, APP_HEAD TWO_SOURCES "  - {repoURL: https://git.example.com/values, ref: values, path: b}\n" DESTINATION);
        assert_int_equal(f->c->apps[0].source_count, 3);
}

static void sources_of_one_name_are_told_apart(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD "  sources:\n  - {repoURL: https://git.example.com/a/shop, path: a}\n"
                              "  - {repoURL: https://git.example.com/a/shop, path: b}\n"
                              "  - {repoURL: https://git.example.com/a/base, targetRevision: v1}\n"
                              "  - {repoURL: https://git.example.com/b/base}\n" DESTINATION);
        const struct config_source *s = f->c->apps[0].sources;

        assert_str(s[0].title, "shop"); /* one commit of one repository: a path says which file is meant */
        assert_str(s[1].title, "shop");
        assert_str(s[2].title, "base#3");
        assert_str(s[3].title, "base#4");
}

static void what_is_wrong_with_a_source_names_it(void **state) {
        static const struct {
                const char *element, *problem;
        } rows[] = {
                { "{path: x}", "spec.sources[1].repoURL is missing" },
                { "{repoURL: 5}", "spec.sources[1].repoURL must be a string, not a number" },
                { "{repoURL: https://git.example.com/x, path: ../y}", "spec.sources[1]: path \"../y\" holds \"..\"" },
                { "{repoURL: https://git.example.com/x, pth: y}",
                  "unknown key spec.sources[1].pth, did you mean spec.sources[1].path?" },
                { "{repoURL: https://git.example.com/x, directory: {recurse: maybe}}",
                  "spec.sources[1].directory.recurse must be true or false, not a string" },
                { "{repoURL: https://git.example.com/x, directory: []}", "spec.sources[1].directory must be a map, not a list" },
                { "{repoURL: https://git.example.com/x, directory: {include: '{a'}}",
                  "spec.sources[1].directory.include: glob has a \"{\" without \"}\"" },
                { "text", "spec.sources[1] must be a map, not a string" },
        };
        struct fixture *f = *state;
        char text[1024], line[1024];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                snprintf(text, sizeof text, "%s  sources:\n  - {repoURL: https://git.example.com/x}\n  - %s\n", APP_HEAD,
                         rows[i].element);
                snprintf(line, sizeof line, "error apps.yaml:9: application argocd/shop: %s\n", rows[i].problem);
                assert_int_equal(load(f, text), ERR_INVAL);
                if (strncmp(problems(f), line, strlen(line)) != 0)
                        fail_msg("%s: %s", rows[i].element, problems(f));
        }
        assert_int_equal(load(f, APP_HEAD "  sources: {repoURL: x}\n"), ERR_INVAL);
        assert_string_equal(problems(f), "error apps.yaml:7: application argocd/shop: spec.sources must be a list of at most 32 "
                                         "sources\n");
}

static void each_source_has_the_credentials_of_its_repository(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD TWO_SOURCES DESTINATION SECRET("a", "repository")
                  "  url: https://git.example.com/infra/base\n  username: me\n  password: hunter2\n");
        assert_null(f->c->apps[0].sources[0].repository);
        assert_non_null(f->c->apps[0].sources[1].repository);
        must_load(f, APP_HEAD TWO_SOURCES DESTINATION SECRET("a", "repository")
                  "  url: https://git.example.com/infra/base\n  enableLfs: 'true'\n");
        assert_int_equal(f->c->app_count, 0);
        assert_non_null(strstr(problems(f), "its repository https://git.example.com/infra/base: "));
}

static void a_project_permits_each_source_or_none_is_run(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD TWO_SOURCES DESTINATION "  project: team\n---\napiVersion: argoproj.io/v1alpha1\nkind: AppProject\n"
                  "metadata: {name: team}\nspec:\n  sourceRepos: ['https://git.example.com/team/*']\n"
                  "  destinations: [{server: '*', namespace: '*'}]\n");
        assert_int_equal(f->c->app_count, 0);
        assert_string_equal(problems(f), "refused apps.yaml:9: application argocd/shop is not run: its project team does not "
                                         "permit the repository https://git.example.com/infra/base\n");
}

#define MAKES(labels) "  syncPolicy: {syncOptions: [CreateNamespace=true], managedNamespaceMetadata: {labels: {" labels "}}}\n"
#define OTHER "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\nspec:\n"

static void a_namespace_is_made_with_its_metadata(void **state) {
        struct fixture *f = *state;

        must_load(f, APP MAKES("team: a, 'b': 'true'"));
        assert_str(f->c->apps[0].namespace_text, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"labels\":{"
                                                 "\"b\":\"true\",\"team\":\"a\"},\"name\":\"shop\"}}");
        assert_int_equal(f->c->apps[0].namespace_place.line, 12);
        must_load(f, APP "  syncPolicy: {managedNamespaceMetadata: {labels: {a: b}}}\n");
        assert_str(f->c->apps[0].namespace_text, "");
        assert_string_equal(problems(f), "warning apps.yaml:12: application argocd/shop: "
                                         "spec.syncPolicy.managedNamespaceMetadata does nothing without the sync option "
                                         "CreateNamespace=true\n");
        assert_int_equal(load(f, APP MAKES("a: 5")), ERR_INVAL);
        assert_non_null(strstr(problems(f), "managedNamespaceMetadata.labels.a must be a string, not a number\n"));
}

/* Two that say the same of one namespace are one; of two that do not the first counts. */
static void one_application_says_what_a_namespace_is(void **state) {
        struct fixture *f = *state;

        must_load(f, APP MAKES("a: b") OTHER SOURCE DESTINATION MAKES("a: b"));
        assert_true(f->c->apps[0].namespace_text.n > 0);
        assert_str(f->c->apps[1].namespace_text, "");
        assert_string_equal(problems(f), "");
        must_load(f, APP MAKES("a: b") OTHER SOURCE DESTINATION MAKES("a: c"));
        assert_str(f->c->apps[1].namespace_text, "");
        assert_string_equal(problems(f), "warning apps.yaml:23: application argocd/web: other metadata of namespace shop stand at "
                                         "apps.yaml:12, and those count\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(several_sources_are_read_in_order, setup, teardown),
                cmocka_unit_test_setup_teardown(sources_win_over_source, setup, teardown),
                cmocka_unit_test_setup_teardown(a_source_that_only_has_values_for_helm_is_left_out, setup, teardown),
                cmocka_unit_test_setup_teardown(sources_of_one_name_are_told_apart, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_wrong_with_a_source_names_it, setup, teardown),
                cmocka_unit_test_setup_teardown(each_source_has_the_credentials_of_its_repository, setup, teardown),
                cmocka_unit_test_setup_teardown(a_project_permits_each_source_or_none_is_run, setup, teardown),
                cmocka_unit_test_setup_teardown(a_namespace_is_made_with_its_metadata, setup, teardown),
                cmocka_unit_test_setup_teardown(one_application_says_what_a_namespace_is, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

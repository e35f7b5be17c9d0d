/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "manifest/render.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "config_test.h"

static void an_application_gets_argo_cds_defaults(void **state) {
        struct fixture *f = *state;

        must_load(f, APP);
        assert_int_equal(f->c->app_count, 1);
        const struct config_app *a = &f->c->apps[0];

        assert_str(a->name, "shop");
        assert_str(a->instance, "shop");
        assert_str(a->sources->path, ".");
        assert_str(a->sources->revision, "HEAD");
        assert_str(a->destination_namespace, "shop");
        assert_false(a->automated);
        assert_false(a->prune);
        assert_false(a->self_heal);
        assert_int_equal(a->retry.limit, -1);
        assert_int_equal(a->retry.first_ms, 5000);
        assert_int_equal(a->retry.factor, 2);
        assert_int_equal(a->retry.max_ms, 180000);
        assert_int_equal(a->place.line, 1);
        assert_int_equal(f->c->problem_count, 0);
}

static void every_setting_of_an_application_arrives(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD SOURCE
                  "    path: ./deploy//prod/\n    targetRevision: v1\n    directory: {recurse: true, include: '*.yaml', "
                  "exclude: x*, disableExtensionFilter: true}\n" DESTINATION
                  "  syncPolicy:\n    automated: {prune: true, selfHeal: true, allowEmpty: true}\n"
                  "    retry: {limit: -1, backoff: {duration: 10, factor: 3, maxDuration: 1h30m}}\n"
                  "    syncOptions: [CreateNamespace=true, ServerSideApply=true, Prune=false]\n");
        const struct config_app *a = &f->c->apps[0];

        assert_str(a->sources->path, "deploy/prod");
        assert_str(a->sources->revision, "v1");
        assert_str(a->sources->include, "*.yaml");
        assert_str(a->sources->exclude, "x*");
        assert_true(a->sources->recurse && a->sources->any_extension && a->automated && a->prune && a->self_heal && a->allow_empty);
        assert_true(a->create_namespace && a->prune_disabled);
        assert_int_equal(a->retry.limit, -1);
        assert_int_equal(a->retry.first_ms, 10000);
        assert_int_equal(a->retry.factor, 3);
        assert_int_equal(a->retry.max_ms, 5400000);
}

static void automation_follows_presence_and_enabled(void **state) {
        struct fixture *f = *state;

        must_load(f, APP "  syncPolicy: {automated: {}}\n");
        assert_true(f->c->apps[0].automated);
        must_load(f, APP "  syncPolicy: {automated: {enabled: false, prune: true}}\n");
        assert_false(f->c->apps[0].automated);
        must_load(f, APP "  syncPolicy: {automated: null}\n");
        assert_false(f->c->apps[0].automated);
}

static void extra_paths_may_be_reported_by_agent_and_application(void **state) {
        struct fixture *f = *state;

        must_load(f, "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: shop\n  annotations: "
                     "{truce.dev/extra-paths: report}\nspec:\n" SOURCE);
        assert_int_equal(f->c->agent.extra_paths, CONFIG_EXTRA_REMOVE);
        assert_true(f->c->apps[0].report_extra);
        must_load(f, "apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: a}\nspec: {ownership: {extraPaths: "
                     "report}}\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: shop\n  "
                     "annotations: {truce.dev/extra-paths: remove}\nspec:\n" SOURCE);
        assert_int_equal(f->c->agent.extra_paths, CONFIG_EXTRA_REPORT);
        assert_false(f->c->apps[0].report_extra);
}

static void fights_and_overrides_have_settings(void **state) {
        struct fixture *f = *state;

        must_load(f, "apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: a}\nspec:\n  ownership:\n    fights: "
                     "{turns: 8, maxPause: 2h}\n    maxOverride: 30m\n");
        assert_int_equal(f->c->agent.fight_turns, 8);
        assert_int_equal(f->c->agent.fight_window_ms, 60 * 1000);
        assert_int_equal(f->c->agent.fight_max_pause_ms, 2 * 3600 * 1000);
        assert_int_equal(f->c->agent.max_override_ms, 30 * 60 * 1000);
}

static void an_application_may_be_suspended(void **state) {
        struct fixture *f = *state;

        must_load(f, "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: shop\n  annotations: "
                     "{argocd.argoproj.io/skip-reconcile: 'true', argocd.argoproj.io/sync-wave: '5'}\nspec:\n" SOURCE);
        assert_int_equal(f->c->app_count, 1);
        assert_true(f->c->apps[0].suspended);
}

/* What is known, but not implemented, refuses that application and names the line. */
static const struct {
        const char *spec;
        const char *problem;
} later[] = {
        { SOURCE "    helm: {releaseName: x}\n",
          "refused apps.yaml:9: application argocd/shop is not run: spec.source.helm: Helm is not implemented yet\n" },
        { SOURCE "    kustomize: {namePrefix: x}\n",
          "refused apps.yaml:9: application argocd/shop is not run: spec.source.kustomize: Kustomize is not implemented "
          "yet\n" },
        { "  sources:\n  - {repoURL: https://charts.example.com, chart: x}\n  - {repoURL: https://git.example.com/x, kustomize: {a: b}}\n",
          "refused apps.yaml:8: application argocd/shop is not run: spec.sources[0].chart: Helm is not implemented yet\n"
          "refused apps.yaml:9: application argocd/shop is not run: spec.sources[1].kustomize: Kustomize is not implemented "
          "yet\n" },
        { "  sources:\n  - {repoURL: https://git.example.com/x, ref: values}\n",
          "refused apps.yaml:7: application argocd/shop is not run: spec.sources: none of them has anything to render\n"
          "notice 1 settings have no meaning here and are left out (spec.sources[0].ref)\n" },
        { SOURCE "    targetRevision: '>=one'\n",
          "refused apps.yaml:9: application argocd/shop is not run: spec.source.targetRevision: revision \">=one\" is no "
          "range of versions that can be read, and no name of a ref\n" },
        { SOURCE "  destination: {server: https://other}\n",
          "refused apps.yaml:9: application argocd/shop is not run: spec.destination.server: other clusters than "
          "https://kubernetes.default.svc are not implemented yet\n" },
        { SOURCE "  destination: {name: other}\n",
          "refused apps.yaml:9: application argocd/shop is not run: spec.destination.name: other clusters than "
          "in-cluster are not implemented yet\n" },
        { SOURCE "  syncPolicy: {syncOptions: [Replace=true]}\n",
          "refused apps.yaml:9: application argocd/shop is not run: sync option \"Replace=true\": truce only applies "
          "server-side\n" },
};

static void what_is_not_implemented_refuses_that_application_alone(void **state) {
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(later); i++) {
                _cleanup_(buf_done) struct buf b = buf_make(4096);

                buf_addf(&b, "%s%s---\n%s", APP_HEAD, later[i].spec,
                         "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: other\nspec:\n" SOURCE);
                must_load(f, b.p);
                assert_int_equal(f->c->app_count, 1);
                assert_str(f->c->apps[0].name, "other");
                assert_int_equal(f->c->refused_count, 1);
                assert_string_equal(problems(f), later[i].problem);
        }
}

static void an_ssh_repository_refuses_that_application(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD "  source: {repoURL: 'git@git.example.com:team/shop.git'}\n");
        assert_int_equal(f->c->app_count, 0);
        assert_int_equal(f->c->refused_count, 1);
}

static void settings_that_are_off_refuse_nothing(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD SOURCE "    helm: null\n    kustomize: {}\n  ignoreDifferences: []\n  sources: []\n"
                                     "  syncPolicy: {syncOptions: [Replace=false, PruneLast=false]}\n");
        assert_int_equal(f->c->app_count, 1);
        assert_int_equal(f->c->problem_count, 0);
}

static void irrelevant_settings_make_one_notice_in_all(void **state) {
        struct fixture *f = *state;

        must_load(f, APP "  info: [{name: a, value: b}]\n  revisionHistoryLimit: 3\noperation: {sync: {}}\n"
                         "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: other\nspec:\n" SOURCE
                         "  revisionHistoryLimit: 3\n  syncPolicy: {syncOptions: [Validate=false]}\n");
        assert_string_equal(problems(f), "notice 5 settings have no meaning here and are left out (operation, …)\n");
        assert_int_equal(f->c->app_count, 2);
}

/* Errors: the whole configuration is not used. */
static const struct {
        const char *text;
        const char *problem;
} wrong[] = {
        { APP_HEAD "  source:\n    repoURL: https://x/y\n    targetRevison: v1\n",
          "error apps.yaml:9: application argocd/shop: unknown key spec.source.targetRevison, did you mean "
          "spec.source.targetRevision?\n" },
        { APP "  syncPolicies: {}\n", "error apps.yaml:12: application argocd/shop: unknown key spec.syncPolicies\n" },
        { APP "spce: {}\n", "error apps.yaml:12: application argocd/shop: unknown key spce\n" },
        { APP_HEAD DESTINATION, "error apps.yaml:6: application argocd/shop: spec.source.repoURL is missing\n" },
        { APP_HEAD "  source: {repoURL: 5}\n",
          "error apps.yaml:7: application argocd/shop: spec.source.repoURL must be a string, not a number\n"
          "error apps.yaml:7: application argocd/shop: spec.source.repoURL is missing\n" },
        { APP_HEAD "  source: {repoURL: https://x/y, path: ../z}\n",
          "error apps.yaml:7: application argocd/shop: spec.source: path \"../z\" holds \"..\"\n" },
        { APP_HEAD "  source: text\n",
          "error apps.yaml:7: application argocd/shop: spec.source must be a map, not a string\n"
          "error apps.yaml:7: application argocd/shop: spec.source.repoURL is missing\n" },
        { APP_HEAD SOURCE "    directory: {include: '{a'}\n",
          "error apps.yaml:9: application argocd/shop: spec.source.directory.include: glob has a \"{\" without \"}\"\n" },
        { APP_HEAD SOURCE "    directory: {recurse: yes please}\n",
          "error apps.yaml:9: application argocd/shop: spec.source.directory.recurse must be true or false, not a "
          "string\n" },
        { APP_HEAD SOURCE "  destination: {server: https://kubernetes.default.svc, name: in-cluster}\n",
          "error apps.yaml:9: application argocd/shop: spec.destination takes a server or a name, not both\n" },
        { APP "  syncPolicy: {retry: {limit: -2}}\n",
          "error apps.yaml:12: application argocd/shop: spec.syncPolicy.retry.limit must be -1 to 1000000\n" },
        { APP "  syncPolicy: {retry: {backoff: {duration: soon}}}\n",
          "error apps.yaml:12: application argocd/shop: spec.syncPolicy.retry.backoff.duration must be a duration such "
          "as 5s or 3m\n" },
        { APP "  syncPolicy: {syncOptions: [CreateNamepsace=true]}\n",
          "error apps.yaml:12: application argocd/shop: unknown sync option \"CreateNamepsace=true\", did you mean "
          "CreateNamespace?\n" },
        { APP "  syncPolicy: {syncOptions: text}\n",
          "error apps.yaml:12: application argocd/shop: spec.syncPolicy.syncOptions must be a list of strings\n" },
        { "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: shop\n  annotations: {truce.dev/extra-paths: keep}\n"
          "spec:\n" SOURCE,
          "error apps.yaml:5: application shop: annotation truce.dev/extra-paths takes remove or report\n" },
        { "apiVersion: argoproj.io/v1alpha1\nkind: Aplication\nmetadata: {name: x}\n",
          "error apps.yaml:1: argoproj.io/v1alpha1 Aplication is nothing that truce reads, did you mean Application?\n" },
        { "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {}\n",
          "error apps.yaml:3: metadata.name is missing\n" },
        { "hello: world\n", "error apps.yaml:1: holds no configuration\n" },
        { "kind: [\n", "error apps.yaml:2: while parsing a flow node, did not find expected node content\n" },
        { APP "  project: a\n  project: b\n", "error apps.yaml:13: the key \"project\" is given twice, first in line 12\n" },
};

static void mistakes_are_errors_with_file_line_and_nearest_key(void **state) {
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
                assert_int_equal(load(f, wrong[i].text), ERR_INVAL);
                assert_string_equal(problems(f), wrong[i].problem);
                assert_int_equal(f->c->app_count, 0);
        }
}

static void all_mistakes_are_told_at_once(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, APP "  a1: 1\n  b2: 2\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"), ERR_INVAL);
        assert_int_equal(f->c->problem_count, 3);
        assert_string_equal(f->err.msg, "apps.yaml:12: unknown key spec.a1 (and more errors)");
}

static void a_list_of_applications_as_kubectl_prints_it_is_read(void **state) {
        struct fixture *f = *state;

        must_load(f, "apiVersion: v1\nkind: List\nitems:\n- apiVersion: argoproj.io/v1alpha1\n  kind: Application\n"
                     "  metadata:\n    name: a\n    namespace: argocd\n    uid: 1-2\n    resourceVersion: '5'\n"
                     "    finalizers: [resources-finalizer.argocd.argoproj.io]\n"
                     "  spec:\n    project: default\n    source: {repoURL: https://x/y, path: z}\n  status: {health: {}}\n");
        assert_int_equal(f->c->app_count, 1);
        assert_int_equal(f->c->problem_count, 0);
}

/* The Agent document. */

static void the_agent_document_sets_what_flags_set(void **state) {
        struct fixture *f = *state;

        must_load(f, "apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: agent}\nspec:\n"
                     "  installationId: east\n  pollInterval: 10s\n  prune: {maxCount: 7, maxPercent: 50}\n"
                     "  log: {level: debug, format: json}\n  strictYaml: true\n  allowFileRepositories: true\n"
                     "  listen: 127.0.0.1:8080\n");
        assert_str(f->c->agent.installation_id, "east");
        assert_int_equal(f->c->agent.poll_ms, 10000);
        assert_int_equal(f->c->agent.prune_max_count, 7);
        assert_int_equal(f->c->agent.prune_max_percent, 50);
        assert_int_equal(f->c->agent.log_level, LOG_DEBUG);
        assert_int_equal(f->c->agent.log_format, LOG_JSON);
        assert_true(f->c->agent.strict_yaml && f->c->agent.allow_file_repositories && f->c->agent.prune_budget);
        assert_str(f->c->agent.ns, "truce");
}

static void agent_defaults_hold_without_a_document(void **state) {
        struct fixture *f = *state;

        f->c = config_new();
        assert_int_equal(f->c->agent.poll_ms, 30000);
        assert_int_equal(f->c->agent.prune_max_count, 20);
        assert_int_equal(f->c->agent.prune_max_percent, 25);
        assert_int_equal(f->c->agent.log_level, LOG_INFO);
        assert_true(f->c->agent.prune_budget);
        assert_false(f->c->agent.allow_own);
}

static void agent_mistakes_are_named(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, "apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: agent}\nspec:\n"
                                 "  pollInterval: 10ms\n  pollIntervall: 10s\n  prune: {budget: false}\n"
                                 "---\napiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: b}\n"), ERR_INVAL);
        assert_string_equal(problems(f),
                            "error apps.yaml:5: pollInterval must be 1s to 1d\n"
                            "error apps.yaml:6: unknown key pollIntervall, did you mean pollInterval?\n"
                            "error apps.yaml:7: unknown key prune.budget\n"
                            "error apps.yaml:9: there is an Agent document already, at apps.yaml:1\n");
}

static void an_illegal_installation_id_refuses_all(void **state) {
        struct fixture *f = *state;

        must_load(f, APP);
        f->c->agent.installation_id = STR("not legal");
        config_settle(f->c);
        assert_int_equal(f->c->app_count, 0);
        assert_int_equal(f->c->refused_count, 1);
}

static void applications_of_other_namespaces_carry_theirs_in_the_instance(void **state) {
        struct fixture *f = *state;

        must_load(f, "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: team}\nspec:\n"
                  SOURCE "---\n" APP "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\n"
                  "metadata: {name: other, namespace: truce}\nspec:\n" SOURCE);
        assert_int_equal(f->c->app_count, 3);
        assert_str(f->c->apps[0].instance, "shop");
        assert_str(f->c->apps[1].instance, "team_shop");
        assert_str(f->c->apps[2].instance, "other");
        assert_ptr_equal(config_find_app(f->c, STR("team/shop")), &f->c->apps[1]);
        assert_ptr_equal(config_find_app(f->c, STR("shop")), &f->c->apps[0]);
        assert_null(config_find_app(f->c, STR("nobody")));
}

static void two_applications_never_share_an_instance_name(void **state) {
        struct fixture *f = *state;

        must_load(f, APP "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\n"
                         "metadata: {name: shop, namespace: truce}\nspec:\n" SOURCE);
        assert_int_equal(f->c->app_count, 1);
        assert_string_equal(problems(f), "refused apps.yaml:13: application truce/shop is not run: it would have the tracking "
                                         "name of the application at apps.yaml:1\n");
}

static void of_two_applications_of_one_name_neither_runs_and_the_rest_does(void **state) {
        struct fixture *f = *state;

        must_load(f, APP "---\n" APP "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\n"
                         "metadata: {name: other}\nspec:\n" SOURCE);
        assert_string_equal(problems(f), "refused apps.yaml:1: application argocd/shop is not run: another application has its "
                                         "name, at apps.yaml:13\nrefused apps.yaml:13: application argocd/shop is not run: "
                                         "another application has its name, at apps.yaml:1\n");
        assert_int_equal(f->c->refused_count, 2);
        assert_int_equal(f->c->app_count, 1);
        assert_true(str_eqc(f->c->apps[0].name, "other"));
}

/* Repositories. */

/* Of an authority that was made for this test. */
#define CERTIFICATE \
        "    -----BEGIN CERTIFICATE-----\n" \
        "    MIIBkjCCATegAwIBAgIUZ5BxCv/iyAm/fwFa03LonG84S2UwCgYIKoZIzj0EAwIw\n" \
        "    HTEbMBkGA1UEAwwSZXhhbXBsZSBwcml2YXRlIENBMCAXDTI2MTEzMDE2MDA0MVoY\n" \
        "    DzIxMjYxMTA2MTYwMDQxWjAdMRswGQYDVQQDDBJleGFtcGxlIHByaXZhdGUgQ0Ew\n" \
        "    WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASL+AUAR2ZKeQsZCDVQUIv582llckHC\n" \
        "    KZVngd0KlSk1IWGyeUeaeK0hF1AAgS7ffei830RjHk4Z99cpHaqscFD/o1MwUTAd\n" \
        "    BgNVHQ4EFgQUsmNp0puRkazWdNSYDW66kQpSQvwwHwYDVR0jBBgwFoAUsmNp0puR\n" \
        "    kazWdNSYDW66kQpSQvwwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBG\n" \
        "    AiEAmB9vtzno9Tx2S6mRALUaHEzMi+MgjrWqkknkZ73GsvoCIQC8gG9n8WhPlbFr\n" \
        "    9STsHKz9Lu0/DCI62bqChmi8WjDruw==\n" \
        "    -----END CERTIFICATE-----\n"

static void the_longest_template_wins_and_its_own_secret_beats_all(void **state) {
        struct fixture *f = *state;

        must_load(f, APP SECRET("a", "repo-creds") "  url: https://git.example.com\n  username: u1\n  password: p1\n"
                     SECRET("b", "repo-creds") "  url: https://git.example.com/team\n  username: u2\n  password: p2\n"
                     SECRET("c", "repository") "  url: https://git.example.com/other/x\n  username: u3\n  password: p3\n");
        assert_non_null(f->c->apps[0].sources->repository);
        assert_str(f->c->apps[0].sources->repository->username, "u2");
        assert_str(f->c->apps[0].sources->repository->password, "p2");
        assert_str(config_find_repository(f->c, STR("https://git.example.com/other/X.git"), STR("default"))->username, "u3");
        assert_str(config_find_repository(f->c, STR("https://git.example.com/else"), STR("default"))->username, "u1");
        assert_null(config_find_repository(f->c, STR("https://elsewhere.example.com/x"), STR("default")));
}

static void credentials_stay_with_their_host(void **state) {
        struct fixture *f = *state;

        must_load(f, APP SECRET("a", "repo-creds") "  url: https://git.example\n  username: u1\n  password: p1\n");
        assert_null(f->c->apps[0].sources->repository);
        assert_null(config_find_repository(f->c, STR("https://git.example.evil.org/x"), STR("default")));
        assert_null(config_find_repository(f->c, STR("http://git.example/x"), STR("default")));
        assert_non_null(config_find_repository(f->c, STR("https://git.example/x"), STR("default")));
}

/* As in Argo CD: with a slash it ends at a folder. */
static void a_template_that_ends_in_a_slash_is_for_what_is_in_that_folder(void **state) {
        struct fixture *f = *state;

        must_load(f, APP SECRET("a", "repo-creds") "  url: https://git.example.com/org/\n  username: u1\n  password: p1\n"
                     SECRET("b", "repo-creds") "  url: https://other.example.com/\n  username: u2\n  password: p2\n"
                     SECRET("c", "repo-creds") "  url: https://third.example.com/team-\n  username: u3\n  password: p3\n");
        assert_str(config_find_repository(f->c, STR("https://git.example.com/org/x"), STR("default"))->username, "u1");
        assert_null(config_find_repository(f->c, STR("https://git.example.com/organisation/x"), STR("default")));
        assert_null(config_find_repository(f->c, STR("https://git.example.com/org"), STR("default")));
        assert_str(config_find_repository(f->c, STR("https://other.example.com/x"), STR("default"))->username, "u2");
        assert_null(config_find_repository(f->c, STR("https://other.example.com.evil.org/x"), STR("default")));
        assert_str(config_find_repository(f->c, STR("https://third.example.com/team-a/x"), STR("default"))->username, "u3");
}

/* `echo URL | base64` puts a line break behind it. */
static void blanks_around_a_secrets_url_are_none_of_it(void **state) {
        struct fixture *f = *state;

        must_load(f, APP SECRET("a", "repository") "  url: \"https://git.example.com/x\\n\"\n  username: u1\n");
        assert_str(config_find_repository(f->c, STR("https://git.example.com/x"), STR("default"))->username, "u1");
}

static void a_repository_that_needs_more_refuses_its_applications_without_showing_it(void **state) {
        struct fixture *f = *state;

        must_load(f, APP SECRET("a", "repository") "  url: https://git.example.com/team/shop\n  githubAppID: '12'\n"
                                                   "  gcpServiceAccountKey: hunter3\n");
        assert_int_equal(f->c->app_count, 0);
        assert_string_equal(problems(f), "refused apps.yaml:21: application argocd/shop is not run: its repository: "
                                         "gcpServiceAccountKey: Google service accounts are not implemented yet\n");
        must_load(f, APP SECRET("a", "repository") "  url: https://git.example.com/team/shop\n  insecure: 'false'\n");
        assert_int_equal(f->c->app_count, 1);
}

/* Argo CD: the template's only where the repository has none at all. */
static void a_repository_without_credentials_has_its_templates(void **state) {
        struct fixture *f = *state;
        const struct config_repository *repo;

        must_load(f, APP SECRET("a", "repo-creds") "  url: https://git.example.com/team\n  bearerToken: hunter2\n"
                                                   "  forceHttpBasicAuth: 'true'\n  insecure: 'true'\n"
                     SECRET("b", "repository") "  url: https://git.example.com/team/shop\n  insecure: 'true'\n"
                     SECRET("c", "repository") "  url: https://git.example.com/team/other\n  username: u\n");
        repo = f->c->apps[0].sources->repository;
        assert_str(repo->bearer_token, "hunter2");
        assert_true(repo->force_basic);
        assert_true(repo->insecure);
        repo = config_find_repository(f->c, STR("https://git.example.com/team/other"), STR("default"));
        assert_str(repo->username, "u");
        assert_str(repo->bearer_token, "");
        repo = config_find_repository(f->c, STR("https://git.example.com/team/third"), STR("default"));
        assert_str(repo->bearer_token, "hunter2");
        assert_false(repo->insecure);
        assert_non_null(strstr(problems(f), "warning apps.yaml:31: insecure: the certificate of git.example.com is not checked"));
        assert_null(strstr(f->text.p, "hunter2"));
}

static void a_projects_repository_is_for_its_applications_alone(void **state) {
        struct fixture *f = *state;
        struct str url = STR("https://git.example.com/team/shop");

        must_load(f, APP "  project: team\n"
                     SECRET("a", "repository") "  url: https://git.example.com/team/shop\n  username: u1\n  project: team\n"
                     SECRET("b", "repository") "  url: https://git.example.com/team/shop\n  username: u2\n"
                     SECRET("c", "repository") "  url: https://git.example.com/team/shop\n  username: u3\n  project: other\n"
                     SECRET("d", "repository") "  url: https://git.example.com/x\n  username: u4\n  project: other\n"
                     "---\napiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team}\n"
                     "spec: {destinations: [{namespace: '*', server: '*'}]}\n");
        assert_int_equal(f->c->app_count, 1);
        assert_str(f->c->apps[0].sources->repository->username, "u1");
        assert_str(config_find_repository(f->c, url, STR("other"))->username, "u3");
        assert_str(config_find_repository(f->c, url, STR("third"))->username, "u2");
        assert_null(config_find_repository(f->c, STR("https://git.example.com/x"), STR("team")));
        assert_string_equal(problems(f), "");
}

static void two_secrets_for_one_repository_are_told(void **state) {
        struct fixture *f = *state;

        must_load(f, APP SECRET("a", "repository") "  url: https://git.example.com/team/shop\n  username: u1\n"
                     SECRET("b", "repository") "  url: https://git.example.com/team/shop\n  username: u2\n");
        assert_str(f->c->apps[0].sources->repository->username, "u1");
        assert_string_equal(problems(f), "warning apps.yaml:22: Secret b is not used: its url is that of apps.yaml:13 already\n");
}

static void a_server_has_the_authorities_of_its_name(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-tls-certs-cm}\n"
                                 "data: {git.example.com: none}\n"), ERR_INVAL);
        assert_string_equal(f->err.msg, "apps.yaml:4: data.git.example.com: no certificate in PEM form");
        must_load(f, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-tls-certs-cm}\n"
                     "data:\n  Git.example.com: |\n" CERTIFICATE);
        assert_non_null(config_find_ca(f->c, STR("git.example.com")));
        assert_null(config_find_ca(f->c, STR("example.com")));
}

static void secrets_never_get_into_a_message(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, SECRET("a", "repository") "  url: 'https://u:hunter2@x y'\n  pasword: hunter2\n"
                                                           "  password: 5\n"), ERR_INVAL);
        assert_null(strstr(problems(f), "hunter2"));
        assert_null(strstr(f->err.msg, "hunter2"));
        assert_non_null(strstr(f->text.p, "unknown key data.pasword, did you mean password?"));
        assert_int_equal(load(f, "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n"), ERR_INVAL);
}

static void credentials_inside_the_url_leave_it(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD "  source: {repoURL: 'https://me:hunter2@git.example.com/x'}\n");
        assert_str(f->c->apps[0].sources->repo_url, "https://git.example.com/x");
        assert_str(f->c->apps[0].sources->repository->username, "me");
        assert_str(f->c->apps[0].sources->repository->password, "hunter2");
}

static void folders_of_this_machine_need_permission(void **state) {
        struct fixture *f = *state;
        static const char text[] = APP_HEAD "  source: {repoURL: 'file:///srv/git/x'}\n";

        must_load(f, text);
        assert_int_equal(f->c->app_count, 0);
        assert_non_null(strstr(problems(f), "allowFileRepositories"));
        assert_int_equal(load(f, text), 0);
        f->c->agent.allow_file_repositories = true;
        config_settle(f->c);
        assert_int_equal(f->c->app_count, 1);
}

/* Projects. */

#define PROJECT "---\napiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team}\nspec:\n"

static void a_project_limits_its_applications(void **state) {
        struct fixture *f = *state;
        struct manifest_object o = { .group = STR("apps"), .kind = STR("Deployment"), .ns = STR("shop"), .name = STR("x"),
                                     .bound = true, .namespaced = true };

        must_load(f, APP "  project: team\n" PROJECT "  sourceRepos: ['https://git.example.com/team/*']\n"
                  "  destinations: [{server: '*', namespace: 'shop*'}, {server: https://other, namespace: '*'}]\n"
                  "  namespaceResourceBlacklist: [{group: '', kind: Secret}]\n");
        assert_int_equal(f->c->app_count, 1);
        struct manifest_protection p = config_protection(f->c, &f->c->apps[0]);

        assert_int_equal(manifest_check_protected(&o, &p, &f->err), 0);
        o.ns = STR("elsewhere");
        assert_int_equal(manifest_check_protected(&o, &p, &f->err), ERR_DENIED);
        o.ns = STR("shop");
        o.group = STR("");
        o.kind = STR("Secret");
        assert_int_equal(manifest_check_protected(&o, &p, &f->err), ERR_DENIED);
        o.kind = STR("Namespace");
        o.namespaced = false;
        assert_int_equal(manifest_check_protected(&o, &p, &f->err), ERR_DENIED);
}

static void a_repository_that_the_project_does_not_permit_is_refused(void **state) {
        struct fixture *f = *state;
        static const char *const permitted[] = { "'*'", "'https://git.example.com/**'", "'https://git.example.com/*/*'" };
        static const char *const forbidden[] = { "", "'https://git.example.com/*'", "'*', '!https://git.example.com/team/*'" };
        char text[2048];

        for (size_t i = 0; i < ARRAY_LEN(permitted); i++) {
                snprintf(text, sizeof(text), "%s  sourceRepos: [%s]\n", APP "  project: team\n" PROJECT, permitted[i]);
                must_load(f, text);
                assert_int_equal(f->c->app_count, 1);
        }
        for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
                snprintf(text, sizeof(text), "%s  sourceRepos: [%s]\n", APP "  project: team\n" PROJECT, forbidden[i]);
                must_load(f, text);
                assert_int_equal(f->c->app_count, 0);
                assert_non_null(strstr(problems(f), "its project team does not permit the repository"));
        }
}

static void a_project_with_windows_refuses_its_applications(void **state) {
        struct fixture *f = *state;

        must_load(f, APP "  project: team\n" PROJECT "  sourceRepos: ['*']\n  syncWindows: [{kind: deny}]\n");
        assert_int_equal(f->c->app_count, 0);
        assert_string_equal(problems(f), "refused apps.yaml:19: application argocd/shop is not run: its project team: "
                                         "spec.syncWindows: sync windows are not implemented yet\n");
}

static void an_unknown_project_matters_only_where_projects_are_used(void **state) {
        struct fixture *f = *state;

        must_load(f, APP "  project: nobody\n");
        assert_int_equal(f->c->app_count, 1);
        must_load(f, APP "  project: nobody\n" PROJECT);
        assert_int_equal(f->c->app_count, 0);
        must_load(f, APP PROJECT);
        assert_int_equal(f->c->app_count, 1);
}

static void own_objects_are_protected(void **state) {
        struct fixture *f = *state;
        struct manifest_object o = { .group = STR("rbac.authorization.k8s.io"), .kind = STR("ClusterRole"),
                                     .name = STR("truce-agent"), .bound = true };

        must_load(f, APP);
        struct manifest_protection p = config_protection(f->c, &f->c->apps[0]);

        assert_int_equal(manifest_check_protected(&o, &p, &f->err), ERR_DENIED);
        o.name = STR("trucebox");
        assert_int_equal(manifest_check_protected(&o, &p, &f->err), 0);
        f->c->agent.allow_own = true;
        p = config_protection(f->c, &f->c->apps[0]);
        o.name = STR("truce-agent");
        assert_int_equal(manifest_check_protected(&o, &p, &f->err), 0);
}

static void an_application_set_is_refused_and_the_rest_runs(void **state) {
        struct fixture *f = *state;

        must_load(f, APP "---\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x}\n");
        assert_int_equal(f->c->app_count, 1);
        assert_int_equal(f->c->refused_count, 1);
        assert_string_equal(problems(f), "refused apps.yaml:13: application x is not run: ApplicationSet is not implemented yet\n");
}

/* A chart's URL is no Git repository's. */
static void a_chart_is_refused_whatever_its_url(void **state) {
        struct fixture *f = *state;

        must_load(f, APP_HEAD "  source: {repoURL: 'https://charts.example.com', chart: x, targetRevision: 1.0.0}\n");
        assert_string_equal(problems(f), "refused apps.yaml:7: application argocd/shop is not run: spec.source.chart: Helm is not "
                                         "implemented yet\n");
}

static void kinds_are_excluded_and_included(void **state) {
        struct fixture *f = *state;

        must_load(f, APP "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n"
                         "  resource.exclusions: |\n    - apiGroups: ['*.k8s.io', '']\n      kinds: [Lease, Endpoints]\n"
                         "      clusters: ['*']\n    - kinds: ['*']\n      clusters: [https://other]\n    - apiGroups: [cilium.io]\n"
                         "  resource.inclusions: |\n    - kinds: [Lease, ConfigMap, Deployment]\n      apiGroups: null\n");
        const struct manifest_filter *filter = &f->c->apps[0].filter;

        assert_string_equal(problems(f), "");
        assert_int_equal(filter->excluded_count, 2);
        assert_true(manifest_is_excluded(filter, STR("coordination.k8s.io"), STR("Lease")));
        assert_true(manifest_is_excluded(filter, STR(""), STR("Endpoints")));
        assert_true(manifest_is_excluded(filter, STR("cilium.io"), STR("Deployment")));
        assert_false(manifest_is_excluded(filter, STR("apps"), STR("Deployment")));
        assert_false(manifest_is_excluded(filter, STR(""), STR("ConfigMap")));
        assert_false(manifest_is_excluded(filter, STR("other"), STR("Lease")));
        assert_true(manifest_is_excluded(filter, STR(""), STR("Secret")));
        assert_false(manifest_is_excluded(&(struct manifest_filter){ 0 }, STR(""), STR("Secret")));
}

static void mistakes_in_lists_of_kinds_are_told(void **state) {
        struct fixture *f = *state;

        assert_int_equal(load(f, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n"
                                 "  resource.exclusions: |\n    - apiGroup: [x]\n    - kinds: Lease\n    - apiGroups: ['[a']\n    - 7\n"
                                 "  resource.inclusions: x\n"), ERR_INVAL);
        assert_string_equal(problems(f),
                            "error apps.yaml:6: resource.exclusions: unknown key apiGroup, did you mean apiGroups?\n"
                            "error apps.yaml:7: resource.exclusions: kinds must be a list of strings\n"
                            "error apps.yaml:8: resource.exclusions: apiGroups: glob has a \"[\" without \"]\"\n"
                            "error apps.yaml:9: resource.exclusions: an element is a map, not a number\n"
                            "error apps.yaml:10: resource.inclusions must be a list, not a string\n");
}

static void argo_cds_config_map_is_an_error_where_it_would_change_a_sync(void **state) {
        struct fixture *f = *state;
        static const char head[] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n";
        char text[1024];

        snprintf(text, sizeof(text), "%s  url: https://x\n  dex.config: y\n  "
                                     "resource.customizations.actions.apps_Deployment: z\n", head);
        must_load(f, text);
        assert_string_equal(problems(f), "notice 3 settings have no meaning here and are left out (dex.config, …)\n");
        snprintf(text, sizeof(text), "%s  globalProjects: '[]'\n  resource.exclusion: x\n"
                                     "  application.sync.impersonation.enabled: 'false'\n", head);
        assert_int_equal(load(f, text), ERR_INVAL);
        assert_string_equal(problems(f),
                            "error apps.yaml:5: globalProjects: global projects are not implemented yet\n"
                            "error apps.yaml:6: unknown key data.resource.exclusion, did you mean resource.exclusions?\n");
}

/* Flags. */

static int flags(struct fixture *f, const char *line, struct config_app_flags *ret) {
        struct option_group group = { "Application", config_app_options, config_app_option_count, ret };
        struct arena *a = f->c->arena;
        struct str rest = arena_str(a, str_from(line)), word;
        const struct str *operands;
        char *argv[32];
        size_t count;
        int argc = 0;

        options_default(&group, 1, a);
        while (str_next(&rest, ' ', &word))
                argv[argc++] = (char *)(uintptr_t)arena_str(a, word).p;
        return options_parse(&group, 1, argc, argv, a, &operands, &count, &f->err);
}

static void flags_make_the_same_application(void **state) {
        struct fixture *f = *state;
        struct config_app_flags flag = { 0 };

        f->c = config_new();
        assert_int_equal(flags(f, "--repo https://git.example.com/Team/My_Shop.git --path deploy --namespace shop "
                                  "--recurse --include *.yaml --create-namespace", &flag), 0);
        assert_int_equal(config_add_flags(f->c, &flag, &f->err), 0);
        config_settle(f->c);
        assert_int_equal(f->c->app_count, 1);
        const struct config_app *a = &f->c->apps[0];

        assert_str(a->name, "my-shop");
        assert_str(a->instance, "my-shop");
        assert_str(a->sources->path, "deploy");
        assert_str(a->sources->revision, "HEAD");
        assert_true(a->automated && a->prune && a->self_heal && a->sources->recurse && a->create_namespace && a->from_flags);
        assert_int_equal(a->retry.limit, -1);
        assert_null(a->sources->repository);
}

static void flags_can_ask_for_less(void **state) {
        struct fixture *f = *state;
        struct config_app_flags flag = { 0 };

        f->c = config_new();
        assert_int_equal(flags(f, "--repo /srv/git/x --name y --detect-only --no-prune --no-self-heal", &flag), 0);
        assert_int_equal(config_add_flags(f->c, &flag, &f->err), 0);
        config_settle(f->c);
        assert_int_equal(f->c->app_count, 1);
        assert_false(f->c->apps[0].automated || f->c->apps[0].prune || f->c->apps[0].self_heal);
}

static void wrong_flags_are_refused(void **state) {
        static const char *const lines[] = {
                "", "--repo https://x/y --path ../z", "--repo https://x/y --include {a", "--repo https://x/y --exclude [",
                "--repo https://x/y --name a:b", "--repo https://x/y --name shop",
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                struct config_app_flags flag = { 0 };

                must_load(f, APP);
                assert_int_equal(flags(f, lines[i], &flag), 0);
                assert_int_equal(config_add_flags(f->c, &flag, &f->err), ERR_INVAL);
                assert_int_equal(f->c->app_count, 1);
        }
}

/* Files. */

static struct str write_file(struct arena *a, const char *dir, const char *name, const char *text) {
        struct str path = arena_strf(a, "%s/%s", dir, name);
        FILE *file = fopen(path.p, "w");

        assert_non_null(file);
        fputs(text, file);
        fclose(file);
        return path;
}

static void folders_are_read_in_order_without_dot_files(void **state) {
        struct fixture *f = *state;
        char dir[] = "/tmp/truce-config-XXXXXX";
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str paths[4];

        assert_non_null(mkdtemp(dir));
        paths[0] = write_file(a, dir, "b.yaml", APP);
        paths[1] = write_file(a, dir, ".hidden.yaml", "nonsense");
        paths[2] = write_file(a, dir, "notes.txt", "nonsense");
        paths[3] = write_file(a, dir, "a.json", "{\"apiVersion\":\"truce.dev/v1alpha1\",\"kind\":\"Agent\",\"metadata\":"
                                                "{\"name\":\"x\"},\"spec\":{\"pollInterval\":\"7s\"}}");
        struct str folder = arena_strf(a, "%s/", dir);

        assert_int_equal(config_load(&folder, 1, &f->c, &f->err), 0);
        assert_int_equal(f->c->app_count, 1);
        assert_int_equal(f->c->agent.poll_ms, 7000);
        assert_str(f->c->apps[0].place.file, paths[0].p);
        config_free(TAKE_PTR(f->c));

        assert_int_equal(config_load(paths, 2, &f->c, &f->err), ERR_INVAL);
        for (size_t i = 0; i < 4; i++)
                unlink(paths[i].p);
        rmdir(dir);
}

static void files_that_cannot_be_had_are_named(void **state) {
        struct fixture *f = *state;
        struct str gone = STR("/nonexistent/truce.yaml"), device = STR("/dev/null");

        assert_int_equal(config_load(&gone, 1, &f->c, &f->err), ERR_NOTFOUND);
        assert_non_null(strstr(f->err.msg, gone.p));
        assert_int_equal(config_load(&device, 1, &f->c, &f->err), ERR_INVAL);
        assert_null(f->c);
}

static void a_file_above_the_limit_is_refused(void **state) {
        struct fixture *f = *state;
        char path[] = "/tmp/truce-config-XXXXXX";
        int fd = mkstemp(path);
        struct str name = str_from(path);

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, 4 * 1024 * 1024 + 1), 0);
        assert_int_equal(config_load(&name, 1, &f->c, &f->err), ERR_LIMIT);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(config_load(&name, 1, &f->c, &f->err), 0);
        close(fd);
        unlink(path);
}

static void a_password_comes_from_its_file(void **state) {
        struct fixture *f = *state;
        struct config_app_flags flag = { .repo = STR("https://x/y"), .path = STR("."), .username = STR("me") };
        char path[] = "/tmp/truce-config-XXXXXX";
        int fd = mkstemp(path);

        assert_int_equal(write(fd, "token\n", 6), 6);
        close(fd);
        f->c = config_new();
        flag.password_file = str_from(path);
        assert_int_equal(config_add_flags(f->c, &flag, &f->err), 0);
        config_settle(f->c);
        assert_str(f->c->apps[0].sources->repository->username, "me");
        assert_str(f->c->apps[0].sources->repository->password, "token");
        unlink(path);
        flag.name = STR("second");
        assert_int_equal(config_add_flags(f->c, &flag, &f->err), ERR_NOTFOUND);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(an_application_gets_argo_cds_defaults),
                T(every_setting_of_an_application_arrives),
                T(automation_follows_presence_and_enabled),
                T(extra_paths_may_be_reported_by_agent_and_application),
                T(fights_and_overrides_have_settings),
                T(an_application_may_be_suspended),
                T(what_is_not_implemented_refuses_that_application_alone),
                T(an_ssh_repository_refuses_that_application),
                T(settings_that_are_off_refuse_nothing),
                T(irrelevant_settings_make_one_notice_in_all),
                T(mistakes_are_errors_with_file_line_and_nearest_key),
                T(all_mistakes_are_told_at_once),
                T(a_list_of_applications_as_kubectl_prints_it_is_read),
                T(the_agent_document_sets_what_flags_set),
                T(agent_defaults_hold_without_a_document),
                T(agent_mistakes_are_named),
                T(an_illegal_installation_id_refuses_all),
                T(applications_of_other_namespaces_carry_theirs_in_the_instance),
                T(two_applications_never_share_an_instance_name),
                T(of_two_applications_of_one_name_neither_runs_and_the_rest_does),
                T(the_longest_template_wins_and_its_own_secret_beats_all),
                T(credentials_stay_with_their_host),
                T(a_repository_that_needs_more_refuses_its_applications_without_showing_it),
                T(a_template_that_ends_in_a_slash_is_for_what_is_in_that_folder),
                T(blanks_around_a_secrets_url_are_none_of_it),
                T(a_repository_without_credentials_has_its_templates),
                T(a_projects_repository_is_for_its_applications_alone),
                T(two_secrets_for_one_repository_are_told),
                T(a_server_has_the_authorities_of_its_name),
                T(secrets_never_get_into_a_message),
                T(credentials_inside_the_url_leave_it),
                T(folders_of_this_machine_need_permission),
                T(a_project_limits_its_applications),
                T(a_repository_that_the_project_does_not_permit_is_refused),
                T(a_project_with_windows_refuses_its_applications),
                T(an_unknown_project_matters_only_where_projects_are_used),
                T(own_objects_are_protected),
                T(an_application_set_is_refused_and_the_rest_runs),
                T(a_chart_is_refused_whatever_its_url),
                T(kinds_are_excluded_and_included),
                T(mistakes_in_lists_of_kinds_are_told),
                T(argo_cds_config_map_is_an_error_where_it_would_change_a_sync),
                T(flags_make_the_same_application),
                T(flags_can_ask_for_less),
                T(wrong_flags_are_refused),
                T(folders_are_read_in_order_without_dot_files),
                T(files_that_cannot_be_had_are_named),
                T(a_file_above_the_limit_is_refused),
                T(a_password_comes_from_its_file),
        };

        return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The Agent document (truce.dev/v1alpha1) and the flags of the same names. */
#include "agent/config_impl.h"
#include "agent/groups.h"
#include "agent/leader.h"
#include "base/log.h"
#include "own/fight.h"
#include "sync/prune.h"

#define AT(field) offsetof(struct config_agent, field)
#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)
#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number

/* In the order of enum log_level and enum log_format. */
static const char *const log_levels[] = { "debug", "info", "warn", "error", NULL };
static const char *const log_formats[] = { "text", "json", NULL };
/* In the order of enum groups_mode. */
static const char *const lws_controllers[] = { "annotated", "all", "off", NULL };
_Static_assert(GROUPS_OFF == 2, "the words follow the enum");
/* In the order of enum config_extra_paths. */
static const char *const extra_paths[] = { "remove", "report", NULL };
/* In the order of enum config_election. */
static const char *const elections[] = { "auto", "true", "false", NULL };
_Static_assert(CONFIG_EXTRA_REPORT == 1 && CONFIG_ELECTION_OFF == 2, "the words follow the enums");
_Static_assert(LOG_ERROR == 3 && LOG_JSON == 1, "the words follow the enums");

const struct option_def config_agent_options[] = {
        { .name = "installation-id", .key = "installationId", .type = OPTION_TEXT, .at = AT(installation_id), .max = 63,
          .word = "ID", .help = "this agent's identity in the cluster; the agent's namespace when left out" },
        { .name = "agent-namespace", .key = "namespace", .type = OPTION_TEXT, .at = AT(ns), .fallback = "truce",
          .min = 1, .max = 63, .word = "NAMESPACE", .help = "where truce keeps its inventory" },
        { .name = "control-namespace", .key = "controlNamespace", .type = OPTION_TEXT, .at = AT(control_ns),
          .fallback = "argocd", .max = 63, .word = "NAMESPACE",
          .help = "Applications of this namespace go by their bare name in tracking ids" },
        { .name = "kubeconfig", .key = "kubeconfig", .type = OPTION_TEXT, .at = AT(kubeconfig), .word = "FILE",
          .help = "cluster to work on; $KUBECONFIG, the pod's own account or ~/.kube/config when left out" },
        { .name = "context", .key = "context", .type = OPTION_TEXT, .at = AT(context), .word = "NAME",
          .help = "context of the kubeconfig" },
        { .name = "config-namespace", .key = "configNamespace", .type = OPTION_TEXT, .at = AT(config_ns), .max = 63,
          .word = "NAMESPACE",
          .help = "read Application, AppProject, repository Secret and argocd-cm objects of this namespace" },
        { .name = "config-selector", .key = "configSelector", .type = OPTION_TEXT, .at = AT(config_selector),
          .word = "SELECTOR", .help = "only those that carry these labels" },
        { .name = "health-dir", .key = "healthDir", .type = OPTION_TEXT, .at = AT(health_dir), .word = "DIR",
          .help = "folder of health rules in Lua, <group>/<Kind>/health.lua" },
        { .name = "data-dir", .key = "dataDir", .type = OPTION_TEXT, .at = AT(data_dir), .word = "DIR",
          .help = "where copies of repositories are kept; truce/git in $XDG_CACHE_HOME or ~/.cache when left out" },
        { .name = "poll-interval", .key = "pollInterval", .type = OPTION_DURATION, .at = AT(poll_ms), .fallback = "30s",
          .min = SECOND, .max = 24 * HOUR, .help = "time between two looks at a repository" },
        { .name = "git-timeout", .key = "gitTimeout", .type = OPTION_DURATION, .at = AT(git_timeout_ms),
          .fallback = "2m", .min = SECOND, .max = HOUR, .help = "longest time for one Git operation" },
        { .name = "git-ca", .key = "gitCAFile", .type = OPTION_TEXT, .at = AT(git_ca), .word = "FILE",
          .help = "certificate authorities of Git servers, PEM; the system's when left out" },
        { .name = "workers", .key = "workers", .type = OPTION_NUMBER, .at = AT(workers), .fallback = "2", .min = 1,
          .max = 16, .help = "threads that render and compare" },
        { .name = "git-workers", .key = "gitWorkers", .type = OPTION_NUMBER, .at = AT(git_workers), .fallback = "4",
          .min = 1, .max = 16, .help = "threads that wait for Git" },
        { .name = "apply-parallel", .key = "applyParallel", .type = OPTION_NUMBER, .at = AT(apply_parallel),
          .fallback = "15", .min = 1, .max = 15, .help = "writes in flight at a time" },
        { .name = "listen", .key = "listen", .type = OPTION_TEXT, .at = AT(listen), .word = "HOST:PORT",
          .help = "address of /healthz, /readyz and /metrics" },
        { .name = "leader-elect", .key = "leaderElection", .type = OPTION_CHOICE, .at = AT(election), .choices = elections,
          .bare = "true", .fallback = "auto",
          .help = "of several processes one at a time writes; auto: in a cluster, with the pod's own account" },
        { .name = "leader-elect-lease-duration", .key = "leaseDuration", .type = OPTION_DURATION, .at = AT(lease_ms),
          .fallback = "15s", .min = LEADER_MIN_LEASE_MS, .max = LEADER_MAX_LEASE_MS,
          .help = "how long one that does not answer is waited for; a write may take half of it" },
        { .name = "prune-max-count", .key = "prune.maxCount", .type = OPTION_NUMBER, .at = AT(prune_max_count),
          .fallback = TEXT_OF(PRUNE_DEFAULT_MAX_COUNT), .min = 0, .max = 1000000,
          .help = "a prune of more objects than this and of more than --prune-max-percent is held" },
        { .name = "prune-max-percent", .key = "prune.maxPercent", .type = OPTION_NUMBER, .at = AT(prune_max_percent),
          .fallback = TEXT_OF(PRUNE_DEFAULT_MAX_PERCENT), .min = 0, .max = 100,
          .help = "the same, in percent of the application" },
        /* Switching the budget off takes a flag: a document could be changed by what is being pruned. */
        { .name = "prune-budget", .type = OPTION_BOOL, .at = AT(prune_budget), .fallback = "true",
          .help = "hold prunes that exceed the budget" },
        { .name = "replicas-hold", .key = "replicasHold", .type = OPTION_DURATION, .at = AT(replicas_hold_ms),
          .fallback = "10m", .min = 0, .max = 24 * HOUR,
          .help = "how long replicas stay as an autoscaler left them after it is gone; it may be about to come back" },
        { .name = "extra-paths", .key = "ownership.extraPaths", .type = OPTION_CHOICE, .at = AT(extra_paths),
          .choices = extra_paths, .fallback = "remove",
          .help = "what people add to objects by hand, where self-heal is on: remove it, or only report it" },
        /* Six turns are three of theirs and three of ours: two would catch an ordinary edit that is healed. */
        { .key = "ownership.fights.turns", .type = OPTION_NUMBER, .at = AT(fight_turns), .fallback = "6", .min = 2,
          .max = FIGHT_MAX_TURNS, .hidden = true, .help = "a field that changes hands this often in a window is left alone" },
        { .key = "ownership.fights.window", .type = OPTION_DURATION, .at = AT(fight_window_ms), .fallback = "1m",
          .min = 1000, .max = HOUR, .hidden = true, .help = "how long turns count" },
        { .key = "ownership.fights.pause", .type = OPTION_DURATION, .at = AT(fight_pause_ms), .fallback = "1m", .min = 1000,
          .max = 24 * HOUR, .hidden = true, .help = "how long a contested field is left alone at first" },
        { .key = "ownership.fights.maxPause", .type = OPTION_DURATION, .at = AT(fight_max_pause_ms), .fallback = "1h",
          .min = 1000, .max = 24 * HOUR, .hidden = true, .help = "and at most, as it doubles" },
        { .key = "ownership.maxOverride", .type = OPTION_DURATION, .at = AT(max_override_ms), .fallback = "24h", .min = 0,
          .max = 30 * 24 * HOUR, .hidden = true, .help = "how long a person may keep a change at most" },
        { .name = "allow-file-repositories", .key = "allowFileRepositories", .type = OPTION_BOOL,
          .at = AT(allow_file_repositories), .help = "let Application documents name folders of this machine" },
        { .name = "allow-own-objects", .key = "allowOwnObjects", .type = OPTION_BOOL, .at = AT(allow_own),
          .help = "let Git manage truce's own namespace, account and rights" },
        { .name = "adopt-argocd", .key = "adoptArgoCD", .type = OPTION_BOOL, .at = AT(adopt_argocd),
          .help = "take over objects of an Argo CD application of the same name" },
        { .name = "strict-yaml", .key = "strictYaml", .type = OPTION_BOOL, .at = AT(strict_yaml),
          .help = "a key that is given twice is an error" },
        { .key = "ownership.rules", .type = OPTION_VALUE, .at = AT(rules_value), .hidden = true,
          .help = "who may keep which fields" },
        { .key = "ignore.rules", .type = OPTION_VALUE, .at = AT(ignores_value), .hidden = true,
          .help = "what may differ from Git" },
        { .name = "events", .key = "events", .type = OPTION_BOOL, .at = AT(events), .fallback = "true",
          .help = "tell of fields by Kubernetes Events" },
        { .name = "lws-controller", .key = "lwsController", .type = OPTION_CHOICE, .at = AT(lws_controller),
          .choices = lws_controllers, .fallback = "annotated",
          .help = "which LeaderWorkerSets truce runs: those that are annotated, all, or none" },
        { .name = "log-level", .key = "log.level", .type = OPTION_CHOICE, .at = AT(log_level), .choices = log_levels,
          .fallback = "info", .help = "what is logged" },
        { .name = "log-format", .key = "log.format", .type = OPTION_CHOICE, .at = AT(log_format),
          .choices = log_formats, .fallback = "text", .help = "how it is logged" },
};
const size_t config_agent_option_count = ARRAY_LEN(config_agent_options);

static void complain(void *ctx, uint32_t line, const char *message) {
        reader_error(ctx, line, "%s", message);
}

void config_read_agent(struct reader *r) {
        static const struct config_key keys[] = { { "spec", SETTING_USED, NULL } };
        struct option_group group = { "Agent", config_agent_options, config_agent_option_count, &r->c->agent };

        config_check_keys(r, keys, ARRAY_LEN(keys));
        options_read(&group, 1, value_getc(r->o->value, "spec"), r->a, complain, r);
        r->c->agent.rules = config_read_rules(r, r->c->agent.rules_value, "spec.ownership.rules", 0);
        config_read_agent_ignores(r, r->c->agent.ignores_value);
}

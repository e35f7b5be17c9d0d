/* SPDX-License-Identifier: Apache-2.0 */
/* apps/v1 and ReplicationController: what keeps pods running. */
#include "sandbox/validate_kinds.h"

#define ALWAYS_LISTED "\"Always\""

static const struct value *spec_of(const struct value *object) {
        return get(object, "spec");
}

static void check_spec_immutable(struct check *c, const char *field) {
        const struct value *now = get(spec_of(c->object), field), *before = get(spec_of(c->live), field);

        if (c->live && !same_semantically(now, before))
                fault_invalid(c, AT_STR(AT(NULL, "spec"), str_from(field)), now, "field is immutable");
}

static void check_selector_immutable(struct check *c) {
        const struct value *now = get(spec_of(c->object), "selector"), *before = get(spec_of(c->live), "selector");

        if (c->live && !same_semantically(now, before))
                fault_invalid_raw(c, AT(AT(NULL, "spec"), "selector"), selector_json(now, c->a), "field is immutable");
}

static void check_template_labels(struct check *c, const struct value *selector, const struct value *template) {
        const struct value *labels = value_path(template, "metadata", "labels", NULL);

        if (!selector_matches(selector, labels))
                fault_invalid(c, AT(AT(AT(AT(NULL, "spec"), "template"), "metadata"), "labels"), labels,
                              "`selector` does not match template `labels`");
}

static void check_always(struct check *c, const struct value *template, const char *kind) {
        const struct value *spec = get(template, "spec");
        const struct at *at = AT(AT(AT(NULL, "spec"), "template"), "spec");

        if (!str_eqc(text_of(spec, "restartPolicy"), "Always"))
                fault_unsupported(c, AT(at, "restartPolicy"), text_of(spec, "restartPolicy"), ALWAYS_LISTED);
        if (get(spec, "activeDeadlineSeconds"))
                fault_forbidden(c, AT(at, "activeDeadlineSeconds"),
                                arena_strf(c->a, "activeDeadlineSeconds in %s is not Supported", kind).p);
}

/* False when the selector cannot be used, so that nothing can be told about the template either. */
static bool check_workload_selector(struct check *c, const struct at *at, const struct value *selector,
                                    const char *kind, const char *unusable) {
        if (!selector) {
                fault_required(c, AT(at, "selector"), "");
                return true;
        }
        check_selector(c, AT(at, "selector"), selector);
        if (!count_of(selector, "matchLabels") && !count_of(selector, "matchExpressions"))
                fault_invalid_raw(c, AT(at, "selector"), selector_json(selector, c->a),
                                  arena_strf(c->a, "empty selector is invalid for %s", kind).p);
        if (selector_is_usable(selector))
                return true;
        fault_invalid_raw(c, AT(at, "selector"), selector_json(selector, c->a), unusable);
        return false;
}

/* Selector and template of a Deployment or ReplicaSet. */
static void check_replicated(struct check *c) {
        const struct value *spec = spec_of(c->object), *selector = get(spec, "selector");
        const struct value *template = get(spec, "template");
        const struct at *at = AT(NULL, "spec");

        if (!check_workload_selector(c, at, selector, "deployment", "invalid label selector"))
                return;
        check_template_labels(c, selector, template);
        check_pod_template(c, AT(at, "template"), template);
        check_always(c, template, "ReplicaSet");
}

/* Go's structs as the server prints them inside a message. */
static struct str strategy_json(const struct value *strategy, struct arena *a) {
        const struct value *rolling = get(strategy, "rollingUpdate");
        struct str type = quoted(text_of(strategy, "type"), a), inner = STR("null");

        if (rolling)
                inner = arena_strf(a, "{\"MaxUnavailable\":%s,\"MaxSurge\":%s}",
                                   get(rolling, "maxUnavailable") ? go_json(get(rolling, "maxUnavailable"), a).p : "0",
                                   get(rolling, "maxSurge") ? go_json(get(rolling, "maxSurge"), a).p : "0");
        return arena_strf(a, "{\"Type\":%s,\"RollingUpdate\":%s}", type.p, inner.p);
}

static void check_deployment_rolling(struct check *c, const struct at *at, const struct value *rolling) {
        const struct value *unavailable = get(rolling, "maxUnavailable"), *surge = get(rolling, "maxSurge");

        check_int_or_percent(c, AT(at, "maxUnavailable"), unavailable);
        check_int_or_percent(c, AT(at, "maxSurge"), surge);
        if (!int_or_percent(unavailable) && !int_or_percent(surge))
                fault_invalid_raw(c, AT(at, "maxUnavailable"), unavailable ? go_json(unavailable, c->a) : STR("0"),
                                  "may not be 0 when `maxSurge` is 0");
        check_at_most_100_percent(c, AT(at, "maxUnavailable"), unavailable);
}

static void check_strategy(struct check *c, const struct at *at, const struct value *strategy) {
        const struct value *rolling = get(strategy, "rollingUpdate");
        struct str type = text_of(strategy, "type");

        if (str_eqc(type, "Recreate")) {
                if (rolling)
                        fault_forbidden(c, AT(at, "rollingUpdate"),
                                        "may not be specified when strategy `type` is 'Recreate'");
        } else if (!str_eqc(type, "RollingUpdate"))
                fault_unsupported_raw(c, at, strategy_json(strategy, c->a), "\"Recreate\", \"RollingUpdate\"");
        else if (!rolling)
                fault_required(c, AT(at, "rollingUpdate"), "this should be defaulted and never be nil");
        else
                check_deployment_rolling(c, AT(at, "rollingUpdate"), rolling);
}

void check_deployment(struct check *c) {
        const struct value *spec = spec_of(c->object);
        const struct at *at = AT(NULL, "spec");
        int64_t progress = 0;

        check_nonnegative_field(c, at, spec, "replicas");
        check_replicated(c);
        check_strategy(c, AT(at, "strategy"), get(spec, "strategy"));
        check_nonnegative_field(c, at, spec, "minReadySeconds");
        check_nonnegative_field(c, at, spec, "revisionHistoryLimit");
        if (value_to_i64(get(spec, "progressDeadlineSeconds"), &progress)) {
                check_nonnegative(c, AT(at, "progressDeadlineSeconds"), progress);
                if (progress <= int_of(spec, "minReadySeconds"))
                        fault_invalid_int(c, AT(at, "progressDeadlineSeconds"), progress,
                                          "must be greater than minReadySeconds");
        }
        check_selector_immutable(c);
}

void check_replica_set(struct check *c) {
        const struct value *spec = spec_of(c->object);
        const struct at *at = AT(NULL, "spec");

        check_nonnegative_field(c, at, spec, "replicas");
        check_nonnegative_field(c, at, spec, "minReadySeconds");
        check_replicated(c);
        check_selector_immutable(c);
}

void check_replication_controller(struct check *c) {
        const struct value *spec = spec_of(c->object), *selector = get(spec, "selector");
        const struct value *template = get(spec, "template");
        const struct at *at = AT(NULL, "spec");

        if (!value_count(selector))
                fault_required(c, AT(at, "selector"), "");
        if (!template)
                fault_required(c, AT(at, "template"), "");
        else {
                check_template_labels(c, value_with(c->a, NULL, STR("matchLabels"), selector), template);
                check_pod_template(c, AT(at, "template"), template);
                check_always(c, template, "ReplicationController");
        }
        if (!get(spec, "replicas"))
                late_required(c, AT(at, "replicas"));
        else if (int_of(spec, "replicas") < 0)
                late_invalid(c, AT(at, "replicas"), get(spec, "replicas"), "must be greater than or equal to 0");
        if (int_of(spec, "minReadySeconds") < 0)
                late_invalid(c, AT(at, "minReadySeconds"), get(spec, "minReadySeconds"),
                             "must be greater than or equal to 0");
}

/* --- StatefulSet --- */

static void check_stateful_rolling(struct check *c, const struct at *at, const struct value *rolling) {
        const struct value *unavailable = get(rolling, "maxUnavailable");

        check_nonnegative_field(c, at, rolling, "partition");
        if (!unavailable)
                return;
        check_int_or_percent(c, AT(at, "maxUnavailable"), unavailable);
        if (!int_or_percent(unavailable))
                fault_invalid(c, AT(at, "maxUnavailable"), unavailable, "cannot be 0");
        check_at_most_100_percent(c, AT(at, "maxUnavailable"), unavailable);
}

static struct str stateful_rolling_json(const struct value *rolling, struct arena *a) {
        if (!rolling)
                return STR("null");
        return arena_strf(a, "{\"Partition\":%lld,\"MaxUnavailable\":%s}", (long long)int_of(rolling, "partition"),
                          go_json(get(rolling, "maxUnavailable"), a).p);
}

static void check_stateful_strategy(struct check *c, const struct at *at, const struct value *strategy) {
        const struct value *rolling = get(strategy, "rollingUpdate");
        struct str type = text_of(strategy, "type");

        if (!type.n)
                fault_required(c, at, "");
        else if (str_eqc(type, "OnDelete")) {
                if (rolling)
                        fault_invalid_raw(c, AT(at, "rollingUpdate"), stateful_rolling_json(rolling, c->a),
                                          "only allowed for updateStrategy 'RollingUpdate'");
        } else if (str_eqc(type, "RollingUpdate")) {
                if (rolling)
                        check_stateful_rolling(c, AT(at, "rollingUpdate"), rolling);
        } else
                fault_invalid_raw(c, at,
                                  arena_strf(c->a, "{\"Type\":%s,\"RollingUpdate\":%s}", quoted(type, c->a).p,
                                             stateful_rolling_json(rolling, c->a).p),
                                  "must be 'RollingUpdate' or 'OnDelete'");
}

static void check_retention(struct check *c, const struct at *at, const struct value *policy) {
        static const char *const fields[] = { "whenDeleted", "whenScaled" };

        for (size_t i = 0; policy && i < 2; i++) {
                struct str s = text_of(policy, fields[i]);

                if (!str_eqc(s, "Retain") && !str_eqc(s, "Delete"))
                        fault_unsupported(c, AT_STR(at, str_from(fields[i])), s, "\"Retain\", \"Delete\"");
        }
}

/* The template as the pods get it: claims are volumes, and names are the controller's. */
static const struct value *stateful_template(struct check *c, const struct value *spec) {
        const struct value *claims = get(spec, "volumeClaimTemplates"), *template = get(spec, "template");
        const struct value *pod = get(template, "spec"), *volumes = get(pod, "volumes");
        struct value_list_builder b = { 0 };

        for (EACH(i, claims)) {
                const struct value *name = value_path(item_of(claims, i), "metadata", "name", NULL);
                const struct value *claim = value_with(c->a, NULL, STR("claimName"), name);
                bool again = false;

                for (size_t j = 0; j < i; j++)
                        again = again || same(value_path(item_of(claims, j), "metadata", "name", NULL), name);
                if (!again)
                        value_list_add(&b, value_with(c->a, value_with(c->a, NULL, STR("name"), name),
                                                      STR("persistentVolumeClaim"), claim));
        }
        for (EACH(i, volumes)) {
                bool replaced = false;

                for (EACH(j, claims))
                        replaced = replaced || same(value_path(item_of(claims, j), "metadata", "name", NULL),
                                                    get(item_of(volumes, i), "name"));
                if (!replaced)
                        value_list_add(&b, item_of(volumes, i));
        }
        pod = value_with(c->a, value_with(c->a, pod, STR("subdomain"), NULL), STR("hostname"), NULL);
        pod = value_with(c->a, pod, STR("volumes"), value_list_end(&b, c->a, 0));
        return value_with(c->a, template, STR("spec"), pod);
}

static void check_stateful_selector(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *selector = get(spec, "selector"), *template = get(spec, "template");
        const struct at *template_at = AT(at, "template");

        if (!check_workload_selector(c, at, selector, "statefulset", ""))
                return;
        check_template_labels(c, selector, template);
        check_pod_template(c, template_at, stateful_template(c, spec));
        /* Once more, as the server does; merged later. */
        check_labels(c, AT(template_at, "labels"), value_path(template, "metadata", "labels", NULL));
        check_annotations(c, AT(template_at, "annotations"), value_path(template, "metadata", "annotations", NULL));
}

void check_stateful_set(struct check *c) {
        const struct value *spec = spec_of(c->object), *claims = get(spec, "volumeClaimTemplates");
        const struct at *at = AT(NULL, "spec");
        struct str management = text_of(spec, "podManagementPolicy");

        if (!management.n)
                fault_required(c, AT(at, "podManagementPolicy"), "");
        else if (!str_eqc(management, "OrderedReady") && !str_eqc(management, "Parallel"))
                fault_invalid_str(c, AT(at, "podManagementPolicy"), management, "must be 'OrderedReady' or 'Parallel'");
        check_stateful_strategy(c, AT(at, "updateStrategy"), get(spec, "updateStrategy"));
        check_retention(c, AT(at, "persistentVolumeClaimRetentionPolicy"),
                        get(spec, "persistentVolumeClaimRetentionPolicy"));
        for (size_t i = 0; !c->live && i < list_count(claims); i++) /* they cannot change */
                check_pvc_spec(c, AT(AT_INDEX(AT(at, "volumeClaimTemplates"), i), "spec"),
                               get(item_of(claims, i), "spec"));
        check_nonnegative_field(c, at, spec, "replicas");
        check_nonnegative_field(c, at, spec, "minReadySeconds");
        if (get(spec, "ordinals"))
                check_nonnegative(c, AT(at, "ordinals.start"), int_of(get(spec, "ordinals"), "start"));
        if (!c->live && text_of(spec, "serviceName").n)
                check_text(c, AT(at, "serviceName"), TEXT_DNS_LABEL, text_of(spec, "serviceName"));
        check_stateful_selector(c, at, spec);
        check_always(c, get(spec, "template"), "StatefulSet");
        check_selector_immutable(c);
        if (c->live &&
            !same_semantically(get(spec, "volumeClaimTemplates"), get(spec_of(c->live), "volumeClaimTemplates")))
                fault_invalid_raw(c, AT(at, "volumeClaimTemplates"),
                                  go_claims_text(get(spec, "volumeClaimTemplates"), c->a), "field is immutable");
        check_spec_immutable(c, "serviceName");
        check_spec_immutable(c, "podManagementPolicy");
}

/* --- DaemonSet --- */

static void check_daemon_rolling(struct check *c, const struct at *at, const struct value *rolling) {
        const struct value *unavailable = get(rolling, "maxUnavailable"), *surge = get(rolling, "maxSurge");
        bool has_unavailable = int_or_percent(unavailable) != 0, has_surge = int_or_percent(surge) != 0;

        check_int_or_percent(c, AT(at, "maxUnavailable"), unavailable);
        check_int_or_percent(c, AT(at, "maxSurge"), surge);
        check_at_most_100_percent(c, AT(at, "maxUnavailable"), unavailable);
        check_at_most_100_percent(c, AT(at, "maxSurge"), surge);
        if (has_unavailable && has_surge)
                fault_invalid(c, AT(at, "maxSurge"), surge, "may not be set when maxUnavailable is non-zero");
        else if (!has_unavailable && !has_surge)
                fault_required(c, AT(at, "maxUnavailable"), "cannot be 0 when maxSurge is 0");
}

static void check_daemon_strategy(struct check *c, const struct at *at, const struct value *strategy) {
        const struct value *rolling = get(strategy, "rollingUpdate");
        struct str type = text_of(strategy, "type");

        if (str_eqc(type, "OnDelete"))
                return;
        if (!str_eqc(type, "RollingUpdate"))
                fault_unsupported_raw(c, at, strategy_json(strategy, c->a), "\"RollingUpdate\", \"OnDelete\"");
        else if (!rolling)
                fault_required(c, AT(at, "rollingUpdate"), "");
        else
                check_daemon_rolling(c, AT(at, "rollingUpdate"), rolling);
}

void check_daemon_set(struct check *c) {
        const struct value *spec = spec_of(c->object), *selector = get(spec, "selector");
        const struct value *template = get(spec, "template");
        const struct at *at = AT(NULL, "spec");

        check_selector_immutable(c);
        check_selector(c, AT(at, "selector"), selector);
        if (!selector || selector_is_usable(selector))
                check_template_labels(c, selector, template);
        if (selector && !count_of(selector, "matchLabels") && !count_of(selector, "matchExpressions"))
                fault_invalid_raw(c, AT(at, "selector"), selector_json(selector, c->a),
                                  "empty selector is invalid for daemonset");
        check_pod_template(c, AT(at, "template"), template);
        check_always(c, template, "DaemonSet");
        check_nonnegative_field(c, at, spec, "minReadySeconds");
        check_daemon_strategy(c, AT(at, "updateStrategy"), get(spec, "updateStrategy"));
        check_nonnegative_field(c, at, spec, "revisionHistoryLimit");
}

void check_controller_revision(struct check *c) {
        check_nonnegative_field(c, NULL, c->object, "revision");
        if (!get(c->object, "data"))
                fault_required(c, AT(NULL, "data"), "data is mandatory");
        if (c->live)
                check_immutable(c, AT(NULL, "data"), get(c->object, "data"), get(c->live, "data"));
}

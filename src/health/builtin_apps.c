/* SPDX-License-Identifier: Apache-2.0 */
/* Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController. */
#include "health/builtin.h"

/*
 * Has the controller seen what the spec says now? These kinds always publish it, so missing is 0. `zero_is_old`: as
 * Argo CD has it for StatefulSets, also of an object without a generation.
 */
static bool is_observed(const struct rule *r, bool zero_is_old) {
        int64_t generation = rule_generation(r->object), observed = 0;

        rule_observed(r->object, &observed);
        if (observed >= generation && !(zero_is_old && observed == 0))
                return true;
        if (observed > 0)
                rule_say_unobserved(r, observed, generation);
        else
                rule_say_no_status(r);
        return false;
}

/* "1 of 3 updated", when there are fewer than wanted. */
static bool says_fewer(const struct rule *r, int64_t have, int64_t want, const char *what) {
        if (have >= want)
                return false;
        rule_say(r, HEALTH_PROGRESSING, "%lld of %lld %s", (long long)have, (long long)want, what);
        return true;
}

/* Why pods are not made (a quota, an admission policy), behind what was said. */
static void add_failure(const struct rule *r) {
        struct str says;

        if (r->h->code == HEALTH_PROGRESSING && rule_is_true(r, "ReplicaFailure", &says))
                rule_say(r, HEALTH_PROGRESSING, "%.*s; %.*s", STR_FMT(r->h->message), STR_FMT(says));
}

static bool is_past_deadline(const struct rule *r) {
        return str_eqc(rule_text(rule_condition(r, "Progressing"), "reason"), "ProgressDeadlineExceeded");
}

static void say_past_deadline(const struct rule *r) {
        rule_say(r, HEALTH_DEGRADED, "progress deadline exceeded: %lld of %lld updated, %lld available",
                 (long long)rule_count(r->status, "updatedReplicas"), (long long)rule_count_or(r->spec, "replicas", 1),
                 (long long)rule_count(r->status, "availableReplicas"));
        r->h->terminal = true;
}

static void roll_out(const struct rule *r) {
        int64_t updated = rule_count(r->status, "updatedReplicas"), all = rule_count(r->status, "replicas");
        int64_t available = rule_count(r->status, "availableReplicas");

        if (says_fewer(r, updated, rule_count(r->spec, "replicas"), "updated"))
                return;
        if (all > updated)
                rule_say(r, HEALTH_PROGRESSING, "old replicas still to go: %lld", (long long)(all - updated));
        else if (!says_fewer(r, available, updated, "available"))
                rule_say_only(r, HEALTH_HEALTHY);
}

void builtin_deployment(const struct rule *r) {
        if (rule_flag(r->spec, "paused")) {
                rule_say(r, HEALTH_SUSPENDED, "paused");
                return;
        }
        if (!is_observed(r, false))
                return;
        if (is_past_deadline(r)) {
                say_past_deadline(r);
                return;
        }
        roll_out(r);
        add_failure(r);
}

/*
 * A rolling update. Argo CD is content when there are enough updated ones above the partition; without a partition we
 * also want the revisions to agree, as kubectl and kstatus do.
 */
static void roll_set(const struct rule *r) {
        const struct value *update = value_path(r->spec, "updateStrategy", "rollingUpdate", NULL);
        int64_t replicas = rule_count_or(r->spec, "replicas", 1), partition = rule_count(update, "partition");
        int64_t updated = rule_count(r->status, "updatedReplicas");
        bool differ = !str_eq(rule_text(r->status, "updateRevision"), rule_text(r->status, "currentRevision"));

        if (value_getc(update, "partition") && updated < replicas - partition)
                rule_say(r, HEALTH_PROGRESSING, "%lld of %lld updated%s", (long long)updated,
                         (long long)(replicas - partition), partition > 0 ? " above its partition" : "");
        else if (partition > 0 && differ)
                rule_say(r, HEALTH_HEALTHY, "%lld of %lld updated, as its partition is %lld", (long long)updated,
                         (long long)replicas, (long long)partition);
        else if (differ && replicas > 0)
                rule_say(r, HEALTH_PROGRESSING, "%lld of %lld updated, its new revision is not current yet",
                         (long long)updated, (long long)replicas);
        else
                rule_say_only(r, HEALTH_HEALTHY);
}

static void say_on_delete(const struct rule *r, int64_t updated, int64_t wanted) {
        if (updated < wanted)
                rule_say(r, HEALTH_HEALTHY, "%lld of %lld updated, the others when their pods are deleted",
                         (long long)updated, (long long)wanted);
        else
                rule_say_only(r, HEALTH_HEALTHY);
}

static bool is_on_delete(const struct rule *r) {
        return str_eqc(rule_text(value_getc(r->spec, "updateStrategy"), "type"), "OnDelete");
}

void builtin_stateful_set(const struct rule *r) {
        if (!is_observed(r, true) ||
            says_fewer(r, rule_count(r->status, "readyReplicas"), rule_count(r->spec, "replicas"), "ready"))
                return;
        if (is_on_delete(r))
                say_on_delete(r, rule_count(r->status, "updatedReplicas"), rule_count(r->spec, "replicas"));
        else
                roll_set(r);
}

void builtin_daemon_set(const struct rule *r) {
        int64_t wanted = rule_count(r->status, "desiredNumberScheduled");
        int64_t updated = rule_count(r->status, "updatedNumberScheduled");

        if (!is_observed(r, false))
                return;
        if (is_on_delete(r))
                say_on_delete(r, updated, wanted);
        else if (!says_fewer(r, updated, wanted, "updated") &&
                 !says_fewer(r, rule_count(r->status, "numberAvailable"), wanted, "available"))
                rule_say_only(r, HEALTH_HEALTHY);
}

/* Of a ReplicationController, too: its fields have the same names. */
void builtin_replica_set(const struct rule *r) {
        struct str says;

        if (!is_observed(r, false))
                return;
        if (rule_is_true(r, "ReplicaFailure", &says))
                rule_say_text(r, HEALTH_DEGRADED, says);
        else if (!says_fewer(r, rule_count(r->status, "availableReplicas"), rule_count(r->spec, "replicas"),
                             "available"))
                rule_say_only(r, HEALTH_HEALTHY);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is written through /status. */
#include "sandbox/validate_kinds.h"
#include "sandbox/validate_regex.h"

struct status_rules {
        const char *kind;
        const char *numbers[12];  /* not negative, in this order */
        const char *not_above[6]; /* not above `replicas` */
        const char *ready_text;   /* availableReplicas against readyReplicas; NULL: not compared */
};

static const struct status_rules status_table[] = {
        { "Deployment",
          { "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
            "unavailableReplicas", "terminatingReplicas", "collisionCount" },
          { "updatedReplicas", "readyReplicas", "availableReplicas" },
          "cannot be greater than readyReplicas" },
        { "ReplicaSet",
          { "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
            "terminatingReplicas" },
          { "fullyLabeledReplicas", "readyReplicas", "availableReplicas" },
          "cannot be greater than readyReplicas" },
        { "ReplicationController",
          { "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration" },
          { "fullyLabeledReplicas", "readyReplicas", "availableReplicas" },
          "cannot be greater than readyReplicas" },
        { "StatefulSet",
          { "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
            "observedGeneration", "collisionCount" },
          { "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas" },
          "cannot be greater than status.readyReplicas" },
        { "DaemonSet",
          { "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
            "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount" },
          { NULL },
          NULL },
        { "HorizontalPodAutoscaler", { "currentReplicas", "desiredReplicas" }, { NULL }, NULL },
        { "PodDisruptionBudget",
          { "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods" },
          { NULL },
          NULL },
};

static void check_status_as(struct check *c, const struct status_rules *r) {
        const struct value *status = get(c->object, "status");
        const struct at *at = AT(NULL, "status");
        int64_t replicas = int_of(status, "replicas"), available = int_of(status, "availableReplicas");

        for (size_t i = 0; r->numbers[i]; i++)
                check_nonnegative_field(c, at, status, r->numbers[i]);
        for (size_t i = 0; r->not_above[i]; i++)
                if (int_of(status, r->not_above[i]) > replicas)
                        fault_invalid_int(c, AT_STR(at, str_from(r->not_above[i])), int_of(status, r->not_above[i]),
                                          "cannot be greater than status.replicas");
        if (r->ready_text && available > int_of(status, "readyReplicas"))
                fault_invalid_int(c, AT(at, "availableReplicas"), available, r->ready_text);
        const struct value *collisions = get(get(c->live, "status"), "collisionCount");

        if (collisions && (!get(status, "collisionCount") ||
                           int_of(status, "collisionCount") < int_of(get(c->live, "status"), "collisionCount")))
                fault_invalid_int(c, AT(at, "collisionCount"), int_of(status, "collisionCount"),
                                  "cannot be decremented");
}

/* --- conditions as metav1 has them --- */

#define REASON_PATTERN       "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
#define REASON_MAX_BYTES     1024
#define CONDITION_TEXT_BYTES (32 * 1024)

static void check_reason(struct check *c, const struct at *at, struct str reason) {
        if (!reason.n) {
                fault_required(c, at, "");
                return;
        }
        if (regex_match(STR("^" REASON_PATTERN "$"), reason, c->a) == REGEX_DIFFERS)
                fault_invalid_str(c, at, reason,
                                  "a condition reason must start with alphabetic character, optionally followed by a "
                                  "string of alphanumeric characters or '_,:', and must end with an alphanumeric "
                                  "character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or "
                                  "'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
                                  "'" REASON_PATTERN "')");
        if (reason.n > REASON_MAX_BYTES)
                fault_too_long(c, at, REASON_MAX_BYTES);
}

static void check_condition(struct check *c, const struct at *at, const struct value *condition) {
        static const char *const states[] = { "False", "True", "Unknown", NULL };
        struct str type = text_of(condition, "type"), status = text_of(condition, "status");
        int64_t generation = int_of(condition, "observedGeneration");

        if (type.n)
                check_text(c, AT(at, "type"), TEXT_LABEL_KEY, type);
        else
                fault_required(c, AT(at, "type"), "is required");
        if (!status.n)
                fault_required(c, AT(at, "status"), "");
        else if (!is_one_of(status, states))
                fault_unsupported(c, AT(at, "status"), status, "\"False\", \"True\", \"Unknown\"");
        if (generation < 0)
                fault_invalid_int(c, AT(at, "observedGeneration"), generation, "must be greater than or equal to zero");
        if (!text_of(condition, "lastTransitionTime").n)
                fault_required(c, AT(at, "lastTransitionTime"), "");
        check_reason(c, AT(at, "reason"), text_of(condition, "reason"));
        if (text_of(condition, "message").n > CONDITION_TEXT_BYTES)
                fault_too_long(c, AT(at, "message"), CONDITION_TEXT_BYTES);
}

static bool is_seen(const struct value *conditions, size_t i) {
        for (size_t j = 0; j < i; j++)
                if (same(get(item_of(conditions, j), "type"), get(item_of(conditions, i), "type")))
                        return true;
        return false;
}

static void check_conditions(struct check *c) {
        const struct value *conditions = value_path(c->object, "status", "conditions", NULL);
        const struct at *at = AT(AT(NULL, "status"), "conditions");

        for (EACH(i, conditions)) {
                if (is_seen(conditions, i))
                        fault_duplicate_str(c, AT_INDEX(at, i), text_of(item_of(conditions, i), "type"));
                check_condition(c, AT_INDEX(at, i), item_of(conditions, i));
        }
}

/* --- Services and Ingresses --- */

static void check_point_host(struct check *c, const struct at *at, struct str host) {
        struct ip parsed;

        if (host.n)
                check_text(c, AT(at, "hostname"), TEXT_DNS_SUBDOMAIN, host);
        if (ip_parse(host, &parsed))
                fault_invalid_str(c, AT(at, "hostname"), host, "must be a DNS name, not an IP address");
}

static void check_ingress_point(struct check *c, const struct at *at, const struct value *point,
                                const struct value *known) {
        struct str ip = text_of(point, "ip"), host = text_of(point, "hostname");
        const struct value *mode = get(point, "ipMode");

        if (ip.n)
                check_ip(c, AT(at, "ip"), ip, known);
        if (!mode && ip.n)
                fault_required(c, AT(at, "ipMode"), "must be specified when `ip` is set");
        else if (mode && !ip.n)
                fault_forbidden(c, AT(at, "ipMode"), "may not be specified when `ip` is not set");
        else if (mode && !str_eqc(value_text(mode), "VIP") && !str_eqc(value_text(mode), "Proxy"))
                fault_unsupported(c, AT(at, "ipMode"), value_text(mode), "\"Proxy\", \"VIP\"");
        check_point_host(c, at, host);
}

/* The addresses that the live object shows. */
static const struct value *live_addresses(struct check *c) {
        const struct value *ingress = value_path(c->live, "status", "loadBalancer", "ingress", NULL);
        struct value_list_builder list = { 0 };

        for (EACH(i, ingress))
                if (get(item_of(ingress, i), "ip"))
                        value_list_add(&list, get(item_of(ingress, i), "ip"));
        return value_list_end(&list, c->a, 0);
}

static void check_service_status(struct check *c) {
        const struct value *ingress = value_path(c->object, "status", "loadBalancer", "ingress", NULL);
        const struct at *at = AT(AT(AT(NULL, "status"), "loadBalancer"), "ingress");

        if (list_count(ingress) && !str_eqc(text_of(get(c->object, "spec"), "type"), "LoadBalancer")) {
                fault_forbidden(c, at, "may only be used when `spec.type` is 'LoadBalancer'");
                return;
        }
        for (EACH(i, ingress))
                check_ingress_point(c, AT_INDEX(at, i), item_of(ingress, i), live_addresses(c));
}

static void check_ingress_status(struct check *c) {
        const struct value *points = value_path(c->object, "status", "loadBalancer", "ingress", NULL);
        const struct value *known = live_addresses(c);
        const struct at *at = AT(AT(AT(NULL, "status"), "loadBalancer"), "ingress");

        for (EACH(i, points)) {
                struct str ip = text_of(item_of(points, i), "ip");

                if (ip.n)
                        check_ip(c, AT(AT_INDEX(at, i), "ip"), ip, known);
                check_point_host(c, AT_INDEX(at, i), text_of(item_of(points, i), "hostname"));
        }
}

static void check_namespace_status(struct check *c) {
        struct str phase = text_of(get(c->object, "status"), "phase");
        bool ends = get(get(c->object, "metadata"), "deletionTimestamp");

        if (!str_eqc(phase, ends ? "Terminating" : "Active"))
                fault_invalid_str(c, AT(AT(NULL, "status"), "Phase"), phase,
                                  ends ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                                       : "may only be 'Active' if `deletionTimestamp` is empty");
}

/* --- all of them --- */

static const struct {
        const char *kind;
        void (*check)(struct check *c);
} checks[] = {
        { "Service", check_service_status }, { "Namespace", check_namespace_status },
        { "Ingress", check_ingress_status }, { "PodDisruptionBudget", check_conditions },
        { "Job", check_job_status },         { "Pod", check_pod_status },
};

void check_status(struct check *c) {
        if (c->type && c->type->rules) {
                check_custom_status(c);
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(checks); i++)
                if (str_eqc(c->kind, checks[i].kind))
                        checks[i].check(c);
        for (size_t i = 0; i < ARRAY_LEN(status_table); i++)
                if (str_eqc(c->kind, status_table[i].kind))
                        check_status_as(c, &status_table[i]);
}

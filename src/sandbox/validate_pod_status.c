/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written through /status of a Pod.
 * Source: pkg/apis/core/validation (ValidatePodStatusUpdate).
 */
#include "sandbox/validate_kinds.h"

static void check_pod_conditions(struct check *c, const struct at *above, const struct value *conditions) {
        static const char *const of_system[] = { "PodScheduled", "Ready", "Initialized", NULL };

        for (EACH(i, conditions)) {
                const struct value *condition = item_of(conditions, i);
                int64_t generation = int_of(condition, "observedGeneration");

                if (generation < 0)
                        fault_invalid_int(c, AT(AT_INDEX(above, i), "observedGeneration"), generation,
                                          "must be a non-negative integer");
                if (!is_one_of(text_of(condition, "type"), of_system))
                        check_text(c, AT(AT_INDEX(above, i), "Type"), TEXT_LABEL_KEY, text_of(condition, "type"));
        }
}

static void check_nominated(struct check *c, const struct at *at, const struct value *status) {
        struct str node = text_of(status, "nominatedNodeName");

        if (!node.n || str_eq(node, text_of(get(c->live, "status"), "nominatedNodeName")))
                return;
        check_text(c, at, TEXT_DNS_SUBDOMAIN, node);
        if (text_of(get(c->live, "spec"), "nodeName").n)
                fault_forbidden(c, at, "may not be set on pods that are already bound to a node");
}

/* --- addresses --- */

/* The texts of [{"ip": TEXT}…]. */
static const struct value *texts_of(struct check *c, const struct value *ips) {
        struct value_list_builder list = { 0 };

        for (EACH(i, ips))
                value_list_add(&list, value_string(c->a, text_of(item_of(ips, i), "ip"), 0));
        return value_list_end(&list, c->a, 0);
}

/* As Go prints its structs. */
static struct str shown_ips(struct check *c, const struct value *ips) {
        struct value_list_builder list = { 0 };

        for (EACH(i, ips))
                value_list_add(&list, value_with(c->a, NULL, STR("IP"),
                                                 value_string(c->a, text_of(item_of(ips, i), "ip"), 0)));
        return list_count(ips) ? go_json(value_list_end(&list, c->a, 0), c->a) : STR("null");
}

/* Are there addresses of both families? What is none is told. */
static bool are_of_both(struct check *c, const struct at *at, const struct value *texts) {
        bool v4 = false, v6 = false;
        struct ip ip;

        for (EACH(i, texts)) {
                if (!ip_parse(value_text(item_of(texts, i)), &ip)) {
                        causes_add(c->out, "InternalError", at_text(at, c->a),
                                   "Internal error: failed to check for dual stack with error:invalid IP[%zu]: %.*s", i,
                                   STR_FMT(value_text(item_of(texts, i))));
                        return false;
                }
                v4 |= ip.is_v4;
                v6 |= !ip.is_v4;
        }
        return v4 && v6;
}

static void check_ips(struct check *c, const struct at *at, const struct value *ips, const struct value *known) {
        const struct value *texts = texts_of(c, ips);

        for (EACH(i, texts))
                check_ip(c, AT_INDEX(at, i), value_text(item_of(texts, i)), texts_of(c, known));
        if (list_count(texts) < 2)
                return;
        if (!are_of_both(c, at, texts) || list_count(texts) > 2)
                fault_invalid_raw(c, at, shown_ips(c, ips), "may specify no more than one IP for each IP family");
}

static void check_pod_ips(struct check *c, const struct at *at, const struct value *status) {
        const struct value *ips = get(status, "podIPs");
        struct str ip = text_of(status, "podIP"), first = { 0 };

        check_ips(c, at, ips, get(get(c->live, "status"), "podIPs"));
        if (list_count(ips))
                first = text_of(item_of(ips, 0), "ip");
        if (!ip.n != !list_count(ips))
                fault_invalid_raw(c, at, shown_ips(c, ips),
                                  "podIP and podIPs must either both be set or both be unset");
        else if (!str_eq(ip, first))
                fault_invalid_str(c, AT(AT_INDEX(at, 0), "ip"), first, "must be equal to `podIP`");
}

static void check_host_ips(struct check *c, const struct at *at, const struct value *status) {
        const struct value *ips = get(status, "hostIPs");

        if (!list_count(ips))
                return;
        struct str first = text_of(item_of(ips, 0), "ip");
        if (!str_eq(text_of(status, "hostIP"), first))
                fault_invalid_str(c, AT(AT_INDEX(at, 0), "ip"), first, "must be equal to `hostIP`");
        check_ips(c, at, ips, get(get(c->live, "status"), "hostIPs"));
}

/* --- what has ended does not go on, but by being started again --- */

static const struct value *matching_rule(const struct value *container, int64_t exit_code) {
        const struct value *rules = get(container, "restartPolicyRules");

        for (EACH(i, rules)) {
                const struct value *codes = get(item_of(rules, i), "exitCodes"), *values = get(codes, "values");
                struct str op = text_of(codes, "operator");
                bool is_listed = false;

                for (EACH(j, values))
                        is_listed |= value_is(item_of(values, j), VALUE_INT) && item_of(values, j)->i64 == exit_code;
                if (str_eqc(op, is_listed ? "In" : "NotIn"))
                        return item_of(rules, i);
        }
        return NULL;
}

static bool policy_restarts(struct str policy, int64_t exit_code) {
        return !str_eqc(policy, "Never") && (!str_eqc(policy, "OnFailure") || exit_code != 0);
}

static bool should_restart(const struct value *spec, const struct value *container, int64_t exit_code) {
        struct str own = text_of(container, "restartPolicy");
        struct str action = text_of(matching_rule(container, exit_code), "action");

        if (!container)
                return false;
        if (own.n && (str_eqc(action, "Restart") || str_eqc(action, "RestartAllContainers")))
                return true;
        return policy_restarts(own.n ? own : text_of(spec, "restartPolicy"), exit_code);
}

static const struct value *named(const struct value *list, struct str name) {
        for (EACH(i, list))
                if (str_eq(text_of(item_of(list, i), "name"), name))
                        return item_of(list, i);
        return NULL;
}

/* Of several of one name the first that runs or waits counts. */
static bool goes_on(const struct value *statuses, struct str name) {
        for (EACH(i, statuses))
                if (str_eq(text_of(item_of(statuses, i), "name"), name) &&
                    !value_path(item_of(statuses, i), "state", "terminated", NULL))
                        return true;
        return false;
}

static void check_going_on(struct check *c, const struct at *at, const char *statuses, const char *containers) {
        const struct value *spec = get(c->live, "spec"), *before = get(get(c->live, "status"), statuses);
        const struct value *now = get(get(c->object, "status"), statuses);

        for (EACH(i, before)) {
                const struct value *ended = value_path(item_of(before, i), "state", "terminated", NULL);
                struct str name = text_of(item_of(before, i), "name");

                if (ended && goes_on(now, name) &&
                    !should_restart(spec, named(get(spec, containers), name), int_of(ended, "exitCode")))
                        fault_forbidden(c, AT(AT_INDEX(AT_STR(at, str_from(statuses)), i), "state"),
                                        "may not be transitioned to non-terminated state");
        }
}

/* One container may start all the others again. */
static bool restarts_all(const struct value *container) {
        const struct value *rules = get(container, "restartPolicyRules");

        for (EACH(i, rules))
                if (str_eqc(text_of(item_of(rules, i), "action"), "RestartAllContainers"))
                        return true;
        return false;
}

static bool all_may_restart(const struct value *spec, const char *containers) {
        const struct value *list = get(spec, containers);

        for (EACH(i, list))
                if (restarts_all(item_of(list, i)))
                        return true;
        return false;
}

static void check_restarts(struct check *c, const struct at *at) {
        const struct value *spec = get(c->live, "spec");

        if (!all_may_restart(spec, "initContainers") && !all_may_restart(spec, "containers")) {
                check_going_on(c, at, "containerStatuses", "containers");
                check_going_on(c, at, "initContainerStatuses", "initContainers");
        }
        check_going_on(c, at, "ephemeralContainerStatuses", "");
}

void check_pod_status(struct check *c) {
        const struct value *status = get(c->object, "status");
        const struct at *at = AT(NULL, "status");
        int64_t generation = int_of(status, "observedGeneration");

        check_pod_conditions(c, AT(at, "conditions"), get(status, "conditions"));
        check_nominated(c, AT(at, "nominatedNodeName"), status);
        if (generation < 0)
                fault_invalid_int(c, AT(at, "observedGeneration"), generation, "must be a non-negative integer");
        check_immutable(c, AT(at, "qosClass"), get(status, "qosClass"), get(get(c->live, "status"), "qosClass"));
        check_restarts(c, at);
        check_pod_ips(c, AT(at, "podIPs"), status);
        check_host_ips(c, AT(at, "hostIPs"), status);
}

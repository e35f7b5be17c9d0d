/* SPDX-License-Identifier: Apache-2.0 */
/* Where a pod may run: affinities, tolerations, spreading. */
#include "sandbox/validate_pod.h"

#include <stdlib.h>

/* --- node selectors --- */

static void check_node_values(struct check *c, const struct at *at, struct str operator, size_t count) {
        static const char *const set[] = { "In", "NotIn", NULL };
        static const char *const existence[] = { "Exists", "DoesNotExist", NULL };
        static const char *const order[] = { "Gt", "Lt", NULL };

        if (is_one_of(operator, set)) {
                if (!count)
                        fault_required(c, AT(at, "values"), "must be specified when `operator` is 'In' or 'NotIn'");
        } else if (is_one_of(operator, existence)) {
                if (count)
                        fault_forbidden(c, AT(at, "values"),
                                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        } else if (is_one_of(operator, order)) {
                if (count != 1)
                        fault_required(c, AT(at, "values"),
                                       "must be specified single value when `operator` is 'Lt' or 'Gt'");
        } else
                fault_invalid_str(c, AT(at, "operator"), operator, "not a valid selector operator");
}

static void check_node_requirement(struct check *c, const struct at *at, const struct value *r, bool check_values) {
        const struct value *values = get(r, "values");

        check_node_values(c, at, text_of(r, "operator"), list_count(values));
        check_text(c, AT(at, "key"), TEXT_LABEL_KEY, text_of(r, "key"));
        if (!check_values)
                return;
        for (EACH(i, values))
                check_text(c, AT_INDEX(AT(at, "values"), i), TEXT_LABEL_VALUE, value_text(item_of(values, i)));
}

static void check_node_field(struct check *c, const struct at *at, const struct value *r) {
        struct str operator= text_of(r, "operator");
        const struct value *values = get(r, "values");

        if (!str_eqc(operator, "In") && !str_eqc(operator, "NotIn"))
                fault_invalid_str(c, AT(at, "operator"), operator, "not a valid selector operator");
        else if (list_count(values) != 1)
                fault_required(c, AT(at, "values"),
                               "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
        if (!str_eqc(text_of(r, "key"), "metadata.name")) {
                fault_invalid_str(c, AT(at, "key"), text_of(r, "key"), "not a valid field selector key");
                return;
        }
        for (EACH(i, values))
                check_text(c, AT_INDEX(AT(at, "values"), i), TEXT_DNS_SUBDOMAIN, value_text(item_of(values, i)));
}

static void check_node_term(struct check *c, const struct at *at, const struct value *term, bool check_values) {
        const struct value *expressions = get(term, "matchExpressions"), *fields = get(term, "matchFields");

        for (EACH(i, expressions))
                check_node_requirement(c, AT_INDEX(AT(at, "matchExpressions"), i), item_of(expressions, i),
                                       check_values);
        for (EACH(i, fields))
                check_node_field(c, AT_INDEX(AT(at, "matchFields"), i), item_of(fields, i));
}

void check_node_selector(struct check *c, const struct at *at, const struct value *selector) {
        const struct value *terms = get(selector, "nodeSelectorTerms");

        if (!list_count(terms))
                fault_required(c, AT(at, "nodeSelectorTerms"), "must have at least one node selector term");
        for (EACH(i, terms))
                check_node_term(c, AT_INDEX(AT(at, "nodeSelectorTerms"), i), item_of(terms, i), true);
}

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static void check_weight(struct check *c, const struct at *at, const struct value *term) {
        int64_t weight = int_of(term, "weight");

        if (weight <= 0 || weight > 100)
                fault_invalid_int(c, AT(at, "weight"), weight, "must be in the range 1-100");
}

static void check_node_affinity(struct check *c, const struct at *at, const struct value *affinity) {
        const struct value *preferred = get(affinity, PREFERRED);

        if (get(affinity, REQUIRED))
                check_node_selector(c, AT(at, REQUIRED), get(affinity, REQUIRED));
        for (EACH(i, preferred)) {
                const struct at *term_at = AT_INDEX(AT(at, PREFERRED), i);

                check_weight(c, term_at, item_of(preferred, i));
                check_node_term(c, AT(term_at, "preference"), get(item_of(preferred, i), "preference"), false);
        }
}

/* --- pod affinity --- */

static void check_label_keys(struct check *c, const struct at *at, const struct value *keys,
                             const struct value *selector) {
        if (!list_count(keys))
                return;
        if (!selector) {
                fault_forbidden(c, at, "must not be specified when labelSelector is not set");
                return;
        }
        for (EACH(i, keys))
                check_text(c, AT_INDEX(at, i), TEXT_LABEL_KEY, value_text(item_of(keys, i)));
}

static bool has_text(const struct value *list, struct str s) {
        for (EACH(i, list))
                if (str_eq(value_text(item_of(list, i)), s))
                        return true;
        return false;
}

static void check_match_keys(struct check *c, const struct at *at, const struct value *term) {
        const struct value *match = get(term, "matchLabelKeys"), *mismatch = get(term, "mismatchLabelKeys");

        check_label_keys(c, AT(at, "matchLabelKeys"), match, get(term, "labelSelector"));
        check_label_keys(c, AT(at, "mismatchLabelKeys"), mismatch, get(term, "labelSelector"));
        for (EACH(i, match))
                if (has_text(mismatch, value_text(item_of(match, i))))
                        fault_invalid(c, AT_INDEX(AT(at, "matchLabelKeys"), i), item_of(match, i),
                                      "exists in both matchLabelKeys and mismatchLabelKeys");
}

static void check_pod_term(struct check *c, const struct at *at, const struct value *term) {
        const struct value *namespaces = get(term, "namespaces");
        struct str key = text_of(term, "topologyKey");

        check_selector(c, AT(at, "labelSelector"), get(term, "labelSelector"));
        check_selector(c, AT(at, "namespaceSelector"), get(term, "namespaceSelector"));
        for (EACH(i, namespaces))
                check_text(c, AT(at, "namespace"), TEXT_DNS_LABEL, value_text(item_of(namespaces, i)));
        check_match_keys(c, at, term);
        if (!key.n)
                fault_required(c, AT(at, "topologyKey"), "can not be empty");
        check_text(c, AT(at, "topologyKey"), TEXT_LABEL_KEY, key);
}

static void check_pod_affinity(struct check *c, const struct at *at, const struct value *affinity) {
        const struct value *required = get(affinity, REQUIRED), *preferred = get(affinity, PREFERRED);

        for (EACH(i, required))
                check_pod_term(c, AT_INDEX(AT(at, REQUIRED), i), item_of(required, i));
        for (EACH(i, preferred)) {
                const struct at *term_at = AT_INDEX(AT(at, PREFERRED), i);

                check_weight(c, term_at, item_of(preferred, i));
                check_pod_term(c, AT(term_at, "podAffinityTerm"), get(item_of(preferred, i), "podAffinityTerm"));
        }
}

void check_affinity(struct check *c, const struct at *at, const struct value *affinity) {
        check_node_affinity(c, AT(at, "nodeAffinity"), get(affinity, "nodeAffinity"));
        check_pod_affinity(c, AT(at, "podAffinity"), get(affinity, "podAffinity"));
        check_pod_affinity(c, AT(at, "podAntiAffinity"), get(affinity, "podAntiAffinity"));
}

/* --- tolerations --- */

static void check_toleration_value(struct check *c, const struct at *at, struct str operator, struct str value) {
        struct text_faults f = text_faults(TEXT_LABEL_VALUE, value, c->a);

        if (!operator.n || str_eqc(operator, "Equal")) {
                if (f.count)
                        fault_invalid_str(c, AT(at, "operator"), value, text_joined(&f, ";", c->a).p);
        } else if (str_eqc(operator, "Exists")) {
                if (value.n)
                        fault_invalid_str(c, AT(at, "operator"), value,
                                          "value must be empty when `operator` is 'Exists'");
        } else if (str_eqc(operator, "Lt") || str_eqc(operator, "Gt"))
                check_text(c, AT(at, "value"), TEXT_DECIMAL, value);
        else
                fault_unsupported(c, AT(at, "operator"), operator, "\"Equal\", \"Exists\"");
}

static void check_effect(struct check *c, const struct at *at, struct str effect) {
        static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };

        if (effect.n && !is_one_of(effect, effects))
                fault_unsupported(c, at, effect, "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"");
}

void check_tolerations(struct check *c, const struct at *above, const struct value *tolerations) {
        for (EACH(i, tolerations)) {
                const struct value *t = item_of(tolerations, i);
                const struct at *at = AT_INDEX(above, i);
                struct str key = text_of(t, "key"), operator= text_of(t, "operator"), effect = text_of(t, "effect");

                if (key.n)
                        check_text(c, AT(at, "key"), TEXT_LABEL_KEY, key);
                else if (!str_eqc(operator, "Exists"))
                        fault_invalid_str(c, AT(at, "operator"), operator,
                                          "operator must be Exists when `key` is empty, which means \"match all values "
                                          "and all keys\"");
                if (get(t, "tolerationSeconds") && !str_eqc(effect, "NoExecute"))
                        fault_invalid_str(c, AT(at, "effect"), effect,
                                          "effect must be 'NoExecute' when `tolerationSeconds` is set");
                check_toleration_value(c, at, operator, text_of(t, "value"));
                check_effect(c, AT(at, "effect"), effect);
        }
}

/* --- spreading --- */

static void check_spread_unique(struct check *c, const struct at *at, const struct value *constraints, size_t i) {
        struct str key = text_of(item_of(constraints, i), "topologyKey");
        struct str action = text_of(item_of(constraints, i), "whenUnsatisfiable");

        for (size_t j = i + 1; j < list_count(constraints); j++)
                if (str_eq(text_of(item_of(constraints, j), "topologyKey"), key) &&
                    str_eq(text_of(item_of(constraints, j), "whenUnsatisfiable"), action)) {
                        fault_duplicate_str(c, AT(at, "{topologyKey, whenUnsatisfiable}"),
                                            arena_strf(c->a, "{%.*s, %.*s}", STR_FMT(key), STR_FMT(action)));
                        return;
                }
}

static void check_min_domains(struct check *c, const struct at *at, const struct value *constraint) {
        struct str action = text_of(constraint, "whenUnsatisfiable");
        int64_t domains = 0;

        if (!value_to_i64(get(constraint, "minDomains"), &domains))
                return;
        if (domains <= 0)
                fault_invalid_int(c, at, domains, "must be greater than zero");
        if (!str_eqc(action, "DoNotSchedule"))
                fault_invalid_int(c, at, domains,
                                  arena_strf(c->a,
                                             "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %.*s",
                                             STR_FMT(action))
                                          .p);
}

static void check_inclusion(struct check *c, const struct at *at, const struct value *policy) {
        if (policy && !str_eqc(value_text(policy), "Honor") && !str_eqc(value_text(policy), "Ignore"))
                fault_unsupported(c, at, value_text(policy), "\"Honor\", \"Ignore\"");
}

void check_spread(struct check *c, const struct at *above, const struct value *constraints) {
        for (EACH(i, constraints)) {
                const struct value *one = item_of(constraints, i);
                const struct at *at = AT_INDEX(above, i);
                struct str action = text_of(one, "whenUnsatisfiable");

                if (int_of(one, "maxSkew") <= 0)
                        fault_invalid_int(c, AT(at, "maxSkew"), int_of(one, "maxSkew"), "must be greater than zero");
                if (!text_of(one, "topologyKey").n)
                        fault_required(c, AT(at, "topologyKey"), "can not be empty");
                if (!str_eqc(action, "DoNotSchedule") && !str_eqc(action, "ScheduleAnyway"))
                        fault_unsupported(c, AT(at, "whenUnsatisfiable"), action,
                                          "\"DoNotSchedule\", \"ScheduleAnyway\"");
                check_spread_unique(c, at, constraints, i);
                check_min_domains(c, AT(at, "minDomains"), one);
                check_inclusion(c, AT(at, "nodeAffinityPolicy"), get(one, "nodeAffinityPolicy"));
                check_inclusion(c, AT(at, "nodeTaintsPolicy"), get(one, "nodeTaintsPolicy"));
                check_label_keys(c, AT(at, "matchLabelKeys"), get(one, "matchLabelKeys"), get(one, "labelSelector"));
                check_selector(c, AT(at, "labelSelector"), get(one, "labelSelector"));
        }
}

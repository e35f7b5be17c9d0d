/* SPDX-License-Identifier: Apache-2.0 */
/* LimitRange and ResourceQuota. */
#include "sandbox/validate_kinds.h"

static void check_limit_type(struct check *c, const struct at *at, struct str type) {
        static const char *const types[] = { "Pod", "Container", "PersistentVolumeClaim", NULL };

        if (!text_keeps(TEXT_LABEL_KEY, type))
                check_text(c, at, TEXT_LABEL_KEY, type);
        else if (str_find(type, '/', 0) < 0 && !is_one_of(type, types))
                fault_invalid_str(c, at, type, "must be a standard limit type or fully qualified");
}

static void check_limit_names(struct check *c, const struct at *at, const struct value *limit, const char *field) {
        struct str type = text_of(limit, "type");

        for (EACH_MEMBER(m, get(limit, field))) {
                const struct at *key_at = AT_KEY(AT_STR(at, str_from(field)), m->key);

                if (str_eqc(type, "Pod") || str_eqc(type, "Container"))
                        check_container_resource_name(c, key_at, m->key);
                else
                        check_resource_name(c, key_at, m->key);
        }
}

enum bound { BOUND_MIN, BOUND_MAX, BOUND_DEFAULT, BOUND_REQUEST, BOUND_COUNT };
static const char *const bound_fields[] = { "min", "max", "default", "defaultRequest" };

/* `lower` must not be above `upper`: the finding is at `field` and shows `shown`. */
static const struct {
        enum bound lower, upper, field, shown;
        const char *text;
} bound_rules[] = {
        { BOUND_MIN, BOUND_MAX, BOUND_MIN, BOUND_MIN, "min value %.*s is greater than max value %.*s" },
        { BOUND_MIN, BOUND_REQUEST, BOUND_REQUEST, BOUND_REQUEST,
          "min value %.*s is greater than default request value %.*s" },
        { BOUND_REQUEST, BOUND_MAX, BOUND_REQUEST, BOUND_REQUEST,
          "default request value %.*s is greater than max value %.*s" },
        { BOUND_REQUEST, BOUND_DEFAULT, BOUND_REQUEST, BOUND_REQUEST,
          "default request value %.*s is greater than default limit value %.*s" },
        { BOUND_MIN, BOUND_DEFAULT, BOUND_DEFAULT, BOUND_MIN, "min value %.*s is greater than default value %.*s" },
        { BOUND_DEFAULT, BOUND_MAX, BOUND_DEFAULT, BOUND_MAX, "default value %.*s is greater than max value %.*s" },
};

static void check_bounds(struct check *c, const struct at *at, const struct value *limit, struct str key) {
        const struct value *v[BOUND_COUNT];
        bool is_pod = str_eqc(text_of(limit, "type"), "Pod");

        for (size_t i = 0; i < BOUND_COUNT; i++)
                v[i] = is_pod && i >= BOUND_DEFAULT ? NULL : value_get(get(limit, bound_fields[i]), key);
        for (size_t i = 0; i < sizeof bound_rules / sizeof *bound_rules; i++) {
                const struct value *lower = v[bound_rules[i].lower], *upper = v[bound_rules[i].upper];
                struct str low = value_text(lower), high = value_text(upper);
                _cleanup_(buf_done) struct buf text = buf_make(4096);

                if (!lower || !upper || quantity_of(lower) <= quantity_of(upper))
                        continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                buf_addf(&text, bound_rules[i].text, STR_FMT(low), STR_FMT(high));
#pragma GCC diagnostic pop
                fault_invalid(c, AT_KEY(AT_STR(at, str_from(bound_fields[bound_rules[i].field])), key),
                              v[bound_rules[i].shown], text.p);
        }
}

static void check_limit(struct check *c, const struct at *at, const struct value *limit) {
        static const char *const pod_forbids[] = { "default", "defaultRequest" };
        bool is_pod = str_eqc(text_of(limit, "type"), "Pod");
        struct value_map_builder keys = { 0 };
        const struct value *all;

        check_limit_names(c, at, limit, "max");
        check_limit_names(c, at, limit, "min");
        for (size_t i = 0; i < 2; i++)
                if (!is_pod)
                        check_limit_names(c, at, limit, pod_forbids[i]);
                else if (count_of(limit, pod_forbids[i]))
                        fault_forbidden(c, AT_STR(at, str_from(pod_forbids[i])),
                                        "may not be specified when `type` is 'Pod'");
        if (str_eqc(text_of(limit, "type"), "PersistentVolumeClaim") && !get(get(limit, "min"), "storage") &&
            !get(get(limit, "max"), "storage"))
                fault_required(c, AT(at, "limits"),
                               "either minimum or maximum storage value is required, but neither was provided");
        check_limit_names(c, at, limit, "maxLimitRequestRatio");
        for (size_t i = 0; i < BOUND_COUNT; i++)
                if (!is_pod || i < BOUND_DEFAULT)
                        for (EACH_MEMBER(m, get(limit, bound_fields[i])))
                                value_map_add(&keys, m->key, &value_true, 0);
        all = value_map_end(&keys, c->a, 0);
        for (EACH_MEMBER(m, all))
                check_bounds(c, at, limit, m->key);
}

void check_limit_range(struct check *c) {
        const struct value *limits = value_path(c->object, "spec", "limits", NULL);
        const struct at *above = AT(AT(NULL, "spec"), "limits");

        for (EACH(i, limits)) {
                const struct at *at = AT_INDEX(above, i);
                struct str type = text_of(item_of(limits, i), "type");
                bool seen = false;

                check_limit_type(c, AT(at, "type"), type);
                for (size_t j = 0; j < i; j++)
                        seen = seen || str_eq(text_of(item_of(limits, j), "type"), type);
                if (seen)
                        fault_duplicate_str(c, AT(at, "type"), type);
                check_limit(c, at, item_of(limits, i));
        }
}

/* --- ResourceQuota --- */

static void check_quota_name(struct check *c, const struct at *at, struct str name) {
        static const char *const only_elsewhere[] = { "storage", NULL };

        check_resource_name(c, at, name);
        if (str_find(name, '/', 0) < 0 && (!resource_is_standard(name) || is_one_of(name, only_elsewhere)))
                fault_invalid_str(c, at, name, "must be a standard resource for quota");
}

static bool scope_fits(struct str scope, struct str resource) {
        static const char *const pods[] = { "pods", NULL };
        static const char *const compute[] = { "pods",          "cpu",          "memory",          "limits.cpu",
                                               "limits.memory", "requests.cpu", "requests.memory", NULL };
        static const char *const storage[] = { "persistentvolumeclaims", "requests.storage", NULL };
        static const char *const for_compute[] = {
                "Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity", NULL
        };

        if (is_one_of(scope, for_compute))
                return is_one_of(resource, compute);
        if (str_eqc(scope, "BestEffort"))
                return is_one_of(resource, pods);
        return !str_eqc(scope, "VolumeAttributesClass") || is_one_of(resource, storage);
}

static bool scopes_have(const struct value *scopes, const char *name) {
        for (EACH(i, scopes))
                if (str_eqc(value_text(item_of(scopes, i)), name))
                        return true;
        return false;
}

static void check_scopes(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const known[] = { "Terminating",
                                             "NotTerminating",
                                             "BestEffort",
                                             "NotBestEffort",
                                             "PriorityClass",
                                             "VolumeAttributesClass",
                                             "CrossNamespacePodAffinity",
                                             NULL };
        const struct value *scopes = get(spec, "scopes");

        for (EACH(i, scopes)) {
                struct str scope = value_text(item_of(scopes, i));

                if (!is_one_of(scope, known))
                        fault_invalid(c, at, scopes, "unsupported scope");
                for (EACH_MEMBER(m, get(spec, "hard")))
                        if (resource_is_standard(m->key) && !scope_fits(scope, m->key))
                                fault_invalid(c, at, scopes, "unsupported scope applied to resource");
        }
        if ((scopes_have(scopes, "BestEffort") && scopes_have(scopes, "NotBestEffort")) ||
            (scopes_have(scopes, "Terminating") && scopes_have(scopes, "NotTerminating")))
                fault_invalid(c, at, scopes, "conflicting scopes");
}

void check_resource_quota(struct check *c) {
        const struct value *spec = get(c->object, "spec");
        const struct at *at = AT(NULL, "spec");

        for (EACH_MEMBER(m, get(spec, "hard"))) {
                const struct at *key_at = AT_KEY(AT(at, "hard"), m->key);

                check_quota_name(c, key_at, m->key);
                check_resource_quantity(c, key_at, m->key, m->value);
        }
        check_scopes(c, AT(at, "scopes"), spec);
        if (c->live)
                check_immutable(c, AT(at, "scopes"), get(spec, "scopes"), value_path(c->live, "spec", "scopes", NULL));
}

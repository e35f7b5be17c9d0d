/* SPDX-License-Identifier: Apache-2.0 */
/* Roles and their bindings. */
#include "sandbox/validate_kinds.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

static void check_rule(struct check *c, const struct at *at, const struct value *rule, bool namespaced) {
        const struct value *urls = get(rule, "nonResourceURLs");
        bool has_groups = count_of(rule, "apiGroups") > 0, has_resources = count_of(rule, "resources") > 0;

        if (!count_of(rule, "verbs"))
                late_required(c, AT(at, "verbs"));
        if (list_count(urls)) {
                if (namespaced)
                        fault_invalid(c, AT(at, "nonResourceURLs"), urls,
                                      "namespaced rules cannot apply to non-resource URLs");
                if (has_groups || has_resources || count_of(rule, "resourceNames"))
                        fault_invalid(c, AT(at, "nonResourceURLs"), urls,
                                      "rules cannot apply to both regular resources and non-resource URLs");
                return;
        }
        if (!has_groups)
                fault_required(c, AT(at, "apiGroups"), "resource rules must supply at least one api group");
        if (!has_resources)
                fault_required(c, AT(at, "resources"), "resource rules must supply at least one resource");
}

static void check_rules(struct check *c, bool namespaced) {
        const struct value *rules = get(c->object, "rules");

        for (EACH(i, rules))
                check_rule(c, AT_INDEX(AT(NULL, "rules"), i), item_of(rules, i), namespaced);
}

void check_role(struct check *c) {
        check_rules(c, true);
}

void check_cluster_role(struct check *c) {
        const struct value *aggregation = get(c->object, "aggregationRule");
        const struct value *selectors = get(aggregation, "clusterRoleSelectors");
        const struct at *at = AT(AT(NULL, "aggregationRule"), "clusterRoleSelectors");

        check_rules(c, false);
        if (aggregation && !list_count(selectors))
                fault_required(c, at, "at least one clusterRoleSelector required if aggregationRule is non-nil");
        for (EACH(i, selectors)) {
                check_selector(c, AT_INDEX(at, i), item_of(selectors, i));
                if (!selector_is_usable(item_of(selectors, i)))
                        fault_invalid(c, AT_INDEX(at, i), NULL, "invalid label selector.");
        }
}

static void check_subject(struct check *c, const struct at *at, const struct value *subject, bool namespaced) {
        struct str name = text_of(subject, "name"), kind = text_of(subject, "kind"),
                   group = text_of(subject, "apiGroup");

        if (!name.n)
                late_required(c, AT(at, "name"));
        if (str_eqc(kind, "ServiceAccount")) {
                if (name.n)
                        check_text(c, AT(at, "name"), TEXT_DNS_SUBDOMAIN, name);
                if (group.n)
                        fault_unsupported(c, AT(at, "apiGroup"), group, "\"\"");
                if (!namespaced && !text_of(subject, "namespace").n)
                        fault_required(c, AT(at, "namespace"), "");
        } else if (str_eqc(kind, "User") || str_eqc(kind, "Group")) {
                if (!str_eqc(group, RBAC_GROUP))
                        fault_unsupported(c, AT(at, "apiGroup"), group, "\"" RBAC_GROUP "\"");
        } else
                fault_unsupported(c, AT(at, "kind"), kind, "\"ServiceAccount\", \"User\", \"Group\"");
}

static const char *const ref_fields[] = { "APIGroup", "Kind", "Name" };

/* The server shows its own struct: capitals, no omissions. */
static struct str ref_json(const struct value *ref, struct arena *a) {
        static const char *const names[] = { "apiGroup", "kind", "name" };
        struct str all = STR("");

        for (size_t i = 0; i < 3; i++)
                all = arena_strf(a, "%.*s%s\"%s\":%s", STR_FMT(all), i ? "," : "", ref_fields[i],
                                 quoted(text_of(ref, names[i]), a).p);
        return arena_strf(a, "{%.*s}", STR_FMT(all));
}

static void check_binding(struct check *c, bool namespaced) {
        const struct value *ref = get(c->object, "roleRef"), *subjects = get(c->object, "subjects");
        const struct at *at = AT(NULL, "roleRef");
        struct str kind = text_of(ref, "kind"), name = text_of(ref, "name");
        bool is_other = c->live && !same(ref, get(c->live, "roleRef"));

        if (!str_eqc(text_of(ref, "apiGroup"), RBAC_GROUP))
                fault_unsupported(c, AT(at, "apiGroup"), text_of(ref, "apiGroup"), "\"" RBAC_GROUP "\"");
        if (!str_eqc(kind, "ClusterRole") && !(namespaced && str_eqc(kind, "Role")))
                fault_unsupported(c, AT(at, "kind"), kind,
                                  namespaced ? "\"Role\", \"ClusterRole\"" : "\"ClusterRole\"");
        if (name.n)
                check_text(c, AT(at, "name"), TEXT_PATH_SEGMENT, name);
        else if (is_other) /* generated rules do not look into what may not change */
                fault_required(c, AT(at, "name"), "");
        for (EACH(i, subjects))
                check_subject(c, AT_INDEX(AT(NULL, "subjects"), i), item_of(subjects, i), namespaced);
        if (!name.n && !is_other)
                late_required(c, AT(at, "name"));
        if (is_other)
                fault_invalid_raw(c, at, ref_json(ref, c->a), "field is immutable");
}

void check_role_binding(struct check *c) {
        check_binding(c, true);
}

void check_cluster_role_binding(struct check *c) {
        check_binding(c, false);
}

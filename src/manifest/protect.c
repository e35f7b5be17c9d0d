/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/protect.h"

#include "base/glob.h"

#define RBAC "rbac.authorization.k8s.io"

static bool fits(struct str glob, struct str s) {
        return glob.n == 0 || glob_match(glob, s);
}

static bool rule_matches(const struct manifest_rule *r, struct str group, struct str kind, struct str ns,
                         struct str name) {
        bool group_fits = r->group.n == 0 ? group.n == 0 : glob_match(r->group, group);

        return group_fits && fits(r->kind, kind) && fits(r->ns, ns) && fits(r->name, name);
}

static bool any_rule_matches(const struct manifest_rules *l, struct str group, struct str kind, struct str ns,
                             struct str name) {
        for (size_t i = 0; i < l->count; i++)
                if (rule_matches(&l->rules[i], group, kind, ns, name))
                        return true;
        return false;
}

static bool listed(const struct manifest_rules *l, const struct manifest_object *o) {
        return any_rule_matches(l, o->group, o->kind, o->ns, o->name);
}

/* Kinds. */

static bool has_kind(const struct manifest_kinds *k, struct str group, struct str kind) {
        bool group_fits = k->group_count == 0, kind_fits = k->kind_count == 0;

        for (size_t i = 0; i < k->group_count && !group_fits; i++)
                group_fits = glob_match(k->groups[i], group);
        for (size_t i = 0; i < k->kind_count && !kind_fits; i++)
                kind_fits = str_eqc(k->kinds[i], "*") || str_eq(k->kinds[i], kind);
        return group_fits && kind_fits;
}

static bool any_has_kind(const struct manifest_kinds *list, size_t count, struct str group, struct str kind) {
        for (size_t i = 0; i < count; i++)
                if (has_kind(&list[i], group, kind))
                        return true;
        return false;
}

bool manifest_is_excluded(const struct manifest_filter *f, struct str group, struct str kind) {
        return any_has_kind(f->excluded, f->excluded_count, group, kind) ||
               (f->included_count > 0 && !any_has_kind(f->included, f->included_count, group, kind));
}

/* Own objects. */

static bool is_own_account(const struct manifest_protection *p, struct str ns, struct str name) {
        if (p->whole_namespace && p->own_namespace.n > 0 && str_eq(ns, p->own_namespace))
                return true;
        return any_rule_matches(&p->own, (struct str){ 0 }, STR("ServiceAccount"), ns, name);
}

/* "system:serviceaccount:NAMESPACE:NAME", an account written as a user. */
static bool is_own_user(const struct manifest_protection *p, struct str user) {
        static const char prefix[] = "system:serviceaccount:";
        struct str rest = str_sub(user, strlen(prefix), user.n);
        ptrdiff_t colon = str_find(rest, ':', 0);

        return str_starts(user, STR("system:serviceaccount:")) && colon > 0 &&
               is_own_account(p, str_sub(rest, 0, (size_t)colon), str_sub(rest, (size_t)colon + 1, rest.n));
}

static bool binds_own_account(const struct manifest_object *o, const struct manifest_protection *p) {
        const struct value *subjects = value_getc(o->value, "subjects");

        if (!str_eqc(o->group, RBAC) || !value_is(subjects, VALUE_LIST))
                return false;
        for (size_t i = 0; i < subjects->list.count; i++) {
                const struct value *s = subjects->list.items[i];
                struct str ns = value_text(value_getc(s, "namespace")), name = value_text(value_getc(s, "name"));
                bool account = str_eqc(value_text(value_getc(s, "kind")), "ServiceAccount");

                /* A RoleBinding's subject may leave its namespace out in old versions: then it is the binding's. */
                if (account ? is_own_account(p, ns.n ? ns : o->ns, name) : is_own_user(p, name))
                        return true;
        }
        return false;
}

static int check_own(const struct manifest_object *o, const struct manifest_protection *p, struct err *err) {
        static const char hint[] = "Git may not manage truce itself unless the Agent document says allowOwnObjects";

        if (p->own_namespace.n > 0 && manifest_is_namespace(o->group, o->kind) && str_eq(o->name, p->own_namespace))
                return err_set(err, ERR_DENIED, "this is the namespace truce runs in; %s", hint);
        if (p->own_namespace.n > 0 && p->whole_namespace && str_eq(o->ns, p->own_namespace))
                return err_set(err, ERR_DENIED, "it is in the namespace truce runs in; %s", hint);
        if (listed(&p->own, o))
                return err_set(err, ERR_DENIED, "it belongs to truce; %s", hint);
        if (binds_own_account(o, p))
                return err_set(err, ERR_DENIED, "it gives rights to truce's own account; %s", hint);
        return 0;
}

/* The project. */

static int check_project(const struct manifest_object *o, const struct manifest_protection *p, struct err *err) {
        const struct manifest_rules *allow = o->namespaced ? &p->namespaced_allow : &p->cluster_allow;
        const struct manifest_rules *deny = o->namespaced ? &p->namespaced_deny : &p->cluster_deny;
        struct manifest_object in_namespace = { .ns = o->ns };

        if ((allow->rules && !listed(allow, o)) || listed(deny, o))
                return err_set(err, ERR_DENIED, "the project does not permit %s kind %.*s%s%.*s",
                               o->namespaced ? "the" : "the cluster-scoped", STR_FMT(o->group), o->group.n ? "/" : "",
                               STR_FMT(o->kind));
        if (o->namespaced && p->destinations.rules && !listed(&p->destinations, &in_namespace))
                return err_set(err, ERR_DENIED, "the project does not permit the namespace %.*s", STR_FMT(o->ns));
        return 0;
}

int manifest_check_protected(const struct manifest_object *o, const struct manifest_protection *p, struct err *err) {
        int r = p->allow_own ? 0 : check_own(o, p, err);

        return r < 0 ? r : check_project(o, p, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "own/policy.h"

/* Names of managers, exact or with a trailing '*'. The first match counts. */
static const struct known_manager {
        const char *pattern;
        enum policy_class class;
} known_managers[] = {
        { OWN_MANAGER, POLICY_OURS },
        { OWN_KEEPER, POLICY_KEEPER },
        { "before-first-apply", POLICY_NOBODY },
        { "ancient-changes", POLICY_ANCIENT },

        { "kubectl-client-side-apply", POLICY_CLIENT },
        { "kubectl-create", POLICY_CLIENT },
        { "kubectl-last-applied", POLICY_CLIENT },

        { "kubectl", POLICY_PERSON },
        { "kubectl-*", POLICY_PERSON }, /* edit, patch, replace, scale, label, annotate, set, rollout, autoscale … */
        { "oc", POLICY_PERSON },
        { "k9s", POLICY_PERSON },
        { "Lens", POLICY_PERSON },
        { "node-fetch", POLICY_PERSON }, /* how Lens and OpenLens introduce themselves */
        { "OpenLens", POLICY_PERSON },
        { "dashboard", POLICY_PERSON },
        { "dashboard-api", POLICY_PERSON },
        { "kubernetes-dashboard", POLICY_PERSON },
        { "headlamp*", POLICY_PERSON },
        { "Mozilla", POLICY_PERSON }, /* a browser, through a console's proxy */
        { "curl", POLICY_PERSON },
        { "rancher", POLICY_PERSON },

        { "argocd-controller", POLICY_GITOPS },
        { "argocd-application-controller", POLICY_GITOPS },
        { "gitops-controller", POLICY_GITOPS },
        { "kustomize-controller", POLICY_GITOPS },
        { "helm-controller", POLICY_GITOPS },
        { "flux*", POLICY_GITOPS },
        { "helm", POLICY_GITOPS },
        { "Helm", POLICY_GITOPS },
        { "configsync", POLICY_GITOPS },
        { "kapp-server-side-apply", POLICY_GITOPS },
        { "terraform*", POLICY_GITOPS },
        { "Terraform*", POLICY_GITOPS },
        { "pulumi*", POLICY_GITOPS },

        { "kube-controller-manager", POLICY_CONTROLLER },
        { "kube-scheduler", POLICY_CONTROLLER },
        { "kube-apiserver", POLICY_CONTROLLER },
        { "kubelet", POLICY_CONTROLLER },
        { "cloud-controller-manager", POLICY_CONTROLLER },
        { "keda-operator", POLICY_SCALER },
        { "vpa-*", POLICY_CONTROLLER },
};

bool policy_name_fits(const char *pattern, struct str name) {
        size_t n = strlen(pattern);

        if (n && pattern[n - 1] == '*')
                return str_starts(name, (struct str){ pattern, n - 1 });
        return str_eqc(name, pattern);
}

bool policy_is_name_pattern(struct str text) {
        ptrdiff_t star = str_find(text, '*', 0);

        return star < 0 || (size_t)star + 1 == text.n;
}

bool policy_is_own_name(struct str manager) {
        return str_eqc(manager, OWN_MANAGER) || str_eqc(manager, OWN_KEEPER);
}

static enum policy_class class_of_name(struct str manager) {
        for (size_t i = 0; i < ARRAY_LEN(known_managers); i++)
                if (policy_name_fits(known_managers[i].pattern, manager))
                        return known_managers[i].class;
        return POLICY_UNKNOWN;
}

bool policy_is_person(struct str manager) {
        enum policy_class class = class_of_name(manager);

        return class == POLICY_PERSON || class == POLICY_CLIENT;
}

enum policy_class policy_classify(struct str manager, enum managed_operation operation, struct str subresource) {
        enum policy_class class = class_of_name(manager);

        /* Our name is ours as an applier; an Update entry under it is a stray write, of nobody in particular. */
        if (class == POLICY_OURS && (operation != MANAGED_APPLY || subresource.n))
                return POLICY_NOBODY;
        if ((class == POLICY_UNKNOWN || class == POLICY_CONTROLLER) && str_eqc(subresource, "scale"))
                return POLICY_SCALER;
        return class;
}

#define CLASS(c) (1u << (c))

static const struct policy_rule built_in_rules[] = {
        { .name = "a scaler owns replicas",
          .scale = 1u << SCALE_SCALER | 1u << SCALE_INFERRED | 1u << SCALE_DECLARED,
          .action = POLICY_YIELD },
        { .name = "replicas scaled by hand go back to Git",
          .scale = 1u << SCALE_MANUAL,
          .classes = CLASS(POLICY_PERSON) | CLASS(POLICY_CLIENT),
          .action = POLICY_TAKE },
        { .name = "the autoscaler that scaled is gone",
          .scale = 1u << SCALE_STALE,
          .manager = "kube-controller-manager",
          .subresource = "scale",
          .action = POLICY_TAKE },
        { .name = "the autoscaler that scaled is gone",
          .scale = 1u << SCALE_STALE,
          .manager = "keda*",
          .subresource = "scale",
          .action = POLICY_TAKE },
        { .name = "a status writer owns nothing outside status", .subresource = "status", .action = POLICY_TAKE },
        { .name = "truce's own entries", .classes = CLASS(POLICY_OURS) | CLASS(POLICY_KEEPER), .action = POLICY_TAKE },
        { .name = "a person's edit gives way to Git", .classes = CLASS(POLICY_PERSON), .action = POLICY_TAKE },
        { .name = "client-side apply is superseded", .classes = CLASS(POLICY_CLIENT), .action = POLICY_TAKE },
        { .name = "written before the first apply", .classes = CLASS(POLICY_NOBODY), .action = POLICY_TAKE },
        { .name = "an earlier deployer is superseded", .leftover = true, .action = POLICY_TAKE },
        { .name = "another owner is left alone", .action = POLICY_REPORT },
};

static bool scale_matches(const struct policy_rule *r, const struct policy_question *q) {
        if (!r->scale)
                return true;
        return q->is_replicas && q->scale && (r->scale & 1u << q->scale->verdict);
}

static bool selects(const char *pattern, struct str name) {
        return !pattern || policy_name_fits(pattern, name);
}

bool policy_rule_selects(const struct policy_rule *r, const struct policy_object *o) {
        if (!o)
                return !r->group && !r->kind && !r->ns && !r->object && !r->application;
        return selects(r->group, o->group) && selects(r->kind, o->kind) && selects(r->ns, o->ns) &&
               selects(r->object, o->name) && selects(r->application, o->application);
}

bool policy_rule_is_ownerless(const struct policy_rule *r) {
        return !r->manager && !r->subresource && !r->classes && !r->scale;
}

static bool rule_matches(const struct policy_rule *r, const struct policy_question *q, enum policy_class class) {
        if (r->manager && (policy_is_own_name(q->manager) || !policy_name_fits(r->manager, q->manager)))
                return false;
        if (r->subresource && !str_eqc(q->subresource, r->subresource))
                return false;
        if (r->classes && !(r->classes & CLASS(class)))
                return false;
        if (r->leftover && !q->leftover)
                return false;
        if (r->path && field_pattern_fit(*r->path, q->path) != PATTERN_COVERS)
                return false;
        return policy_rule_selects(r, q->object) && scale_matches(r, q);
}

struct policy_answer policy_decide(const struct policy *p, const struct policy_question *q) {
        enum policy_class class = policy_classify(q->manager, q->operation, q->subresource);
        const struct policy_rule *rule = &built_in_rules[0];

        for (size_t i = 0; p && i < p->count; i++)
                if (rule_matches(&p->rules[i], q, class))
                        return (struct policy_answer){ p->rules[i].action, class, p->rules[i].name, p->rules[i].place };
        /* The last built-in rule matches everything. */
        while (!rule_matches(rule, q, class))
                rule++;
        return (struct policy_answer){ rule->action, class, rule->name, NULL };
}

static const char *const class_names[] = {
        [POLICY_OURS] = "truce",
        [POLICY_KEEPER] = "keeper",
        [POLICY_PERSON] = "person",
        [POLICY_CLIENT] = "client-side apply",
        [POLICY_NOBODY] = "nobody",
        [POLICY_ANCIENT] = "forgotten writers",
        [POLICY_SCALER] = "scaler",
        [POLICY_CONTROLLER] = "controller",
        [POLICY_GITOPS] = "another deployer",
        [POLICY_UNKNOWN] = "unknown",
};

const char *policy_class_name(enum policy_class class) {
        return class_names[class];
}

static const char *const action_names[] = {
        [POLICY_REPORT] = "report",
        [POLICY_TAKE] = "take",
        [POLICY_YIELD] = "yield",
};

const char *policy_action_name(enum policy_action action) {
        return action_names[action];
}

bool policy_action_from_word(struct str word, enum policy_action *ret_action) {
        for (size_t i = 0; i < ARRAY_LEN(action_names); i++) {
                if (!str_eqc(word, action_names[i]))
                        continue;
                *ret_action = (enum policy_action)i;
                return true;
        }
        return false;
}

/* Words of rules; truce's own entries are no class that a rule may be about. */
static const struct class_word {
        const char *word;
        enum policy_class class;
} class_words[] = {
        { "person", POLICY_PERSON },   { "client", POLICY_CLIENT },         { "nobody", POLICY_NOBODY },
        { "ancient", POLICY_ANCIENT }, { "scaler", POLICY_SCALER },         { "controller", POLICY_CONTROLLER },
        { "gitops", POLICY_GITOPS },   { "unknown", POLICY_UNKNOWN },
};

const char *policy_class_word(size_t i) {
        return i < ARRAY_LEN(class_words) ? class_words[i].word : NULL;
}

bool policy_class_from_word(struct str word, enum policy_class *ret_class) {
        for (size_t i = 0; i < ARRAY_LEN(class_words); i++) {
                if (!str_eqc(word, class_words[i].word))
                        continue;
                *ret_class = class_words[i].class;
                return true;
        }
        return false;
}

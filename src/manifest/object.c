/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/object.h"

#include <strings.h>

#include "manifest/document_impl.h"
#include "manifest/sync_options.h"

static struct str annotation(const struct value *object, const char *key) {
        return value_text(value_getc(value_path(object, "metadata", "annotations", NULL), key));
}

bool annotation_is_word(struct str text, const char *word) {
        text = str_trim(text);
        return text.n == strlen(word) && strncasecmp(text.p, word, text.n) == 0;
}

bool manifest_is_kept(const struct manifest_object *o) {
        return o->prune_disabled || o->delete_disabled || o->keep;
}

bool manifest_value_is_kept(const struct value *object) {
        struct str options = annotation(object, "argocd.argoproj.io/sync-options");

        return sync_options_have(options, "Prune=false") || sync_options_have(options, "Prune=confirm") ||
               sync_options_have(options, "Delete=false") || sync_options_have(options, "Delete=confirm") ||
               annotation_is_word(annotation(object, "helm.sh/resource-policy"), "keep") ||
               annotation_is_word(annotation(object, "kustomize.toolkit.fluxcd.io/prune"), "disabled");
}

bool manifest_value_is_skipped(const struct value *object) {
        return annotation_is_word(annotation(object, "argocd.argoproj.io/skip-reconcile"), "true") ||
               annotation_is_word(annotation(object, "kustomize.toolkit.fluxcd.io/reconcile"), "disabled");
}

bool manifest_value_ignores_extraneous(const struct value *object) {
        return sync_options_have(annotation(object, "argocd.argoproj.io/compare-options"), "IgnoreExtraneous");
}

struct str manifest_title(const struct manifest_object *o, struct arena *a) {
        return arena_strf(a, "%.*s%s%.*s %.*s%s%.*s", STR_FMT(o->group), o->group.n ? "/" : "", STR_FMT(o->kind),
                          STR_FMT(o->ns), o->ns.n ? "/" : "", STR_FMT(o->name));
}

struct str manifest_id(struct str group, struct str kind, struct str ns, struct str name, struct arena *a) {
        return arena_strf(a, "%.*s/%.*s/%.*s/%.*s", STR_FMT(group), STR_FMT(kind), STR_FMT(ns), STR_FMT(name));
}

/* One step down; ret_line is only set where something has a line of its own. */
static const struct value *step(const struct value *v, struct str token, uint32_t *ret_line) {
        const struct value_member *m = value_member_find(v, token);
        const struct value *next = m ? m->value : pointer_find(v, (struct pointer){ &token, 1 });

        if (m && m->line)
                *ret_line = m->line;
        else if (next && next->line)
                *ret_line = next->line;
        return next;
}

uint32_t manifest_line_of(const struct manifest_object *o, struct pointer path) {
        const struct value *v = o->value;
        uint32_t line = o->line ? o->line : 1;

        for (size_t i = 0; v && i < path.count; i++)
                v = step(v, path.tokens[i], &line);
        return line;
}

/* kube-apiserver's own groups; CRDs may not be made in them without an approval annotation. */
static const char *const builtin_groups[] = {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
};

bool manifest_group_is_builtin(struct str group) {
        for (size_t i = 0; i < ARRAY_LEN(builtin_groups); i++)
                if (str_eqc(group, builtin_groups[i]))
                        return true;
        return false;
}

bool manifest_is_crd(struct str group, struct str kind) {
        return str_eqc(group, "apiextensions.k8s.io") && str_eqc(kind, "CustomResourceDefinition");
}

bool manifest_is_namespace(struct str group, struct str kind) {
        return group.n == 0 && str_eqc(kind, "Namespace");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that look at what would be stored: the labels of PodSecurity, PersistentVolumeClaimResize, Priority.
 * Source: k8s.io/pod-security-admission, k8s.io/kubernetes plugin/pkg/admission.
 */
#include "sandbox/admission.h"

#include "sandbox/codec.h"
#include "sandbox/status.h"
#include "sandbox/validate_impl.h"

/* ---- Namespace ---- */

#define SECURITY "pod-security.kubernetes.io/"

static bool is_level(struct str s) {
        static const char *const levels[] = { "privileged", "baseline", "restricted", NULL };

        return is_one_of(s, levels);
}

/* "latest", "v1.0", "v1.31" … */
static bool is_version(struct str s) {
        bool digits = s.n > 3 && str_starts(s, STR("v1."));

        for (size_t i = 3; i < s.n; i++)
                digits = digits && s.p[i] >= '0' && s.p[i] <= '9';
        return str_eqc(s, "latest") || (digits && (s.n == 4 || s.p[3] != '0'));
}

static const struct {
        const char *label;
        bool (*is_valid)(struct str s);
        const char *wanted;
} security_labels[] = {
        { SECURITY "enforce", is_level, "must be one of privileged, baseline, restricted" },
        { SECURITY "enforce-version", is_version, "must be \"latest\" or \"v1.x\"" },
        { SECURITY "audit", is_level, "must be one of privileged, baseline, restricted" },
        { SECURITY "audit-version", is_version, "must be \"latest\" or \"v1.x\"" },
        { SECURITY "warn", is_level, "must be one of privileged, baseline, restricted" },
        { SECURITY "warn-version", is_version, "must be \"latest\" or \"v1.x\"" },
};

static void find_faults(const struct value *namespace, struct causes *out) {
        const struct value *labels = value_path(namespace, "metadata", "labels", NULL);

        for (size_t i = 0; i < ARRAY_LEN(security_labels); i++) {
                const struct value *v = value_getc(labels, security_labels[i].label);

                if (v && !security_labels[i].is_valid(value_text(v)))
                        causes_add(out, "FieldValueInvalid",
                                   arena_strf(out->arena, "metadata.labels[%s]", security_labels[i].label),
                                   "Invalid value: %.*s: %s", STR_FMT(quoted(value_text(v), out->arena)),
                                   security_labels[i].wanted);
        }
}

static bool same_faults(const struct causes *a, const struct causes *b) {
        bool same = a->count == b->count;

        for (size_t i = 0; same && i < a->count; i++)
                same = str_eq(a->items[i].field, b->items[i].field) && str_eq(a->items[i].message, b->items[i].message);
        return same;
}

static int check_namespace_labels(struct call *c, const struct value *live, const struct value *object) {
        struct causes faults = { .arena = c->a }, before = { .arena = c->a };
        int r = 0;

        find_faults(object, &faults);
        if (live)
                find_faults(live, &before);
        if (faults.count && !same_faults(&faults, &before))
                r = status_invalid(c, c->kind->resource->group, c->kind->resource->kind, meta_text(object, "name"),
                                   &faults);
        causes_done(&faults);
        causes_done(&before);
        return r;
}

/* ---- PersistentVolumeClaim ---- */

static bool may_grow(struct call *c, const struct value *claim) {
        struct shelf *shelf = store_shelf(c->s->store, STR("storage.k8s.io"), STR("storageclasses"));
        struct str name = value_text(value_path(claim, "spec", "storageClassName", NULL));
        struct version *class = name.n ? shelf_find(shelf, (struct str){ 0 }, name) : NULL;

        return class && value_truth(value_getc(class->value, "allowVolumeExpansion"), false);
}

static int check_growth(struct call *c, const struct value *live, const struct value *object) {
        const struct value *before = value_path(live, "spec", "resources", "requests", "storage", NULL);
        const struct value *now = value_path(object, "spec", "resources", "requests", "storage", NULL);

        if (!live || quantity_of(now) <= quantity_of(before))
                return 0;
        if (!str_eqc(value_text(value_path(live, "status", "phase", NULL)), "Bound"))
                return status_forbidden(c, c->at.name, STR("Only bound persistent volume claims can be expanded"),
                                        NULL);
        if (may_grow(c, object) && same(value_path(live, "spec", "storageClassName", NULL),
                                        value_path(object, "spec", "storageClassName", NULL)))
                return 0;
        return status_forbidden(
                c, c->at.name,
                STR("only dynamically provisioned pvc can be resized and the storageclass that provisions "
                    "the pvc must support resize"),
                NULL);
}

/* ---- PriorityClass ---- */

static int check_default_class(struct call *c, const struct value *live, const struct value *object) {
        const struct shelf *shelf = c->kind->shelf;

        if (!value_truth(value_getc(object, "globalDefault"), false))
                return 0;
        for (size_t i = 0; i < shelf->count; i++)
                if (value_truth(value_getc(shelf->items[i]->value, "globalDefault"), false) &&
                    !(live && str_eq(shelf->items[i]->name, meta_text(object, "name"))))
                        return status_forbidden(
                                c, meta_text(object, "name"),
                                arena_strf(
                                        c->a,
                                        "PriorityClass %.*s is already marked as default. Only one default can exist",
                                        STR_FMT(shelf->items[i]->name)),
                                NULL);
        return 0;
}

static const struct {
        const char *group, *kind;
        int (*check)(struct call *c, const struct value *live, const struct value *object);
} plugins[] = {
        { "", "Namespace", check_namespace_labels },
        { "", "PersistentVolumeClaim", check_growth },
        { "scheduling.k8s.io", "PriorityClass", check_default_class },
};

int admission_validate(struct call *c, const struct value *live, const struct value *object) {
        if (c->at.subresource.n || c->kind->is_custom)
                return 0;
        for (size_t i = 0; i < ARRAY_LEN(plugins); i++)
                if (str_eqc(c->kind->resource->group, plugins[i].group) &&
                    str_eqc(c->kind->resource->kind, plugins[i].kind))
                        return plugins[i].check(c, live, object);
        return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/strategy.h"

#define GONE       STRATEGY_RETURN_DELETED
#define SPEC       (STRATEGY_STATUS | STRATEGY_GENERATION)
#define ANY_CHANGE STRATEGY_GENERATION_ALL
#define LOCKED     STRATEGY_NO_UNCONDITIONAL
#define RBAC       "rbac.authorization.k8s.io"
#define ADMISSION  "admissionregistration.k8s.io"

static const struct strategy strategies[] = {
        { "", "endpoints", STRATEGY_CREATE_ON_UPDATE, "services/endpoints" },
        { "", "events", STRATEGY_CREATE_ON_UPDATE | STRATEGY_NO_GC, NULL },
        { "", "limitranges", STRATEGY_CREATE_ON_UPDATE, "limitranges" },
        { "", "namespaces", STRATEGY_STATUS | GONE, NULL },
        { "", "nodes", STRATEGY_STATUS | STRATEGY_STATUS_CREATED, "minions" },
        { "", "persistentvolumeclaims", STRATEGY_STATUS | GONE, NULL },
        { "", "persistentvolumes", STRATEGY_STATUS | GONE, NULL },
        { "", "pods", SPEC | GONE | STRATEGY_GRACEFUL, NULL },
        { "", "podtemplates", ANY_CHANGE | GONE, NULL },
        { "", "replicationcontrollers", SPEC | STRATEGY_ORPHAN, "controllers" },
        { "", "resourcequotas", STRATEGY_STATUS | GONE, NULL },
        { "", "serviceaccounts", GONE, NULL },
        { "", "services", STRATEGY_STATUS | GONE | STRATEGY_CREATE_ON_UPDATE, "services/specs" },
        { "apps", "daemonsets", SPEC, NULL },
        { "apps", "deployments", SPEC | STRATEGY_ANNOTATIONS_COUNT | STRATEGY_STATUS_KEEPS_LABELS, NULL },
        { "apps", "replicasets", SPEC, NULL },
        { "apps", "statefulsets", SPEC, NULL },
        { "autoscaling", "horizontalpodautoscalers", SPEC, NULL },
        { "batch", "cronjobs", SPEC, NULL },
        { "batch", "jobs", SPEC | STRATEGY_ORPHAN, NULL },
        { "certificates.k8s.io", "clustertrustbundles", LOCKED, NULL },
        { "certificates.k8s.io", "certificatesigningrequests", STRATEGY_STATUS, NULL },
        { "coordination.k8s.io", "leases", STRATEGY_CREATE_ON_UPDATE | LOCKED, NULL },
        { "discovery.k8s.io", "endpointslices", ANY_CHANGE, NULL },
        { "networking.k8s.io", "ingressclasses", STRATEGY_GENERATION, NULL },
        { "networking.k8s.io", "ingresses", SPEC, "ingress" },
        { "networking.k8s.io", "networkpolicies", STRATEGY_GENERATION, NULL },
        { "networking.k8s.io", "servicecidrs", STRATEGY_STATUS, NULL },
        { "node.k8s.io", "runtimeclasses", STRATEGY_CREATE_ON_UPDATE | LOCKED, NULL },
        { "policy", "poddisruptionbudgets", SPEC | LOCKED, NULL },
        { RBAC, "clusterrolebindings", STRATEGY_CREATE_ON_UPDATE, NULL },
        { RBAC, "clusterroles", STRATEGY_CREATE_ON_UPDATE, NULL },
        { RBAC, "rolebindings", STRATEGY_CREATE_ON_UPDATE, NULL },
        { RBAC, "roles", STRATEGY_CREATE_ON_UPDATE, NULL },
        { "scheduling.k8s.io", "priorityclasses", STRATEGY_GENERATION, NULL },
        { "storage.k8s.io", "csidrivers", LOCKED | GONE, NULL },
        { "storage.k8s.io", "csinodes", LOCKED | GONE, NULL },
        { "storage.k8s.io", "csistoragecapacities", LOCKED, NULL },
        { "storage.k8s.io", "storageclasses", GONE, NULL },
        { "storage.k8s.io", "volumeattachments", STRATEGY_STATUS | LOCKED | GONE, NULL },
        { "storage.k8s.io", "volumeattributesclasses", GONE, NULL },
        { ADMISSION, "mutatingadmissionpolicies", STRATEGY_GENERATION | LOCKED, NULL },
        { ADMISSION, "mutatingadmissionpolicybindings", STRATEGY_GENERATION | LOCKED, NULL },
        { ADMISSION, "mutatingwebhookconfigurations", ANY_CHANGE | LOCKED, NULL },
        { ADMISSION, "validatingadmissionpolicies", SPEC | LOCKED, NULL },
        { ADMISSION, "validatingadmissionpolicybindings", STRATEGY_GENERATION | LOCKED, NULL },
        { ADMISSION, "validatingwebhookconfigurations", ANY_CHANGE | LOCKED, NULL },
        { "apiextensions.k8s.io", "customresourcedefinitions", SPEC, NULL },
        { "apiregistration.k8s.io", "apiservices", STRATEGY_STATUS, NULL },
        { "flowcontrol.apiserver.k8s.io", "flowschemas", SPEC, NULL },
        { "flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", SPEC, NULL },
        { "resource.k8s.io", "deviceclasses", STRATEGY_GENERATION | GONE, NULL },
        { "resource.k8s.io", "resourceclaims", STRATEGY_STATUS | GONE, NULL },
        { "resource.k8s.io", "resourceclaimtemplates", GONE, NULL },
        { "resource.k8s.io", "resourceslices", STRATEGY_GENERATION | GONE, NULL },
};

static const struct strategy strategy_plain = { "", "", 0, NULL };
/* PUT of a custom resource without resourceVersion is refused; kinds with status keep it apart. */
const struct strategy strategy_custom = { NULL, NULL, STRATEGY_GENERATION_ALL | STRATEGY_NO_UNCONDITIONAL, NULL };
const struct strategy strategy_custom_status = {
        NULL,
        NULL,
        STRATEGY_GENERATION_ALL | STRATEGY_NO_UNCONDITIONAL | STRATEGY_STATUS | STRATEGY_STATUS_ONLY,
        NULL,
};

const struct strategy *strategy_find(struct str group, struct str plural) {
        for (size_t i = 0; i < ARRAY_LEN(strategies); i++)
                if (str_eqc(group, strategies[i].group) && str_eqc(plural, strategies[i].plural))
                        return &strategies[i];
        return &strategy_plain;
}

/* ---- fields that are never recorded ---- */

#define FIELD(text)                                                                                                    \
        {                                                                                                              \
                .kind = PATH_FIELD, .name = { text, sizeof(text) - 1 }                                                 \
        }
#define MEMBER(text)                                                                                                   \
        {                                                                                                              \
                .element = FIELD(text), .set = {.member = true }                                                       \
        }

static const struct fieldset_child labels_child[] = { MEMBER("labels") };
static const struct fieldset_child status_children[] = { MEMBER("status") };
static const struct fieldset_child spec_children[] = { MEMBER("spec") };
static const struct fieldset_child spec_labels_children[] = {
        { .element = FIELD("metadata"), .set = { .children = labels_child, .count = 1 } },
        MEMBER("spec"),
};
static const struct fieldset_child spec_metadata_children[] = { MEMBER("metadata"), MEMBER("spec") };

static const struct fieldset reset_status = { .children = status_children, .count = 1 };
static const struct fieldset reset_spec = { .children = spec_children, .count = 1 };
static const struct fieldset_child times_and_owners[] = { MEMBER("deletionTimestamp"), MEMBER("ownerReferences") };
static const struct fieldset_child spec_owners_children[] = {
        { .element = FIELD("metadata"), .set = { .children = times_and_owners, .count = 2 } },
        MEMBER("spec"),
};
static const struct fieldset reset_spec_owners = { .children = spec_owners_children, .count = 2 };
static const struct fieldset reset_spec_labels = { .children = spec_labels_children, .count = 2 };
static const struct fieldset reset_spec_metadata = { .children = spec_metadata_children, .count = 2 };

static bool is_crd(const struct strategy *s) {
        return s->plural && str_eqc(STR("customresourcedefinitions"), s->plural);
}

const struct fieldset *strategy_reset_fields(const struct strategy *s, struct str subresource) {
        if (!(s->flags & STRATEGY_STATUS))
                return &fieldset_empty;
        if (!str_eqc(subresource, "status"))
                return subresource.n ? &fieldset_empty : &reset_status;
        if (s->flags & STRATEGY_STATUS_ONLY || is_crd(s))
                return &reset_spec_metadata;
        if (s->flags & STRATEGY_GRACEFUL)
                return &reset_spec_owners;
        return s->flags & STRATEGY_STATUS_KEEPS_LABELS ? &reset_spec_labels : &reset_spec;
}

/* ---- what a write may change ---- */

static const struct value *with_meta(const struct value *object, const char *field, const struct value *value,
                                     struct arena *a) {
        const struct str path[] = { STR("metadata"), str_from(field) };

        return value_with_path(a, object, path, ARRAY_LEN(path), value);
}

static const struct value *meta(const struct value *object, const char *field) {
        return value_path(object, "metadata", field, NULL);
}

/* "kubernetes" is in every new namespace's spec.finalizers: it holds the namespace until its content is gone. */
static const struct value *create_namespace(const struct value *object, struct arena *a) {
        static const struct str path[] = { { "spec", 4 }, { "finalizers", 10 } };
        const struct value *old = value_path(object, "spec", "finalizers", NULL);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < value_count(old); i++) {
                value_list_add(&list, old->list.items[i]);
                if (str_eqc(value_text(old->list.items[i]), "kubernetes")) {
                        value_list_drop(&list);
                        return object;
                }
        }
        value_list_add(&list, value_stringc(a, "kubernetes"));
        return value_with_path(a, object, path, 2, value_list_end(&list, a, 0));
}

static const struct value *first_status(const struct strategy *s, struct arena *a) {
        bool is_pod = s->flags & STRATEGY_GRACEFUL, is_namespace = s->plural && str_eqc(STR("namespaces"), s->plural);

        if (!is_pod && !is_namespace)
                return &value_empty_map;
        return value_with(a, NULL, STR("phase"), value_stringc(a, is_pod ? "Pending" : "Active"));
}

const struct value *strategy_create(const struct strategy *s, const struct value *object, struct arena *a) {
        if (s->flags & STRATEGY_STATUS && !(s->flags & STRATEGY_STATUS_CREATED && value_getc(object, "status")))
                object = value_with(a, object, STR("status"),
                                    s->flags & STRATEGY_STATUS_ONLY ? NULL : first_status(s, a));
        if (s->plural && str_eqc(STR("namespaces"), s->plural) && !*s->group)
                object = create_namespace(object, a);
        bool counts = s->flags & (STRATEGY_GENERATION | STRATEGY_GENERATION_ALL);
        return with_meta(object, "generation", counts ? value_int(a, 1, 0) : NULL, a);
}

static bool same(const struct value *x, const struct value *y) {
        return x == y || (x && y && value_equal(x, y));
}

/* All but apiVersion, metadata and, where it is kept apart, status. */
static bool same_content(const struct strategy *s, const struct value *x, const struct value *y, struct arena *a) {
        static const char *const ignored[] = { "apiVersion", "metadata", "status" };

        for (size_t i = 0; i < ARRAY_LEN(ignored) - !(s->flags & STRATEGY_STATUS); i++) {
                x = value_with(a, x, str_from(ignored[i]), NULL);
                y = value_with(a, y, str_from(ignored[i]), NULL);
        }
        return same(x, y);
}

static bool content_changed(const struct strategy *s, const struct value *live, const struct value *object,
                            struct arena *a) {
        if (s->flags & STRATEGY_GENERATION_ALL)
                return !same_content(s, live, object, a);
        if (!(s->flags & STRATEGY_GENERATION))
                return false;
        return !same(value_getc(live, "spec"), value_getc(object, "spec")) ||
               (s->flags & STRATEGY_ANNOTATIONS_COUNT && !same(meta(live, "annotations"), meta(object, "annotations")));
}

static const struct value *update_status(const struct strategy *s, const struct value *live, const struct value *object,
                                         struct arena *a) {
        if (s->flags & STRATEGY_STATUS_ONLY) {
                const struct value *managed = meta(object, "managedFields");

                live = value_with(a, live, STR("status"), value_getc(object, "status"));
                return with_meta(live, "managedFields", managed, a);
        }
        object = value_with(a, object, STR("spec"), value_getc(live, "spec"));
        if (s->flags & STRATEGY_STATUS_KEEPS_LABELS)
                object = with_meta(object, "labels", meta(live, "labels"), a);
        if (s->flags & STRATEGY_GRACEFUL)
                object = with_meta(object, "ownerReferences", meta(live, "ownerReferences"), a);
        return object;
}

const struct value *strategy_update(const struct strategy *s, struct str subresource, const struct value *live,
                                    const struct value *object, struct arena *a) {
        int64_t generation = 0;

        if (str_eqc(subresource, "status"))
                return with_meta(update_status(s, live, object, a), "generation", meta(live, "generation"), a);
        if (s->flags & STRATEGY_STATUS)
                object = value_with(a, object, STR("status"), value_getc(live, "status"));
        if (s->plural && str_eqc(STR("namespaces"), s->plural) && !str_eqc(subresource, "finalize"))
                object = value_with(a, object, STR("spec"), value_getc(live, "spec"));
        value_to_i64(meta(live, "generation"), &generation);
        if (content_changed(s, live, object, a))
                return with_meta(object, "generation", value_int(a, generation + 1, 0), a);
        return with_meta(object, "generation", meta(live, "generation"), a);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk that fills in defaults. Built-in types: each struct's function, its fields' fallbacks, then the structs
 * inside. CRDs (structural defaulting): fallbacks for absent fields and for nulls that may not be null, then inside,
 * also of what was just filled in.
 */
#include "sandbox/default_impl.h"

#include <string.h>

#include "base/json.h"
#include "sandbox/codec.h"

/* A field that becomes `json` when it is absent or zero: SetDefaults_* functions that are nothing else. */
static const struct simple_row {
        const char *type, *field, *json;
} simple_rows[] = {
        { "admissionregistration.v1.MatchResources", "matchPolicy", "\"Equivalent\"" },
        { "admissionregistration.v1.MatchResources", "namespaceSelector", "{}" },
        { "admissionregistration.v1.MatchResources", "objectSelector", "{}" },
        { "admissionregistration.v1.MutatingAdmissionPolicySpec", "failurePolicy", "\"Fail\"" },
        { "admissionregistration.v1.MutatingWebhook", "failurePolicy", "\"Fail\"" },
        { "admissionregistration.v1.MutatingWebhook", "matchPolicy", "\"Equivalent\"" },
        { "admissionregistration.v1.MutatingWebhook", "namespaceSelector", "{}" },
        { "admissionregistration.v1.MutatingWebhook", "objectSelector", "{}" },
        { "admissionregistration.v1.MutatingWebhook", "reinvocationPolicy", "\"Never\"" },
        { "admissionregistration.v1.MutatingWebhook", "timeoutSeconds", "10" },
        { "admissionregistration.v1.NamedRuleWithOperations", "scope", "\"*\"" },
        { "admissionregistration.v1.RuleWithOperations", "scope", "\"*\"" },
        { "admissionregistration.v1.ServiceReference", "port", "443" },
        { "admissionregistration.v1.ValidatingAdmissionPolicySpec", "failurePolicy", "\"Fail\"" },
        { "admissionregistration.v1.ValidatingWebhook", "failurePolicy", "\"Fail\"" },
        { "admissionregistration.v1.ValidatingWebhook", "matchPolicy", "\"Equivalent\"" },
        { "admissionregistration.v1.ValidatingWebhook", "namespaceSelector", "{}" },
        { "admissionregistration.v1.ValidatingWebhook", "objectSelector", "{}" },
        { "admissionregistration.v1.ValidatingWebhook", "timeoutSeconds", "10" },
        { "apiextensions.v1.ServiceReference", "port", "443" },
        { "apiregistration.v1.ServiceReference", "port", "443" },
        { "apps.v1.DaemonSetSpec", "revisionHistoryLimit", "10" },
        { "apps.v1.DeploymentSpec", "progressDeadlineSeconds", "600" },
        { "apps.v1.DeploymentSpec", "replicas", "1" },
        { "apps.v1.DeploymentSpec", "revisionHistoryLimit", "10" },
        { "apps.v1.ReplicaSetSpec", "replicas", "1" },
        { "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", "\"Retain\"" },
        { "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", "\"Retain\"" },
        { "apps.v1.StatefulSetSpec", "persistentVolumeClaimRetentionPolicy", "{}" },
        { "apps.v1.StatefulSetSpec", "podManagementPolicy", "\"OrderedReady\"" },
        { "apps.v1.StatefulSetSpec", "replicas", "1" },
        { "apps.v1.StatefulSetSpec", "revisionHistoryLimit", "10" },
        { "autoscaling.v1.HorizontalPodAutoscalerSpec", "minReplicas", "1" },
        { "autoscaling.v2.HorizontalPodAutoscalerSpec", "minReplicas", "1" },
        { "batch.v1.CronJobSpec", "concurrencyPolicy", "\"Allow\"" },
        { "batch.v1.CronJobSpec", "failedJobsHistoryLimit", "1" },
        { "batch.v1.CronJobSpec", "successfulJobsHistoryLimit", "3" },
        { "batch.v1.CronJobSpec", "suspend", "false" },
        { "batch.v1.PodFailurePolicyOnPodConditionsPattern", "status", "\"True\"" },
        { "core.v1.ConfigMapVolumeSource", "defaultMode", "420" },
        { "core.v1.DownwardAPIVolumeSource", "defaultMode", "420" },
        { "core.v1.HTTPGetAction", "path", "\"/\"" },
        { "core.v1.HTTPGetAction", "scheme", "\"HTTP\"" },
        { "core.v1.HostPathVolumeSource", "type", "\"\"" },
        { "core.v1.NamespaceStatus", "phase", "\"Active\"" },
        { "core.v1.ObjectFieldSelector", "apiVersion", "\"v1\"" },
        { "core.v1.PersistentVolumeClaimSpec", "volumeMode", "\"Filesystem\"" },
        { "core.v1.PersistentVolumeClaimStatus", "phase", "\"Pending\"" },
        { "core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy", "\"Retain\"" },
        { "core.v1.PersistentVolumeSpec", "volumeMode", "\"Filesystem\"" },
        { "core.v1.PersistentVolumeStatus", "phase", "\"Pending\"" },
        { "core.v1.PodSpec", "dnsPolicy", "\"ClusterFirst\"" },
        { "core.v1.PodSpec", "restartPolicy", "\"Always\"" },
        { "core.v1.PodSpec", "schedulerName", "\"default-scheduler\"" },
        { "core.v1.PodSpec", "securityContext", "{}" },
        { "core.v1.PodSpec", "terminationGracePeriodSeconds", "30" },
        { "core.v1.Probe", "failureThreshold", "3" },
        { "core.v1.Probe", "periodSeconds", "10" },
        { "core.v1.Probe", "successThreshold", "1" },
        { "core.v1.Probe", "timeoutSeconds", "1" },
        { "core.v1.ProjectedVolumeSource", "defaultMode", "420" },
        { "core.v1.Secret", "type", "\"Opaque\"" },
        { "core.v1.SecretVolumeSource", "defaultMode", "420" },
        { "core.v1.ServiceAccountTokenProjection", "expirationSeconds", "3600" },
        { "core.v1.EndpointPort", "protocol", "\"TCP\"" },
        { "discovery.v1.EndpointPort", "name", "\"\"" },
        { "discovery.v1.EndpointPort", "protocol", "\"TCP\"" },
        { "networking.v1.IngressClassParametersReference", "scope", "\"Cluster\"" },
        { "networking.v1.NetworkPolicyPort", "protocol", "\"TCP\"" },
        { "rbac.v1.RoleRef", "apiGroup", "\"rbac.authorization.k8s.io\"" },
        { "scheduling.v1.PriorityClass", "preemptionPolicy", "\"PreemptLowerPriority\"" },
        { "storage.v1.CSIDriverSpec", "attachRequired", "true" },
        { "storage.v1.CSIDriverSpec", "fsGroupPolicy", "\"ReadWriteOnceWithFSType\"" },
        { "storage.v1.CSIDriverSpec", "podInfoOnMount", "false" },
        { "storage.v1.CSIDriverSpec", "preventPodSchedulingIfMissing", "false" },
        { "storage.v1.CSIDriverSpec", "requiresRepublish", "false" },
        { "storage.v1.CSIDriverSpec", "seLinuxMount", "false" },
        { "storage.v1.CSIDriverSpec", "storageCapacity", "false" },
        { "storage.v1.CSIDriverSpec", "volumeLifecycleModes", "[\"Persistent\"]" },
        { "storage.v1.StorageClass", "reclaimPolicy", "\"Delete\"" },
        { "storage.v1.StorageClass", "volumeBindingMode", "\"Immediate\"" },
};

/* What the registry takes out of every object, as far as it was seen to (v1.37 without feature gates). */
static const struct {
        const char *type, *field;
} dropped_rows[] = {
        { "batch.v1.JobSpec", "scheduling" },
        { "coordination.v1.LeaseSpec", "preferredHolder" },
        { "coordination.v1.LeaseSpec", "strategy" },
        { "core.v1.ClusterTrustBundleProjection", "user" },
        { "core.v1.ConfigMapVolumeSource", "defaultUser" },
        { "core.v1.DownwardAPIVolumeFile", "user" },
        { "core.v1.DownwardAPIVolumeSource", "defaultUser" },
        { "core.v1.EmptyDirVolumeSource", "mode" },
        { "core.v1.GRPCAction", "mode" },
        { "core.v1.HTTPGetAction", "protocol" },
        { "core.v1.KeyToPath", "user" },
        { "core.v1.NodeSpec", "configSource" },
        { "core.v1.NodeSpec", "podPreemptionPolicy" },
        { "core.v1.PodSpec", "evictionResponders" },
        { "core.v1.PodCertificateProjection", "user" },
        { "core.v1.PodSpec", "schedulingGroup" },
        { "core.v1.ProjectedVolumeSource", "defaultUser" },
        { "core.v1.SecretVolumeSource", "defaultUser" },
        { "core.v1.ServiceAccountTokenProjection", "user" },
        { "discovery.v1.Endpoint", "deprecatedTopology" },
};

static const struct default_rule *const rule_lists[] = { default_rules_workload, default_rules_core,
                                                         default_rules_other };

/* --- small things the functions are made of --- */

bool default_text_is(const struct value *map, const char *key, const char *text) {
        return str_eqc(value_text(value_getc(map, key)), text);
}

const struct value *default_set(const struct value *map, const char *key, const struct value *value, struct arena *a) {
        return type_is_zero(value_getc(map, key)) ? value_with(a, map, str_from(key), value) : map;
}

const struct value *default_set_text(const struct value *map, const char *key, const char *text, struct arena *a) {
        return type_is_zero(value_getc(map, key)) ? value_with(a, map, str_from(key), value_stringc(a, text)) : map;
}

const struct value *default_set_pointer(const struct value *map, const char *key, const char *text, struct arena *a) {
        const struct value *v = value_getc(map, key);

        return !v || v->kind == VALUE_NULL ? value_with(a, map, str_from(key), value_stringc(a, text)) : map;
}

const struct value *default_set_int(const struct value *map, const char *key, int64_t number, struct arena *a) {
        return value_getc(map, key) ? map : value_with(a, map, str_from(key), value_int(a, number, 0));
}

const struct value *default_json(const char *text, struct arena *a) {
        const struct value *v = NULL;

        json_parse(str_from(text), a, &v, NULL);
        return v;
}

const struct value *default_each(const struct value *map, const char *key, default_fn fn, struct arena *a) {
        const struct value *list = value_getc(map, key);
        struct value_list_builder b = { 0 };
        bool changed = false;

        if (!value_is(list, VALUE_LIST))
                return map;
        for (size_t i = 0; i < list->list.count; i++) {
                const struct value *item = fn(list->list.items[i], a);

                changed = changed || item != list->list.items[i];
                value_list_add(&b, item);
        }
        if (changed)
                return value_with(a, map, str_from(key), value_list_end(&b, a, list->line));
        value_list_drop(&b);
        return map;
}

const struct value *default_in(const struct value *map, const char *key, default_fn fn, struct arena *a) {
        const struct value *member = value_getc(map, key);
        const struct value *after = value_is(member, VALUE_MAP) ? fn(member, a) : member;

        return after == member ? map : value_with(a, map, str_from(key), after);
}

/* --- types --- */

static void attach_simple(const struct simple_row *row, struct type_field *fields, size_t count, struct arena *a) {
        for (size_t i = 0; i < count; i++)
                if (str_eqc(fields[i].name, row->field))
                        fields[i].fallback = default_json(row->json, a);
}

static void attach_dropped(const char *name, struct type_field *fields, size_t count) {
        for (size_t i = 0; i < count; i++)
                fields[i].dropped = fields[i].dropped || str_eqc(fields[i].name, name);
}

void default_attach(struct type *t, struct type_field *fields, size_t count, struct arena *a) {
        for (size_t i = 0; i < ARRAY_LEN(simple_rows); i++)
                if (strcmp(simple_rows[i].type, t->name) == 0)
                        attach_simple(&simple_rows[i], fields, count, a);
        for (size_t i = 0; i < ARRAY_LEN(dropped_rows); i++)
                if (strcmp(dropped_rows[i].type, t->name) == 0)
                        attach_dropped(dropped_rows[i].field, fields, count);
        for (size_t i = 0; i < ARRAY_LEN(rule_lists); i++)
                for (const struct default_rule *r = rule_lists[i]; r->type; r++)
                        if (strcmp(r->type, t->name) == 0)
                                t->defaults = r;
}

/* --- the walk --- */

static const struct value *walk(const struct type *t, const struct value *v, struct arena *a);

/* A built-in field without a pointer is zero when absent; the others, and a CRD's, are absent only when not there. */
static bool wants_fallback(const struct type *t, const struct type_field *f, const struct value *v) {
        if (!f->fallback)
                return false;
        if (!v || (t->name && v->kind == VALUE_NULL))
                return true;
        if (v->kind == VALUE_NULL)
                return !f->type->nullable;
        return t->name && !f->pointer && type_is_zero(v);
}

/* The struct with its fields' fallbacks: members of the value and of the type, both sorted, side by side. */
static const struct value *fill_fields(const struct type *t, const struct value *v, struct arena *a) {
        size_t count = v->map.count, at = 0, n = 0;
        struct value_member *members = arena_alloc(a, (count + t->field_count) * sizeof *members);
        bool changed = false;

        for (size_t i = 0; i < t->field_count; i++) {
                const struct type_field *f = &t->fields[i];
                int order = -1;

                while (at < count && (order = str_cmp(v->map.members[at].key, f->name)) < 0)
                        members[n++] = v->map.members[at++];
                const struct value *old = at < count && order == 0 ? v->map.members[at].value : NULL;
                const struct value *value = wants_fallback(t, f, old) ? f->fallback : old;

                if (value)
                        value = walk(f->type, value, a);
                if (value)
                        members[n++] = (struct value_member){ .key = f->name, .value = value };
                changed = changed || value != old;
                at += old != NULL;
        }
        while (at < count)
                members[n++] = v->map.members[at++];
        return changed ? value_map_of(a, members, n, v->line) : v;
}

/* A null that an item may not be becomes the default of items, if there is one. */
static const struct value *walk_item(const struct type *t, const struct value *v, struct arena *a) {
        const struct value *fallback = t->rules && v->kind == VALUE_NULL ? value_getc(t->rules, "default") : NULL;

        return walk(t, fallback && !t->nullable ? fallback : v, a);
}

/* Undeclared members of a CRD's struct or of a map: by the type of free keys. */
static const struct value *fill_items(const struct type *t, const struct value *v, struct arena *a) {
        struct value_member *members = arena_alloc(a, v->map.count * sizeof *members);
        bool changed = false;

        for (size_t i = 0; i < v->map.count; i++) {
                members[i] = v->map.members[i];
                if (type_field(t, members[i].key))
                        continue;
                members[i].value = walk_item(t->item, members[i].value, a);
                changed = changed || members[i].value != v->map.members[i].value;
        }
        return changed ? value_map_of(a, members, v->map.count, v->line) : v;
}

static const struct value *fill_list(const struct type *t, const struct value *v, struct arena *a) {
        struct value_list_builder b = { 0 };
        bool changed = false;

        for (size_t i = 0; i < v->list.count; i++) {
                const struct value *item = walk_item(t->item, v->list.items[i], a);

                changed = changed || item != v->list.items[i];
                value_list_add(&b, item);
        }
        if (changed)
                return value_list_end(&b, a, v->line);
        value_list_drop(&b);
        return v;
}

static bool may_hold_defaults(const struct type *t) {
        return t && (t->kind == TYPE_STRUCT || t->kind == TYPE_MAP || t->kind == TYPE_LIST ||
                     (t->kind == TYPE_ANY && t->field_count));
}

static const struct value *walk(const struct type *t, const struct value *v, struct arena *a) {
        if (!may_hold_defaults(t) || !v)
                return v;
        if (v->kind == VALUE_LIST)
                return t->item && may_hold_defaults(t->item) ? fill_list(t, v, a) : v;
        if (v->kind != VALUE_MAP)
                return v;
        if (t->defaults)
                v = t->defaults->run(v, a);
        if (t->field_count)
                v = fill_fields(t, v, a);
        return t->item && may_hold_defaults(t->item) ? fill_items(t, v, a) : v;
}

/* --- what is taken out --- */

static const struct value *drop_members(const struct type *t, const struct value *v, struct arena *a) {
        const struct value *object = v;

        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];
                const struct type_field *f = type_field(t, m->key);
                const struct type *type = f ? f->type : t->item;
                const struct value *kept = f && f->dropped ? NULL : type ? codec_drop(type, m->value, a) : m->value;

                if (kept != m->value)
                        object = value_with(a, object, m->key, kept);
        }
        return object;
}

const struct value *codec_drop(const struct type *t, const struct value *object, struct arena *a) {
        struct value_list_builder b = { 0 };
        bool changed = false;

        if (object->kind == VALUE_MAP && may_hold_defaults(t))
                return drop_members(t, object, a);
        if (object->kind != VALUE_LIST || !t->item || !may_hold_defaults(t->item))
                return object;
        for (size_t i = 0; i < object->list.count; i++) {
                const struct value *item = codec_drop(t->item, object->list.items[i], a);

                changed |= item != object->list.items[i];
                value_list_add(&b, item);
        }
        if (changed)
                return value_list_end(&b, a, object->line);
        value_list_drop(&b);
        return object;
}

const struct value *codec_default(const struct type *t, struct str api_version, struct str kind,
                                  const struct value *object, struct arena *a) {
        (void)api_version;
        (void)kind;
        return walk(t, object, a);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* PersistentVolume, StorageClass. */
#include "base/limits.h"
#include "sandbox/go_struct.h"
#include "sandbox/validate_kinds.h"
#include "sandbox/validate_pod.h"

#define PARAMETERS_MAX       512
#define PARAMETERS_MAX_BYTES (256 * KIB)

static const char *const reclaim_policies[] = { "Delete", "Recycle", "Retain", NULL };
#define RECLAIM_LISTED "\"Delete\", \"Recycle\", \"Retain\""

static const char *const pv_sources[] = { "hostPath",
                                          "gcePersistentDisk",
                                          "awsElasticBlockStore",
                                          "glusterfs",
                                          "flocker",
                                          "nfs",
                                          "rbd",
                                          "quobyte",
                                          "cephfs",
                                          "iscsi",
                                          "cinder",
                                          "fc",
                                          "flexVolume",
                                          "azureFile",
                                          "vsphereVolume",
                                          "photonPersistentDisk",
                                          "portworxVolume",
                                          "azureDisk",
                                          "scaleIO",
                                          "local",
                                          "storageos",
                                          "csi" };
#define PV_SOURCES (sizeof pv_sources / sizeof *pv_sources)

static void check_local(struct check *c, const struct at *at, const struct value *source) {
        if (!text_of(source, "path").n)
                fault_required(c, AT(at, "path"), "");
        else
                check_no_back_step(c, AT(at, "path"), text_of(source, "path"));
}

static void check_pv_csi(struct check *c, const struct at *at, const struct value *source) {
        static const char *const secrets[] = { "controllerPublishSecretRef", "controllerExpandSecretRef",
                                               "nodePublishSecretRef", "nodeExpandSecretRef" };

        check_csi_driver(c, AT(at, "driver"), text_of(source, "driver"));
        if (!text_of(source, "volumeHandle").n)
                fault_required(c, AT(at, "volumeHandle"), "");
        for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
                const struct value *ref = get(source, secrets[i]);

                if (ref && !text_of(ref, "name").n)
                        fault_required(c, AT(AT_STR(at, str_from(secrets[i])), "name"), "");
                if (ref && !text_of(ref, "namespace").n)
                        fault_required(c, AT(AT_STR(at, str_from(secrets[i])), "namespace"), "");
        }
}

static const struct {
        const char *name;
        void (*check)(struct check *c, const struct at *at, const struct value *source);
} pv_sources_checked[] = {
        { "hostPath", check_host_path },
        { "nfs", check_nfs },
        { "local", check_local },
        { "csi", check_pv_csi },
};

static void check_one_source(struct check *c, const struct at *at, const char *name, const struct value *source) {
        for (size_t i = 0; i < sizeof pv_sources_checked / sizeof *pv_sources_checked; i++)
                if (str_eqc(str_from(name), pv_sources_checked[i].name))
                        pv_sources_checked[i].check(c, AT_STR(at, str_from(name)), source);
}

static void check_pv_source(struct check *c, const struct at *at, const struct value *spec) {
        size_t found = 0;

        for (size_t i = 0; i < PV_SOURCES; i++) {
                if (!get(spec, pv_sources[i]))
                        continue;
                if (found++)
                        fault_forbidden(c, AT_STR(at, str_from(pv_sources[i])),
                                        "may not specify more than 1 volume type");
                else
                        check_one_source(c, at, pv_sources[i], get(spec, pv_sources[i]));
        }
        if (get(spec, "local") && found == 1 && !get(spec, "nodeAffinity"))
                fault_required(c, AT(at, "nodeAffinity"), "Local volume requires node affinity");
        if (!found)
                fault_required(c, at, "must specify a volume type");
}

/* "/" in as many words. */
static bool is_root(struct str path) {
        struct str part;

        if (!path.n || path.p[0] != '/')
                return false;
        while (str_next(&path, '/', &part))
                if (part.n && !str_eqc(part, "."))
                        return false;
        return true;
}

static void check_capacity(struct check *c, const struct at *at, const struct value *capacity) {
        if (!value_count(capacity))
                fault_required(c, at, "");
        if (!get(capacity, "storage") || value_count(capacity) > 1)
                fault_unsupported_raw(c, at, go_json(capacity, c->a), "\"storage\"");
        for (EACH_MEMBER(m, capacity)) {
                const struct at *key_at = AT_KEY(at, m->key);

                if (quantity_of(m->value) < 0)
                        fault_invalid_int(c, key_at, (int64_t)(quantity_of(m->value) / 1000000000),
                                          "must be a valid resource quantity");
                check_positive_quantity(c, key_at, m->value);
        }
}

/*
 * The key as it was, or what it is called now when `now` took the newer name. The server looks the old key up in a map,
 * which has the empty one for all others.
 */
static const struct value *key_like(const struct value *old, const struct value *now) {
        static const struct {
                const char *beta, *ga;
        } renamed[] = {
                { "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone" },
                { "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region" },
                { "beta.kubernetes.io/os", "kubernetes.io/os" },
                { "beta.kubernetes.io/arch", "kubernetes.io/arch" },
                { "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type" },
        };

        for (size_t i = 0; i < ARRAY_LEN(renamed); i++)
                if (str_eqc(value_text(old), renamed[i].beta))
                        return str_eqc(value_text(now), renamed[i].ga) ? now : old;
        return value_text(now).n ? old : now;
}

/* `old` with the names of labels that `now` renamed. */
static const struct value *renamed_like(struct check *c, const struct value *old, const struct value *now) {
        if (value_is(old, VALUE_LIST) && value_is(now, VALUE_LIST)) {
                struct value_list_builder b = { 0 };

                for (EACH(i, old))
                        value_list_add(&b, i < list_count(now) ? renamed_like(c, item_of(old, i), item_of(now, i))
                                                               : item_of(old, i));
                return value_list_end(&b, c->a, 0);
        }
        for (EACH_MEMBER(m, old)) {
                const struct value *other = value_get(now, m->key);
                const struct value *v =
                        str_eqc(m->key, "key") ? key_like(m->value, other) : renamed_like(c, m->value, other);

                if (v != m->value)
                        return value_with(c->a, renamed_like(c, value_with(c->a, old, m->key, NULL), now), m->key, v);
        }
        return old;
}

static void check_pv_affinity(struct check *c, const struct value *now, const struct value *before) {
        const struct value *required = get(now, "required");
        const struct value *old = renamed_like(c, get(before, "required"), required);

        if (!before || (now && go_struct_same("core.NodeSelector", old, required, c->a)))
                return;
        fault_invalid_raw(c, AT(NULL, "nodeAffinity"),
                          !now        ? STR("null")
                          : !required ? STR("{\"Required\":null}")
                                      : arena_strf(c->a, "{\"Required\":%.*s}",
                                                   STR_FMT(go_struct_json("core.NodeSelector", required, c->a))),
                          "field is immutable, except for updating from beta label to GA");
}

static void check_pv_change(struct check *c, const struct value *spec, const struct value *before) {
        const struct at *at = AT(NULL, "spec");
        const struct value *class = get(spec, "volumeAttributesClassName");

        if (!go_struct_same("core.PersistentVolumeSource", before, spec, c->a))
                fault_forbidden(c, AT(at, "persistentvolumesource"),
                                arena_strf(c->a, "spec.persistentvolumesource is immutable after creation\n%s",
                                           go_struct_diff("core.PersistentVolumeSource", before, spec, c->a).p)
                                        .p);
        check_immutable(c, AT(NULL, "volumeMode"), get(spec, "volumeMode"), get(before, "volumeMode"));
        check_pv_affinity(c, get(spec, "nodeAffinity"), get(before, "nodeAffinity"));
        if (!class && get(before, "volumeAttributesClassName"))
                fault_forbidden(c, AT(at, "volumeAttributesClassName"),
                                "update from non-nil value to nil is forbidden");
}

static void check_pv_class(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *class = get(spec, "volumeAttributesClassName");

        if (!class)
                return;
        if (!value_text(class).n)
                fault_required(c, AT(at, "volumeAttributesClassName"), "an empty string is disallowed");
        else
                check_text(c, AT(at, "volumeAttributesClassName"), TEXT_DNS_SUBDOMAIN, value_text(class));
        if (!get(spec, "csi"))
                fault_required(c, AT(at, "csi"), "has to be specified when using volumeAttributesClassName");
}

void check_pv(struct check *c) {
        const struct value *spec = get(c->object, "spec"), *affinity = get(spec, "nodeAffinity");
        const struct at *at = AT(NULL, "spec");
        struct str policy = text_of(spec, "persistentVolumeReclaimPolicy");

        if (!count_of(spec, "accessModes"))
                fault_required(c, AT(at, "accessModes"), "");
        check_access_modes(c, AT(at, "accessModes"), get(spec, "accessModes"));
        check_capacity(c, AT(at, "capacity"), get(spec, "capacity"));
        if (policy.n && !is_one_of(policy, reclaim_policies))
                fault_unsupported(c, AT(at, "persistentVolumeReclaimPolicy"), policy, RECLAIM_LISTED);
        if (get(affinity, "required"))
                check_node_selector(c, AT(AT(at, "nodeAffinity"), "required"), get(affinity, "required"));
        else if (affinity)
                fault_required(c, AT(AT(at, "nodeAffinity"), "required"), "must specify required node constraints");
        check_pv_source(c, at, spec);
        if (get(spec, "hostPath") && is_root(text_of(get(spec, "hostPath"), "path")) && str_eqc(policy, "Recycle"))
                fault_forbidden(c, AT(at, "persistentVolumeReclaimPolicy"),
                                "may not be 'recycle' for a hostPath mount of '/'");
        if (text_of(spec, "storageClassName").n)
                check_text(c, AT(at, "storageClassName"), TEXT_DNS_SUBDOMAIN, text_of(spec, "storageClassName"));
        check_volume_mode(c, AT(at, "volumeMode"), get(spec, "volumeMode"));
        check_pv_class(c, at, spec);
        if (c->live)
                check_pv_change(c, spec, get(c->live, "spec"));
}

/* --- StorageClass --- */

static void check_topology_label(struct check *c, const struct at *at, const struct value *label) {
        const struct value *values = get(label, "values");

        if (!list_count(values))
                fault_required(c, AT(at, "values"), "");
        for (EACH(i, values))
                for (size_t j = 0; j < i; j++)
                        if (value_equal(item_of(values, i), item_of(values, j))) {
                                fault_duplicate(c, AT_INDEX(AT(at, "values"), i), item_of(values, i));
                                break;
                        }
        check_text(c, AT(at, "key"), TEXT_LABEL_KEY, text_of(label, "key"));
}

static void check_topology(struct check *c, const struct at *at, const struct value *term) {
        const struct value *labels = get(term, "matchLabelExpressions");

        for (EACH(i, labels)) {
                const struct at *label_at = AT_INDEX(AT(at, "matchLabelExpressions"), i);
                bool seen = false;

                check_topology_label(c, label_at, item_of(labels, i));
                for (size_t j = 0; j < i; j++)
                        seen = seen || str_eq(text_of(item_of(labels, i), "key"), text_of(item_of(labels, j), "key"));
                if (seen)
                        fault_duplicate_str(c, AT(label_at, "key"), text_of(item_of(labels, i), "key"));
        }
}

/* Keys with the sets of their values: what two terms are compared by. */
static const struct value *topology_map(struct check *c, const struct value *term) {
        const struct value *labels = get(term, "matchLabelExpressions"), *map = &value_empty_map;

        for (EACH(i, labels)) {
                const struct value *values = get(item_of(labels, i), "values"), *set = &value_empty_map;

                for (EACH(j, values))
                        set = value_with(c->a, set, value_text(item_of(values, j)), &value_true);
                map = value_with(c->a, map, text_of(item_of(labels, i), "key"), set);
        }
        return map;
}

/* The server compares with as many empty terms as there are terms, so that an empty one is always doubled. */
static void check_topologies(struct check *c, const struct at *at, const struct value *terms) {
        for (EACH(i, terms)) {
                const struct value *map = topology_map(c, item_of(terms, i));
                bool seen = value_count(map) == 0;

                check_topology(c, AT_INDEX(at, i), item_of(terms, i));
                for (size_t j = 0; j < i; j++)
                        seen = seen || value_equal(map, topology_map(c, item_of(terms, j)));
                if (seen)
                        fault_duplicate_str(c, AT(AT_INDEX(at, i), "matchLabelExpressions"), STR(""));
        }
}

static void check_parameters(struct check *c, const struct at *at, const struct value *parameters) {
        size_t bytes = 0;

        if (value_count(parameters) > PARAMETERS_MAX) {
                fault_too_long(c, at, PARAMETERS_MAX);
                return;
        }
        for (EACH_MEMBER(m, parameters)) {
                if (!m->key.n)
                        fault_invalid_str(c, at, m->key, "field can not be empty.");
                bytes += m->key.n + value_text(m->value).n;
        }
        if (bytes > PARAMETERS_MAX_BYTES)
                fault_too_long(c, at, PARAMETERS_MAX_BYTES);
}

void check_storage_class(struct check *c) {
        static const char *const binding[] = { "Immediate", "WaitForFirstConsumer", NULL };
        static const char *const immutable[] = { "provisioner", "parameters", "reclaimPolicy", "volumeBindingMode" };
        const struct value *mode = get(c->object, "volumeBindingMode");
        struct str policy = text_of(c->object, "reclaimPolicy"), provisioner = text_of(c->object, "provisioner");

        if (provisioner.n)
                check_text(c, AT(NULL, "provisioner"), TEXT_LABEL_KEY, text_lower(provisioner, c->a));
        else
                late_required(c, AT(NULL, "provisioner"));
        check_parameters(c, AT(NULL, "parameters"), get(c->object, "parameters"));
        if (policy.n && !str_eqc(policy, "Delete") && !str_eqc(policy, "Retain"))
                fault_unsupported(c, AT(NULL, "reclaimPolicy"), policy, "\"Delete\", \"Retain\"");
        if (!mode)
                fault_required(c, AT(NULL, "volumeBindingMode"), "");
        else if (!is_one_of(value_text(mode), binding))
                fault_unsupported(c, AT(NULL, "volumeBindingMode"), value_text(mode),
                                  "\"Immediate\", \"WaitForFirstConsumer\"");
        check_topologies(c, AT(NULL, "allowedTopologies"), get(c->object, "allowedTopologies"));
        for (size_t i = 0; c->live && i < 4; i++)
                if (!same_semantically(get(c->object, immutable[i]), get(c->live, immutable[i])))
                        late_invalid(c, AT_STR(NULL, str_from(immutable[i])), NULL, "field is immutable");
}

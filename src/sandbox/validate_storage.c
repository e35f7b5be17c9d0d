/* SPDX-License-Identifier: Apache-2.0 */
/* PersistentVolumeClaim, PersistentVolume, StorageClass. */
#include "sandbox/validate_kinds.h"
#include "sandbox/validate_pod.h"

static const char *const access_modes[] = { "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod",
                                            NULL };
static const char *const volume_modes[] = { "Block", "Filesystem", NULL };
static const char *const reclaim_policies[] = { "Delete", "Recycle", "Retain", NULL };
#define RECLAIM_LISTED "\"Delete\", \"Recycle\", \"Retain\""

static void check_access_modes(struct check *c, const struct at *at, const struct value *modes) {
        bool one_pod = false, other = false;

        for (EACH(i, modes)) {
                struct str mode = value_text(item_of(modes, i));
                bool known = is_one_of(mode, access_modes);

                if (!known)
                        fault_unsupported(
                                c, at, mode,
                                "\"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"");
                one_pod = one_pod || str_eqc(mode, "ReadWriteOncePod");
                other = other || (known && !str_eqc(mode, "ReadWriteOncePod"));
        }
        if (one_pod && other)
                fault_forbidden(c, at, "may not use ReadWriteOncePod with other access modes");
}

static void check_volume_mode(struct check *c, const struct at *at, const struct value *mode) {
        if (mode && !is_one_of(value_text(mode), volume_modes))
                fault_unsupported(c, at, value_text(mode), "\"Block\", \"Filesystem\"");
}

static void check_source_ref(struct check *c, const struct at *at, const struct value *ref) {
        struct str group = text_of(ref, "apiGroup");

        if (!text_of(ref, "name").n)
                fault_required(c, AT(at, "name"), "");
        if (!text_of(ref, "kind").n)
                fault_required(c, AT(at, "kind"), "");
        if (!group.n && !str_eqc(text_of(ref, "kind"), "PersistentVolumeClaim"))
                fault_invalid_str(c, at, text_of(ref, "kind"),
                                  "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
        if (group.n)
                check_text(c, AT(at, "apiGroup"), TEXT_DNS_SUBDOMAIN, group);
}

void check_pvc_spec(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *storage = value_path(spec, "resources", "requests", "storage", NULL);
        const struct at *storage_at = AT_KEY(AT(at, "resources"), STR("storage"));

        if (!count_of(spec, "accessModes"))
                fault_required(c, AT(at, "accessModes"), "at least 1 access mode is required");
        check_selector(c, AT(at, "selector"), get(spec, "selector"));
        check_access_modes(c, AT(at, "accessModes"), get(spec, "accessModes"));
        if (!storage)
                fault_required(c, storage_at, "");
        else
                check_positive_quantity(c, storage_at, storage);
        if (text_of(spec, "storageClassName").n)
                check_text(c, AT(at, "storageClassName"), TEXT_DNS_SUBDOMAIN, text_of(spec, "storageClassName"));
        check_volume_mode(c, AT(at, "volumeMode"), get(spec, "volumeMode"));
        if (get(spec, "dataSource"))
                check_source_ref(c, AT(at, "dataSource"), get(spec, "dataSource"));
        if (get(spec, "dataSourceRef"))
                check_source_ref(c, AT(at, "dataSourceRef"), get(spec, "dataSourceRef"));
}

static const struct value *with_old(struct check *c, const struct value *now, const struct value *before,
                                    const char *field) {
        return value_with(c->a, now, str_from(field), get(before, field));
}

static void check_pvc_change(struct check *c, const struct value *spec) {
        const struct value *before = get(c->live, "spec"), *now = spec;
        bool bound = str_eqc(text_of(get(c->object, "status"), "phase"), "Bound");
        const struct value *old_size = value_path(before, "resources", "requests", "storage", NULL);
        const struct value *size = value_path(spec, "resources", "requests", "storage", NULL);
        const struct value *has = value_path(c->live, "status", "capacity", "storage", NULL);
        const struct at *at = AT(NULL, "spec");

        if (!text_of(before, "volumeName").n)
                now = with_old(c, now, before, "volumeName");
        if (bound)
                now = with_old(c, with_old(c, now, before, "resources"), before, "volumeAttributesClassName");
        /* A diff of structs follows, whose text is not stable. */
        if (!same_semantically(now, before))
                fault_forbidden(c, at,
                                "spec is immutable after creation except resources.requests and "
                                "volumeAttributesClassName for bound claims\n");
        if (quantity_of(size) < quantity_of(old_size) && quantity_of(size) <= quantity_of(has))
                fault_forbidden(c, AT(AT(AT(at, "resources"), "requests"), "storage"),
                                "field can not be less than status.capacity");
        check_immutable(c, AT(NULL, "volumeMode"), get(spec, "volumeMode"), get(before, "volumeMode"));
}

void check_pvc(struct check *c) {
        const struct value *spec = get(c->object, "spec");

        check_pvc_spec(c, AT(NULL, "spec"), spec);
        if (c->live)
                check_pvc_change(c, spec);
}

/* --- PersistentVolume --- */

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

static void check_pv_path(struct check *c, const struct at *at, const struct value *source) {
        if (source && !text_of(source, "path").n)
                fault_required(c, AT(at, "path"), "");
}

static void check_pv_source(struct check *c, const struct at *at, const struct value *spec) {
        size_t found = 0;

        for (size_t i = 0; i < PV_SOURCES; i++) {
                if (!get(spec, pv_sources[i]))
                        continue;
                if (found++)
                        fault_forbidden(c, AT_STR(at, str_from(pv_sources[i])),
                                        "may not specify more than 1 volume type");
                else if (str_eqc(STR("hostPath"), pv_sources[i]) || str_eqc(STR("local"), pv_sources[i]))
                        check_pv_path(c, AT_STR(at, str_from(pv_sources[i])), get(spec, pv_sources[i]));
        }
        if (get(spec, "local") && found == 1 && !value_path(spec, "nodeAffinity", "required", NULL))
                fault_required(c, AT(at, "nodeAffinity"), "Local volume requires node affinity");
        if (!found)
                fault_required(c, at, "must specify a volume type");
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

static bool source_changed(const struct value *now, const struct value *before) {
        for (size_t i = 0; i < PV_SOURCES; i++)
                if (!same_semantically(get(now, pv_sources[i]), get(before, pv_sources[i])))
                        return true;
        return false;
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
        if (text_of(spec, "storageClassName").n)
                check_text(c, AT(at, "storageClassName"), TEXT_DNS_SUBDOMAIN, text_of(spec, "storageClassName"));
        check_volume_mode(c, AT(at, "volumeMode"), get(spec, "volumeMode"));
        if (!c->live)
                return;
        if (source_changed(spec, get(c->live, "spec")))
                fault_forbidden(c, AT(at, "persistentvolumesource"),
                                "spec.persistentvolumesource is immutable after creation\n");
        check_immutable(c, AT(NULL, "volumeMode"), get(spec, "volumeMode"),
                        value_path(c->live, "spec", "volumeMode", NULL));
}

/* --- StorageClass --- */

void check_storage_class(struct check *c) {
        static const char *const binding[] = { "Immediate", "WaitForFirstConsumer", NULL };
        static const char *const immutable[] = { "provisioner", "parameters", "reclaimPolicy", "volumeBindingMode" };
        const struct value *mode = get(c->object, "volumeBindingMode");
        struct str policy = text_of(c->object, "reclaimPolicy"), provisioner = text_of(c->object, "provisioner");

        if (!c->live) {
                if (provisioner.n)
                        check_text(c, AT(NULL, "provisioner"), TEXT_LABEL_KEY, provisioner);
                if (policy.n && !str_eqc(policy, "Delete") && !str_eqc(policy, "Retain"))
                        fault_unsupported(c, AT(NULL, "reclaimPolicy"), policy, "\"Delete\", \"Retain\"");
                if (!mode)
                        fault_required(c, AT(NULL, "volumeBindingMode"), "");
                else if (!is_one_of(value_text(mode), binding))
                        fault_unsupported(c, AT(NULL, "volumeBindingMode"), value_text(mode),
                                          "\"Immediate\", \"WaitForFirstConsumer\"");
        }
        if (!provisioner.n)
                late_required(c, AT(NULL, "provisioner"));
        for (size_t i = 0; c->live && i < 4; i++)
                if (!same_semantically(get(c->object, immutable[i]), get(c->live, immutable[i])))
                        late_invalid(c, AT_STR(NULL, str_from(immutable[i])), NULL, "field is immutable");
}

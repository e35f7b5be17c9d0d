/* SPDX-License-Identifier: Apache-2.0 */
/* PersistentVolumeClaims, and the claims in pods and StatefulSets. */
#include "sandbox/go_struct.h"
#include "sandbox/validate_kinds.h"
#include "sandbox/validate_pod.h"

static const char *const access_modes[] = { "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod",
                                            NULL };
static const char *const volume_modes[] = { "Block", "Filesystem", NULL };

void check_access_modes(struct check *c, const struct at *at, const struct value *modes) {
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

void check_volume_mode(struct check *c, const struct at *at, const struct value *mode) {
        if (mode && !is_one_of(value_text(mode), volume_modes))
                fault_unsupported(c, at, value_text(mode), "\"Block\", \"Filesystem\"");
}

/* dataSource and dataSourceRef. */
static void check_source_ref(struct check *c, const struct at *at, const struct value *ref) {
        struct str group = text_of(ref, "apiGroup"), namespace = text_of(ref, "namespace");

        if (!text_of(ref, "name").n)
                fault_required(c, AT(at, "name"), "");
        if (!text_of(ref, "kind").n)
                fault_required(c, AT(at, "kind"), "");
        if (!group.n && !str_eqc(text_of(ref, "kind"), "PersistentVolumeClaim"))
                fault_invalid_str(c, at, text_of(ref, "kind"),
                                  "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
        if (group.n)
                check_text(c, AT(at, "apiGroup"), TEXT_DNS_SUBDOMAIN, group);
        if (namespace.n)
                check_text(c, AT(at, "namespace"), TEXT_DNS_LABEL, namespace);
}

/* Two sources are the same one in two ways of writing. */
static void check_sources(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const fields[] = { "apiGroup", "kind", "name" };
        const struct value *source = get(spec, "dataSource"), *ref = get(spec, "dataSourceRef");
        bool differ = false;

        if (source)
                check_source_ref(c, AT(at, "dataSource"), source);
        if (ref)
                check_source_ref(c, AT(at, "dataSourceRef"), ref);
        for (size_t i = 0; source && ref && i < sizeof fields / sizeof *fields; i++)
                differ = differ || !same(get(source, fields[i]), get(ref, fields[i]));
        if (differ) /* the server prints the path of dataSource, which has no JSON */
                fault_invalid_raw(c, at, STR("{}"), "must match dataSourceRef");
}

void check_pvc_spec(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const classes[] = { "storageClassName", "volumeAttributesClassName" };
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
        if (text_of(spec, classes[0]).n)
                check_text(c, AT_STR(at, str_from(classes[0])), TEXT_DNS_SUBDOMAIN, text_of(spec, classes[0]));
        check_volume_mode(c, AT(at, "volumeMode"), get(spec, "volumeMode"));
        check_sources(c, at, spec);
        if (text_of(spec, classes[1]).n)
                check_text(c, AT_STR(at, str_from(classes[1])), TEXT_DNS_SUBDOMAIN, text_of(spec, classes[1]));
}

static const struct value *with_old(struct check *c, const struct value *now, const struct value *before,
                                    const char *field) {
        return value_with(c->a, now, str_from(field), get(before, field));
}

static const struct value *with_old_size(struct check *c, const struct value *now, const struct value *before) {
        static const struct str path[] = { { "resources", 9 }, { "requests", 8 }, { "storage", 7 } };

        if (!value_path(now, "resources", "requests", NULL))
                return now;
        return value_with_path(c->a, now, path, 3, value_path(before, "resources", "requests", "storage", NULL));
}

/* The class may be set once: the annotation of old times, if it is there, has to name the same. */
static bool may_get_class(struct check *c, const struct value *now, const struct value *before) {
        const struct value *old =
                value_path(c->live, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class", NULL);

        return get(now, "storageClassName") && !get(before, "storageClassName") &&
               (!old || value_equal(old, get(now, "storageClassName")));
}

static void check_spec_change(struct check *c, const struct value *spec, const struct value *before) {
        const struct value *now = spec;
        bool bound = str_eqc(text_of(get(c->object, "status"), "phase"), "Bound");

        if (!text_of(before, "volumeName").n)
                before = with_old(c, before, spec, "volumeName");
        if (may_get_class(c, spec, before))
                now = with_old(c, now, before, "storageClassName");
        if (bound)
                now = with_old(c, with_old_size(c, now, before), before, "volumeAttributesClassName");
        if (!go_struct_same("core.PersistentVolumeClaimSpec", before, now, c->a))
                fault_forbidden(c, AT(NULL, "spec"),
                                arena_strf(c->a,
                                           "spec is immutable after creation except resources.requests and "
                                           "volumeAttributesClassName for bound claims\n%s",
                                           go_struct_diff("core.PersistentVolumeClaimSpec", before, now, c->a).p)
                                        .p);
}

/* Once one is in use. */
static void check_attributes_class(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *now = get(spec, "volumeAttributesClassName");

        if (!get(get(c->live, "status"), "currentVolumeAttributesClassName") ||
            same(now, value_path(c->live, "spec", "volumeAttributesClassName", NULL)) || (now && value_text(now).n))
                return;
        fault_forbidden(
                c, AT(at, "volumeAttributesClassName"),
                now ? "update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil"
                    : "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil");
}

static void check_pvc_change(struct check *c, const struct value *spec) {
        const struct value *before = get(c->live, "spec");
        const struct value *old_size = value_path(before, "resources", "requests", "storage", NULL);
        const struct value *size = value_path(spec, "resources", "requests", "storage", NULL);
        const struct value *has = value_path(c->live, "status", "capacity", "storage", NULL);
        const struct at *at = AT(NULL, "spec");

        check_spec_change(c, spec, before);
        if (quantity_of(size) < quantity_of(old_size) && quantity_of(size) <= quantity_of(has))
                fault_forbidden(c, AT(AT(AT(at, "resources"), "requests"), "storage"),
                                "field can not be less than status.capacity");
        check_immutable(c, AT(NULL, "volumeMode"), get(spec, "volumeMode"), get(before, "volumeMode"));
        check_attributes_class(c, at, spec);
}

void check_pvc(struct check *c) {
        const struct value *spec = get(c->object, "spec");

        check_pvc_spec(c, AT(NULL, "spec"), spec);
        if (c->live)
                check_pvc_change(c, spec);
}

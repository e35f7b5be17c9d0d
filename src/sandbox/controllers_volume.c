/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PersistentVolumeClaims and PersistentVolumes: a claim gets a volume when a Pod that uses it is on the Node (as of a
 * storage class that waits for the first consumer), and neither goes while it is used. A claim that names a class ""
 * or a volume only gets a volume that is there.
 * Source: pkg/controller/volume: persistentvolume, pvcprotection, pvprotection.
 */
#include "sandbox/controllers_impl.h"

#define CLAIM_FINALIZER  "kubernetes.io/pvc-protection"
#define VOLUME_FINALIZER "kubernetes.io/pv-protection"

static bool drop_finalizer(struct look *l, struct version *v, const char *name) {
        const struct value *old = value_path(v->value, "metadata", "finalizers", NULL);
        struct value_list_builder b = { 0 };
        bool found = false;

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++) {
                if (str_eqc(value_text(old->list.items[i]), name))
                        found = true;
                else
                        value_list_add(&b, old->list.items[i]);
        }
        bool is_empty = b.count == 0;
        const struct value *list = value_list_end(&b, l->a, 0);
        return !found ||
               look_update(l, l->res, v, meta_with(v->value, "finalizers", is_empty ? NULL : list, l->a), "", NULL);
}

static bool has_phase(const struct value *object, const char *phase) {
        return str_eqc(value_text(value_path(object, "status", "phase", NULL)), phase);
}

/* ---- who uses a claim ---- */

static bool pod_uses(const struct value *pod, struct str claim) {
        const struct value *list = value_path(pod, "spec", "volumes", NULL);

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eq(value_text(value_path(list->list.items[i], "persistentVolumeClaim", "claimName", NULL)),
                           claim))
                        return true;
        return false;
}

struct use {
        bool any, on_node;
};

static struct use use_of(struct look *l, struct str claim) {
        const struct shelf *shelf = store_shelf(l->ctl->s->store, (struct str){ 0 }, STR("pods"));
        struct use use = { 0 };
        size_t from, to;

        shelf_range(shelf, l->namespace, &from, &to);
        for (size_t i = from; i < to; i++) {
                const struct value *pod = shelf->items[i]->value;

                if (pod_is_ended(pod) || !pod_uses(pod, claim))
                        continue;
                use.any = true;
                use.on_node |= value_text(value_path(pod, "spec", "nodeName", NULL)).n > 0;
        }
        return use;
}

/* ---- claims ---- */

static const struct value *reference(struct arena *a, const struct value *claim) {
        return make_map(a, "apiVersion", make_text(a, "v1"), "kind", make_text(a, "PersistentVolumeClaim"), "namespace",
                        value_path(claim, "metadata", "namespace", NULL), "name",
                        value_path(claim, "metadata", "name", NULL), "uid", value_path(claim, "metadata", "uid", NULL),
                        "resourceVersion", value_path(claim, "metadata", "resourceVersion", NULL), NULL);
}

static const struct value *new_volume(struct arena *a, const struct value *claim, struct str name) {
        const struct value *spec = value_getc(claim, "spec");
        const struct value *source = make_map(a, "path", make_textf(a, "/sandbox/%.*s", STR_FMT(name)), NULL);
        const struct value *meta =
                make_map(a, "name", make_str(a, name), "annotations",
                         make_map(a, "pv.kubernetes.io/provisioned-by", make_text(a, "sandbox.truce.dev"), NULL), NULL);

        return make_map(a, "metadata", meta, "spec",
                        make_map(a, "capacity", value_path(spec, "resources", "requests", NULL), "accessModes",
                                 value_getc(spec, "accessModes"), "volumeMode", value_getc(spec, "volumeMode"),
                                 "storageClassName", value_getc(spec, "storageClassName"),
                                 "persistentVolumeReclaimPolicy", make_text(a, "Delete"), "hostPath", source,
                                 "claimRef", reference(a, claim), NULL),
                        NULL);
}

/* The volume the claim should have, or NULL when it has to wait. */
static struct version *volume_for(struct look *l, const struct value *claim) {
        const struct value *class = value_path(claim, "spec", "storageClassName", NULL);
        struct str name = value_text(value_path(claim, "spec", "volumeName", NULL));

        if (name.n)
                return look_find(l, RES_VOLUME, name);
        if (class && value_text(class).n == 0)
                return NULL;
        name = arena_strf(l->a, "pvc-%.*s", STR_FMT(meta_text(claim, "uid")));
        struct version *v = look_find(l, RES_VOLUME, name);
        if (v)
                return v;
        if (!look_create(l, RES_VOLUME, new_volume(l->a, claim, name), NULL))
                return NULL;
        look_event(l, claim, NORMAL, "ProvisioningSucceeded", "Successfully provisioned volume %.*s", STR_FMT(name));
        return look_find(l, RES_VOLUME, name);
}

static bool bind_volume(struct look *l, struct version *volume, const struct value *claim) {
        if (value_path(volume->value, "spec", "claimRef", "uid", NULL))
                return value_equal(value_path(volume->value, "spec", "claimRef", "uid", NULL),
                                   value_path(claim, "metadata", "uid", NULL));
        return look_update(l, RES_VOLUME, volume,
                           with2(l->a, volume->value, "spec", "claimRef", reference(l->a, claim)), "", NULL);
}

static bool bind_claim(struct look *l, struct version *v) {
        struct version *volume = volume_for(l, v->value);
        const struct value *claim = v->value, *yes = make_text(l->a, "yes");

        if (!volume)
                return true;
        if (!bind_volume(l, volume, claim))
                return false;
        claim = with2(l->a, claim, "spec", "volumeName", make_str(l->a, volume->name));
        claim = with_meta_pair(l->a, claim, "annotations", STR("pv.kubernetes.io/bind-completed"), yes);
        claim = with_meta_pair(l->a, claim, "annotations", STR("pv.kubernetes.io/bound-by-controller"), yes);
        if (!look_update(l, RES_CLAIM, v, claim, "", &v) || !v)
                return false;
        return look_status(l, v,
                           make_map(l->a, "phase", make_text(l->a, "Bound"), "accessModes",
                                    value_path(volume->value, "spec", "accessModes", NULL), "capacity",
                                    value_path(volume->value, "spec", "capacity", NULL), NULL));
}

bool claim_run(struct look *l, struct version *v) {
        struct use use = use_of(l, v->name);

        if (is_deleting(v->value))
                return use.any || drop_finalizer(l, v, CLAIM_FINALIZER);
        return !use.on_node || has_phase(v->value, "Bound") || bind_claim(l, v);
}

/* ---- volumes ---- */

static bool has_claim(struct look *l, const struct value *volume) {
        const struct value *ref = value_path(volume, "spec", "claimRef", NULL);
        const struct value *claim =
                sandbox_get(l->ctl->s, (struct str){ 0 }, STR("persistentvolumeclaims"),
                            value_text(value_getc(ref, "namespace")), value_text(value_getc(ref, "name")));

        return claim && (!value_getc(ref, "uid") ||
                         value_equal(value_getc(ref, "uid"), value_path(claim, "metadata", "uid", NULL)));
}

static bool set_phase(struct look *l, struct version *v, const char *phase) {
        const struct value *status = value_getc(v->value, "status");

        if (has_phase(v->value, phase))
                return true;
        status = value_with(l->a, status, STR("phase"), make_text(l->a, phase));
        return look_status(l, v, value_with(l->a, status, STR("lastPhaseTransitionTime"), make_str(l->a, l->c->now)));
}

bool volume_run(struct look *l, struct version *v) {
        const struct value *policy = value_path(v->value, "spec", "persistentVolumeReclaimPolicy", NULL);
        bool is_claimed = value_path(v->value, "spec", "claimRef", "uid", NULL);

        if (is_claimed && has_claim(l, v->value))
                return set_phase(l, v, "Bound");
        if (is_deleting(v->value))
                return drop_finalizer(l, v, VOLUME_FINALIZER);
        if (!is_claimed)
                return set_phase(l, v, "Available");
        return str_eqc(value_text(policy), "Delete") ? look_delete(l, RES_VOLUME, v, NULL)
                                                     : set_phase(l, v, "Released");
}

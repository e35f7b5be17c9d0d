/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/types.h"

#include "manifest/object.h"

struct type_known {
        struct arena *arena;
        struct type type;
        char *crd_rv; /* of the CRD it was built from; NULL: built without one */
        unsigned users; /* those that keep it, and the map */
};

struct types {
        struct cluster *cluster;
        struct map *known; /* "group/version/kind" → struct type_known */
        struct map *looked; /* ids of CRDs that were asked for */
};

static void known_drop(void *p) {
        struct type_known *k = p;

        if (--k->users)
                return;
        arena_free(k->arena);
        free(k->crd_rv);
        free(k);
}

struct types *types_new(struct cluster *c) {
        struct types *t = mem_zalloc(sizeof *t);

        t->cluster = c;
        t->known = map_new(known_drop);
        t->looked = map_new(NULL);
        return t;
}

void type_keep(const struct type *type) {
        type->known->users++;
}

void type_release(const struct type *type) {
        if (type->known)
                known_drop(type->known);
}

void types_free(struct types *t) {
        if (!t)
                return;
        map_free(t->known);
        map_free(t->looked);
        free(t);
}

struct gvk types_crd_gvk(void) {
        return (struct gvk){ STR("apiextensions.k8s.io"), STR("v1"), STR("CustomResourceDefinition") };
}

struct str types_crd_id(const struct kube_resource *r, struct arena *a) {
        return arena_strf(a, "apiextensions.k8s.io/CustomResourceDefinition//%.*s.%.*s", STR_FMT(r->plural),
                          STR_FMT(r->group));
}

static const struct live *find_crd(const struct types *t, const struct kube_resource *r, struct arena *a) {
        const struct cluster_kind *crds = cluster_find_kind(t->cluster, types_crd_gvk());
        struct object_key key;

        if (!crds || !object_key_from_id(types_crd_id(r, a), &key))
                return NULL;
        return cluster_find(crds, STR(""), key.name);
}

struct str types_unseen_crd(const struct types *t, const struct cluster_kind *kind, struct arena *a) {
        const struct kube_resource *r = cluster_kind_resource(kind);
        const struct cluster_kind *crds = cluster_find_kind(t->cluster, types_crd_gvk());

        if (manifest_group_is_builtin(r->group) || !crds || cluster_kind_state(crds) != CLUSTER_KIND_SYNCED ||
            find_crd(t, r, a))
                return (struct str){ 0 };
        struct str id = types_crd_id(r, a);
        return map_find(t->looked, id) ? (struct str){ 0 } : id;
}

void types_have_looked(struct types *t, struct str crd_id) {
        map_set(t->looked, crd_id, t);
}

static struct type_known *build(const struct kube_resource *r, const struct live *crd) {
        struct type_known *k = mem_zalloc(sizeof *k);
        _cleanup_(buf_done) struct buf api_version = buf_make(1024);

        k->arena = arena_new(0);
        k->users = 1;
        k->type.known = k;
        gvk_add_api_version(&api_version, kube_resource_gvk(r));
        if (crd) {
                struct managed owners;

                k->crd_rv = str_dup(str_from(crd->rv));
                k->type.crd = live_value(crd, k->arena, &owners);
                if (schema_from_crd(k->type.crd, r->version, k->arena, &k->type.schema, NULL) == 0)
                        return k;
        }
        k->type.schema = schema_builtin(k->arena, arena_str(k->arena, buf_str(&api_version)),
                                        arena_str(k->arena, r->kind));
        return k;
}

static bool is_current(const struct type_known *k, const struct live *crd) {
        if (!crd)
                return true; /* a CRD that is out of sight does not unlearn its type */
        return k->crd_rv && str_eqc(str_from(crd->rv), k->crd_rv);
}

struct type types_find(struct types *t, const struct cluster_kind *kind) {
        const struct kube_resource *r = cluster_kind_resource(kind);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct live *crd = manifest_group_is_builtin(r->group) ? NULL : find_crd(t, r, a);
        struct str key = arena_strf(a, "%.*s/%.*s/%.*s", STR_FMT(r->group), STR_FMT(r->version), STR_FMT(r->kind));
        struct type_known *k = map_find(t->known, key);

        if (!k || !is_current(k, crd)) {
                k = build(r, crd);
                map_set(t->known, key, k);
        }
        return k->type;
}

bool types_crd_is_established(const struct value *crd) {
        const struct value *conditions = value_path(crd, "status", "conditions", NULL);

        for (size_t i = 0; value_is(conditions, VALUE_LIST) && i < conditions->list.count; i++) {
                const struct value *c = conditions->list.items[i];

                if (str_eqc(value_text(value_getc(c, "type")), "Established"))
                        return str_eqc(value_text(value_getc(c, "status")), "True");
        }
        return false;
}

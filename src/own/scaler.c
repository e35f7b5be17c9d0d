/* SPDX-License-Identifier: Apache-2.0 */
#include "own/scaler.h"

#include "base/map.h"
#include "own/policy.h"

/* Scaler kinds: where they name their target and their minimum, and what their API takes when they are silent. */
static const struct scaler_kind {
        const char *group, *kind;
        const char *min_field;
        int64_t min_default;
        const char *default_api_version, *default_kind; /* of the target */
} scaler_kinds[] = {
        { "autoscaling", "HorizontalPodAutoscaler", "minReplicas", 1, "", "" },
        { "keda.sh", "ScaledObject", "minReplicaCount", 0, "apps/v1", "Deployment" },
        { "autoscaling.internal.knative.dev", "PodAutoscaler", "minReplicas", 0, "", "" },
        { "autoscaling.k8s.io", "MultidimPodAutoscaler", "minReplicas", 1, "", "" },
};

/* Kinds whose number of replicas can be scaled, other than by a CRD we are shown. Argo CD, KEDA and LWS users meet
 * them. */
static const struct scalable_kind {
        const char *group, *kind, *path;
} scalable_kinds[] = {
        { "apps", "Deployment", "spec.replicas" },
        { "apps", "StatefulSet", "spec.replicas" },
        { "apps", "ReplicaSet", "spec.replicas" },
        { "", "ReplicationController", "spec.replicas" },
        { "argoproj.io", "Rollout", "spec.replicas" },
        { "leaderworkerset.x-k8s.io", "LeaderWorkerSet", "spec.replicas" },
};

struct scaler_index {
        struct map *scalers; /* "group/kind/ns/name" → struct entry */
};

/* One scaler object; what the two origins said of it is kept apart, since Git and the cluster may differ. */
struct entry {
        struct scaler seen[2]; /* [0] live, [1] desired; origins 0: not seen */
        struct arena *arena[2];
};

static size_t slot_of(enum scaler_origin origin) {
        return origin == SCALER_LIVE ? 0 : 1;
}

static void entry_forget(struct entry *e, enum scaler_origin origin) {
        size_t slot = slot_of(origin);

        arena_free(e->arena[slot]);
        e->arena[slot] = NULL;
        e->seen[slot] = (struct scaler){ 0 };
}

static void entry_free(void *p) {
        struct entry *e = p;

        entry_forget(e, SCALER_LIVE);
        entry_forget(e, SCALER_DESIRED);
        free(e);
}

struct scaler_index *scaler_index_new(void) {
        struct scaler_index *ix = mem_zalloc(sizeof *ix);

        ix->scalers = map_new(entry_free);
        return ix;
}

void scaler_index_free(struct scaler_index *ix) {
        if (!ix)
                return;
        map_free(ix->scalers);
        free(ix);
}

static const struct scaler_kind *find_kind(struct str group, struct str kind) {
        for (size_t i = 0; i < ARRAY_LEN(scaler_kinds); i++)
                if (str_eqc(group, scaler_kinds[i].group) && str_eqc(kind, scaler_kinds[i].kind))
                        return &scaler_kinds[i];
        return NULL;
}

bool scaler_is_kind(struct str group, struct str kind) {
        return find_kind(group, kind) != NULL;
}

bool scaler_kind_at(size_t i, const char **ret_group, const char **ret_kind) {
        if (i >= ARRAY_LEN(scaler_kinds))
                return false;
        *ret_group = scaler_kinds[i].group;
        *ret_kind = scaler_kinds[i].kind;
        return true;
}

static struct buf index_key(struct str group, struct str kind, struct str ns, struct str name) {
        struct buf key = buf_make(4096);

        buf_add(&key, group);
        buf_addch(&key, '/');
        buf_add(&key, kind);
        buf_addch(&key, '/');
        buf_add(&key, ns);
        buf_addch(&key, '/');
        buf_add(&key, name);
        return key;
}

static void forget(struct scaler_index *ix, struct str key, enum scaler_origin origin) {
        struct entry *e = map_find(ix->scalers, key);

        if (!e)
                return;
        entry_forget(e, origin);
        if (!e->seen[0].origins && !e->seen[1].origins)
                map_remove(ix->scalers, key);
}

void scaler_index_remove(struct scaler_index *ix, struct str group, struct str kind, struct str ns, struct str name,
                         enum scaler_origin origin) {
        _cleanup_(buf_done) struct buf key = index_key(group, kind, ns, name);

        forget(ix, buf_str(&key), origin);
}

void scaler_index_clear(struct scaler_index *ix, enum scaler_origin origin) {
        struct str key;
        void *value;
        size_t at = 0;

        while (map_next(ix->scalers, &at, &key, &value)) {
                struct entry *e = value;

                entry_forget(e, origin);
                if (!e->seen[0].origins && !e->seen[1].origins)
                        map_remove(ix->scalers, key);
        }
}

struct scale_target scale_target_of(const struct value *object) {
        const struct value *metadata = value_getc(object, "metadata");

        return (struct scale_target){
                .group = schema_group(value_text(value_getc(object, "apiVersion"))),
                .kind = value_text(value_getc(object, "kind")),
                .ns = value_text(value_getc(metadata, "namespace")),
                .name = value_text(value_getc(metadata, "name")),
        };
}

static struct str text_or(const struct value *map, const char *name, const char *otherwise) {
        struct str text = value_text(value_getc(map, name));

        return text.n ? text : str_from(otherwise);
}

/* What the object says, borrowed from it. */
static struct scaler read_scaler(const struct value *object, const struct scaler_kind *kind,
                                 enum scaler_origin origin) {
        struct scale_target self = scale_target_of(object);
        const struct value *ref = value_path(object, "spec", "scaleTargetRef", NULL);
        struct scaler s = {
                .kind = self.kind,
                .group = self.group,
                .ns = self.ns,
                .name = self.name,
                .target = { .group = schema_group(text_or(ref, "apiVersion", kind->default_api_version)),
                            .kind = text_or(ref, "kind", kind->default_kind),
                            .ns = self.ns,
                            .name = value_text(value_getc(ref, "name")) },
                .min_replicas = kind->min_default,
                .origins = origin,
        };

        value_to_i64(value_getc(value_getc(object, "spec"), kind->min_field), &s.min_replicas);
        return s;
}

static void keep_scaler(struct entry *e, const struct scaler *s, enum scaler_origin origin) {
        size_t slot = slot_of(origin);
        struct arena *a = arena_new(256);

        entry_forget(e, origin);
        e->arena[slot] = a;
        e->seen[slot] = (struct scaler){
                .kind = arena_str(a, s->kind),
                .group = arena_str(a, s->group),
                .ns = arena_str(a, s->ns),
                .name = arena_str(a, s->name),
                .target = { .group = arena_str(a, s->target.group),
                            .kind = arena_str(a, s->target.kind),
                            .ns = arena_str(a, s->target.ns),
                            .name = arena_str(a, s->target.name) },
                .min_replicas = s->min_replicas,
                .origins = s->origins,
        };
}

int scaler_index_set(struct scaler_index *ix, const struct value *object, enum scaler_origin origin, struct err *err) {
        struct scale_target self = scale_target_of(object);
        const struct scaler_kind *kind = find_kind(self.group, self.kind);
        _cleanup_(buf_done) struct buf key = index_key(self.group, self.kind, self.ns, self.name);

        if (!kind || !self.name.n)
                return err_set(err, ERR_INVAL, "%.*s is no kind of scaler", STR_FMT(self.kind));
        struct scaler s = read_scaler(object, kind, origin);
        if (!s.target.kind.n || !s.target.name.n) {
                forget(ix, buf_str(&key), origin);
                return err_set(err, ERR_INVAL, "%.*s %.*s/%.*s names no target", STR_FMT(self.kind), STR_FMT(self.ns),
                               STR_FMT(self.name));
        }
        struct entry *e = map_find(ix->scalers, buf_str(&key));
        if (!e) {
                e = mem_zalloc(sizeof *e);
                map_set(ix->scalers, buf_str(&key), e);
        }
        keep_scaler(e, &s, origin);
        return 0;
}

static bool same_target(const struct scale_target *a, const struct scale_target *b) {
        return str_eq(a->group, b->group) && str_eq(a->kind, b->kind) && str_eq(a->ns, b->ns) &&
               str_eq(a->name, b->name);
}

/* A stable choice among several: live ones first, then by kind and name. */
static bool is_better(const struct scaler *a, const struct scaler *b) {
        if (!b || a->origins != b->origins)
                return !b || a->origins < b->origins;
        int order = str_cmp(a->kind, b->kind);

        return order ? order < 0 : str_cmp(a->name, b->name) < 0;
}

const struct scaler *scaler_find(const struct scaler_index *ix, const struct scale_target *target) {
        const struct scaler *best = NULL;
        void *value;
        size_t at = 0;

        while (ix && map_next(ix->scalers, &at, NULL, &value)) {
                const struct entry *e = value;

                for (size_t slot = 0; slot < 2; slot++)
                        if (e->seen[slot].origins && same_target(&e->seen[slot].target, target) &&
                            is_better(&e->seen[slot], best))
                                best = &e->seen[slot];
        }
        return best;
}

static const char *built_in_path(struct str group, struct str kind) {
        for (size_t i = 0; i < ARRAY_LEN(scalable_kinds); i++)
                if (str_eqc(group, scalable_kinds[i].group) && str_eqc(kind, scalable_kinds[i].kind))
                        return scalable_kinds[i].path;
        return NULL;
}

static struct str crd_path(const struct value *crd, struct str version) {
        const struct value *versions = value_path(crd, "spec", "versions", NULL);

        for (size_t i = 0; value_is(versions, VALUE_LIST) && i < versions->list.count; i++) {
                const struct value *v = versions->list.items[i];

                if (str_eq(value_text(value_getc(v, "name")), version))
                        return value_text(value_path(v, "subresources", "scale", "specReplicasPath", NULL));
        }
        return STR("");
}

bool scaler_replicas_path(struct str api_version, struct str kind, const struct value *crd, struct arena *a,
                          struct field_path *ret_path) {
        struct str text = str_from(built_in_path(schema_group(api_version), kind));

        if (!text.n && crd)
                text = crd_path(crd, schema_version(api_version));
        return text.n && field_path_from_dotted(text, a, ret_path, NULL) == 0;
}

struct scale_state scaler_judge(const struct scaler_index *ix, const struct scale_target *target,
                                struct field_path replicas, const struct managed *m) {
        const struct scaler *scaler = scaler_find(ix, target);

        if (scaler)
                return (struct scale_state){ .verdict = SCALE_SCALER, .scaler = scaler };
        for (size_t i = 0; m && i < m->count; i++) {
                const struct managed_entry *e = &m->entries[i];

                if (!str_eqc(e->subresource, "scale") || e->broken || !fieldset_covers(e->set, replicas, NULL))
                        continue;
                if (str_eqc(e->manager, "kube-controller-manager"))
                        return (struct scale_state){ .verdict = SCALE_STALE, .manager = e->manager };
                bool manual = policy_is_person(e->manager) || managed_is_keeper(e) || str_eqc(e->manager, OWN_MANAGER);
                return (struct scale_state){ .verdict = manual ? SCALE_MANUAL : SCALE_INFERRED, .manager = e->manager };
        }
        return (struct scale_state){ .verdict = SCALE_NONE };
}

bool scale_state_yields(const struct scale_state *s) {
        return s->verdict == SCALE_SCALER || s->verdict == SCALE_INFERRED;
}

void scale_state_print(const struct scale_state *s, struct buf *out) {
        switch (s->verdict) {
        case SCALE_SCALER:
                buf_add(out, s->scaler->kind);
                buf_addch(out, ' ');
                buf_add(out, s->scaler->ns);
                buf_addch(out, '/');
                buf_add(out, s->scaler->name);
                return;
        case SCALE_INFERRED:
                buf_add(out, s->manager);
                buf_addc(out, " (inferred from its write to /scale)");
                return;
        case SCALE_MANUAL:
                buf_add(out, s->manager);
                buf_addc(out, " (scaled by hand)");
                return;
        case SCALE_STALE:
                buf_add(out, s->manager);
                buf_addc(out, " (its autoscaler is gone)");
                return;
        case SCALE_NONE:
                buf_addc(out, "nobody");
        }
}

int64_t scaler_seed(const struct scaler *s, const struct value *git_replicas) {
        int64_t git;

        if (value_to_i64(git_replicas, &git) && git >= 1)
                return git;
        return s && s->min_replicas >= 1 ? s->min_replicas : 1;
}

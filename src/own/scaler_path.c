/* SPDX-License-Identifier: Apache-2.0 */
/* Where numbers of replicas stand in an object, and who sets each. */
#include "own/policy.h"
#include "own/scaler_impl.h"

/* Kinds whose number of replicas can be scaled, other than by a CRD we are shown. */
static const struct scalable_kind {
        const char *group, *kind, *path;
} scalable_kinds[] = {
        { "apps", "Deployment", "spec.replicas" },
        { "apps", "StatefulSet", "spec.replicas" },
        { "apps", "ReplicaSet", "spec.replicas" },
        { "", "ReplicationController", "spec.replicas" },
        { "argoproj.io", "Rollout", "spec.replicas" },
        { "leaderworkerset.x-k8s.io", "LeaderWorkerSet", "spec.replicas" },
        { "disaggregatedset.x-k8s.io", "DisaggregatedSetRoleScaler", "spec.replicas" },
        { "nvidia.com", "DynamoGraphDeploymentScalingAdapter", "spec.replicas" },
        { "workloads.x-k8s.io", "RoleBasedGroupScalingAdapter", "spec.replicas" },
        { "grove.io", "PodCliqueSet", "spec.replicas" },
        { "grove.io", "PodClique", "spec.replicas" },
        { "grove.io", "PodCliqueScalingGroup", "spec.replicas" },
        { "karpenter.sh", "NodePool", "spec.replicas" },
        { "flux-framework.org", "MiniCluster", "spec.size" },
};

/*
 * Kinds whose parts are scaled one by one, through an adapter object each. `marker` says in the part itself that its
 * number is the adapter's: the operator makes the adapter when it sees it.
 */
static const struct part_kind {
        const char *group, *kind;
        const char *parts;                /* a list, or a map by name */
        const char *name;                 /* of a list's items; NULL: it is a map */
        const char *marker, *marker_text; /* the latter NULL: its presence counts, "true": that truth value */
} part_kinds[] = {
        { "nvidia.com", "DynamoGraphDeployment", "components", "name", "scalingAdapter", NULL },
        { "nvidia.com", "DynamoGraphDeployment", "services", NULL, "scalingAdapter.enabled", "true" },
        { "disaggregatedset.x-k8s.io", "DisaggregatedSet", "roles", "name", "scaling.mode", "External" },
        { "workloads.x-k8s.io", "RoleBasedGroup", "roles", "name", "scalingAdapter.enable", "true" },
};

/* Dynamo, DynamoGraphDeployment: `spec.restart` is refused at creation by a rule of its CRD. */
static const struct omitted {
        const char *group, *kind, *path;
} omitted[] = {
        { "nvidia.com", "DynamoGraphDeployment", "spec.restart" },
};

/* The programs behind scalers that have objects: without an object, what they wrote is a leftover. */
static const char *const scaler_programs[] = { "kube-controller-manager", "keda", "keda-operator" };

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

bool scaler_omits_on_create(struct str group, struct str kind, size_t i, struct arena *a, struct field_path *ret_path) {
        for (size_t k = 0; k < ARRAY_LEN(omitted); k++)
                if (str_eqc(group, omitted[k].group) && str_eqc(kind, omitted[k].kind) && i-- == 0)
                        return field_path_from_dotted(str_from(omitted[k].path), a, ret_path, NULL) == 0;
        return false;
}

static bool is_scaler_program(struct str manager) {
        for (size_t i = 0; i < ARRAY_LEN(scaler_programs); i++)
                if (str_eqc(manager, scaler_programs[i]))
                        return true;
        return false;
}

struct scale_state scaler_judge(const struct scaler_index *ix, const struct scale_target *target,
                                struct field_path replicas, const struct managed *m) {
        const struct scaler *scaler = scaler_find(ix, target);

        if (scaler)
                return (struct scale_state){ .verdict = SCALE_SCALER,
                                             .scaler = scaler,
                                             .adviser = scaler_find_adviser(ix, target) };
        for (size_t i = 0; m && i < m->count; i++) {
                const struct managed_entry *e = &m->entries[i];

                if (!str_eqc(e->subresource, "scale") || e->broken || !fieldset_covers(e->set, NULL, replicas))
                        continue;
                if (is_scaler_program(e->manager))
                        return (struct scale_state){ .verdict = SCALE_STALE, .manager = e->manager };
                bool manual = policy_is_person(e->manager) || managed_is_keeper(e) || str_eqc(e->manager, OWN_MANAGER);
                return (struct scale_state){ .verdict = manual ? SCALE_MANUAL : SCALE_INFERRED, .manager = e->manager };
        }
        return (struct scale_state){ .verdict = SCALE_NONE };
}

/* --- parts ------------------------------------------------------------------------------------------------------ */

struct finder {
        const struct scaler_index *ix;
        const struct scale_subject *subject;
        struct arena *arena;
        struct scale_path *list;
        size_t count, cap;
};

static void found(struct finder *f, struct scale_path p) {
        if (f->count == f->cap) {
                struct scale_path *grown = arena_alloc(f->arena, (f->cap + 8) * sizeof *grown);

                if (f->count)
                        memcpy(grown, f->list, f->count * sizeof *grown);
                f->list = grown;
                f->cap += 8;
        }
        f->list[f->count++] = p;
}

static bool is_marked(const struct part_kind *k, const struct value *part) {
        const struct value *marker = scaler_value_at(part, k->marker);

        if (!k->marker_text)
                return marker != NULL;
        return str_eqc(value_text(marker), k->marker_text) ||
               (str_eqc(STR("true"), k->marker_text) && value_truth(marker, false));
}

/* The list's item as the schema files it; by its name where the schema is silent. */
static struct path_element item_element(const struct finder *f, const struct part_kind *k, const struct value *item,
                                        struct str name) {
        const struct schema *list = schema_field(schema_field(f->subject->type, STR("spec")), str_from(k->parts));
        struct value_map_builder key = { 0 };
        struct path_element e;

        if (path_item_element(item, list, f->arena, &e))
                return e;
        value_map_add(&key, str_from(k->name), value_string(f->arena, name, 0), 0);
        return (struct path_element){ .kind = PATH_KEY, .value = value_map_end(&key, f->arena, 0) };
}

static struct scale_state judge_part(const struct finder *f, const struct part_kind *k, struct str name,
                                     const struct value *part) {
        struct scale_target target = scale_target_of(f->subject->desired);
        const struct scaler *scaler = scaler_find_part(f->ix, &target, name);

        if (scaler)
                return (struct scale_state){ .verdict = SCALE_SCALER, .scaler = scaler };
        if (is_marked(k, part))
                return (struct scale_state){ .verdict = SCALE_DECLARED, .manager = str_from(k->marker) };
        return (struct scale_state){ .verdict = SCALE_NONE };
}

/* What Git says of a part counts; what the live object says only where Git does not know the part. */
static void add_part(struct finder *f, const struct part_kind *k, struct path_element e, struct str name,
                     const struct value *part) {
        const struct path_element elements[] = { path_field(STR("spec")), path_field(str_from(k->parts)), e,
                                                 path_field(STR("replicas")) };
        struct field_path p = { elements, ARRAY_LEN(elements) };

        for (size_t i = 0; i < f->count; i++)
                if (field_path_equal(f->list[i].path, p))
                        return;
        found(f, (struct scale_path){ .path = field_path_dup(f->arena, p),
                                      .state = judge_part(f, k, name, part),
                                      .component = name });
}

static void add_parts(struct finder *f, const struct part_kind *k, const struct value *object) {
        const struct value *parts = value_getc(value_getc(object, "spec"), k->parts);

        for (size_t i = 0; k->name && value_is(parts, VALUE_LIST) && i < parts->list.count; i++) {
                const struct value *item = parts->list.items[i];
                struct str name = value_text(value_getc(item, k->name));

                if (name.n)
                        add_part(f, k, item_element(f, k, item, name), name, item);
        }
        for (size_t i = 0; !k->name && value_is(parts, VALUE_MAP) && i < parts->map.count; i++) {
                const struct value_member *m = &parts->map.members[i];

                add_part(f, k, path_field(m->key), m->key, m->value);
        }
}

size_t scaler_paths(const struct scaler_index *ix, const struct scale_subject *s, struct arena *a,
                    const struct scale_path **ret) {
        struct finder f = { .ix = ix, .subject = s, .arena = a };
        struct scale_target target = scale_target_of(s->desired);
        struct field_path own;

        if (scaler_replicas_path(value_text(value_getc(s->desired, "apiVersion")), target.kind, s->crd, a, &own))
                found(&f, (struct scale_path){ .path = own, .state = scaler_judge(ix, &target, own, s->managed) });
        for (size_t i = 0; i < ARRAY_LEN(part_kinds); i++) {
                if (!str_eqc(target.group, part_kinds[i].group) || !str_eqc(target.kind, part_kinds[i].kind))
                        continue;
                add_parts(&f, &part_kinds[i], s->desired);
                add_parts(&f, &part_kinds[i], s->live);
        }
        *ret = f.list;
        return f.count;
}

/* --- words and numbers ------------------------------------------------------------------------------------------ */

bool scale_state_yields(const struct scale_state *s) {
        return s->verdict == SCALE_SCALER || s->verdict == SCALE_INFERRED || s->verdict == SCALE_DECLARED;
}

static void print_scaler(const struct scaler *s, struct buf *out) {
        buf_addf(out, "%.*s %.*s/%.*s", STR_FMT(s->kind), STR_FMT(s->ns), STR_FMT(s->name));
}

void scale_state_print(const struct scale_state *s, struct buf *out) {
        static const char *const endings[] = {
                [SCALE_INFERRED] = " (inferred from its write to /scale)",
                [SCALE_MANUAL] = " (scaled by hand)",
                [SCALE_STALE] = " (its autoscaler is gone)",
                [SCALE_DECLARED] = " of the object itself",
        };

        if (s->verdict == SCALE_NONE) {
                buf_addc(out, "nobody");
                return;
        }
        if (s->verdict != SCALE_SCALER) {
                buf_add(out, s->manager);
                buf_addc(out, endings[s->verdict]);
                return;
        }
        print_scaler(s->scaler, out);
        if (s->scaler->paused)
                buf_addc(out, " (paused)");
        if (s->adviser) {
                buf_addc(out, " (advised by ");
                print_scaler(s->adviser, out);
                buf_addch(out, ')');
        }
}

int64_t scaler_seed(const struct scaler *s, const struct value *git_replicas) {
        int64_t git;

        if (value_to_i64(git_replicas, &git) && git >= 1)
                return git;
        return s && s->min_replicas >= 1 ? s->min_replicas : 1;
}

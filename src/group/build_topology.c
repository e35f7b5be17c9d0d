/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exclusive placement: one topology domain (a rack, a node pool) holds pods of one group only, and all of them.
 *
 * The leader is drawn to its own group (for its pods that are placed already) and kept away from all others; its
 * workers follow it by a node selector, which is a promise that affinity among pods that are scheduled at the same time
 * is not. Subgroups are kept apart by the same two terms, on all their members.
 */
#include "group/build_impl.h"

static const struct value *text_list(struct arena *a, struct str text) {
        struct value_list_builder list = { 0 };

        value_list_add(&list, value_string(a, text, 0));
        return value_list_end(&list, a, 0);
}

/* One entry of matchExpressions; `value` empty: none. */
static const struct value *requirement(struct arena *a, const char *label, const char *operator, struct str value) {
        const struct value *r = build_set(a, NULL, "key", str_from(label));

        r = build_set(a, r, "operator", str_from(operator));
        return value.n ? value_with(a, r, STR("values"), text_list(a, value)) : r;
}

static const struct value *term(struct arena *a, struct str topology, const struct value *one,
                                const struct value *other) {
        struct value_list_builder list = { 0 };

        value_list_add(&list, one);
        if (other)
                value_list_add(&list, other);
        const struct value *selector = value_with(a, NULL, STR("matchExpressions"), value_list_end(&list, a, 0));
        return build_set(a, value_with(a, NULL, STR("labelSelector"), selector), "topologyKey", topology);
}

/* The spec with a required term of "podAffinity" or "podAntiAffinity"; one that is there already is not added. */
static const struct value *with_term(struct arena *a, const struct value *spec, const char *which,
                                     const struct value *added) {
        const struct str path[] = { STR("affinity"), str_from(which),
                                    STR("requiredDuringSchedulingIgnoredDuringExecution") };
        const struct value *terms = value_get(value_get(value_get(spec, path[0]), path[1]), path[2]);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; value_is(terms, VALUE_LIST) && i < terms->list.count; i++) {
                if (value_equal(terms->list.items[i], added)) {
                        value_list_drop(&list);
                        return spec;
                }
                value_list_add(&list, terms->list.items[i]);
        }
        value_list_add(&list, added);
        return value_with_path(a, spec, path, ARRAY_LEN(path), value_list_end(&list, a, 0));
}

/* Together with pods whose `label` is `key`, and never with those that have another. */
static const struct value *exclusive(struct arena *a, const struct value *spec, struct str topology, const char *label,
                                     struct str key) {
        const struct value *own = requirement(a, label, "In", key);
        const struct value *any = requirement(a, label, "Exists", (struct str){ 0 });
        const struct value *others = requirement(a, label, "NotIn", key);

        spec = with_term(a, spec, "podAffinity", term(a, topology, own, NULL));
        return with_term(a, spec, "podAntiAffinity", term(a, topology, any, others));
}

static const struct value *pinned(struct arena *a, const struct value *spec, struct str topology, struct str value) {
        const struct str path[] = { STR("nodeSelector"), topology };

        return topology.n && value.n ? value_with_path(a, spec, path, ARRAY_LEN(path), value_string(a, value, 0))
                                     : spec;
}

const struct value *build_topology(const struct build_pod *p, const struct value *spec) {
        struct str group = p->s->exclusive_topology, subgroup = p->s->subgroup_exclusive_topology;

        if (!p->at->worker && group.n)
                spec = exclusive(p->a, spec, group, GROUP_LABEL_GROUP_KEY, p->key);
        if (p->subgroup >= 0 && subgroup.n)
                spec = exclusive(p->a, spec, subgroup, GROUP_LABEL_SUBGROUP_KEY, p->subgroup_key);
        if (!p->at->worker)
                return spec;
        spec = pinned(p->a, spec, group, p->at->topology_value);
        return p->subgroup >= 0 ? pinned(p->a, spec, subgroup, p->at->subgroup_topology_value) : spec;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes that live longer than a pod: claims by name, as a StatefulSet makes them. */
#include "group/build_impl.h"

static struct str template_name(const struct value *claim_template) {
        return value_text(value_path(claim_template, "metadata", "name", NULL));
}

static size_t claim_count(const struct group_template *t) {
        return value_is(t->claims, VALUE_LIST) ? t->claims->list.count : 0;
}

size_t group_claim_names(const struct group_template *t, struct str pod, struct arena *a,
                         const struct str **ret_names) {
        size_t count = claim_count(t);
        struct str *names = arena_alloc(a, count * sizeof *names);

        for (size_t i = 0; i < count; i++)
                names[i] = group_name_claim(a, template_name(t->claims->list.items[i]), pod);
        *ret_names = names;
        return count;
}

static const struct value *claim_labels(const struct group_spec *s, const struct value *claim_template,
                                        const struct group_place *at, struct arena *a) {
        const struct value *labels = value_path(claim_template, "metadata", "labels", NULL);

        labels = build_set(a, labels, GROUP_LABEL_NAME, s->name);
        labels = build_set_number(a, labels, GROUP_LABEL_GROUP_INDEX, at->group);
        labels = build_set_number(a, labels, GROUP_LABEL_WORKER_INDEX, at->worker);
        struct str leader = group_name_leader(a, s->name, at->group);
        return build_set(a, labels, GROUP_LABEL_GROUP_KEY, group_key(a, s->ns, leader));
}

static const struct value *claim_spec(const struct value *claim_template, struct arena *a) {
        static const char *const kept[] = { "accessModes", "resources", "storageClassName", "volumeMode" };
        const struct value *spec = &value_empty_map;

        for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
                const struct value *field = value_path(claim_template, "spec", kept[i], NULL);

                if (field)
                        spec = value_with(a, spec, str_from(kept[i]), field);
        }
        return spec;
}

const struct value *group_build_claim(const struct group_spec *s, const struct group_template *t,
                                      const struct value *claim_template, const struct group_place *at,
                                      struct arena *a) {
        struct str pod = group_name_pod(a, s->name, at->group, at->worker);
        const struct value *metadata = build_metadata(
                s, group_name_claim(a, template_name(claim_template), pod), claim_labels(s, claim_template, at, a),
                value_path(claim_template, "metadata", "annotations", NULL), t->delete_claims_when_deleted, a);
        const struct value *claim = build_object(a, "v1", "PersistentVolumeClaim", metadata);

        return value_with(a, claim, STR("spec"), claim_spec(claim_template, a));
}

static bool is_claim(const struct group_template *t, struct str volume) {
        for (size_t i = 0; i < claim_count(t); i++)
                if (str_eq(template_name(t->claims->list.items[i]), volume))
                        return true;
        return false;
}

static const struct value *claim_volume(struct arena *a, struct str name, struct str claim) {
        const struct value *volume = build_set(a, NULL, "name", name);

        return value_with(a, volume, STR("persistentVolumeClaim"), build_set(a, NULL, "claimName", claim));
}

const struct value *build_volumes(const struct build_pod *p, const struct value *spec) {
        const struct value *volumes = value_getc(spec, "volumes");
        struct value_list_builder list = { 0 };
        const struct str *names;
        size_t count = group_claim_names(p->t, p->name, p->a, &names);

        if (!count)
                return spec;
        for (size_t i = 0; i < count; i++)
                value_list_add(&list, claim_volume(p->a, template_name(p->t->claims->list.items[i]), names[i]));
        for (size_t i = 0; value_is(volumes, VALUE_LIST) && i < volumes->list.count; i++)
                if (!is_claim(p->t, value_text(value_getc(volumes->list.items[i], "name"))))
                        value_list_add(&list, volumes->list.items[i]);
        return value_with(p->a, spec, STR("volumes"), value_list_end(&list, p->a, 0));
}

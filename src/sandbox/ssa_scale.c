/* SPDX-License-Identifier: Apache-2.0 */
/* managedFields on their way to a Scale object and back (managedfields.ScaleHandler). */
#include "sandbox/ssa_impl.h"

static const struct path_element scale_elements[] = {
        { .kind = PATH_FIELD, .name = { "spec", 4 } },
        { .kind = PATH_FIELD, .name = { "replicas", 8 } },
};
static const struct field_path scale_replicas = { scale_elements, ARRAY_LEN(scale_elements) };

static const struct ssa_scale_version *version_of(const struct ssa_scale *s, struct str api_version) {
        for (size_t i = 0; i < s->count; i++)
                if (str_eq(s->versions[i].api_version, api_version))
                        return &s->versions[i];
        return NULL;
}

static bool owns_replicas(const struct ssa_entry *entry, const struct ssa_scale_version *v) {
        return v->replicas.count && fieldset_contains(entry->e.set, v->replicas);
}

const struct value *ssa_scale_entries(const struct ssa_scale *s, const struct value *parent, struct arena *a) {
        struct ssa_managers all, scale = { 0 };

        if (ssa_managers_read(ssa_entries_of(parent), a, &all, NULL) < 0)
                return NULL;
        for (size_t i = 0; i < all.count; i++) {
                const struct ssa_scale_version *v = version_of(s, all.items[i].e.api_version);
                struct ssa_entry entry = all.items[i];

                if (!v || !owns_replicas(&entry, v))
                        continue;
                entry.e.api_version = STR("autoscaling/v1");
                entry.e.set = fieldset_insert(a, &fieldset_empty, scale_replicas);
                ssa_managers_put(&scale, a, entry);
        }
        return ssa_managers_write(&scale, a);
}

/*
 * Entries of the parent, without replicas when their identity is not found on the Scale object. An Update entry's never
 * is, as the apiVersion is part of it and Scale has another: those get their replicas back as entries of their own.
 */
static void adopt_kept(const struct ssa_scale *s, const struct ssa_managers *all, struct ssa_managers *scale,
                       struct ssa_managers *out, struct arena *a) {
        for (size_t i = 0; i < all->count; i++) {
                const struct ssa_scale_version *v = version_of(s, all->items[i].e.api_version);
                struct ssa_entry entry = all->items[i];

                if (!v)
                        continue;
                if (owns_replicas(&entry, v)) {
                        if (ssa_managers_find(scale, entry.id))
                                ssa_managers_remove(scale, entry.id);
                        else
                                entry.e.set = fieldset_remove(a, entry.e.set, v->replicas);
                }
                if (!fieldset_is_empty(entry.e.set))
                        ssa_managers_put(out, a, entry);
        }
}

const struct value *ssa_scale_adopt(const struct ssa_scale *s, const struct value *parent,
                                    const struct value *scale_entries, struct arena *a) {
        const struct ssa_scale_version *here = version_of(s, s->api_version);
        struct ssa_managers all, scale, out = { 0 };

        if (!here || ssa_managers_read(ssa_entries_of(parent), a, &all, NULL) < 0 ||
            ssa_managers_read(scale_entries, a, &scale, NULL) < 0)
                return ssa_entries_of(parent);
        adopt_kept(s, &all, &scale, &out, a);
        for (size_t i = 0; i < scale.count; i++) {
                struct ssa_entry entry = scale.items[i];
                const struct ssa_entry *before = ssa_managers_find(&all, entry.id);

                if (!fieldset_contains(entry.e.set, scale_replicas))
                        continue;
                entry.e.api_version = s->api_version;
                entry.e.set = fieldset_insert(a, &fieldset_empty, here->replicas);
                /* Scale's own times are lost on the way: an entry that is new to the parent has none. */
                entry.e.time = before ? before->e.time : STR("");
                ssa_managers_put(&out, a, entry);
        }
        return ssa_managers_write(&out, a);
}

bool ssa_scale_reorders(const struct value *entries, struct arena *a) {
        for (size_t i = 0; i < value_count(entries); i++) {
                const struct value *fields = value_getc(entries->list.items[i], "fieldsV1");
                const struct fieldset *set;

                if (fieldset_parse(fields, a, &set, NULL) == 0 && fields &&
                    !str_eq(fieldset_text(a, set), value_canonical(a, fields)))
                        return true;
        }
        return false;
}

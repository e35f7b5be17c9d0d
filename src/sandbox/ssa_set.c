/* SPDX-License-Identifier: Apache-2.0 */
/* What server-side apply asks of sets of paths beyond own/fieldset.h: the rules that need a type. */
#include <stdlib.h>

#include "sandbox/ssa_impl.h"

static const struct fieldset *boxed(struct fieldset set, struct arena *a) {
        struct fieldset *box = arena_alloc(a, sizeof *box);

        *box = set;
        return box;
}

/* The type below a path element; NULL where the type has no such child. */
static const struct schema *type_below(const struct schema *type, const struct path_element *e) {
        if (e->kind == PATH_FIELD)
                return schema_field(type, e->name);
        return e->kind == PATH_KEY ? schema_item(type) : NULL;
}

static struct fieldset with_named(const struct fieldset *set, const struct schema *type, struct arena *a) {
        struct fieldset_child *children = arena_alloc(a, set->count * sizeof *children);

        for (size_t i = 0; i < set->count; i++) {
                const struct path_element *e = &set->children[i].element;

                children[i] = set->children[i];
                if (children[i].set.count == 0)
                        continue;
                children[i].set = with_named(&set->children[i].set, type_below(type, e), a);
                if (e->kind == PATH_FIELD && schema_declares(type, e->name))
                        children[i].set.member = true;
        }
        return (struct fieldset){ .member = set->member, .children = children, .count = set->count };
}

const struct fieldset *ssa_set_with_named(const struct fieldset *set, const struct schema *type, struct arena *a) {
        return boxed(with_named(set, type, a), a);
}

static struct fieldset reconcile(const struct fieldset *set, const struct schema *type, struct arena *a,
                                 bool *changed) {
        enum schema_form form = schema_form(type);

        if (set->count == 0 || form == SCHEMA_DEDUCED || form == SCHEMA_SCALAR || form == SCHEMA_UNKNOWN)
                return *set;
        if (form == SCHEMA_ATOMIC) {
                *changed = true;
                return (struct fieldset){ .member = true };
        }
        struct fieldset_builder b = { 0 };

        for (size_t i = 0; i < set->count; i++) {
                const struct fieldset_child *child = &set->children[i];

                fieldset_build_add(&b, child->element,
                                   reconcile(&child->set, type_below(type, &child->element), a, changed));
        }
        return fieldset_build_end(&b, a, set->member);
}

const struct fieldset *ssa_set_reconcile(const struct fieldset *set, const struct schema *type, struct arena *a) {
        bool changed = false;
        struct fieldset fitted = reconcile(set, type, a, &changed);

        return changed ? boxed(fitted, a) : set;
}

#define LEAF(text)                                                                                                     \
        {                                                                                                              \
                .element = { .name = { text, sizeof(text) - 1 } }, .set = {.member = true }                            \
        }

/* In the order of path_element_cmp(). */
static const struct fieldset_child stripped_metadata[] = {
        LEAF("clusterName"), LEAF("creationTimestamp"), LEAF("generation"), LEAF("managedFields"), LEAF("name"),
        LEAF("namespace"),   LEAF("resourceVersion"),   LEAF("selfLink"),   LEAF("uid"),
};

static const struct fieldset_child stripped_top[] = {
        LEAF("apiVersion"),
        LEAF("kind"),
        { { .kind = PATH_FIELD, .name = { "metadata", 8 } },
          { .member = true, .children = stripped_metadata, .count = ARRAY_LEN(stripped_metadata) } },
};

static const struct fieldset stripped = { .children = stripped_top, .count = ARRAY_LEN(stripped_top) };

const struct fieldset *ssa_set_strip(const struct fieldset *set, struct arena *a) {
        return fieldset_subtract(a, set, &stripped);
}

struct lister {
        struct arena *arena;
        struct field_path *paths;
        size_t count;
};

static void list_paths(struct lister *l, const struct fieldset *set, struct field_path at) {
        for (size_t i = 0; i < set->count; i++)
                if (set->children[i].set.member)
                        l->paths[l->count++] = field_path_join(l->arena, at, set->children[i].element);
        for (size_t i = 0; i < set->count; i++)
                if (set->children[i].set.count)
                        list_paths(l, &set->children[i].set, field_path_join(l->arena, at, set->children[i].element));
}

size_t ssa_set_paths(const struct fieldset *set, struct arena *a, const struct field_path **ret_paths) {
        struct lister l = { .arena = a, .paths = arena_alloc(a, fieldset_count(set) * sizeof *l.paths) };

        list_paths(&l, set, (struct field_path){ 0 });
        *ret_paths = l.paths;
        return l.count;
}

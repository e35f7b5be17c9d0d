/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What leaves an object because its applier does not apply it any more (merge.Updater's prune): everything of the last
 * set is taken out, then what anybody owns comes back, then what was in no last set at all (children of removed things
 * that nobody applied: defaults, unowned items) comes back.
 */
#include "sandbox/ssa_impl.h"

static const struct fieldset *named_set(const struct ssa_view *v, struct arena *a) {
        return ssa_set_with_named(fieldset_of_all(v->object, v->schema, a), v->schema, a);
}

/* What all managers with that apiVersion own together. */
static const struct fieldset *owned_in(const struct ssa_run *r, struct str api_version) {
        const struct fieldset *all = &fieldset_empty;

        for (size_t i = 0; i < r->managers.count; i++)
                if (str_eq(r->managers.items[i].e.api_version, api_version))
                        all = fieldset_union(r->arena, all, r->managers.items[i].e.set);
        return all;
}

/* As one version sees it: of `merged`, what is still in `pruned` or owned. */
static int add_back_owned(const struct ssa_run *r, const struct value **merged, const struct value **pruned,
                          struct str api_version, struct err *err) {
        struct arena *a = r->arena;
        struct ssa_view m, p;
        int res = ssa_view_make(r, *merged, api_version, &m, err);

        if (res >= 0)
                res = ssa_view_make(r, *pruned, api_version, &p, err);
        if (res == ERR_NOTFOUND)
                return 0;
        if (res < 0)
                return res;
        const struct fieldset *owned = ssa_set_with_named(owned_in(r, api_version), m.schema, a);
        const struct fieldset *kept = fieldset_union(a, named_set(&p, a), owned);

        *pruned = ssa_remove(m.schema, m.object, fieldset_subtract(a, named_set(&m, a), kept), a);
        *merged = m.object;
        return 0;
}

static bool is_first_of_version(const struct ssa_managers *m, size_t at) {
        for (size_t i = 0; i < at; i++)
                if (str_eq(m->items[i].e.api_version, m->items[at].e.api_version))
                        return false;
        return true;
}

/* The last set's version first, then the others. */
static int add_back_all_owned(const struct ssa_run *r, const struct value *merged, const struct value **pruned,
                              struct str api_version, struct err *err) {
        int res = add_back_owned(r, &merged, pruned, api_version, err);

        for (size_t i = 0; res >= 0 && i < r->managers.count; i++) {
                struct str other = r->managers.items[i].e.api_version;

                if (!str_eq(other, api_version) && is_first_of_version(&r->managers, i))
                        res = add_back_owned(r, &merged, pruned, other, err);
        }
        return res;
}

/* Only what the last set named may go. */
static int add_back_dangling(const struct ssa_run *r, const struct ssa_view *merged, const struct value **pruned,
                             const struct ssa_entry *last, struct err *err) {
        struct arena *a = r->arena;
        struct ssa_view p;
        int res = ssa_view_make(r, *pruned, last->e.api_version, &p, err);

        if (res < 0)
                return res;
        const struct fieldset *gone = fieldset_subtract(a, named_set(merged, a), named_set(&p, a));
        const struct fieldset *named = ssa_set_with_named(last->e.set, merged->schema, a);

        *pruned = ssa_remove(merged->schema, merged->object, fieldset_intersect(a, gone, named), a);
        return 0;
}

int ssa_prune(struct ssa_run *r, const struct value **merged, const struct ssa_entry *last, struct err *err) {
        struct ssa_view view, back;
        int res = fieldset_is_empty(last->e.set) ? ERR_NOTFOUND
                                                 : ssa_view_make(r, *merged, last->e.api_version, &view, err);

        if (res == ERR_NOTFOUND)
                return 0;
        if (res < 0)
                return res;
        const struct fieldset *gone = ssa_set_with_named(last->e.set, view.schema, r->arena);
        const struct value *pruned = ssa_remove(view.schema, view.object, gone, r->arena);

        res = add_back_all_owned(r, view.object, &pruned, last->e.api_version, err);
        if (res >= 0)
                res = add_back_dangling(r, &view, &pruned, last, err);
        if (res >= 0)
                res = ssa_view_make(r, pruned, r->how->api_version, &back, err);
        if (res < 0)
                return res;
        *merged = back.object;
        return 0;
}

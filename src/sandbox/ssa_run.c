/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bookkeeping of one request (merge.Updater): which version of the kind sees what, and who loses what when the
 * object changes.
 */
#include <stdlib.h>

#include "sandbox/ssa_impl.h"

/* The server's 500s carry plain messages. */
static void refuse_version(struct str api_version, struct err *err) {
        err_set(err, ERR_INVAL, "request to convert CR to an invalid group/version: %.*s", STR_FMT(api_version));
        if (err)
                err->http_status = 500;
}

static const struct type *type_in(const struct ssa_run *r, struct str api_version) {
        const struct ssa_versions *v = r->how->versions;

        if (str_eq(api_version, r->how->api_version))
                return r->type;
        return v && v->type ? v->type(v->ctx, api_version) : NULL;
}

static const struct value *convert(const struct ssa_run *r, const struct value *object, struct str api_version) {
        const struct ssa_versions *v = r->how->versions;

        if (str_eq(value_text(value_getc(object, "apiVersion")), api_version))
                return object;
        if (v && v->convert)
                return v->convert(v->ctx, object, api_version, r->arena);
        return value_with(r->arena, object, STR("apiVersion"), value_string(r->arena, api_version, 0));
}

int ssa_view_make(const struct ssa_run *r, const struct value *object, struct str api_version, struct ssa_view *ret,
                  struct err *err) {
        const struct type *type = type_in(r, api_version);
        bool gone_fails = r->how->versions && r->how->versions->gone_fails;

        if (!type && gone_fails) {
                refuse_version(api_version, err);
                return ERR_INVAL;
        }
        if (!type)
                return ERR_NOTFOUND;
        *ret = (struct ssa_view){ type->schema, convert(r, object, api_version) };
        return 0;
}

int ssa_reconcile(struct ssa_run *r, const struct value *live, struct err *err) {
        for (size_t i = r->managers.count; i-- > 0;) {
                struct ssa_entry *entry = &r->managers.items[i];
                struct ssa_view view;
                int res = ssa_view_make(r, live, entry->e.api_version, &view, err);

                if (res == ERR_NOTFOUND)
                        ssa_managers_remove(&r->managers, entry->id);
                else if (res < 0)
                        return res;
                else
                        entry->e.set = ssa_set_reconcile(entry->e.set, view.schema, r->arena);
        }
        return 0;
}

/* The comparison as one version sees it. Few versions, so they are kept in a row. */
struct seen {
        struct str api_version;
        struct ssa_comparison c;
        bool gone;
};

struct taking {
        struct ssa_run *run;
        const struct value *from, *to;
        struct seen seen[8];
        size_t count;
};

static const struct fieldset *reset_in(const struct ssa_run *r, struct str api_version) {
        const struct ssa_versions *v = r->how->versions;

        if (str_eq(api_version, r->how->api_version))
                return r->how->reset;
        return v && v->reset ? v->reset(v->ctx, api_version) : NULL;
}

static const struct fieldset *without(const struct fieldset *set, const struct fieldset *reset, struct arena *a) {
        return reset ? fieldset_subtract_whole(a, set, reset) : set;
}

static int look(struct taking *t, struct str api_version, struct seen *ret, struct err *err) {
        const struct fieldset *reset = reset_in(t->run, api_version);
        struct arena *a = t->run->arena;
        struct ssa_view from, to;
        int res = ssa_view_make(t->run, t->from, api_version, &from, err);

        *ret = (struct seen){ .api_version = api_version, .gone = res == ERR_NOTFOUND };
        if (ret->gone)
                return 0;
        if (res >= 0)
                res = ssa_view_make(t->run, t->to, api_version, &to, err);
        if (res < 0)
                return res;
        ret->c = ssa_compare(from.schema, from.object, to.object, a);
        ret->c.added = without(ret->c.added, reset, a);
        ret->c.modified = without(ret->c.modified, reset, a);
        ret->c.removed = without(ret->c.removed, reset, a);
        return 0;
}

static int see(struct taking *t, struct str api_version, struct seen *ret, struct err *err) {
        for (size_t i = 0; i < t->count; i++) {
                if (!str_eq(t->seen[i].api_version, api_version))
                        continue;
                *ret = t->seen[i];
                return 0;
        }
        int res = look(t, api_version, ret, err);
        if (res >= 0 && t->count < ARRAY_LEN(t->seen))
                t->seen[t->count++] = *ret;
        return res;
}

struct conflict_list {
        struct ssa_conflict *items;
        size_t count, cap;
};

static void add_conflicts(struct conflict_list *list, const struct ssa_entry *entry, const struct fieldset *set,
                          struct arena *a) {
        const struct field_path *paths;
        size_t count = ssa_set_paths(set, a, &paths);

        for (size_t i = 0; i < count; i++) {
                list->items = mem_grow(list->items, &list->cap, list->count + 1, sizeof *list->items);
                list->items[list->count++] = (struct ssa_conflict){ .id = entry->id, .path = paths[i] };
        }
}

static struct ssa_conflicts end_conflicts(struct conflict_list *list, struct arena *a) {
        struct ssa_conflict *items = arena_alloc(a, list->count * sizeof *items);

        if (list->count)
                memcpy(items, list->items, list->count * sizeof *items);
        return (struct ssa_conflicts){ items, list->count };
}

/* What of an entry's set has another value now. */
static const struct fieldset *contested(const struct ssa_entry *entry, const struct ssa_comparison *c,
                                        struct arena *a) {
        const struct fieldset *modified = fieldset_intersect(a, entry->e.set, c->modified);

        return fieldset_union(a, modified, fieldset_intersect(a, entry->e.set, c->added));
}

/* Goes over the managers but `own`: first only to find conflicts, then (NULL) to take. */
static int each_other(struct taking *t, struct str own, struct conflict_list *conflicts, struct err *err) {
        struct arena *a = t->run->arena;

        for (size_t i = 0; i < t->run->managers.count; i++) {
                struct ssa_entry *entry = &t->run->managers.items[i];
                struct seen seen;

                if (str_eq(entry->id, own))
                        continue;
                int res = see(t, entry->e.api_version, &seen, err);
                if (res < 0)
                        return res;
                if (seen.gone) {
                        entry->e.set = &fieldset_empty;
                        continue;
                }
                const struct fieldset *lost = contested(entry, &seen.c, a);
                if (conflicts)
                        add_conflicts(conflicts, entry, lost, a);
                else
                        entry->e.set = fieldset_subtract(a, fieldset_subtract(a, entry->e.set, lost), seen.c.removed);
        }
        return 0;
}

static int find_conflicts(struct taking *t, struct str own, struct ssa_conflicts *ret, struct err *err) {
        struct conflict_list list = { 0 };
        int res = each_other(t, own, &list, err);

        if (res >= 0 && list.count) {
                *ret = end_conflicts(&list, t->run->arena);
                res = err_set(err, ERR_CONFLICT, "%zu fields belong to others", list.count);
        }
        free(list.items);
        return res;
}

int ssa_take(struct ssa_run *r, const struct value *from, const struct value *to, struct str own, bool force,
             struct ssa_comparison *ret_own, struct ssa_conflicts *ret_conflicts, struct err *err) {
        struct taking t = { .run = r, .from = from, .to = to };
        struct seen seen;
        int res = see(&t, r->how->api_version, &seen, err);

        if (res >= 0 && !force)
                res = find_conflicts(&t, own, ret_conflicts, err);
        if (res >= 0)
                res = each_other(&t, own, NULL, err);
        if (res < 0)
                return res;
        ssa_managers_drop_empty(&r->managers);
        *ret_own = seen.c;
        return 0;
}

int ssa_run_update(struct ssa_run *r, const struct value *from, const struct value *to, struct str manager,
                   struct err *err) {
        struct ssa_comparison own;
        struct ssa_conflicts none;
        int res = ssa_reconcile(r, from, err);

        if (res >= 0)
                res = ssa_take(r, from, to, STR(""), true, &own, &none, err);
        if (res < 0)
                return res;

        struct ssa_entry entry = ssa_entry_make(
                (struct managed_entry){
                        .manager = manager.n ? manager : STR("unknown"),
                        .operation = MANAGED_UPDATE,
                        .subresource = r->how->subresource,
                        .api_version = r->how->api_version,
                        .time = r->how->now,
                        .set = ssa_set_strip(fieldset_union(r->arena, own.modified, own.added), r->arena),
                },
                r->arena);
        const struct ssa_entry *previous = ssa_managers_find(&r->managers, entry.id);

        /* Nothing changed hands: the entry there was keeps its time. */
        if (!fieldset_is_empty(entry.e.set)) {
                if (previous)
                        entry.e.set = fieldset_union(r->arena, entry.e.set, previous->e.set);
                ssa_managers_put(&r->managers, r->arena, entry);
        }
        ssa_managers_cap(&r->managers, r->arena);
        return 0;
}

const struct value *ssa_nothing(const struct ssa_run *r, const struct value *of) {
        struct str kind = value_text(value_getc(of, "kind"));

        return r->how->zero ? r->how->zero : ssa_zero(r->type, r->how->api_version, kind, r->arena);
}

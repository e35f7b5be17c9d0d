/* SPDX-License-Identifier: Apache-2.0 */
#include "own/handover.h"

enum handover_kind handover_decide(const struct managed *m, const struct schema *type, struct field_path path,
                                   enum handover_wish wish, bool hold) {
        const struct managed_entry *ours = managed_ours(m);
        bool we_own = ours && !ours->broken && fieldset_touches(ours->set, path);

        if (wish != HANDOVER_YIELD) {
                if (!managed_keeper_of(m, type, path))
                        return HANDOVER_NOTHING;
                return hold ? HANDOVER_WAIT : HANDOVER_TAKE_BACK;
        }
        if (!we_own)
                return HANDOVER_NOTHING;
        return managed_other_owner(m, type, path, true) ? HANDOVER_JUST_LEAVE : HANDOVER_GIVE;
}

/* The owners of a live object while they are being changed. */
struct rewrite {
        struct arena *arena;
        const struct value *list; /* managedFields as it came */
        struct managed before;
        const struct fieldset **sets; /* one an entry; NULL: unchanged */
        struct managed_entry made;
        bool has_made;
        struct str resource_version;
};

static int rewrite_begin(struct rewrite *w, const struct value *live, struct arena *a, struct err *err) {
        *w = (struct rewrite){ .arena = a };
        w->list = value_path(live, "metadata", "managedFields", NULL);
        w->resource_version = value_text(value_path(live, "metadata", "resourceVersion", NULL));
        if (!value_is(w->list, VALUE_LIST) || !w->resource_version.n)
                return err_set(err, ERR_INVAL, "the live object lacks managedFields or resourceVersion");
        int res = managed_parse(live, a, &w->before, err);
        if (res < 0)
                return res;
        w->sets = arena_zalloc(a, w->before.count * sizeof *w->sets);
        return 0;
}

static const struct fieldset *set_now(const struct rewrite *w, const struct managed_entry *e) {
        const struct fieldset *set = w->sets[e - w->before.entries];

        return set ? set : e->set;
}

static void set_later(struct rewrite *w, const struct managed_entry *e, const struct fieldset *set) {
        w->sets[e - w->before.entries] = set;
}

/* Everything `set` has at or below the paths. */
static const struct fieldset *select_paths(struct arena *a, const struct fieldset *set, const struct field_path *paths,
                                           size_t count) {
        const struct fieldset *out = &fieldset_empty;

        for (size_t i = 0; i < count; i++)
                out = fieldset_union(a, out, fieldset_under(a, set, paths[i]));
        return out;
}

static void add_to(struct rewrite *w, struct str manager, enum managed_operation operation, struct str api_version,
                   const struct fieldset *set) {
        /* Apply entries are one a manager, whatever their version; Update entries are one a version. */
        struct str version = operation == MANAGED_APPLY ? STR("") : api_version;
        const struct managed_entry *e = managed_find(&w->before, manager, operation, STR(""), version);

        if (e && !e->broken) {
                set_later(w, e, fieldset_union(w->arena, set_now(w, e), set));
                return;
        }
        w->has_made = true;
        w->made = (struct managed_entry){
                .manager = manager, .operation = operation, .api_version = api_version, .set = set
        };
}

static const struct value *entry_value(struct arena *a, const struct managed_entry *e) {
        struct value_map_builder b = { 0 };
        const char *operation = e->operation == MANAGED_APPLY ? "Apply" : "Update";

        value_map_add(&b, STR("manager"), value_string(a, e->manager, 0), 0);
        value_map_add(&b, STR("operation"), value_stringc(a, operation), 0);
        value_map_add(&b, STR("apiVersion"), value_string(a, e->api_version, 0), 0);
        value_map_add(&b, STR("fieldsType"), value_stringc(a, "FieldsV1"), 0);
        value_map_add(&b, STR("fieldsV1"), fieldset_to_value(a, e->set), 0);
        return value_map_end(&b, a, 0);
}

static const struct value *new_list(struct rewrite *w) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < w->before.count; i++) {
                const struct value *old = w->list->list.items[i];

                if (!w->sets[i])
                        value_list_add(&b, old);
                else if (!fieldset_is_empty(w->sets[i]))
                        value_list_add(&b, value_with(w->arena, old, STR("fieldsV1"),
                                                      fieldset_to_value(w->arena, w->sets[i])));
        }
        if (w->has_made)
                value_list_add(&b, entry_value(w->arena, &w->made));
        return value_list_end(&b, w->arena, 0);
}

static const struct value *replace_op(struct arena *a, const char *path, const struct value *value) {
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("op"), value_stringc(a, "replace"), 0);
        value_map_add(&b, STR("path"), value_stringc(a, path), 0);
        value_map_add(&b, STR("value"), value, 0);
        return value_map_end(&b, a, 0);
}

static struct managed changed_entries(struct rewrite *w) {
        struct managed_entry *entries = arena_zalloc(w->arena, (w->before.count + 1) * sizeof *entries);
        size_t count = 0;

        for (size_t i = 0; i < w->before.count; i++) {
                if (!w->sets[i])
                        continue;
                entries[count] = w->before.entries[i];
                entries[count++].set = w->sets[i];
        }
        if (w->has_made)
                entries[count++] = w->made;
        return (struct managed){ entries, count };
}

static void rewrite_end(struct rewrite *w, const struct value **ret_patch, struct managed *ret_after) {
        struct value_list_builder ops = { 0 };
        const struct value *version = value_string(w->arena, w->resource_version, 0);

        value_list_add(&ops, replace_op(w->arena, "/metadata/resourceVersion", version));
        value_list_add(&ops, replace_op(w->arena, "/metadata/managedFields", new_list(w)));
        *ret_patch = value_list_end(&ops, w->arena, 0);
        *ret_after = changed_entries(w);
}

int handover_give(const struct value *live, const struct field_path *paths, size_t count, struct arena *a,
                  const struct value **ret_patch, struct managed *ret_after, struct err *err) {
        struct rewrite w;
        int res = rewrite_begin(&w, live, a, err);

        if (res < 0)
                return res;
        const struct managed_entry *ours = managed_ours(&w.before);
        const struct fieldset *moved = ours && !ours->broken ? select_paths(a, ours->set, paths, count) : NULL;
        if (!moved || fieldset_is_empty(moved))
                return err_set(err, ERR_NOTFOUND, "our entry has none of the paths to hand over");

        set_later(&w, ours, fieldset_subtract(a, ours->set, moved));
        add_to(&w, STR(OWN_KEEPER), MANAGED_UPDATE, ours->api_version, moved);
        rewrite_end(&w, ret_patch, ret_after);
        return 0;
}

int handover_take_back(const struct value *live, const struct field_path *paths, size_t count, struct str api_version,
                       struct arena *a, const struct value **ret_patch, struct managed *ret_after, struct err *err) {
        struct rewrite w;
        const struct fieldset *all = &fieldset_empty;
        int res = rewrite_begin(&w, live, a, err);

        if (res < 0)
                return res;
        for (size_t i = 0; i < w.before.count; i++) {
                const struct managed_entry *e = &w.before.entries[i];

                if (!managed_is_keeper(e) || e->broken)
                        continue;
                const struct fieldset *moved = select_paths(a, e->set, paths, count);
                if (fieldset_is_empty(moved))
                        continue;
                set_later(&w, e, fieldset_subtract(a, e->set, moved));
                all = fieldset_union(a, all, moved);
        }
        if (fieldset_is_empty(all))
                return err_set(err, ERR_NOTFOUND, "the keeper has none of the paths to take back");
        add_to(&w, STR(OWN_MANAGER), MANAGED_APPLY, api_version, all);
        rewrite_end(&w, ret_patch, ret_after);
        return 0;
}

int handover_take_over(const struct value *live, const struct handover_strip *strips, size_t count,
                       struct str api_version, struct arena *a, const struct value **ret_patch,
                       struct managed *ret_after, struct err *err) {
        struct rewrite w;
        const struct fieldset *gained = &fieldset_empty;
        size_t found = 0;
        int res = rewrite_begin(&w, live, a, err);

        if (res < 0)
                return res;
        for (size_t i = 0; i < count; i++) {
                const struct managed_entry *from = strips[i].entry;
                const struct managed_entry *e =
                        managed_find(&w.before, from->manager, from->operation, from->subresource, from->api_version);

                if (!e || e->broken || managed_is_ours(e))
                        continue;
                const struct fieldset *moved = fieldset_intersect(a, set_now(&w, e), strips[i].set);
                if (fieldset_is_empty(moved))
                        continue;
                set_later(&w, e, fieldset_subtract(a, set_now(&w, e), moved));
                if (strips[i].into_ours)
                        gained = fieldset_union(a, gained, moved);
                found++;
        }
        if (!found)
                return err_set(err, ERR_NOTFOUND, "no other owner has the paths to take over");
        if (!fieldset_is_empty(gained))
                add_to(&w, STR(OWN_MANAGER), MANAGED_APPLY, api_version, gained);
        rewrite_end(&w, ret_patch, ret_after);
        return 0;
}

int handover_check(const struct value *response, const struct managed *after, struct arena *a, struct err *err) {
        struct managed now;
        int res = managed_parse(response, a, &now, err);

        if (res < 0)
                return res;
        for (size_t i = 0; i < after->count; i++) {
                const struct managed_entry *want = &after->entries[i];
                const struct managed_entry *have =
                        managed_find(&now, want->manager, want->operation, want->subresource, want->api_version);
                bool gone = fieldset_is_empty(want->set);

                if (gone ? have != NULL : !have || have->broken || !fieldset_equal(have->set, want->set))
                        return err_set(err, ERR_CONFLICT, "the server did not keep the entry of %.*s as it was sent",
                                       STR_FMT(want->manager));
        }
        return 0;
}

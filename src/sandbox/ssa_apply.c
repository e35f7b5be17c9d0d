/* SPDX-License-Identifier: Apache-2.0 */
/* A server-side apply, from the config to the merged object with managedFields. */
#include "sandbox/ssa_impl.h"

static int refuse(struct err *err, int http_status, int code) {
        if (err)
                err->http_status = http_status;
        return code;
}

static struct ssa_entry own_entry(const struct ssa_run *r, const struct fieldset *set) {
        struct managed_entry e = {
                .manager = r->how->manager.n ? r->how->manager : STR("unknown"),
                .operation = MANAGED_APPLY,
                .subresource = r->how->subresource,
                .api_version = r->how->api_version,
                .set = set,
        };

        return ssa_entry_make(e, r->arena);
}

/* "NAMESPACE/NAME; GROUP/VERSION, Kind=KIND", as messages name an object. */
static struct str name_of(const struct value *object, struct arena *a) {
        struct str namespace = value_text(value_path(object, "metadata", "namespace", NULL));
        struct str name = value_text(value_path(object, "metadata", "name", NULL));
        struct str api_version = value_text(value_getc(object, "apiVersion"));
        const char *core = str_find(api_version, '/', 0) < 0 ? "/" : "";

        return arena_strf(a, "%.*s/%.*s; %s%.*s, Kind=%.*s", STR_FMT(namespace), STR_FMT(name), core,
                          STR_FMT(api_version), STR_FMT(value_text(value_getc(object, "kind"))));
}

/* Of a live object without owners one is made, for what it has. */
static int check_ownerless(const struct ssa_run *r, const struct value *live, struct err *err) {
        if (!live || value_count(ssa_entries_of(live)))
                return 0;
        int res = ssa_validate_stored(r->type, live, err);

        if (res < 0)
                return refuse(err, 500,
                              err_wrap(err, res,
                                       "failed to create manager for existing fields: failed to convert new object (%.*s) "
                                       "to smd typed",
                                       STR_FMT(name_of(live, r->arena))));
        return 0;
}

static int check_objects(const struct ssa_run *r, const struct value *live, const struct value *config,
                         struct err *err) {
        if (check_ownerless(r, live, err) < 0)
                return ERR_INVAL;
        if (ssa_entries_of(config))
                return refuse(err, 400, err_set(err, ERR_INVAL, "metadata.managedFields must be nil"));
        int res = ssa_validate(r->type, config, err);

        if (res < 0)
                return refuse(err, 500,
                              err_wrap(err, res, "failed to create typed patch object (%.*s)",
                                       STR_FMT(name_of(config, r->arena))));
        if (live)
                res = ssa_validate_stored(r->type, live, err);
        if (res < 0)
                return refuse(err, 500,
                              err_wrap(err, res, "failed to create typed live object (%.*s)",
                                       STR_FMT(name_of(live, r->arena))));
        return 0;
}

static int read_managers(struct ssa_run *r, const struct value *live, struct err *err) {
        int res = ssa_managers_read(ssa_entries_of(live), r->arena, &r->managers, err);

        if (res < 0)
                return refuse(err, 500, err_wrap(err, res, "failed to decode managed fields"));
        /* Somebody's work from before anybody was followed. */
        if (live && r->managers.count == 0)
                return ssa_run_update(r, ssa_nothing(r, live), live, STR("before-first-apply"), err);
        return 0;
}

/* merge.Updater's Apply. *ret_merged: the new object, without managedFields settled. */
static int merge_and_take(struct ssa_run *r, const struct value *live, const struct value *config,
                          const struct value **ret_merged, struct ssa_conflicts *ret_conflicts, bool force,
                          struct err *err) {
        struct ssa_entry own = own_entry(r, NULL), last = own;
        struct ssa_comparison ignored;
        int res = ssa_reconcile(r, live, err);

        if (res < 0)
                return res;
        const struct value *merged = ssa_merge(r->type->schema, live, config, r->arena);
        const struct ssa_entry *previous = ssa_managers_find(&r->managers, own.id);

        if (previous)
                last = *previous;
        own.e.time = last.e.time;
        own.e.set = fieldset_of_all(config, r->type->schema, r->arena);
        if (r->how->reset)
                own.e.set = fieldset_subtract_whole(r->arena, own.e.set, r->how->reset);
        ssa_managers_put(&r->managers, r->arena, own);
        if (previous)
                res = ssa_prune(r, &merged, &last, err);
        if (res >= 0)
                res = ssa_take(r, live, merged, own.id, force, &ignored, ret_conflicts, err);
        if (res < 0)
                return res;
        *ret_merged = merged;
        return 0;
}

/* Strips what is never owned and sets the time, when the object changed. */
static void finish_own(struct ssa_run *r, bool changed) {
        struct ssa_entry *own = ssa_managers_find(&r->managers, own_entry(r, NULL).id);

        if (!own)
                return;
        own->e.set = ssa_set_strip(own->e.set, r->arena);
        if (changed)
                own->e.time = r->how->now;
        ssa_managers_drop_empty(&r->managers);
}

/* `r` is left as it was when the apply fails. */
static int attempt(struct ssa_run *r, const struct value *live, const struct value *config, bool force,
                   const struct value **ret_object, struct ssa_conflicts *ret_conflicts, struct err *err) {
        struct ssa_run run = *r;
        const struct value *base = live ? live : ssa_nothing(r, config), *merged;

        /* The run changes entries in place. */
        run.managers = (struct ssa_managers){ 0 };
        for (size_t i = 0; i < r->managers.count; i++)
                ssa_managers_put(&run.managers, r->arena, r->managers.items[i]);
        int res = merge_and_take(&run, base, config, &merged, ret_conflicts, force, err);
        if (res < 0)
                return res;

        finish_own(&run, !value_equal(base, merged));
        const struct value *list = ssa_managers_write(&run.managers, r->arena);
        bool same = live && value_equal(base, merged) &&
                    (list ? value_equal(list, ssa_entries_of(live)) : !ssa_entries_of(live));

        *ret_object = same ? live : ssa_with_entries(merged, list, r->arena);
        return 0;
}

int ssa_apply(const struct type *type, const struct value *live, const struct value *config,
              const struct ssa_request *how, struct arena *a, const struct value **ret_object,
              struct ssa_conflicts *ret_conflicts, struct err *err) {
        struct ssa_run r = { .type = type, .how = how, .arena = a };
        bool kubectl = str_eqc(how->manager, "kubectl");
        int res = read_managers(&r, live, err);

        if (res >= 0)
                res = check_objects(&r, live, config, err);
        if (res >= 0)
                res = attempt(&r, live, config, how->force, ret_object, ret_conflicts, err);
        if (res == ERR_CONFLICT && kubectl && ssa_last_applied_allows(&r, live, ret_conflicts))
                res = attempt(&r, live, config, true, ret_object, ret_conflicts, err);
        if (res == ERR_CONFLICT)
                return refuse(err, 409, res);
        if (res >= 0 && kubectl && *ret_object != live)
                *ret_object = ssa_last_applied_update(*ret_object, config, a);
        return res;
}

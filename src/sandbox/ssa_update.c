/* SPDX-License-Identifier: Apache-2.0 */
/* managedFields after writes that are no apply, and what is left of a write that changed nothing but times. */
#include "sandbox/ssa_impl.h"

/* An empty list, or one entry that says nothing: the writer wants no managedFields. */
static bool asks_for_none(const struct value *list) {
        if (!list || list->list.count > 1)
                return false;
        if (list->list.count == 0)
                return true;
        const struct value *only = list->list.items[0];

        for (size_t i = 0; i < value_count(only); i++) {
                const struct value *v = only->map.members[i].value;

                if (v->kind != VALUE_NULL && !(v->kind == VALUE_STRING && v->text.n == 0))
                        return false;
        }
        return true;
}

/* The managers to start from: the writer's when there are some, else those of `live`. */
static void start_from(struct ssa_run *r, const struct value *live, const struct value *object) {
        const struct value *sent = r->how->subresource.n ? NULL : ssa_entries_of(object);

        if (asks_for_none(sent))
                return;
        if (ssa_managers_read(sent, r->arena, &r->managers, NULL) >= 0 && r->managers.count)
                return;
        r->managers = (struct ssa_managers){ 0 };
        if (ssa_managers_read(ssa_entries_of(live), r->arena, &r->managers, NULL) < 0)
                r->managers = (struct ssa_managers){ 0 };
}

const struct value *ssa_update(const struct type *type, const struct value *live, const struct value *object,
                               const struct ssa_request *how, struct arena *a) {
        struct ssa_run r = { .type = type, .how = how, .arena = a };
        const struct value *bare = ssa_with_entries(object, NULL, a);

        start_from(&r, live, object);
        /* Who cleared managedFields is not followed any more, until somebody applies. */
        if (live && r.managers.count == 0)
                return bare;
        if (ssa_validate_stored(type, bare, NULL) < 0 || (live && ssa_validate_stored(type, live, NULL) < 0) ||
            ssa_run_update(&r, live ? live : ssa_nothing(&r, object), bare, how->manager, NULL) < 0)
                return ssa_with_entries(bare, ssa_entries_of(live), a);
        return ssa_with_entries(bare, ssa_managers_write(&r.managers, a), a);
}

static const struct value *timeless(const struct value *entry, struct arena *a) {
        return value_with(a, entry, STR("time"), NULL);
}

/* Do two lists differ in times only (at least one)? */
static bool only_times_differ(const struct value *x, const struct value *y, struct arena *a) {
        if (value_count(x) != value_count(y) || value_count(x) == 0 || value_equal(x, y))
                return false;
        for (size_t i = 0; i < value_count(x); i++)
                if (!value_equal(timeless(x->list.items[i], a), timeless(y->list.items[i], a)))
                        return false;
        return true;
}

const struct value *ssa_settle(const struct value *live, const struct value *object, struct arena *a) {
        if (!live || object == live)
                return object;
        const struct value *before = ssa_entries_of(live), *after = ssa_entries_of(object);

        if (only_times_differ(before, after, a)) {
                const struct value *with_old_times = ssa_with_entries(object, before, a);

                return value_equal(with_old_times, live) ? live : object;
        }
        return value_equal(object, live) ? live : object;
}

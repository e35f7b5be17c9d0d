/* SPDX-License-Identifier: Apache-2.0 */
/* An override lease: while it runs, what people's tools changed of Git's values stays as they left it. */
#include "own/decide_impl.h"

static bool is_person(const struct managed_entry *e) {
        return !e->broken && policy_classify(e->manager, e->operation, STR("")) == POLICY_PERSON;
}

static void keep(struct desk *d, const struct managed_entry *e) {
        const struct field_path *paths;
        size_t count = fieldset_paths(e->set, d->arena, &paths);

        desk_settle(d);
        for (size_t i = 0; i < count; i++) {
                struct decide_note note = {
                        .kind = DECIDE_OVERRIDDEN, .owner = e->manager, .subresource = e->subresource, .rule = d->in->override
                };

                if (!desk_differs(d, paths[i]))
                        continue;
                desk_yield_path(d, paths[i], note);
                d->needs_version = true; /* a late write of ours may make it ours meanwhile */
        }
}

void desk_yield_overridden(struct desk *d) {
        for (size_t i = 0; d->in->live && i < d->managed.count; i++)
                if (is_person(&d->managed.entries[i]))
                        keep(d, &d->managed.entries[i]);
}

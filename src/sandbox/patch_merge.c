/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON merge patch (RFC 7386), as the API server's library has it.
 */
#include "sandbox/patch_impl.h"

const struct value *patch_without_nulls(const struct value *v, struct arena *a) {
        if (v->kind == VALUE_LIST) {
                struct value_list_builder b = { 0 };

                for (size_t i = 0; i < v->list.count; i++)
                        value_list_add(&b, patch_without_nulls(v->list.items[i], a));
                return value_list_end(&b, a, v->line);
        }
        if (v->kind != VALUE_MAP)
                return v;
        struct value_member *members = arena_alloc(a, v->map.count * sizeof *members);
        size_t n = 0;

        for (size_t i = 0; i < v->map.count; i++) {
                if (v->map.members[i].value->kind == VALUE_NULL)
                        continue;
                members[n] = v->map.members[i];
                members[n].value = patch_without_nulls(members[n].value, a);
                n++;
        }
        return value_map_of(a, members, n, v->line);
}

const struct value *patch_merge(const struct value *doc, const struct value *patch, struct arena *a) {
        if (!value_is(doc, VALUE_MAP))
                return patch_without_nulls(patch, a);
        /* A map that meets something else: that is taken as it is, nulls and all. */
        if (patch->kind != VALUE_MAP)
                return patch;
        for (size_t i = 0; i < patch->map.count; i++) {
                const struct value_member *m = &patch->map.members[i];
                const struct value *old = value_get(doc, m->key);
                const struct value *now = m->value->kind == VALUE_NULL ? NULL : patch_merge(old, m->value, a);

                doc = value_with(a, doc, m->key, now);
        }
        /* A new node even where nothing changed: this one was read (body_text.c). */
        return patch->map.count ? doc : value_with(a, doc, STR(""), value_getc(doc, ""));
}

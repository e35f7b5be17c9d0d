/* SPDX-License-Identifier: Apache-2.0 */
#include "own/match.h"

static bool add_key(struct matcher *m, struct str name) {
        size_t at = 0;

        while (at < m->guessed.key_count && str_cmp(m->keys[at].name, name) < 0)
                at++;
        if (at < m->guessed.key_count && str_eq(m->keys[at].name, name))
                return true;
        if (m->guessed.key_count == SCHEMA_MAX_KEYS)
                return false;
        for (size_t i = m->guessed.key_count++; i > at; i--)
                m->keys[i] = m->keys[i - 1];
        m->keys[at] = (struct schema_key){ .name = name };
        return true;
}

static bool guess_keys(struct matcher *m, const struct fieldset *set) {
        for (size_t i = 0; i < set->count; i++) {
                const struct path_element *e = &set->children[i].element;

                for (size_t k = 0; k < e->value->map.count; k++)
                        if (!add_key(m, e->value->map.members[k].key))
                                return false;
        }
        m->guessed.form = SCHEMA_LIST_MAP;
        m->guessed.keys = m->keys;
        return true;
}

static bool all_of_kind(const struct fieldset *set, enum path_kind kind) {
        for (size_t i = 0; i < set->count; i++)
                if (set->children[i].element.kind != kind)
                        return false;
        return set->count > 0;
}

bool matcher_init(struct matcher *m, const struct fieldset *set, const struct schema *type) {
        bool keyed = all_of_kind(set, PATH_KEY), valued = all_of_kind(set, PATH_VALUE);

        *m = (struct matcher){ .type = type };
        if (!keyed && !valued)
                return false;
        if (schema_form(type) == (keyed ? SCHEMA_LIST_MAP : SCHEMA_LIST_SET))
                return true;
        if (schema_form(type) != SCHEMA_UNKNOWN)
                return false;

        m->is_guess = true;
        m->type = &m->guessed;
        m->guessed.form = SCHEMA_LIST_SET;
        return valued || guess_keys(m, set);
}

bool matcher_element(const struct matcher *m, const struct value *item, struct arena *a, struct path_element *ret) {
        if (!path_item_element(item, m->type, a, ret))
                return false;
        return !m->is_guess || ret->kind != PATH_KEY || ret->value->map.count == m->type->key_count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reproducible random trees for the tests of diff/. */
#ifndef TRUCE_TESTS_DIFF_RANDOM_TREE_H
#define TRUCE_TESTS_DIFF_RANDOM_TREE_H

#include "base/value.h"

struct dice {
        uint64_t state; /* never 0 */
};

/* xorshift64*: good enough to wander, and the same everywhere. */
static inline uint32_t roll(struct dice *d, uint32_t sides) {
        d->state ^= d->state >> 12;
        d->state ^= d->state << 25;
        d->state ^= d->state >> 27;
        return (uint32_t)((d->state * UINT64_C(2685821657736338717)) >> 33) % sides;
}

static inline const struct value *random_scalar(struct dice *d, struct arena *a) {
        static const char *const texts[] = {
                "",
                "a",
                "web:1.4",
                "6",
                "true",
                " blank ",
                "two\nlines\n",
                "esc\033[31m",
                "\xe2\x80\xae turned",
                "|`<b>`|",
                "\xff\xfe",
                "one\ntwo\nthree",
                "null",
                "x,y: {z}",
        };

        switch (roll(d, 6)) {
        case 0:
                return &value_null;
        case 1:
                return value_bool(a, roll(d, 2), 0);
        case 2:
                return value_int(a, (int64_t)roll(d, 10) - 5, 0);
        case 3:
                return value_number(a, STR("1.5"), 0);
        default:
                return value_stringc(a, texts[roll(d, sizeof texts / sizeof texts[0])]);
        }
}

/* `lists`: also lists, plain and of maps with names. Depth at most `depth`. */
static inline const struct value *random_tree(struct dice *d, struct arena *a, unsigned depth, bool lists) {
        static const char *const keys[] = { "a", "b", "name", "env", "x.y/z", "status", "metadata", "value" };
        struct value_map_builder map = { 0 };
        struct value_list_builder list = { 0 };
        unsigned count = roll(d, 5);

        if (depth == 0 || roll(d, 4) == 0)
                return random_scalar(d, a);
        if (lists && roll(d, 3) == 0) {
                for (unsigned i = 0; i < count; i++)
                        value_list_add(&list, random_tree(d, a, depth - 1, lists));
                return value_list_end(&list, a, 0);
        }
        for (unsigned i = 0; i < count; i++)
                value_map_add(&map, str_from(keys[roll(d, 8)]), random_tree(d, a, depth - 1, lists), 0);
        return value_map_end(&map, a, 0);
}

/* The same tree with some parts replaced, dropped, added or turned round. */
static inline const struct value *random_edit(struct dice *d, struct arena *a, const struct value *v, bool lists) {
        struct value_map_builder map = { 0 };
        struct value_list_builder list = { 0 };

        if (roll(d, 8) == 0)
                return random_tree(d, a, 2, lists);
        if (v->kind == VALUE_LIST && roll(d, 5) == 0) {
                for (size_t i = v->list.count; i-- > 0;)
                        value_list_add(&list, v->list.items[i]);
                return value_list_end(&list, a, 0);
        }
        if (v->kind == VALUE_LIST) {
                for (size_t i = 0; i < v->list.count; i++)
                        if (roll(d, 6))
                                value_list_add(&list, random_edit(d, a, v->list.items[roll(d, 9) ? i : 0], lists));
                return value_list_end(&list, a, 0);
        }
        if (v->kind != VALUE_MAP)
                return v;
        for (size_t i = 0; i < v->map.count; i++)
                if (roll(d, 6))
                        value_map_add(&map, v->map.members[i].key, random_edit(d, a, v->map.members[i].value, lists),
                                      0);
        if (roll(d, 4) == 0)
                value_map_add(&map, STR("added"), random_tree(d, a, 2, lists), 0);
        return value_map_end(&map, a, 0);
}

#endif

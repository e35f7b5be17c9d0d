/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of type set and map: items and keys once. */
#include "sandbox/validate_schema.h"

static const struct value *key_of(struct check *c, const struct value *item, const struct value *keys) {
        const struct value *key = &value_empty_map;

        for (EACH(i, keys)) {
                struct str name = value_text(item_of(keys, i));

                if (value_get(item, name))
                        key = value_with(c->a, key, name, value_get(item, name));
        }
        return key;
}

static void check_items_once(struct check *c, const struct at *at, const struct value *list, const struct value *keys) {
        for (EACH(i, list)) {
                const struct value *mine = keys ? key_of(c, item_of(list, i), keys) : item_of(list, i);
                size_t seen = 0;

                for (size_t j = 0; j < i; j++)
                        seen += value_equal(mine, keys ? key_of(c, item_of(list, j), keys) : item_of(list, j));
                if (seen == 1)
                        fault_duplicate(c, AT_INDEX(at, i), mine);
        }
}

/* Items of a list with keys are maps; the first that is none ends the search. */
static bool check_items_are_maps(struct check *c, const struct at *at, const struct value *list) {
        for (EACH(i, list)) {
                const struct value *item = item_of(list, i);

                if (value_is(item, VALUE_MAP) || value_is(item, VALUE_NULL))
                        continue;
                fault_invalid(c, AT_INDEX(at, i), item, "must be an object for an array of list-type map");
                return false;
        }
        return true;
}

void check_lists(struct check *c, const struct at *at, const struct value *schema, const struct value *v) {
        const struct value *items = get(schema, "items"), *rest = get(schema, "additionalProperties");
        struct str type = text_of(schema, "x-kubernetes-list-type");

        if (value_is(v, VALUE_LIST)) {
                if (str_eqc(type, "set") || (str_eqc(type, "map") && check_items_are_maps(c, at, v)))
                        check_items_once(c, at, v,
                                         str_eqc(type, "map") ? get(schema, "x-kubernetes-list-map-keys") : NULL);
                for (EACH(i, v))
                        if (items)
                                check_lists(c, AT_INDEX(at, i), items, item_of(v, i));
        }
        for (EACH_MEMBER(m, v)) {
                const struct value *sub = value_get(get(schema, "properties"), m->key);

                if (sub)
                        check_lists(c, AT_STR(at, m->key), sub, m->value);
                else if (value_is(rest, VALUE_MAP))
                        check_lists(c, AT_KEY(at, m->key), rest, m->value);
        }
}

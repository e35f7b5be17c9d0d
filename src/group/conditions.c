/* SPDX-License-Identifier: Apache-2.0 */
#include "group/conditions.h"

#include "base/when.h"

#define WHEN_MAX_BYTES 32

static struct str type_of(const struct value *condition) {
        return value_text(value_getc(condition, "type"));
}

static bool is_on(const struct value *condition) {
        return str_eqc(value_text(value_getc(condition, "status")), "True");
}

const struct value *conditions_find(const struct value *conditions, struct str type) {
        for (size_t i = 0; value_is(conditions, VALUE_LIST) && i < conditions->list.count; i++)
                if (str_eq(type_of(conditions->list.items[i]), type))
                        return conditions->list.items[i];
        return NULL;
}

bool conditions_on(const struct value *conditions, struct str type) {
        return is_on(conditions_find(conditions, type));
}

/* --- one condition ---------------------------------------------------------------------------------------------- */

static struct str clipped(struct str message) {
        size_t n = CONDITION_MESSAGE_MAX_BYTES;

        if (message.n <= n)
                return message;
        while (n > 0 && ((unsigned char)message.p[n] & 0xc0) == 0x80)
                n--;
        return str_sub(message, 0, n);
}

/* Status Unknown is neither: it flips to either. */
static bool keeps_status(const struct value *old, bool on) {
        int64_t ms;

        return str_eqc(value_text(value_getc(old, "status")), on ? "True" : "False") &&
               when_parse(value_text(value_getc(old, "lastTransitionTime")), &ms);
}

static const struct value *moment(int64_t ms, struct arena *a) {
        _cleanup_(buf_done) struct buf text = buf_make(WHEN_MAX_BYTES);

        when_print(ms, &text);
        return value_string(a, buf_str(&text), 0);
}

static const struct value *make(const struct condition *c, const struct value *old, int64_t generation, int64_t now_ms,
                                struct arena *a) {
        const struct value *since =
                keeps_status(old, c->on) ? value_getc(old, "lastTransitionTime") : moment(now_ms, a);
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("type"), value_string(a, c->type, 0), 0);
        value_map_add(&b, STR("status"), value_stringc(a, c->on ? "True" : "False"), 0);
        value_map_add(&b, STR("reason"), value_string(a, c->reason, 0), 0);
        value_map_add(&b, STR("message"), value_string(a, clipped(c->message), 0), 0);
        value_map_add(&b, STR("lastTransitionTime"), since, 0);
        value_map_add(&b, STR("observedGeneration"), value_int(a, generation, 0), 0);
        return value_map_end(&b, a, 0);
}

/* --- the list --------------------------------------------------------------------------------------------------- */

static const struct condition *wanted(const struct condition *set, size_t count, struct str type) {
        for (size_t i = count; i > 0; i--)
                if (str_eq(set[i - 1].type, type))
                        return &set[i - 1];
        return NULL;
}

/* Lists are short; equal types, which only a broken list has, keep their order. */
static void sort_by_type(const struct value **items, size_t count) {
        for (size_t i = 1; i < count; i++)
                for (size_t k = i; k > 0 && str_cmp(type_of(items[k - 1]), type_of(items[k])) > 0; k--) {
                        const struct value *moved = items[k];

                        items[k] = items[k - 1];
                        items[k - 1] = moved;
                }
}

/* Appends what is not in `set`; true: that is all of `before`, and what is in both is equal. */
static bool add_kept(struct value_list_builder *b, const struct value *before, const struct condition *set,
                     size_t count, const struct value *made) {
        bool same = value_is(before, VALUE_LIST);

        for (size_t i = 0; value_is(before, VALUE_LIST) && i < before->list.count; i++) {
                const struct value *old = before->list.items[i];

                if (!wanted(set, count, type_of(old)))
                        value_list_add(b, old);
                else
                        same = same && value_equal(old, conditions_find(made, type_of(old)));
        }
        return same;
}

static const struct value *make_all(const struct value *before, const struct condition *set, size_t count,
                                    int64_t generation, int64_t now_ms, struct arena *a) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < count; i++)
                if (wanted(set, count, set[i].type) == &set[i])
                        value_list_add(&b, make(&set[i], conditions_find(before, set[i].type), generation, now_ms, a));
        return value_list_end(&b, a, 0);
}

const struct value *conditions_set(const struct value *before, const struct condition *set, size_t count,
                                   int64_t generation, int64_t now_ms, struct arena *a) {
        const struct value *made = make_all(before, set, count, generation, now_ms, a);
        struct value_list_builder b = { 0 };
        bool same = add_kept(&b, before, set, count, made);

        for (size_t i = 0; i < made->list.count; i++)
                value_list_add(&b, made->list.items[i]);
        if (same && b.count == before->list.count) {
                value_list_drop(&b);
                return before;
        }
        sort_by_type(b.items, b.count);
        return value_list_end(&b, a, 0);
}

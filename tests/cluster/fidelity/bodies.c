/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"

#include <string.h>

unsigned random_below(struct random *r, unsigned bound) {
        uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (unsigned)((z ^ (z >> 31)) % bound);
}

bool random_chance(struct random *r, unsigned percent) {
        return random_below(r, 100) < percent;
}

static const struct value *pick(struct random *r, const struct value *list) {
        return list->list.items[random_below(r, (unsigned)list->list.count)];
}

/* "key=value" in a place. */
static bool split_item_key(struct str token, struct str *ret_key, struct str *ret_value) {
        ptrdiff_t at = str_find(token, '=', 0);

        if (at <= 0)
                return false;
        *ret_key = str_sub(token, 0, (size_t)at);
        *ret_value = str_sub(token, (size_t)at + 1, token.n);
        return true;
}

static const struct value *scalar_of(struct arena *a, struct str text) {
        int64_t number;

        return str_to_i64(text, &number) ? value_int(a, number, 0) : value_string(a, text, 0);
}

static bool is_list_token(struct str token) {
        struct str key, value;

        return str_eqc(token, "-") || split_item_key(token, &key, &value);
}

/* The index the token means in the list; the count when it is not there. */
static size_t index_of(struct arena *a, const struct value *list, struct str token) {
        struct str key, value;
        size_t i, n = value_count(list);

        if (!split_item_key(token, &key, &value))
                return n;
        for (i = 0; i < n; i++)
                if (value_equal(value_get(list->list.items[i], key), scalar_of(a, value)))
                        break;
        return i;
}

static const struct value *list_with(struct arena *a, const struct value *list, size_t index,
                                     const struct value *item) {
        struct value_list_builder b = { 0 };
        size_t n = value_is(list, VALUE_LIST) ? list->list.count : 0;

        for (size_t i = 0; i < n; i++)
                if (i != index)
                        value_list_add(&b, list->list.items[i]);
                else if (item)
                        value_list_add(&b, item);
        if (index >= n && item)
                value_list_add(&b, item);
        return value_list_end(&b, a, 0);
}

static const struct value *set_at(struct arena *a, const struct value *v, const struct part *p, size_t depth,
                                  const struct value *set);

static const struct value *set_in_list(struct arena *a, const struct value *v, const struct part *p, size_t depth,
                                       const struct value *set) {
        const struct value *list = value_is(v, VALUE_LIST) ? v : &value_empty_list;
        size_t index = index_of(a, list, p->tokens[depth]);
        const struct value *item = index < list->list.count ? list->list.items[index] : NULL;
        struct str key, text;

        if (!item && split_item_key(p->tokens[depth], &key, &text))
                item = value_with(a, &value_empty_map, key, scalar_of(a, text));
        return list_with(a, list, index, set_at(a, item, p, depth + 1, set));
}

static const struct value *set_at(struct arena *a, const struct value *v, const struct part *p, size_t depth,
                                  const struct value *set) {
        struct str token;

        if (depth == p->token_count)
                return set;
        token = p->tokens[depth];
        if (is_list_token(token))
                return set_in_list(a, v, p, depth, set);
        if (!value_is(v, VALUE_MAP))
                v = &value_empty_map;
        return value_with(a, v, token, set_at(a, value_get(v, token), p, depth + 1, set));
}

static const struct value *change(const struct part *parts, size_t part_count, struct random *r, struct arena *a,
                                  const struct value *body, unsigned count) {
        while (part_count && count--) {
                const struct part *p = &parts[random_below(r, (unsigned)part_count)];

                body = set_at(a, body, p, 0, pick(r, p->values));
        }
        return body;
}

const struct value *body_change(const struct kind *k, struct random *r, struct arena *a, const struct value *body,
                                unsigned count) {
        return change(k->parts, k->part_count, r, a, body, count);
}

const struct value *body_change_status(const struct kind *k, struct random *r, struct arena *a,
                                       const struct value *body) {
        return change(k->status_parts, k->status_part_count, r, a, body, 1 + random_below(r, 2));
}

static const struct value *named(const struct kind *k, struct arena *a, struct str name, bool base) {
        const struct value *body = base && k->base ? value_dup(a, k->base) : &value_empty_map;

        body = value_with(a, body, STR("apiVersion"), value_string(a, k->api_version, 0));
        body = value_with(a, body, STR("kind"), value_string(a, k->name, 0));
        return value_with_path(a, body, (const struct str[]){ STR("metadata"), STR("name") }, 2,
                               value_string(a, name, 0));
}

const struct value *body_new(const struct kind *k, struct random *r, struct arena *a, struct str name, bool base) {
        return body_change(k, r, a, named(k, a, name, base), random_below(r, 5));
}

const struct value *body_plain(const struct kind *k, struct random *r, struct arena *a, struct str name) {
        return change(k->parts, k->common_count, r, a, named(k, a, name, true), 1);
}

/* --- faults --- */

static size_t count_nodes(const struct value *v) {
        size_t n = 1;

        for (size_t i = 0; v->kind == VALUE_MAP && i < v->map.count; i++)
                n += count_nodes(v->map.members[i].value);
        for (size_t i = 0; v->kind == VALUE_LIST && i < v->list.count; i++)
                n += count_nodes(v->list.items[i]);
        return n;
}

typedef const struct value *(*spoil_fn)(struct random *r, struct arena *a, const struct value *v);

static const struct value *add_unknown(struct random *r, struct arena *a, const struct value *v) {
        static const char *const names[] = { "unknown", "Name", "$patch", "" };

        return value_is(v, VALUE_MAP) ? value_with(a, v, str_from(names[random_below(r, 4)]), value_stringc(a, "x"))
                                      : value_stringc(a, "Bad Value_");
}

static const struct value *retype(struct random *r, struct arena *a, const struct value *v) {
        switch (random_below(r, 7)) {
        case 0: return value_int(a, 7, 0);
        case 1: return value_stringc(a, "7");
        case 2: return &value_true;
        case 3: return &value_empty_map;
        case 4: return &value_empty_list;
        case 5: return value_number(a, STR("1.5"), 0);
        default: return value_with(a, NULL, STR("wrapped"), v);
        }
}

static const struct value *nullify(struct random *r, struct arena *a, const struct value *v) {
        (void)r, (void)a, (void)v;
        return &value_null;
}

static const struct value *stretch(struct random *r, struct arena *a, const struct value *v) {
        static const char *const texts[] = { "", "UPPER", "with space", "-dash", "a.b/c" };
        static const char *const numbers[] = { "-1", "0", "99999999999", "1e3", "2147483648" };

        if (v->kind == VALUE_STRING)
                return value_stringc(a, texts[random_below(r, 5)]);
        return v->kind == VALUE_INT ? value_number(a, str_from(numbers[random_below(r, 5)]), 0) : retype(r, a, v);
}

static const struct value *rearrange(struct random *r, struct arena *a, const struct value *v) {
        struct value_list_builder b = { 0 };

        if (v->kind == VALUE_MAP && v->map.count)
                return value_with(a, v, v->map.members[random_below(r, (unsigned)v->map.count)].key, NULL);
        if (v->kind != VALUE_LIST || !v->list.count)
                return v;
        for (size_t i = v->list.count; i-- > 0;)
                value_list_add(&b, v->list.items[i]);
        if (random_chance(r, 50))
                value_list_add(&b, v->list.items[0]);
        return value_list_end(&b, a, 0);
}

static const struct value *spoil_at(struct random *r, struct arena *a, const struct value *v, size_t *at, spoil_fn fn) {
        if ((*at)-- == 0)
                return fn(r, a, v);
        if (v->kind == VALUE_MAP) {
                struct value_map_builder b = { 0 };

                for (size_t i = 0; i < v->map.count; i++)
                        value_map_add(&b, v->map.members[i].key, spoil_at(r, a, v->map.members[i].value, at, fn), 0);
                return value_map_end(&b, a, 0);
        }
        if (v->kind == VALUE_LIST) {
                struct value_list_builder b = { 0 };

                for (size_t i = 0; i < v->list.count; i++)
                        value_list_add(&b, spoil_at(r, a, v->list.items[i], at, fn));
                return value_list_end(&b, a, 0);
        }
        return v;
}

const struct value *body_fault(struct random *r, struct arena *a, const struct value *body) {
        static const spoil_fn faults[] = { add_unknown, retype, nullify, stretch, rearrange };
        size_t at = random_below(r, (unsigned)count_nodes(body));

        return spoil_at(r, a, body, &at, faults[random_below(r, sizeof faults / sizeof *faults)]);
}

const struct value *body_drop(struct random *r, struct arena *a, const struct value *body) {
        for (int tries = 0; tries < 8; tries++) {
                size_t at = 1 + random_below(r, (unsigned)count_nodes(body));
                const struct value *less = spoil_at(r, a, body, &at, rearrange);

                if (value_getc(less, "kind") && value_getc(less, "apiVersion") &&
                    value_path(less, "metadata", "name", NULL))
                        return less;
        }
        return body;
}

struct str body_double_key(struct random *r, struct arena *a, struct str text) {
        size_t start = random_below(r, (unsigned)text.n);
        ptrdiff_t at = str_find(text, '{', start), end;

        if (at < 0)
                at = 0;
        end = str_find(text, '"', (size_t)at + 2);
        if (end < 0 || text.p[at + 1] != '"')
                return text;
        return arena_strf(a, "%.*s%.*s:null,%.*s", STR_FMT(str_sub(text, 0, (size_t)at + 1)),
                          STR_FMT(str_sub(text, (size_t)at + 1, (size_t)end + 1)),
                          STR_FMT(str_sub(text, (size_t)at + 1, text.n)));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists under a strategic merge patch: merging by key, unions, and the order of what comes out: patch items in the
 * patch's order, the others in the live one's, woven so that an item which stood before another still does.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "sandbox/decode_impl.h"
#include "sandbox/patch_impl.h"

/* --- Go's words --- */

const char *patch_go_type(const struct value *v) {
        switch (v->kind) {
        case VALUE_NULL:
                return "%!s(<nil>)";
        case VALUE_BOOL:
                return "bool";
        case VALUE_INT:
                return "int64";
        case VALUE_UINT:
        case VALUE_DECIMAL:
                return "float64";
        case VALUE_STRING:
                return "string";
        case VALUE_LIST:
                return "[]interface {}";
        default:
                return "map[string]interface {}";
        }
}

static void print_go(const struct value *v, struct buf *out, struct arena *a) {
        switch (v->kind) {
        case VALUE_NULL:
                buf_addc(out, "<nil>");
                break;
        case VALUE_STRING:
                buf_add(out, v->text);
                break;
        case VALUE_LIST:
                buf_addch(out, '[');
                for (size_t i = 0; i < v->list.count; i++) {
                        buf_addc(out, i ? " " : "");
                        print_go(v->list.items[i], out, a);
                }
                buf_addch(out, ']');
                break;
        case VALUE_MAP:
                buf_addc(out, "map[");
                for (size_t i = 0; i < v->map.count; i++) {
                        buf_addf(out, "%s%.*s:", i ? " " : "", STR_FMT(v->map.members[i].key));
                        print_go(v->map.members[i].value, out, a);
                }
                buf_addch(out, ']');
                break;
        case VALUE_UINT:
        case VALUE_DECIMAL:
                buf_add(out, decode_float_g(value_canonical(a, v), a));
                break;
        default:
                value_print(v, out);
        }
}

struct str patch_go_text(const struct value *v, struct arena *a) {
        _cleanup_(buf_done) struct buf text = buf_make(KUBE_MAX_OBJECT_BYTES * 2);

        print_go(v, &text, a);
        return arena_str(a, buf_str(&text));
}

static int no_merge_key(const struct patch_run *r, const struct value *map, struct str key) {
        return err_set(r->err, ERR_INTERNAL, "map: %.*s does not contain declared merge key: %.*s",
                       STR_FMT(patch_go_text(map, r->a)), STR_FMT(key));
}

static int no_map(const struct patch_run *r, const struct value *v) {
        return err_set(r->err, ERR_INTERNAL, "expected a map[string]interface {}, but received a %s", patch_go_type(v));
}

/* --- items --- */

static bool is_equal(const struct value *a, const struct value *b) {
        return a && b && a->kind == b->kind && value_equal(a, b);
}

bool patch_list_has(const struct value *list, const struct value *item) {
        for (size_t i = 0; i < value_count(list); i++)
                if (is_equal(list->list.items[i], item))
                        return true;
        return false;
}

/* Where the item stands in the list: by key, or (empty) by itself; -1: nowhere. */
static ptrdiff_t index_of(const struct value *list, const struct value *item, struct str key) {
        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *other = list->list.items[i];

                if (key.n ? is_equal(value_get(other, key), value_get(item, key)) : is_equal(other, item))
                        return (ptrdiff_t)i;
        }
        return -1;
}

/* A directive marks the item: it says what to do with others, and is none itself. */
static bool is_directive(const struct value *item) {
        return value_getc(item, "$patch") != NULL;
}

/* --- order --- */

static int check_pair(const struct patch_run *r, const struct value *a, const struct value *b, struct str key) {
        const struct value *both[] = { a, b };

        for (size_t i = 0; i < ARRAY_LEN(both); i++) {
                if (key.n && both[i]->kind != VALUE_MAP)
                        return no_map(r, both[i]);
                if (key.n && !value_get(both[i], key))
                        return no_merge_key(r, both[i], key);
        }
        return 0;
}

int patch_check_order(const struct patch_run *r, const struct value *given, const struct value *order, struct str key) {
        size_t at = 0, in_order = 0, count = value_count(given);

        if (count == 0 || order->list.count == 0)
                return 0;
        while (at < count && in_order < order->list.count) {
                const struct value *item = given->list.items[at], *next = order->list.items[in_order];

                if (is_directive(item)) {
                        at++;
                        continue;
                }
                if (check_pair(r, item, next, key) < 0)
                        return ERR_INTERNAL;
                bool same = key.n ? is_equal(value_get(item, key), value_get(next, key)) : is_equal(item, next);

                at += same;
                in_order++;
        }
        while (at < count && is_directive(given->list.items[at]))
                at++;
        if (at == count)
                return 0;
        return err_set(r->err, ERR_INTERNAL,
                       "The order in patch list:\n%.*s\n doesn't match $setElementOrder list:\n%.*s\n",
                       STR_FMT(patch_go_text(given, r->a)), STR_FMT(patch_go_text(order, r->a)));
}

/* The items of `list` that are (or are not) in `in`, sorted by where they stand in `by`. */
static const struct value *part_of(const struct patch_run *r, const struct value *list, const struct value *in,
                                   bool wanted, const struct value *by, struct str key) {
        const struct value **items = arena_alloc(r->a, value_count(list) * sizeof *items);
        struct value *part = arena_zalloc(r->a, sizeof *part);
        size_t n = 0;

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *item = list->list.items[i];
                ptrdiff_t rank = index_of(by, item, key);
                size_t at = n;

                if ((index_of(in, item, key) >= 0) != wanted)
                        continue;
                for (; at > 0 && rank >= 0 && index_of(by, items[at - 1], key) > rank; at--)
                        items[at] = items[at - 1];
                items[at] = item;
                n++;
        }
        *part = (struct value){ .kind = VALUE_LIST, .list = { items, n } };
        return part;
}

/* Is `l`, which only the server has, to stand before `p`, which the patch has? */
static bool stood_before(const struct value *live, const struct value *l, const struct value *p, struct str key) {
        ptrdiff_t at_l = index_of(live, l, key), at_p = index_of(live, p, key);

        return at_l >= 0 && at_p >= 0 && at_l < at_p;
}

int patch_sort_list(const struct patch_run *r, struct str key, const struct value *merged, const struct value *order,
                    const struct value *live, const struct value **ret) {
        struct value_list_builder b = { 0 };
        size_t i = 0, j = 0;

        for (size_t k = 0; k < value_count(merged) && key.n; k++) {
                const struct value *item = merged->list.items[k];

                if (item->kind != VALUE_MAP)
                        return no_map(r, item);
                if (!value_get(item, key))
                        return no_merge_key(r, item, key);
        }
        const struct value *mine = part_of(r, merged, order, true, order, key);
        const struct value *theirs = part_of(r, merged, order, false, live, key);

        while (i < theirs->list.count || j < mine->list.count) {
                bool has_both = i < theirs->list.count && j < mine->list.count;
                bool take_theirs = has_both ? stood_before(live, theirs->list.items[i], mine->list.items[j], key)
                                            : i < theirs->list.count;

                value_list_add(&b, take_theirs ? theirs->list.items[i++] : mine->list.items[j++]);
        }
        *ret = value_list_end(&b, r->a, merged->line);
        return 0;
}

/* --- merging --- */

/* All items of both lists have one type, and that is no list. */
static int check_items(const struct patch_run *r, const struct value *live, const struct value *given) {
        const struct value *lists[] = { live, given }, *first = NULL;

        for (size_t l = 0; l < ARRAY_LEN(lists); l++)
                for (size_t i = 0; i < value_count(lists[l]); i++) {
                        const struct value *item = lists[l]->list.items[i];

                        if (!first && item->kind == VALUE_LIST)
                                return err_set(r->err, ERR_INVAL, "lists of lists are not supported");
                        first = first ? first : item;
                        if (strcmp(patch_go_type(first), patch_go_type(item)) == 0)
                                continue;
                        return err_set(r->err, ERR_INTERNAL, "list element types are not identical: [%.*s %.*s]",
                                       STR_FMT(patch_go_text(live, r->a)), STR_FMT(patch_go_text(given, r->a)));
                }
        return 0;
}

static const struct value *union_of(const struct patch_run *r, const struct value *live, const struct value *given) {
        const struct value *lists[] = { live, given };
        const struct value *all = &value_empty_list;

        for (size_t l = 0; l < ARRAY_LEN(lists); l++)
                for (size_t i = 0; i < lists[l]->list.count; i++) {
                        const struct value *item = lists[l]->list.items[i];

                        if (!patch_list_has(all, item))
                                all = patch_list_with(r->a, all, all->list.count, item);
                }
        return all;
}

/* Follows the items that are directives; *live and *given are what is left to merge. */
static int follow_items(const struct patch_run *r, struct str key, const struct value **live,
                        const struct value **given) {
        const struct value *rest = &value_empty_list;
        bool replaces = false;

        for (size_t i = 0; i < (*given)->list.count; i++) {
                const struct value *item = (*given)->list.items[i], *directive = value_getc(item, "$patch");
                ptrdiff_t at;

                if (!directive) {
                        rest = patch_list_with(r->a, rest, rest->list.count, item);
                } else if (str_eqc(value_text(directive), "delete")) {
                        if (!value_get(item, key))
                                return no_merge_key(r, item, key);
                        while ((at = index_of(*live, item, key)) >= 0)
                                *live = patch_list_with(r->a, *live, (size_t)at, NULL);
                } else if (str_eqc(value_text(directive), "replace")) {
                        replaces = true;
                } else if (str_eqc(value_text(directive), "merge")) {
                        return err_set(r->err, ERR_INTERNAL, "merging lists cannot yet be specified in the patch");
                } else {
                        return err_set(r->err, ERR_INTERNAL, "unknown patch type: %.*s in map: %.*s",
                                       STR_FMT(patch_go_text(directive, r->a)), STR_FMT(patch_go_text(item, r->a)));
                }
        }
        if (replaces) {
                *live = rest;
                rest = &value_empty_list;
        }
        *given = rest;
        return 0;
}

static int merge_by_key(const struct patch_run *r, const struct type *item, struct str key, const struct value *live,
                        const struct value *given, const struct value **ret) {
        const struct value *merged = live;

        for (size_t i = 0; i < given->list.count; i++) {
                const struct value *one = given->list.items[i], *now = one;
                ptrdiff_t at = index_of(merged, one, key);

                if (!value_get(one, key))
                        return no_merge_key(r, one, key);
                if (at >= 0) {
                        int res = patch_merge_map(r, item, merged->list.items[at], one, &now);

                        if (res < 0)
                                return res;
                }
                merged = patch_list_with(r->a, merged, at < 0 ? merged->list.count : (size_t)at, now);
        }
        *ret = merged;
        return 0;
}

int patch_merge_list(const struct patch_run *r, const struct type *item, struct str key, const struct value *live,
                     const struct value *given, const struct value **ret) {
        const struct value *merged = live;
        int res = check_items(r, live, given);

        if (res < 0)
                return res;
        if (live->list.count + given->list.count == 0) {
                *ret = live;
                return 0;
        }
        const struct value *first = live->list.count ? live->list.items[0] : given->list.items[0];

        if (first->kind != VALUE_MAP) {
                merged = union_of(r, live, given);
        } else if (key.n == 0) {
                return err_set(r->err, ERR_INTERNAL, "cannot merge lists without merge key for struct");
        } else {
                res = follow_items(r, key, &live, &given);
                if (res == 0)
                        res = merge_by_key(r, item, key, live, given, &merged);
        }
        return res < 0 ? res : patch_sort_list(r, key, merged, given, live, ret);
}

int patch_delete_from_list(const struct patch_run *r, const struct value *live, const struct value *gone,
                           const struct value **ret) {
        struct value_list_builder b = { 0 };
        int res = check_items(r, live, gone);

        if (res < 0)
                return res;
        for (size_t i = 0; i < live->list.count; i++)
                if (!patch_list_has(gone, live->list.items[i]))
                        value_list_add(&b, live->list.items[i]);
        *ret = value_list_end(&b, r->a, live->line);
        return 0;
}

const struct value *patch_list_with(struct arena *a, const struct value *list, size_t at, const struct value *item) {
        size_t count = list->list.count, n = 0;
        const struct value **items = arena_alloc(a, (count + 1) * sizeof *items);
        struct value *out = arena_zalloc(a, sizeof *out);

        for (size_t i = 0; i < count; i++)
                if (i != at)
                        items[n++] = list->list.items[i];
                else if (item)
                        items[n++] = item;
        if (at == count && item)
                items[n++] = item;
        *out = (struct value){ .kind = VALUE_LIST, .line = list->line, .list = { items, n } };
        return out;
}

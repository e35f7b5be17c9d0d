/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategic merge patch: a merge patch that knows the types. Lists with a merge key are merged item by item, lists of
 * scalars with the strategy merge are unions, and directives inside the patch say more:
 *
 *      $patch: replace | delete                in a map, or in an item of a list
 *      $retainKeys: [a, b]                     what the map may keep
 *      $setElementOrder/LIST: [...]            the order of a list's items
 *      $deleteFromPrimitiveList/LIST: [...]    what to take out of a list of scalars
 *
 * Source: apimachinery's strategicpatch, whose error texts these are. Go walks the patch in random order; here it is
 * the keys' order, which shows only when a patch has more than one error.
 */
#include <string.h>

#include "sandbox/patch_impl.h"

#define DIRECTIVE       "$patch"
#define RETAIN_KEYS     "$retainKeys"
#define DELETE_PREFIX   "$deleteFromPrimitiveList"
#define ORDER_PREFIX    "$setElementOrder"
#define BAD_DELETE_LIST "invalid patch format of primitive list"
#define BAD_RETAIN_KEYS "invalid patch format of retainKeys"
#define BAD_ORDER_LIST  "invalid patch format of setElementOrder list"

/* A list field: how its items merge. */
struct list_how {
        const struct type *item;
        struct str key; /* empty: scalars */
        bool merges;
};

/* --- the patch's own parts --- */

/* What stays of a value that is new, without directives; NULL: nothing. */
static const struct value *without_directives(const struct value *v, struct arena *a) {
        if (v->kind == VALUE_LIST) {
                struct value_list_builder b = { 0 };

                for (size_t i = 0; i < v->list.count; i++) {
                        const struct value *item = without_directives(v->list.items[i], a);

                        if (item)
                                value_list_add(&b, item);
                }
                return value_list_end(&b, a, v->line);
        }
        if (v->kind != VALUE_MAP)
                return v;
        if (value_getc(v, DIRECTIVE))
                return NULL;
        for (size_t i = 0; i < v->map.count; i++) {
                const struct value *old = v->map.members[i].value, *now = without_directives(old, a);

                if (now == old)
                        continue;
                v = value_with(a, v, v->map.members[i].key, now);
                i -= now == NULL;
        }
        return v;
}

static bool has_prefix(struct str key, const char *prefix) {
        return str_starts(key, str_from(prefix));
}

/* "$setElementOrder/containers" → "containers". */
static int field_of(struct str key, const char *prefix, const char *failure, struct str *ret, struct err *err) {
        size_t n = strlen(prefix);

        if (key.n <= n || key.p[n] != '/')
                return err_set(err, ERR_PARSE, "%s", failure);
        *ret = str_sub(key, n + 1, key.n);
        return 0;
}

/* --- types --- */

/* Go's reflection, asked for a field of what is no struct. */
static const char *go_form(const struct type *t) {
        if (!t)
                return "interface";
        return t->kind == TYPE_MAP ? "map" : t->kind == TYPE_LIST ? "slice" : "string";
}

static int find_field(const struct patch_run *r, const struct type *t, struct str key, const struct type **ret) {
        const struct type_field *f = type_field(t, key);

        if (!f && t && t->kind == TYPE_STRUCT)
                return err_set(r->err, ERR_INTERNAL,
                               "unable to find api field in struct %.*s for the json field \"%.*s\"",
                               STR_FMT(str_sub(t->go_name, (size_t)(str_find(t->go_name, '.', 0) + 1), t->go_name.n)),
                               STR_FMT(key));
        if (!f && t && t->kind == TYPE_ANY)
                return err_set(r->err, ERR_INTERNAL,
                               "unable to find api field in struct RawExtension for the json field \"%.*s\"",
                               STR_FMT(key));
        if (!f)
                return err_set(r->err, ERR_INTERNAL,
                               "merging an object in json but data type is not struct, instead is: %s", go_form(t));
        *ret = f->type;
        return 0;
}

static int find_list(const struct patch_run *r, const struct type *t, struct str key, struct list_how *ret) {
        const struct type *list = NULL;
        int res = find_field(r, t, key, &list);

        if (res < 0)
                return res;
        if (list->kind != TYPE_LIST)
                return err_set(r->err, ERR_INTERNAL, "expected slice or array type, but got: struct");
        *ret = (struct list_how){ list->item, list->patch_merge_key, (list->patch & TYPE_PATCH_MERGE) != 0 };
        return 0;
}

/* --- maps --- */

static int retain_keys(const struct patch_run *r, const struct value **doc, const struct value **patch) {
        const struct value *keep = value_getc(*patch, RETAIN_KEYS);

        if (!keep)
                return 0;
        *patch = value_with(r->a, *patch, STR(RETAIN_KEYS), NULL);
        if (keep->kind != VALUE_LIST)
                return err_set(r->err, ERR_PARSE, BAD_RETAIN_KEYS);
        for (size_t i = 0; i < (*patch)->map.count; i++) {
                const struct value_member *m = &(*patch)->map.members[i];

                if (m->value->kind == VALUE_NULL || has_prefix(m->key, DELETE_PREFIX) ||
                    has_prefix(m->key, ORDER_PREFIX))
                        continue;
                if (!patch_list_has(keep, value_string(r->a, m->key, 0)))
                        return err_set(r->err, ERR_PARSE, BAD_RETAIN_KEYS);
        }
        for (size_t i = 0; i < value_count(*doc);) {
                struct str key = (*doc)->map.members[i].key;

                if (patch_list_has(keep, value_string(r->a, key, 0)))
                        i++;
                else
                        *doc = value_with(r->a, *doc, key, NULL);
        }
        return 0;
}

static int wrong_list(const struct patch_run *r, const struct value *v) {
        return err_set(r->err, ERR_INTERNAL, "expected a []interface {}, but received a %s", patch_go_type(v));
}

/* One $setElementOrder: merges its list now, and sorts it. */
static int set_order(const struct patch_run *r, const struct type *t, struct str key, const struct value *order,
                     const struct value **doc, const struct value **patch) {
        struct list_how how = { 0 };
        struct str name = { 0 };

        if (order->kind != VALUE_LIST)
                return wrong_list(r, order);
        int res = field_of(key, ORDER_PREFIX, BAD_ORDER_LIST, &name, r->err);
        const struct value *live = value_get(*doc, name), *given = value_get(*patch, name), *merged = live;

        if (res < 0)
                return res;
        if (live && live->kind != VALUE_LIST)
                return wrong_list(r, live);
        if (given && given->kind != VALUE_LIST)
                return wrong_list(r, given);
        res = find_list(r, t, name, &how);
        if (res == 0)
                res = patch_check_order(r, given, order, how.key);
        if (res < 0 || (!live && !given))
                return res;
        if (!live)
                merged = without_directives(given, r->a);
        else if (given && how.merges)
                res = patch_merge_list(r, how.item, how.key, live, given, &merged);
        else if (given)
                merged = given;
        if (res == 0)
                res = patch_sort_list(r, how.key, merged, order, live, &merged);
        if (res < 0)
                return res;
        *doc = value_with(r->a, *doc, name, merged);
        *patch = value_with(r->a, *patch, name, NULL);
        return 0;
}

static int set_orders(const struct patch_run *r, const struct type *t, const struct value **doc,
                      const struct value **patch) {
        for (size_t i = 0; i < (*patch)->map.count;) {
                struct value_member m = (*patch)->map.members[i];

                if (!has_prefix(m.key, ORDER_PREFIX)) {
                        i++;
                        continue;
                }
                *patch = value_with(r->a, *patch, m.key, NULL);
                int res = set_order(r, t, m.key, m.value, doc, patch);

                if (res < 0)
                        return res;
                i = 0;
        }
        return 0;
}

/* Both have the member, and it is a map or a list in both. */
static int merge_composite(const struct patch_run *r, const struct type *t, struct str key, const struct value *old,
                           const struct value *given, bool deletes, const struct value **ret) {
        const struct type *field = NULL;
        struct list_how how = { 0 };
        int res;

        if (old->kind == VALUE_MAP) {
                res = find_field(r, t, key, &field);
                if (res < 0 || !(field->patch & TYPE_PATCH_WHOLE))
                        return res < 0 ? res : patch_merge_map(r, field, old, given, ret);
                *ret = given;
                return 0;
        }
        res = find_list(r, t, key, &how);
        if (res < 0)
                return res;
        if (deletes)
                return patch_delete_from_list(r, old, given, ret);
        if (how.merges)
                return patch_merge_list(r, how.item, how.key, old, given, ret);
        *ret = given;
        return 0;
}

static bool are_both(const struct value *a, const struct value *b, enum value_kind kind) {
        return a->kind == kind && b->kind == kind;
}

static int merge_member(const struct patch_run *r, const struct type *t, const struct value_member *m,
                        const struct value **doc) {
        bool deletes = has_prefix(m->key, DELETE_PREFIX);
        const struct value *now = m->value, *old;
        struct str key = m->key;

        if (deletes && field_of(m->key, DELETE_PREFIX, BAD_DELETE_LIST, &key, r->err) < 0)
                return ERR_PARSE;
        old = value_get(*doc, key);
        if (now->kind == VALUE_NULL) {
                *doc = value_with(r->a, *doc, key, NULL);
                return 0;
        }
        if (old && (are_both(old, now, VALUE_MAP) || are_both(old, now, VALUE_LIST))) {
                int res = merge_composite(r, t, key, old, now, deletes, &now);

                if (res < 0)
                        return res;
        } else if (deletes) {
                return 0;
        } else {
                now = without_directives(patch_without_nulls(now, r->a), r->a);
        }
        *doc = value_with(r->a, *doc, key, now);
        return 0;
}

static int follow_directive(const struct patch_run *r, const struct value *directive, const struct value *patch,
                            const struct value **ret) {
        if (str_eqc(value_text(directive), "replace"))
                *ret = value_with(r->a, patch, STR(DIRECTIVE), NULL);
        else if (str_eqc(value_text(directive), "delete"))
                *ret = &value_empty_map;
        else
                return err_set(r->err, ERR_INTERNAL, "unknown patch type: %.*s in map: %.*s",
                               STR_FMT(patch_go_text(directive, r->a)), STR_FMT(patch_go_text(patch, r->a)));
        return 0;
}

int patch_merge_map(const struct patch_run *r, const struct type *t, const struct value *doc, const struct value *patch,
                    const struct value **ret) {
        const struct value *directive = value_getc(patch, DIRECTIVE);
        int res;

        if (directive)
                return follow_directive(r, directive, patch, ret);
        res = retain_keys(r, &doc, &patch);
        if (res == 0)
                res = set_orders(r, t, &doc, &patch);
        for (size_t i = 0; res == 0 && i < patch->map.count; i++)
                res = merge_member(r, t, &patch->map.members[i], &doc);
        if (res == 0)
                *ret = doc;
        return res;
}

int patch_strategic(const struct type *t, const struct value *doc, const struct value *patch, struct arena *a,
                    const struct value **ret_doc, struct err *err) {
        struct patch_run r = { a, err };

        if (t->rules)
                return err_set(err, ERR_PARSE, "strategic merge patch format is not supported");
        if (patch->kind != VALUE_MAP)
                return err_set(err, ERR_PARSE,
                               "json: cannot unmarshal %s into Go value of type map[string]interface {}",
                               patch->kind == VALUE_LIST ? "array" : value_kind_name(patch->kind));
        return patch_merge_map(&r, t, doc, patch, ret_doc);
}

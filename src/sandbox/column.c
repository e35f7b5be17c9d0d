/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path is read while it is walked: each step tries what it stands for, in order, and the first that leads to the end
 * of the path is the result.
 */
#include "sandbox/column.h"

#include <stdlib.h>

#define MAX_DEPTH 128 /* of "..", as deep as an object can be read */

struct walk {
        struct arena *arena;
        unsigned depth;
};

static const struct value *walk(struct walk *w, const struct value *v, struct str path);

static struct str from(struct str s, size_t at) {
        return str_sub(s, at, s.n);
}

/* ---- what a step stands for ---- */

static const struct value *each_child(struct walk *w, const struct value *v, struct str rest) {
        const struct value *found = NULL;

        for (size_t i = 0; !found && value_is(v, VALUE_LIST) && i < v->list.count; i++)
                found = walk(w, v->list.items[i], rest);
        for (size_t i = 0; !found && value_is(v, VALUE_MAP) && i < v->map.count; i++)
                found = walk(w, v->map.members[i].value, rest);
        return found;
}

/* ".." : here, or in anything below. `path` begins with the last dot. */
static const struct value *anywhere(struct walk *w, const struct value *v, struct str path) {
        const struct value *found = walk(w, v, path);

        if (w->depth == MAX_DEPTH)
                return found;
        w->depth++;
        for (size_t i = 0; !found && value_is(v, VALUE_LIST) && i < v->list.count; i++)
                found = anywhere(w, v->list.items[i], path);
        for (size_t i = 0; !found && value_is(v, VALUE_MAP) && i < v->map.count; i++)
                found = anywhere(w, v->map.members[i].value, path);
        w->depth--;
        return found;
}

/* Without the backslashes. */
static struct str plain(struct str s, struct arena *a) {
        char *out = arena_alloc(a, s.n + 1);
        size_t n = 0;

        for (size_t i = 0; i < s.n; i++) {
                i += s.p[i] == '\\' && i + 1 < s.n;
                out[n++] = s.p[i];
        }
        out[n] = '\0';
        return (struct str){ out, n };
}

static const struct value *field(struct walk *w, const struct value *v, struct str name, struct str rest) {
        return value_is(v, VALUE_MAP) ? walk(w, value_get(v, plain(name, w->arena)), rest) : NULL;
}

/* ---- brackets ---- */

/* "from:to:step", each may be missing. */
static const struct value *slice(struct walk *w, const struct value *v, struct str range, struct str rest) {
        int64_t count = value_is(v, VALUE_LIST) ? (int64_t)v->list.count : 0, bounds[3] = { 0, count, 1 };
        const struct value *found = NULL;
        struct str part;

        for (size_t i = 0; i < 3 && str_next(&range, ':', &part); i++) {
                if (part.n && !str_to_i64(str_trim(part), &bounds[i]))
                        return NULL;
                if (i < 2 && bounds[i] < 0)
                        bounds[i] += count;
        }
        if (bounds[0] < 0 || bounds[2] < 1)
                return NULL;
        for (int64_t i = bounds[0]; !found && i < bounds[1] && i < count; i += bounds[2]) {
                found = walk(w, v->list.items[i], rest);
                if (bounds[2] > count)
                        break;
        }
        return found;
}

static const struct value *one_of_union(struct walk *w, const struct value *v, struct str choice, struct str rest) {
        int64_t i = 0;

        if (choice.n > 1 && (choice.p[0] == '\'' || choice.p[0] == '"'))
                return field(w, v, str_sub(choice, 1, choice.n - 1), rest);
        if (str_find(choice, ':', 0) >= 0)
                return slice(w, v, choice, rest);
        if (!value_is(v, VALUE_LIST) || !str_to_i64(choice, &i))
                return NULL;
        i += i < 0 ? (int64_t)v->list.count : 0;
        return i >= 0 && i < (int64_t)v->list.count ? walk(w, v->list.items[i], rest) : NULL;
}

/* Up to the next comma outside quotes. */
static bool next_choice(struct str *rest, struct str *ret) {
        char quote = 0;
        size_t i = 0;

        if (rest->n == 0)
                return false;
        for (; i < rest->n && (quote || rest->p[i] != ','); i++) {
                if (quote ? rest->p[i] == quote : rest->p[i] == '\'' || rest->p[i] == '"')
                        quote = quote ? 0 : rest->p[i];
        }
        *ret = str_trim(str_sub(*rest, 0, i));
        *rest = from(*rest, i + 1);
        return true;
}

/* ---- filters ---- */

enum relation { REL_NONE, REL_EQ, REL_NE, REL_LE, REL_GE, REL_LT, REL_GT };

static enum relation relation_at(struct str s, size_t *ret_bytes) {
        static const struct {
                struct str text;
                enum relation relation;
        } all[] = {
                { { "==", 2 }, REL_EQ }, { { "!=", 2 }, REL_NE }, { { "<=", 2 }, REL_LE },
                { { ">=", 2 }, REL_GE }, { { "<", 1 }, REL_LT },  { { ">", 1 }, REL_GT },
        };

        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
                if (str_starts(s, all[i].text)) {
                        *ret_bytes = all[i].text.n;
                        return all[i].relation;
                }
        }
        return REL_NONE;
}

/* "@.path", a quoted text, a number, true or false; NULL: none of these. */
static const struct value *operand(struct walk *w, const struct value *v, struct str text) {
        int64_t n;

        if (str_starts(text, STR("@")))
                return walk(w, v, from(text, 1));
        if (text.n > 1 && (text.p[0] == '\'' || text.p[0] == '"') && text.p[text.n - 1] == text.p[0])
                return value_string(w->arena, str_sub(text, 1, text.n - 1), 0);
        if (str_eqc(text, "true") || str_eqc(text, "false"))
                return value_bool(w->arena, str_eqc(text, "true"), 0);
        return str_to_i64(text, &n) ? value_int(w->arena, n, 0) : NULL;
}

/* -1, 0 or 1; false when the two cannot be compared. */
static bool compare(const struct value *a, const struct value *b, int *ret) {
        if (!a || !b || a->kind != b->kind)
                return false;
        if (a->kind == VALUE_STRING)
                *ret = str_cmp(a->text, b->text);
        else if (a->kind == VALUE_INT)
                *ret = a->i64 < b->i64 ? -1 : a->i64 > b->i64;
        else if (a->kind == VALUE_BOOL)
                *ret = a->boolean - b->boolean;
        else
                return false;
        return true;
}

static bool holds(enum relation relation, int order) {
        switch (relation) {
        case REL_EQ:
                return order == 0;
        case REL_NE:
                return order != 0;
        case REL_LE:
                return order <= 0;
        case REL_GE:
                return order >= 0;
        case REL_LT:
                return order < 0;
        case REL_GT:
                return order > 0;
        default:
                return false;
        }
}

static bool passes(struct walk *w, const struct value *v, struct str filter) {
        enum relation relation = REL_NONE;
        size_t at = 0, bytes = 0;
        char quote = 0;
        int order;

        for (; at < filter.n; at++) {
                if (!quote && (relation = relation_at(from(filter, at), &bytes)) != REL_NONE)
                        break;
                if (quote ? filter.p[at] == quote : filter.p[at] == '\'' || filter.p[at] == '"')
                        quote = quote ? 0 : filter.p[at];
        }
        const struct value *left = operand(w, v, str_trim(str_sub(filter, 0, at)));
        if (relation == REL_NONE)
                return left != NULL;
        return compare(left, operand(w, v, str_trim(from(filter, at + bytes))), &order) && holds(relation, order);
}

static const struct value *filtered(struct walk *w, const struct value *v, struct str filter, struct str rest) {
        const struct value *found = NULL;

        for (size_t i = 0; !found && value_is(v, VALUE_LIST) && i < v->list.count; i++)
                if (passes(w, v->list.items[i], filter))
                        found = walk(w, v->list.items[i], rest);
        return found;
}

/* Where the bracket that `path` begins with ends; 0: nowhere. */
static size_t bracket_end(struct str path) {
        unsigned open = 0;
        char quote = 0;

        for (size_t i = 0; i < path.n; i++) {
                char c = path.p[i];

                if (quote)
                        quote = c == quote ? 0 : quote;
                else if (c == '\'' || c == '"')
                        quote = c;
                else if (c == '[')
                        open++;
                else if (c == ']' && --open == 0)
                        return i;
        }
        return 0;
}

static const struct value *bracket(struct walk *w, const struct value *v, struct str path) {
        size_t end = bracket_end(path);
        struct str inside = str_trim(str_sub(path, 1, end)), rest = from(path, end + 1), choice;
        const struct value *found = NULL;

        if (end == 0)
                return NULL;
        if (str_eqc(inside, "*"))
                return each_child(w, v, rest);
        if (str_starts(inside, STR("?(")) && inside.p[inside.n - 1] == ')')
                return filtered(w, v, str_sub(inside, 2, inside.n - 1), rest);
        while (!found && next_choice(&inside, &choice))
                found = one_of_union(w, v, choice, rest);
        return found;
}

/* ---- the path ---- */

static size_t name_end(struct str path) {
        size_t i = 1;

        while (i < path.n && path.p[i] != '.' && path.p[i] != '[')
                i += path.p[i] == '\\' ? 2 : 1;
        return i < path.n ? i : path.n;
}

static const struct value *walk(struct walk *w, const struct value *v, struct str path) {
        if (!v || path.n == 0)
                return v;
        if (path.p[0] == '[')
                return bracket(w, v, path);
        if (path.p[0] != '.')
                return NULL;
        if (path.n > 1 && path.p[1] == '.')
                return anywhere(w, v, from(path, 1));
        if (path.n > 1 && path.p[1] == '[')
                return bracket(w, v, from(path, 1));
        size_t end = name_end(path);
        struct str name = str_sub(path, 1, end);
        if (name.n == 0)
                return v;
        return str_eqc(name, "*") ? each_child(w, v, from(path, end)) : field(w, v, name, from(path, end));
}

const struct value *column_value(const struct value *root, struct str path, struct arena *a) {
        struct walk w = { .arena = a };

        return walk(&w, root, path);
}

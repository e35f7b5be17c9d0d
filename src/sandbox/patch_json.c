/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON patch (RFC 6902), with the habits of the library that the API server uses:
 * negative indexes count from the end, `replace` of a missing member adds it, a container that is not there and one
 * that is no container are the same "missing path".
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "sandbox/codec.h"

#define MAX_DEPTH JSON_MAX_DEPTH

/* A pointer's tokens, unescaped; the last one is the key. */
struct route {
        struct str text; /* as written, for messages */
        struct str tokens[MAX_DEPTH];
        size_t count;
};

/* One run of a patch. */
struct patcher {
        const struct value *doc;
        struct arena *a;
        struct err *err;
};

static struct str unescape(struct str token, struct arena *a) {
        char *text = arena_alloc(a, token.n + 1);
        size_t n = 0;

        if (str_find(token, '~', 0) < 0)
                return token;
        for (size_t i = 0; i < token.n; i++) {
                bool escaped = token.p[i] == '~' && i + 1 < token.n && (token.p[i + 1] == '0' || token.p[i + 1] == '1');

                text[n++] = escaped ? (token.p[i + 1] == '0' ? '~' : '/') : token.p[i];
                i += escaped;
        }
        text[n] = '\0';
        return (struct str){ text, n };
}

/* What stands in front of the first "/" is not looked at; without one there is no way to go. */
static bool read_route(struct str path, struct arena *a, struct route *r) {
        ptrdiff_t slash = str_find(path, '/', 0);

        r->text = path;
        r->count = 0;
        while (slash >= 0) {
                ptrdiff_t next = str_find(path, '/', (size_t)slash + 1);
                struct str token = str_sub(path, (size_t)slash + 1, next < 0 ? path.n : (size_t)next);

                if (r->count == MAX_DEPTH)
                        return false;
                r->tokens[r->count++] = unescape(token, a);
                slash = next;
        }
        return r->count > 0;
}

/* --- arrays: Go's strconv.Atoi decides what an index is --- */

static bool is_number(struct str s, int64_t *ret) {
        if (s.n > 1 && s.p[0] == '+' && s.p[1] != '-')
                s = str_sub(s, 1, s.n);
        return str_to_i64(s, ret);
}

static int bad_index(struct err *err, int64_t index) {
        return err_set(err, ERR_INVAL, "Unable to access invalid index: %lld: invalid index referenced",
                       (long long)index);
}

/* The index in a list of `count`, counted from the end when negative. */
static int read_index(struct str key, size_t count, size_t *ret_index, struct err *err) {
        int64_t index;

        if (!is_number(key, &index))
                return err_set(err, ERR_INVAL, "strconv.Atoi: parsing \"%.*s\": invalid syntax", STR_FMT(key));
        if (index >= (int64_t)count || index < -(int64_t)count)
                return bad_index(err, index);
        *ret_index = (size_t)(index < 0 ? index + (int64_t)count : index);
        return 0;
}

/* A list without the item at `from`, or with `value` in its place or (when `insert`) before it. */
static const struct value *splice(const struct value *list, size_t at, const struct value *value, bool insert,
                                  struct arena *a) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < list->list.count; i++) {
                if (i == at && value)
                        value_list_add(&b, value);
                if (i != at || insert)
                        value_list_add(&b, list->list.items[i]);
        }
        if (at == list->list.count && value)
                value_list_add(&b, value);
        return value_list_end(&b, a, list->line);
}

/* --- containers: members of maps and items of lists --- */

static int get_in(const struct value *holder, struct str key, const struct value **ret, struct err *err) {
        size_t index = 0;

        *ret = NULL;
        if (holder->kind == VALUE_MAP) {
                *ret = value_get(holder, key);
                return 0;
        }
        int r = read_index(key, holder->list.count, &index, err);

        if (r == 0)
                *ret = holder->list.items[index];
        return r;
}

/* NULL when the way does not lead to a container. */
static const struct value *container_of(const struct value *doc, const struct route *r) {
        for (size_t i = 0; i + 1 < r->count; i++) {
                const struct value *next = NULL;

                if (get_in(doc, r->tokens[i], &next, NULL) < 0 || !next)
                        return NULL;
                if (next->kind != VALUE_MAP && next->kind != VALUE_LIST)
                        return NULL;
                doc = next;
        }
        return doc;
}

static int add_in(struct patcher *p, const struct value *holder, struct str key, const struct value *value,
                  const struct value **ret) {
        int64_t index;

        if (holder->kind == VALUE_MAP) {
                *ret = value_with(p->a, holder, key, value);
                return 0;
        }
        size_t count = holder->list.count;

        if (str_eqc(key, "-")) {
                *ret = splice(holder, count, value, true, p->a);
                return 0;
        }
        if (!is_number(key, &index))
                return err_set(
                        p->err, ERR_INVAL,
                        "value was not a proper array index: '%.*s': strconv.Atoi: parsing \"%.*s\": invalid syntax",
                        STR_FMT(key), STR_FMT(key));
        if (index > (int64_t)count || index < -(int64_t)count - 1)
                return bad_index(p->err, index);
        index += index < 0 ? (int64_t)count + 1 : 0;
        *ret = splice(holder, (size_t)index, value, true, p->a);
        return 0;
}

static int set_in(struct patcher *p, const struct value *holder, struct str key, const struct value *value,
                  const struct value **ret) {
        size_t index = 0;

        if (holder->kind == VALUE_MAP) {
                *ret = value_with(p->a, holder, key, value);
                return 0;
        }
        int r = read_index(key, holder->list.count, &index, p->err);

        if (r == 0)
                *ret = splice(holder, index, value, false, p->a);
        return r;
}

static int remove_in(struct patcher *p, const struct value *holder, struct str key, const struct value **ret) {
        size_t index = 0;

        if (holder->kind == VALUE_MAP) {
                if (!value_get(holder, key))
                        return err_set(p->err, ERR_INVAL, "Unable to remove nonexistent key: %.*s: missing value",
                                       STR_FMT(key));
                *ret = value_with(p->a, holder, key, NULL);
                return 0;
        }
        int r = read_index(key, holder->list.count, &index, p->err);

        if (r == 0)
                *ret = splice(holder, index, NULL, false, p->a);
        return r;
}

/* The document with the container at the end of the way replaced. */
static const struct value *put_back(struct patcher *p, const struct value *doc, const struct route *r, size_t at,
                                    const struct value *holder) {
        const struct value *next = NULL, *out = NULL;

        if (at + 1 >= r->count)
                return holder;
        get_in(doc, r->tokens[at], &next, NULL);
        assert(next); /* container_of() went this way */
        next = put_back(p, next, r, at + 1, holder);
        set_in(p, doc, r->tokens[at], next, &out);
        return out;
}

static struct str key_of(const struct route *r) {
        return r->tokens[r->count - 1];
}

/* New nodes on the way to a value, which was read (body_text.c). `v` NULL: there is none. */
static void mark_read(struct patcher *p, const struct value *holder, const struct route *r, const struct value *v) {
        const struct value *after = holder;

        if (v && set_in(p, holder, key_of(r), v, &after) == 0)
                p->doc = put_back(p, p->doc, r, 0, after);
}

/* --- operations --- */

/* A value of null and none at all are the same. */
static const struct value *value_of(const struct value *op) {
        const struct value *v = value_getc(op, "value");

        return v ? v : &value_null;
}

static int read_path(struct patcher *p, const struct value *op, const char *member, const char *failure,
                     struct str *ret_path) {
        const struct value *v = value_getc(op, member);

        if (!value_is(v, VALUE_STRING))
                return err_set(p->err, ERR_INVAL, "%s", failure);
        *ret_path = v->text;
        return 0;
}

static int op_add(struct patcher *p, const struct value *op) {
        const struct value *holder, *after = NULL;
        struct str path;
        struct route r;

        if (read_path(p, op, "path", "add operation failed to decode path: missing value", &path) < 0)
                return ERR_INVAL;
        holder = read_route(path, p->a, &r) ? container_of(p->doc, &r) : NULL;
        if (!holder)
                return err_set(p->err, ERR_INVAL,
                               "add operation does not apply: doc is missing path: \"%.*s\": missing value",
                               STR_FMT(path));
        int res = add_in(p, holder, key_of(&r), value_of(op), &after);

        if (res < 0)
                return err_wrap(p->err, res, "error in add for path: '%.*s'", STR_FMT(path));
        p->doc = put_back(p, p->doc, &r, 0, after);
        return 0;
}

static int op_remove(struct patcher *p, const struct value *op) {
        const struct value *holder, *after = NULL;
        struct str path;
        struct route r;

        if (read_path(p, op, "path", "remove operation failed to decode path: missing value", &path) < 0)
                return ERR_INVAL;
        holder = read_route(path, p->a, &r) ? container_of(p->doc, &r) : NULL;
        if (!holder)
                return err_set(p->err, ERR_INVAL,
                               "remove operation does not apply: doc is missing path: \"%.*s\": missing value",
                               STR_FMT(path));
        int res = remove_in(p, holder, key_of(&r), &after);

        if (res < 0)
                return err_wrap(p->err, res, "error in remove for path: '%.*s'", STR_FMT(path));
        p->doc = put_back(p, p->doc, &r, 0, after);
        return 0;
}

static int replace_all(struct patcher *p, const struct value *value) {
        if (value->kind != VALUE_MAP && value->kind != VALUE_LIST)
                return err_set(p->err, ERR_INVAL, "replace operation value must be object or array: %%!w(<nil>)");
        p->doc = value;
        return 0;
}

static int op_replace(struct patcher *p, const struct value *op) {
        static const char missing[] =
                "replace operation failed to decode path: operation missing path field: missing value";
        const struct value *holder, *old = NULL, *after = NULL;
        struct str path;
        struct route r;

        if (read_path(p, op, "path", missing, &path) < 0)
                return ERR_INVAL;
        if (path.n == 0)
                return replace_all(p, value_of(op));
        holder = read_route(path, p->a, &r) ? container_of(p->doc, &r) : NULL;
        if (!holder)
                return err_set(p->err, ERR_INVAL,
                               "replace operation does not apply: doc is missing path: %.*s: missing value",
                               STR_FMT(path));
        if (get_in(holder, key_of(&r), &old, NULL) < 0)
                return err_set(p->err, ERR_INVAL,
                               "replace operation does not apply: doc is missing key: %.*s: missing value",
                               STR_FMT(path));
        int res = set_in(p, holder, key_of(&r), value_of(op), &after);

        if (res < 0)
                return err_wrap(p->err, res, "error in remove for path: '%.*s'", STR_FMT(path));
        p->doc = put_back(p, p->doc, &r, 0, after);
        return 0;
}

static int op_move(struct patcher *p, const struct value *op) {
        const struct value *holder, *value = NULL, *after = NULL;
        struct str from, path;
        struct route r;

        if (read_path(p, op, "from",
                      "move operation failed to decode from: operation, missing from field: missing value", &from) < 0)
                return ERR_INVAL;
        holder = read_route(from, p->a, &r) ? container_of(p->doc, &r) : NULL;
        if (!holder)
                return err_set(p->err, ERR_INVAL,
                               "move operation does not apply: doc is missing from path: %.*s: missing value",
                               STR_FMT(from));
        int res = get_in(holder, key_of(&r), &value, p->err);

        res = res < 0 ? res : remove_in(p, holder, key_of(&r), &after);
        if (res < 0)
                return err_wrap(p->err, res, "error in move for path: '%.*s'", STR_FMT(key_of(&r)));
        p->doc = put_back(p, p->doc, &r, 0, after);
        if (read_path(p, op, "path",
                      "move operation failed to decode path: operation missing path field: missing value", &path) < 0)
                return ERR_INVAL;
        holder = read_route(path, p->a, &r) ? container_of(p->doc, &r) : NULL;
        if (!holder)
                return err_set(p->err, ERR_INVAL,
                               "move operation does not apply: doc is missing destination path: %.*s: missing value",
                               STR_FMT(path));
        res = add_in(p, holder, key_of(&r), value, &after);
        if (res < 0)
                return err_wrap(p->err, res, "error in move for path: '%.*s'", STR_FMT(path));
        p->doc = put_back(p, p->doc, &r, 0, after);
        return 0;
}

static int op_copy(struct patcher *p, const struct value *op) {
        const struct value *holder, *value = NULL, *after = NULL;
        struct str from, path;
        struct route r;

        if (read_path(p, op, "from",
                      "copy operation failed to decode from: operation, missing from field: missing value", &from) < 0)
                return ERR_INVAL;
        holder = read_route(from, p->a, &r) ? container_of(p->doc, &r) : NULL;
        if (!holder)
                return err_set(p->err, ERR_INVAL,
                               "copy operation does not apply: doc is missing from path: %.*s: missing value",
                               STR_FMT(from));
        int res = get_in(holder, key_of(&r), &value, p->err);

        if (res < 0)
                return err_wrap(p->err, res, "error in copy for from: '%.*s'", STR_FMT(from));
        mark_read(p, holder, &r, value);
        if (read_path(p, op, "path", "copy operation failed to decode path: missing value", &path) < 0)
                return ERR_INVAL;
        holder = read_route(path, p->a, &r) ? container_of(p->doc, &r) : NULL;
        if (!holder)
                return err_set(p->err, ERR_INVAL,
                               "copy operation does not apply: doc is missing destination path: %.*s: missing value",
                               STR_FMT(path));
        res = add_in(p, holder, key_of(&r), value ? value : &value_null, &after);
        if (res < 0)
                return err_wrap(p->err, res, "error while adding value during copy");
        p->doc = put_back(p, p->doc, &r, 0, after);
        return 0;
}

/* Stored strings are printed with <, > and & escaped, which a patch does not do: such a test fails. */
static bool is_escaped(struct str s) {
        return str_find(s, '<', 0) >= 0 || str_find(s, '>', 0) >= 0 || str_find(s, '&', 0) >= 0;
}

/* Scalars are compared as they are spelt: 1 and 1.0 differ. */
static bool is_same(const struct value *have, const struct value *want) {
        if (have->kind != want->kind || value_count(have) != value_count(want))
                return false;
        if (have->kind == VALUE_LIST) {
                for (size_t i = 0; i < have->list.count; i++)
                        if (!is_same(have->list.items[i], want->list.items[i]))
                                return false;
                return true;
        }
        if (have->kind != VALUE_MAP)
                return value_equal(have, want) && !is_escaped(value_text(have));
        for (size_t i = 0; i < have->map.count; i++) {
                const struct value *other = value_get(want, have->map.members[i].key);

                if (!other || !is_same(have->map.members[i].value, other))
                        return false;
        }
        return true;
}

static int op_test(struct patcher *p, const struct value *op) {
        static const char missing[] =
                "test operation failed to decode path: operation missing path field: missing value";
        const struct value *holder, *have = p->doc;
        struct str path;
        struct route r;

        if (read_path(p, op, "path", missing, &path) < 0)
                return ERR_INVAL;
        if (path.n) {
                holder = read_route(path, p->a, &r) ? container_of(p->doc, &r) : NULL;
                if (!holder)
                        return err_set(p->err, ERR_INVAL,
                                       "test operation does not apply: is missing path: %.*s: missing value",
                                       STR_FMT(path));
                int res = get_in(holder, key_of(&r), &have, p->err);

                if (res < 0)
                        return err_wrap(p->err, res, "error in test for path: '%.*s'", STR_FMT(path));
                mark_read(p, holder, &r, have ? value_dup(p->a, have) : NULL);
        }
        if (is_same(have ? have : &value_null, value_of(op)))
                return 0;
        return err_set(p->err, ERR_INVAL, "testing value %.*s failed: test failed", STR_FMT(path));
}

static const struct {
        const char *name;
        int (*run)(struct patcher *p, const struct value *op);
} operations[] = {
        { "add", op_add },   { "copy", op_copy },     { "move", op_move },
        { "test", op_test }, { "remove", op_remove }, { "replace", op_replace },
};

static int run(struct patcher *p, const struct value *op) {
        const struct value *name = value_getc(op, "op");
        struct str text = value_is(name, VALUE_STRING) ? name->text : STR("unknown");

        for (size_t i = 0; i < ARRAY_LEN(operations); i++)
                if (str_eqc(text, operations[i].name))
                        return operations[i].run(p, op);
        return err_set(p->err, ERR_INVAL, "Unexpected kind: %.*s", STR_FMT(text));
}

/* --- is it a patch at all? --- */

static const char *go_kind(const struct value *v) {
        switch (v->kind) {
        case VALUE_LIST:
                return "array";
        case VALUE_MAP:
                return "object";
        case VALUE_BOOL:
                return "bool";
        case VALUE_STRING:
                return "string";
        default:
                return "number";
        }
}

static int check_operation(const struct value *op, struct err *err) {
        static const char *const members[] = { "from", "op", "path" };

        if (op->kind == VALUE_NULL)
                return 0;
        if (op->kind != VALUE_MAP)
                return err_set(
                        err, ERR_PARSE,
                        "error decoding patch: json: cannot unmarshal %s into Go value of type handlers.jsonPatchOp",
                        go_kind(op));
        for (size_t i = 0; i < ARRAY_LEN(members); i++) {
                const struct value *v = value_getc(op, members[i]);

                if (v && v->kind != VALUE_STRING && v->kind != VALUE_NULL)
                        return err_set(err, ERR_PARSE,
                                       "error decoding patch: json: cannot unmarshal %s into Go struct field "
                                       "jsonPatchOp.%s of type string",
                                       go_kind(v), members[i]);
        }
        return 0;
}

int patch_json_check(const struct value *patch, struct err *err) {
        if (patch->kind != VALUE_LIST && patch->kind != VALUE_NULL)
                return err_set(
                        err, ERR_PARSE,
                        "error decoding patch: json: cannot unmarshal %s into Go value of type []handlers.jsonPatchOp",
                        go_kind(patch));
        for (size_t i = 0; i < value_count(patch); i++)
                if (check_operation(patch->list.items[i], err) < 0)
                        return ERR_PARSE;
        return 0;
}

int patch_json(const struct value *doc, const struct value *patch, struct arena *a, const struct value **ret_doc,
               struct err *err) {
        struct patcher p = { doc, a, err };

        for (size_t i = 0; value_is(patch, VALUE_LIST) && i < patch->list.count; i++) {
                int r = run(&p, patch->list.items[i]);

                if (r < 0)
                        return r;
        }
        *ret_doc = p.doc;
        return 0;
}

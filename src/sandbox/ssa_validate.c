/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a value fit its type, as structured-merge-diff asks it (typed.AsTyped)? Kinds of JSON, declared fields, items
 * that can be told apart and are no duplicates. Null fits everywhere but as such an item.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "base/limits.h"
#include "sandbox/ssa_impl.h"

struct check {
        struct arena *arena;
        bool duplicates; /* are allowed: what is stored may have them, what is applied may not */
        struct buf text; /* all findings, one a line */
        size_t findings;
};

/* The way down to a value, to be printed before a finding. */
struct place {
        const struct place *up;
        struct path_element e;
};

static void add_place(const struct place *at, struct arena *a, struct buf *out) {
        if (!at)
                return;
        add_place(at->up, a, out);
        field_path_print((struct field_path){ &at->e, 1 }, out);
}

/* Begins a finding; the caller writes its words. */
static struct buf *found(struct check *c, const struct place *at) {
        c->findings++;
        buf_addc(&c->text, "\n  ");
        add_place(at, c->arena, &c->text);
        if (at)
                buf_addc(&c->text, ": ");
        return &c->text;
}

static void found_kind(struct check *c, const struct place *at, const char *expected, const struct value *v) {
        struct buf *out = found(c, at);

        buf_addf(out, "expected %s, got &{", expected);
        ssa_add_go(v, out);
        buf_addch(out, '}');
}

enum scalar {
        SCALAR_ANY,
        SCALAR_LATER, /* the conversion to the Go type tells, or the schema */
        SCALAR_STRING,
        SCALAR_NUMBER,
        SCALAR_BOOL,
};

static enum scalar scalar_of(const struct type *t) {
        switch (t->kind) {
        case TYPE_STRING: {
                struct str format = value_text(value_getc(t->rules, "format"));

                return format.n == 0 || str_eqc(format, "byte") ? SCALAR_STRING : SCALAR_ANY;
        }
        case TYPE_BYTES:
        case TYPE_DURATION:
                return SCALAR_STRING;
        case TYPE_INT32:
        case TYPE_INT64:
        case TYPE_NUMBER:
                return SCALAR_NUMBER;
        case TYPE_BOOL:
                return SCALAR_BOOL;
        case TYPE_INT_OR_STRING:
                return SCALAR_LATER;
        default:
                return SCALAR_ANY;
        }
}

static bool is_number(const struct value *v) {
        return v->kind == VALUE_INT || v->kind == VALUE_UINT || v->kind == VALUE_DECIMAL;
}

static void check_scalar(struct check *c, const struct type *t, const struct value *v, const struct place *at) {
        struct buf *out;

        switch (scalar_of(t)) {
        case SCALAR_STRING:
                if (v->kind == VALUE_STRING)
                        return;
                out = found(c, at);
                buf_addc(out, "expected string, got &value.valueUnstructured{Value:");
                ssa_add_go_syntax(v, out);
                buf_addch(out, '}');
                return;
        case SCALAR_NUMBER:
                if (!is_number(v))
                        buf_addf(found(c, at), "expected numeric (int or float), got %s", ssa_go_type(v));
                return;
        case SCALAR_BOOL:
                if (v->kind != VALUE_BOOL)
                        found_kind(c, at, "boolean", v);
                return;
        case SCALAR_ANY:
                if (v->kind == VALUE_MAP || v->kind == VALUE_LIST)
                        found_kind(c, at, "any scalar", v);
                return;
        case SCALAR_LATER:
                return;
        }
}

static void check_node(struct check *c, const struct type *t, const struct value *v, const struct place *at);

/* The type of a member; false: there may be none of that name. NULL: anything. */
static bool member_type(const struct type *t, struct str name, const struct type **ret) {
        const struct type_field *f = type_field(t, name);

        *ret = f ? f->type : t->item;
        return f || t->item || t->kind == TYPE_MAP || t->preserve_unknown || schema_field(t->schema, name);
}

static void check_map(struct check *c, const struct type *t, const struct value *v, const struct place *at) {
        if (v->kind != VALUE_MAP) {
                found_kind(c, at, "map", v);
                return;
        }
        for (size_t i = 0; i < v->map.count; i++) {
                struct place below = { at, path_field(v->map.members[i].key) };
                const struct type *type;

                /* The server looks no further in this map. */
                if (!member_type(t, v->map.members[i].key, &type)) {
                        buf_addc(found(c, &below), "field not declared in schema");
                        return;
                }
                check_node(c, type, v->map.members[i].value, &below);
        }
}

static void add_key_names(const struct schema *s, struct buf *out) {
        buf_addch(out, '[');
        for (size_t i = 0; i < s->key_count; i++) {
                if (i)
                        buf_addch(out, ' ');
                ssa_add_quoted(s->keys[i].name, out);
        }
        buf_addch(out, ']');
}

/* Of anything: a set of maps is atomic for managedFields, but the server asks its items for their values all the same.
 */
static bool is_set(const struct type *t) {
        return schema_form(t->schema) == SCHEMA_LIST_SET ||
               str_eqc(value_text(value_getc(t->rules, "x-kubernetes-list-type")), "set");
}

/* Why an item cannot be told from others. */
static void found_nameless(struct check *c, const struct type *t, const struct value *v, size_t index,
                           const struct place *at) {
        struct buf *out = found(c, at);

        buf_addf(out, "element %zu: ", index);
        if (is_set(t)) {
                const char *what = v->kind == VALUE_MAP
                                           ? "associative list without keys has an element that's a map type"
                                   : v->kind == VALUE_LIST ? "not supported: associative list with lists as elements"
                                                           : "associative list without keys has an element that's an "
                                                             "explicit null";
                buf_addc(out, what);
        } else if (v->kind != VALUE_MAP) {
                buf_addf(out, "associative list with keys may not have %s",
                         v->kind == VALUE_NULL ? "a null element" : "non-map elements");
        } else {
                buf_addc(out, "associative list with keys has an element that omits all key fields ");
                add_key_names(t->schema, out);
                buf_addc(out, " (and doesn't have default values for any key fields)");
        }
}

static void found_again(struct check *c, const struct place *item) {
        struct buf *out = found(c, item->up);

        buf_addc(out, "duplicate entries for key ");
        field_path_print((struct field_path){ &item->e, 1 }, out);
}

static int element_cmp(const void *x, const void *y) {
        return path_element_cmp(x, y);
}

static bool seen_before(const struct path_element *seen, size_t count, const struct path_element *e) {
        return count && bsearch(e, seen, count, sizeof *seen, element_cmp);
}

/* Keeps `seen` sorted. */
static void remember(struct path_element *seen, size_t count, struct path_element e) {
        size_t at = count;

        for (; at > 0 && path_element_cmp(&seen[at - 1], &e) > 0; at--)
                seen[at] = seen[at - 1];
        seen[at] = e;
}

static void check_item(struct check *c, const struct type *t, const struct value *item, const struct place *at) {
        if (t->item)
                check_node(c, t->item, item, at);
}

static void check_named_items(struct check *c, const struct type *t, const struct value *v, const struct place *at) {
        struct path_element *seen = arena_alloc(c->arena, v->list.count * sizeof *seen);
        size_t count = 0;

        for (size_t i = 0; i < v->list.count; i++) {
                struct place below = { .up = at };

                if (!path_item_element(v->list.items[i], t->schema, c->arena, &below.e)) {
                        found_nameless(c, t, v->list.items[i], i, at);
                        return;
                }
                bool again = seen_before(seen, count, &below.e);
                if (!again)
                        remember(seen, count++, below.e);
                else if (!c->duplicates)
                        found_again(c, &below);
                check_item(c, t, v->list.items[i], &below);
        }
}

static void check_list(struct check *c, const struct type *t, const struct value *v, const struct place *at) {
        if (v->kind != VALUE_LIST) {
                found_kind(c, at, "list", v);
                return;
        }
        if (schema_form(t->schema) == SCHEMA_LIST_MAP || is_set(t)) {
                check_named_items(c, t, v, at);
                return;
        }
        for (size_t i = 0; i < v->list.count; i++) {
                struct place below = { at, { .kind = PATH_INDEX, .index = (int64_t)i } };

                check_item(c, t, v->list.items[i], &below);
        }
}

static void check_node(struct check *c, const struct type *t, const struct value *v, const struct place *at) {
        if (!t || v->kind == VALUE_NULL || t->kind == TYPE_ANY)
                return;
        switch (t->kind) {
        case TYPE_STRUCT:
        case TYPE_MAP:
                check_map(c, t, v, at);
                return;
        case TYPE_LIST:
                check_list(c, t, v, at);
                return;
        default:
                check_scalar(c, t, v, at);
        }
}

static int check(const struct type *type, const struct value *object, bool duplicates, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct check c = { .arena = a, .duplicates = duplicates, .text = buf_make(KUBE_MAX_OBJECT_BYTES) };

        check_node(&c, type, object, NULL);
        if (c.findings == 1)
                err_set(err, ERR_INVAL, "%s", c.text.p + sizeof "\n  " - 1);
        else if (c.findings)
                err_set(err, ERR_INVAL, "errors:%s", c.text.p);
        buf_done(&c.text);
        return c.findings ? ERR_INVAL : 0;
}

int ssa_validate(const struct type *type, const struct value *object, struct err *err) {
        return check(type, object, false, err);
}

int ssa_validate_stored(const struct type *type, const struct value *object, struct err *err) {
        return check(type, object, true, err);
}

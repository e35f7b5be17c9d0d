/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results carry how much matched: of the alternatives of anyOf and oneOf the one that matched most gives the faults.
 * The counting is the server's, step by step.
 */
#include "sandbox/validate_schema.h"

#include <math.h>
#include <stdlib.h>

#include "sandbox/validate_schema_impl.h"

static void validate_node(const struct node *n, struct result *ret);

static void result_init(struct result *r) {
        *r = (struct result){ .first = NULL };
        r->end = &r->first;
}

void result_add(struct check *c, struct result *r, struct fault fault) {
        for (const struct fault *f = r->first; f; f = f->next)
                if (str_eq(f->text, fault.text))
                        return;
        *r->end = arena_alloc(c->a, sizeof fault);
        **r->end = fault;
        (*r->end)->next = NULL;
        r->end = &(*r->end)->next;
}

static void result_merge(struct check *c, struct result *into, const struct result *from) {
        for (const struct fault *f = from->first; f; f = f->next)
                result_add(c, into, *f);
        into->matches += from->matches;
}

static struct str print(const struct value *v, struct arena *a) {
        return value_is(v, VALUE_STRING) ? quoted(value_text(v), a) : go_json(v, a);
}

void add_invalid(const struct node *n, struct result *r, struct str shown, struct str text) {
        result_add(n->c, r, (struct fault){ .kind = FAULT_INVALID, .path = n->path, .text = text, .shown = shown });
}

/* --- type --- */

static const char *type_name(const struct value *v) {
        switch (v ? v->kind : VALUE_NULL) {
        case VALUE_NULL:
                return "null";
        case VALUE_BOOL:
                return "boolean";
        case VALUE_INT:
        case VALUE_UINT:
                return "integer";
        case VALUE_DECIMAL:
                return "number";
        case VALUE_STRING:
                return "string";
        case VALUE_LIST:
                return "array";
        default:
                return "object";
        }
}

bool is_number(const struct value *v) {
        return v->kind == VALUE_INT || v->kind == VALUE_UINT || v->kind == VALUE_DECIMAL;
}

double number_of(const struct value *v) {
        if (value_is(v, VALUE_INT))
                return (double)v->i64;
        if (value_is(v, VALUE_UINT))
                return (double)v->u64;
        return value_is(v, VALUE_DECIMAL) ? strtod(v->text.p, NULL) : 0;
}

static bool int_or_string(const struct value *schema) {
        return truth_of(schema, "x-kubernetes-int-or-string");
}

static bool type_fits(const struct node *n, struct str type) {
        const char *is = type_name(n->v);

        if (int_or_string(n->schema))
                return n->v->kind == VALUE_STRING || n->v->kind == VALUE_INT;
        if (str_eqc(type, is))
                return true;
        if (str_eqc(type, "number"))
                return is_number(n->v);
        return str_eqc(type, "integer") && n->v->kind == VALUE_DECIMAL && floor(number_of(n->v)) == number_of(n->v);
}

struct str format_of(const struct value *schema) {
        struct str type = text_of(schema, "type"), format = text_of(schema, "format");

        if (!type.n || str_eqc(type, "string"))
                return format_is_known(format) ? format : STR("");
        return STR("");
}

static void check_type(const struct node *n, struct result *r) {
        struct str type = int_or_string(n->schema) ? STR("integer,string") : text_of(n->schema, "type");
        struct str format = format_of(n->schema), text;
        bool is_null = n->v->kind == VALUE_NULL;

        if (!type.n && !format.n)
                return;
        if (is_null ? truth_of(n->schema, "nullable") || !type.n : type_fits(n, type)) {
                r->matches++;
                return;
        }
        if (format.n && (n->v->kind == VALUE_STRING || n->v->kind == VALUE_LIST))
                return;
        if (!type.n || (format.n && !is_null))
                type = format;
        text = arena_strf(n->c->a, "%.*s in body must be of type %.*s: \"%s\"", STR_FMT(n->path), STR_FMT(type),
                          format.n && !is_null ? "" : type_name(n->v));
        result_add(
                n->c, r,
                (struct fault){ .kind = FAULT_TYPE,
                                .path = n->path,
                                .text = text,
                                .shown = arena_strf(n->c->a, "\"%s\"", format.n && !is_null ? "" : type_name(n->v)) });
}

/* --- composition --- */

static void add_plain(const struct node *n, struct result *r, const char *what) {
        struct str q = quoted(n->path, n->c->a);

        result_add(n->c, r,
                   (struct fault){ .kind = FAULT_PLAIN,
                                   .text = arena_strf(n->c->a, "%s %s", q.p, what),
                                   .shown = STR("\"\"") });
}

static void validate_as(const struct node *n, const struct value *schema, struct result *ret) {
        struct node other = *n;

        other.schema = schema;
        other.old = NULL;
        result_init(ret);
        validate_node(&other, ret);
}

static void check_any_of(const struct node *n, struct result *r) {
        const struct value *any = get(n->schema, "anyOf");
        size_t count = list_count(any);
        struct result best, one;
        bool has_best = false, valid = false;

        if (count == 0)
                return;
        for (size_t i = 0; i < count && !valid; i++) {
                validate_as(n, item_of(any, i), &one);
                valid = !one.first;
                if (valid || !has_best || one.matches > best.matches)
                        best = one;
                has_best = true;
        }
        if (!valid)
                add_plain(n, r, "must validate at least one schema (anyOf)");
        result_merge(n->c, r, &best);
}

static void check_one_of(const struct node *n, struct result *r) {
        const struct value *list = get(n->schema, "oneOf");
        struct result best, success, one;
        bool has_best = false;
        size_t valid = 0;

        if (!list_count(list))
                return;
        for (EACH(i, list)) {
                validate_as(n, item_of(list, i), &one);
                if (!one.first) {
                        if (valid++ == 0)
                                success = one;
                        has_best = false;
                } else if (!valid && (!has_best || one.matches > best.matches)) {
                        best = one;
                        has_best = true;
                }
        }
        if (valid == 1) {
                result_merge(n->c, r, &success);
                return;
        }
        add_plain(n, r,
                  valid ? arena_strf(n->c->a,
                                     "must validate one and only one schema (oneOf). Found %zu valid alternatives",
                                     valid)
                                  .p
                        : "must validate one and only one schema (oneOf). Found none valid");
        if (has_best)
                result_merge(n->c, r, &best);
}

static void check_all_of(const struct node *n, struct result *r) {
        const struct value *all = get(n->schema, "allOf");
        struct result one;
        size_t valid = 0;

        for (EACH(i, all)) {
                validate_as(n, item_of(all, i), &one);
                valid += !one.first;
                result_merge(n->c, r, &one);
        }
        if (valid != list_count(all))
                add_plain(n, r,
                          valid ? "must validate all the schemas (allOf)"
                                : "must validate all the schemas (allOf). None validated");
}

static void check_composition(const struct node *n, struct result *r) {
        const struct value *not = get(n->schema, "not");
        struct result one;

        check_any_of(n, r);
        check_one_of(n, r);
        check_all_of(n, r);
        if (not ) {
                validate_as(n, not, &one);
                if (!one.first)
                        add_plain(n, r, "must not validate the schema (not)");
        }
        r->matches++;
}

/* --- lists and objects --- */

/* What stood at the same place before: lists of type map are matched by their keys, other lists are not. */
static const struct value *old_item(const struct node *n, const struct value *item) {
        const struct value *keys = get(n->schema, "x-kubernetes-list-map-keys");

        if (!str_eqc(text_of(n->schema, "x-kubernetes-list-type"), "map"))
                return NULL;
        for (EACH(i, n->old)) {
                bool all = true;

                for (EACH(j, keys)) {
                        struct str key = value_text(item_of(keys, j));

                        all = all && same(value_get(item_of(n->old, i), key), value_get(item, key));
                }
                if (all)
                        return item_of(n->old, i);
        }
        return NULL;
}

static void validate_part(const struct node *n, struct str path, const struct value *schema, const struct value *v,
                          const struct value *old, struct result *r) {
        const struct node part = { .c = n->c, .schema = schema, .v = v, .path = path, .old = old };
        struct result one;

        result_init(&one);
        validate_node(&part, &one);
        if (old && one.first && same(old, v)) {
                one.first = NULL;
                one.end = &one.first;
        }
        result_merge(n->c, r, &one);
}

static void check_list(const struct node *n, struct result *r) {
        const struct value *items = get(n->schema, "items");
        int64_t limit = 0, count = (int64_t)list_count(n->v);
        struct arena *a = n->c->a;

        for (EACH(i, n->v))
                if (items)
                        validate_part(n, arena_strf(a, "%.*s[%zu]", STR_FMT(n->path), i), items, item_of(n->v, i),
                                      old_item(n, item_of(n->v, i)), r);
        if (value_to_i64(get(n->schema, "minItems"), &limit) && count < limit)
                add_invalid(n, r, arena_strf(a, "%lld", (long long)count),
                            arena_strf(a, "%.*s in body should have at least %lld items", STR_FMT(n->path),
                                       (long long)limit));
        if (value_to_i64(get(n->schema, "maxItems"), &limit) && count > limit)
                result_add(n->c, r,
                           (struct fault){ .kind = FAULT_TOO_MANY,
                                           .path = n->path,
                                           .size = count,
                                           .max = limit,
                                           .text = arena_strf(a, "%.*s too many items", STR_FMT(n->path)) });
        r->matches++;
}

static struct str member_path(const struct node *n, struct str key) {
        return arena_strf(n->c->a, "%.*s%s%.*s", STR_FMT(n->path), n->path.n ? "." : "", STR_FMT(key));
}

static void check_member_count(const struct node *n, struct result *r) {
        int64_t limit = 0, count = (int64_t)value_count(n->v);
        struct arena *a = n->c->a;

        if (value_to_i64(get(n->schema, "minProperties"), &limit) && count < limit)
                add_invalid(n, r, arena_strf(a, "%lld", (long long)count),
                            arena_strf(a, "%.*s in body should have at least %lld properties", STR_FMT(n->path),
                                       (long long)limit));
        if (value_to_i64(get(n->schema, "maxProperties"), &limit) && count > limit)
                result_add(n->c, r,
                           (struct fault){ .kind = FAULT_TOO_MANY,
                                           .path = n->path,
                                           .size = count,
                                           .max = limit,
                                           .text = arena_strf(a, "%.*s too many properties", STR_FMT(n->path)) });
}

static void check_required(const struct node *n, struct str key, struct result *r) {
        struct str path = member_path(n, key);

        if (!value_get(n->v, key))
                result_add(n->c, r,
                           (struct fault){ .kind = FAULT_REQUIRED,
                                           .path = path,
                                           .text = arena_strf(n->c->a, "%.*s is required", STR_FMT(path)) });
}

static void check_object(const struct node *n, struct result *r) {
        const struct value *properties = get(n->schema, "properties"), *rest = get(n->schema, "additionalProperties");
        const struct value *required = get(n->schema, "required");

        check_member_count(n, r);
        for (EACH_MEMBER(m, n->v))
                if (!value_get(properties, m->key) && value_is(rest, VALUE_MAP))
                        validate_part(n, arena_strf(n->c->a, "%.*s.%.*s", STR_FMT(n->path), STR_FMT(m->key)), rest,
                                      m->value, value_get(n->old, m->key), r);
        for (EACH_MEMBER(m, n->v)) {
                const struct value *schema = value_get(properties, m->key);

                if (schema)
                        validate_part(n, member_path(n, m->key), schema, m->value, value_get(n->old, m->key), r);
        }
        for (EACH(i, required))
                check_required(n, value_text(item_of(required, i)), r);
}

/* --- all of it --- */

static void check_enum(const struct node *n, struct result *r) {
        const struct value *list = get(n->schema, "enum");
        struct arena *a = n->c->a;
        struct str all = STR("");

        for (EACH(i, list)) {
                const struct value *one = item_of(list, i);

                if (value_equal(one, n->v))
                        return;
                all = arena_strf(a, "%.*s%s%.*s", STR_FMT(all), i ? ", " : "",
                                 STR_FMT(quoted(value_is(one, VALUE_STRING) ? value_text(one) : go_json(one, a), a)));
        }
        if (list_count(list))
                result_add(n->c, r,
                           (struct fault){ .kind = FAULT_ENUM,
                                           .path = n->path,
                                           .shown = print(n->v, a),
                                           .text = arena_strf(a, "supported values: %.*s%c%.*s", STR_FMT(all), 0,
                                                              STR_FMT(n->path)) });
}

typedef void (*rule)(const struct node *n, struct result *r);

static void apply(const struct node *n, struct result *r, rule check) {
        check(n, r);
        r->matches++;
}

static void validate_node(const struct node *n, struct result *ret) {
        enum value_kind kind = n->v->kind;

        if (kind == VALUE_NULL) {
                check_type(n, ret);
                check_enum(n, ret);
                return;
        }
        if (get(n->schema, "type") || int_or_string(n->schema) || format_of(n->schema).n)
                apply(n, ret, check_type);
        apply(n, ret, check_composition);
        if (kind == VALUE_STRING) {
                apply(n, ret, check_string);
                if (format_of(n->schema).n)
                        apply(n, ret, check_format);
        }
        if (is_number(n->v))
                apply(n, ret, check_number);
        if (kind == VALUE_LIST)
                apply(n, ret, check_list);
        apply(n, ret, check_enum);
        if (kind == VALUE_MAP)
                apply(n, ret, check_object);
        ret->matches++;
}

static void report(struct check *c, const struct at *root, const struct fault *f) {
        const struct at *at = f->kind == FAULT_PLAIN || !f->path.n ? root : AT_STR(root, f->path);

        switch (f->kind) {
        case FAULT_REQUIRED:
                fault_required(c, at, "");
                return;
        case FAULT_ENUM:
                fault_unsupported_raw(c, at, f->shown, f->text.p + sizeof "supported values: " - 1);
                return;
        case FAULT_TOO_LONG:
                fault_too_long(c, at, f->max);
                return;
        case FAULT_TOO_MANY:
                fault_too_many(c, at, (size_t)f->size, (size_t)f->max);
                return;
        case FAULT_TYPE:
                causes_add(c->out, "FieldValueTypeInvalid", at_text(at, c->a), "Invalid value: %.*s: %.*s",
                           STR_FMT(f->shown), STR_FMT(f->text));
                return;
        default:
                fault_invalid_raw(c, at, f->shown, f->text.p);
        }
}

void check_schema(struct check *c, const struct at *root, const struct value *schema, const struct value *v,
                  const struct value *old) {
        const struct node n = { .c = c, .schema = schema, .v = v, .path = STR(""), .old = old };
        struct result r;

        result_init(&r);
        validate_node(&n, &r);
        if (old && same(old, v))
                return;
        for (const struct fault *f = r.first; f; f = f->next)
                report(c, root, f);
}

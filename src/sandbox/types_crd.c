/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CRD's structural schema as a type. Ownership comes from own/, which reads the same schema; here are the JSON types,
 * defaults and extensions. `rules` of each type is its schema node.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "sandbox/types_impl.h"

struct reader {
        struct arena *a;
        const struct type *object_meta;
        struct err *err;
};

/* A schema node together with what own/ made of it, and how deep it stands. */
struct node {
        const struct value *rules;
        const struct schema *schema;
        unsigned depth;
};

static const struct {
        const char *type;
        enum type_kind kind;
} kinds[] = {
        { "string", TYPE_STRING }, { "integer", TYPE_INT64 }, { "number", TYPE_NUMBER },
        { "boolean", TYPE_BOOL },  { "array", TYPE_LIST },    { "object", TYPE_STRUCT },
};

static int read_node(const struct reader *r, struct node n, const struct type **ret_type);

static bool is_marked(const struct value *rules, const char *name) {
        return value_truth(value_getc(rules, name), false);
}

static enum type_kind kind_of(const struct value *rules) {
        struct str type = value_text(value_getc(rules, "type"));

        if (is_marked(rules, "x-kubernetes-int-or-string"))
                return TYPE_INT_OR_STRING;
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (str_eqc(type, kinds[i].type))
                        return kinds[i].kind;
        return TYPE_ANY;
}

static void add_resource_fields(const struct reader *r, struct type_field *fields, size_t *count) {
        struct type *text = types_make(r->a, TYPE_STRING, SCHEMA_SCALAR);

        fields[(*count)++] = (struct type_field){ .name = STR("apiVersion"), .type = text };
        fields[(*count)++] = (struct type_field){ .name = STR("kind"), .type = text };
        fields[(*count)++] = (struct type_field){ .name = STR("metadata"), .type = r->object_meta };
}

static bool is_resource_field(struct str name) {
        return str_eqc(name, "apiVersion") || str_eqc(name, "kind") || str_eqc(name, "metadata");
}

static bool is_required(const struct value *rules, struct str name) {
        const struct value *required = value_getc(rules, "required");

        for (size_t i = 0; i < value_count(required); i++)
                if (str_eq(value_text(required->list.items[i]), name))
                        return true;
        return false;
}

static int read_fields(const struct reader *r, struct node n, struct type *t) {
        const struct value *properties = value_getc(n.rules, "properties");
        _cleanup_(mem_freep) struct type_field *fields = mem_zalloc((value_count(properties) + 3) * sizeof *fields);
        size_t count = 0;

        for (size_t i = 0; i < value_count(properties); i++) {
                const struct value_member *m = &properties->map.members[i];
                struct type_field *f = &fields[count];
                struct node inner = { m->value, schema_field(n.schema, m->key), n.depth + 1 };

                if (t->embedded && is_resource_field(m->key))
                        continue;
                int res = read_node(r, inner, &f->type);

                if (res < 0)
                        return res;
                f->name = m->key;
                f->fallback = value_getc(m->value, "default");
                f->required = is_required(n.rules, m->key);
                count++;
        }
        if (t->embedded)
                add_resource_fields(r, fields, &count);
        types_set_fields(r->a, t, fields, count);
        return 0;
}

/* Maps with free keys, and structs. Structural schemas never are both. */
static int read_object(const struct reader *r, struct node n, struct type *t) {
        const struct value *extra = value_getc(n.rules, "additionalProperties");
        struct node inner = { extra, n.schema ? n.schema->item : NULL, n.depth + 1 };

        if (value_is(extra, VALUE_MAP) || value_truth(extra, false)) {
                t->kind = TYPE_MAP;
                return read_node(r, inner, &t->item);
        }
        return read_fields(r, n, t);
}

static int read_node(const struct reader *r, struct node n, const struct type **ret_type) {
        struct type *t = types_make(r->a, kind_of(n.rules), SCHEMA_STRUCT);
        const struct schema *made = t->schema; /* types_set_fields() fills this one; own/'s is the one that counts */
        struct node item = { value_getc(n.rules, "items"), schema_item(n.schema), n.depth + 1 };
        int res = 0;

        if (n.depth > JSON_MAX_DEPTH)
                return err_set(r->err, ERR_LIMIT, "the schema is deeper than %d", JSON_MAX_DEPTH);
        t->rules = n.rules;
        t->nullable = is_marked(n.rules, "nullable");
        t->preserve_unknown = is_marked(n.rules, "x-kubernetes-preserve-unknown-fields");
        t->embedded = n.depth == 0 || is_marked(n.rules, "x-kubernetes-embedded-resource");
        if (t->kind == TYPE_STRUCT || t->kind == TYPE_ANY)
                res = read_object(r, n, t);
        else if (t->kind == TYPE_LIST && item.rules)
                res = read_node(r, item, &t->item);
        if (res < 0)
                return res;
        t->schema = n.schema ? n.schema : t->field_count ? made : &types_schema_deduced;
        *ret_type = t;
        return 0;
}

static const struct value *find_version(const struct value *crd, struct str version) {
        const struct value *versions = value_path(crd, "spec", "versions", NULL);

        for (size_t i = 0; i < value_count(versions); i++)
                if (str_eq(value_text(value_getc(versions->list.items[i], "name")), version))
                        return versions->list.items[i];
        return NULL;
}

int type_from_crd(const struct value *crd, struct str version, struct type_table *t, struct arena *a,
                  const struct type **ret_type, struct err *err) {
        struct reader r = { .a = a, .object_meta = types_named(t, STR("meta.v1.ObjectMeta")), .err = err };
        const struct value *found = find_version(crd, version);
        struct node root = { .rules = &value_empty_map };
        int res = schema_from_crd(crd, version, a, &root.schema, err);

        if (res < 0)
                return res;
        const struct value *rules = value_path(found, "schema", "openAPIV3Schema", NULL);

        if (rules)
                root.rules = value_dup(a, rules);
        res = read_node(&r, root, ret_type);
        return res < 0 ? err_wrap(err, res, "version \"%.*s\"", STR_FMT(version)) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CRD's openAPIV3Schema as a schema. The rules are those by which the API server builds its typed view of custom
 * resources (apiextensions-apiserver's OpenAPI builder, then kube-openapi's schemaconv).
 */
#include "own/schema_impl.h"

#include "base/limits.h"

struct reader {
        struct arena *arena;
        const struct schema *object_meta;
        struct err *err;
};

/* `preserve`: an ancestor or this node preserves unknown fields, which holds for all that is below. */
static int read_node(const struct reader *r, const struct value *s, bool preserve, unsigned depth,
                     const struct schema **ret);

static bool is_marked(const struct value *s, const char *name) {
        return value_truth(value_getc(s, name), false);
}

static bool text_is(const struct value *s, const char *name, const char *text) {
        return str_eqc(value_text(value_getc(s, name)), text);
}

/* The type of members that are not declared; *ret stays NULL when there may be none. `declared`: some are. */
static int read_undeclared(const struct reader *r, const struct value *s, bool preserve, bool declared, unsigned depth,
                           const struct schema **ret) {
        const struct value *extra = value_getc(s, "additionalProperties");

        if (value_is(extra, VALUE_MAP))
                return read_node(r, extra, preserve, depth + 1, ret);
        if (value_is(extra, VALUE_BOOL))
                *ret = extra->boolean ? &schema_deduced : NULL;
        else if (preserve || !declared)
                *ret = &schema_deduced;
        return 0;
}

static int read_properties(const struct reader *r, const struct value *s, bool preserve, unsigned depth,
                           struct schema_field *fields) {
        const struct value *properties = value_getc(s, "properties");

        for (size_t i = 0; i < value_count(properties); i++) {
                const struct value_member *p = &properties->map.members[i];
                int res = read_node(r, p->value, preserve, depth + 1, &fields[i].type);

                if (res < 0)
                        return res;
                fields[i].name = arena_str(r->arena, p->key);
        }
        return 0;
}

static int read_object(const struct reader *r, const struct value *s, bool preserve, unsigned depth,
                       const struct schema **ret) {
        const struct value *properties = value_getc(s, "properties");
        size_t count = value_is(properties, VALUE_MAP) ? properties->map.count : 0;
        bool embedded = depth == 0 || is_marked(s, "x-kubernetes-embedded-resource");
        struct schema *out = schema_make(r->arena, count || embedded ? SCHEMA_STRUCT : SCHEMA_MAP);

        if (text_is(s, "x-kubernetes-map-type", "atomic")) {
                *ret = &schema_atomic;
                return 0;
        }
        int res = read_undeclared(r, s, preserve, count || embedded, depth, &out->item);
        if (res < 0)
                return res;

        _cleanup_(mem_freep) struct schema_field *fields = mem_zalloc((count + 3) * sizeof *fields);
        res = read_properties(r, s, preserve, depth, fields);
        if (res < 0)
                return res;
        if (embedded) {
                fields[count++] = (struct schema_field){ STR("apiVersion"), &schema_scalar };
                fields[count++] = (struct schema_field){ STR("kind"), &schema_scalar };
                fields[count++] = (struct schema_field){ STR("metadata"), r->object_meta };
        }
        schema_set_fields(r->arena, out, fields, count);
        *ret = out;
        return 0;
}

static void sort_keys(struct schema_key *keys, size_t count) {
        for (size_t i = 1; i < count; i++)
                for (size_t j = i; j > 0 && str_cmp(keys[j - 1].name, keys[j].name) > 0; j--) {
                        struct schema_key swap = keys[j];

                        keys[j] = keys[j - 1];
                        keys[j - 1] = swap;
                }
}

static int read_keyed_list(const struct reader *r, const struct value *s, bool preserve, unsigned depth,
                           const struct schema **ret) {
        const struct value *names = value_getc(s, "x-kubernetes-list-map-keys");
        const struct value *items = value_getc(s, "items");
        size_t count = value_is(names, VALUE_LIST) ? names->list.count : 0;

        if (count > SCHEMA_MAX_KEYS)
                return err_set(r->err, ERR_LIMIT, "a list of the schema has %zu keys, more than %d", count,
                               SCHEMA_MAX_KEYS);
        if (count == 0)
                return 0;

        struct schema *out = schema_make(r->arena, SCHEMA_LIST_MAP);
        struct schema_key *keys = arena_zalloc(r->arena, count * sizeof *keys);

        for (size_t i = 0; i < count; i++) {
                struct str name = value_text(names->list.items[i]);
                const struct value *field = value_get(value_getc(items, "properties"), name);
                const struct value *fallback = value_getc(field, "default");

                keys[i].name = arena_str(r->arena, name);
                keys[i].fallback = fallback ? value_dup(r->arena, fallback) : NULL;
        }
        sort_keys(keys, count);
        out->keys = keys;
        out->key_count = count;
        *ret = out;
        return read_node(r, items, preserve, depth + 1, &out->item);
}

static int read_list(const struct reader *r, const struct value *s, bool preserve, unsigned depth,
                     const struct schema **ret) {
        if (text_is(s, "x-kubernetes-list-type", "map"))
                return read_keyed_list(r, s, preserve, depth, ret);
        if (!text_is(s, "x-kubernetes-list-type", "set")) {
                *ret = &schema_atomic;
                return 0;
        }
        /* A set of maps or lists has no place in FieldsV1: leave it unknown. */
        if (!text_is(value_getc(s, "items"), "type", "object") && !text_is(value_getc(s, "items"), "type", "array"))
                *ret = &schema_list_set;
        return 0;
}

/* No type: anything goes. Scalars, granular maps and atomic lists, unless more is said, which nothing can rely on. */
static const struct schema *untyped(const struct value *s) {
        if (is_marked(s, "x-kubernetes-int-or-string"))
                return &schema_scalar;
        if (value_getc(s, "properties") || value_getc(s, "additionalProperties") ||
            value_getc(s, "x-kubernetes-list-type") || value_getc(s, "x-kubernetes-map-type"))
                return NULL;
        return &schema_deduced;
}

static int read_node(const struct reader *r, const struct value *s, bool preserve, unsigned depth,
                     const struct schema **ret) {
        struct str type = value_text(value_getc(s, "type"));

        if (depth > JSON_MAX_DEPTH)
                return err_set(r->err, ERR_LIMIT, "the schema is deeper than %d", JSON_MAX_DEPTH);
        preserve = preserve || is_marked(s, "x-kubernetes-preserve-unknown-fields");
        if (str_eqc(type, "object"))
                return read_object(r, s, preserve, depth, ret);
        if (str_eqc(type, "array"))
                return read_list(r, s, preserve, depth, ret);
        *ret = type.n ? &schema_scalar : untyped(s);
        return 0;
}

static const struct value *find_version(const struct value *crd, struct str version) {
        const struct value *versions = value_path(crd, "spec", "versions", NULL);

        for (size_t i = 0; value_is(versions, VALUE_LIST) && i < versions->list.count; i++)
                if (str_eq(value_text(value_getc(versions->list.items[i], "name")), version))
                        return versions->list.items[i];
        return NULL;
}

/* Without a schema all but metadata is free-form. */
static const struct schema *free_form(const struct reader *r) {
        struct schema_field fields[] = {
                { STR("apiVersion"), &schema_scalar },
                { STR("kind"), &schema_scalar },
                { STR("metadata"), r->object_meta },
        };
        struct schema *s = schema_make(r->arena, SCHEMA_STRUCT);

        s->item = &schema_deduced;
        schema_set_fields(r->arena, s, fields, ARRAY_LEN(fields));
        return s;
}

int schema_from_crd(const struct value *crd, struct str version, struct arena *a, const struct schema **ret_schema,
                    struct err *err) {
        struct reader r = { .arena = a, .err = err };
        const struct schema *root = NULL;

        if (!str_eqc(value_text(value_getc(crd, "kind")), "CustomResourceDefinition"))
                return err_set(err, ERR_INVAL, "not a CustomResourceDefinition");
        const struct value *found = find_version(crd, version);
        if (!found)
                return err_set(err, ERR_NOTFOUND, "the definition has no version \"%.*s\"", STR_FMT(version));

        const struct value *schema = value_path(found, "schema", "openAPIV3Schema", NULL);
        r.object_meta = schema_object_meta(a);
        if (!schema) {
                *ret_schema = free_form(&r);
                return 0;
        }
        int res = read_node(&r, schema, is_marked(value_getc(crd, "spec"), "preserveUnknownFields"), 0, &root);
        if (res < 0)
                return res;
        *ret_schema = root;
        return 0;
}

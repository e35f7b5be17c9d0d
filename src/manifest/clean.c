/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken out of, or rewritten in, an object before anybody compares or sends it: see object.h. */
#include "base/base64.h"
#include "base/limits.h"
#include "manifest/document_impl.h"

/* Metadata that belongs to the server. */
static const struct {
        const char *key;
        bool silent; /* common in hand-written files, where it does no harm */
} server_metadata[] = {
        { "creationTimestamp", true }, { "generation", true },         { "deletionGracePeriodSeconds", false },
        { "deletionTimestamp", false }, { "managedFields", false },    { "resourceVersion", false },
        { "selfLink", false },         { "uid", false },
};

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* Nulls. */

struct nulls {
        struct arena *a;
        bool builtin;     /* the kind is the server's own: null is absence */
        bool crd;         /* a schema may say `default: null`, which is not absence */
        bool string_data; /* ConfigMap or Secret: data is a map of strings */
};

static bool is_one_of(struct str key, const char *const *words, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (str_eqc(key, words[i]))
                        return true;
        return false;
}

/* Maps of strings, in which the server reads null as "". */
static bool is_string_map(const struct nulls *n, struct str key, unsigned depth) {
        static const char *const anywhere[] = { "labels", "annotations", "nodeSelector", "matchLabels" };
        static const char *const top[] = { "data", "binaryData", "stringData" };

        if (is_one_of(key, anywhere, ARRAY_LEN(anywhere)))
                return n->builtin;
        return n->string_data && depth == 1 && is_one_of(key, top, ARRAY_LEN(top));
}

/* Values inside a CRD's schema that stand for themselves. */
static bool is_schema_constant(const struct nulls *n, struct str key) {
        static const char *const words[] = { "default", "enum", "example" };

        return n->crd && is_one_of(key, words, ARRAY_LEN(words));
}

static const struct value *without_nulls(const struct nulls *n, const struct value *v, struct str key, unsigned depth);

/* What becomes of one member's value; NULL: the member goes. */
static const struct value *clean_member(const struct nulls *n, const struct value_member *e, struct str parent,
                                        unsigned depth) {
        if (is_schema_constant(n, e->key))
                return e->value;
        if (!value_is(e->value, VALUE_NULL))
                return without_nulls(n, e->value, e->key, depth + 1);
        if (is_string_map(n, parent, depth))
                return value_string(n->a, STR(""), e->value->line);
        if (n->builtin || (str_eqc(parent, "metadata") && str_eqc(e->key, "creationTimestamp")))
                return NULL;
        return e->value;
}

static const struct value *clean_map(const struct nulls *n, const struct value *map, struct str key, unsigned depth) {
        struct value_map_builder b = { 0 };
        bool changed = false;

        for (size_t i = 0; i < map->map.count; i++) {
                const struct value_member *e = &map->map.members[i];
                const struct value *clean = clean_member(n, e, key, depth);

                changed |= clean != e->value;
                if (clean)
                        value_map_add(&b, e->key, clean, e->line);
        }
        if (changed)
                return value_map_end(&b, n->a, map->line);
        value_map_drop(&b);
        return map;
}

static const struct value *clean_list(const struct nulls *n, const struct value *list, unsigned depth) {
        struct value_list_builder b = { 0 };
        bool changed = false;

        for (size_t i = 0; i < list->list.count; i++) {
                const struct value *clean = without_nulls(n, list->list.items[i], (struct str){ 0 }, depth + 1);

                changed |= clean != list->list.items[i];
                value_list_add(&b, clean);
        }
        if (changed)
                return value_list_end(&b, n->a, list->line);
        value_list_drop(&b);
        return list;
}

/* As deep as the parsers allow. Unchanged parts are shared. */
static const struct value *without_nulls(const struct nulls *n, const struct value *v, struct str key, unsigned depth) {
        if (value_is(v, VALUE_MAP))
                return clean_map(n, v, key, depth);
        return value_is(v, VALUE_LIST) ? clean_list(n, v, depth) : v;
}

/* Metadata. */

static const struct value *clean_annotations(struct making *m, const struct value *map) {
        const struct value_member *e = value_member_find(map, STR(LAST_APPLIED));

        if (!e)
                return map;
        making_warning(m, e->line, "annotation %s is left out, kubectl writes it", LAST_APPLIED);
        return value_with(m->a, map, e->key, NULL);
}

/* Null labels and annotations become "", in every kind: metadata has one schema. */
static const struct value *clean_strings(struct making *m, const struct value *map) {
        struct nulls n = { .a = m->a, .builtin = true };

        return value_is(map, VALUE_MAP) ? clean_map(&n, map, STR("labels"), 0) : NULL;
}

static const struct value *clean_metadata_member(struct making *m, const struct value_member *e) {
        if (value_is(e->value, VALUE_NULL))
                return NULL;
        for (size_t i = 0; i < ARRAY_LEN(server_metadata); i++) {
                if (!str_eqc(e->key, server_metadata[i].key))
                        continue;
                if (!server_metadata[i].silent)
                        making_warning(m, e->line, "metadata.%s is left out, it is the server's",
                                       server_metadata[i].key);
                return NULL;
        }
        if (str_eqc(e->key, "annotations"))
                return clean_strings(m, clean_annotations(m, e->value));
        return str_eqc(e->key, "labels") ? clean_strings(m, e->value) : e->value;
}

static const struct value *clean_metadata(struct making *m, const struct value *meta) {
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < meta->map.count; i++) {
                const struct value_member *e = &meta->map.members[i];
                const struct value *clean = clean_metadata_member(m, e);

                if (clean)
                        value_map_add(&b, e->key, clean, e->line);
        }
        return value_map_end(&b, m->a, meta->line);
}

/* Secrets. Messages name keys, never values. */

static const struct value *encoded(struct arena *a, const struct value *v) {
        _cleanup_(buf_done) struct buf text = buf_make(base64_text_bytes(v->text.n));

        base64_encode(v->text, &text);
        const struct value *ret = value_string(a, buf_str(&text), v->line);
        explicit_bzero(text.p, text.n);
        return ret;
}

/* Line breaks in base64 are legal for the server, which gives them back without. */
static const struct value *unfolded(struct arena *a, const struct value *v) {
        char *out;
        size_t n = 0;

        if (str_find(v->text, '\n', 0) < 0 && str_find(v->text, '\r', 0) < 0)
                return v;
        out = arena_alloc(a, v->text.n + 1);
        for (size_t i = 0; i < v->text.n; i++)
                if (v->text.p[i] != '\n' && v->text.p[i] != '\r')
                        out[n++] = v->text.p[i];
        return value_string(a, (struct str){ out, n }, v->line);
}

static void add_data(struct making *m, struct value_map_builder *b, const struct value_member *e) {
        const struct value *v = value_is(e->value, VALUE_STRING) ? unfolded(m->a, e->value) : NULL;

        if (!v || !base64_is_valid(v->text))
                making_error(m, ERR_INVAL, e->line, "data: the value of %s is not %s", manifest_quoted(m->a, e->key).p,
                             v ? "base64 (stringData takes plain text)" : "a string");
        else
                value_map_add(b, e->key, v, e->line);
}

static void add_string_data(struct making *m, struct value_map_builder *b, const struct value_member *e) {
        if (!value_is(e->value, VALUE_STRING))
                making_error(m, ERR_INVAL, e->line, "stringData: the value of %s is not a string (put it in quotes)",
                             manifest_quoted(m->a, e->key).p);
        else
                value_map_add(b, e->key, encoded(m->a, e->value), e->line);
}

static void add_each(struct making *m, struct value_map_builder *b, const struct value *secret, const char *key,
                     void (*add)(struct making *m, struct value_map_builder *b, const struct value_member *e)) {
        const struct value_member *map = value_member_find(secret, str_from(key));

        if (map && !value_is(map->value, VALUE_MAP)) {
                making_error(m, ERR_INVAL, map->line, "%s must be a map", key);
                return;
        }
        for (size_t i = 0; map && i < map->value->map.count; i++)
                add(m, b, &map->value->map.members[i]);
}

/* Of equal keys the one added last wins: stringData. */
static const struct value *clean_secret(struct making *m, const struct value *v) {
        const struct value *data = value_getc(v, "data"), *strings = value_getc(v, "stringData");
        struct value_map_builder b = { 0 };

        if (!data && !strings)
                return v;
        add_each(m, &b, v, "data", add_data);
        add_each(m, &b, v, "stringData", add_string_data);
        v = value_with(m->a, v, STR("stringData"), NULL);
        return value_with(m->a, v, STR("data"), value_map_end(&b, m->a, data ? data->line : strings->line));
}

const struct value *clean_object(struct making *m, const struct value *v) {
        struct nulls n = { .a = m->a, .builtin = manifest_group_is_builtin(m->o.group) };

        n.crd = manifest_is_crd(m->o.group, m->o.kind);
        n.string_data = m->o.group.n == 0 && (m->o.secret || str_eqc(m->o.kind, "ConfigMap"));

        v = value_with(m->a, v, STR("status"), NULL);
        v = value_with(m->a, v, STR("metadata"), clean_metadata(m, value_getc(v, "metadata")));
        v = without_nulls(&n, v, (struct str){ 0 }, 0);
        return m->o.secret ? clean_secret(m, v) : v;
}

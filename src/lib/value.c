/* SPDX-License-Identifier: Apache-2.0 */
#include "truce/value.h"

#include "base/json.h"
#include "base/pointer.h"
#include "base/yaml.h"
#include "lib/lib_impl.h"

const char *truce_version(void) {
        return TRUCE_VERSION;
}

void truce_free(char *text) {
        free(text);
}

const struct value *lib_value(const struct truce_value *v) {
        return v ? v->value : NULL;
}

char *lib_text(struct str s) {
        char *copy = mem_alloc(s.n + 1);

        if (s.n)
                memcpy(copy, s.p, s.n);
        copy[s.n] = '\0';
        return copy;
}

int lib_fail(int code, const struct err *err, char **ret_message) {
        if (ret_message)
                *ret_message = lib_text(str_from(err->msg));
        return code;
}

int lib_type(const struct value *object, const struct truce_value *crd, struct arena *a, const struct schema **ret_type,
             struct err *err) {
        struct str api_version = value_text(value_getc(object, "apiVersion")),
                   kind = value_text(value_getc(object, "kind"));

        if (api_version.n == 0 || kind.n == 0)
                return err_set(err, ERR_INVAL, "the document is no object: apiVersion or kind is missing");
        if (crd && !str_eq(value_text(value_path(crd->value, "spec", "names", "kind", NULL)), kind))
                return err_set(err, ERR_INVAL, "the CustomResourceDefinition is not that of kind %.*s", STR_FMT(kind));
        if (crd)
                return schema_from_crd(crd->value, schema_version(api_version), a, ret_type, err);
        *ret_type = schema_builtin(a, api_version, kind);
        return 0;
}

int truce_value_from_json(const char *text, size_t bytes, struct truce_value **ret_value, char **ret_message) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *parsed;
        struct err err;
        int r = json_parse((struct str){ text, bytes }, a, &parsed, &err);

        if (r < 0)
                return lib_fail(r, &err, ret_message);
        struct truce_value *v = mem_zalloc(sizeof *v);
        v->value = parsed;
        v->arena = TAKE_PTR(a);
        *ret_value = v;
        return TRUCE_OK;
}

/* Each document has an arena of its own, so that they can be freed apart. */
static struct truce_value *own_copy(const struct value *value) {
        struct truce_value *v = mem_zalloc(sizeof *v);

        v->arena = arena_new(0);
        v->value = value_dup(v->arena, value);
        return v;
}

int truce_values_from_yaml(const char *text, size_t bytes, struct truce_value ***ret_values, size_t *ret_count,
                           char **ret_message) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct yaml_document *docs;
        size_t doc_count, count = 0;
        struct err err;
        int r = yaml_parse((struct str){ text, bytes }, a, &docs, &doc_count, &err);

        if (r < 0)
                return lib_fail(r, &err, ret_message);
        struct truce_value **values = mem_zalloc((doc_count + 1) * sizeof *values);
        for (size_t i = 0; i < doc_count; i++) {
                if (docs[i].value)
                        values[count++] = own_copy(docs[i].value);
        }
        *ret_values = values;
        *ret_count = count;
        return TRUCE_OK;
}

void truce_value_free(struct truce_value *value) {
        if (!value)
                return;
        arena_free(value->arena);
        free(value);
}

void truce_values_free(struct truce_value **values, size_t count) {
        for (size_t i = 0; values && i < count; i++)
                truce_value_free(values[i]);
        free(values);
}

char *truce_value_json(const struct truce_value *value) {
        _cleanup_(buf_done) struct buf out = buf_make(LIB_MAX_TEXT_BYTES);

        value_print(value->value, &out);
        return lib_text(buf_str(&out));
}

char *truce_value_yaml(const struct truce_value *value) {
        _cleanup_(buf_done) struct buf out = buf_make(LIB_MAX_TEXT_BYTES);

        yaml_print(value->value, &out);
        return lib_text(buf_str(&out));
}

int truce_value_at(const struct truce_value *value, const char *pointer, char **ret_json, char **ret_message) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct pointer p;
        struct err err;
        int r = pointer_parse(str_from(pointer), a, &p, &err);

        if (r < 0)
                return lib_fail(r, &err, ret_message);
        const struct value *found = pointer_find(value->value, p);
        if (!found)
                return lib_fail(err_set(&err, ERR_NOTFOUND, "there is nothing at %s", pointer), &err, ret_message);
        *ret_json = lib_text(value_canonical(a, found));
        return TRUCE_OK;
}

bool truce_value_equal(const struct truce_value *a, const struct truce_value *b) {
        return value_equal(a->value, b->value);
}

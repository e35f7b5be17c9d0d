/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First line: a FieldsV1 set. Rest: a live object. Any bytes are accepted or refused; what is accepted survives
 * printing and obeys the laws of sets; proof, projection and owners never trip over an object that does not fit the
 * set.
 */
#include "fuzz.h"

#include "base/json.h"
#include "own/decide.h"

static const struct fieldset *parse(struct str text, struct arena *a) {
        const struct fieldset *s = NULL;
        struct err err = { 0 };
        int r = fieldset_parse_text(text, a, &s, &err);

        HOLDS(r == 0 || r == ERR_PARSE || r == ERR_LIMIT);
        HOLDS((r == 0) == (s != NULL));
        return s;
}

static void check_print(const struct fieldset *s, struct arena *a) {
        struct str text = fieldset_text(a, s);
        const struct fieldset *again = parse(text, a);

        HOLDS(again && fieldset_equal(again, s));
        HOLDS(str_eq(fieldset_text(a, again), text));
}

static void check_laws(const struct fieldset *s, struct arena *a) {
        const struct field_path *paths;
        size_t count = fieldset_paths(s, a, &paths);

        HOLDS(count == fieldset_count(s));
        HOLDS(fieldset_equal(fieldset_union(a, s, s), s));
        HOLDS(fieldset_is_empty(fieldset_subtract(a, s, s)));
        for (size_t i = 0; i < count && i < 16; i++) {
                const struct fieldset *in = fieldset_under(a, s, paths[i]), *out = fieldset_without(a, s, paths[i]);

                HOLDS(fieldset_contains(s, paths[i]) && !fieldset_contains(out, paths[i]));
                HOLDS(fieldset_equal(fieldset_union(a, in, out), s));
                HOLDS(fieldset_count(fieldset_remove(a, s, paths[i])) == count - 1);
                field_path_text(a, paths[i]);
        }
}

/* The live object with an entry of ours that has the set. */
static const struct value *with_entry(const struct value *object, const struct fieldset *s, struct arena *a) {
        struct str path[] = { STR("metadata"), STR("managedFields") };
        struct value_map_builder entry = { 0 };
        struct value_list_builder list = { 0 };

        value_map_add(&entry, STR("manager"), value_stringc(a, OWN_MANAGER), 0);
        value_map_add(&entry, STR("operation"), value_stringc(a, "Apply"), 0);
        value_map_add(&entry, STR("apiVersion"),
                      value_get(object, STR("apiVersion")) ? value_getc(object, "apiVersion") : &value_null, 0);
        value_map_add(&entry, STR("fieldsV1"), fieldset_to_value(a, s), 0);
        value_list_add(&list, value_map_end(&entry, a, 0));
        return value_with_path(a, object, path, 2, value_list_end(&list, a, 0));
}

static void check_object(const struct fieldset *s, const struct value *object, struct arena *a) {
        const struct schema *type = schema_builtin(a, STR("apps/v1"), STR("Deployment"));
        const struct value *live = with_entry(object, s, a);
        const struct hash_key key = { 1, 2 };
        struct hash128 one, two;
        struct managed m;

        HOLDS(managed_parse(live, a, &m, NULL) == 0 && managed_ours(&m));
        proof_no_op(object, live, &m, type, a);
        proof_no_op(object, live, &m, NULL, a);
        own_project(live, s, NULL, a);
        HOLDS(parse(fieldset_text(a, fieldset_of_value(object, type, a, NULL)), a));
        if (fingerprint_of(&key, object, live, &m, type, a, &one, NULL) == 0) {
                HOLDS(fingerprint_of(&key, object, live, &m, type, a, &two, NULL) == 0);
                HOLDS(hash128_eq(one, two));
        }

        struct decide_input in = { .desired = object, .live = live, .key = &key, .fingerprint = &one };
        struct decision d;

        decide(&in, a, &d, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct arena *a = arena_new(0);
        struct str text = { (const char *)data, n };
        ptrdiff_t line = str_find(text, '\n', 0);
        const struct fieldset *s = parse(str_sub(text, 0, line < 0 ? n : (size_t)line), a);
        const struct value *object = NULL;

        if (s) {
                check_print(s, a);
                check_laws(s, a);
        }
        if (s && line >= 0 && json_parse(str_sub(text, (size_t)line + 1, n), a, &object, NULL) == 0 &&
            value_is(object, VALUE_MAP))
                check_object(s, object, a);
        arena_free(a);
        return 0;
}

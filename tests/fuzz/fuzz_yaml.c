/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: YAML is accepted or refused, never with a bug of ours; what is accepted survives printing. */
#include "fuzz.h"

#include "base/json.h"
#include "base/yaml.h"

static void check_json(const struct value *v, struct arena *a) {
        const struct value *again = NULL;
        struct err err = { 0 };

        /* YAML lets a document nest less deep than JSON does. */
        HOLDS(json_parse(value_canonical(a, v), a, &again, &err) == 0);
        HOLDS(value_equal(again, v));
}

static void check_print(const struct value *v, struct arena *a) {
        _cleanup_(buf_done) struct buf printed = buf_make(SIZE_MAX / 4), again = buf_make(SIZE_MAX / 4);
        const struct yaml_document *docs;
        size_t count;

        yaml_print(v, &printed);
        HOLDS(yaml_parse(buf_str(&printed), a, &docs, &count, NULL) == 0);
        HOLDS(count == 1 && docs[0].value && docs[0].note_count == 0);
        HOLDS(value_equal(docs[0].value, v));
        yaml_print(docs[0].value, &again);
        HOLDS(str_eq(buf_str(&again), buf_str(&printed)));
}

static void check_document(const struct yaml_document *doc, struct arena *a) {
        HOLDS(doc->line > 0);
        for (size_t i = 0; i < doc->note_count; i++)
                HOLDS(doc->notes[i].first_line > 0 && doc->notes[i].first_line <= doc->notes[i].line);
        if (!doc->value)
                return;
        HOLDS(doc->value->line > 0);
        check_json(doc->value, a);
        check_print(doc->value, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct arena *a = arena_new(0);
        const struct yaml_document *docs = NULL;
        struct err err = { 0 };
        size_t count = 0;
        int r = yaml_parse((struct str){ (const char *)data, n }, a, &docs, &count, &err);

        HOLDS(r == 0 || r == ERR_PARSE || r == ERR_LIMIT);
        HOLDS(r == err.code);
        for (size_t i = 0; i < count; i++)
                check_document(&docs[i], a);
        arena_free(a);
        return 0;
}

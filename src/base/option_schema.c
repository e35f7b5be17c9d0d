/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What options_read() takes, as a JSON Schema. A null is as absent there, so each type has it beside its own.
 *
 * Source: JSON Schema draft-07, the version that editors know best.
 */
#include "base/duration.h"
#include "base/option.h"

#define MAX_KEY_DEPTH 8
/* As duration.c reads it; a plain number is seconds, also as text. */
#define DURATION_PATTERN                                                                                               \
        "^([0-9]+|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\xc2\xb5s|ms|s|m|h|d))+)$"

struct schema {
        struct arena *a;
        const struct value *map;
};

static void set(struct schema *s, const char *key, const struct value *v) {
        s->map = value_with(s->a, s->map, str_from(key), v);
}

static void set_number(struct schema *s, const char *key, int64_t n) {
        set(s, key, value_int(s->a, n, 0));
}

/* Ended by NULL; "null" comes with all of them. */
static void set_types(struct schema *s, const char *const *names) {
        struct value_list_builder list = { 0 };

        for (; *names; names++)
                value_list_add(&list, value_stringc(s->a, *names));
        value_list_add(&list, value_stringc(s->a, "null"));
        set(s, "type", value_list_end(&list, s->a, 0));
}

static void set_choices(struct schema *s, const char *const *choices) {
        struct value_list_builder list = { 0 };

        for (; *choices; choices++) {
                value_list_add(&list, value_stringc(s->a, *choices));
                if (strcmp(*choices, "true") == 0 || strcmp(*choices, "false") == 0)
                        value_list_add(&list, value_bool(s->a, **choices == 't', 0));
        }
        value_list_add(&list, &value_null);
        set(s, "enum", value_list_end(&list, s->a, 0));
}

static void add_bool(struct schema *s, const struct option_def *def) {
        set_types(s, (const char *const[]){ "boolean", NULL });
        set(s, "default", value_bool(s->a, def->fallback && strcmp(def->fallback, "true") == 0, 0));
}

static void add_text(struct schema *s, const struct option_def *def) {
        set_types(s, (const char *const[]){ "string", NULL });
        if (def->min)
                set_number(s, "minLength", def->min);
        if (def->max)
                set_number(s, "maxLength", def->max);
        if (def->fallback)
                set(s, "default", value_stringc(s->a, def->fallback));
}

static void add_number(struct schema *s, const struct option_def *def) {
        set_types(s, (const char *const[]){ "integer", NULL });
        if (def->min || def->max) {
                set_number(s, "minimum", def->min);
                set_number(s, "maximum", def->max);
        }
        set(s, "default", value_number(s->a, str_from(def->fallback ? def->fallback : "0"), 0));
}

static void add_duration(struct schema *s, const struct option_def *def) {
        set_types(s, (const char *const[]){ "string", "integer", NULL });
        set(s, "pattern", value_stringc(s->a, DURATION_PATTERN));
        if (def->min || def->max) {
                set_number(s, "minimum", (def->min + 999) / 1000);
                set_number(s, "maximum", def->max / 1000);
        }
        if (def->fallback)
                set(s, "default", value_stringc(s->a, def->fallback));
}

static void add_choice(struct schema *s, const struct option_def *def) {
        set_choices(s, def->choices);
        set(s, "default", value_stringc(s->a, def->fallback ? def->fallback : def->choices[0]));
}

static void add_list(struct schema *s, const struct option_def *def) {
        (void)def;
        set_types(s, (const char *const[]){ "array", "string", NULL });
        set(s, "items", value_with(s->a, NULL, STR("type"), value_stringc(s->a, "string")));
}

/* The clause of --help, and the bounds of a time, which a pattern cannot say. */
static void add_description(struct schema *s, const struct option_def *def) {
        _cleanup_(buf_done) struct buf text = buf_make(4096);

        buf_addc(&text, def->help);
        if (def->type == OPTION_DURATION && (def->min || def->max)) {
                buf_addc(&text, " (");
                duration_print(def->min, &text);
                buf_addc(&text, " to ");
                duration_print(def->max, &text);
                buf_addc(&text, ")");
        }
        set(s, "description", value_string(s->a, buf_str(&text), 0));
}

static const struct value *schema_of(const struct option_def *def, struct arena *a) {
        static void (*const add[])(struct schema *s, const struct option_def *def) = {
                [OPTION_BOOL] = add_bool,         [OPTION_TEXT] = add_text,     [OPTION_NUMBER] = add_number,
                [OPTION_DURATION] = add_duration, [OPTION_CHOICE] = add_choice, [OPTION_LIST] = add_list,
                [OPTION_VALUE] = NULL,
        };
        struct schema s = { a, &value_empty_map };

        if (add[def->type])
                add[def->type](&s, def);
        add_description(&s, def);
        return s.map;
}

/* A map that has only known keys; `properties` come to it. */
static const struct value *as_map(const struct value *v, struct arena *a) {
        struct schema s = { a, v };

        set_types(&s, (const char *const[]){ "object", NULL });
        set(&s, "additionalProperties", &value_false);
        return s.map;
}

/* "prune.maxCount" goes to properties, prune, properties, maxCount. */
static const struct value *with_key(const struct value *root, const struct option_def *def, struct arena *a) {
        struct str path[2 * MAX_KEY_DEPTH], rest = str_from(def->key), key;
        size_t n = 0;

        while (n + 1 < ARRAY_LEN(path) && str_next(&rest, '.', &key)) {
                const struct value *map = root;

                for (size_t i = 0; i < n; i++)
                        map = value_get(map, path[i]);
                if (n)
                        root = value_with_path(a, root, path, n, as_map(map, a));
                path[n++] = STR("properties");
                path[n++] = key;
        }
        return value_with_path(a, root, path, n, schema_of(def, a));
}

const struct value *options_schema(const struct option_group *groups, size_t count, struct arena *a) {
        const struct value *root = as_map(NULL, a);

        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < groups[i].count; j++)
                        if (groups[i].defs[j].key)
                                root = with_key(root, &groups[i].defs[j], a);
        return root;
}

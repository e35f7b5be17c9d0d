/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Argo CD's knownTypeFields: fields of custom kinds that hold a type of Kubernetes, whose quantities and durations may be
 * spelt in several ways:
 *
 *   - {field: spec.podSpec, type: core/v1/PodSpec}
 */
#include "agent/config_impl.h"
#include "base/glob.h"

static void add(struct config *c, const struct config_known_field *field) {
        struct config_known_field *all = config_grow(c, c->known_fields.fields, c->known_fields.count, sizeof *all);

        all[c->known_fields.count] = *field;
        c->known_fields = (struct config_known_fields){ all, c->known_fields.count + 1 };
}

/* `spec.podSpec` in its parts. False: one is empty. */
static bool split(struct arena *a, struct str text, struct known_field *ret) {
        struct str *names = arena_alloc(a, (text.n + 1) * sizeof *names);
        struct str rest = text, name;
        size_t count = 0;

        if (!text.n || text.p[text.n - 1] == '.')
                return false;
        while (str_next(&rest, '.', &name)) {
                if (!name.n)
                        return false;
                names[count++] = arena_str(a, name);
        }
        ret->names = names;
        ret->count = count;
        return true;
}

/* NULL: it is no map of strings, or has another key; told. */
static const struct value *checked(struct reader *r, const struct value *map, const char *where, uint32_t line_before) {
        static const char *const keys[] = { "field", "type" };

        if (!value_is(map, VALUE_MAP)) {
                reader_error(r, line_before + map->line, "%s: an entry is a map of field and type, not a %s", where,
                             value_kind_name(map->kind));
                return NULL;
        }
        for (size_t i = 0; i < map->map.count; i++) {
                const struct value_member *m = &map->map.members[i];
                const char *near = option_nearest(m->key, keys, ARRAY_LEN(keys));

                if (str_eqc(m->key, "field") || str_eqc(m->key, "type"))
                        continue;
                reader_error(r, line_before + m->line, "%s: unknown key %.*s%s%s%s", where, STR_FMT(m->key),
                             near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
                return NULL;
        }
        return map;
}

static void read_entry(struct reader *r, const struct value *map, const char *where, uint32_t line_before,
                       struct config_known_field *f) {
        struct str field = value_text(value_getc(map, "field")), type = value_text(value_getc(map, "type"));
        uint32_t line = line_before + map->line;
        struct err err;

        f->place = reader_place(r, line);
        f->field.type = arena_str(r->a, type);
        if (!split(r->a, str_starts(field, STR(".")) ? str_sub(field, 1, field.n) : field, &f->field))
                reader_error(r, line, "%s: field \"%.*s\" must be names with dots between, as spec.podSpec", where,
                             STR_FMT(field));
        else if (known_type_check(type, &err) < 0)
                reader_error(r, line, "%s: %s", where, err.msg);
        else
                add(r->c, f);
}

void config_read_known_fields(struct reader *r, const struct value *list, const char *where, uint32_t line_before,
                              struct str group, struct str kind) {
        if (!value_is(list, VALUE_LIST) || list->list.count > CONFIG_MAX_RULES) {
                reader_error(r, line_before + list->line, "%s must be a list of at most %d fields", where, CONFIG_MAX_RULES);
                return;
        }
        for (size_t i = 0; i < list->list.count; i++) {
                const struct value *map = checked(r, list->list.items[i], where, line_before);
                struct config_known_field f = { .group = group, .kind = kind };

                if (map)
                        read_entry(r, map, where, line_before, &f);
        }
}

void config_add_built_in_known_fields(struct config *c) {
        struct config_known_field f = { .group = STR("argoproj.io"), .kind = STR("Rollout"),
                                        .field.type = STR("core/v1/PodSpec") };

        split(c->arena, STR("spec.template.spec"), &f.field);
        add(c, &f);
}

const struct known_field *config_known_fields_of(const struct config_app *app, struct str group, struct str kind,
                                                 struct arena *a, size_t *ret_count) {
        struct known_field *fields = NULL;
        size_t count = 0;

        for (size_t i = 0; i < app->known_fields.count; i++) {
                const struct config_known_field *f = &app->known_fields.fields[i];

                if (!(f->group.n ? glob_match(f->group, group) : !group.n) || !glob_match(f->kind, kind))
                        continue;
                if (!fields)
                        fields = arena_alloc(a, app->known_fields.count * sizeof *fields);
                fields[count++] = f->field;
        }
        *ret_count = count;
        return fields;
}

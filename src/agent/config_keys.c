/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/config_impl.h"
#include "base/duration.h"
#include "base/yaml.h"

#define MAX_KEYS 128

/* Keys of any document. */
static const struct config_key common[] = {
        { "apiVersion", SETTING_USED, NULL },
        { "kind", SETTING_USED, NULL },
        { "metadata", SETTING_USED, NULL },
};

struct walk {
        struct reader *r;
        const struct config_key *keys;
        size_t count;
};

/* What follows the alias's path; NULL: the path is not below it. */
static const char *below_alias(const struct reader *r, const char *path) {
        size_t n = r->alias.value ? strlen(r->alias.path) : 0;

        if (n == 0 || strncmp(path, r->alias.path, n) != 0 || (path[n] && path[n] != '.'))
                return NULL;
        return path + n;
}

const char *config_shown(const struct reader *r, const char *path) {
        const char *rest = below_alias(r, path);

        return rest ? arena_strf(r->a, "%s%s", r->alias.shown, rest).p : path;
}

static const struct config_key *find_key(const struct config_key *keys, size_t count, struct str path) {
        for (size_t i = 0; i < count; i++)
                if (str_eqc(path, keys[i].path))
                        return &keys[i];
        return NULL;
}

static bool has_children(const struct walk *w, struct str path) {
        for (size_t i = 0; i < w->count; i++) {
                struct str key = str_from(w->keys[i].path);

                if (key.n > path.n && str_starts(key, path) && key.p[path.n] == '.')
                        return true;
        }
        return false;
}

/* Does the value say that the thing is not wanted? */
static bool is_off(const struct value *v) {
        switch (v->kind) {
        case VALUE_NULL:
                return true;
        case VALUE_BOOL:
                return !v->boolean;
        case VALUE_INT:
                return v->i64 == 0;
        case VALUE_STRING:
                return v->text.n == 0 || str_eqc(v->text, "false");
        default:
                return value_count(v) == 0;
        }
}

static const char *shown_path(const struct walk *w, struct str path) {
        return config_shown(w->r, arena_str(w->r->a, path).p);
}

static void unknown(struct walk *w, struct str path, uint32_t line) {
        const char *all[MAX_KEYS];
        size_t n = 0;
        const char *near;

        for (size_t i = 0; i < w->count && n < MAX_KEYS; i++)
                all[n++] = w->keys[i].path;
        near = option_nearest(path, all, n);
        reader_error(w->r, line, "unknown key %s%s%s%s", shown_path(w, path), near ? ", did you mean " : "",
                     near ? config_shown(w->r, near) : "", near ? "?" : "");
}

static void classify(struct walk *w, const struct config_key *key, const struct value_member *m) {
        const char *path = config_shown(w->r, key->path);

        if (key->class == SETTING_LATER && !is_off(m->value))
                reader_refuse(w->r, m->line, "%s: %s", path, key->reason);
        if (key->class == SETTING_IRRELEVANT)
                reader_irrelevant(w->r, m->line, str_from(path));
}

static void walk(struct walk *w, const struct value *map, struct str prefix);

static void visit(struct walk *w, const struct value_member *m, struct str prefix) {
        struct str path = prefix.n ? arena_strf(w->r->a, "%.*s.%.*s", STR_FMT(prefix), STR_FMT(m->key)) : m->key;
        const struct config_key *key = find_key(w->keys, w->count, path);

        if (key) {
                classify(w, key, m);
        } else if (has_children(w, path)) {
                if (value_is(m->value, VALUE_MAP))
                        walk(w, m->value, path);
                else if (!value_is(m->value, VALUE_NULL))
                        reader_error(w->r, m->line, "%s must be a map, not a %s", shown_path(w, path),
                                     value_kind_name(m->value->kind));
        } else if (prefix.n > 0 || !find_key(common, ARRAY_LEN(common), path)) {
                unknown(w, path, m->line);
        }
}

/* No deeper than the table's paths. */
static void walk(struct walk *w, const struct value *map, struct str prefix) {
        for (size_t i = 0; i < map->map.count; i++)
                visit(w, &map->map.members[i], prefix);
}

void config_check_keys(struct reader *r, const struct config_key *keys, size_t count) {
        struct walk w = { r, keys, count };

        if (r->alias.value)
                walk(&w, r->alias.value, str_from(r->alias.path));
        else
                walk(&w, r->o->value, (struct str){ 0 });
}

/* Typed reading. */

/* ret_line: where the member stands, or the nearest map around it that is there; untouched when there is neither. */
static const struct value *find(const struct reader *r, const char *path, uint32_t *ret_line) {
        const char *below = below_alias(r, path);
        const struct value *v = below ? r->alias.value : r->o->value;
        struct str rest = str_from(below ? below : path), key;

        if (below && v->line)
                *ret_line = v->line;
        if (below && rest.n > 0)
                rest = str_sub(rest, 1, rest.n);
        while (str_next(&rest, '.', &key)) {
                const struct value_member *m = value_member_find(v, key);

                if (!m)
                        return NULL;
                if (m->line)
                        *ret_line = m->line;
                v = m->value;
        }
        return v;
}

const struct value *config_find(const struct reader *r, const char *path) {
        uint32_t line;
        const struct value *v = find(r, path, &line);

        return value_is(v, VALUE_NULL) ? NULL : v;
}

uint32_t config_line(const struct reader *r, const char *path) {
        uint32_t line = r->o->line;

        find(r, path, &line);
        return line;
}

static void wrong_type(struct reader *r, const char *path, const char *what, const struct value *v) {
        reader_error(r, config_line(r, path), "%s must be %s, not a %s", config_shown(r, path), what, value_kind_name(v->kind));
}

void config_text(struct reader *r, const char *path, struct str *ret) {
        const struct value *v = config_find(r, path);

        if (!v)
                return;
        if (!value_is(v, VALUE_STRING))
                wrong_type(r, path, "a string", v);
        else
                *ret = v->text;
}

void config_bool(struct reader *r, const char *path, bool *ret) {
        const struct value *v = config_find(r, path);

        if (!v)
                return;
        if (!value_is(v, VALUE_BOOL))
                wrong_type(r, path, "true or false", v);
        else
                *ret = v->boolean;
}

void config_number(struct reader *r, const char *path, int64_t min, int64_t max, int64_t *ret) {
        const struct value *v = config_find(r, path);

        if (!v)
                return;
        if (!value_is(v, VALUE_INT))
                wrong_type(r, path, "a whole number", v);
        else if (v->i64 < min || v->i64 > max)
                reader_error(r, config_line(r, path), "%s must be %lld to %lld", config_shown(r, path), (long long)min, (long long)max);
        else
                *ret = v->i64;
}

void config_duration(struct reader *r, const char *path, int64_t *ret_ms) {
        const struct value *v = config_find(r, path);

        if (!v)
                return;
        if (!value_is(v, VALUE_STRING) && !value_is(v, VALUE_INT))
                wrong_type(r, path, "a duration", v);
        else if (!duration_parse(value_is(v, VALUE_INT) ? value_canonical(r->a, v) : v->text, ret_ms))
                reader_error(r, config_line(r, path), "%s must be a duration such as 5s or 3m", config_shown(r, path));
}

/* Texts. */

uint32_t config_line_before(const struct value *text) {
        return text->line && text->layout != VALUE_BLOCK ? text->line - 1 : text->line;
}

struct value_member config_member_in(struct reader *r, const struct value_member *m, uint32_t line_before) {
        struct value *value = arena_alloc(r->a, sizeof *value);

        *value = *m->value;
        value->line += line_before;
        return (struct value_member){ .key = m->key, .value = value, .line = line_before + m->line };
}

/* The same on line 1: which line of the file a part of it stands on is not known. */
static const struct value *in_one_line(const struct value *v, struct arena *a) {
        struct value_list_builder list = { 0 };
        struct value_map_builder map = { 0 };
        struct value *copy;

        for (size_t i = 0; v->kind == VALUE_LIST && i < v->list.count; i++)
                value_list_add(&list, in_one_line(v->list.items[i], a));
        for (size_t i = 0; v->kind == VALUE_MAP && i < v->map.count; i++)
                value_map_add(&map, v->map.members[i].key, in_one_line(v->map.members[i].value, a), 1);
        if (v->kind == VALUE_LIST)
                return value_list_end(&list, a, 1);
        if (v->kind == VALUE_MAP)
                return value_map_end(&map, a, 1);
        copy = arena_alloc(a, sizeof *copy);
        *copy = *v;
        copy->line = 1;
        if (v->kind == VALUE_STRING)
                copy->layout = VALUE_FOLDED;
        return copy;
}

static void tell_broken_yaml(struct reader *r, const struct value_member *m, const char *where, uint32_t line,
                             struct str message) {
        if (line && m->value->layout == VALUE_FOLDED)
                reader_error(r, m->value->line, "%s: line %u of the text: %.*s", where, line, STR_FMT(message));
        else
                reader_error(r, line ? config_line_before(m->value) + line : m->line, "%s: %.*s", where, STR_FMT(message));
}

const struct value *config_yaml_in(struct reader *r, const struct value_member *m, const char *where,
                                   uint32_t *ret_line_before) {
        const struct yaml_document *docs;
        size_t count;
        struct err err = { 0 };
        bool is_folded = m->value->layout == VALUE_FOLDED;

        *ret_line_before = 0;
        if (!value_is(m->value, VALUE_STRING)) {
                reader_error(r, m->line, "%s must be text that holds YAML, not a %s", where, value_kind_name(m->value->kind));
                return NULL;
        }
        *ret_line_before = config_line_before(m->value);
        if (yaml_parse(m->value->text, r->a, &docs, &count, &err) < 0 || count > 1) {
                struct str message = count > 1 ? STR("more than one document") : str_from(err.msg);
                uint32_t line = yaml_take_line(&message);

                tell_broken_yaml(r, m, where, line, message);
                return NULL;
        }
        for (size_t i = 0; count && i < docs[0].note_count; i++)
                reader_error(r, is_folded ? m->value->line : *ret_line_before + docs[0].notes[i].line,
                             "%s: the key \"%.*s\" is given twice", where, STR_FMT(docs[0].notes[i].key));
        if (!count || value_is(docs[0].value, VALUE_NULL))
                return NULL;
        return is_folded ? in_one_line(docs[0].value, r->a) : docs[0].value;
}

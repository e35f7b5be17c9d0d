/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option.h"

#include "base/duration.h"

/* One row and the target it belongs to. */
struct slot {
        const struct option_def *def;
        void *target;
        size_t index; /* among all rows of all groups */
};

static bool is_bool(const struct option_def *def) {
        return def->type == OPTION_BOOL;
}

static size_t rows(const struct option_group *groups, size_t count) {
        size_t n = 0;

        for (size_t i = 0; i < count; i++)
                n += groups[i].count;
        return n;
}

/* The first row for which `is` says yes. */
static bool find_slot(const struct option_group *groups, size_t count, struct str word,
                      bool (*is)(const struct option_def *def, struct str word), struct slot *ret_slot) {
        size_t index = 0;

        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < groups[i].count; j++, index++)
                        if (is(&groups[i].defs[j], word)) {
                                *ret_slot = (struct slot){ &groups[i].defs[j], groups[i].target, index };
                                return true;
                        }
        return false;
}

static bool name_is(const struct option_def *def, struct str word) {
        return def->name && str_eqc(word, def->name);
}

static bool letter_is(const struct option_def *def, struct str word) {
        return def->letter && word.n > 0 && word.p[0] == def->letter;
}

static bool key_is(const struct option_def *def, struct str word) {
        return def->key && str_eqc(word, def->key);
}

/* Does a key of the table lie below "word."? */
static bool key_begins(const struct option_def *def, struct str word) {
        struct str key = str_from(def->key);

        return key.n > word.n && str_starts(key, word) && key.p[word.n] == '.';
}

/* Setting one value. */

static void *field(const struct option_def *def, void *target) {
        return (char *)target + def->at;
}

static bool out_of_bounds(const struct option_def *def, int64_t number) {
        return (def->min != 0 || def->max != 0) && (number < def->min || number > def->max);
}

static int refuse_bounds(const struct option_def *def, struct err *err) {
        _cleanup_(buf_done) struct buf b = buf_make(256);

        if (def->type == OPTION_DURATION) {
                duration_print(def->min, &b);
                buf_addc(&b, " to ");
                duration_print(def->max, &b);
        } else {
                buf_addf(&b, "%lld to %lld", (long long)def->min, (long long)def->max);
        }
        return err_set(err, ERR_INVAL, "must be %s%s", b.p, def->type == OPTION_TEXT ? " bytes long" : "");
}

static int set_bool(const struct option_def *def, bool *at, struct str text, struct err *err) {
        (void)def;
        if (!str_eqc(text, "true") && !str_eqc(text, "false"))
                return err_set(err, ERR_INVAL, "must be true or false");

        *at = str_eqc(text, "true");
        return 0;
}

static int set_text(const struct option_def *def, struct str *at, struct str text, struct arena *a, struct err *err) {
        if (def->max != 0 && out_of_bounds(def, (int64_t)text.n))
                return refuse_bounds(def, err);

        *at = arena_str(a, text);
        return 0;
}

static int set_number(const struct option_def *def, int64_t *at, struct str text, struct err *err) {
        int64_t number;

        if (!str_to_i64(text, &number))
                return err_set(err, ERR_INVAL, "must be a whole number");
        if (out_of_bounds(def, number))
                return refuse_bounds(def, err);

        *at = number;
        return 0;
}

static int set_duration(const struct option_def *def, int64_t *at, struct str text, struct err *err) {
        int64_t ms;

        if (!duration_parse(text, &ms))
                return err_set(err, ERR_INVAL, "must be a duration such as 30s, 5m or 1h30m");
        if (out_of_bounds(def, ms))
                return refuse_bounds(def, err);

        *at = ms;
        return 0;
}

static int set_choice(const struct option_def *def, int *at, struct str text, struct err *err) {
        _cleanup_(buf_done) struct buf all = buf_make(512);

        for (int i = 0; def->choices[i]; i++) {
                if (str_eqc(text, def->choices[i])) {
                        *at = i;
                        return 0;
                }
                buf_addf(&all, "%s%s", i ? ", " : "", def->choices[i]);
        }
        return err_set(err, ERR_INVAL, "must be one of %s", all.p);
}

static int add_item(struct option_list *at, struct str text, struct arena *a) {
        struct str *items = arena_alloc(a, (at->count + 1) * sizeof(*items));

        if (at->count > 0)
                memcpy(items, at->items, at->count * sizeof(*items));
        items[at->count] = arena_str(a, text);
        *at = (struct option_list){ items, at->count + 1 };
        return 0;
}

int option_set_text(const struct option_def *def, void *target, struct str text, struct arena *a, struct err *err) {
        void *at = field(def, target);

        switch (def->type) {
        case OPTION_BOOL:
                return set_bool(def, at, text, err);
        case OPTION_TEXT:
                return set_text(def, at, text, a, err);
        case OPTION_NUMBER:
                return set_number(def, at, text, err);
        case OPTION_DURATION:
                return set_duration(def, at, text, err);
        case OPTION_CHOICE:
                return set_choice(def, at, text, err);
        case OPTION_VALUE:
                return err_set(err, ERR_INVAL, "can only be given in a document");
        case OPTION_LIST:
                return add_item(at, text, a);
        }
        return err_set(err, ERR_INTERNAL, "option of no type");
}

static int set_list_value(const struct option_def *def, void *target, const struct value *value, struct arena *a,
                          struct err *err) {
        struct option_list all = { 0 };

        for (size_t i = 0; i < value->list.count; i++) {
                if (!value_is(value->list.items[i], VALUE_STRING))
                        return err_set(err, ERR_INVAL, "must be a list of strings");
                add_item(&all, value_text(value->list.items[i]), a);
        }
        *(struct option_list *)field(def, target) = all;
        return 0;
}

/* "auto", "true" or "false": a document says the last two as YAML does. */
static bool takes_truth(const struct option_def *def) {
        for (size_t i = 0; def->type == OPTION_CHOICE && def->choices[i]; i++)
                if (strcmp(def->choices[i], "true") == 0)
                        return true;
        return def->type == OPTION_BOOL;
}

/* Is the document's value of a kind that may be read as the words of this type? `port: 8080` is no text. */
static bool kind_fits(const struct option_def *def, const struct value *value) {
        switch (value->kind) {
        case VALUE_BOOL:
                return takes_truth(def);
        case VALUE_INT:
                return def->type == OPTION_NUMBER || def->type == OPTION_DURATION;
        case VALUE_STRING:
                return def->type != OPTION_BOOL && def->type != OPTION_NUMBER;
        default:
                return false;
        }
}

static const char *type_words(enum option_type type) {
        static const char *const words[] = {
                [OPTION_BOOL] = "true or false",    [OPTION_TEXT] = "a string", [OPTION_NUMBER] = "a whole number",
                [OPTION_DURATION] = "a duration",   [OPTION_CHOICE] = "a string", [OPTION_LIST] = "a list of strings",
                [OPTION_VALUE] = "a value",
        };
        return words[type];
}

int option_set_value(const struct option_def *def, void *target, const struct value *value, struct arena *a,
                     struct err *err) {
        if (def->type == OPTION_VALUE) {
                *(const struct value **)field(def, target) = value;
                return 0;
        }
        if (def->type == OPTION_LIST && value_is(value, VALUE_LIST))
                return set_list_value(def, target, value, a, err);
        if (!kind_fits(def, value))
                return err_set(err, ERR_INVAL, "must be %s, not a %s", type_words(def->type),
                               value_kind_name(value->kind));
        if (value_is(value, VALUE_STRING)) {
                if (def->type == OPTION_LIST)
                        *(struct option_list *)field(def, target) = (struct option_list){ 0 };
                return option_set_text(def, target, value_text(value), a, err);
        }
        return option_set_text(def, target, value_canonical(a, value), a, err);
}

static void set_default(const struct option_def *def, void *target, struct arena *a) {
        static const size_t sizes[] = {
                [OPTION_BOOL] = sizeof(bool),        [OPTION_TEXT] = sizeof(struct str),
                [OPTION_NUMBER] = sizeof(int64_t),   [OPTION_DURATION] = sizeof(int64_t),
                [OPTION_CHOICE] = sizeof(int),       [OPTION_LIST] = sizeof(struct option_list),
                [OPTION_VALUE] = sizeof(const struct value *),
        };

        memset(field(def, target), 0, sizes[def->type]);
        if (def->fallback && option_set_text(def, target, str_from(def->fallback), a, NULL) < 0) {
                fprintf(stderr, "bad default of option %s\n", def->name ? def->name : def->key);
                abort();
        }
}

void options_default(const struct option_group *groups, size_t count, struct arena *a) {
        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < groups[i].count; j++)
                        set_default(&groups[i].defs[j], groups[i].target, a);
}

/* Command lines. */

struct parser {
        const struct option_group *groups;
        size_t count;
        int argc;
        char *const *argv;
        int at;
        struct arena *a;
        bool *seen;         /* per row: used in this pass */
        struct str *operands;
        size_t operand_count;
};

static int refuse_unknown(const struct parser *p, struct str name, struct err *err) {
        const char **names = mem_alloc((rows(p->groups, p->count) + 1) * sizeof(*names));
        size_t n = 0;
        const char *near;

        for (size_t i = 0; i < p->count; i++)
                for (size_t j = 0; j < p->groups[i].count; j++)
                        if (p->groups[i].defs[j].name && !p->groups[i].defs[j].hidden)
                                names[n++] = p->groups[i].defs[j].name;
        near = option_nearest(name, names, n);
        free(names);

        if (near)
                return err_set(err, ERR_INVAL, "unknown option --%.*s, did you mean --%s?", STR_FMT(name), near);
        return err_set(err, ERR_INVAL, "unknown option --%.*s", STR_FMT(name));
}

static int apply(struct parser *p, const struct slot *s, struct str value, struct err *err) {
        int r;

        if (s->def->type == OPTION_LIST && !p->seen[s->index])
                *(struct option_list *)field(s->def, s->target) = (struct option_list){ 0 };
        p->seen[s->index] = true;

        r = option_set_text(s->def, s->target, value, p->a, err);
        if (r < 0 && s->def->name)
                return err_wrap(err, r, "--%s", s->def->name);
        return r < 0 ? err_wrap(err, r, "-%c", s->def->letter) : 0;
}

/* The value of a flag that does not carry it: the next argument, whatever it looks like. */
static int apply_next(struct parser *p, const struct slot *s, struct err *err) {
        if (is_bool(s->def) || s->def->bare)
                return apply(p, s, is_bool(s->def) ? STR("true") : str_from(s->def->bare), err);
        if (p->at + 1 >= p->argc)
                return s->def->name ? err_set(err, ERR_INVAL, "--%s needs a value", s->def->name)
                                    : err_set(err, ERR_INVAL, "-%c needs a value", s->def->letter);
        p->at++;
        return apply(p, s, str_from(p->argv[p->at]), err);
}

static int parse_long(struct parser *p, struct str arg, struct err *err) {
        ptrdiff_t eq = str_find(arg, '=', 0);
        struct str name = eq >= 0 ? str_sub(arg, 0, (size_t)eq) : arg;
        struct slot s;

        if (find_slot(p->groups, p->count, name, name_is, &s))
                return eq >= 0 ? apply(p, &s, str_sub(arg, (size_t)eq + 1, arg.n), err) : apply_next(p, &s, err);
        if (eq < 0 && str_starts(name, STR("no-")) &&
            find_slot(p->groups, p->count, str_sub(name, 3, name.n), name_is, &s) && is_bool(s.def))
                return apply(p, &s, STR("false"), err);
        return refuse_unknown(p, name, err);
}

/* -o VALUE, -oVALUE, -o=VALUE, and runs of switches (-qv). */
static int parse_short(struct parser *p, struct str arg, struct err *err) {
        struct slot s;

        for (size_t i = 0; i < arg.n; i++) {
                struct str rest = str_sub(arg, i + 1, arg.n);
                int r;

                if (!find_slot(p->groups, p->count, str_sub(arg, i, arg.n), letter_is, &s))
                        return err_set(err, ERR_INVAL, "unknown option -%c", arg.p[i]);
                if (!is_bool(s.def) && rest.n > 0)
                        return apply(p, &s, str_starts(rest, STR("=")) ? str_sub(rest, 1, rest.n) : rest, err);
                r = apply_next(p, &s, err);
                if (r < 0 || !is_bool(s.def))
                        return r;
        }
        return 0;
}

static int parse_argument(struct parser *p, struct str arg, struct err *err) {
        if (str_starts(arg, STR("--")))
                return parse_long(p, str_sub(arg, 2, arg.n), err);
        if (arg.n > 1 && arg.p[0] == '-')
                return parse_short(p, str_sub(arg, 1, arg.n), err);

        p->operands[p->operand_count++] = arg;
        return 0;
}

static int parse_all(struct parser *p, struct err *err) {
        for (; p->at < p->argc; p->at++) {
                struct str arg = str_from(p->argv[p->at]);
                int r;

                if (str_eqc(arg, "--")) {
                        while (++p->at < p->argc)
                                p->operands[p->operand_count++] = str_from(p->argv[p->at]);
                        return 0;
                }
                r = parse_argument(p, arg, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

int options_parse(const struct option_group *groups, size_t count, int argc, char *const *argv, struct arena *a,
                  const struct str **ret_operands, size_t *ret_operand_count, struct err *err) {
        struct parser p = { .groups = groups, .count = count, .argc = argc, .argv = argv, .a = a };
        int r;

        p.seen = mem_zalloc(rows(groups, count) + 1);
        p.operands = arena_alloc(a, ((size_t)argc + 1) * sizeof(*p.operands));
        r = parse_all(&p, err);
        free(p.seen);
        if (r < 0)
                return r;

        *ret_operands = p.operands;
        *ret_operand_count = p.operand_count;
        return 0;
}

bool options_want_help(int argc, char *const *argv) {
        for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
                if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
                        return true;
        return false;
}

/* Documents. */

struct reader {
        const struct option_group *groups;
        size_t count;
        struct arena *a;
        void (*complain)(void *ctx, uint32_t line, const char *message);
        void *ctx;
        size_t problems;
};

static void complain(struct reader *r, uint32_t line, const char *message) {
        r->complain(r->ctx, line, message);
        r->problems++;
}

static void complain_unknown(struct reader *r, struct str path, uint32_t line) {
        const char **keys = mem_alloc((rows(r->groups, r->count) + 1) * sizeof(*keys));
        size_t n = 0;
        const char *near;
        struct str text;

        for (size_t i = 0; i < r->count; i++)
                for (size_t j = 0; j < r->groups[i].count; j++)
                        if (r->groups[i].defs[j].key)
                                keys[n++] = r->groups[i].defs[j].key;
        near = option_nearest(path, keys, n);
        free(keys);

        text = near ? arena_strf(r->a, "unknown key %.*s, did you mean %s?", STR_FMT(path), near)
                    : arena_strf(r->a, "unknown key %.*s", STR_FMT(path));
        complain(r, line, text.p);
}

static void read_map(struct reader *r, struct str prefix, const struct value *map);

static void read_member(struct reader *r, struct str prefix, const struct value_member *m) {
        struct str path = prefix.n ? arena_strf(r->a, "%.*s.%.*s", STR_FMT(prefix), STR_FMT(m->key)) : m->key;
        struct err err;
        struct slot s;

        if (find_slot(r->groups, r->count, path, key_is, &s)) {
                if (!value_is(m->value, VALUE_NULL) && option_set_value(s.def, s.target, m->value, r->a, &err) < 0)
                        complain(r, m->line, arena_strf(r->a, "%.*s %s", STR_FMT(path), err.msg).p);
        } else if (find_slot(r->groups, r->count, path, key_begins, &s)) {
                if (value_is(m->value, VALUE_MAP))
                        read_map(r, path, m->value);
                else if (!value_is(m->value, VALUE_NULL))
                        complain(r, m->line, arena_strf(r->a, "%.*s must be a map", STR_FMT(path)).p);
        } else {
                complain_unknown(r, path, m->line);
        }
}

/* As deep as the keys of the table at most: only known prefixes are entered. */
static void read_map(struct reader *r, struct str prefix, const struct value *map) {
        for (size_t i = 0; i < map->map.count; i++)
                read_member(r, prefix, &map->map.members[i]);
}

size_t options_read(const struct option_group *groups, size_t count, const struct value *map, struct arena *a,
                    void (*complain_fn)(void *ctx, uint32_t line, const char *message), void *ctx) {
        struct reader r = { groups, count, a, complain_fn, ctx, 0 };

        if (value_is(map, VALUE_MAP))
                read_map(&r, (struct str){ 0 }, map);
        else if (map && !value_is(map, VALUE_NULL))
                complain(&r, map->line, "must be a map");
        return r.problems;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/health_suite.h"

#include <stdlib.h>
#include <strings.h>

#include "agent/config.h"
#include "base/option.h"
#include "base/yaml.h"
#include "cli/test_find.h"
#include "base/when.h"

struct reading {
        struct arena *a;
        struct str folder;
        struct suite_health_case *at; /* the case that is read */
        struct str *notes;
        size_t note_count, note_cap;
};

/* ---- files ---- */

struct documents {
        const struct yaml_document *items;
        size_t count, read; /* read: so many were looked at by next_document() */
};

/* Of a file that is broken somewhere `ret` has what stands before that. */
static int read_documents(struct str file, struct arena *a, struct documents *ret, struct err *err) {
        struct err why = { 0 };
        struct str text;
        int r = config_read_file(file, a, &text, err);

        if (r < 0)
                return r;
        r = yaml_parse(text, a, &ret->items, &ret->count, &why);
        if (r == 0)
                return 0;
        struct str message = str_from(why.msg);
        uint32_t line = yaml_take_line(&message);
        return err_set(err, r, "%.*s:%u: %.*s", STR_FMT(file), line ? line : 1, STR_FMT(message));
}

/* The next one that holds something; NULL: there is none. */
static const struct yaml_document *next_document(struct documents *d) {
        while (d->read < d->count) {
                const struct yaml_document *doc = &d->items[d->read++];

                if (doc->value && doc->value->kind != VALUE_NULL)
                        return doc;
        }
        return NULL;
}

static int is_empty(struct str file, struct err *err) {
        return err_set(err, ERR_INVAL, "%.*s:1: it is empty", STR_FMT(file));
}

/* What comes after the object does not count, broken or not, as for Argo CD. */
int suite_health_sample(struct str file, struct arena *a, const struct value **ret, struct err *err) {
        struct documents d = { 0 };
        struct err why;
        int r = read_documents(file, a, &d, &why);
        const struct yaml_document *doc = next_document(&d);

        if (!doc && r < 0)
                return err_set(err, r, "%s", why.msg);
        if (!doc)
                return is_empty(file, err);
        if (!value_text(value_getc(doc->value, "apiVersion")).n || !value_text(value_getc(doc->value, "kind")).n)
                return err_set(err, ERR_INVAL, "%.*s:%u: it is no object: apiVersion or kind is missing", STR_FMT(file),
                               doc->value->line);
        *ret = doc->value;
        return 0;
}

/* Every case must be run: what a reader could pass over in silence is refused, also where Argo CD does pass over it. */
static int read_suite(struct str file, struct arena *a, const struct value **ret, struct err *err) {
        struct documents d = { 0 };
        int r = read_documents(file, a, &d, err);
        const struct yaml_document *doc = next_document(&d), *another = next_document(&d);

        if (r < 0)
                return r;
        if (!doc)
                return is_empty(file, err);
        if (another)
                return err_set(err, ERR_INVAL, "%.*s:%u: a suite is one document, this is another: one list tests holds all cases",
                               STR_FMT(file), another->value->line);
        if (doc->note_count)
                return err_set(err, ERR_INVAL, "%.*s:%u: the key '%.*s' is there twice, first in line %u", STR_FMT(file),
                               doc->notes[0].line, STR_FMT(doc->notes[0].key), doc->notes[0].first_line);
        *ret = doc->value;
        return 0;
}

/* ---- a case ---- */

static void wrong(struct reading *r, uint32_t line, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void wrong(struct reading *r, uint32_t line, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf text = buf_make(64 * 1024);
        va_list ap;

        if (r->at->wrong)
                return;
        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);
        r->at->wrong = arena_str(r->a, buf_str(&text)).p;
        r->at->wrong_line = line;
}

static void note(struct reading *r, uint32_t line, struct str key) {
        r->notes = mem_grow(r->notes, &r->note_cap, r->note_count + 1, sizeof *r->notes);
        r->notes[r->note_count++] = arena_strf(r->a, "%u: the key '%.*s' is passed over", line, STR_FMT(key));
}

static bool is_key(struct str key, const char *name) {
        struct str n = str_from(name);

        return key.n == n.n && strncasecmp(key.p, n.p, n.n) == 0;
}

/* What YAML takes for a number or a truth value is its text where a text is wanted, as for Argo CD: `message: 3`. */
static struct str read_text(struct reading *r, const struct value_member *m) {
        const struct value *v = m->value;

        switch (v->kind) {
        case VALUE_BOOL:
        case VALUE_INT:
        case VALUE_UINT:
                return value_canonical(r->a, v);
        case VALUE_DECIMAL:
                return arena_strf(r->a, "%.15g", strtod(v->text.p, NULL));
        case VALUE_LIST:
        case VALUE_MAP:
                wrong(r, m->line, "%.*s must be a text", STR_FMT(m->key));
                break;
        default:
                break;
        }
        return value_text(v);
}

static void read_input(struct reading *r, const struct value_member *m) {
        struct str path = read_text(r, m);

        if (!path.n)
                return;
        r->at->input = arena_strf(r->a, "%.*s/%.*s", STR_FMT(r->folder), STR_FMT(path));
        if (!r->at->name.n)
                r->at->name = path;
}

static void read_status(struct reading *r, const struct value_member *m) {
        static const char *words[HEALTH_UNKNOWN];
        struct str word = read_text(r, m);
        const char *near;

        for (int i = 0; i < HEALTH_UNKNOWN; i++)
                words[i] = health_name((enum health_code)(i + 1));
        if (!word.n || health_from_name(word, &r->at->code))
                return;
        near = option_nearest(word, words, ARRAY_LEN(words));
        wrong(r, m->line, "unknown status '%.*s'%s%s%s", STR_FMT(word), near ? "; did you mean '" : "",
              near ? near : "", near ? "'?" : "");
}

static void read_message(struct reading *r, const struct value_member *m) {
        r->at->message = read_text(r, m);
}

static void read_name(struct reading *r, const struct value_member *m) {
        struct str name = read_text(r, m);

        if (name.n)
                r->at->name = name;
}

static void read_guard(struct reading *r, const struct value_member *m) {
        if (m->value->kind != VALUE_BOOL)
                wrong(r, m->line, "%.*s must be true or false", STR_FMT(m->key));
        r->at->guard = value_truth(m->value, false);
}

static void read_now(struct reading *r, const struct value_member *m) {
        r->at->has_now = when_parse(value_text(m->value), &r->at->now_ms);
        if (!r->at->has_now)
                wrong(r, m->line, "%.*s must be a time as 2025-01-02T03:04:05Z", STR_FMT(m->key));
}

static void pass_over(struct reading *r, const struct value_member *m) {
        (void)r;
        (void)m;
}

static void read_health(struct reading *r, const struct value_member *m);

struct known_key {
        const char *name;
        void (*read)(struct reading *r, const struct value_member *m);
};

static const struct known_key case_keys[] = {
        { "inputPath", read_input }, { "healthStatus", read_health }, { "name", read_name },
        { "guard", read_guard },     { "now", read_now },
};
static const struct known_key health_keys[] = {
        { "status", read_status }, { "message", read_message }, { "lastTransitionTime", pass_over }
};
static const struct known_key suite_keys[] = { { "tests", pass_over } };

/* What looks like one of ours is a slip of the pen; what does not is somebody else's, whom Argo CD lets be as well. */
static void unknown_key(struct reading *r, const struct value_member *m, const struct known_key *known, size_t count) {
        const char *names[ARRAY_LEN(case_keys)], *near;

        for (size_t i = 0; i < count; i++)
                names[i] = known[i].name;
        near = option_nearest(m->key, names, count);
        if (near)
                wrong(r, m->line, "unknown key '%.*s'; did you mean '%s'?", STR_FMT(m->key), near);
        else
                note(r, m->line, m->key);
}

/* `tests` and `Tests` are one key. */
static void check_once(struct reading *r, const struct value *map, size_t at, const struct known_key *known) {
        const struct value_member *m = &map->map.members[at];

        for (size_t i = 0; i < at; i++) {
                const struct value_member *other = &map->map.members[i];
                bool in_order = other->line <= m->line; /* members are sorted by key */

                if (is_key(other->key, known->name))
                        wrong(r, in_order ? m->line : other->line, "the key '%s' is there twice, first in line %u", known->name,
                              in_order ? other->line : m->line);
        }
}

static void read_map(struct reading *r, const struct value *map, const struct known_key *known, size_t count) {
        for (size_t i = 0; i < map->map.count; i++) {
                const struct value_member *m = &map->map.members[i];
                size_t k = 0;

                while (k < count && !is_key(m->key, known[k].name))
                        k++;
                if (k == count) {
                        unknown_key(r, m, known, count);
                        continue;
                }
                check_once(r, map, i, &known[k]);
                known[k].read(r, m);
        }
}

static void read_health(struct reading *r, const struct value_member *m) {
        if (value_is(m->value, VALUE_MAP))
                read_map(r, m->value, health_keys, ARRAY_LEN(health_keys));
        else if (m->value->kind != VALUE_NULL)
                wrong(r, m->line, "%.*s must be a map of status and message", STR_FMT(m->key));
}

static void read_case(struct reading *r, const struct value *v, struct suite_health_case *c) {
        r->at = c;
        *c = (struct suite_health_case){ .line = v->line };
        if (value_is(v, VALUE_MAP))
                read_map(r, v, case_keys, ARRAY_LEN(case_keys));
        else
                wrong(r, v->line, "a case must be a map");
        if (!c->input.n)
                wrong(r, v->line, "inputPath is missing: the file of the object that is judged");
        if (!c->name.n)
                c->name = STR("a case without inputPath");
}

/* ---- the suite ---- */

static const struct value_member *find_tests(const struct value *suite) {
        for (size_t i = 0; value_is(suite, VALUE_MAP) && i < suite->map.count; i++)
                if (is_key(suite->map.members[i].key, "tests"))
                        return &suite->map.members[i];
        return NULL;
}

/* The suite's own keys; what is wrong with `r->at` is wrong with all of it. */
static int check_suite(struct reading *r, struct str file, const struct value *suite, struct err *err) {
        const struct value_member *tests = find_tests(suite);

        if (value_is(suite, VALUE_MAP))
                read_map(r, suite, suite_keys, ARRAY_LEN(suite_keys));
        if (r->at->wrong)
                return err_set(err, ERR_INVAL, "%.*s:%u: %s", STR_FMT(file), r->at->wrong_line, r->at->wrong);
        if (!tests || !value_is(tests->value, VALUE_LIST) || !tests->value->list.count)
                return err_set(err, ERR_INVAL, "%.*s:%u: it holds no cases: a list under the key tests", STR_FMT(file),
                               tests ? tests->line : suite->line);
        return 0;
}

int suite_health_read(struct str folder, struct arena *a, struct suite_health *ret, struct err *err) {
        struct suite_health_case whole = { 0 };
        struct reading r = { .a = a, .folder = folder, .at = &whole };
        struct str file = arena_strf(a, "%.*s/" TEST_SUITE, STR_FMT(folder));
        struct suite_health_case *cases;
        const struct value *suite, *tests;
        int result = read_suite(file, a, &suite, err);

        if (result == 0)
                result = check_suite(&r, file, suite, err);
        if (result < 0) {
                free(r.notes);
                return result;
        }
        tests = find_tests(suite)->value;
        cases = arena_alloc(a, tests->list.count * sizeof *cases);
        for (size_t i = 0; i < tests->list.count; i++)
                read_case(&r, tests->list.items[i], &cases[i]);
        *ret = (struct suite_health){ .cases = cases, .count = tests->list.count, .note_count = r.note_count };
        ret->notes = arena_alloc(a, (r.note_count + 1) * sizeof *ret->notes);
        for (size_t i = 0; i < r.note_count; i++)
                ret->notes[i] = r.notes[i];
        free(r.notes);
        return 0;
}

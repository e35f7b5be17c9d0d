/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include <stdio.h>

#include "act.h"
#include "base/duration.h"
#include "base/limits.h"
#include "base/yaml.h"

/* The words of each map; anything else is an error, so that a misspelt expectation does not pass for one. */
static const char *const top_words[] = { "about", "agent", "apps",  "bare",    "cluster",     "controllers", "before",
                                         "start", "story", "sweep", "commits", "faults",      "expect",      "never",
                                         "ends",  "calm",  "quiet", "settle",  "secrets",     NULL };
static const char *const expect_words[] = { "object", "absent", "path",   "equals",   "missing", "owner", "notOwner",
                                            "status", "app",    "holds",  "writes",   "requests", "most", "told",  NULL };
static const char *const when_words[] = { "match", "exact", "since", "nth", "writes", "always", NULL };
static const char *const never_words[] = { "object", "path", "equals", "deleted", "until", "after", NULL };

static int complain(const struct scenario *s, uint32_t line, struct err *err, const char *what, struct str word) {
        return err_set(err, ERR_INVAL, "%s:%u: %s %.*s is not known", s->file, line, what, STR_FMT(word));
}

static bool is_among(const char *const *words, struct str word) {
        for (; *words; words++) {
                if (str_eqc(word, *words))
                        return true;
        }
        return false;
}

static int check_words(const struct scenario *s, const struct value *map, const char *const *words, struct err *err) {
        for (size_t i = 0; i < value_count(map); i++) {
                const struct value_member *m = &map->map.members[i];

                if (!is_among(words, m->key))
                        return complain(s, m->line, err, "the key", m->key);
        }
        return 0;
}

static int check_list(const struct scenario *s, const char *key, const char *const *words, struct err *err) {
        const struct value *list = value_getc(s->doc, key);
        int r = 0;

        for (size_t i = 0; r == 0 && i < value_count(list); i++)
                r = check_words(s, list->list.items[i], words, err);
        return r;
}

static int check_steps(const struct scenario *s, const char *key, struct err *err) {
        const struct value *list = value_getc(s->doc, key);

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *step = list->list.items[i];
                struct str word;

                if (!act_check(step, &word))
                        return complain(s, step->line, err, "in a step the key", word);
                int r = check_words(s, value_getc(step, "when"), when_words, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check(const struct scenario *s, struct err *err) {
        int r = check_words(s, s->doc, top_words, err);

        if (r == 0)
                r = check_list(s, "expect", expect_words, err);
        if (r == 0)
                r = check_list(s, "never", never_words, err);
        if (r == 0)
                r = check_steps(s, "story", err);
        if (r == 0)
                r = check_steps(s, "before", err);
        return r ? r : check_steps(s, "sweep", err);
}

static int read_file(const char *file, struct buf *out, struct err *err) {
        FILE *f = fopen(file, "re");
        char bytes[4096];
        size_t n;

        if (!f)
                return err_set(err, ERR_NOTFOUND, "%s cannot be read", file);
        while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
                buf_add(out, (struct str){ bytes, n });
        fclose(f);
        return buf_check(out, file, err);
}

static const char *name_of(const char *file, struct arena *a) {
        const char *slash = strrchr(file, '/');
        struct str name = str_from(slash ? slash + 1 : file);

        if (str_ends(name, STR(".yaml")))
                name.n -= strlen(".yaml");
        return arena_str(a, name).p;
}

int scenario_load(const char *file, struct scenario **ret_scenario, struct err *err) {
        _cleanup_(scenario_freep) struct scenario *s = mem_zalloc(sizeof *s);
        _cleanup_(buf_done) struct buf text = buf_make(1 * MIB);
        const struct yaml_document *docs;
        size_t count;

        s->arena = arena_new(0);
        s->file = arena_str(s->arena, str_from(file)).p;
        s->name = name_of(file, s->arena);
        int r = read_file(file, &text, err);
        if (r == 0)
                r = yaml_parse(buf_str(&text), s->arena, &docs, &count, err);
        if (r < 0)
                return err_wrap(err, r, "%s", file);
        if (count != 1 || !value_is(docs[0].value, VALUE_MAP))
                return err_set(err, ERR_INVAL, "%s: a scenario is one map", file);
        if (docs[0].note_count)
                return complain(s, docs[0].notes[0].line, err, "a second", docs[0].notes[0].key);
        s->doc = docs[0].value;
        r = check(s, err);
        if (r == 0)
                *ret_scenario = TAKE_PTR(s);
        return r;
}

void scenario_free(struct scenario *s) {
        if (!s)
                return;
        arena_free(s->arena);
        free(s);
}

int64_t scenario_ms(const struct value *map, const char *key, int64_t otherwise_ms) {
        int64_t ms;

        return duration_parse(value_text(value_getc(map, key)), &ms) ? ms : otherwise_ms;
}

int64_t scenario_per_mille(const struct value *map, const char *key) {
        struct str text = value_text(value_getc(map, key));

        return text.n ? (int64_t)(strtod(text.p, NULL) * 10 + 0.5) : 0;
}

int64_t scenario_int(const struct value *map, const char *key, int64_t otherwise) {
        int64_t n;

        return value_to_i64(value_getc(map, key), &n) ? n : otherwise;
}

bool scenario_bool(const struct value *map, const char *key, bool otherwise) {
        return value_truth(value_getc(map, key), otherwise);
}

struct str scenario_text(const struct value *map, const char *key, const char *otherwise) {
        const struct value *v = value_getc(map, key);

        return v ? value_text(v) : str_from(otherwise);
}

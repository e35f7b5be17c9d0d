/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include "act.h"
#include "base/duration.h"

/* ---- the tables ---- */

static const struct word app_words[] = {
        { "name", WORD_TEXT },       { "path", WORD_TEXT },  { "revision", WORD_TEXT }, { "namespace", WORD_TEXT },
        { "createNamespace", WORD_FLAG }, { "prune", WORD_FLAG }, { "selfHeal", WORD_FLAG }, { "allowEmpty", WORD_FLAG },
        { "detectOnly", WORD_FLAG }, { 0 },
};

const struct word words_of_rates[] = {
        { "lose", WORD_RATE },     { "loseReply", WORD_RATE }, { "late", WORD_RATE },  { "error", WORD_RATE },
        { "conflict", WORD_RATE }, { "drop", WORD_RATE },      { "hold", WORD_RATE },  { "merge", WORD_RATE },
        { "delay", WORD_TIME },    { "lateBy", WORD_TIME },    { "holdFor", WORD_TIME }, { 0 },
};

const struct word words_of_fault[] = {
        { "lose", WORD_FLAG },    { "loseReply", WORD_FLAG },    { "late", WORD_FLAG },
        { "status", WORD_NUMBER }, { "retryAfter", WORD_NUMBER }, { "delay", WORD_TIME },
        { "replyDelay", WORD_TIME }, { 0 },
};

const struct word words_of_expectation[] = {
        { "object", WORD_REF },   { "absent", WORD_FLAG },  { "path", WORD_POINTER },  { "equals", WORD_ANY },
        { "missing", WORD_FLAG }, { "owner", WORD_TEXT },   { "notOwner", WORD_TEXT }, { "app", WORD_TEXT },
        { "status", WORD_TEXT, .among = " Synced OutOfSync Unknown " }, { "holds", WORD_TEXT }, { "lacks", WORD_TEXT },
        { "told", WORD_TEXT },    { "notTold", WORD_TEXT }, { "toldOnce", WORD_TEXT }, { "writes", WORD_NUMBER }, { "requests", WORD_NUMBER },
        { "most", WORD_NUMBER },  { 0 },
};

static const struct word never_words[] = {
        { "object", WORD_REF, .is_needed = true }, { "path", WORD_POINTER }, { "equals", WORD_ANY },
        { "deleted", WORD_FLAG }, { "after", WORD_MARK }, { "until", WORD_MARK }, { 0 },
};

static const struct word when_words[] = {
        { "match", WORD_TEXT },  { "exact", WORD_TEXT },  { "since", WORD_MARK }, { "until", WORD_MARK },
        { "nth", WORD_NUMBER },  { "writes", WORD_FLAG }, { "always", WORD_FLAG }, { 0 },
};

/* Of every step: when, who, and what others may refer to. */
static const struct word step_words[] = {
        { "at", WORD_TIME },   { "after", WORD_AFTER }, { "plus", WORD_TIME },    { "when", WORD_MAP, .in = when_words },
        { "mark", WORD_TEXT }, { "as", WORD_TEXT },     { "manager", WORD_TEXT }, { "mayFail", WORD_FLAG }, { 0 },
};

static const struct word node_words[] = {
        { "count", WORD_NUMBER, .is_needed = true }, { "cpu", WORD_TEXT }, { "memory", WORD_TEXT }, { "gpu", WORD_NUMBER }, { 0 },
};

static const struct word top_words[] = {
        { "about", WORD_TEXT, .is_needed = true },
        { "agent", WORD_MAP },
        { "apps", WORD_MAPS, .in = app_words },
        { "bare", WORD_FLAG },
        { "cluster", WORD_OBJECTS },
        { "documents", WORD_OBJECTS },
        { "controllers", WORD_FLAG },
        { "serves", WORD_TEXT, .among = " LeaderWorkerSet " },
        { "groups", WORD_TEXT, .among = " any " },
        { "nodes", WORD_MAP, .in = node_words },
        { "before", WORD_MAPS },
        { "start", WORD_COMMIT },
        { "story", WORD_MAPS },
        { "sweep", WORD_MAPS },
        { "commits", WORD_MAP, .is_needed = true },
        { "faults", WORD_MAP, .in = words_of_rates },
        { "expect", WORD_MAPS, .in = words_of_expectation },
        { "never", WORD_MAPS, .in = never_words },
        { "ends", WORD_ANY },
        { "calm", WORD_TIME },
        { "quiet", WORD_TIME },
        { "settle", WORD_TIME },
        { "secrets", WORD_TEXTS },
        { "breaks", WORD_TEXT },
        { 0 },
};

/* ---- complaints ---- */

static int complain(const struct scenario *s, uint32_t line, struct err *err, const char *fmt, ...) PRINTF_LIKE(4, 5);
static int complain(const struct scenario *s, uint32_t line, struct err *err, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf text = buf_make(4096);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);
        return err_set(err, ERR_INVAL, "%s:%u: %s", s->file, line, text.p);
}

/* ---- one value ---- */

static bool is_object(const struct value *v) {
        return value_text(value_getc(v, "apiVersion")).n && value_text(value_getc(v, "kind")).n &&
               value_text(value_path(v, "metadata", "name", NULL)).n;
}

static bool all_are(const struct value *list, bool (*is)(const struct value *v)) {
        for (size_t i = 0; i < value_count(list); i++) {
                if (!is(list->list.items[i]))
                        return false;
        }
        return value_is(list, VALUE_LIST);
}

static bool is_full_text(const struct value *v) {
        return value_text(v).n > 0;
}

static bool is_map(const struct value *v) {
        return value_is(v, VALUE_MAP);
}

static bool is_number(const struct value *v) {
        int64_t n;

        return value_to_i64(v, &n) && n >= 0;
}

static bool is_time(const struct value *v) {
        int64_t ms;

        return duration_parse(value_text(v), &ms);
}

static bool is_rate(const struct value *v) {
        struct str text = value_text(v);
        char *end = NULL;
        double n = text.n ? strtod(text.p, &end) : -1;

        return end && end != text.p && strcmp(end, "%") == 0 && n >= 0 && n <= 100;
}

static bool has_mark(const struct scenario *s, struct str name) {
        static const char *const lists[] = { "before", "story", "sweep" };

        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
                const struct value *steps = value_getc(s->doc, lists[i]);

                for (size_t k = 0; k < value_count(steps); k++) {
                        if (str_eq(value_text(value_getc(steps->list.items[k], "mark")), name))
                                return true;
                }
        }
        return false;
}

static bool is_ref(const struct value *v) {
        struct ref r;

        return ref_parse(value_text(v), &r) && r.plural.n && r.name.n;
}

/* What it should be, when it is not that. */
static const char *misfit(const struct scenario *s, const struct word *w, const struct value *v) {
        bool is_text = value_is(v, VALUE_STRING);
        struct str text = value_text(v);

        switch (w->type) {
        case WORD_ANY:
                return NULL;
        case WORD_TEXT:
                return is_text ? NULL : "a text";
        case WORD_FLAG:
                return value_is(v, VALUE_BOOL) ? NULL : "true or false";
        case WORD_NUMBER:
                return is_number(v) ? NULL : "a number";
        case WORD_TIME:
                return is_time(v) ? NULL : "a time such as 90s";
        case WORD_AFTER:
                return is_time(v) || str_eqc(text, "synced") || str_eqc(text, "settled")
                               ? NULL : "a time such as 90s, synced, or settled";
        case WORD_RATE:
                return is_rate(v) ? NULL : "a rate such as 2%";
        case WORD_REF:
                return is_ref(v) ? NULL : "an object such as \"deployments.apps shop/web\"";
        case WORD_POINTER:
                return is_text && str_starts(text, STR("/")) ? NULL : "a path such as /data/key";
        case WORD_OBJECTS:
                return is_object(v) || all_are(v, is_object) ? NULL : "an object with apiVersion, kind and name, or a list of them";
        case WORD_COMMIT:
                return is_text && (!text.n || value_get(value_getc(s->doc, "commits"), text)) ? NULL : "the name of a commit";
        case WORD_MARK:
                return is_text && has_mark(s, text) ? NULL : "the mark of a step";
        case WORD_TEXTS:
                return all_are(v, is_full_text) ? NULL : "a list of texts";
        case WORD_MAP:
                return is_map(v) ? NULL : "a map";
        case WORD_MAPS:
                return value_count(v) && all_are(v, is_map) ? NULL : "a list of maps";
        }
        return NULL;
}

static bool is_among(const char *among, struct str text, struct arena *a) {
        return str_contains(str_from(among), arena_strf(a, " %.*s ", STR_FMT(text)));
}

/* ---- maps ---- */

static const struct word *find(const struct word *words, struct str name) {
        for (; words && words->name; words++) {
                if (str_eqc(name, words->name))
                        return words;
        }
        return NULL;
}

static int check_map(const struct scenario *s, const struct value *map, const struct word *words, const struct word *more,
                     struct err *err);

static int check_word(const struct scenario *s, const struct value_member *m, const struct word *w, struct err *err) {
        const char *wanted = misfit(s, w, m->value);
        int r = 0;

        if (wanted)
                return complain(s, m->line, err, "%s is to be %s", w->name, wanted);
        if (w->among && !is_among(w->among, value_text(m->value), s->arena))
                return complain(s, m->line, err, "%s is to be one of:%s", w->name, w->among);
        if (w->in && w->type == WORD_MAP)
                return check_map(s, m->value, w->in, NULL, err);
        for (size_t i = 0; r == 0 && w->in && i < value_count(m->value); i++)
                r = check_map(s, m->value->list.items[i], w->in, NULL, err);
        return r;
}

static int check_map(const struct scenario *s, const struct value *map, const struct word *words, const struct word *more,
                     struct err *err) {
        for (size_t i = 0; i < value_count(map); i++) {
                const struct value_member *m = &map->map.members[i];
                const struct word *w = find(words, m->key);

                w = w ? w : find(more, m->key);
                if (!w)
                        return complain(s, m->line, err, "the key %.*s is not known", STR_FMT(m->key));
                int r = check_word(s, m, w, err);
                if (r < 0)
                        return r;
        }
        for (const struct word *w = words; w && w->name; w++) {
                if (w->is_needed && !value_getc(map, w->name))
                        return complain(s, map->line, err, "%s is missing", w->name);
        }
        return 0;
}

/* ---- what belongs together ---- */

static bool has(const struct value *map, const char *key) {
        return value_getc(map, key) != NULL;
}

static bool asks_for_app(const struct value *e) {
        return has(e, "status") || has(e, "holds") || has(e, "lacks");
}

/* An expectation that looks at nothing would always hold. */
static int check_expectation(const struct scenario *s, const struct value *e, struct err *err) {
        bool looks = has(e, "equals") || has(e, "missing") || has(e, "owner") || has(e, "notOwner");
        int kinds = has(e, "object") + asks_for_app(e) + (has(e, "told") || has(e, "notTold") || has(e, "toldOnce")) +
                    (has(e, "writes") || has(e, "requests") || has(e, "most"));

        if (kinds != 1)
                return complain(s, e->line, err, "an expectation is about one of: an object, a status, what is told, a count");
        if (looks != has(e, "path") || (has(e, "path") && !has(e, "object")) || (has(e, "absent") && has(e, "path")))
                return complain(s, e->line, err, "object, path, and one of equals, missing, owner, notOwner belong together");
        if (has(e, "app") && !asks_for_app(e))
                return complain(s, e->line, err, "app is about a status");
        return 0;
}

static int check_expectations(const struct scenario *s, const struct value *list, struct err *err) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < value_count(list); i++)
                r = check_expectation(s, list->list.items[i], err);
        return r;
}

static int check_never(const struct scenario *s, struct err *err) {
        const struct value *list = value_getc(s->doc, "never");

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *rule = list->list.items[i];

                if (has(rule, "path") != has(rule, "equals") || has(rule, "path") == has(rule, "deleted"))
                        return complain(s, rule->line, err, "never is either path with equals, or deleted: true");
        }
        return 0;
}

static int check_time(const struct scenario *s, const struct value *step, bool has_time, struct err *err) {
        struct str after = value_text(value_getc(step, "after"));
        int times = has(step, "at") + has(step, "after") + has(step, "when");

        if (times > has_time || (!has_time && has(step, "plus")))
                return complain(s, step->line, err, has_time ? "a step has one of at, after, when" : "such a step has no time");
        if (has(step, "plus") && !str_eqc(after, "synced") && !str_eqc(after, "settled"))
                return complain(s, step->line, err, "plus belongs to after: synced or settled");
        if (has(step, "fault") && !has(step, "when"))
                return complain(s, step->line, err, "a fault needs when");
        return 0;
}

static int check_step(const struct scenario *s, const struct value *step, bool has_time, struct err *err) {
        const struct word *words = act_words(step);
        int r;

        if (!words)
                return complain(s, step->line, err, "this step does nothing that is known");
        r = check_map(s, step, words, step_words, err);
        if (r == 0)
                r = check_time(s, step, has_time, err);
        return r == 0 ? check_expectations(s, value_getc(step, "check"), err) : r;
}

static int check_steps(const struct scenario *s, const char *key, bool has_time, struct err *err) {
        const struct value *list = value_getc(s->doc, key);
        int r = 0;

        for (size_t i = 0; r == 0 && i < value_count(list); i++)
                r = check_step(s, list->list.items[i], has_time, err);
        return r;
}

static bool is_app(const struct scenario *s, struct str name) {
        const struct value *apps = value_getc(s->doc, "apps");

        for (size_t i = 0; i < value_count(apps); i++) {
                if (str_eq(scenario_text(apps->list.items[i], "name", "shop"), name))
                        return true;
        }
        return !apps && str_eqc(name, "shop");
}

static int check_ends(const struct scenario *s, struct err *err) {
        static const char *const words = " Synced OutOfSync Unknown any ";
        const struct value *ends = value_getc(s->doc, "ends");

        if (!ends || (value_is(ends, VALUE_STRING) && is_among(words, ends->text, s->arena)))
                return 0;
        for (size_t i = 0; value_is(ends, VALUE_MAP) && i < value_count(ends); i++) {
                const struct value_member *m = &ends->map.members[i];

                if (!is_app(s, m->key))
                        return complain(s, m->line, err, "there is no application %.*s", STR_FMT(m->key));
                if (!is_among(words, value_text(m->value), s->arena))
                        return complain(s, m->line, err, "%.*s is to end as one of:%s", STR_FMT(m->key), words);
        }
        return value_is(ends, VALUE_MAP) ? 0 : complain(s, ends->line, err, "ends is one of:%sor such a word an application", words);
}

static int check_commits(const struct scenario *s, struct err *err) {
        const struct value *commits = value_getc(s->doc, "commits");

        for (size_t i = 0; i < value_count(commits); i++) {
                const struct value_member *m = &commits->map.members[i];

                if (!value_is(m->value, VALUE_MAP))
                        return complain(s, m->line, err, "commit %.*s is to be a map of files", STR_FMT(m->key));
                for (size_t k = 0; k < value_count(m->value); k++) {
                        const struct value_member *file = &m->value->map.members[k];

                        if (!value_is(file->value, VALUE_STRING) && !all_are(file->value, is_object))
                                return complain(s, file->line, err, "a file is to be a text or a list of objects");
                }
        }
        if (!has(s->doc, "start") && !has(commits, "one"))
                return complain(s, s->doc->line, err, "there is no commit one, and no start names another");
        return 0;
}

int words_check(const struct scenario *s, struct err *err) {
        int r = check_map(s, s->doc, top_words, NULL, err);

        if (r == 0)
                r = check_commits(s, err);
        if (r == 0)
                r = check_steps(s, "story", true, err);
        if (r == 0)
                r = check_steps(s, "before", false, err);
        if (r == 0)
                r = check_steps(s, "sweep", false, err);
        if (r == 0)
                r = check_expectations(s, value_getc(s->doc, "expect"), err);
        if (r == 0)
                r = check_never(s, err);
        return r ? r : check_ends(s, err);
}

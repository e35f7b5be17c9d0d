/* SPDX-License-Identifier: Apache-2.0 */
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define VERSION_DISTANCE 128 /* from its name to a version, in a text */

static const char letters[] = "UVAPNTF";

struct version {
        uint64_t at[SIDE_COUNT];
        struct version *next;
};

struct pairs {
        struct arena *arena;
        struct map *by_text[SIDE_COUNT]; /* letter and text → pair */
        struct map *by_label;
        struct version *versions;
        unsigned step, index;
        bool shuffled;
};

struct pairs *pairs_new(void) {
        struct pairs *p = mem_zalloc(sizeof *p);

        p->arena = arena_new(0);
        p->by_label = map_new(NULL);
        p->by_text[SIDE_REAL] = map_new(NULL);
        p->by_text[SIDE_SANDBOX] = map_new(NULL);
        return p;
}

void pairs_free(struct pairs *p) {
        if (!p)
                return;
        map_free(p->by_label);
        map_free(p->by_text[SIDE_REAL]);
        map_free(p->by_text[SIDE_SANDBOX]);
        arena_free(p->arena);
        free(p);
}

void pairs_step(struct pairs *p, unsigned step) {
        p->step = step;
        p->index = 0;
}

void pairs_set_shuffled(struct pairs *p, bool shuffled) {
        p->shuffled = shuffled;
}

bool pairs_are_shuffled(const struct pairs *p) {
        return p->shuffled;
}

static struct str key_of(struct arena *a, enum pair_kind kind, struct str text) {
        return arena_strf(a, "%c%.*s", letters[kind], STR_FMT(text));
}

const struct pair *pairs_find(const struct pairs *p, struct arena *a, enum side side, enum pair_kind kind,
                              struct str text) {
        return map_find(p->by_text[side], key_of(a, kind, text));
}

static void learn(struct pairs *p, enum pair_kind kind, struct str label, struct str real, struct str sandbox) {
        struct pair *pair = arena_alloc(p->arena, sizeof *pair);

        *pair = (struct pair){ kind, label, { arena_str(p->arena, real), arena_str(p->arena, sandbox) } };
        for (enum side side = SIDE_REAL; side < SIDE_COUNT; side++)
                map_set(p->by_text[side], key_of(p->arena, kind, pair->text[side]), pair);
        map_set(p->by_label, label, pair);
}

void pairs_add(struct pairs *p, const char *label, struct str real, struct str sandbox) {
        learn(p, PAIR_FIXED, arena_str(p->arena, str_from(label)), real, sandbox);
}

void pairs_learn(struct pairs *p, enum pair_kind kind, struct str real, struct str sandbox) {
        learn(p, kind, arena_strf(p->arena, "%c%u.%u", letters[kind], p->step, p->index++), real, sandbox);
}

/* --- versions --- */

static void note_version(struct pairs *p, uint64_t real, uint64_t sandbox) {
        struct version *v = arena_alloc(p->arena, sizeof *v);

        *v = (struct version){ { real, sandbox }, p->versions };
        p->versions = v;
}

bool pairs_in_order(struct pairs *p, struct arena *a, struct str real, struct str sandbox) {
        uint64_t r, s;

        if (pairs_find(p, a, SIDE_REAL, PAIR_VERSION, real) || pairs_find(p, a, SIDE_SANDBOX, PAIR_VERSION, sandbox) ||
            !str_to_u64(real, &r) || !str_to_u64(sandbox, &s))
                return true;
        for (const struct version *v = p->versions; v; v = v->next)
                if ((r > v->at[SIDE_REAL]) != (s > v->at[SIDE_SANDBOX]))
                        return false;
        note_version(p, r, s);
        return true;
}

uint64_t pairs_latest(const struct pairs *p, enum side side) {
        uint64_t latest = 0;

        for (const struct version *v = p->versions; v; v = v->next)
                if (v->at[side] > latest)
                        latest = v->at[side];
        return latest;
}

bool pairs_is_latest(const struct pairs *p, enum side side, struct str version) {
        uint64_t n;

        return str_to_u64(version, &n) && pairs_latest(p, side) <= n;
}

/* --- labels in texts --- */

static bool is_word(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
               c == '_';
}

bool pairs_is_uid(struct str s) {
        return s.n == 36 && s.p[8] == '-' && s.p[13] == '-' && s.p[18] == '-' && s.p[23] == '-';
}

bool pairs_is_given_uid(struct str uid) {
        return str_starts(uid, STR("11111111-"));
}

/* steps.c generates names with this prefix. */
static bool is_generated(struct str s) {
        return (s.n == 10 && str_starts(s, STR("made-"))) || (s.n == 9 && str_starts(s, STR("Bad_")));
}

/* "made-abcde-0" without "-0", as a Job's Pods are called; empty when it does not end so. */
static struct str without_ordinal(struct str s) {
        size_t n = s.n;

        while (n > 0 && s.p[n - 1] >= '0' && s.p[n - 1] <= '9')
                n--;
        return n > 1 && n < s.n && s.p[n - 1] == '-' ? str_sub(s, 0, n - 1) : (struct str){ 0 };
}

static bool is_port(int64_t n) {
        return n >= 30000 && n <= 32800;
}

static bool is_port_word(struct str s) {
        int64_t n;

        return s.n == 5 && str_to_i64(s, &n) && is_port(n);
}

static bool is_number(struct str s) {
        uint64_t n;

        return str_to_u64(s, &n) && n > 9;
}

/* A text on its way to one with labels. */
struct labelling {
        const struct pairs *pairs;
        struct arena *arena;
        enum side side;
        bool sentence; /* more than one word: a text that is but a number is a value somebody gave */
        struct buf *out;
};

static const struct pair *pair_of(const struct labelling *l, enum pair_kind kind, struct str word) {
        return pairs_find(l->pairs, l->arena, l->side, kind, word);
}

/* The kinds a bare word in a text may be, tried in this order. */
static const struct pair *pair_of_word(const struct labelling *l, struct str word) {
        static const enum pair_kind kinds[] = { PAIR_FIXED, PAIR_UID, PAIR_ADDRESS, PAIR_NAME, PAIR_TOKEN };
        const struct pair *pair = NULL;

        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !pair; i++)
                pair = pair_of(l, kinds[i], word);
        return pair;
}

/* What stands for a word that no object told of. */
static struct str stand_in(const struct labelling *l, struct str word, bool version) {
        if (pairs_is_uid(word) && !pairs_is_given_uid(word))
                return STR("@uid@");
        if (str_starts(word, STR("10.96.")))
                return STR("@address@");
        if (l->sentence && is_port_word(word))
                return STR("@port@");
        if (is_generated(word))
                return STR("@name@");
        return version && is_number(word) ? STR("@version@") : word;
}

static void add_word(const struct labelling *l, struct str word, bool version) {
        const struct pair *pair = pair_of_word(l, word);
        struct str base = without_ordinal(word);

        if (!pair && base.n && (is_generated(base) || pair_of_word(l, base))) {
                add_word(l, base, version);
                buf_add(l->out, str_sub(word, base.n, word.n));
                return;
        }
        if (!pair && version)
                pair = pair_of(l, PAIR_VERSION, word);
        if (!pair && word.n == 5)
                pair = pair_of(l, PAIR_PORT, word);
        if (!pair && word.n > 1 && (word.p[word.n - 1] == '.' || word.p[word.n - 1] == '-')) {
                add_word(l, str_sub(word, 0, word.n - 1), version);
                buf_addch(l->out, word.p[word.n - 1]);
        } else if (pair)
                buf_addf(l->out, "@%.*s@", STR_FMT(pair->label));
        else
                buf_add(l->out, stand_in(l, word, version));
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* A document goes on to another member; the commas of a sentence have a blank behind them. */
static bool has_other_member(struct str between) {
        for (size_t i = 0; i + 1 < between.n; i++)
                if (between.p[i] == ',' && between.p[i + 1] != ' ')
                        return !str_contains(between, STR("\"value"));
        return false;
}

/* Behind "resourceVersion", in a document or a sentence, with no number and no other member between? */
static bool names_version(struct str text, size_t at) {
        static const struct str name = { "esourceVersion", 14 };
        size_t from = at;

        while (from > 0 && at - from < VERSION_DISTANCE && !is_digit(text.p[from - 1])) {
                from--;
                if (str_starts(str_sub(text, from, at), name))
                        return !has_other_member(str_sub(text, from, at));
        }
        return false;
}

/* Of a document only the beginning is told, which ends within a uid or a version: these characters tell nothing. */
static bool is_cut(struct str text, size_t start, size_t end) {
        struct str before = str_sub(text, 0, start);

        return str_starts(str_sub(text, end, text.n), STR(" ...")) &&
               (str_ends(before, STR("\"uid\":\"")) || str_ends(before, STR("\"resourceVersion\":\"")));
}

static size_t word_length(struct str text) {
        size_t n = 0;

        while (n < text.n && is_word(text.p[n]))
                n++;
        return n;
}

struct str pairs_label_text(const struct pairs *p, struct arena *a, enum side side, struct str text) {
        _cleanup_(buf_done) struct buf out = buf_make(2 * text.n + 4096);
        bool versions = str_contains(text, STR("esourceVersion")); /* looked for only there */
        struct labelling l = { p, a, side, text.n > word_length(text), &out };
        size_t i = 0;

        while (i < text.n) {
                size_t start = i;

                i += word_length(str_sub(text, i, text.n));
                if (i > start && is_cut(text, start, i))
                        buf_addc(&out, "@cut@");
                else if (i > start)
                        add_word(&l, str_sub(text, start, i), versions && names_version(text, start));
                else
                        buf_addch(&out, text.p[i++]);
        }
        return arena_str(a, buf_str(&out));
}

bool pairs_is_port(const struct value *v) {
        int64_t port;

        return value_to_i64(v, &port) && is_port(port);
}

static struct str label_of(struct arena *a, const struct pair *pair) {
        return arena_strf(a, "@%.*s@", STR_FMT(pair->label));
}

static const struct value *label_scalar(const struct pairs *p, struct arena *a, struct str key, const struct value *v) {
        const struct pair *pair = NULL;

        if (pairs_is_port(v))
                pair = pairs_find(p, a, SIDE_REAL, PAIR_PORT, value_canonical(a, v));
        else if (v->kind != VALUE_STRING)
                return v;
        else if (str_eqc(key, "resourceVersion"))
                pair = pairs_find(p, a, SIDE_REAL, PAIR_VERSION, v->text);
        else if (str_eqc(key, "continue"))
                pair = pairs_find(p, a, SIDE_REAL, PAIR_TOKEN, v->text);
        else
                return value_string(a, pairs_label_text(p, a, SIDE_REAL, v->text), 0);
        return pair ? value_string(a, label_of(a, pair), 0) : v;
}

static const struct value *label_value(const struct pairs *p, struct arena *a, struct str key, const struct value *v) {
        if (v->kind == VALUE_MAP) {
                struct value_map_builder b = { 0 };

                for (size_t i = 0; i < v->map.count; i++)
                        value_map_add(&b, v->map.members[i].key,
                                      label_value(p, a, v->map.members[i].key, v->map.members[i].value), 0);
                return value_map_end(&b, a, 0);
        }
        if (v->kind == VALUE_LIST) {
                struct value_list_builder b = { 0 };

                for (size_t i = 0; i < v->list.count; i++)
                        value_list_add(&b, label_value(p, a, (struct str){ 0 }, v->list.items[i]));
                return value_list_end(&b, a, 0);
        }
        return label_scalar(p, a, key, v);
}

const struct value *pairs_label(const struct pairs *p, struct arena *a, const struct value *real) {
        return label_value(p, a, (struct str){ 0 }, real);
}

/* Ports are numbers: the quotes around their label go. */
static void add_filled(const struct pair *pair, enum side side, struct str text, size_t *at, struct buf *out) {
        if (pair->kind == PAIR_PORT && out->n && out->p[out->n - 1] == '"' && *at < text.n && text.p[*at] == '"') {
                buf_truncate(out, out->n - 1);
                ++*at;
        }
        buf_add(out, pair->text[side]);
}

struct str pairs_fill(const struct pairs *p, struct arena *a, enum side side, struct str text) {
        _cleanup_(buf_done) struct buf out = buf_make(4 * text.n + 65536);
        size_t i = 0;

        while (i < text.n) {
                ptrdiff_t end = text.p[i] == '@' ? str_find(text, '@', i + 1) : -1;
                const struct pair *pair = end > 0 && end - (ptrdiff_t)i < 24
                                                  ? map_find(p->by_label, str_sub(text, i + 1, (size_t)end))
                                                  : NULL;

                if (pair) {
                        i = (size_t)end + 1;
                        add_filled(pair, side, text, &i, &out);
                } else
                        buf_addch(&out, text.p[i++]);
        }
        return arena_str(a, buf_str(&out));
}

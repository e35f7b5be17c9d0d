/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum kind { UID, VERSION, ADDRESS, PORT, NAME, TOKEN, FIXED };
static const char letters[] = "UVAPNTF";

struct pair {
        enum kind kind;
        struct str label; /* between the @ */
        struct str text[SIDE_COUNT];
};

struct pairs {
        struct arena *arena;
        struct map *by_text[SIDE_COUNT]; /* letter and text → pair */
        struct map *by_label;
        uint64_t highest[SIDE_COUNT];
        unsigned step, index;
};

/* One comparison under way. */
struct walk {
        struct pairs *p;
        struct arena *a;
        struct buf place;
        struct differences *out;
        bool list_meta; /* inside a list's own metadata */
        bool causes;    /* inside a Status with several causes: its message may tell them in another order */
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

static struct str key_of(struct arena *a, enum kind kind, struct str text) {
        return arena_strf(a, "%c%.*s", letters[kind], STR_FMT(text));
}

static struct pair *find(const struct pairs *p, struct arena *a, enum side side, enum kind kind, struct str text) {
        return map_find(p->by_text[side], key_of(a, kind, text));
}

static struct pair *learn(struct pairs *p, enum kind kind, struct str label, struct str real, struct str sandbox) {
        struct pair *pair = arena_alloc(p->arena, sizeof *pair);

        *pair = (struct pair){ kind, label, { arena_str(p->arena, real), arena_str(p->arena, sandbox) } };
        for (enum side side = SIDE_REAL; side < SIDE_COUNT; side++)
                map_set(p->by_text[side], key_of(p->arena, kind, pair->text[side]), pair);
        map_set(p->by_label, label, pair);
        return pair;
}

void pairs_add(struct pairs *p, const char *label, struct str real, struct str sandbox) {
        learn(p, FIXED, arena_str(p->arena, str_from(label)), real, sandbox);
}

void differences_add(struct differences *d, struct arena *a, struct str place, struct str real, struct str sandbox) {
        if (d->count < MAX_DIFFERENCES)
                d->list[d->count] =
                        (struct difference){ arena_str(a, place), arena_str(a, real), arena_str(a, sandbox) };
        d->count++;
}

static struct str spell(struct arena *a, const struct value *v) {
        return v ? value_canonical(a, v) : STR("(absent)");
}

static void differ(struct walk *w, struct str real, struct str sandbox) {
        differences_add(w->out, w->a, buf_str(&w->place), real, sandbox);
}

/* Newer than all before on one side means newer than all before on the other. */
static void check_order(struct walk *w, struct str real, struct str sandbox) {
        struct pairs *p = w->p;
        uint64_t r, s;

        if (!str_to_u64(real, &r) || !str_to_u64(sandbox, &s))
                return;
        if ((r > p->highest[SIDE_REAL]) != (s > p->highest[SIDE_SANDBOX]))
                differ(w, STR("another order of versions"), sandbox);
        if (r > p->highest[SIDE_REAL])
                p->highest[SIDE_REAL] = r;
        if (s > p->highest[SIDE_SANDBOX])
                p->highest[SIDE_SANDBOX] = s;
}

static void compare_paired(struct walk *w, enum kind kind, struct str real, struct str sandbox) {
        struct pairs *p = w->p;
        const struct pair *r = find(p, w->a, SIDE_REAL, kind, real);
        const struct pair *s = find(p, w->a, SIDE_SANDBOX, kind, sandbox);

        if (!real.n != !sandbox.n || r != s)
                differ(w, r ? arena_strf(w->a, "%.*s (%.*s)", STR_FMT(real), STR_FMT(r->label)) : real,
                       s ? arena_strf(w->a, "%.*s (%.*s)", STR_FMT(sandbox), STR_FMT(s->label)) : sandbox);
        else if (!r && real.n) {
                learn(p, kind, arena_strf(p->arena, "%c%u.%u", letters[kind], p->step, p->index++), real, sandbox);
                if (kind == VERSION)
                        check_order(w, real, sandbox);
        }
}

static bool is_word(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
               c == '_';
}

static bool is_uid(struct str s) {
        return s.n == 36 && s.p[8] == '-' && s.p[13] == '-' && s.p[18] == '-' && s.p[23] == '-';
}

/* steps.c generates names with this prefix. */
static bool is_generated(struct str s) {
        return (s.n == 10 && str_starts(s, STR("made-"))) || (s.n == 9 && str_starts(s, STR("Bad_")));
}

static bool is_number(struct str s) {
        uint64_t n;

        return str_to_u64(s, &n) && n > 9;
}

/* The kinds a bare word in a text may be, tried in this order. */
static const struct pair *pair_of_word(const struct pairs *p, struct arena *a, enum side side, struct str word) {
        static const enum kind kinds[] = { FIXED, UID, ADDRESS, NAME, TOKEN };
        const struct pair *pair = NULL;

        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !pair; i++)
                pair = find(p, a, side, kinds[i], word);
        return pair;
}

static void add_word(const struct pairs *p, struct arena *a, enum side side, struct str word, bool versions,
                     struct buf *out) {
        const struct pair *pair = pair_of_word(p, a, side, word);

        if (!pair && versions)
                pair = find(p, a, side, VERSION, word);
        if (!pair && word.n == 5)
                pair = find(p, a, side, PORT, word);
        if (!pair && word.n > 1 && (word.p[word.n - 1] == '.' || word.p[word.n - 1] == '-')) {
                add_word(p, a, side, str_sub(word, 0, word.n - 1), versions, out);
                buf_addch(out, word.p[word.n - 1]);
        } else if (pair)
                buf_addf(out, "@%.*s@", STR_FMT(pair->label));
        else if (is_uid(word) && str_find(word, '1', 0) != 0)
                buf_addc(out, "@uid@");
        else if (str_starts(word, STR("10.96.")))
                buf_addc(out, "@address@");
        else
                buf_add(out, is_generated(word)             ? STR("@name@")
                             : versions && is_number(word) ? STR("@version@")
                                                           : word);
}

/* Behind "12:"? */
static bool is_in_time(struct str text, size_t at) {
        return at > 1 && text.p[at - 1] == ':' && text.p[at - 2] >= '0' && text.p[at - 2] <= '9';
}

/* The text with labels for the words that are paired. */
static struct str label_text(const struct pairs *p, struct arena *a, enum side side, struct str text) {
        _cleanup_(buf_done) struct buf out = buf_make(2 * text.n + 4096);
        bool versions = str_contains(text, STR("esourceVersion"));
        size_t i = 0;

        while (i < text.n) {
                size_t start = i;

                while (i < text.n && is_word(text.p[i]))
                        i++;
                if (i > start)
                        add_word(p, a, side, str_sub(text, start, i), versions && !is_in_time(text, start), &out);
                else
                        buf_addch(&out, text.p[i++]);
        }
        return arena_str(a, buf_str(&out));
}

/* "2026-01-01T00:00:05Z" → seconds within a month's days, or -1. */
static int64_t time_of(struct str s) {
        int64_t day, hour, minute, second;

        if (s.n < 20 || s.p[10] != 'T' || s.p[s.n - 1] != 'Z' || !str_to_i64(str_sub(s, 8, 10), &day) ||
            !str_to_i64(str_sub(s, 11, 13), &hour) || !str_to_i64(str_sub(s, 14, 16), &minute) ||
            !str_to_i64(str_sub(s, 17, 19), &second))
                return -1;
        return ((day * 24 + hour) * 60 + minute) * 60 + second;
}

static bool same_time(struct str real, struct str sandbox) {
        int64_t r = time_of(real), s = time_of(sandbox);

        return r >= 0 && s >= 0 && real.n == sandbox.n && r - s <= 1 && s - r <= 1;
}

static int by_letter(const void *a, const void *b) {
        return *(const char *)a - *(const char *)b;
}

static struct str sorted_letters(struct arena *a, struct str s) {
        struct str copy = arena_str(a, s);

        qsort((char *)copy.p, copy.n, 1, by_letter);
        return copy;
}

static bool same_letters(struct arena *a, struct str real, struct str sandbox) {
        return real.n == sandbox.n && str_eq(sorted_letters(a, real), sorted_letters(a, sandbox));
}

/* The text without what "Invalid value: {…}" quotes: the real server prints Go's structs there. */
static struct str without_quoted(struct arena *a, struct str text) {
        _cleanup_(buf_done) struct buf out = buf_make(text.n + 1);
        static const struct str mark = { "Invalid value: ", sizeof "Invalid value: " - 1 };
        int depth = 0;

        for (size_t i = 0; i < text.n; i++) {
                bool begins = depth == 0 && (text.p[i] == '{' || text.p[i] == '[') && out.n >= mark.n &&
                              str_ends(buf_str(&out), mark);

                if (depth == 0 && !begins) {
                        buf_addch(&out, text.p[i]);
                        continue;
                }
                depth += text.p[i] == '{' || text.p[i] == '[';
                depth -= text.p[i] == '}' || text.p[i] == ']';
        }
        return arena_str(a, buf_str(&out));
}

static const char *likeness(struct arena *a, struct str real, struct str sandbox) {
        if (str_contains(real, STR("patch: Invalid value")) || str_contains(real, STR("\"field\":\"patch\"")))
                return same_letters(a, real, sandbox) ? "(reordered)" : "";
        return str_contains(real, STR("Invalid value: ")) &&
                               str_eq(without_quoted(a, real), without_quoted(a, sandbox))
                       ? "(quoted)"
                       : "";
}

static void compare_messages(struct walk *w, struct str real, struct str sandbox) {
        struct str r = label_text(w->p, w->a, SIDE_REAL, real), s = label_text(w->p, w->a, SIDE_SANDBOX, sandbox);

        if (str_eq(r, s))
                return;
        size_t n = w->place.n;

        if (same_letters(w->a, r, s)) {
                w->out->reordered = true;
                return;
        }
        buf_addc(&w->place, likeness(w->a, r, s));
        differ(w, real, sandbox);
        buf_truncate(&w->place, n);
}

static void compare_strings(struct walk *w, struct str real, struct str sandbox) {
        struct str r = label_text(w->p, w->a, SIDE_REAL, real), s = label_text(w->p, w->a, SIDE_SANDBOX, sandbox);

        size_t n = w->place.n;

        if (str_eq(r, s) || same_time(real, sandbox))
                return;
        /* Faults of several fields of one Go map have no order. */
        if (str_contains(r, STR(": errors:\n")) && same_letters(w->a, r, s)) {
                w->out->reordered = true;
                return;
        }
        buf_addc(&w->place, likeness(w->a, r, s));
        differ(w, real, sandbox);
        buf_truncate(&w->place, n);
}

static bool is_address(struct str s) {
        return str_starts(s, STR("10.96."));
}

static void walk_value(struct walk *w, struct str key, const struct value *real, const struct value *sandbox);

static void walk_at(struct walk *w, struct str key, size_t index, const struct value *real,
                    const struct value *sandbox) {
        size_t n = w->place.n;

        if (key.n)
                buf_addf(&w->place, "/%.*s", STR_FMT(key));
        else
                buf_addf(&w->place, "/%zu", index);
        if (real && sandbox)
                walk_value(w, key, real, sandbox);
        else
                differ(w, spell(w->a, real), spell(w->a, sandbox));
        buf_truncate(&w->place, n);
}

/* A generated name is learned before anything else shows it. */
static void meet_generated_name(struct walk *w, const struct value *real, const struct value *sandbox) {
        struct str prefix = value_text(value_getc(real, "generateName"));
        struct str r = value_text(value_getc(real, "name")), s = value_text(value_getc(sandbox, "name"));

        if (prefix.n && str_starts(r, prefix) && str_starts(s, prefix) && r.n == prefix.n + 5 && r.n == s.n)
                compare_paired(w, NAME, r, s);
}

static void walk_maps(struct walk *w, const struct value *real, const struct value *sandbox) {
        size_t i = 0, j = 0;

        meet_generated_name(w, real, sandbox);
        while (i < real->map.count || j < sandbox->map.count) {
                const struct value_member *r = i < real->map.count ? &real->map.members[i] : NULL;
                const struct value_member *s = j < sandbox->map.count ? &sandbox->map.members[j] : NULL;
                int order = !r ? 1 : !s ? -1 : str_cmp(r->key, s->key);

                walk_at(w, order <= 0 ? r->key : s->key, 0, order <= 0 ? r->value : NULL, order >= 0 ? s->value : NULL);
                i += order <= 0;
                j += order >= 0;
        }
}

static int by_text(const void *a, const void *b) {
        return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static const struct str *sorted_texts(struct walk *w, enum side side, const struct value *list) {
        struct str *texts = arena_alloc(w->a, (list->list.count + 1) * sizeof *texts);

        for (size_t i = 0; i < list->list.count; i++)
                texts[i] = label_text(w->p, w->a, side, value_canonical(w->a, list->list.items[i]));
        qsort(texts, list->list.count, sizeof *texts, by_text);
        return texts;
}

/* Two sides' texts of causes that have no equal; a document quoted in one may have its keys in another order. */
static void differ_in_causes(struct walk *w, struct str real, struct str sandbox) {
        size_t n = w->place.n;

        buf_addc(&w->place, likeness(w->a, real, sandbox));
        differ(w, real.n ? real : STR("(absent)"), sandbox.n ? sandbox : STR("(absent)"));
        buf_truncate(&w->place, n);
}

/* Causes that come out of one Go map have no order. */
static void walk_causes(struct walk *w, const struct value *real, const struct value *sandbox) {
        const struct str *r = sorted_texts(w, SIDE_REAL, real), *s = sorted_texts(w, SIDE_SANDBOX, sandbox);
        size_t i = 0, j = 0;

        while (i < real->list.count || j < sandbox->list.count) {
                int order = i == real->list.count      ? 1
                            : j == sandbox->list.count ? -1
                                                       : str_cmp(r[i], s[j]);

                if (order && i < real->list.count && j < sandbox->list.count && *likeness(w->a, r[i], s[j])) {
                        differ_in_causes(w, r[i], s[j]);
                        order = 0;
                } else if (order)
                        differ_in_causes(w, order < 0 ? r[i] : (struct str){ 0 }, order > 0 ? s[j] : (struct str){ 0 });
                i += order <= 0;
                j += order >= 0;
        }
}

static void walk_lists(struct walk *w, struct str key, const struct value *real, const struct value *sandbox) {
        size_t r = real->list.count, s = sandbox->list.count;

        if (str_eqc(key, "causes")) {
                walk_causes(w, real, sandbox);
                return;
        }
        for (size_t i = 0; i < r || i < s; i++)
                walk_at(w, (struct str){ 0 }, i, i < r ? real->list.items[i] : NULL,
                        i < s ? sandbox->list.items[i] : NULL);
}

static void compare_port(struct walk *w, const struct value *real, const struct value *sandbox) {
        compare_paired(w, PORT, value_canonical(w->a, real), value_canonical(w->a, sandbox));
}

static bool is_port(const struct value *v) {
        int64_t port;

        return value_to_i64(v, &port) && port >= 30000 && port <= 32800;
}

static void walk_string(struct walk *w, struct str key, struct str real, struct str sandbox) {
        if (str_eqc(key, "uid") || (is_uid(real) && is_uid(sandbox) && !str_eq(real, sandbox)))
                compare_paired(w, UID, real, sandbox);
        else if (str_eqc(key, "resourceVersion") && w->list_meta)
                return; /* of the moment: other parts of a server write as well */
        else if (str_eqc(key, "resourceVersion"))
                compare_paired(w, VERSION, real, sandbox);
        else if (str_eqc(key, "continue"))
                compare_paired(w, TOKEN, real, sandbox);
        else if (w->causes && str_eqc(key, "message"))
                compare_messages(w, real, sandbox);
        else if (is_address(real) && is_address(sandbox))
                compare_paired(w, ADDRESS, real, sandbox);
        else
                compare_strings(w, real, sandbox);
}

static bool has_causes(const struct value *v) {
        return value_count(value_path(v, "details", "causes", NULL)) > 1;
}

static void walk_value(struct walk *w, struct str key, const struct value *real, const struct value *sandbox) {
        bool list_meta = w->list_meta;

        if (real->kind != sandbox->kind)
                differ(w, spell(w->a, real), spell(w->a, sandbox));
        else if (real->kind == VALUE_MAP) {
                w->list_meta = str_eqc(key, "metadata") && !value_getc(real, "uid") && !value_getc(real, "name");
                walk_maps(w, real, sandbox);
                w->list_meta = list_meta;
        } else if (real->kind == VALUE_LIST)
                walk_lists(w, key, real, sandbox);
        else if (real->kind == VALUE_STRING)
                walk_string(w, key, real->text, sandbox->text);
        else if (is_port(real) && is_port(sandbox))
                compare_port(w, real, sandbox);
        else if (!str_eq(value_canonical(w->a, real), value_canonical(w->a, sandbox)))
                differ(w, spell(w->a, real), spell(w->a, sandbox));
}

void compare_bodies(struct pairs *p, const char *where, const struct value *real, const struct value *sandbox,
                    struct arena *a, struct differences *out) {
        struct walk w = { .p = p,
                          .a = a,
                          .place = buf_make(4096),
                          .out = out,
                          .causes = has_causes(real) && has_causes(sandbox) };

        buf_addc(&w.place, where);
        walk_value(&w, (struct str){ 0 }, real, sandbox);
        buf_done(&w.place);
}

void compare_texts(struct pairs *p, const char *where, struct str real, struct str sandbox, struct arena *a,
                   struct differences *out) {
        struct str r = label_text(p, a, SIDE_REAL, real), s = label_text(p, a, SIDE_SANDBOX, sandbox);

        if (!str_eq(r, s))
                differences_add(out, a, str_from(where), r, s);
}

static struct str label_of(struct arena *a, const struct pair *pair) {
        return arena_strf(a, "@%.*s@", STR_FMT(pair->label));
}

static const struct value *label_scalar(struct pairs *p, struct arena *a, struct str key, const struct value *v) {
        const struct pair *pair = NULL;

        if (is_port(v))
                pair = find(p, a, SIDE_REAL, PORT, value_canonical(a, v));
        else if (v->kind != VALUE_STRING)
                return v;
        else if (str_eqc(key, "resourceVersion"))
                pair = find(p, a, SIDE_REAL, VERSION, v->text);
        else if (str_eqc(key, "continue"))
                pair = find(p, a, SIDE_REAL, TOKEN, v->text);
        else
                return value_string(a, label_text(p, a, SIDE_REAL, v->text), 0);
        return pair ? value_string(a, label_of(a, pair), 0) : v;
}

static const struct value *label_value(struct pairs *p, struct arena *a, struct str key, const struct value *v) {
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

const struct value *pairs_label(struct pairs *p, struct arena *a, const struct value *real) {
        return label_value(p, a, (struct str){ 0 }, real);
}

/* Ports are numbers: the quotes around their label go. */
static void add_filled(const struct pair *pair, enum side side, struct str text, size_t *at, struct buf *out) {
        if (pair->kind == PORT && out->n && out->p[out->n - 1] == '"' && *at < text.n && text.p[*at] == '"') {
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
                const struct pair *pair =
                        end > 0 && end - (ptrdiff_t)i < 24 ? map_find(p->by_label, str_sub(text, i + 1, (size_t)end)) : NULL;

                if (pair) {
                        i = (size_t)end + 1;
                        add_filled(pair, side, text, &i, &out);
                } else
                        buf_addch(&out, text.p[i++]);
        }
        return arena_str(a, buf_str(&out));
}

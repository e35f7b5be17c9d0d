/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

/* One comparison under way. */
struct walk {
        struct pairs *p;
        struct arena *a;
        struct buf place;
        struct differences *out;
        bool list_meta; /* inside a list's own metadata */
        bool causes;    /* inside a Status with several causes: its message may tell them in another order */
};

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

static struct str with_label(struct walk *w, struct str text, const struct pair *pair) {
        return pair ? arena_strf(w->a, "%.*s (%.*s)", STR_FMT(text), STR_FMT(pair->label)) : text;
}

static void compare_paired(struct walk *w, enum pair_kind kind, struct str real, struct str sandbox) {
        struct pairs *p = w->p;
        const struct pair *r = pairs_find(p, w->a, SIDE_REAL, kind, real);
        const struct pair *s = pairs_find(p, w->a, SIDE_SANDBOX, kind, sandbox);

        if (!real.n != !sandbox.n || r != s)
                differ(w, with_label(w, real, r), with_label(w, sandbox, s));
        else if (!r && real.n) {
                pairs_learn(p, kind, real, sandbox);
                if (kind == PAIR_VERSION && !pairs_in_order(p, real, sandbox))
                        differ(w, STR("another order of versions"), sandbox);
        }
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
        return str_contains(real, STR("Invalid value: ")) && str_eq(without_quoted(a, real), without_quoted(a, sandbox))
                       ? "(quoted)"
                       : "";
}

static void compare_messages(struct walk *w, struct str real, struct str sandbox) {
        struct str r = pairs_label_text(w->p, w->a, SIDE_REAL, real),
                   s = pairs_label_text(w->p, w->a, SIDE_SANDBOX, sandbox);

        if (str_eq(r, s))
                return;
        size_t n = w->place.n;

        if (same_letters(w->a, r, s)) {
                w->out->reordered = true;
                return;
        }
        buf_addc(&w->place, likeness(w->a, r, s));
        differ(w, r, s);
        buf_truncate(&w->place, n);
}

/* --- refusals of fields that nobody declared --- */

/* "…): errors:\n  .a: TEXT\n  .b: TEXT" or "…): .a: TEXT": what is before the findings, and them. */
struct findings {
        struct str before, lines;
};

static bool read_findings(struct str text, struct findings *ret) {
        static const struct str undeclared = { ": field not declared in schema", 30 };
        ptrdiff_t end = str_find(text, ')', 0);

        while (end >= 0 && !str_starts(str_sub(text, (size_t)end, text.n), STR("): ")))
                end = str_find(text, ')', (size_t)end + 1);
        if (end < 0 || !str_contains(text, undeclared))
                return false;
        ret->before = str_sub(text, 0, (size_t)end);
        ret->lines = str_sub(text, (size_t)end + 3, text.n);
        if (str_starts(ret->lines, STR("errors:\n")))
                ret->lines = str_sub(ret->lines, 8, ret->lines.n);
        return true;
}

/*
 * Go looks at a map's members in any order, and at no more of them once it met one that is not declared. Such a finding
 * among `lines` excuses that this one, from the same map, is missing.
 */
static bool is_excused(struct str finding, struct str lines) {
        static const struct str undeclared = { ": field not declared in schema", 30 };
        struct str line;

        while (str_next(&lines, '\n', &line)) {
                size_t parent;

                line = str_trim(line);
                if (str_eq(line, finding))
                        return true;
                if (!str_ends(line, undeclared))
                        continue;
                for (parent = line.n - undeclared.n; parent > 0 && line.p[parent - 1] != '.';)
                        parent--;
                if (parent && str_starts(finding, str_sub(line, 0, parent)))
                        return true;
        }
        return false;
}

static bool are_excused(struct str findings, struct str lines) {
        struct str line;

        while (str_next(&findings, '\n', &line))
                if (str_trim(line).n && !is_excused(str_trim(line), lines))
                        return false;
        return true;
}

static bool same_undeclared(struct str real, struct str sandbox) {
        struct findings r, s;

        return read_findings(real, &r) && read_findings(sandbox, &s) && str_eq(r.before, s.before) &&
               are_excused(r.lines, s.lines) && are_excused(s.lines, r.lines);
}

static void compare_strings(struct walk *w, struct str real, struct str sandbox) {
        struct str r = pairs_label_text(w->p, w->a, SIDE_REAL, real),
                   s = pairs_label_text(w->p, w->a, SIDE_SANDBOX, sandbox);

        size_t n = w->place.n;

        if (str_eq(r, s) || same_time(real, sandbox))
                return;
        /* Faults of several fields of one Go map have no order. */
        if ((str_contains(r, STR(": errors:\n")) && same_letters(w->a, r, s)) || same_undeclared(r, s)) {
                w->out->reordered = true;
                return;
        }
        buf_addc(&w->place, likeness(w->a, r, s));
        differ(w, r, s);
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
                compare_paired(w, PAIR_NAME, r, s);
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
                texts[i] = pairs_label_text(w->p, w->a, side, value_canonical(w->a, list->list.items[i]));
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
                int order = i == real->list.count ? 1 : j == sandbox->list.count ? -1 : str_cmp(r[i], s[j]);

                if (order && i < real->list.count && j < sandbox->list.count && *likeness(w->a, r[i], s[j])) {
                        differ_in_causes(w, r[i], s[j]);
                        order = 0;
                } else if (order)
                        differ_in_causes(w, order < 0 ? r[i] : (struct str){ 0 }, order > 0 ? s[j] : (struct str){ 0 });
                i += order <= 0;
                j += order >= 0;
        }
}

/* Finalizers that the deletion of a Namespace changed went through a Go map, which has no order. */
static bool is_shuffled(struct walk *w, const struct value *real, const struct value *sandbox) {
        struct str r = value_canonical(w->a, real), s = value_canonical(w->a, sandbox);

        return pairs_are_shuffled(w->p) && !str_eq(r, s) && same_letters(w->a, r, s);
}

static void walk_lists(struct walk *w, struct str key, const struct value *real, const struct value *sandbox) {
        size_t r = real->list.count, s = sandbox->list.count;

        if (str_eqc(key, "causes")) {
                walk_causes(w, real, sandbox);
                return;
        }
        if (str_eqc(key, "finalizers") && is_shuffled(w, real, sandbox)) {
                w->out->reordered = true;
                return;
        }
        for (size_t i = 0; i < r || i < s; i++)
                walk_at(w, (struct str){ 0 }, i, i < r ? real->list.items[i] : NULL,
                        i < s ? sandbox->list.items[i] : NULL);
}

static void compare_port(struct walk *w, const struct value *real, const struct value *sandbox) {
        compare_paired(w, PAIR_PORT, value_canonical(w->a, real), value_canonical(w->a, sandbox));
}

static void walk_string(struct walk *w, struct str key, struct str real, struct str sandbox) {
        if (str_eqc(key, "uid") || (pairs_is_uid(real) && pairs_is_uid(sandbox) && !str_eq(real, sandbox)))
                compare_paired(w, PAIR_UID, real, sandbox);
        else if (str_eqc(key, "resourceVersion") && w->list_meta)
                return; /* of the moment: other parts of a server write as well */
        else if (str_eqc(key, "resourceVersion"))
                compare_paired(w, PAIR_VERSION, real, sandbox);
        else if (str_eqc(key, "continue"))
                compare_paired(w, PAIR_TOKEN, real, sandbox);
        else if (w->causes && str_eqc(key, "message"))
                compare_messages(w, real, sandbox);
        else if (is_address(real) && is_address(sandbox))
                compare_paired(w, PAIR_ADDRESS, real, sandbox);
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
        else if (pairs_is_port(real) && pairs_is_port(sandbox))
                compare_port(w, real, sandbox);
        else if (!str_eq(value_canonical(w->a, real), value_canonical(w->a, sandbox)))
                differ(w, spell(w->a, real), spell(w->a, sandbox));
}

void compare_bodies(struct pairs *p, const char *where, const struct value *real, const struct value *sandbox,
                    struct arena *a, struct differences *out) {
        struct walk w = {
                .p = p, .a = a, .place = buf_make(4096), .out = out, .causes = has_causes(real) && has_causes(sandbox)
        };

        buf_addc(&w.place, where);
        walk_value(&w, (struct str){ 0 }, real, sandbox);
        buf_done(&w.place);
}

void compare_texts(struct pairs *p, const char *where, struct str real, struct str sandbox, struct arena *a,
                   struct differences *out) {
        struct str r = pairs_label_text(p, a, SIDE_REAL, real), s = pairs_label_text(p, a, SIDE_SANDBOX, sandbox);

        if (!str_eq(r, s))
                differences_add(out, a, str_from(where), r, s);
}

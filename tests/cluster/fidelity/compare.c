/* SPDX-License-Identifier: Apache-2.0 */
#include "compare_impl.h"

#include <stdlib.h>

/* One comparison under way. */
struct walk {
        struct pairs *p;
        struct arena *a;
        struct buf place;
        struct differences *out;
        bool list_meta; /* inside a list's own metadata */
        bool cells;     /* of a table */
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
        else if (!r && real.n)
                pairs_learn(p, kind, real, sandbox);
}

/* Versions seen for the first time are told before they are learned whether they are in order. */
static void compare_versions(struct walk *w, struct str real, struct str sandbox) {
        if (pairs_in_order(w->p, w->a, real, sandbox))
                compare_paired(w, PAIR_VERSION, real, sandbox);
        else
                differ(w, STR("another order of versions"), sandbox);
}

/* A list's own is of the moment, and other parts of a server write as well: it is not older than what was seen. */
static void compare_list_versions(struct walk *w, struct str real, struct str sandbox) {
        if (pairs_is_latest(w->p, SIDE_REAL, real) != pairs_is_latest(w->p, SIDE_SANDBOX, sandbox))
                differ(w, real, sandbox);
}

static void compare_strings(struct walk *w, struct str key, struct str real, struct str sandbox) {
        struct str r = pairs_label_text(w->p, w->a, SIDE_REAL, real),
                   s = pairs_label_text(w->p, w->a, SIDE_SANDBOX, sandbox);
        /* Faults of several members of one Go map have no order. */
        bool is_free = (w->causes && str_eqc(key, "message")) || str_contains(r, STR(": errors:\n"));

        if (pairs_are_shuffled(w->p)) {
                r = texts_with_sorted_finalizers(w->a, r);
                s = texts_with_sorted_finalizers(w->a, s);
        }
        if (str_eq(r, s) || (w->cells && texts_same_age(real, sandbox)))
                return;
        if (texts_same_time(real, sandbox)) {
                w->out->skewed = true;
                return;
        }
        if ((is_free && texts_reordered(w->a, r, s)) || texts_same_undeclared(r, s))
                w->out->reordered = true;
        else
                differ(w, r, s);
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

static const struct str *texts_of(struct walk *w, enum side side, const struct value *list, bool sorted) {
        struct str *texts = arena_alloc(w->a, (list->list.count + 1) * sizeof *texts);

        for (size_t i = 0; i < list->list.count; i++)
                texts[i] = pairs_label_text(w->p, w->a, side, value_canonical(w->a, list->list.items[i]));
        if (sorted)
                qsort(texts, list->list.count, sizeof *texts, texts_order);
        return texts;
}

static bool same_texts(const struct str *real, const struct str *sandbox, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (!str_eq(real[i], sandbox[i]))
                        return false;
        return true;
}

/* The same items in another order. */
static bool is_reordered(struct walk *w, const struct value *real, const struct value *sandbox) {
        size_t n = real->list.count;

        return n == sandbox->list.count &&
               !same_texts(texts_of(w, SIDE_REAL, real, false), texts_of(w, SIDE_SANDBOX, sandbox, false), n) &&
               same_texts(texts_of(w, SIDE_REAL, real, true), texts_of(w, SIDE_SANDBOX, sandbox, true), n);
}

static void walk_lists(struct walk *w, struct str key, const struct value *real, const struct value *sandbox) {
        size_t r = real->list.count, s = sandbox->list.count;
        /* Causes that come out of one Go map have no order, as finalizers that the deletion of a Namespace changed. */
        bool is_free = str_eqc(key, "causes") || (str_eqc(key, "finalizers") && pairs_are_shuffled(w->p));

        if (is_free && is_reordered(w, real, sandbox)) {
                w->out->reordered = true;
                return;
        }
        w->cells = str_eqc(key, "cells");
        for (size_t i = 0; i < r || i < s; i++)
                walk_at(w, (struct str){ 0 }, i, i < r ? real->list.items[i] : NULL,
                        i < s ? sandbox->list.items[i] : NULL);
        w->cells = false;
}

static void compare_port(struct walk *w, const struct value *real, const struct value *sandbox) {
        compare_paired(w, PAIR_PORT, value_canonical(w->a, real), value_canonical(w->a, sandbox));
}

static bool are_uids(struct str real, struct str sandbox) {
        return pairs_is_uid(real) && pairs_is_uid(sandbox) && !pairs_is_given_uid(real) && !pairs_is_given_uid(sandbox);
}

static bool are_numbers(struct str real, struct str sandbox) {
        uint64_t n;

        return str_to_u64(real, &n) && str_to_u64(sandbox, &n);
}

static void walk_string(struct walk *w, struct str key, struct str real, struct str sandbox) {
        if (are_uids(real, sandbox))
                compare_paired(w, PAIR_UID, real, sandbox);
        else if (str_eqc(key, "resourceVersion") && are_numbers(real, sandbox) && w->list_meta)
                compare_list_versions(w, real, sandbox);
        else if (str_eqc(key, "resourceVersion") && are_numbers(real, sandbox))
                compare_versions(w, real, sandbox);
        else if (str_eqc(key, "continue"))
                compare_paired(w, PAIR_TOKEN, real, sandbox);
        else if (is_address(real) && is_address(sandbox))
                compare_paired(w, PAIR_ADDRESS, real, sandbox);
        else
                compare_strings(w, key, real, sandbox);
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

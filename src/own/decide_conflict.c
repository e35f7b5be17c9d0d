/* SPDX-License-Identifier: Apache-2.0 */
/* Conflicts: reading the server's causes, and deciding each by policy. */
#include "own/decide_impl.h"

#include <stdlib.h>

#include "base/map.h"

/* Cuts `"NAME"` off the front of *rest. The server quotes as Go's %q does; names with quotes in them do not occur. */
static bool cut_quoted(struct str *rest, struct str *ret) {
        ptrdiff_t end = rest->n && rest->p[0] == '"' ? str_find(*rest, '"', 1) : -1;

        if (end < 0)
                return false;
        *ret = str_sub(*rest, 1, (size_t)end);
        *rest = str_sub(*rest, (size_t)end + 1, rest->n);
        return true;
}

static bool cut_word(struct str *rest, struct str word) {
        if (!str_starts(*rest, word))
                return false;
        *rest = str_sub(*rest, word.n, rest->n);
        return true;
}

int decide_cause_parse(struct str message, struct str field, struct decide_cause *ret_cause, struct err *err) {
        struct decide_cause c = { .field = field };
        struct str rest = message;

        if (!cut_word(&rest, STR("conflict with ")) || !cut_quoted(&rest, &c.manager))
                return err_set(err, ERR_PARSE, "cannot read the conflict \"%.*s\"", STR_FMT(message));
        if (cut_word(&rest, STR(" with subresource ")) && !cut_quoted(&rest, &c.subresource))
                return err_set(err, ERR_PARSE, "cannot read the subresource in \"%.*s\"", STR_FMT(message));
        *ret_cause = c;
        return 0;
}

/* An owner's paths as the server prints them, sorted by that: the text alone is ambiguous where names hold dots. */
struct printed {
        struct str text;
        struct field_path path;
};

struct owner {
        const struct managed_entry *entry;
        const struct printed *paths;
        size_t count;
        struct owner *next;
};

/* Owners are printed when a cause names them, once: there may be thousands of causes. */
struct conflict {
        struct desk d;
        struct owner *owners;
        const struct managed_entry *newborn;
        struct map *withheld; /* printed paths of out.withheld → this */
};

static int cmp_printed(const void *x, const void *y) {
        const struct printed *a = x, *b = y;

        return str_cmp(a->text, b->text);
}

static const struct owner *owner_of(struct conflict *k, const struct managed_entry *e) {
        struct arena *a = k->d.arena;
        const struct field_path *paths;

        for (const struct owner *o = k->owners; o; o = o->next) {
                if (o->entry == e)
                        return o;
        }
        size_t count = fieldset_paths(e->set, a, &paths);
        struct printed *all = arena_alloc(a, (count + 1) * sizeof *all);
        struct owner *o = arena_alloc(a, sizeof *o);

        for (size_t i = 0; i < count; i++)
                all[i] = (struct printed){ field_path_text(a, paths[i]), paths[i] };
        qsort(all, count, sizeof *all, cmp_printed);
        *o = (struct owner){ e, all, count, k->owners };
        k->owners = o;
        return o;
}

static bool find_path(struct conflict *k, const struct managed_entry *e, struct str field, struct field_path *ret) {
        const struct owner *o = owner_of(k, e);
        const struct printed *found = bsearch(&(struct printed){ .text = field }, o->paths, o->count, sizeof *o->paths,
                                              cmp_printed);

        if (found)
                *ret = found->path;
        return found;
}

static const struct managed_entry *find_owner(struct conflict *k, const struct decide_cause *c, struct field_path *ret) {
        for (size_t i = 0; i < k->d.managed.count; i++) {
                const struct managed_entry *e = &k->d.managed.entries[i];

                if (!e->broken && str_eq(e->manager, c->manager) && str_eq(e->subresource, c->subresource) &&
                    find_path(k, e, c->field, ret))
                        return e;
        }
        return NULL;
}

/*
 * An object whose managedFields somebody has wiped: the server gives all of it to before-first-apply in the very request
 * it refuses, so the live object does not show that owner.
 */
static const struct managed_entry *newborn_of(struct desk *d, struct str manager) {
        struct managed_entry *e = arena_zalloc(d->arena, sizeof *e);

        *e = (struct managed_entry){
                .manager = manager,
                .operation = MANAGED_UPDATE,
                .api_version = value_text(value_getc(d->in->desired, "apiVersion")),
                .set = fieldset_of_value(d->in->desired, d->type, d->arena, NULL),
        };
        return managed_is_before_first_apply(e) ? e : NULL;
}

static const struct managed_entry *find_newborn(struct conflict *k, const struct decide_cause *c, struct field_path *ret) {
        if (!k->newborn)
                k->newborn = newborn_of(&k->d, c->manager);
        if (!k->newborn || !str_eq(k->newborn->manager, c->manager) ||
            managed_find(&k->d.managed, c->manager, MANAGED_UPDATE, STR(""), STR("")))
                return NULL;
        return find_path(k, k->newborn, c->field, ret) ? k->newborn : NULL;
}

static void note_withheld(struct conflict *k, struct field_path p) {
        map_set(k->withheld, field_path_text(k->d.arena, p), k);
}

/*
 * In two rounds, first what is left to its owner and then what is taken: a path of several owners is taken only when it
 * is from all of them.
 */
static bool settle(struct conflict *k, const struct decide_cause *c, bool taking) {
        struct desk *d = &k->d;
        struct field_path p;
        const struct managed_entry *e = find_owner(k, c, &p);

        if (!e)
                e = find_newborn(k, c, &p);
        if (!e) {
                d->out.verdict = DECIDE_REFUSE;
                desk_reason(d, "%.*s is said to own %.*s, which the live object does not show", STR_FMT(c->manager),
                            STR_FMT(c->field));
                return false;
        }
        struct policy_answer answer = desk_ask(d, e, p);
        if (map_find(k->withheld, c->field) || (answer.action == POLICY_TAKE) != taking)
                return true;
        if (taking) {
                d->out.force = true;
                desk_note(d, (struct decide_note){ .kind = DECIDE_TAKEN,
                                                   .path = p,
                                                   .owner = e->manager,
                                                   .subresource = e->subresource,
                                                   .rule = answer.rule,
                                                   .place = answer.place });
                return true;
        }
        struct decide_withheld w = { p, e->manager, e->subresource };
        desk_withhold(d, &w, &answer);
        note_withheld(k, p);
        return true;
}

/* A path that is left to its owner and was ours as well leaves our set: under resourceVersion. */
static bool leaves_ours(const struct desk *d) {
        for (size_t i = 0; i < d->out.withheld_count; i++)
                if (d->ours && !d->ours->broken && fieldset_touches(d->ours->set, d->out.withheld[i].path))
                        return true;
        return false;
}

int decide_conflict(const struct decide_input *in, const struct decision *before, const struct decide_cause *causes,
                    size_t count, struct arena *a, struct decision *ret_decision, struct err *err) {
        _cleanup_(map_freep) struct map *withheld = map_new(NULL);
        struct conflict k = { .withheld = withheld };
        struct desk *d = &k.d;
        bool all_settled = true;
        int res = desk_open(d, in, a, err);

        if (res < 0)
                return res;
        if (!in->live || !count)
                return err_set(err, ERR_INVAL, "a conflict needs a live object and causes");
        desk_yield(d);
        for (size_t i = 0; i < d->out.withheld_count; i++)
                note_withheld(&k, d->out.withheld[i].path);
        for (size_t i = 0; all_settled && i < 2 * count; i++)
                all_settled = settle(&k, &causes[i % count], i >= count);
        desk_settle(d);
        if (!all_settled) {
                *ret_decision = d->out;
                return 0;
        }
        desk_mask(d);
        d->needs_version =
                d->needs_version || leaves_ours(d) || value_path(before->body, "metadata", "resourceVersion", NULL);
        if (d->out.force || !desk_converged(d)) {
                desk_send(d, d->masked);
                desk_reason(d, d->out.force ? "taking from %.*s" : "leaving to %.*s", STR_FMT(causes[0].manager));
        }
        desk_extra(d);
        desk_leftovers(d);
        *ret_decision = d->out;
        return 0;
}

bool desk_differs(const struct desk *d, struct field_path p) {
        const struct value *want = field_path_find(d->out.effective, p, d->type);
        const struct value *have = field_path_find(d->in->live, p, d->type);

        return want && (value_count(want) == 0 || schema_is_atomic(field_path_type(d->type, p), want)) &&
               !value_equal(want, have);
}

void desk_foresee(struct desk *d, const struct managed_entry *e) {
        const struct field_path *paths;

        if (e->broken || managed_is_ours(e))
                return;
        desk_settle(d);
        size_t count = fieldset_paths(e->set, d->arena, &paths);
        for (size_t i = 0; i < count; i++) {
                struct policy_answer answer;

                if (!desk_differs(d, paths[i]))
                        continue;
                answer = desk_ask(d, e, paths[i]);
                if (answer.action == POLICY_TAKE)
                        continue;
                struct decide_withheld w = { paths[i], e->manager, e->subresource };
                desk_withhold(d, &w, &answer);
        }
}

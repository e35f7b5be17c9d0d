/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths that leave our apply because Git removed them (design §6.5): sole-owned ones go by server-side apply itself;
 * leftovers that policy takes are stripped first, or the removal would have no effect; what others hold stays.
 */
#include "own/decide_impl.h"
#include "own/match.h"

#define MAX_OWNERS MANAGED_MAX_ENTRIES

static void pile_add(struct pile *p, const struct fieldset *set, struct arena *a) {
        size_t at = 0;

        for (; at + 1 < PILE_PLACES && p->places[at]; at++) {
                set = fieldset_union(a, p->places[at], set);
                p->places[at] = NULL;
        }
        p->places[at] = p->places[at] ? fieldset_union(a, p->places[at], set) : set;
}

static const struct fieldset *pile_all(const struct pile *p, struct arena *a) {
        const struct fieldset *all = &fieldset_empty;

        for (size_t i = 0; i < PILE_PLACES; i++)
                if (p->places[i])
                        all = fieldset_union(a, all, p->places[i]);
        return all;
}

void desk_strip(struct desk *d, struct strips *s, const struct managed_entry *e, const struct fieldset *set, bool into_ours) {
        if (fieldset_is_empty(set))
                return;
        for (size_t i = 0; i < s->count; i++)
                if (s->rows[i].entry == e && s->rows[i].into_ours == into_ours) {
                        pile_add(&s->piles[i], set, d->arena);
                        return;
                }
        /* Two rows an entry at most: what is moved, what only goes. */
        if (!s->rows) {
                s->rows = arena_alloc(d->arena, 2 * MAX_OWNERS * sizeof *s->rows);
                s->piles = arena_alloc(d->arena, 2 * MAX_OWNERS * sizeof *s->piles);
        }
        s->piles[s->count] = (struct pile){ { set } };
        s->rows[s->count++] = (struct handover_strip){ e, NULL, into_ours };
}

int desk_send_strips(struct desk *d, struct strips *s, struct err *err) {
        for (size_t i = 0; i < s->count; i++)
                s->rows[i].set = pile_all(&s->piles[i], d->arena);
        d->out.verdict = DECIDE_PATCH;
        d->out.handover = HANDOVER_NOTHING;
        return handover_take_over(d->in->live, s->rows, s->count, value_text(value_getc(d->in->desired, "apiVersion")),
                                  d->arena, &d->out.patch, &d->out.after, err);
}

struct leaver {
        struct arena *arena;
        struct path_list paths; /* topmost: all that is owned below goes with it */
        bool unsure;            /* a list could not be matched */
};

static void walk(struct leaver *l, const struct fieldset *set, const struct value *desired, const struct schema *type,
                 struct field_path at);

static void walk_child(struct leaver *l, const struct fieldset_child *c, const struct value *desired,
                       const struct schema *type, struct field_path at) {
        struct field_path p = field_path_join(l->arena, at, c->element);

        if (desired)
                walk(l, &c->set, desired, type, p);
        else
                path_list_add(&l->paths, l->arena, p);
}

static void walk_list(struct leaver *l, const struct fieldset *set, const struct value *desired,
                      const struct schema *type, struct field_path at) {
        struct matcher m;

        if (!matcher_init(&m, set, type)) {
                l->unsure = true;
                return;
        }
        for (size_t i = 0; i < set->count; i++)
                walk_child(l, &set->children[i], path_item_find(desired, &set->children[i].element, m.type, NULL),
                           schema_item(m.type), at);
}

static void walk(struct leaver *l, const struct fieldset *set, const struct value *desired, const struct schema *type,
                 struct field_path at) {
        if (set->count == 0)
                return;
        if (desired->kind == VALUE_LIST) {
                walk_list(l, set, desired, type, at);
                return;
        }
        for (size_t i = 0; i < set->count; i++) {
                const struct path_element *e = &set->children[i].element;
                bool field = e->kind == PATH_FIELD && desired->kind == VALUE_MAP;

                walk_child(l, &set->children[i], field ? value_get(desired, e->name) : NULL,
                           field ? schema_field(type, e->name) : NULL, at);
        }
}

struct path_list desk_absent(struct desk *d, const struct fieldset *set, const struct value *desired, bool *ret_unsure) {
        struct leaver l = { .arena = d->arena };

        walk(&l, set, desired, d->type, (struct field_path){ 0 });
        *ret_unsure = l.unsure;
        return l.paths;
}

static bool is_yielded(const struct desk *d, struct field_path p) {
        for (size_t i = 0; i < d->yields.count; i++)
                if (field_path_covers(d->yields.paths[i], p) || field_path_covers(p, d->yields.paths[i]))
                        return true;
        return false;
}

/*
 * Would an item be left that Git does not have? An applier's is. One that an updater made stays whole when that one has
 * all that we have; else what stands is a part that nobody wrote: a container without an image.
 */
static bool leaves_a_torso(const struct desk *d, const struct managed_entry *e, const struct fieldset *mine) {
        return e->operation == MANAGED_APPLY || !fieldset_is_empty(fieldset_subtract(d->arena, mine, e->set));
}

enum met { MET_NOTHING, MET_LOSES, MET_KEEPS };

/* One other owner of (something below) a path that leaves: what becomes of its hold? */
static enum met meet_owner(struct desk *d, struct field_path p, const struct managed_entry *e, struct strips *s) {
        const struct fieldset *mine = fieldset_under(d->arena, d->ours->set, p);
        const struct fieldset *shared = fieldset_intersect(d->arena, mine, e->set);
        struct policy_answer answer = desk_ask(d, e, p);
        bool item = p.elements[p.count - 1].kind == PATH_KEY; /* one with parts, as an item of a set is not */
        struct decide_note stays = {
                .kind = DECIDE_STAYS, .path = p, .owner = e->manager, .subresource = e->subresource, .rule = answer.rule,
                .place = answer.place
        };

        if (answer.action == POLICY_TAKE && !fieldset_is_empty(shared)) {
                desk_strip(d, s, e, shared, false);
                return MET_LOSES;
        }
        if (answer.action == POLICY_TAKE && item && e->operation == MANAGED_APPLY) {
                desk_strip(d, s, e, fieldset_under(d->arena, e->set, p), false);
                return MET_LOSES;
        }
        /* Below a list item an Update owner holds nothing unless it has the item itself. */
        if (item && e->operation == MANAGED_UPDATE && !fieldset_contains(e->set, p))
                return MET_NOTHING;
        desk_note(d, stays);
        if (item && leaves_a_torso(d, e, mine)) {
                d->out.verdict = DECIDE_REFUSE;
                desk_reason(d, "Git removed %.*s, but %.*s has fields in it and would keep them",
                            STR_FMT(field_path_text(d->arena, p)), STR_FMT(e->manager));
        }
        return MET_KEEPS;
}

/* No dry-run can show it, as what is shared is the other one's still. */
static void foretell_removal(struct desk *d, struct field_path p, const struct managed_entry *loser) {
        struct policy_answer answer = desk_ask(d, loser, p);

        d->out.removes = true;
        desk_note(d, (struct decide_note){ .kind = DECIDE_REMOVED,
                                           .path = p,
                                           .owner = loser->manager,
                                           .subresource = loser->subresource,
                                           .rule = answer.rule,
                                           .place = answer.place });
}

static void leave_path(struct desk *d, struct field_path p, struct strips *s) {
        const struct managed_entry *owners[MAX_OWNERS];
        size_t count = managed_touching(&d->managed, d->type, p, owners, MAX_OWNERS);
        const struct managed_entry *loser = NULL;
        bool kept = false;

        desk_note(d, (struct decide_note){ .kind = DECIDE_LEAVING, .path = p, .rule = "not in Git" });
        for (size_t i = 0; i < count; i++) {
                enum met met = MET_NOTHING;

                if (!managed_is_ours(owners[i]) && !managed_is_keeper(owners[i]))
                        met = meet_owner(d, p, owners[i], s);
                if (met == MET_LOSES)
                        loser = owners[i];
                kept |= met == MET_KEEPS;
        }
        if (loser && !kept && d->in->mode == DECIDE_DIFF)
                foretell_removal(d, p, loser);
}

int desk_leave(struct desk *d, struct err *err) {
        struct strips s = { 0 };
        struct path_list absent;
        bool unsure;

        if (!d->ours || d->ours->broken)
                return 0;
        absent = desk_absent(d, d->ours->set, d->out.effective, &unsure);
        if (absent.count || unsure)
                d->needs_version = true;
        for (size_t i = 0; i < absent.count; i++)
                if (!is_yielded(d, absent.paths[i]))
                        leave_path(d, absent.paths[i], &s);
        if (d->out.verdict == DECIDE_REFUSE || !s.count || d->in->mode != DECIDE_AUTO)
                return 0;

        desk_reason(d, "taking over from %.*s what Git removed", STR_FMT(s.rows[0].entry->manager));
        return desk_send_strips(d, &s, err);
}

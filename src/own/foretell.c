/* SPDX-License-Identifier: Apache-2.0 */
#include "own/foretell.h"

#include "own/decide_impl.h"

struct telling {
        const struct decide_input *in;
        struct arena *arena;
        const struct value *live;
        struct managed owners;
        struct hash128 fingerprint;
        bool has_fingerprint;
        struct foretold out;
};

/* --- steps ------------------------------------------------------------------------------------------------------ */

/*
 * Of a path the last step that speaks of it has the word; what is gone by then was told by an earlier one. That a path leaves
 * our entry tells less than why it came into it.
 */
static void add_notes(struct telling *t, const struct decision *d) {
        struct decide_note *all = arena_alloc(t->arena, (t->out.note_count + d->note_count + 1) * sizeof *all);
        struct path_set news, removed;
        size_t count = 0;

        path_set_init(&news);
        path_set_init(&removed);
        for (size_t i = 0; i < d->note_count; i++)
                if (d->notes[i].kind != DECIDE_LEAVING)
                        path_set_add(&news, d->notes[i].path);
        for (size_t i = 0; i < t->out.note_count; i++) {
                if (t->out.notes[i].kind == DECIDE_REMOVED)
                        path_set_add(&removed, t->out.notes[i].path);
                if (!path_set_has(&news, t->out.notes[i].path))
                        all[count++] = t->out.notes[i];
        }
        for (size_t i = 0; i < d->note_count; i++)
                if (d->notes[i].kind != DECIDE_LEAVING || !path_set_covers(&removed, d->notes[i].path))
                        all[count++] = d->notes[i];
        path_set_done(&news);
        path_set_done(&removed);
        t->out.note_count = desk_without_parts(all, count, t->arena, &t->out.notes);
}

/* What an apply leaves is known by its fingerprint from then on. */
static void applied(struct telling *t, const struct decision *d) {
        t->has_fingerprint = t->in->key && decide_fingerprint(t->in, d, t->live, &t->owners, t->arena, &t->fingerprint,
                                                              NULL) == 0;
}

static void set_managed_fields(struct telling *t, const struct value *list) {
        static const struct str keys[] = { { "metadata", 8 }, { "managedFields", 13 } };

        t->live = value_with_path(t->arena, t->live, keys, ARRAY_LEN(keys), list);
}

static int patched(struct telling *t, const struct decision *d, struct err *err) {
        for (size_t i = 0; i < d->patch->list.count; i++) {
                const struct value *op = d->patch->list.items[i];

                if (str_eqc(value_text(value_getc(op, "path")), "/metadata/managedFields"))
                        set_managed_fields(t, value_getc(op, "value"));
        }
        return managed_parse(t->live, t->arena, &t->owners, err);
}

/* An item goes with all that is below; a field goes when nobody else has it. */
static bool goes(const struct telling *t, struct field_path p) {
        for (size_t i = 0; i < t->owners.count; i++) {
                const struct managed_entry *e = &t->owners.entries[i];

                if (!managed_is_ours(e) && !e->broken && fieldset_contains(e->set, p))
                        return false;
        }
        return true;
}

/* managedFields with our entry's set changed. */
static const struct value *with_our_set(struct telling *t, const struct fieldset *set) {
        const struct value *list = value_path(t->live, "metadata", "managedFields", NULL);
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *e = list->list.items[i];
                bool ours = str_eqc(value_text(value_getc(e, "manager")), OWN_MANAGER) &&
                            str_eqc(value_text(value_getc(e, "operation")), "Apply") &&
                            !value_text(value_getc(e, "subresource")).n;

                value_list_add(&b, ours ? value_with(t->arena, e, STR("fieldsV1"), fieldset_to_value(t->arena, set)) : e);
        }
        return value_list_end(&b, t->arena, 0);
}

/* An apply after a patch lets go of what is ours and not in its body; everything else stands already. */
static int let_go(struct telling *t, const struct decision *d, struct err *err) {
        const struct managed_entry *ours = managed_ours(&t->owners);
        const struct fieldset *want, *left;
        const struct field_path *paths;
        struct path_list going = { 0 };

        if (!ours || ours->broken)
                return err_set(err, ERR_INVAL, "the answer shows no entry of truce");
        want = fieldset_of_value(d->effective, t->in->type, t->arena, NULL);
        left = fieldset_subtract(t->arena, ours->set, want);
        size_t count = fieldset_paths(left, t->arena, &paths);
        for (size_t i = 0; i < count; i++) {
                if (goes(t, paths[i]))
                        path_list_add(&going, t->arena, paths[i]);
        }
        t->live = field_paths_remove(t->arena, t->live, going.paths, going.count, t->in->type);
        set_managed_fields(t, with_our_set(t, fieldset_subtract(t->arena, ours->set, left)));
        return managed_parse(t->live, t->arena, &t->owners, err);
}

/* One more decision. 1: something was done; 0: there is nothing more to do. */
static int step(struct telling *t, const struct decision *first, struct err *err) {
        struct decide_input in = *t->in;
        struct decision d = { 0 };
        int r;

        in.live = t->live;
        in.managed = &t->owners;
        in.mode = DECIDE_AUTO;
        in.fingerprint = t->has_fingerprint ? &t->fingerprint : NULL;
        in.withheld = first->withheld;
        in.withheld_count = first->withheld_count;
        r = decide(&in, t->arena, &d, err);
        if (r < 0)
                return r;
        add_notes(t, &d);
        switch (d.verdict) {
        case DECIDE_PATCH:
                r = patched(t, &d, err);
                break;
        case DECIDE_APPLY:
                r = let_go(t, &d, err);
                applied(t, &d);
                break;
        case DECIDE_NOTHING:
                return 0;
        default:
                t->out.open = d.reason;
                return 0;
        }
        return r < 0 ? r : 1;
}

int foretell(const struct decide_input *in, const struct decision *first, const struct value *answer, struct arena *a,
             struct foretold *ret, struct err *err) {
        struct telling t = { .in = in, .arena = a, .live = answer };
        int r = managed_parse(answer, a, &t.owners, err);

        if (r < 0)
                return r;
        add_notes(&t, first);
        applied(&t, first);
        r = 1;
        for (size_t i = 0; i < FORETELL_MAX_STEPS && r > 0; i++)
                r = step(&t, first, err);
        if (r < 0)
                return r;
        t.out.object = t.live;
        t.out.owners = t.owners;
        *ret = t.out;
        return 0;
}

/* --- hands ------------------------------------------------------------------------------------------------------ */

struct comparing {
        const struct decide_input *in;
        const struct foretold *foretold;
        const struct schema *type;
        struct arena *arena;
        struct hand *hands;
        size_t count, cap;
};

/* The newest of the owners beside us; *ret_ours: we are one. `but`: none of the owners of the same name in it. */
static const struct managed_entry *newest_other(const struct comparing *c, const struct managed *m, struct field_path p,
                                                const struct managed *but, bool *ret_ours) {
        const struct managed_entry *owners[MANAGED_MAX_ENTRIES], *best = NULL;
        size_t count = m ? managed_owners(m, c->type, p, owners, MANAGED_MAX_ENTRIES) : 0;

        *ret_ours = false;
        for (size_t i = 0; i < count && i < MANAGED_MAX_ENTRIES; i++) {
                const struct managed_entry *e = owners[i], *then = NULL;

                *ret_ours |= managed_is_ours(e);
                if (but)
                        then = managed_find(but, e->manager, e->operation, e->subresource, e->api_version);
                if (managed_is_ours(e) || (then && !then->broken && fieldset_covers(then->set, c->type, p)))
                        continue;
                if (!best || str_cmp(e->time, best->time) > 0)
                        best = e;
        }
        return best;
}

static const struct decide_note *note_at(const struct foretold *f, struct field_path p) {
        for (size_t i = 0; i < f->note_count; i++)
                if (!decide_note_is_remark(f->notes[i].kind) && f->notes[i].kind != DECIDE_TAKEN &&
                    f->notes[i].kind != DECIDE_LEAVING && field_path_covers(f->notes[i].path, p))
                        return &f->notes[i];
        return NULL;
}

static bool is_atomic_at(const struct comparing *c, struct field_path p) {
        const struct schema *type = c->type;

        for (size_t i = 0; i < p.count; i++)
                type = p.elements[i].kind == PATH_FIELD ? schema_field(type, p.elements[i].name) : schema_item(type);
        return schema_form(type) == SCHEMA_ATOMIC;
}

static struct hand hand_at(const struct comparing *c, struct field_path p) {
        struct hand h = { .path = p, .note = note_at(c->foretold, p), .atomic = is_atomic_at(c, p) };
        const struct managed *then = &c->foretold->owners;
        bool ours_now, ours_then;
        const struct managed_entry *lost = newest_other(c, c->in->managed, p, then, &ours_now);
        const struct managed_entry *other_now = newest_other(c, c->in->managed, p, NULL, &ours_now);
        const struct managed_entry *other_then = newest_other(c, then, p, NULL, &ours_then);

        if (!ours_then && !other_then) {
                h.kind = HAND_GOES;
                h.owner = other_now;
        } else if (!ours_then) {
                h.kind = HAND_STAYS;
                h.owner = other_then;
        } else if (lost) {
                h.kind = HAND_CHANGES;
                h.owner = lost;
        } else if (other_then) {
                h.kind = HAND_SHARED;
                h.owner = other_then;
        } else {
                h.kind = ours_now ? HAND_OURS : HAND_NEW;
        }
        return h;
}

static void add_hands(struct comparing *c, const struct fieldset *node, struct field_path here) {
        if (node->count == 0 && here.count) {
                c->hands = mem_grow(c->hands, &c->cap, c->count + 1, sizeof *c->hands);
                c->hands[c->count++] = hand_at(c, here);
        }
        for (size_t i = 0; i < node->count; i++)
                add_hands(c, &node->children[i].set, field_path_join(c->arena, here, node->children[i].element));
}

static const struct fieldset *all_of(const struct managed *m, const struct fieldset *all, struct arena *a) {
        for (size_t i = 0; m && i < m->count; i++)
                if (!m->entries[i].broken)
                        all = fieldset_union(a, all, m->entries[i].set);
        return all;
}

/* `marks` are paths of truce's own making: a tracking id, a label. */
static const struct fieldset *without_marks(const struct fieldset *all, struct arena *a) {
        static const struct path_element status = { .kind = PATH_FIELD, .name = { "status", 6 } };
        static const char *const marks[][2] = { { "annotations", "argocd.argoproj.io/tracking-id" },
                                                { "labels", "truce.dev/installation" } };

        all = fieldset_without(a, all, (struct field_path){ &status, 1 });
        for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
                const struct path_element mark[] = { path_field(STR("metadata")), path_field(str_from(marks[i][0])),
                                                     path_field(str_from(marks[i][1])) };

                all = fieldset_without(a, all, (struct field_path){ mark, ARRAY_LEN(mark) });
        }
        return fieldset_strip(a, all);
}

size_t foretell_hands(const struct decide_input *in, const struct foretold *f, struct arena *a,
                      const struct hand **ret_hands) {
        struct comparing c = { .in = in, .foretold = f, .type = in->type, .arena = a };
        const struct fieldset *all = all_of(&f->owners, all_of(in->managed, &fieldset_empty, a), a);
        struct hand *kept;

        if (!c.type)
                c.type = schema_builtin(a, value_text(value_getc(in->desired, "apiVersion")),
                                        value_text(value_getc(in->desired, "kind")));
        add_hands(&c, without_marks(all, a), (struct field_path){ 0 });
        kept = arena_alloc(a, (c.count + 1) * sizeof *kept);
        if (c.count)
                memcpy(kept, c.hands, c.count * sizeof *kept);
        free(c.hands);
        *ret_hands = kept;
        return c.count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extra paths (design §6.8): in the live object, not in Git, and nobody's but a person's tool's. Under self-heal they
 * go: a patch of managedFields moves exactly these paths into our entry, and the next apply, which is without them,
 * removes them: list items too, which is how a port edited from 80 to 83 becomes 80 again. What is left alone is told,
 * so that nobody wonders.
 *
 * What a client created, rather than changed, it owns together with every default the server filled in. Of those
 * entries only what cannot be a default is told: list items, keys of free maps (data, labels, annotations), and what
 * client-side apply says it applied.
 */
#include "own/decide_impl.h"

#include "base/json.h"

/* The topmost owned path of a branch that Git lacks. */
struct extra {
        const struct managed_entry *entry;
        const struct fieldset *node; /* of the entry's set, at the path */
        struct field_path path;
        const struct schema *parent;
        bool in_others_item;         /* below a list item that Git lacks and the entry does not own */
};

static const struct path_element *last_of(struct field_path p) {
        return &p.elements[p.count - 1];
}

static const struct value *last_applied(struct desk *d) {
        struct str text = value_text(value_path(d->in->live, "metadata", "annotations", LAST_APPLIED, NULL));

        if (!d->has_last_applied && text.n && json_parse(text, d->arena, &d->last_applied, NULL) < 0)
                d->last_applied = NULL;
        d->has_last_applied = true;
        return d->last_applied;
}

static bool may_be_default(struct desk *d, const struct extra *x) {
        const struct managed_entry *e = x->entry;
        bool person = policy_classify(e->manager, e->operation, e->subresource) == POLICY_PERSON;

        if ((person && !e->creation) || last_of(x->path)->kind != PATH_FIELD || schema_form(x->parent) == SCHEMA_MAP)
                return false;
        return person || !field_path_find(last_applied(d), x->path, d->type);
}

bool desk_is_told_about(const struct desk *d, const struct managed_entry *e) {
        return desk_is_person(e) || desk_is_leftover(d, e);
}

/* Only people's and leftovers', and this entry is the first of them: a path is told once. */
static bool is_first_owner(const struct desk *d, const struct extra *x) {
        const struct managed_entry *owners[MANAGED_MAX_ENTRIES];
        size_t count = managed_owners(&d->managed, d->type, x->path, owners, MANAGED_MAX_ENTRIES);

        for (size_t i = 0; i < count; i++)
                if (!desk_is_told_about(d, owners[i]))
                        return false;
        return count && owners[0] == x->entry;
}

/* --- what stays ------------------------------------------------------------------------------------------------- */

/* `kubectl rollout restart`, which k9s and dashboards imitate: gone with the next rollout, and no part of any state. */
static bool is_restart(const struct path_element *e) {
        return e->kind == PATH_FIELD && (str_ends(e->name, STR("/restartedAt")) || str_eqc(e->name, "cattle.io/timestamp"));
}

static bool is_debugging(const struct path_element *e) {
        return e->kind == PATH_FIELD && str_eqc(e->name, "ephemeralContainers");
}

static bool is_sacred(const struct path_element *e) {
        return is_restart(e) || is_debugging(e);
}

static bool has_sacred(const struct fieldset *node) {
        for (size_t i = 0; i < node->count; i++)
                if (is_sacred(&node->children[i].element) || has_sacred(&node->children[i].set))
                        return true;
        return false;
}

static bool is_below_sacred(struct field_path p) {
        for (size_t i = 0; i < p.count; i++)
                if (is_sacred(&p.elements[i]))
                        return true;
        return false;
}

static bool meets_yield(const struct desk *d, struct field_path p) {
        for (size_t i = 0; i < d->yields.count; i++)
                if (field_path_covers(p, d->yields.paths[i]))
                        return true;
        for (size_t i = 0; i < d->tolerated.count; i++)
                if (field_path_covers(p, d->tolerated.paths[i]))
                        return true;
        return false;
}

/* An owner of something at or below the path must be a person who added it, in the version that is applied. */
static const char *owner_keeps(const struct desk *d, const struct managed_entry *e) {
        if (!desk_is_person(e))
                return "left alone: another owner has a part in it";
        if (!str_eq(e->api_version, value_text(value_getc(d->in->desired, "apiVersion"))))
                return "left alone: it was written in another version of its kind";
        if (e->creation)
                return "left alone: the object was made with it";
        if (d->in->adopted && policy_classify(e->manager, e->operation, e->subresource) == POLICY_CLIENT)
                return "left alone: it may be from before the object was adopted";
        return NULL;
}

static const char *owners_keep(const struct desk *d, struct field_path p) {
        const char *why = NULL;

        for (size_t i = 0; i < d->managed.count && !why; i++) {
                const struct managed_entry *e = &d->managed.entries[i];

                if (e->broken)
                        why = "left alone: an owner cannot be read";
                else if (fieldset_touches(e->set, p) || fieldset_covers(e->set, d->type, p))
                        why = owner_keeps(d, e);
        }
        return why;
}

/* Why an extra path stays; NULL: it goes. */
static const char *why_it_stays(const struct desk *d, const struct extra *x) {
        struct str top = x->path.elements[0].name;

        if (!d->in->remove_extra)
                return "left alone";
        if (d->in->override)
                return d->in->override;
        if (str_eqc(top, "metadata"))
                return "left alone: metadata is never removed";
        if (str_eqc(top, "status"))
                return "left alone: status is not Git's";
        if (is_below_sacred(x->path) || has_sacred(x->node))
                return "left alone: restarts and debug containers pass";
        if (x->in_others_item)
                return "left alone: it is inside another owner's list item";
        if (meets_yield(d, x->path))
                return "left alone: a part of it is left to its owner";
        if (desk_meets_scaled(d, x->path))
                return "left alone: replicas that Git leaves open are whoever's scales";
        return owners_keep(d, x->path);
}

/* --- telling and taking ----------------------------------------------------------------------------------------- */

/*
 * Before our first apply only items are taken, for the apply could fail on them (two ports of one name); the rest when
 * our entry is there.
 */
static bool can_move_now(const struct desk *d, const struct extra *x) {
        return desk_can_move(d, x->entry) || (!d->ours && last_of(x->path)->kind != PATH_FIELD);
}

static void take(struct desk *d, const struct extra *x) {
        for (size_t i = 0; i < d->managed.count; i++) {
                const struct managed_entry *e = &d->managed.entries[i];
                struct extra of_owner = { .entry = e, .path = x->path };

                if (desk_is_person(e) && fieldset_touches(e->set, x->path) && can_move_now(d, &of_owner))
                        desk_strip(d, &d->strips, e, fieldset_under(d->arena, e->set, x->path), true);
        }
        d->out.removes = true;
}

static void tell(struct desk *d, const struct extra *x, const char *stays, const char *place) {
        path_set_add(d->told, x->path);
        if (!stays)
                path_set_add(d->removed, x->path);
        desk_note(d, (struct decide_note){ .kind = stays ? DECIDE_EXTRA : DECIDE_REMOVED,
                                           .path = x->path,
                                           .owner = x->entry->manager,
                                           .rule = stays ? stays : "what people add to Git's objects is removed",
                                           .place = place });
        if (!stays)
                take(d, x);
}

/* What an item of Git's is known by is there whether Git says it or a default does. */
static bool is_key_of_item(const struct extra *x) {
        const struct path_element *last = last_of(x->path), *item = last - 1;

        return x->path.count > 1 && item->kind == PATH_KEY && last->kind == PATH_FIELD && value_get(item->value, last->name);
}

static bool is_worth_telling(struct desk *d, const struct extra *x) {
        const struct path_element *last = last_of(x->path);
        bool in_metadata = str_eqc(x->path.elements[0].name, "metadata");

        if ((last->kind == PATH_FIELD && str_eqc(last->name, LAST_APPLIED)) || is_key_of_item(x))
                return false;
        /* An entry of nobody's holds whatever stood there: controllers' marks as well. */
        if (in_metadata && !desk_is_person(x->entry))
                return false;
        return !desk_is_let_be(d, x->path) && !path_set_covers(d->told, x->path) && is_first_owner(d, x) &&
               field_path_find(d->in->live, x->path, d->type) && !may_be_default(d, x);
}

static const struct schema *type_below(const struct schema *type, const struct path_element *e) {
        return e->kind == PATH_FIELD ? schema_field(type, e->name) : schema_item(type);
}

/* The `.` of a map or list whose content is others' by now, and is told as theirs. */
static bool is_emptied(const struct desk *d, const struct extra *x) {
        const struct value *live = field_path_find(d->in->live, x->path, d->type);

        return x->node->count == 0 && value_count(live) > 0 &&
               schema_is_granular(type_below(x->parent, last_of(x->path)), live);
}

static void look_at(struct desk *d, const struct extra *x);

static void look_below(struct desk *d, const struct extra *x) {
        const struct schema *type = type_below(x->parent, last_of(x->path));
        bool in_item = x->in_others_item || (!x->node->member && last_of(x->path)->kind != PATH_FIELD);

        for (size_t i = 0; i < x->node->count; i++) {
                const struct fieldset_child *c = &x->node->children[i];
                struct extra below = { x->entry, &c->set, field_path_join(d->arena, x->path, c->element), type, in_item };

                look_at(d, &below);
        }
}

/* A map of which a part must stay, or goes, is told by its parts; a list item is one thing. */
static bool is_told_by_parts(const struct desk *d, const struct extra *x) {
        if (!x->node->count)
                return false;
        return path_set_is_under(d->removed, x->path) || (d->in->remove_extra && last_of(x->path)->kind == PATH_FIELD &&
                                                          !str_eqc(x->path.elements[0].name, "metadata"));
}

static void look_at(struct desk *d, const struct extra *x) {
        struct policy_answer answer = desk_ask(d, x->entry, x->path);
        const char *rule = answer.place && answer.action == POLICY_REPORT ? answer.rule : NULL;
        const char *stays = rule ? rule : x->node->member ? why_it_stays(d, x) : NULL;

        if (!x->node->member || (stays && is_told_by_parts(d, x)))
                look_below(d, x);
        else if (answer.action != POLICY_YIELD && is_worth_telling(d, x) && !(stays && is_emptied(d, x)))
                tell(d, x, stays, rule ? answer.place : NULL);
}

static void look_at_entry(struct desk *d, const struct managed_entry *e) {
        bool unsure;
        struct path_list absent = desk_absent(d, e->set, d->in->desired, &unsure);

        for (size_t i = 0; i < absent.count; i++) {
                struct extra x = { e, fieldset_at(e->set, absent.paths[i]), absent.paths[i], d->type, false };

                for (size_t k = 0; k + 1 < x.path.count; k++)
                        x.parent = type_below(x.parent, &x.path.elements[k]);
                look_at(d, &x);
        }
}

void desk_extra(struct desk *d) {
        struct path_set told, removed;

        path_set_init(&told);
        path_set_init(&removed);
        d->told = &told;
        d->removed = &removed;
        for (size_t i = 0; d->in->live && i < d->managed.count; i++)
                if (desk_is_told_about(d, &d->managed.entries[i]))
                        look_at_entry(d, &d->managed.entries[i]);
        d->told = d->removed = NULL;
        path_set_done(&told);
        path_set_done(&removed);
        d->out.note_count = desk_without_parts(d->out.notes, d->out.note_count, d->arena, &d->out.notes);
}

static bool says_that_it_stays(const struct decide_note *n) {
        return n->kind != DECIDE_REMOVED && n->kind != DECIDE_LEAVING && n->kind != DECIDE_TAKEN &&
               !decide_note_is_remark(n->kind);
}

size_t desk_without_parts(const struct decide_note *notes, size_t count, struct arena *a, const struct decide_note **ret_notes) {
        struct decide_note *whole = arena_alloc(a, (count + 1) * sizeof *whole);
        struct path_set stay;
        size_t left = 0;

        path_set_init(&stay);
        for (size_t i = 0; i < count; i++)
                if (says_that_it_stays(&notes[i]))
                        path_set_add(&stay, notes[i].path);
        for (size_t i = 0; i < count; i++)
                if (notes[i].kind != DECIDE_EXTRA || !path_set_is_over(&stay, notes[i].path))
                        whole[left++] = notes[i];
        path_set_done(&stay);
        *ret_notes = whole;
        return left;
}

const struct value *decide_without_removed(const struct decision *d, const struct value *object,
                                           const struct schema *type, struct arena *a) {
        struct path_list removed = { 0 };

        for (size_t i = 0; i < d->note_count; i++)
                if (d->notes[i].kind == DECIDE_REMOVED)
                        path_list_add(&removed, a, d->notes[i].path);
        return field_paths_remove(a, object, removed.paths, removed.count, type);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extra paths (design §6.8): in the live object, not in Git, and nobody's but a person's tool's. They are told, so that
 * nobody wonders; removing them is another matter.
 *
 * What a client created, rather than changed, it owns together with every default the server filled in. Of those
 * entries only what cannot be a default is told: list items, and keys of free maps (data, labels, annotations).
 */
#include "own/decide_impl.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

static bool is_person(const struct managed_entry *e) {
        enum policy_class class = policy_classify(e->manager, e->operation, e->subresource);

        return (class == POLICY_PERSON || class == POLICY_CLIENT) && !e->subresource.n && !e->broken;
}

static bool may_be_default(const struct managed_entry *e, const struct path_element *last,
                           const struct schema *parent) {
        if (policy_classify(e->manager, e->operation, e->subresource) == POLICY_PERSON)
                return false;
        return last->kind == PATH_FIELD && schema_form(parent) != SCHEMA_MAP;
}

/* Only people's, and this entry is the first of them: a path is told once. */
static bool is_first_owner(const struct desk *d, const struct managed_entry *e, struct field_path p) {
        const struct managed_entry *owners[MANAGED_MAX_ENTRIES];
        size_t count = managed_owners(&d->managed, p, owners, MANAGED_MAX_ENTRIES);

        for (size_t i = 0; i < count; i++)
                if (!is_person(owners[i]))
                        return false;
        return count && owners[0] == e;
}

/* Below what is told already there is nothing more to tell. */
static bool is_told(const struct desk *d, struct field_path p) {
        for (size_t i = 0; i < d->out.note_count; i++)
                if (d->out.notes[i].kind == DECIDE_EXTRA && field_path_covers(d->out.notes[i].path, p))
                        return true;
        return false;
}

static void tell(struct desk *d, const struct managed_entry *e, struct field_path p, const struct schema *parent) {
        const struct path_element *last = &p.elements[p.count - 1];

        if (may_be_default(e, last, parent) || (last->kind == PATH_FIELD && str_eqc(last->name, LAST_APPLIED)))
                return;
        if (desk_is_yielded(d, p) || is_told(d, p) || !is_first_owner(d, e, p) || !field_path_find(d->in->live, p, d->type))
                return;
        struct policy_answer answer = desk_ask(d, e, p);
        if (answer.action == POLICY_YIELD)
                return;
        desk_note(d, (struct decide_note){ .kind = DECIDE_EXTRA,
                                           .path = p,
                                           .owner = e->manager,
                                           .rule = answer.place ? answer.rule : "left alone",
                                           .place = answer.place });
}

static const struct schema *type_below(const struct schema *type, const struct path_element *e) {
        return e->kind == PATH_FIELD ? schema_field(type, e->name) : schema_item(type);
}

/* The owned paths at and below an absent one, each the topmost of its branch. */
static void tell_below(struct desk *d, const struct managed_entry *e, const struct fieldset *node, struct field_path p,
                       const struct schema *parent) {
        if (node->member) {
                tell(d, e, p, parent);
                return;
        }
        const struct schema *type = type_below(parent, &p.elements[p.count - 1]);
        for (size_t i = 0; i < node->count; i++)
                tell_below(d, e, &node->children[i].set, field_path_join(d->arena, p, node->children[i].element), type);
}

static void tell_entry(struct desk *d, const struct managed_entry *e) {
        bool unsure;
        struct path_list absent = desk_absent(d, e->set, d->in->desired, &unsure);

        for (size_t i = 0; i < absent.count; i++) {
                struct field_path p = absent.paths[i];
                const struct schema *parent = d->type;

                for (size_t k = 0; k + 1 < p.count; k++)
                        parent = type_below(parent, &p.elements[k]);
                tell_below(d, e, fieldset_at(e->set, p), p, parent);
        }
}

void desk_extra(struct desk *d) {
        for (size_t i = 0; d->in->live && i < d->managed.count; i++)
                if (is_person(&d->managed.entries[i]))
                        tell_entry(d, &d->managed.entries[i]);
}

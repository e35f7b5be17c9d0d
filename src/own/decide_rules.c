/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that yield a path whoever owns it (own/policy.h): the path is left out of what is applied, and where it is ours a
 * hand-over follows, as for every yielded path. A new object gets Git's value (desk_yield_or_seed()).
 */
#include "own/decide_impl.h"

/* Does the rule say something about this path of this object, or about something below it, for any owner? */
static enum pattern_fit fit_of(const struct desk *d, const struct policy_rule *r, struct field_path p) {
        if (!policy_rule_is_ownerless(r) || !policy_rule_selects(r, &d->object))
                return PATTERN_APART;
        if (r->path)
                return field_pattern_fit(*r->path, p);
        /* One that yields what others own says nothing of a path that nobody else has. */
        return r->action == POLICY_YIELD ? PATTERN_APART : PATTERN_COVERS;
}

/* What rules before this one say, or none may say: COVERS, it is decided by that; BELOW, something in it is. */
static enum pattern_fit fit_before(const struct desk *d, size_t rule, struct field_path p) {
        enum pattern_fit fit = desk_kept_fit(d, p);

        for (size_t i = 0; i < rule && fit != PATTERN_COVERS; i++) {
                enum pattern_fit one = fit_of(d, &d->in->policy->rules[i], p);

                fit = one == PATTERN_APART ? fit : one;
        }
        return fit;
}

static void yield_by(struct desk *d, const struct policy_rule *r, struct field_path p) {
        const struct managed_entry *owner = managed_other_owner(&d->managed, d->type, p, false);
        struct decide_note note = { .kind = DECIDE_YIELDED, .rule = r->name, .place = r->place };

        if (desk_is_yielded(d, p))
                return;
        if (owner) {
                note.owner = owner->manager;
                note.subresource = owner->subresource;
        }
        desk_yield_or_seed(d, p, note);
}

static bool is_key_field(struct field_path item, const struct path_element *e) {
        const struct path_element *last = &item.elements[item.count - 1];

        return last->kind == PATH_KEY && e->kind == PATH_FIELD && value_get(last->value, e->name);
}

/* Around what rules before this one decide, a path is yielded in parts; an item's keys stay, or it would be another. */
static void yield_tree(struct desk *d, size_t rule, const struct fieldset *all, struct field_path p) {
        enum pattern_fit before = fit_before(d, rule, p);
        const struct fieldset *node = fieldset_at(all, p);

        if (before == PATTERN_COVERS)
                return;
        if (before == PATTERN_APART) {
                yield_by(d, &d->in->policy->rules[rule], p);
                return;
        }
        for (size_t i = 0; node && i < node->count; i++)
                if (!is_key_field(p, &node->children[i].element))
                        yield_tree(d, rule, all, field_path_join(d->arena, p, node->children[i].element));
}

/* Every path that we want, own, or gave to the keeper: a path that left Git is still one of the rule's. */
static const struct fieldset *concerned(struct desk *d) {
        const struct fieldset *all = fieldset_of_value(d->in->desired, d->type, d->arena, NULL);

        for (size_t i = 0; i < d->managed.count; i++) {
                const struct managed_entry *e = &d->managed.entries[i];

                if (!e->broken && (e == d->ours || managed_is_keeper(e)))
                        all = fieldset_union(d->arena, all, e->set);
        }
        return all;
}

static void yield_rule(struct desk *d, size_t rule, const struct fieldset *all) {
        struct field_path pattern = *d->in->policy->rules[rule].path;
        struct path_list paths = { 0 };

        field_pattern_find_in(pattern, all, d->arena, &paths);
        /* What the schema is silent about is one leaf in a set. */
        field_pattern_find(pattern, d->in->desired, d->type, d->arena, &paths);
        for (size_t i = 0; i < paths.count; i++)
                yield_tree(d, rule, all, paths.paths[i]);
}

void desk_yield_rules(struct desk *d) {
        const struct fieldset *all = NULL;

        for (size_t i = 0; d->in->policy && i < d->in->policy->count; i++) {
                const struct policy_rule *r = &d->in->policy->rules[i];

                if (r->action != POLICY_YIELD || !r->path || !policy_rule_is_ownerless(r) ||
                    !policy_rule_selects(r, &d->object))
                        continue;
                if (!all)
                        all = concerned(d);
                yield_rule(d, i, all);
        }
}

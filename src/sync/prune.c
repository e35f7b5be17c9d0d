/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/prune.h"

#include <limits.h>

void prune_plan_done(struct prune_plan *plan) {
        free(plan->steps);
        *plan = (struct prune_plan){ 0 };
}

static bool was_replaced(const struct prune_candidate *c) {
        return c->entry->uid && c->live_uid.n && !str_eqc(c->live_uid, c->entry->uid);
}

static bool was_never_seen(const struct prune_candidate *c) {
        return !c->entry->uid && (c->entry->flags & INVENTORY_PENDING);
}

static bool is_definition(const struct inventory_id *id) {
        return str_eqc(id->kind, "CustomResourceDefinition") && str_eqc(id->group, "apiextensions.k8s.io");
}

enum prune_verdict prune_keeps_holder(const struct inventory_entry *e) {
        struct inventory_id id;

        return inventory_id_split(str_from(e->id), &id) && is_definition(&id) ? PRUNE_KEEP_DEFINITION : PRUNE_KEEP_NAMESPACE;
}

/* The order of the questions is the order of the answers' safety: when in doubt, keep. */
static enum prune_verdict judge(const struct prune_candidate *c) {
        if (c->excluded)
                return PRUNE_KEEP_EXCLUDED;
        if (c->namesake)
                return PRUNE_KEEP_NAMESAKE;
        if (c->entry->flags & INVENTORY_ALONG)
                return PRUNE_FORGET; /* it stays as it is, and is nobody's matter */
        if (!c->known)
                return PRUNE_KEEP_UNSURE;
        if (!c->exists)
                return PRUNE_FORGET;
        if (c->handed_on)
                return PRUNE_FORGET;
        if (c->live_foreign && (was_replaced(c) || was_never_seen(c)))
                return PRUNE_FORGET; /* it never was ours, or is no more */
        if (c->wanted)
                return PRUNE_KEEP_WANTED;
        if (c->entry->flags & INVENTORY_ADOPTED)
                return PRUNE_KEEP_ADOPTED;
        if (c->live_foreign)
                return PRUNE_KEEP_FOREIGN;
        if ((c->entry->flags & INVENTORY_KEEP) || c->live_protected)
                return PRUNE_KEEP_PROTECTED;
        if (c->holds_wanted)
                return prune_keeps_holder(c->entry);
        return PRUNE_DELETE;
}

static enum prune_stage stage_of(const struct prune_candidate *c) {
        struct inventory_id id;

        if (c->custom)
                return PRUNE_CUSTOM_RESOURCES;
        if (!inventory_id_split(str_from(c->entry->id), &id))
                return PRUNE_ORDINARY;
        if (is_definition(&id))
                return PRUNE_CRDS;
        if (str_eqc(id.kind, "Namespace") && id.group.n == 0)
                return PRUNE_NAMESPACES;
        return PRUNE_ORDINARY;
}

struct sortable {
        struct prune_step step;
        int rank;
};

static int in_order(const void *a, const void *b) {
        const struct sortable *x = a, *y = b;
        bool x_kept = x->step.verdict != PRUNE_DELETE, y_kept = y->step.verdict != PRUNE_DELETE;

        if (x_kept != y_kept)
                return x_kept - y_kept;
        if (x->step.stage != y->step.stage)
                return (int)x->step.stage - (int)y->step.stage;
        if (x->rank != y->rank)
                return x->rank > y->rank ? -1 : 1;
        return strcmp(x->step.entry->id, y->step.entry->id);
}

static int check_budget(const struct prune_input *in, const struct prune_limits *limits, size_t deletions,
                        struct err *err) {
        if (!in->render_complete)
                return err_set(err, ERR_DENIED,
                               "prune stopped: not every document of this revision could be read, so %zu %s that seem to "
                               "have left Git stay",
                               deletions, deletions == 1 ? "object" : "objects");
        if (in->stands_in)
                return err_set(err, ERR_DENIED,
                               "prune stopped: the newest commit cannot be read, and the one before it that stands in for "
                               "it prunes nothing, so %zu %s that it does not have stay",
                               deletions, deletions == 1 ? "object" : "objects");
        if (in->unread_by.n)
                return err_set(err, ERR_DENIED,
                               "prune stopped: application \"%.*s\" cannot be read at this commit, and may want what has left "
                               "this one, so %zu %s",
                               STR_FMT(in->unread_by), deletions, deletions == 1 ? "object stays" : "objects stay");
        if (in->desired_objects == 0 && !limits->allow_empty)
                return err_set(err, ERR_DENIED,
                               "prune stopped: the folder holds no objects at this revision, and an empty folder never "
                               "prunes; nothing was deleted (if this is meant: allowEmpty: true in syncPolicy.automated, "
                               "or truce sync --allow-empty)");
        if (in->empty_source.n && !limits->allow_empty)
                return err_set(err, ERR_DENIED,
                               "prune stopped: source %.*s holds no objects at this revision, and an empty folder never "
                               "prunes; nothing was deleted (if this is meant: allowEmpty: true in syncPolicy.automated, "
                               "or truce sync --allow-empty)", STR_FMT(in->empty_source));
        if (deletions > limits->max_count &&
            (uint64_t)deletions * 100 > (uint64_t)limits->max_percent * in->inventory_objects)
                return err_set(err, ERR_DENIED,
                               "prune stopped: %zu of %zu objects would go (limit %u or %u %%); nothing was deleted (if "
                               "this is meant: truce sync --prune-limit %zu)",
                               deletions, in->inventory_objects, limits->max_count, limits->max_percent, deletions);
        return 0;
}

int prune_plan(const struct prune_input *in, const struct prune_limits *limits, struct prune_plan *ret_plan,
               struct err *err) {
        _cleanup_(mem_freep) struct sortable *sorted = mem_alloc((in->count + 1) * sizeof *sorted);
        struct prune_plan plan = { .count = in->count };

        for (size_t i = 0; i < in->count; i++) {
                const struct prune_candidate *c = &in->candidates[i];

                sorted[i] = (struct sortable){ { c->entry, judge(c), stage_of(c) }, c->rank };
                plan.deletions += sorted[i].step.verdict == PRUNE_DELETE;
        }
        if (plan.deletions) {
                int r = check_budget(in, limits, plan.deletions, err);

                if (r < 0)
                        return r;
        }

        qsort(sorted, in->count, sizeof *sorted, in_order);
        plan.steps = mem_alloc((in->count + 1) * sizeof *plan.steps);
        for (size_t i = 0; i < in->count; i++)
                plan.steps[i] = sorted[i].step;
        *ret_plan = plan;
        return 0;
}

const char *prune_reason(enum prune_verdict verdict) {
        static const char *const reasons[] = {
                [PRUNE_DELETE] = "",
                [PRUNE_FORGET] = "",
                [PRUNE_KEEP_ADOPTED] = "adopted: it existed before truce applied it",
                [PRUNE_KEEP_PROTECTED] = "protected by annotation (Prune=false, Delete=false or helm keep)",
                [PRUNE_KEEP_WANTED] = "another application wants it, and takes it over as it is",
                [PRUNE_KEEP_FOREIGN] = "another tracker owns it now",
                [PRUNE_KEEP_NAMESPACE] = "the Namespace still holds objects that Git wants, or that are never pruned",
                [PRUNE_KEEP_DEFINITION] = "there are objects of its kind that Git wants, or that are never pruned",
                [PRUNE_KEEP_EXCLUDED] = "its kind is excluded by the configuration",
                [PRUNE_KEEP_NAMESAKE] = "Git has an object of this name whose kind the cluster does not serve",
                [PRUNE_KEEP_UNSURE] = "whether it still exists could not be found out",
        };

        return reasons[verdict];
}

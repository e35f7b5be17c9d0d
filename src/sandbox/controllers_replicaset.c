/* SPDX-License-Identifier: Apache-2.0 */
/* ReplicaSets and ReplicationControllers: as many Pods as wanted, and their count. */
#include <inttypes.h>

#include "sandbox/controllers_impl.h"

#define BURST 500 /* Pods made or deleted in one look */

struct pods {
        struct version **active; /* neither ended nor being deleted */
        size_t active_count, terminating;
};

static struct pods sort_out(struct version **all, size_t count) {
        struct pods p = { .active = all };

        for (size_t i = 0; i < count; i++) {
                const struct value *pod = all[i]->value;

                if (is_deleting(pod))
                        p.terminating += !pod_is_ended(pod);
                else if (!pod_is_ended(pod))
                        p.active[p.active_count++] = all[i];
        }
        return p;
}

/* ---- which to delete first ---- */

static int64_t rank(const struct value *pod) {
        int64_t rank = 0;

        if (value_text(value_path(pod, "spec", "nodeName", NULL)).n)
                rank += 4;
        if (str_eqc(value_text(value_path(pod, "status", "phase", NULL)), "Running"))
                rank += 2;
        return rank + pod_is_ready(pod);
}

static int64_t deletion_cost(const struct value *pod) {
        int64_t cost = 0;

        str_to_i64(annotation(pod, "controller.kubernetes.io/pod-deletion-cost"), &cost);
        return cost;
}

/* Least useful first: not running, not ready, cheap, young; names so that the order is one. */
static int by_use(const void *left, const void *right) {
        const struct value *a = (*(struct version *const *)left)->value, *b = (*(struct version *const *)right)->value;
        int64_t difference = rank(a) - rank(b);

        if (difference == 0)
                difference = deletion_cost(a) - deletion_cost(b);
        if (difference == 0)
                difference = time_ms(value_path(b, "metadata", "creationTimestamp", NULL)) -
                             time_ms(value_path(a, "metadata", "creationTimestamp", NULL));
        if (difference == 0)
                return str_cmp(meta_text(a, "name"), meta_text(b, "name"));
        return difference < 0 ? -1 : 1;
}

/* ---- acting ---- */

static bool make_pods(struct look *l, const struct value *set, size_t n) {
        struct str prefix = arena_strf(l->a, "%.*s-", STR_FMT(meta_text(set, "name")));
        const struct value *pod = pod_of_template(l->a, value_path(set, "spec", "template", NULL),
                                                  owner_reference(l->a, l->res, set), prefix);

        for (size_t i = 0; i < n && i < BURST; i++)
                if (!look_create_pod(l, set, pod))
                        return false;
        if (n > BURST)
                look_again(l, SECOND_MS);
        return true;
}

static bool delete_pods(struct look *l, const struct value *set, const struct pods *p, size_t n) {
        bool ok = true;

        qsort(p->active, p->active_count, sizeof *p->active, by_use);
        for (size_t i = 0; i < n; i++)
                ok &= look_delete_pod(l, set, p->active[i]);
        return ok;
}

static bool manage(struct look *l, const struct value *set, const struct pods *p) {
        size_t wanted = (size_t)int_or(value_path(set, "spec", "replicas", NULL), 1);

        if (is_deleting(set) || p->active_count == wanted)
                return true;
        return p->active_count < wanted ? make_pods(l, set, wanted - p->active_count)
                                        : delete_pods(l, set, p, p->active_count - wanted);
}

/* ---- telling ---- */

struct counts {
        int64_t labelled, ready, available;
};

static bool has_labels(const struct value *pod, const struct value *labels) {
        for (size_t i = 0; i < value_count(labels); i++)
                if (!value_equal(value_get(value_path(pod, "metadata", "labels", NULL), labels->map.members[i].key),
                                 labels->map.members[i].value))
                        return false;
        return true;
}

static struct counts count(struct look *l, const struct value *set, const struct pods *p) {
        int64_t min_ready_s = int_or(value_path(set, "spec", "minReadySeconds", NULL), 0), wait, soonest = 0;
        const struct value *labels = value_path(set, "spec", "template", "metadata", "labels", NULL);
        struct counts n = { 0 };

        for (size_t i = 0; i < p->active_count; i++) {
                const struct value *pod = p->active[i]->value;

                n.labelled += has_labels(pod, labels);
                n.ready += pod_is_ready(pod);
                n.available += pod_is_available(l, pod, min_ready_s, &wait);
                if (wait && (soonest == 0 || wait < soonest))
                        soonest = wait;
        }
        if (soonest)
                look_again(l, soonest);
        return n;
}

static const struct value *failure(struct look *l, const struct value *conditions, bool has_failed, bool is_create) {
        struct arena *a = l->a;

        if (!has_failed)
                return condition_without(a, conditions, "ReplicaFailure");
        if (condition_find(conditions, "ReplicaFailure"))
                return conditions;
        return items_with(a, conditions,
                          make_map(a, "type", make_text(a, "ReplicaFailure"), "status", make_text(a, "True"), "reason",
                                   make_text(a, is_create ? "FailedCreate" : "FailedDelete"), "message",
                                   make_str(a, look_why(l)), "lastTransitionTime", make_str(a, l->c->now), NULL));
}

bool replicaset_run(struct look *l, struct version *v) {
        const struct value *set = v->value;
        struct version **all;
        size_t n = look_claim(l, RES_POD, v, value_path(set, "spec", "selector", NULL), &all);
        struct pods p = sort_out(all, n);
        struct counts counts = count(l, set, &p);
        bool ok = manage(l, set, &p);
        bool is_create = (int64_t)p.active_count < int_or(value_path(set, "spec", "replicas", NULL), 1);
        const struct value *conditions = failure(l, value_path(set, "status", "conditions", NULL), !ok, is_create);
        const struct value *status =
                make_map(l->a, "replicas", make_int(l->a, (int64_t)p.active_count), "fullyLabeledReplicas",
                         counts.labelled ? make_int(l->a, counts.labelled) : NULL, "readyReplicas",
                         counts.ready ? make_int(l->a, counts.ready) : NULL, "availableReplicas",
                         counts.available ? make_int(l->a, counts.available) : NULL, "terminatingReplicas",
                         l->res == RES_REPLICASET ? make_int(l->a, (int64_t)p.terminating) : NULL, "observedGeneration",
                         value_path(set, "metadata", "generation", NULL), "conditions", conditions, NULL);

        return look_status(l, v, status) && ok;
}

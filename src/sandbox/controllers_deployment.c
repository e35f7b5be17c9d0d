/* SPDX-License-Identifier: Apache-2.0 */
/* Deployments: their ReplicaSets, revisions, and what their status says. */
#include <inttypes.h>

#include "sandbox/controllers_rollout.h"

#define HASH_LABEL     "pod-template-hash"
#define NAME_MAX_BYTES 253

/* ---- gathering ---- */

static int64_t revision_of(const struct value *object) {
        int64_t n = 0;

        str_to_i64(annotation(object, REVISION_ANNOTATION), &n);
        return n;
}

struct set set_read(struct version *v) {
        const struct value *status = value_getc(v->value, "status");

        return (struct set){
                .v = v,
                .size = int_or(value_path(v->value, "spec", "replicas", NULL), 1),
                .actual = int_or(value_getc(status, "replicas"), 0),
                .ready = int_or(value_getc(status, "readyReplicas"), 0),
                .available = int_or(value_getc(status, "availableReplicas"), 0),
                .terminating = int_or(value_getc(status, "terminatingReplicas"), 0),
                .revision = revision_of(v->value),
        };
}

static int by_age(const void *left, const void *right) {
        const struct version *a = ((const struct set *)left)->v, *b = ((const struct set *)right)->v;
        int64_t at = time_ms(value_path(a->value, "metadata", "creationTimestamp", NULL));
        int64_t bt = time_ms(value_path(b->value, "metadata", "creationTimestamp", NULL));

        return at != bt ? (at < bt ? -1 : 1) : str_cmp(a->name, b->name);
}

static bool is_of_template(const struct value *set, const struct value *template, struct arena *a) {
        const struct value *own = value_path(set, "spec", "template", NULL);

        return value_equal(with_meta_pair(a, own, "labels", STR(HASH_LABEL), NULL),
                           with_meta_pair(a, template, "labels", STR(HASH_LABEL), NULL));
}

static void read_bounds(struct rollout *r) {
        const struct value *strategy = value_path(r->v->value, "spec", "strategy", NULL);
        const struct value *rolling = value_getc(strategy, "rollingUpdate");

        r->replicas = int_or(value_path(r->v->value, "spec", "replicas", NULL), 1);
        r->is_rolling = !str_eqc(value_text(value_getc(strategy, "type")), "Recreate");
        if (!r->is_rolling)
                return;
        r->surge = share_of(value_getc(rolling, "maxSurge"), r->replicas, true);
        r->unavailable = share_of(value_getc(rolling, "maxUnavailable"), r->replicas, false);
        if (r->surge == 0 && r->unavailable == 0)
                r->unavailable = 1;
        if (r->unavailable > r->replicas)
                r->unavailable = r->replicas;
}

static void gather(struct rollout *r) {
        const struct value *template = value_path(r->v->value, "spec", "template", NULL);
        struct version **found;

        r->count = look_claim(r->l, RES_REPLICASET, r->v, value_path(r->v->value, "spec", "selector", NULL), &found);
        r->sets = arena_alloc(r->l->a, (r->count + 1) * sizeof *r->sets);
        for (size_t i = 0; i < r->count; i++)
                r->sets[i] = set_read(found[i]);
        qsort(r->sets, r->count, sizeof *r->sets, by_age);
        for (size_t i = r->count; i-- > 0;)
                if (is_of_template(r->sets[i].v->value, template, r->l->a))
                        r->current = &r->sets[i];
        read_bounds(r);
}

/* ---- conditions ---- */

static const struct value *status_of(const struct rollout *r) {
        return value_getc(r->v->value, "status");
}

static const struct value *conditions_of(const struct rollout *r) {
        return value_getc(status_of(r), "conditions");
}

static bool has_deadline(const struct rollout *r) {
        return int_or(value_path(r->v->value, "spec", "progressDeadlineSeconds", NULL), INT32_MAX) != INT32_MAX;
}

/* Nothing happens when status and reason are as they were; else it moves to the end. */
static const struct value *put(const struct rollout *r, const struct value *list, const char *type, const char *status,
                               const char *reason, const struct value *message) {
        struct arena *a = r->l->a;
        const struct value *old = condition_find(list, type), *now = make_str(a, r->l->c->now);
        bool same = condition_is(list, type, status);

        if (same && str_eqc(value_text(value_getc(old, "reason")), reason))
                return list;
        return items_with(a, condition_without(a, list, type),
                          make_map(a, "type", make_text(a, type), "status", make_text(a, status), "reason",
                                   make_text(a, reason), "message", message, "lastUpdateTime", now,
                                   "lastTransitionTime", same ? value_getc(old, "lastTransitionTime") : now, NULL));
}

static bool progress_is(const struct rollout *r, const char *reason) {
        return str_eqc(value_text(value_getc(condition_find(conditions_of(r), "Progressing"), "reason")), reason);
}

/* Writes annotations and conditions that were found on the way. */
static bool note(struct rollout *r, const struct value *object) {
        return value_equal(object, r->v->value) ||
               (look_update(r->l, RES_DEPLOYMENT, r->v, object, "status", &r->v) && r->v);
}

static bool note_progress(struct rollout *r, const struct value *object, const char *status, const char *reason,
                          const struct value *message) {
        if (has_deadline(r))
                object = with2(r->l->a, object, "status", "conditions",
                               put(r, conditions_of(r), "Progressing", status, reason, message));
        return note(r, object);
}

static bool check_paused(struct rollout *r) {
        bool paused = value_truth(value_path(r->v->value, "spec", "paused", NULL), false);

        if (progress_is(r, "ProgressDeadlineExceeded") || paused == progress_is(r, "DeploymentPaused"))
                return true;
        return note_progress(r, r->v->value, "Unknown", paused ? "DeploymentPaused" : "DeploymentResumed",
                             make_text(r->l->a, paused ? "Deployment is paused" : "Deployment is resumed"));
}

/* ---- the current set ---- */

static int64_t last_old_revision(const struct rollout *r) {
        int64_t last = 0;

        for (size_t i = 0; i < r->count; i++)
                if (&r->sets[i] != r->current && r->sets[i].revision > last)
                        last = r->sets[i].revision;
        return last;
}

static bool is_copied(struct str key) {
        static const char *const kept[] = {
                "kubectl.kubernetes.io/last-applied-configuration",
                REVISION_ANNOTATION,
                HISTORY_ANNOTATION,
                DESIRED_ANNOTATION,
                MAX_ANNOTATION,
                "deprecated.deployment.rollback.to",
        };

        for (size_t i = 0; i < ARRAY_LEN(kept); i++)
                if (str_eqc(key, kept[i]))
                        return false;
        return true;
}

static const struct value *with_annotations(const struct rollout *r, const struct value *set, int64_t revision) {
        const struct value *own = value_path(r->v->value, "metadata", "annotations", NULL);
        struct str old = annotation(set, REVISION_ANNOTATION), history = annotation(set, HISTORY_ANNOTATION);
        struct arena *a = r->l->a;

        for (size_t i = 0; i < value_count(own); i++)
                if (is_copied(own->map.members[i].key))
                        set = with_meta_pair(a, set, "annotations", own->map.members[i].key, own->map.members[i].value);
        if (revision_of(set) >= revision)
                return set;
        if (old.n)
                set = with_meta_pair(a, set, "annotations", STR(HISTORY_ANNOTATION),
                                     make_textf(a, "%.*s%s%.*s", STR_FMT(history), history.n ? "," : "", STR_FMT(old)));
        return with_meta_pair(a, set, "annotations", STR(REVISION_ANNOTATION), make_textf(a, "%" PRId64, revision));
}

/* The current set gets the Deployment's annotations, the Deployment its revision. */
static bool sync_current(struct rollout *r) {
        struct arena *a = r->l->a;
        const struct value *min_ready = value_path(r->v->value, "spec", "minReadySeconds", NULL);
        const struct value *set = with_annotations(r, r->current->v->value, last_old_revision(r) + 1), *d = r->v->value;
        struct version *v;

        if (int_or(min_ready, 0) != int_or(value_path(set, "spec", "minReadySeconds", NULL), 0))
                set = with2(a, set, "spec", "minReadySeconds", min_ready);
        if (!value_equal(set, r->current->v->value)) {
                if (!look_update(r->l, RES_REPLICASET, r->current->v, set, "", &v) || !v)
                        return false;
                *r->current = set_read(v);
                return true;
        }
        d = with_meta_pair(a, d, "annotations", STR(REVISION_ANNOTATION),
                           make_str(a, annotation(set, REVISION_ANNOTATION)));
        if (condition_find(conditions_of(r), "Progressing"))
                return note(r, d);
        return note_progress(r, d, "True", "FoundNewReplicaSet",
                             make_textf(a, "Found new replica set \"%.*s\"", STR_FMT(r->current->v->name)));
}

static const struct value *new_set(const struct rollout *r, struct str hash, int64_t revision) {
        struct arena *a = r->l->a;
        const struct value *d = r->v->value, *label = make_str(a, hash);
        struct str name = meta_text(d, "name");
        const struct value *template =
                with_meta_pair(a, value_path(d, "spec", "template", NULL), "labels", STR(HASH_LABEL), label);
        static const struct str match[] = { { "matchLabels", 11 }, { HASH_LABEL, sizeof HASH_LABEL - 1 } };
        const struct value *selector = value_with_path(a, value_path(d, "spec", "selector", NULL), match, 2, label);
        const struct value *set =
                make_map(a, "metadata",
                         make_map(a, "name",
                                  make_textf(a, "%.*s-%.*s", STR_FMT(str_sub(name, 0, NAME_MAX_BYTES - 1 - hash.n)),
                                             STR_FMT(hash)),
                                  "labels", value_path(template, "metadata", "labels", NULL), "ownerReferences",
                                  make_list(a, owner_reference(a, RES_DEPLOYMENT, d)), "annotations",
                                  make_map(a, DESIRED_ANNOTATION, make_textf(a, "%" PRId64, r->replicas),
                                           MAX_ANNOTATION, make_textf(a, "%" PRId64, r->replicas + r->surge), NULL),
                                  NULL),
                         "spec",
                         make_map(a, "replicas", make_int(a, rollout_new_size(r)), "minReadySeconds",
                                  value_path(d, "spec", "minReadySeconds", NULL), "selector", selector, "template",
                                  template, NULL),
                         NULL);

        return with_annotations(r, set, revision);
}

/* The name is taken by a set of another template: next time the hash has another salt. */
static bool note_collision(struct rollout *r, int64_t collisions) {
        note(r, with2(r->l->a, r->v->value, "status", "collisionCount", make_int(r->l->a, collisions + 1)));
        return false;
}

static bool create_current(struct rollout *r) {
        struct arena *a = r->l->a;
        int64_t collisions = int_or(value_getc(status_of(r), "collisionCount"), 0), revision = last_old_revision(r) + 1;
        const struct value *set =
                new_set(r, template_hash(a, value_path(r->v->value, "spec", "template", NULL), collisions), revision);
        struct str name = meta_text(set, "name");

        if (look_find(r->l, RES_REPLICASET, name))
                return note_collision(r, collisions);
        if (!look_create(r->l, RES_REPLICASET, set, NULL)) {
                const struct value *why = make_textf(a, "Failed to create new replica set \"%.*s\": %.*s",
                                                     STR_FMT(name), STR_FMT(look_why(r->l)));

                look_event(r->l, r->v->value, WARNING, "ReplicaSetCreateError", "%s", why->text.p);
                note_progress(r, r->v->value, "False", "ReplicaSetCreateError", why);
                return false;
        }
        r->sets[r->count] = set_read(look_find(r->l, RES_REPLICASET, name));
        r->current = &r->sets[r->count++];
        if (r->current->size > 0)
                look_event(r->l, r->v->value, NORMAL, "ScalingReplicaSet",
                           "Scaled up replica set %.*s from 0 to %" PRId64, STR_FMT(name), r->current->size);
        return note_progress(r,
                             with_meta_pair(a, r->v->value, "annotations", STR(REVISION_ANNOTATION),
                                            make_textf(a, "%" PRId64, revision)),
                             "True", "NewReplicaSetCreated",
                             make_textf(a, "Created new replica set \"%.*s\"", STR_FMT(name)));
}

/* ---- status ---- */

struct totals {
        int64_t replicas, updated, ready, available, unavailable, terminating;
};

static struct totals total(const struct rollout *r) {
        struct totals t = { .updated = r->current ? r->current->actual : 0 };

        for (size_t i = 0; i < r->count; i++) {
                t.replicas += r->sets[i].actual;
                t.ready += r->sets[i].ready;
                t.available += r->sets[i].available;
                t.terminating += r->sets[i].terminating;
        }
        if (sets_size(r) > t.available)
                t.unavailable = sets_size(r) - t.available;
        return t;
}

static bool is_complete(const struct rollout *r, const struct totals *t) {
        return t->updated == r->replicas && t->replicas == r->replicas && t->available == r->replicas &&
               int_or(value_getc(status_of(r), "observedGeneration"), 0) >=
                       int_or(value_path(r->v->value, "metadata", "generation", NULL), 0);
}

static int64_t number_in(const struct value *status, const char *field) {
        return int_or(value_getc(status, field), 0);
}

static bool has_progressed(const struct rollout *r, const struct totals *t) {
        const struct value *old = status_of(r);
        int64_t updated = number_in(old, "updatedReplicas");

        return t->updated > updated || t->replicas - t->updated < number_in(old, "replicas") - updated ||
               t->ready > number_in(old, "readyReplicas") || t->available > number_in(old, "availableReplicas");
}

/* Looks again when it may have become so. */
static bool is_late(const struct rollout *r) {
        const struct value *c = condition_find(conditions_of(r), "Progressing");
        int64_t deadline_s = int_or(value_path(r->v->value, "spec", "progressDeadlineSeconds", NULL), 0);

        if (!c || progress_is(r, "NewReplicaSetAvailable"))
                return false;
        if (progress_is(r, "ProgressDeadlineExceeded"))
                return true;
        int64_t left = time_ms(value_getc(c, "lastUpdateTime")) + deadline_s * SECOND_MS - look_wall_ms(r->l);
        if (left >= 0)
                look_again(r->l, left + SECOND_MS);
        return left < 0;
}

static const struct value *progress_message(const struct rollout *r, const char *what) {
        return make_textf(r->l->a, "%s \"%.*s\" %s", r->current ? "ReplicaSet" : "Deployment",
                          STR_FMT(r->current ? r->current->v->name : r->v->name), what);
}

static const struct value *judge_progress(const struct rollout *r, const struct totals *t, const struct value *list) {
        struct arena *a = r->l->a;
        const struct value *old = condition_find(list, "Progressing");

        if (!has_deadline(r))
                return condition_without(a, list, "Progressing");
        if (t->replicas == t->updated && progress_is(r, "NewReplicaSetAvailable"))
                return list;
        if (is_complete(r, t))
                return put(r, list, "Progressing", "True", "NewReplicaSetAvailable",
                           progress_message(r, "has successfully progressed."));
        if (has_progressed(r, t)) {
                /* Even with the same reason: the deadline counts from the last step. */
                const struct value *since = condition_is(list, "Progressing", "True")
                                                    ? value_getc(old, "lastTransitionTime")
                                                    : make_str(a, r->l->c->now);
                const struct value *fresh = put(r, condition_without(a, list, "Progressing"), "Progressing", "True",
                                                "ReplicaSetUpdated", progress_message(r, "is progressing."));
                const struct value *c = condition_find(fresh, "Progressing");

                look_again(r->l, (int_or(value_path(r->v->value, "spec", "progressDeadlineSeconds", NULL), 0) + 1) *
                                         SECOND_MS);
                return items_with(a, condition_without(a, fresh, "Progressing"),
                                  value_with(a, c, STR("lastTransitionTime"), since));
        }
        if (is_late(r))
                return put(r, list, "Progressing", "False", "ProgressDeadlineExceeded",
                           progress_message(r, "has timed out progressing."));
        return list;
}

/* A set that cannot make Pods says so; the current one first. */
static const struct value *failure_of(const struct rollout *r) {
        const struct value *found = NULL;

        for (size_t i = 0; i < r->count; i++) {
                const struct value *c =
                        condition_find(value_path(r->sets[i].v->value, "status", "conditions", NULL), "ReplicaFailure");

                if (c && (!found || &r->sets[i] == r->current))
                        found = c;
        }
        return found;
}

static const struct value *judge(const struct rollout *r, const struct totals *t, bool progress) {
        struct arena *a = r->l->a;
        const struct value *list = conditions_of(r), *failure = failure_of(r);
        bool available = t->available >= r->replicas - r->unavailable;

        list = put(r, list, "Available", available ? "True" : "False",
                   available ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                   make_text(a, available ? "Deployment has minimum availability."
                                          : "Deployment does not have minimum availability."));
        if (progress)
                list = judge_progress(r, t, list);
        if (!progress)
                return list;
        if (!failure)
                return condition_without(a, list, "ReplicaFailure");
        return put(r, list, "ReplicaFailure", "True", value_text(value_getc(failure, "reason")).p,
                   value_getc(failure, "message"));
}

static const struct value *unless_zero(struct arena *a, int64_t n) {
        return n ? make_int(a, n) : NULL;
}

static bool tell(struct rollout *r, bool progress) {
        struct arena *a = r->l->a;
        struct totals t = total(r);

        return look_status(r->l, r->v,
                           make_map(a, "observedGeneration", value_path(r->v->value, "metadata", "generation", NULL),
                                    "replicas", unless_zero(a, t.replicas), "updatedReplicas",
                                    unless_zero(a, t.updated), "readyReplicas", unless_zero(a, t.ready),
                                    "availableReplicas", unless_zero(a, t.available), "unavailableReplicas",
                                    unless_zero(a, t.unavailable), "terminatingReplicas", make_int(a, t.terminating),
                                    "collisionCount", value_getc(status_of(r), "collisionCount"), "conditions",
                                    judge(r, &t, progress), NULL));
}

/* ---- the ways a Deployment goes ---- */

static bool roll(struct rollout *r) {
        bool moved, ok = r->current || create_current(r);
        struct totals t;

        ok = ok && rollout_roll(r, &moved);
        if (!ok)
                return false;
        t = total(r);
        if (!moved && is_complete(r, &t))
                ok = rollout_clean(r);
        return tell(r, true) && ok;
}

static bool old_pods_run(const struct rollout *r) {
        for (size_t i = 0; i < r->count; i++) {
                struct version **pods;

                if (&r->sets[i] == r->current)
                        continue;
                size_t n = look_owned(r->l, RES_POD, meta_text(r->sets[i].v->value, "uid"), &pods);
                for (size_t k = 0; k < n; k++)
                        if (!pod_is_ended(pods[k]->value))
                                return true;
        }
        return false;
}

static bool recreate(struct rollout *r) {
        bool moved, ok = rollout_drain(r, &moved);
        struct totals t;

        if (!ok)
                return false;
        if (moved || old_pods_run(r))
                return tell(r, true);
        ok = (r->current || create_current(r)) && rollout_resize(r, r->current, r->replicas, false);
        if (!ok)
                return false;
        t = total(r);
        if (is_complete(r, &t))
                ok = rollout_clean(r);
        return tell(r, true) && ok;
}

bool deployment_run(struct look *l, struct version *v) {
        struct rollout r = { .l = l, .v = v };

        gather(&r);
        if (is_deleting(v->value))
                return tell(&r, false);
        if (!check_paused(&r) || (r.current && !sync_current(&r)))
                return false;
        bool paused = value_truth(value_path(r.v->value, "spec", "paused", NULL), false);
        if (paused || rollout_is_scaling(&r)) {
                bool ok = rollout_scale(&r) && (!paused || rollout_clean(&r));

                return tell(&r, false) && ok;
        }
        return r.is_rolling ? roll(&r) : recreate(&r);
}

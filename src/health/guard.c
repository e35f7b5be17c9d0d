/* SPDX-License-Identifier: Apache-2.0 */
#include "health/guard.h"

#include "base/when.h"
#include "health/rule_impl.h"

/* KServe, KubeRay: so long a status from before our write may still be of before it. */
#define COPIED_MS INT64_C(30000)

#define HOOK_FINALIZER "argocd.argoproj.io/hook-finalizer"
#define CAPI_PAUSED    "cluster.x-k8s.io/paused"
#define STRIMZI_PAUSED "strimzi.io/pause-reconciliation"

/*
 * Flux's controllers move status.observedGeneration when they succeed (it is -1 until then, and for ever where nothing
 * is to be done); their conditions tell of their own generation.
 */
#define FLUX_GROUPS ".toolkit.fluxcd.io"

/* Those of Cluster API move it when they succeed, and their conditions say why they do not. */
#define CAPI_GROUPS "cluster.x-k8s.io"

/* What a kind's status.observedGeneration is worth. */
enum generation {
        BY_SHAPE,  /* what is there is true */
        ALWAYS,    /* and it always is there: without a status nobody has looked at the object yet */
        WHEN_WELL, /* but it stays behind while something is wrong: only a Healthy from an old status is not believed */
        COPIED,    /* of a child: cannot be compared */
        LAZILY,    /* written with something else that changes only: it may stay behind for ever */
        OTHERWISE, /* not written, not in time, or it means something else */
};

static const struct {
        const char *group, *kind; /* kind NULL: all of the group */
        enum generation generation;
} kinds[] = {
        { "apps", "Deployment", ALWAYS },
        { "apps", "StatefulSet", ALWAYS },
        { "apps", "DaemonSet", ALWAYS },
        { "apps", "ReplicaSet", ALWAYS },
        { "", "ReplicationController", ALWAYS },
        /* Kubernetes 1.37 writes it with the counters, which it does not while the target cannot be read. */
        { "autoscaling", "HorizontalPodAutoscaler", WHEN_WELL },
        { "policy", "PodDisruptionBudget", ALWAYS },
        /* What their operators write when they are done; a failure leaves it behind. */
        { "ceph.rook.io", NULL, WHEN_WELL },
        { "postgresql.cnpg.io", "Database", WHEN_WELL },
        { "postgresql.cnpg.io", "Publication", WHEN_WELL },
        { "postgresql.cnpg.io", "Subscription", WHEN_WELL },
        { "rabbitmq.com", NULL, WHEN_WELL },
        { "leaderworkerset.x-k8s.io", "LeaderWorkerSet", ALWAYS },
        { "disaggregatedset.x-k8s.io", "DisaggregatedSet", ALWAYS },
        { "disaggregatedset.x-k8s.io", "DisaggregatedSetRoleScaler", ALWAYS },
        { "serving.kserve.io", "InferenceService", COPIED },
        { "serving.kubeflow.org", "InferenceService", COPIED },
        { "serving.kserve.io", "LLMInferenceService", OTHERWISE },
        { "ray.io", "RayCluster", LAZILY },
        /* The generation that the running machine was started from; behind until it is restarted. */
        { "kubevirt.io", "VirtualMachine", OTHERWISE },
        { "serving.knative.dev", "Service", ALWAYS },
        { "serving.knative.dev", "Revision", ALWAYS },
        { "serving.knative.dev", "Configuration", ALWAYS },
        { "serving.knative.dev", "Route", ALWAYS },
        { "nvidia.com", "DynamoGraphDeployment", ALWAYS },
        { "nvidia.com", "DynamoComponentDeployment", ALWAYS },
        { "grove.io", "PodCliqueSet", ALWAYS },
        { "grove.io", "PodClique", ALWAYS },
        { "grove.io", "PodCliqueScalingGroup", ALWAYS },
        { "lmcache.lmcache.ai", "LMCacheEngine", ALWAYS },
        { "extensions.agents.x-k8s.io", "SandboxWarmPool", ALWAYS },
};

static enum generation generation_of(const struct value *object) {
        struct str version = rule_text(object, "apiVersion"), kind = rule_text(object, "kind");
        ptrdiff_t slash = str_find(version, '/', 0);
        struct str group = slash < 0 ? (struct str){ 0 } : str_sub(version, 0, (size_t)slash);

        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (str_eqc(group, kinds[i].group) && (!kinds[i].kind || str_eqc(kind, kinds[i].kind)))
                        return kinds[i].generation;
        if (str_ends(group, STR(CAPI_GROUPS)))
                return WHEN_WELL;
        return str_ends(group, STR(FLUX_GROUPS)) ? OTHERWISE : BY_SHAPE;
}

bool health_publishes_generation(const struct value *object) {
        enum generation generation = generation_of(object);
        const struct value *conditions = value_path(object, "status", "conditions", NULL);
        int64_t observed;

        if (generation == ALWAYS || (generation < COPIED && rule_observed(object, &observed)))
                return true;
        if (generation == COPIED || generation == LAZILY || !value_is(conditions, VALUE_LIST))
                return false;
        for (size_t i = 0; i < conditions->list.count; i++)
                if (value_getc(conditions->list.items[i], "observedGeneration"))
                        return true;
        return false;
}

/* --- conditions -------------------------------------------------------------------------------------------------- */

static const struct value *old_condition(const struct value *c, int64_t observed, int64_t generation, struct arena *a) {
        struct rule r = { .a = a };
        struct str message =
                arena_strf(a, "condition %s is about generation %lld, %lld is awaited",
                           rule_word(&r, rule_text(c, "type")), (long long)observed, (long long)generation);

        c = value_with(a, c, STR("status"), value_string(a, STR("Unknown"), 0));
        c = value_with(a, c, STR("reason"), value_string(a, STR("NotObserved"), 0));
        return value_with(a, c, STR("message"), value_string(a, message, 0));
}

/* The list with old ones replaced; the list itself when there is none, and what is no list. */
static const struct value *fresh_conditions(const struct value *list, int64_t generation, struct arena *a) {
        struct value_list_builder b = { 0 };
        bool changed = false;

        if (!value_is(list, VALUE_LIST))
                return list;
        for (size_t i = 0; i < list->list.count; i++) {
                const struct value *c = list->list.items[i];
                int64_t observed;

                if (value_to_i64(value_getc(c, "observedGeneration"), &observed) && observed < generation) {
                        c = old_condition(c, observed, generation, a);
                        changed = true;
                }
                value_list_add(&b, c);
        }
        if (changed)
                return value_list_end(&b, a, 0);
        value_list_drop(&b);
        return list;
}

static const struct value *with_fresh(const struct value *map, int64_t generation, struct arena *a) {
        const struct value *list = value_getc(map, "conditions"), *fresh = fresh_conditions(list, generation, a);

        return fresh == list ? map : value_with(a, map, STR("conditions"), fresh);
}

/* The Gateway API and its relatives have conditions for each of several things. */
static const struct value *with_fresh_parts(const struct value *status, const char *key, int64_t generation,
                                            struct arena *a) {
        const struct value *parts = value_getc(status, key);
        struct value_list_builder b = { 0 };
        bool changed = false;

        if (!value_is(parts, VALUE_LIST))
                return status;
        for (size_t i = 0; i < parts->list.count; i++) {
                const struct value *part = with_fresh(parts->list.items[i], generation, a);

                changed |= part != parts->list.items[i];
                value_list_add(&b, part);
        }
        if (changed)
                return value_with(a, status, str_from(key), value_list_end(&b, a, 0));
        value_list_drop(&b);
        return status;
}

const struct value *guard_view(const struct value *object, struct arena *a) {
        const struct value *status = value_getc(object, "status"), *fresh = status;
        int64_t generation = rule_generation(object);

        if (generation <= 0 || !value_is(status, VALUE_MAP))
                return object;
        fresh = with_fresh(fresh, generation, a);
        fresh = with_fresh_parts(fresh, "parents", generation, a);
        fresh = with_fresh_parts(fresh, "listeners", generation, a);
        fresh = with_fresh_parts(fresh, "ancestors", generation, a);
        return fresh == status ? object : value_with(a, object, STR("status"), fresh);
}

/* --- the object -------------------------------------------------------------------------------------------------- */

/* A null is as absent. */
static bool is_there(const struct value *v) {
        return v && v->kind != VALUE_NULL;
}

static bool has_hook_finalizer(const struct value *object) {
        const struct value *list = value_path(object, "metadata", "finalizers", NULL);

        if (!value_is(list, VALUE_LIST))
                return false;
        for (size_t i = 0; i < list->list.count; i++)
                if (str_eqc(value_text(list->list.items[i]), HOOK_FINALIZER))
                        return true;
        return false;
}

/* When the spec was last written, as far as the object and the caller know; 0: unknown. */
static int64_t written_ms(const struct health_question *q) {
        const struct value *entries = value_path(q->object, "metadata", "managedFields", NULL);
        int64_t last_ms = q->applied_ms > q->now_ms ? 0 : q->applied_ms, ms;

        if (!value_is(entries, VALUE_LIST))
                return last_ms;
        for (size_t i = 0; i < entries->list.count; i++) {
                const struct value *entry = entries->list.items[i];

                if (rule_text(entry, "subresource").n == 0 && rule_time(entry, "time", &ms) && ms > last_ms)
                        last_ms = ms;
        }
        return last_ms;
}

/* Of an object that has conditions. */
static bool has_moved_since(const struct rule *r, int64_t since_ms) {
        const struct value *list = value_getc(r->status, "conditions");
        int64_t ms;

        for (size_t i = 0; i < list->list.count; i++)
                if (rule_time(list->list.items[i], "lastTransitionTime", &ms) && ms >= since_ms)
                        return true;
        return false;
}

/* A copied observedGeneration: may Ready=True be from before the last write? */
static enum guard_answer ask_copied(const struct rule *r) {
        int64_t since_ms = written_ms(r->q);

        if (!rule_condition_is(rule_condition(r, "Ready"), "True") || since_ms == 0 || has_moved_since(r, since_ms) ||
            r->q->now_ms - since_ms >= COPIED_MS)
                return GUARD_ASK_RULE;
        rule_say(r, HEALTH_PROGRESSING, "waiting for its controller: Ready may be about the generation before");
        r->h->again_ms = since_ms + COPIED_MS;
        return GUARD_SAYS;
}

/* An observedGeneration that is behind counts for a while after the last write: by then the status would have moved. */
static enum guard_answer ask_lazily(const struct rule *r) {
        int64_t since_ms = written_ms(r->q), generation = rule_generation(r->object), observed;

        if (since_ms == 0 || r->q->now_ms - since_ms >= COPIED_MS || !rule_observed(r->object, &observed) ||
            observed >= generation)
                return GUARD_ASK_RULE;
        rule_say_unobserved(r, observed, generation);
        r->h->again_ms = since_ms + COPIED_MS;
        return GUARD_SAYS;
}

/* Told to rest, a controller does not observe what is written then. */
static bool is_resting(const struct rule *r) {
        const struct value *annotations = value_path(r->object, "metadata", "annotations", NULL);

        return rule_flag(r->spec, "suspend") || rule_flag(r->spec, "paused") || is_there(value_getc(annotations, CAPI_PAUSED)) ||
               str_eqc(value_text(value_getc(annotations, STRIMZI_PAUSED)), "true");
}

static enum guard_answer ask_generation(const struct rule *r, enum generation kind) {
        int64_t generation = rule_generation(r->object), observed;

        if ((kind == ALWAYS || kind == WHEN_WELL) && value_count(r->status) == 0)
                rule_say_no_status(r);
        else if (kind != OTHERWISE && rule_observed(r->object, &observed) && observed < generation)
                rule_say_unobserved(r, observed, generation);
        else
                return GUARD_ASK_RULE;
        return kind == WHEN_WELL || is_resting(r) ? GUARD_NOT_HEALTHY : GUARD_SAYS;
}

enum guard_answer guard_ask(const struct health_question *q, struct arena *a, struct health *ret_health) {
        struct rule r = rule_make(q->object, q, a, ret_health);
        enum generation generation = generation_of(q->object);

        if (is_there(value_path(q->object, "metadata", "deletionTimestamp", NULL)) && !has_hook_finalizer(q->object)) {
                rule_say_deletion(&r);
                return GUARD_SAYS;
        }
        if (generation == COPIED)
                return ask_copied(&r);
        return generation == LAZILY ? ask_lazily(&r) : ask_generation(&r, generation);
}

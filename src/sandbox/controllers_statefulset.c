/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StatefulSets: Pods with ordinals, made in order and taken in reverse, one at a time (OrderedReady) or all at once
 * (Parallel); updates from the last ordinal down to the partition, each Pod only when those above it are ready.
 */
#include <inttypes.h>

#include "sandbox/controllers_revision.h"

#define REVISION_LABEL "controller-revision-hash"
#define INDEX_LABEL    "apps.kubernetes.io/pod-index"
#define NAME_LABEL     "statefulset.kubernetes.io/pod-name"
#define MAX_ORDINALS   10000

struct stateful {
        struct look *l;
        struct version *v;
        const struct value *spec;
        struct revisions revisions;
        struct str current; /* name of the revision Pods below the partition have */
        int64_t start, replicas;
        struct version **pods;  /* by ordinal from `start`; NULL: missing */
        struct version **extra; /* Pods beyond, highest ordinal first */
        size_t extra_count;
        bool is_parallel;
};

/* ---- gathering ---- */

static int64_t ordinal_of(const struct version *pod) {
        struct str name = pod->name;
        int64_t n = -1;

        for (size_t i = name.n; i-- > 0;)
                if (name.p[i] == '-')
                        return str_to_i64(str_sub(name, i + 1, name.n), &n) ? n : -1;
        return -1;
}

static int by_ordinal_down(const void *left, const void *right) {
        int64_t a = ordinal_of(*(struct version *const *)left), b = ordinal_of(*(struct version *const *)right);

        return a == b ? 0 : a > b ? -1 : 1;
}

static void gather(struct stateful *s) {
        struct version **all;
        size_t n = look_claim(s->l, RES_POD, s->v, value_getc(s->spec, "selector"), &all);

        s->pods = arena_zalloc(s->l->a, (size_t)s->replicas * sizeof *s->pods);
        s->extra = all;
        for (size_t i = 0; i < n; i++) {
                int64_t at = ordinal_of(all[i]) - s->start;

                if (at >= 0 && at < s->replicas)
                        s->pods[at] = all[i];
                else
                        s->extra[s->extra_count++] = all[i];
        }
        qsort(s->extra, s->extra_count, sizeof *s->extra, by_ordinal_down);
}

static struct str revision_of(const struct version *pod) {
        return value_text(value_path(pod->value, "metadata", "labels", REVISION_LABEL, NULL));
}

static bool is_available(const struct stateful *s, const struct version *pod) {
        int64_t wait;
        bool yes = pod_is_available(s->l, pod->value, int_or(value_getc(s->spec, "minReadySeconds"), 0), &wait);

        if (wait)
                look_again(s->l, wait);
        return yes;
}

static bool is_healthy(const struct stateful *s, const struct version *pod) {
        return pod && !is_deleting(pod->value) && is_available(s, pod);
}

/* ---- Pods ---- */

static struct str claim_name(const struct stateful *s, const struct value *template, struct str pod) {
        return arena_strf(s->l->a, "%.*s-%.*s", STR_FMT(meta_text(template, "name")), STR_FMT(pod));
}

static bool make_claims(struct stateful *s, struct str pod) {
        const struct value *list = value_getc(s->spec, "volumeClaimTemplates");
        const struct value *match = value_path(s->spec, "selector", "matchLabels", NULL);

        for (size_t i = 0; i < value_count(list); i++) {
                struct str name = claim_name(s, list->list.items[i], pod);
                const struct value *claim = meta_with_text(list->list.items[i], "name", name, s->l->a);

                for (size_t k = 0; k < value_count(match); k++)
                        claim = with_meta_pair(s->l->a, claim, "labels", match->map.members[k].key,
                                               match->map.members[k].value);
                claim = value_with(s->l->a, claim, STR("status"), NULL);
                if (look_find(s->l, RES_CLAIM, name))
                        continue;
                if (!look_create(s->l, RES_CLAIM, claim, NULL)) {
                        look_event(s->l, s->v->value, WARNING, "FailedCreate",
                                   "Create Claim %.*s for Pod %.*s in StatefulSet %.*s failed error: %.*s",
                                   STR_FMT(name), STR_FMT(pod), STR_FMT(s->v->name), STR_FMT(look_why(s->l)));
                        return false;
                }
                look_event(s->l, s->v->value, NORMAL, "SuccessfulCreate",
                           "Create Claim %.*s Pod %.*s in StatefulSet %.*s success", STR_FMT(name), STR_FMT(pod),
                           STR_FMT(s->v->name));
        }
        return true;
}

static const struct value *with_volumes(const struct stateful *s, const struct value *pod, struct str name) {
        const struct value *list = value_getc(s->spec, "volumeClaimTemplates");
        const struct value *volumes = value_path(pod, "spec", "volumes", NULL);
        struct arena *a = s->l->a;

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *template = list->list.items[i];
                const struct value *claim = make_map(a, "claimName", make_str(a, claim_name(s, template, name)), NULL);

                volumes = items_with(a, volumes,
                                     make_map(a, "name", value_path(template, "metadata", "name", NULL),
                                              "persistentVolumeClaim", claim, NULL));
        }
        return volumes ? with2(a, pod, "spec", "volumes", volumes) : pod;
}

static int64_t partition_of(const struct stateful *s) {
        return int_or(value_path(s->spec, "updateStrategy", "rollingUpdate", "partition", NULL), 0);
}

static bool is_rolling(const struct stateful *s) {
        return !str_eqc(value_text(value_path(s->spec, "updateStrategy", "type", NULL)), "OnDelete");
}

/* Below the partition a Pod comes back as it was. */
static struct version *revision_for(const struct stateful *s, int64_t ordinal) {
        struct version *current = revisions_find(&s->revisions, s->current);

        return is_rolling(s) && ordinal < s->start + partition_of(s) && current ? current : s->revisions.latest;
}

static bool make_pod(struct stateful *s, int64_t ordinal) {
        struct arena *a = s->l->a;
        struct str set = s->v->name, name = arena_strf(a, "%.*s-%" PRId64, STR_FMT(set), ordinal);
        struct version *revision = revision_for(s, ordinal);
        const struct value *pod =
                pod_of_template(a, revision_template(revision, a), owner_reference(a, RES_STATEFULSET, s->v->value),
                                arena_strf(a, "%.*s-", STR_FMT(set)));

        pod = meta_with_text(pod, "name", name, a);
        pod = with_meta_pair(a, pod, "labels", STR(REVISION_LABEL), make_str(a, revision->name));
        pod = with_meta_pair(a, pod, "labels", STR(INDEX_LABEL), make_textf(a, "%" PRId64, ordinal));
        pod = with_meta_pair(a, pod, "labels", STR(NAME_LABEL), make_str(a, name));
        pod = with2(a, pod, "spec", "hostname", make_str(a, name));
        pod = with2(a, pod, "spec", "subdomain", value_getc(s->spec, "serviceName"));
        if (!make_claims(s, name))
                return false;
        if (!look_create(s->l, RES_POD, with_volumes(s, pod, name), NULL)) {
                look_event(s->l, s->v->value, WARNING, "FailedCreate",
                           "Create Pod %.*s in StatefulSet %.*s failed error: %.*s", STR_FMT(name), STR_FMT(set),
                           STR_FMT(look_why(s->l)));
                return false;
        }
        look_event(s->l, s->v->value, NORMAL, "SuccessfulCreate", "Create Pod %.*s in StatefulSet %.*s successful",
                   STR_FMT(name), STR_FMT(set));
        return true;
}

static bool delete_pod(struct stateful *s, struct version *pod) {
        struct str name = arena_str(s->l->a, pod->name);

        if (!look_delete(s->l, RES_POD, pod, NULL))
                return false;
        look_event(s->l, s->v->value, NORMAL, "SuccessfulDelete", "Delete Pod %.*s in StatefulSet %.*s successful",
                   STR_FMT(name), STR_FMT(s->v->name));
        return true;
}

/* ---- steps: each says whether the next one may follow ---- */

enum step { STEP_ON, STEP_WAIT, STEP_REFUSED };

static enum step done(bool ok) {
        return ok ? STEP_WAIT : STEP_REFUSED;
}

static enum step replace_ended(struct stateful *s, struct version *pod) {
        return done(is_deleting(pod->value) || delete_pod(s, pod));
}

static enum step grow(struct stateful *s) {
        enum step result = STEP_ON;

        for (int64_t i = 0; i < s->replicas; i++) {
                struct version *pod = s->pods[i];
                enum step step = STEP_ON;

                if (!pod)
                        step = done(make_pod(s, s->start + i));
                else if (pod_is_ended(pod->value))
                        step = replace_ended(s, pod);
                else if (!is_healthy(s, pod) && !s->is_parallel)
                        step = STEP_WAIT;
                if (step == STEP_REFUSED || (step == STEP_WAIT && !s->is_parallel))
                        return step;
                if (step == STEP_WAIT)
                        result = STEP_WAIT;
        }
        return result;
}

static enum step shrink(struct stateful *s) {
        for (size_t i = 0; i < s->extra_count; i++) {
                struct version *pod = s->extra[i];

                if (!is_deleting(pod->value) && !delete_pod(s, pod))
                        return STEP_REFUSED;
                if (!s->is_parallel)
                        return STEP_WAIT;
        }
        return s->extra_count ? STEP_WAIT : STEP_ON;
}

static enum step update(struct stateful *s) {
        const struct value *at_once = value_path(s->spec, "updateStrategy", "rollingUpdate", "maxUnavailable", NULL);
        int64_t may = at_once ? share_of(at_once, s->replicas, true) : 1, lowest = partition_of(s);

        for (int64_t i = s->replicas; may > 0 && i-- > lowest;) {
                struct version *pod = s->pods[i];

                if (pod && !is_deleting(pod->value) && !str_eq(revision_of(pod), s->revisions.latest->name)) {
                        if (!delete_pod(s, pod))
                                return STEP_REFUSED;
                        may--;
                } else if (!is_healthy(s, pod)) {
                        may--;
                }
        }
        return STEP_WAIT;
}

static enum step act(struct stateful *s) {
        enum step step = grow(s);

        if (step == STEP_ON || (step == STEP_WAIT && s->is_parallel))
                step = shrink(s);
        return step == STEP_ON && is_rolling(s) ? update(s) : step;
}

/* ---- telling ---- */

struct counts {
        int64_t replicas, ready, available, current, updated;
};

static void count_pod(const struct stateful *s, const struct version *pod, struct counts *n) {
        if (!pod || pod_is_ended(pod->value))
                return;
        n->replicas++;
        n->ready += pod_is_ready(pod->value);
        n->available += is_available(s, pod);
        if (is_deleting(pod->value))
                return;
        n->current += str_eq(revision_of(pod), s->current);
        n->updated += str_eq(revision_of(pod), s->revisions.latest->name);
}

static const struct value *unless_zero(struct arena *a, int64_t n) {
        return n ? make_int(a, n) : NULL;
}

static bool tell(struct stateful *s, struct counts n) {
        struct arena *a = s->l->a;
        struct version *latest = s->revisions.latest;

        /* The update is over: it is the current one now. */
        if (is_rolling(s) && n.updated == n.replicas && n.ready == n.replicas && n.replicas == s->replicas) {
                s->current = latest->name;
                n.current = n.updated;
        }
        return look_status(s->l, s->v,
                           make_map(a, "observedGeneration", value_path(s->v->value, "metadata", "generation", NULL),
                                    "replicas", make_int(a, n.replicas), "readyReplicas", unless_zero(a, n.ready),
                                    "availableReplicas", make_int(a, n.available), "currentReplicas",
                                    unless_zero(a, n.current), "updatedReplicas", unless_zero(a, n.updated),
                                    "currentRevision", make_str(a, s->current), "updateRevision",
                                    make_str(a, latest->name), "collisionCount", make_int(a, 0), NULL));
}

bool statefulset_run(struct look *l, struct version *v) {
        struct stateful s = { .l = l, .v = v, .spec = value_getc(v->value, "spec") };
        struct counts n = { 0 };
        enum step step = STEP_WAIT;

        if (is_deleting(v->value))
                return true;
        if (!revisions_sync(l, v, "controller.kubernetes.io/hash", &s.revisions))
                return false;
        s.current = value_text(value_path(v->value, "status", "currentRevision", NULL));
        if (s.current.n == 0)
                s.current = s.revisions.latest->name;
        s.start = int_or(value_path(s.spec, "ordinals", "start", NULL), 0);
        s.replicas = int_or(value_getc(s.spec, "replicas"), 1);
        if (s.replicas > MAX_ORDINALS)
                s.replicas = MAX_ORDINALS;
        s.is_parallel = str_eqc(value_text(value_getc(s.spec, "podManagementPolicy")), "Parallel");
        gather(&s);
        for (int64_t i = 0; i < s.replicas; i++)
                count_pod(&s, s.pods[i], &n);
        for (size_t i = 0; i < s.extra_count; i++)
                count_pod(&s, s.extra[i], &n);
        step = act(&s);
        const struct str kept[] = { s.current, s.revisions.latest->name };
        bool ok = tell(&s, n) && step != STEP_REFUSED;
        return revisions_trim(l, &s.revisions, v->value, kept, ARRAY_LEN(kept)) && ok;
}

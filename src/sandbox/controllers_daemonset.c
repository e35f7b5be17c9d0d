/* SPDX-License-Identifier: Apache-2.0 */
/* DaemonSets: on each Node that takes it one Pod, of today's template, replaced a few at a time. */
#include "base/json.h"
#include "sandbox/controllers_pod.h"
#include "sandbox/controllers_revision.h"

#define HASH_LABEL            "controller-revision-hash"
#define GENERATION_LABEL      "pod-template-generation"
#define GENERATION_ANNOTATION "deprecated.daemonset.template.generation"
#define REQUIRED              "requiredDuringSchedulingIgnoredDuringExecution"

struct post {
        struct str node;
        struct version *pod; /* the one that lives; NULL: none */
        bool is_wanted, may_stay, has_leaving;
};

struct daemon {
        struct look *l;
        struct version *v;
        struct revisions revisions;
        const struct value *template; /* with what each of its Pods tolerates */
        struct post *posts;
        size_t post_count;
};

/* ---- where ---- */

/* Is there a taint of this effect that it does not tolerate? */
static bool has_taint_against(const struct daemon *d, const struct value *node, const char *effect) {
        const struct value *list = value_path(node, "spec", "taints", NULL);

        for (size_t i = 0; i < value_count(list); i++)
                if (str_eqc(value_text(value_getc(list->list.items[i], "effect")), effect) &&
                    !pod_tolerates(d->template, list->list.items[i], NULL))
                        return true;
        return false;
}

static struct post post_on(const struct daemon *d, const struct version *node) {
        bool fits = pod_matches_node(d->l->a, node->value, d->template);
        bool may_stay = fits && !has_taint_against(d, node->value, "NoExecute");

        return (struct post){
                .node = arena_str(d->l->a, node->name),
                .may_stay = may_stay,
                .is_wanted = may_stay && !has_taint_against(d, node->value, "NoSchedule"),
        };
}

static void gather_posts(struct daemon *d) {
        const struct shelf *nodes = store_shelf(d->l->ctl->s->store, (struct str){ 0 }, STR("nodes"));

        d->posts = arena_alloc(d->l->a, (nodes->count + 1) * sizeof *d->posts);
        for (size_t i = 0; i < nodes->count; i++)
                if (node_is_simulated(d->l->ctl, nodes->items[i]->value))
                        d->posts[d->post_count++] = post_on(d, nodes->items[i]);
}

static const struct value *first_of(const struct value *list) {
        return value_is(list, VALUE_LIST) && list->list.count ? list->list.items[0] : NULL;
}

/* The Node that it is on, or was made for. */
static struct str node_of(const struct value *pod) {
        struct str node = value_text(value_path(pod, "spec", "nodeName", NULL));
        const struct value *terms =
                value_path(pod, "spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms", NULL);
        const struct value *fields = value_getc(first_of(terms), "matchFields");

        return node.n ? node : value_text(first_of(value_getc(first_of(fields), "values")));
}

static struct post *find_post(const struct daemon *d, struct str node) {
        for (size_t i = 0; i < d->post_count; i++)
                if (str_eq(d->posts[i].node, node))
                        return &d->posts[i];
        return NULL;
}

static bool gather(struct daemon *d) {
        struct version **all;
        size_t n = look_claim(d->l, RES_POD, d->v, value_path(d->v->value, "spec", "selector", NULL), &all);
        bool ok = true;

        for (size_t i = 0; i < n; i++) {
                struct post *at = find_post(d, node_of(all[i]->value));

                if (is_deleting(all[i]->value)) {
                        if (at)
                                at->has_leaving = true;
                } else if (!at || pod_is_ended(all[i]->value) || at->pod || !at->may_stay) {
                        ok &= look_delete_pod(d->l, d->v->value, all[i]);
                } else {
                        at->pod = all[i];
                }
        }
        return ok;
}

static struct str hash_of(const struct daemon *d) {
        return value_text(value_path(d->revisions.latest->value, "metadata", "labels", HASH_LABEL, NULL));
}

static const struct value *with_tolerations(const struct value *pod, struct arena *a) {
        static const char text[] =
                "[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"},"
                "{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"},"
                "{\"key\":\"node.kubernetes.io/disk-pressure\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"},"
                "{\"key\":\"node.kubernetes.io/memory-pressure\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"},"
                "{\"key\":\"node.kubernetes.io/pid-pressure\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"},"
                "{\"key\":\"node.kubernetes.io/unschedulable\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}]";
        const struct value *list = value_path(pod, "spec", "tolerations", NULL), *more;

        if (json_parse(str_from(text), a, &more, NULL) < 0)
                return pod;
        for (size_t i = 0; i < value_count(more); i++)
                list = items_with(a, list, more->list.items[i]);
        return with2(a, pod, "spec", "tolerations", list);
}

static const struct value *with_affinity(const struct value *pod, struct str node, struct arena *a) {
        static const struct str path[] = {
                { "spec", 4 },
                { "affinity", 8 },
                { "nodeAffinity", 12 },
                { REQUIRED, sizeof REQUIRED - 1 },
        };
        const struct value *field = make_map(a, "key", make_text(a, "metadata.name"), "operator", make_text(a, "In"),
                                             "values", make_list(a, make_str(a, node)), NULL);
        const struct value *term = make_map(a, "matchFields", make_list(a, field), NULL);

        return value_with_path(a, pod, path, ARRAY_LEN(path),
                               make_map(a, "nodeSelectorTerms", make_list(a, term), NULL));
}

static bool make_pod(struct daemon *d, const struct post *at) {
        struct arena *a = d->l->a;
        const struct value *set = d->v->value;
        struct str generation = annotation(set, GENERATION_ANNOTATION);
        const struct value *pod = pod_of_template(a, d->template, owner_reference(a, RES_DAEMONSET, set),
                                                  arena_strf(a, "%.*s-", STR_FMT(d->v->name)));

        pod = with_meta_pair(a, pod, "labels", STR(HASH_LABEL), make_str(a, hash_of(d)));
        if (generation.n)
                pod = with_meta_pair(a, pod, "labels", STR(GENERATION_LABEL), make_str(a, generation));
        return look_create_pod(d->l, set, with_affinity(pod, at->node, a));
}

static bool is_updated(const struct daemon *d, const struct version *pod) {
        return pod && str_eq(value_text(value_path(pod->value, "metadata", "labels", HASH_LABEL, NULL)), hash_of(d));
}

static bool is_available(const struct daemon *d, const struct version *pod) {
        int64_t min_ready_s = int_or(value_path(d->v->value, "spec", "minReadySeconds", NULL), 0), wait = 0;
        bool yes = pod && pod_is_available(d->l, pod->value, min_ready_s, &wait);

        if (wait)
                look_again(d->l, wait);
        return yes;
}

/* ---- what to do ---- */

static bool fill(struct daemon *d) {
        bool ok = true;

        for (size_t i = 0; i < d->post_count; i++) {
                const struct post *at = &d->posts[i];

                if (at->is_wanted && !at->pod && !at->has_leaving)
                        ok &= make_pod(d, at);
        }
        return ok;
}

/* Those that are not there for anybody go first: they cost nothing of what may be unavailable. */
static bool replace_old(struct daemon *d) {
        const struct value *rolling = value_path(d->v->value, "spec", "updateStrategy", "rollingUpdate", NULL);
        const struct value *most = value_getc(rolling, "maxUnavailable");
        int64_t may = most ? share_of(most, (int64_t)d->post_count, true) : 1;
        bool ok = true;

        for (size_t i = 0; i < d->post_count; i++)
                may -= d->posts[i].is_wanted && !is_available(d, d->posts[i].pod);
        for (size_t i = 0; i < d->post_count; i++) {
                struct post *at = &d->posts[i];
                bool is_there = is_available(d, at->pod);

                if (!at->pod || is_updated(d, at->pod) || (is_there && may <= 0))
                        continue;
                may -= is_there;
                ok &= look_delete_pod(d->l, d->v->value, at->pod);
        }
        return ok;
}

static bool act(struct daemon *d) {
        const struct value *type = value_path(d->v->value, "spec", "updateStrategy", "type", NULL);
        bool ok = fill(d);

        return str_eqc(value_text(type), "OnDelete") ? ok : replace_old(d) && ok;
}

/* ---- telling ---- */

static const struct value *unless_zero(struct arena *a, int64_t n) {
        return n ? make_int(a, n) : NULL;
}

static bool tell(struct daemon *d) {
        struct arena *a = d->l->a;
        int64_t wanted = 0, current = 0, misplaced = 0, ready = 0, available = 0, updated = 0;

        for (size_t i = 0; i < d->post_count; i++) {
                const struct post *at = &d->posts[i];

                wanted += at->is_wanted;
                misplaced += at->pod && !at->is_wanted;
                if (!at->pod || !at->is_wanted)
                        continue;
                current++;
                ready += pod_is_ready(at->pod->value);
                available += is_available(d, at->pod);
                updated += is_updated(d, at->pod);
        }
        return look_status(d->l, d->v,
                           make_map(a, "currentNumberScheduled", make_int(a, current), "desiredNumberScheduled",
                                    make_int(a, wanted), "numberMisscheduled", make_int(a, misplaced), "numberReady",
                                    make_int(a, ready), "numberAvailable", unless_zero(a, available),
                                    "numberUnavailable", unless_zero(a, wanted - available), "updatedNumberScheduled",
                                    unless_zero(a, updated), "observedGeneration",
                                    value_path(d->v->value, "metadata", "generation", NULL), NULL));
}

bool daemonset_run(struct look *l, struct version *v) {
        struct daemon d = { .l = l, .v = v };

        if (is_deleting(v->value))
                return true;
        if (!revisions_sync(l, v, HASH_LABEL, &d.revisions))
                return false;
        d.template = with_tolerations(value_path(v->value, "spec", "template", NULL), l->a);
        gather_posts(&d);
        bool ok = gather(&d);
        ok = act(&d) && ok;
        const struct str kept[] = { d.revisions.latest->name };
        ok = tell(&d) && ok;
        return revisions_trim(l, &d.revisions, v->value, kept, ARRAY_LEN(kept)) && ok;
}

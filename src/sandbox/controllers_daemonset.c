/* SPDX-License-Identifier: Apache-2.0 */
/* DaemonSets, on the one Node: one Pod, of today's template. */
#include "sandbox/controllers_revision.h"

#include "base/json.h"

#define HASH_LABEL            "controller-revision-hash"
#define GENERATION_LABEL      "pod-template-generation"
#define GENERATION_ANNOTATION "deprecated.daemonset.template.generation"

struct daemon {
        struct look *l;
        struct version *v;
        struct revisions revisions;
        struct version *pod; /* the one that lives; NULL: none */
        bool is_wanted, has_leaving;
};

/* The Node has few labels: most selectors fit no node here. */
static bool fits_node(struct look *l, const struct value *set) {
        const struct value *wanted = value_path(set, "spec", "template", "spec", "nodeSelector", NULL);
        const struct value *node =
                sandbox_get(l->ctl->s, (struct str){ 0 }, STR("nodes"), (struct str){ 0 }, STR(SANDBOX_NODE));

        for (size_t i = 0; i < value_count(wanted); i++)
                if (!value_equal(value_get(value_path(node, "metadata", "labels", NULL), wanted->map.members[i].key),
                                 wanted->map.members[i].value))
                        return false;
        return node;
}

static bool gather(struct daemon *d) {
        struct version **all;
        size_t n = look_claim(d->l, RES_POD, d->v, value_path(d->v->value, "spec", "selector", NULL), &all);
        bool ok = true;

        for (size_t i = 0; i < n; i++) {
                if (is_deleting(all[i]->value))
                        d->has_leaving = true;
                else if (pod_is_ended(all[i]->value) || d->pod || !d->is_wanted)
                        ok &= look_delete_pod(d->l, d->v->value, all[i]);
                else
                        d->pod = all[i];
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

static const struct value *with_affinity(const struct value *pod, struct arena *a) {
        static const char text[] =
                "{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":["
                "\"" SANDBOX_NODE "\"]}]}]}";
        static const struct str path[] = {
                { "spec", 4 },
                { "affinity", 8 },
                { "nodeAffinity", 12 },
                { "requiredDuringSchedulingIgnoredDuringExecution", 46 },
        };
        const struct value *terms;

        return json_parse(str_from(text), a, &terms, NULL) < 0 ? pod
                                                               : value_with_path(a, pod, path, ARRAY_LEN(path), terms);
}

static bool make_pod(struct daemon *d) {
        struct arena *a = d->l->a;
        const struct value *set = d->v->value;
        struct str generation = annotation(set, GENERATION_ANNOTATION);
        const struct value *pod =
                pod_of_template(a, value_path(set, "spec", "template", NULL), owner_reference(a, RES_DAEMONSET, set),
                                arena_strf(a, "%.*s-", STR_FMT(d->v->name)));

        pod = with_meta_pair(a, pod, "labels", STR(HASH_LABEL), make_str(a, hash_of(d)));
        if (generation.n)
                pod = with_meta_pair(a, pod, "labels", STR(GENERATION_LABEL), make_str(a, generation));
        return look_create_pod(d->l, set, with_tolerations(with_affinity(pod, a), a));
}

static bool is_updated(const struct daemon *d) {
        return d->pod &&
               str_eq(value_text(value_path(d->pod->value, "metadata", "labels", HASH_LABEL, NULL)), hash_of(d));
}

static bool act(struct daemon *d) {
        const struct value *type = value_path(d->v->value, "spec", "updateStrategy", "type", NULL);

        if (!d->pod)
                return !d->is_wanted || d->has_leaving || make_pod(d);
        if (is_updated(d) || str_eqc(value_text(type), "OnDelete"))
                return true;
        return look_delete_pod(d->l, d->v->value, d->pod);
}

static bool tell(struct daemon *d) {
        struct arena *a = d->l->a;
        int64_t min_ready_s = int_or(value_path(d->v->value, "spec", "minReadySeconds", NULL), 0), wait = 0;
        bool ready = d->pod && pod_is_ready(d->pod->value);
        bool available = d->pod && pod_is_available(d->l, d->pod->value, min_ready_s, &wait);

        if (wait)
                look_again(d->l, wait);
        return look_status(d->l, d->v,
                           make_map(a, "currentNumberScheduled", make_int(a, d->pod != NULL), "desiredNumberScheduled",
                                    make_int(a, d->is_wanted), "numberMisscheduled", make_int(a, 0), "numberReady",
                                    make_int(a, ready), "numberAvailable", available ? make_int(a, 1) : NULL,
                                    "numberUnavailable", d->is_wanted && !available ? make_int(a, 1) : NULL,
                                    "updatedNumberScheduled", is_updated(d) ? make_int(a, 1) : NULL,
                                    "observedGeneration", value_path(d->v->value, "metadata", "generation", NULL),
                                    NULL));
}

bool daemonset_run(struct look *l, struct version *v) {
        struct daemon d = { .l = l, .v = v, .is_wanted = fits_node(l, v->value) };

        if (is_deleting(v->value))
                return true;
        if (!revisions_sync(l, v, HASH_LABEL, &d.revisions))
                return false;
        bool ok = gather(&d);
        ok = act(&d) && ok;
        const struct str kept[] = { d.revisions.latest->name };
        ok = tell(&d) && ok;
        return revisions_trim(l, &d.revisions, v->value, kept, ARRAY_LEN(kept)) && ok;
}

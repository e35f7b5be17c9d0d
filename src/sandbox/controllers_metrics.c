/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Pods of a scaled object use, and how many Pods that is for: the ratio of use and target, with Pods that are
 * not ready or not measured counted so that they never speed a change up.
 * Source: pkg/controller/podautoscaler/replica_calculator.go.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "sandbox/controllers_autoscaler.h"
#include "sandbox/validate_impl.h"

#define TOLERANCE_MILLI 100
#define PER_MILLI       1000000 /* quantities count in 1e-9 */

/* Everything in thousandths. */
struct sample {
        int64_t request, usage;
        bool is_ready, is_measured;
};

struct usage {
        struct autoscale *s;
        struct str resource;
        bool by_request; /* Utilization: in percent of requests */
        int64_t target;
        struct sample *samples;
        size_t count;
        const struct value *fault; /* a Pod without request */
};

static int64_t milli_of(const struct value *v) {
        quantity q = quantity_of(v);

        return (int64_t)((q + PER_MILLI - 1) / PER_MILLI);
}

/* ---- one Pod ---- */

static int64_t request_of(struct usage *u, const struct value *pod) {
        const struct value *list = value_path(pod, "spec", "containers", NULL);
        int64_t sum = 0;

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *container = list->list.items[i];
                const struct value *request =
                        value_get(value_path(container, "resources", "requests", NULL), u->resource);

                if (!request && !u->fault)
                        u->fault = make_textf(u->s->l->a, "missing request for %.*s in container %.*s of Pod %.*s",
                                              STR_FMT(u->resource), STR_FMT(value_text(value_getc(container, "name"))),
                                              STR_FMT(meta_text(pod, "name")));
                sum += request ? milli_of(request) : 0;
        }
        return sum;
}

/* PodMetrics, when somebody brought that kind. */
static bool read_object(const struct usage *u, const struct value *pod, int64_t *ret) {
        const struct value *list = value_getc(sandbox_get(u->s->l->ctl->s, STR("metrics.k8s.io"), STR("pods"),
                                                          u->s->l->namespace, meta_text(pod, "name")),
                                              "containers");

        *ret = 0;
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                *ret += milli_of(value_get(value_getc(list->list.items[i], "usage"), u->resource));
        return value_count(list) > 0;
}

static bool read_annotation(const struct usage *u, const struct value *object, const char *prefix, int64_t *ret) {
        struct str key = arena_strf(u->s->l->a, "sandbox.truce.dev/%s%.*s", prefix, STR_FMT(u->resource));
        const struct value *v = value_get(value_path(object, "metadata", "annotations", NULL), key);

        if (v)
                *ret = milli_of(v);
        return v;
}

static void take_sample(struct usage *u, const struct value *pod) {
        struct sample *s = &u->samples[u->count++];

        s->request = u->by_request ? request_of(u, pod) : 0;
        s->is_ready = pod_is_ready(pod);
        s->is_measured = read_object(u, pod, &s->usage) || read_annotation(u, pod, "", &s->usage);
}

/* A load on the whole is carried in equal parts. */
static void share_load(struct usage *u) {
        size_t ready = 0;
        int64_t load;

        if (!read_annotation(u, u->s->target->value, "load-", &load))
                return;
        for (size_t i = 0; i < u->count; i++)
                ready += u->samples[i].is_ready && !u->samples[i].is_measured;
        for (size_t i = 0; i < u->count; i++) {
                if (!u->samples[i].is_ready || u->samples[i].is_measured)
                        continue;
                u->samples[i].usage = load / (int64_t)ready;
                u->samples[i].is_measured = true;
        }
}

static void take_samples(struct usage *u) {
        struct look *l = u->s->l;
        struct str text = value_text(value_path(u->s->scale, "status", "selector", NULL));
        struct selector selector = { 0 };
        size_t from, to;

        if (text.n == 0 || select_parse_labels(text, l->a, &selector, NULL) < 0)
                return;
        const struct shelf *shelf = store_shelf(l->ctl->s->store, (struct str){ 0 }, STR("pods"));
        shelf_range(shelf, l->namespace, &from, &to);
        u->samples = arena_zalloc(l->a, (to - from) * sizeof *u->samples);
        for (size_t i = from; i < to; i++) {
                const struct value *pod = shelf->items[i]->value;

                if (select_matches(&selector, pod) && !is_deleting(pod) && !pod_is_ended(pod))
                        take_sample(u, pod);
        }
        share_load(u);
}

/* ---- the ratio ---- */

struct sums {
        int64_t usage, request, count;
};

/* Use in thousandths of the target. */
static int64_t ratio_of(const struct usage *u, const struct sums *sums) {
        if (sums->count == 0 || u->target == 0 || (u->by_request && sums->request == 0))
                return 1000;
        if (u->by_request)
                return (int64_t)((__int128)sums->usage * 100 * 1000 / sums->request / u->target);
        return (int64_t)((__int128)sums->usage * 1000 / sums->count / u->target);
}

static void add_sample(struct sums *sums, const struct sample *s, int64_t usage) {
        sums->usage += usage;
        sums->request += s->request;
        sums->count++;
}

static bool is_tolerable(const struct autoscale *s, int64_t ratio) {
        const struct value *own =
                value_path(s->spec, "behavior", ratio > 1000 ? "scaleUp" : "scaleDown", "tolerance", NULL);

        return llabs(ratio - 1000) <= (own ? milli_of(own) : TOLERANCE_MILLI);
}

static int64_t ceil_of(int64_t ratio, int64_t count) {
        return (ratio * count + 999) / 1000;
}

static int64_t replicas_for(const struct usage *u, const struct sums *ready) {
        int64_t ratio = ratio_of(u, ready), current = u->s->current;
        struct sums all = *ready;
        bool is_up = ratio > 1000;

        for (size_t i = 0; i < u->count; i++) {
                const struct sample *s = &u->samples[i];

                if (is_up && (!s->is_measured || !s->is_ready))
                        add_sample(&all, s, 0);
                else if (!is_up && s->is_ready && !s->is_measured)
                        add_sample(&all, s,
                                   u->by_request ? s->request * (u->target > 100 ? u->target : 100) / 100 : u->target);
        }
        int64_t settled = ratio_of(u, &all), wanted = ceil_of(settled, all.count);
        if (is_tolerable(u->s, settled) || (settled > 1000) != is_up)
                return current;
        return is_up == (wanted > current) ? wanted : current;
}

/* ---- answers ---- */

static const struct value *milli_text(struct arena *a, int64_t n) {
        return n % 1000 ? make_textf(a, "%" PRId64 "m", n) : make_textf(a, "%" PRId64, n / 1000);
}

static const struct value *current_metric(const struct usage *u, const struct sums *ready) {
        struct arena *a = u->s->l->a;
        const struct value *percent =
                u->by_request && ready->request ? make_int(a, ready->usage * 100 / ready->request) : NULL;
        const struct value *current = make_map(a, "averageUtilization", percent, "averageValue",
                                               milli_text(a, ready->usage / ready->count), NULL);

        return make_map(a, "type", make_text(a, "Resource"), "resource",
                        make_map(a, "name", make_str(a, u->resource), "current", current, NULL), NULL);
}

static void refuse(struct proposal *p, const char *reason, const struct value *why) {
        p->replicas = -1;
        p->reason = reason;
        p->why = why;
}

static void propose(struct usage *u, struct proposal *ret) {
        struct arena *a = u->s->l->a;
        const char *what = u->by_request ? "utilization" : "usage";
        struct sums ready = { 0 };
        bool is_measured = false;

        for (size_t i = 0; i < u->count; i++) {
                is_measured |= u->samples[i].is_measured;
                if (u->samples[i].is_ready && u->samples[i].is_measured)
                        add_sample(&ready, &u->samples[i], u->samples[i].usage);
        }
        if (!is_measured) {
                refuse(ret, "FailedGetResourceMetric",
                       make_textf(a,
                                  "failed to get %.*s %s: unable to get metrics for resource %.*s: no metrics returned "
                                  "from resource metrics API",
                                  STR_FMT(u->resource), what, STR_FMT(u->resource)));
        } else if (u->fault) {
                refuse(ret, "FailedGetResourceMetric",
                       make_textf(a, "failed to get %.*s %s: %.*s", STR_FMT(u->resource), what,
                                  STR_FMT(value_text(u->fault))));
        } else if (ready.count == 0) {
                refuse(ret, "FailedGetResourceMetric",
                       make_textf(a,
                                  "failed to get %.*s %s: did not receive metrics for targeted pods (pods might be "
                                  "unready)",
                                  STR_FMT(u->resource), what));
        } else {
                ret->replicas = replicas_for(u, &ready);
                ret->current = current_metric(u, &ready);
        }
}

void autoscale_measure(struct autoscale *s, const struct value *metric, struct proposal *ret) {
        struct arena *a = s->l->a;
        const struct value *source = value_getc(metric, "resource"), *target = value_getc(source, "target");
        struct usage u = { .s = s, .resource = value_text(value_getc(source, "name")) };

        *ret = (struct proposal){ 0 };
        if (!source) {
                refuse(ret, "InvalidMetricSourceType",
                       make_textf(a, "metrics of type %.*s are not known here",
                                  STR_FMT(value_text(value_getc(metric, "type")))));
                return;
        }
        u.by_request = value_getc(target, "averageUtilization");
        u.target = u.by_request ? int_or(value_getc(target, "averageUtilization"), 0)
                                : milli_of(value_getc(target, "averageValue"));
        ret->name = make_textf(a, "%.*s resource%s", STR_FMT(u.resource),
                               u.by_request ? " utilization (percentage of request)" : "");
        take_samples(&u);
        propose(&u, ret);
}

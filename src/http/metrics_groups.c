/* SPDX-License-Identifier: Apache-2.0 */
/* Groups, and the queue they are run from under the names that client-go and controller-runtime have for it. */
#include "agent/groups.h"
#include "http/metrics_impl.h"

#define QUEUE      "{name=\"leaderworkerset\"}"
#define CONTROLLER "{controller=\"leaderworkerset\"}"

static void print_state(const struct groups *g, struct buf *out) {
        static const char *const words[] = { "off", "absent", "idle", "syncing", "running", "failed" };
        enum groups_state state = g ? groups_state(g) : GROUPS_STATE_OFF;

        metrics_head(out, "truce_group_controller", "gauge", "1 for the state of the group reconciler.");
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                buf_addf(out, "truce_group_controller{state=\"%s\"} %d\n", words[i], state == i);
}

/* Appends the labels of a set, the braces open. */
static void add_labels(struct buf *out, const struct groups_set_stats *s) {
        buf_addc(out, "{namespace=\"");
        metrics_label(out, s->ns);
        buf_addc(out, "\",name=\"");
        metrics_label(out, s->name);
        buf_addch(out, '"');
}

static void sample(struct buf *out, const char *name, const struct groups_set_stats *s, double value) {
        buf_addc(out, name);
        add_labels(out, s);
        buf_addf(out, "} %.15g\n", value);
}

/* `labels` without braces, "" or ending in a comma. */
static void print_times(struct buf *out, const char *name, const char *labels, const struct queue_times *t) {
        static const char *const bounds[QUEUE_BUCKETS] = { "0.001", "0.01", "0.1", "1", "10", "100", "1000", "+Inf" };
        uint64_t sum = 0;

        for (size_t i = 0; i < QUEUE_BUCKETS; i++) {
                sum += t->buckets[i];
                buf_addf(out, "%s_bucket{%s,le=\"%s\"} %llu\n", name, labels, bounds[i], (unsigned long long)sum);
        }
        buf_addf(out, "%s_sum{%s} %.15g\n", name, labels, (double)t->sum_ms / 1000);
        buf_addf(out, "%s_count{%s} %llu\n", name, labels, (unsigned long long)t->count);
}

static void print_recreates(const struct groups *g, struct buf *out) {
        struct groups_set_stats s;
        size_t at = 0;

        metrics_head(out, "truce_group_recreate_seconds", "histogram",
                     "From a group's failure until it is Ready again.");
        while (groups_next(g, &at, &s)) {
                _cleanup_(buf_done) struct buf labels = buf_make(4096);

                add_labels(&labels, &s);
                print_times(out, "truce_group_recreate_seconds", labels.p + 1, &s.recreate);
        }
}

static void print_sets(const struct groups *g, struct buf *out) {
        struct groups_set_stats s;
        size_t at = 0;

        metrics_head(out, "truce_group_ready", "gauge", "Groups of a LeaderWorkerSet that are Ready.");
        while (groups_next(g, &at, &s))
                sample(out, "truce_group_ready", &s, (double)s.ready);
        metrics_head(out, "truce_group_existing", "gauge", "Groups of a LeaderWorkerSet that have Pods.");
        for (at = 0; groups_next(g, &at, &s);)
                sample(out, "truce_group_existing", &s, (double)s.groups);
        metrics_head(out, "truce_group_restarts_total", "counter", "Groups that were made anew after a failure.");
        for (at = 0; groups_next(g, &at, &s);)
                sample(out, "truce_group_restarts_total", &s, (double)s.restarts);
        print_recreates(g, out);
}

static void single(struct buf *out, const char *name, const char *labels, const char *type, const char *help,
                   double value) {
        metrics_head(out, name, type, help);
        buf_addf(out, "%s%s %.15g\n", name, labels, value);
}

static void print_queue(const struct queue_stats *s, struct buf *out) {
        single(out, "workqueue_depth", QUEUE, "gauge", "Keys that wait.", (double)s->depth);
        single(out, "workqueue_adds_total", QUEUE, "counter", "Keys added.", (double)s->adds);
        single(out, "workqueue_retries_total", QUEUE, "counter", "Keys that are tried again.", (double)s->retries);
        single(out, "workqueue_unfinished_work_seconds", QUEUE, "gauge", "Age of all runs under way.",
               (double)s->unfinished_ms / 1000);
        single(out, "workqueue_longest_running_processor_seconds", QUEUE, "gauge", "Age of the oldest run under way.",
               (double)s->longest_ms / 1000);
        metrics_head(out, "workqueue_queue_duration_seconds", "histogram", "How long keys waited.");
        print_times(out, "workqueue_queue_duration_seconds", "name=\"leaderworkerset\"", &s->waited);
        metrics_head(out, "workqueue_work_duration_seconds", "histogram", "How long runs took.");
        print_times(out, "workqueue_work_duration_seconds", "name=\"leaderworkerset\"", &s->worked);
}

static void print_reconciles(const struct queue_stats *s, struct buf *out) {
        static const char *const results[] = { "success", "requeue_after", "error", NULL };

        metrics_head(out, "controller_runtime_reconcile_total", "counter", "Looks at an object, by result.");
        for (size_t i = 0; results[i]; i++)
                buf_addf(out, "controller_runtime_reconcile_total{controller=\"leaderworkerset\",result=\"%s\"} %llu\n",
                         results[i], (unsigned long long)s->ends[i]);
        single(out, "controller_runtime_reconcile_errors_total", CONTROLLER, "counter", "Looks that failed.",
               (double)(s->ends[QUEUE_FAILED] + s->ends[QUEUE_TERMINAL]));
        single(out, "controller_runtime_terminal_reconcile_errors_total", CONTROLLER, "counter",
               "Looks that failed for good.", (double)s->ends[QUEUE_TERMINAL]);
        single(out, "controller_runtime_active_workers", CONTROLLER, "gauge", "Runs under way.", (double)s->active);
        single(out, "controller_runtime_max_concurrent_reconciles", CONTROLLER, "gauge", "Runs at a time at most.",
               (double)s->workers);
}

void metrics_print_groups(const struct groups *g, struct buf *out) {
        struct queue_stats stats;

        print_state(g, out);
        if (!g)
                return;
        groups_queue_stats(g, &stats);
        print_sets(g, out);
        print_queue(&stats, out);
        print_reconciles(&stats, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/controllers_job.h"

#include <inttypes.h>

/* ---- finalizers ---- */

bool job_has_finalizer(const struct value *pod) {
        const struct value *list = value_path(pod, "metadata", "finalizers", NULL);

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eqc(value_text(list->list.items[i]), JOB_FINALIZER))
                        return true;
        return false;
}

/* The Pod as it is then, held, in *ret (may be NULL); NULL when it is gone. */
static bool drop_finalizer(struct look *l, struct version *pod, struct version **ret) {
        const struct value *old = value_path(pod->value, "metadata", "finalizers", NULL);
        struct value_list_builder b = { 0 };

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++)
                if (!str_eqc(value_text(old->list.items[i]), JOB_FINALIZER))
                        value_list_add(&b, old->list.items[i]);
        bool is_empty = b.count == 0;
        const struct value *list = value_list_end(&b, l->a, 0);
        return look_update(l, RES_POD, pod, meta_with(pod->value, "finalizers", is_empty ? NULL : list, l->a), "", ret);
}

bool job_free_orphan(struct look *l, struct version *pod) {
        const struct value *owner = controller_of(pod->value);

        if (!job_has_finalizer(pod->value) || !str_eqc(value_text(value_getc(owner, "kind")), "Job"))
                return true;
        const struct version *job = look_find(l, RES_JOB, value_text(value_getc(owner, "name")));
        if (job && value_equal(value_path(job->value, "metadata", "uid", NULL), value_getc(owner, "uid")))
                return true;
        l->c->manager = str_from(controllers_table[RES_JOB].manager);
        l->c->user = str_from(controllers_table[RES_JOB].user);
        return drop_finalizer(l, pod, NULL);
}

/* ---- gathering ---- */

static bool is_indexed(const struct job *j) {
        return str_eqc(value_text(value_getc(j->spec, "completionMode")), "Indexed");
}

static int64_t index_of(const struct value *pod) {
        int64_t n = -1;

        return str_to_i64(annotation(pod, JOB_INDEX), &n) ? n : -1;
}

/* "0-2,5" → marks. */
static void read_indexes(struct job *j) {
        struct str text = value_text(value_path(j->v->value, "status", "completedIndexes", NULL)), part, low;
        int64_t from, to;

        j->done = arena_zalloc(j->l->a, (size_t)j->completions + 1);
        while (str_next(&text, ',', &part)) {
                if (!str_next(&part, '-', &low) || !str_to_i64(low, &from))
                        continue;
                if (!str_to_i64(part, &to))
                        to = from;
                for (; from >= 0 && from <= to && from < j->completions; from++)
                        j->done[from] = true;
        }
}

const struct value *job_indexes(const struct job *j) {
        _cleanup_(buf_done) struct buf b = buf_make(1 << 20);

        if (!j->done)
                return NULL;
        for (int64_t from = 0; from < j->completions; from++) {
                int64_t to = from;

                if (!j->done[from])
                        continue;
                while (to + 1 < j->completions && j->done[to + 1])
                        to++;
                buf_addf(&b, b.n ? ",%" PRId64 : "%" PRId64, from);
                if (to > from)
                        buf_addf(&b, "%c%" PRId64, to > from + 1 ? '-' : ',', to);
                from = to;
        }
        return b.n ? make_str(j->l->a, buf_str(&b)) : NULL;
}

static int64_t ended_ms(const struct value *pod) {
        const struct value *list = value_path(pod, "status", "containerStatuses", NULL);
        int64_t last = 0;

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                int64_t at = time_ms(value_path(list->list.items[i], "state", "terminated", "finishedAt", NULL));

                if (at > last)
                        last = at;
        }
        return last;
}

static bool has_succeeded(const struct value *pod) {
        return str_eqc(value_text(value_path(pod, "status", "phase", NULL)), "Succeeded");
}

static void count_end(struct job *j, const struct value *pod) {
        const struct value *uid = value_path(pod, "metadata", "uid", NULL);
        int64_t index = index_of(pod);

        if (!has_succeeded(pod)) {
                j->new_failed++;
                j->failed_uids = items_with(j->l->a, j->failed_uids, uid);
                return;
        }
        /* Each index counts once. */
        if (j->done && (index < 0 || index >= j->completions || j->done[index]))
                return;
        if (j->done)
                j->done[index] = true;
        j->new_succeeded++;
        j->succeeded_uids = items_with(j->l->a, j->succeeded_uids, uid);
}

static void sort_pod(struct job *j, struct version *v) {
        const struct value *pod = v->value;
        bool leaves = is_deleting(pod), is_over = pod_is_ended(pod);

        if (!leaves && !is_over)
                j->active[j->active_count++] = v;
        if (leaves && !is_over)
                j->terminating++;
        j->ready += !leaves && pod_is_ready(pod);
        if (is_over && !has_succeeded(pod) && ended_ms(pod) > j->last_failure_ms)
                j->last_failure_ms = ended_ms(pod);
        if (job_has_finalizer(pod) && (leaves || is_over))
                count_end(j, pod);
}

void job_gather(struct job *j) {
        const struct value *status = value_getc(j->v->value, "status");

        j->spec = value_getc(j->v->value, "spec");
        j->conditions = value_getc(status, "conditions");
        j->succeeded = int_or(value_getc(status, "succeeded"), 0);
        j->failed = int_or(value_getc(status, "failed"), 0);
        j->completions = int_or(value_getc(j->spec, "completions"), 0);
        if (is_indexed(j) && j->completions <= JOB_MAX_INDEXES)
                read_indexes(j);
        j->pod_count = look_claim(j->l, RES_POD, j->v, value_getc(j->spec, "selector"), &j->pods);
        j->active = arena_alloc(j->l->a, j->pod_count * sizeof *j->active);
        for (size_t i = 0; i < j->pod_count; i++)
                sort_pod(j, j->pods[i]);
}

/* ---- ends ---- */

bool job_free_ended(struct job *j) {
        bool ok = true;

        for (size_t i = 0; i < j->pod_count; i++)
                if (job_has_finalizer(j->pods[i]->value) &&
                    (is_deleting(j->pods[i]->value) || pod_is_ended(j->pods[i]->value)))
                        ok &= drop_finalizer(j->l, j->pods[i], NULL);
        return ok;
}

bool job_delete_active(struct job *j, size_t keep, bool uncounted) {
        bool ok = true;

        while (j->active_count > keep) {
                struct version *pod = j->active[--j->active_count];

                if (uncounted && job_has_finalizer(pod->value))
                        ok &= drop_finalizer(j->l, pod, &pod);
                if (pod)
                        ok &= look_delete_pod(j->l, j->v->value, pod);
                j->terminating++;
        }
        return ok;
}

/* ---- Pods ---- */

/* The lowest index without a living or successful Pod; -1: none. */
static int64_t free_index(const struct job *j, bool *taken) {
        for (int64_t i = 0; i < j->completions; i++)
                if (!taken[i] && !j->done[i]) {
                        taken[i] = true;
                        return i;
                }
        return -1;
}

static const struct value *with_index_variable(const struct value *pod, const char *field, struct arena *a) {
        const struct value *list = value_path(pod, "spec", field, NULL);
        const struct value *path = make_map(a, "fieldPath", make_text(a, "metadata.labels['" JOB_INDEX "']"), NULL);
        const struct value *variable = make_map(a, "name", make_text(a, "JOB_COMPLETION_INDEX"), "valueFrom",
                                                make_map(a, "fieldRef", path, NULL), NULL);
        const struct value *out = NULL;

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *env = items_with(a, value_getc(list->list.items[i], "env"), variable);

                out = items_with(a, out, value_with(a, list->list.items[i], STR("env"), env));
        }
        return out ? with2(a, pod, "spec", field, out) : pod;
}

static const struct value *with_index(const struct job *j, const struct value *pod, int64_t index) {
        struct arena *a = j->l->a;
        const struct value *text = make_textf(a, "%" PRId64, index);
        const struct value *host = make_textf(a, "%.*s-%" PRId64, STR_FMT(j->v->name), index);

        pod = with_meta_pair(a, pod, "annotations", STR(JOB_INDEX), text);
        pod = with_meta_pair(a, pod, "labels", STR(JOB_INDEX), text);
        pod = meta_with_text(pod, "generateName", arena_strf(a, "%.*s-", STR_FMT(value_text(host))), a);
        pod = with2(a, pod, "spec", "hostname", host);
        return with_index_variable(with_index_variable(pod, "containers", a), "initContainers", a);
}

bool job_make_pods(struct job *j, size_t n) {
        struct arena *a = j->l->a;
        const struct value *template = value_getc(j->spec, "template");
        const struct value *pod = pod_of_template(a, template, owner_reference(a, RES_JOB, j->v->value),
                                                  arena_strf(a, "%.*s-", STR_FMT(j->v->name)));
        bool *taken = j->done ? arena_zalloc(a, (size_t)j->completions + 1) : NULL;

        pod = meta_with(pod, "finalizers",
                        items_with(a, value_path(pod, "metadata", "finalizers", NULL), make_text(a, JOB_FINALIZER)), a);
        for (size_t i = 0; taken && i < j->active_count; i++) {
                int64_t index = index_of(j->active[i]->value);

                if (index >= 0 && index < j->completions)
                        taken[index] = true;
        }
        for (size_t i = 0; i < n; i++) {
                int64_t index = taken ? free_index(j, taken) : 0;

                if (index < 0)
                        return true;
                if (!look_create_pod(j->l, j->v->value, taken ? with_index(j, pod, index) : pod))
                        return false;
                j->active_count++;
        }
        return true;
}

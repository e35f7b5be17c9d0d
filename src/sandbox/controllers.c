/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of controllers, and which commit wakes whom. */
#include "sandbox/controllers_impl.h"

#include <inttypes.h>

#define WAKE_MIN_MS          2
#define WAKE_SPREAD_MS       10
#define RETRY_MIN_MS         200
#define RETRY_MAX_MS         (1000 * SECOND_MS)
#define AUTOSCALER_PERIOD_MS (15 * SECOND_MS)
#define MANAGER              "kube-controller-manager"
#define USER(name)           "system:serviceaccount:kube-system:" name

#define ROW(group, plural, version, kind, user, component, run)                                                        \
        { group, plural, version, kind, MANAGER, USER(user), component, run }

const struct controller controllers_table[RES_COUNT] = {
        [RES_POD] = { "", "pods", "v1", "Pod", "kubelet", "system:node:" SANDBOX_NODE, "kubelet", pod_run },
        [RES_REPLICASET] = ROW("apps", "replicasets", "apps/v1", "ReplicaSet", "replicaset-controller",
                               "replicaset-controller", replicaset_run),
        [RES_REPLICATIONCONTROLLER] = ROW("", "replicationcontrollers", "v1", "ReplicationController",
                                          "replication-controller", "replication-controller", replicaset_run),
        [RES_DEPLOYMENT] = ROW("apps", "deployments", "apps/v1", "Deployment", "deployment-controller",
                               "deployment-controller", deployment_run),
        [RES_STATEFULSET] = ROW("apps", "statefulsets", "apps/v1", "StatefulSet", "statefulset-controller",
                                "statefulset-controller", statefulset_run),
        [RES_DAEMONSET] = ROW("apps", "daemonsets", "apps/v1", "DaemonSet", "daemon-set-controller",
                              "daemonset-controller", daemonset_run),
        [RES_JOB] = ROW("batch", "jobs", "batch/v1", "Job", "job-controller", "job-controller", job_run),
        [RES_CRONJOB] = ROW("batch", "cronjobs", "batch/v1", "CronJob", "cronjob-controller", "cronjob-controller",
                            cronjob_run),
        [RES_AUTOSCALER] = ROW("autoscaling", "horizontalpodautoscalers", "autoscaling/v2", "HorizontalPodAutoscaler",
                               "horizontal-pod-autoscaler", "horizontal-pod-autoscaler", autoscaler_run),
        [RES_REVISION] = { "apps", "controllerrevisions", "apps/v1", "ControllerRevision", MANAGER, "", "", NULL },
        [RES_CLAIM] = ROW("", "persistentvolumeclaims", "v1", "PersistentVolumeClaim", "persistent-volume-binder",
                          "persistentvolume-controller", claim_run),
        [RES_VOLUME] = ROW("", "persistentvolumes", "v1", "PersistentVolume", "persistent-volume-binder",
                           "persistentvolume-controller", volume_run),
        [RES_NODE] = { "", "nodes", "v1", "Node", "kubelet", "system:node:" SANDBOX_NODE, "kubelet", node_run },
};

/* One object somebody has to look at. */
struct work {
        struct controllers *ctl;
        struct loop_timer *timer;
        enum res res;
        int64_t due_ms;
        unsigned failures;
        struct str namespace, name; /* parts of the key */
        char key[];
};

/* ---- the queue ---- */

static void work_free(void *p) {
        struct work *w = p;

        loop_timer_free(w->timer);
        free(w);
}

static void start(struct work *w, int64_t delay_ms) {
        w->due_ms = loop_now_ms(w->ctl->s->loop) + delay_ms;
        loop_timer_start(w->timer, delay_ms);
}

static void release_held(struct look *l) {
        for (size_t i = 0; i < l->held_count; i++)
                version_unref(l->held[i]);
        free(l->held);
}

static bool look_at(struct work *w) {
        const struct controller *row = &controllers_table[w->res];
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct sandbox_reply reply = { 0 };
        struct call c;
        struct look l = {
                .ctl = w->ctl,
                .c = &c,
                .a = a,
                .res = w->res,
                .namespace = arena_str(a, w->namespace),
                .name = arena_str(a, w->name),
        };

        call_begin(&c, w->ctl->s, a, &reply, row->manager);
        c.user = str_from(row->user);
        struct version *live = look_hold(&l, look_find(&l, w->res, l.name));
        bool ok = !live || row->run(&l, live);
        release_held(&l);
        call_end(&c);
        return ok;
}

static int64_t retry_ms(unsigned failures) {
        int64_t ms = RETRY_MIN_MS;

        while (failures-- > 1 && ms < RETRY_MAX_MS)
                ms *= 2;
        return ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
}

static void on_timer(void *ctx) {
        struct work *w = ctx;

        if (look_at(w)) {
                w->failures = 0;
        } else {
                w->failures++;
                if (!loop_timer_is_running(w->timer))
                        start(w, retry_ms(w->failures));
        }
        if (!loop_timer_is_running(w->timer))
                map_remove(w->ctl->queue, str_from(w->key));
}

static struct work *work_new(struct controllers *ctl, enum res res, struct str key, struct str namespace) {
        struct work *w = mem_zalloc(sizeof *w + key.n + 1);
        size_t at = (size_t)str_find(key, '/', 0) + 1;

        w->ctl = ctl;
        w->res = res;
        memcpy(w->key, key.p, key.n);
        w->namespace = (struct str){ w->key + at, namespace.n };
        w->name = str_sub((struct str){ w->key, key.n }, at + namespace.n + 1, key.n);
        w->timer = loop_timer_new(ctl->s->loop, on_timer, w);
        map_set(ctl->queue, key, w);
        return w;
}

void controllers_wake(struct controllers *ctl, enum res res, struct str namespace, struct str name, int64_t delay_ms) {
        _cleanup_(buf_done) struct buf key = buf_make(1024);

        buf_addf(&key, "%d/%.*s/%.*s", (int)res, STR_FMT(namespace), STR_FMT(name));
        struct work *w = map_find(ctl->queue, buf_str(&key));
        if (!w)
                w = work_new(ctl, res, buf_str(&key), namespace);
        if (!loop_timer_is_running(w->timer) || w->due_ms > loop_now_ms(ctl->s->loop) + delay_ms)
                start(w, delay_ms);
}

static void wake_soon(struct controllers *ctl, enum res res, struct str namespace, struct str name) {
        controllers_wake(ctl, res, namespace, name, WAKE_MIN_MS + (int64_t)loop_random(ctl->s->loop, WAKE_SPREAD_MS));
}

/* ---- who hears of what ---- */

static bool row_of(const struct kind *kind, enum res *ret) {
        for (size_t i = 0; i < RES_COUNT; i++)
                if (str_eqc(kind->resource->plural, controllers_table[i].plural) &&
                    str_eqc(kind->shelf->group, controllers_table[i].group)) {
                        *ret = (enum res)i;
                        return true;
                }
        return false;
}

static bool is_orphan(enum res res, const struct version *v) {
        return (res == RES_POD || res == RES_REPLICASET) && v && !controller_of(v->value);
}

static void wake_owner(struct controllers *ctl, const struct version *v) {
        const struct value *owner = v ? controller_of(v->value) : NULL;
        struct str kind = value_text(value_getc(owner, "kind"));

        for (size_t i = 0; owner && i < RES_COUNT; i++)
                if (controllers_table[i].run && str_eqc(kind, controllers_table[i].kind))
                        wake_soon(ctl, (enum res)i, v->namespace, value_text(value_getc(owner, "name")));
}

static struct shelf *shelf_of(const struct controllers *ctl, enum res res) {
        return store_shelf(ctl->s->store, str_from(controllers_table[res].group),
                           str_from(controllers_table[res].plural));
}

/* Those that could adopt an object without owner. */
static void wake_selecting(struct controllers *ctl, enum res adopter, const struct version *orphan) {
        const struct shelf *shelf = shelf_of(ctl, adopter);
        const struct value *labels = value_path(orphan->value, "metadata", "labels", NULL);
        size_t from, to;

        shelf_range(shelf, orphan->namespace, &from, &to);
        for (size_t i = from; i < to; i++)
                if (label_selector_matches(value_path(shelf->items[i]->value, "spec", "selector", NULL), labels))
                        wake_soon(ctl, adopter, shelf->items[i]->namespace, shelf->items[i]->name);
}

static void wake_adopters(struct controllers *ctl, enum res res, const struct version *orphan) {
        if (res == RES_REPLICASET) {
                wake_selecting(ctl, RES_DEPLOYMENT, orphan);
                return;
        }
        wake_selecting(ctl, RES_REPLICASET, orphan);
        wake_selecting(ctl, RES_STATEFULSET, orphan);
        wake_selecting(ctl, RES_DAEMONSET, orphan);
}

static void wake_autoscalers(struct controllers *ctl, struct str namespace) {
        const struct shelf *shelf = shelf_of(ctl, RES_AUTOSCALER);
        size_t from, to;

        shelf_range(shelf, namespace, &from, &to);
        for (size_t i = from; i < to; i++)
                controllers_wake(ctl, RES_AUTOSCALER, namespace, shelf->items[i]->name, AUTOSCALER_PERIOD_MS);
}

static bool same_at(const struct version *before, const struct version *after, const char *part) {
        return before && after && value_equal(value_getc(before->value, part), value_getc(after->value, part));
}

/* Does it concern autoscalers of its namespace? */
static bool moves_autoscalers(const struct kind *kind, const struct version *before, const struct version *after) {
        if (str_eqc(kind->shelf->group, "metrics.k8s.io"))
                return true;
        if (kind->resource->group.n == 0 && str_eqc(kind->resource->plural, "pods"))
                return true;
        return kind->resource->has_scale && !(same_at(before, after, "spec") && same_at(before, after, "status") &&
                                              value_equal(value_path(before->value, "metadata", "annotations", NULL),
                                                          value_path(after->value, "metadata", "annotations", NULL)));
}

/* A Pod that comes or goes matters to its claims, a claim to its volume. */
static void wake_storage(struct controllers *ctl, enum res res, const struct version *v) {
        const struct value *list = value_path(v->value, "spec", "volumes", NULL);
        struct str volume = value_text(value_path(v->value, "spec", "volumeName", NULL));

        if (res == RES_CLAIM && volume.n)
                wake_soon(ctl, RES_VOLUME, (struct str){ 0 }, volume);
        for (size_t i = 0; res == RES_POD && value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                struct str claim =
                        value_text(value_path(list->list.items[i], "persistentVolumeClaim", "claimName", NULL));

                if (claim.n)
                        wake_soon(ctl, RES_CLAIM, v->namespace, claim);
        }
}

static void forget(struct controllers *ctl, enum res res, const struct version *gone) {
        if (res == RES_POD)
                map_remove(ctl->clocks, meta_text(gone->value, "uid"));
        if (res == RES_AUTOSCALER)
                map_remove(ctl->scalers, meta_text(gone->value, "uid"));
}

static void tell_known(struct controllers *ctl, enum res res, const struct version *before,
                       const struct version *after) {
        const struct version *any = after ? after : before;

        ctl->orphans[res] += is_orphan(res, after);
        ctl->orphans[res] -= is_orphan(res, before);
        if (res == RES_POD && !before && after)
                pod_note_address(ctl, after->value);
        if (res == RES_POD)
                place_note(ctl, before, after);
        if (res == RES_NODE)
                node_note(ctl, before, after);
        if (!after)
                forget(ctl, res, before);
        else if (res == RES_AUTOSCALER)
                controllers_wake(ctl, res, any->namespace, any->name,
                                 same_at(before, after, "spec") ? AUTOSCALER_PERIOD_MS : SECOND_MS);
        else if (controllers_table[res].run)
                wake_soon(ctl, res, any->namespace, any->name);
        wake_owner(ctl, any);
        wake_storage(ctl, res, any);
        if (before && after && !value_equal(controller_of(before->value), controller_of(after->value)))
                wake_owner(ctl, before);
        if (after && is_orphan(res, after) && !is_deleting(after->value) && !same_at(before, after, "metadata"))
                wake_adopters(ctl, res, after);
}

void controllers_tell(struct controllers *ctl, const struct kind *kind, const struct version *before,
                      const struct version *after) {
        const struct version *any = after ? after : before;
        enum res res;

        if (row_of(kind, &res))
                tell_known(ctl, res, before, after);
        if (any->namespace.n && moves_autoscalers(kind, before, after))
                wake_autoscalers(ctl, any->namespace);
}

/* ---- life ---- */

static void maps_free(struct controllers *ctl) {
        map_free(ctl->queue);
        map_free(ctl->clocks);
        map_free(ctl->lost);
        map_free(ctl->scalers);
}

static void maps_new(struct controllers *ctl) {
        ctl->queue = map_new(work_free);
        ctl->clocks = map_new(free);
        ctl->lost = map_new(NULL);
        ctl->scalers = map_new(scaler_free);
}

void controllers_reset(struct controllers *ctl) {
        maps_free(ctl);
        maps_new(ctl);
        memset(ctl->orphans, 0, sizeof ctl->orphans);
        if (ctl->recorder) {
                recorder_free(ctl->recorder);
                ctl->recorder = recorder_new();
        }
}

struct controllers *controllers_new(struct sandbox *s) {
        struct controllers *ctl = mem_zalloc(sizeof *ctl);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct sandbox_reply reply = { 0 };
        struct call c;

        ctl->s = s;
        maps_new(ctl);
        if (s->options.events)
                ctl->recorder = recorder_new();
        call_begin(&c, s, a, &reply, controllers_table[RES_POD].manager);
        c.user = str_from(controllers_table[RES_POD].user);
        nodes_make(&c);
        call_end(&c);
        return ctl;
}

void controllers_free(struct controllers *ctl) {
        if (!ctl)
                return;
        maps_free(ctl);
        recorder_free(ctl->recorder);
        free(ctl);
}

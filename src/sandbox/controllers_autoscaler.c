/* SPDX-License-Identifier: Apache-2.0 */
/* HorizontalPodAutoscalers: one look at one of them. */
#include "sandbox/controllers_autoscaler.h"

#include <inttypes.h>

#include "own/schema.h"
#include "sandbox/scale.h"

void autoscale_condition(struct autoscale *s, const char *type, bool is_true, const char *reason,
                         const struct value *message) {
        struct arena *a = s->l->a;
        const struct value *list = value_getc(s->status, "conditions"), *old = condition_find(list, type);
        bool same = condition_is(list, type, is_true ? "True" : "False");
        const struct value *c =
                make_map(a, "type", make_text(a, type), "status", make_text(a, is_true ? "True" : "False"), "reason",
                         make_text(a, reason), "message", message, "lastTransitionTime",
                         same ? value_getc(old, "lastTransitionTime") : make_str(a, s->l->c->now), NULL);
        struct value_list_builder b = { 0 };

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                value_list_add(&b, list->list.items[i] == old ? c : list->list.items[i]);
        if (!old)
                value_list_add(&b, c);
        s->status = value_with(a, s->status, STR("conditions"), value_list_end(&b, a, 0));
}

static void set(struct autoscale *s, const char *field, const struct value *v) {
        s->status = value_with(s->l->a, s->status, str_from(field), v);
}

/* ---- the target ---- */

/* Why not, or NULL. */
static const struct value *find_target(struct autoscale *s) {
        const struct value *ref = value_getc(s->spec, "scaleTargetRef");
        struct str version = value_text(value_getc(ref, "apiVersion")), name = value_text(value_getc(ref, "name"));
        struct str kind_name = value_text(value_getc(ref, "kind")), group = schema_group(version);
        const struct kind *kind = kinds_of_kind(s->l->ctl->s->kinds, version, kind_name);
        struct arena *a = s->l->a;

        if (!kind)
                return make_textf(a, "no matches for kind \"%.*s\" in group \"%.*s\"", STR_FMT(kind_name),
                                  STR_FMT(group));
        if (!kind->resource->has_scale)
                return make_textf(a, "the server could not find the requested resource");
        if (!write_aim(s->l->c, group, kind->resource->plural, s->l->namespace, name))
                return make_textf(a, "the server could not find the requested resource");
        s->target = look_hold(s->l, write_find(s->l->c));
        if (!s->target)
                return make_textf(a, "%.*s \"%.*s\" not found", STR_FMT(kind->group_resource), STR_FMT(name));
        s->scale = scale_read(s->l->c, s->target);
        return s->scale ? NULL : make_textf(a, "Internal error occurred: the spec replicas field does not exist");
}

/* ---- metrics ---- */

/* The largest proposal; -1 when there is none, with the condition told. */
static int64_t measure(struct autoscale *s, const struct value **ret_name) {
        const struct value *metrics = value_getc(s->spec, "metrics");
        struct value_list_builder current = { 0 };
        struct proposal failed = { 0 };
        struct arena *a = s->l->a;
        int64_t most = -1;

        for (size_t i = 0; value_is(metrics, VALUE_LIST) && i < metrics->list.count; i++) {
                struct proposal p;

                autoscale_measure(s, metrics->list.items[i], &p);
                if (p.replicas < 0 && !failed.why)
                        failed = p;
                if (p.replicas > most) {
                        most = p.replicas;
                        *ret_name = p.name;
                }
                value_list_add(&current, p.current ? p.current : make_map(a, "type", make_text(a, ""), NULL));
        }
        set(s, "currentMetrics", value_list_end(&current, a, 0));
        /* With one that cannot be read a size may only grow. */
        if (failed.why && most <= s->current) {
                look_event(s->l, s->v->value, WARNING, failed.reason, "%.*s", STR_FMT(value_text(failed.why)));
                autoscale_condition(s, "ScalingActive", false, failed.reason,
                                    make_textf(a, "the HPA was unable to compute the replica count: %.*s",
                                               STR_FMT(value_text(failed.why))));
                return -1;
        }
        autoscale_condition(s, "ScalingActive", true, "ValidMetricFound",
                            make_textf(a, "the HPA was able to successfully calculate a replica count from %.*s",
                                       STR_FMT(value_text(*ret_name))));
        return most;
}

/* ---- deciding ---- */

static void disable(struct autoscale *s) {
        autoscale_condition(s, "ScalingActive", false, "ScalingDisabled",
                            make_text(s->l->a, "scaling is disabled since the replica count of the target is zero"));
}

/* The size it should have; -1: nothing can be said. */
static int64_t decide(struct autoscale *s) {
        const struct value *name = NULL;

        if (s->current == 0) {
                disable(s);
                return 0;
        }
        if (s->current > s->most) {
                s->why = "Current number of replicas above Spec.MaxReplicas";
                return s->most;
        }
        if (s->current < s->least) {
                s->why = "Current number of replicas below Spec.MinReplicas";
                return s->least;
        }
        if (!value_text(value_path(s->scale, "status", "selector", NULL)).n) {
                autoscale_condition(s, "ScalingActive", false, "InvalidSelector",
                                    make_text(s->l->a, "the HPA target's scale is missing a selector"));
                return -1;
        }
        int64_t desired = measure(s, &name);
        if (desired > s->current && name)
                s->why = arena_strf(s->l->a, "%.*s above target", STR_FMT(value_text(name))).p;
        else
                s->why = "All metrics below target";
        return desired < 0 ? -1 : autoscale_pace(s, desired);
}

static bool rescale(struct autoscale *s, int64_t size) {
        struct arena *a = s->l->a;
        struct call *c = s->l->c;
        bool ok;

        c->at.subresource = (struct str){ 0 };
        ok = find_target(s) == NULL && scale_set(c, s->target, size) == 0;
        c->at.subresource = (struct str){ 0 };
        if (!ok) {
                look_event(s->l, s->v->value, WARNING, "FailedRescale", "New size: %" PRId64 "; reason: %s; error: %.*s",
                           size, s->why, STR_FMT(look_why(s->l)));
                autoscale_condition(s, "AbleToScale", false, "FailedUpdateScale",
                                    make_textf(a, "the HPA controller was unable to update the target scale: %.*s",
                                               STR_FMT(look_why(s->l))));
                return false;
        }
        autoscale_condition(s, "AbleToScale", true, "SucceededRescale",
                            make_textf(a, "the HPA controller was able to update the target scale to %" PRId64, size));
        autoscale_condition(s, "ScaledToZero", false, "NotScaledToZero",
                            make_text(a, "the HPA controller did not scale the workload to zero"));
        look_event(s->l, s->v->value, NORMAL, "SuccessfulRescale", "New size: %" PRId64 "; reason: %s", size, s->why);
        autoscale_note_event(s, size - s->current);
        set(s, "lastScaleTime", make_str(a, c->now));
        return true;
}

static struct scaler *memory_of(struct look *l, const struct value *autoscaler) {
        struct str uid = meta_text(autoscaler, "uid");
        struct scaler *m = map_find(l->ctl->scalers, uid);

        if (!m) {
                m = mem_zalloc(sizeof *m);
                map_set(l->ctl->scalers, uid, m);
        }
        return m;
}

static bool work(struct autoscale *s) {
        const struct value *why = find_target(s);
        int64_t size;
        bool ok = true;

        if (why) {
                look_event(s->l, s->v->value, WARNING, "FailedGetScale", "%.*s", STR_FMT(value_text(why)));
                autoscale_condition(s, "AbleToScale", false, "FailedGetScale",
                                    make_textf(s->l->a,
                                               "the HPA controller was unable to get the target's current scale: "
                                               "%.*s",
                                               STR_FMT(value_text(why))));
                return true;
        }
        s->current = int_or(value_path(s->scale, "spec", "replicas", NULL), 0);
        autoscale_begin(s);
        autoscale_condition(s, "AbleToScale", true, "SucceededGetScale",
                            make_text(s->l->a, "the HPA controller was able to get the target's current scale"));
        size = decide(s);
        set(s, "currentReplicas", make_int(s->l->a, s->current));
        if (size < 0)
                return true;
        if (size != s->current)
                ok = rescale(s, size);
        set(s, "desiredReplicas", make_int(s->l->a, size));
        return ok;
}

bool autoscaler_run(struct look *l, struct version *v) {
        struct autoscale s = {
                .l = l,
                .v = v,
                .spec = value_getc(v->value, "spec"),
                .status = value_getc(v->value, "status"),
                .memory = memory_of(l, v->value),
        };

        if (is_deleting(v->value))
                return true;
        s.least = int_or(value_getc(s.spec, "minReplicas"), 1);
        s.most = int_or(value_getc(s.spec, "maxReplicas"), 1);
        bool ok = work(&s);
        set(&s, "observedGeneration", value_path(v->value, "metadata", "generation", NULL));
        if (!value_getc(s.status, "desiredReplicas"))
                set(&s, "desiredReplicas", make_int(l->a, 0));
        return look_status(l, v, s.status) && ok;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletion as the generic registry store does it: preconditions, grace (Pods only), finalizers for garbage collection.
 * Source: k8s.io/apiserver pkg/registry/rest/delete.go and pkg/registry/generic/registry/store.go.
 */
#include "base/duration.h"
#include "sandbox/admission.h"
#include "sandbox/crd.h"
#include "sandbox/namespace.h"
#include "sandbox/status.h"
#include "sandbox/write.h"

#define ORPHAN_FINALIZER     "orphan"
#define FOREGROUND_FINALIZER "foregroundDeletion"
#define DEFAULT_GRACE_S      30

static const struct value *meta_get(const struct value *object, const char *field) {
        return value_path(object, "metadata", field, NULL);
}

/* Namespaces have their own words for it. */
static int check_namespace_preconditions(struct call *c, const struct value *object, const struct delete_options *o) {
        struct str uid = meta_text(object, "uid"), rv = meta_text(object, "resourceVersion"), why;

        if (o->has_uid && !str_eq(o->uid, uid))
                why = arena_strf(c->a, "Precondition failed: UID in precondition: %.*s, UID in object meta: %.*s",
                                 STR_FMT(o->uid), STR_FMT(uid));
        else if (o->has_resource_version && !str_eq(o->resource_version, rv))
                why = arena_strf(
                        c->a,
                        "Precondition failed: ResourceVersion in precondition: %.*s, ResourceVersion in object "
                        "meta: %.*s",
                        STR_FMT(o->resource_version), STR_FMT(rv));
        else
                return 0;
        return status_conflict(c, c->at.group, c->at.plural, meta_text(object, "name"), why);
}

static int check_preconditions(struct call *c, const struct value *object, const struct delete_options *o) {
        struct str uid = meta_text(object, "uid"), rv = meta_text(object, "resourceVersion"), why;

        if (c->kind->resource->group.n == 0 && str_eqc(c->kind->resource->kind, "Namespace"))
                return check_namespace_preconditions(c, object, o);
        if (o->has_uid && !str_eq(o->uid, uid))
                why = arena_strf(
                        c->a,
                        "the UID in the precondition (%.*s) does not match the UID in record (%.*s). The object "
                        "might have been deleted and then recreated",
                        STR_FMT(o->uid), STR_FMT(uid));
        else if (o->has_resource_version && !str_eq(o->resource_version, rv))
                why = arena_strf(c->a,
                                 "the ResourceVersion in the precondition (%.*s) does not match the ResourceVersion in "
                                 "record (%.*s). The object might have been modified",
                                 STR_FMT(o->resource_version), STR_FMT(rv));
        else
                return 0;
        return status_conflict(c, c->kind->resource->group, c->kind->resource->kind, meta_text(object, "name"), why);
}

/* ---- finalizers for garbage collection ---- */

static bool has_finalizer(const struct value *object, const char *name) {
        const struct value *list = meta_get(object, "finalizers");

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eqc(value_text(list->list.items[i]), name))
                        return true;
        return false;
}

static bool wants_orphan(const struct call *c, const struct value *object, const struct delete_options *o) {
        if (c->kind->strategy->flags & STRATEGY_NO_GC)
                return false;
        if (o->has_orphan)
                return o->orphan;
        if (o->propagation.n)
                return str_eqc(o->propagation, "Orphan");
        if (has_finalizer(object, ORPHAN_FINALIZER))
                return true;
        return !has_finalizer(object, FOREGROUND_FINALIZER) && c->kind->strategy->flags & STRATEGY_ORPHAN;
}

static bool wants_foreground(const struct call *c, const struct value *object, const struct delete_options *o) {
        if (c->kind->strategy->flags & STRATEGY_NO_GC || o->has_orphan)
                return false;
        if (o->propagation.n)
                return str_eqc(o->propagation, "Foreground");
        return !has_finalizer(object, ORPHAN_FINALIZER) && has_finalizer(object, FOREGROUND_FINALIZER);
}

static const struct value *with_gc_finalizers(const struct call *c, const struct value *object,
                                              const struct delete_options *o) {
        bool orphan = wants_orphan(c, object, o), foreground = wants_foreground(c, object, o);
        const struct value *old = meta_get(object, "finalizers");
        struct value_list_builder list = { 0 };

        if (orphan == has_finalizer(object, ORPHAN_FINALIZER) &&
            foreground == has_finalizer(object, FOREGROUND_FINALIZER))
                return object;
        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++) {
                struct str name = value_text(old->list.items[i]);

                if (!str_eqc(name, ORPHAN_FINALIZER) && !str_eqc(name, FOREGROUND_FINALIZER))
                        value_list_add(&list, old->list.items[i]);
        }
        if (orphan)
                value_list_add(&list, value_stringc(c->a, ORPHAN_FINALIZER));
        if (foreground)
                value_list_add(&list, value_stringc(c->a, FOREGROUND_FINALIZER));
        bool is_empty = list.count == 0;
        const struct value *finalizers = value_list_end(&list, c->a, 0);
        return meta_with(object, "finalizers", is_empty ? NULL : finalizers, c->a);
}

/* ---- marking ---- */

static const struct value *mark(const struct call *c, const struct value *object, int64_t grace_s) {
        int64_t generation = 0;

        if (!meta_get(object, "deletionTimestamp")) {
                struct str at = rfc3339(loop_wall_ms(c->s->loop) + duration_of_seconds(grace_s), c->a);

                if (value_to_i64(meta_get(object, "generation"), &generation) && generation > 0)
                        object = meta_with(object, "generation", value_int(c->a, generation + 1, 0), c->a);
                object = meta_with_text(object, "deletionTimestamp", at, c->a);
        }
        return meta_with(object, "deletionGracePeriodSeconds", value_int(c->a, grace_s, 0), c->a);
}

/* What a Pod's deletion waits for (podStrategy.CheckGracefulDelete). */
static int64_t pod_grace(const struct value *pod, const struct delete_options *o) {
        struct str phase = value_text(value_path(pod, "status", "phase", NULL));
        int64_t grace = DEFAULT_GRACE_S;

        if (o->has_grace)
                grace = o->grace_s;
        else
                value_to_i64(value_path(pod, "spec", "terminationGracePeriodSeconds", NULL), &grace);
        if (value_text(value_path(pod, "spec", "nodeName", NULL)).n == 0 || str_eqc(phase, "Failed") ||
            str_eqc(phase, "Succeeded"))
                grace = 0;
        return grace < 0 ? 1 : grace;
}

enum plan { PLAN_GONE, PLAN_NOTHING, PLAN_MARK };

/* A deletion that is under way may only become shorter. */
static enum plan plan_again(struct call *c, const struct value **object, const struct delete_options *o) {
        int64_t old = 0;

        value_to_i64(meta_get(*object, "deletionGracePeriodSeconds"), &old);
        if (old == 0)
                return PLAN_GONE;
        if (!o->has_grace || o->grace_s >= old)
                return PLAN_NOTHING;
        int64_t at = loop_wall_ms(c->s->loop) + duration_of_seconds(o->grace_s);
        *object = meta_with_text(*object, "deletionTimestamp", rfc3339(at, c->a), c->a);
        *object = meta_with(*object, "deletionGracePeriodSeconds", value_int(c->a, o->grace_s, 0), c->a);
        return PLAN_MARK;
}

static enum plan plan_graceful(struct call *c, const struct value **object, const struct delete_options *o) {
        if (!(c->kind->strategy->flags & STRATEGY_GRACEFUL))
                return PLAN_GONE;
        if (meta_get(*object, "deletionTimestamp"))
                return plan_again(c, object, o);
        *object = mark(c, *object, pod_grace(*object, o));
        return PLAN_MARK;
}

static bool has_grace_left(const struct value *object) {
        int64_t grace = 0;

        value_to_i64(meta_get(object, "deletionGracePeriodSeconds"), &grace);
        return grace > 0;
}

static int give(struct version **ret, struct version *v) {
        if (ret)
                *ret = v;
        else
                version_unref(v);
        return 0;
}

/*
 * A dry run that would end the object by taking its finalizers away shows what its update was to fill in: an object
 * with nothing in it.
 */
static struct version *blank(const struct call *c) {
        return version_new(kind_blank(c->kind, c->a), 0);
}

/*
 * The server writes such an object once more before it ends. True with the answer where that does not go on: a dry run,
 * or a version that was asked for, which is then of an update that did not take place.
 */
static bool ends_at_its_update(struct call *c, const struct value *before, const struct delete_options *o, int *ret_r,
                               struct version **ret) {
        if (c->dry_run)
                *ret_r = give(ret, blank(c));
        else if (o->has_resource_version)
                *ret_r = status_stored_otherwise(c, meta_text(before, "name"), "ResourceVersion", (struct str){ 0 },
                                                 meta_text(before, "resourceVersion"));
        return c->dry_run || o->has_resource_version;
}

/* Takes `held`; gives it, or what is stored of `object` instead. */
static struct version *write_ending(struct call *c, struct version *held, const struct value *before,
                                    const struct value *object) {
        uint64_t unread = c->kind->is_custom ? held->unread : held->unread & ~UNREAD_KEPT;
        struct version *v;

        if (!unread && (object == before || value_equal(object, before)))
                return held;
        v = write_store(c, held, object);
        v->unread = c->kind->is_custom ? 0 : held->unread & UNREAD_KEPT;
        version_unref(held);
        return v;
}

int write_delete(struct call *c, struct version *live, const struct delete_options *o, bool *ret_gone,
                 struct version **ret) {
        const struct value *before = write_live(c, live), *object = before;
        int r = check_preconditions(c, object, o);

        if (r == 0)
                r = admission_check_delete(c, object);
        if (r < 0)
                return r;
        _cleanup_(version_unrefp) struct version *held = version_ref(live);
        *ret_gone = false;
        if (namespace_delete(c, held, o, ret) || crd_delete(c, held, o, ret))
                return 0;

        enum plan plan = plan_graceful(c, &object, o);
        if (plan == PLAN_NOTHING)
                return give(ret, TAKE_PTR(held));
        object = with_gc_finalizers(c, object, o);
        bool is_held = value_count(meta_get(object, "finalizers")) > 0;
        bool is_freed = plan == PLAN_GONE && !is_held && value_count(meta_get(before, "finalizers"));
        if (is_freed && ends_at_its_update(c, before, o, &r, ret))
                return r;
        if (plan == PLAN_GONE && is_held)
                object = mark(c, object, 0);
        if (plan == PLAN_MARK || is_held)
                held = write_ending(c, held, before, object);
        if (is_held || (plan == PLAN_MARK && has_grace_left(object)))
                return give(ret, TAKE_PTR(held));
        *ret_gone = true;
        struct version *current = c->dry_run ? live : held;
        return give(ret, write_remove(c, current, write_live(c, held)));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/serve.h"

#include <inttypes.h>

#include "sandbox/body.h"
#include "sandbox/list.h"
#include "sandbox/status.h"
#include "sandbox/write.h"

/* ---- DeleteOptions: in the body or in the query ---- */

static void read_preconditions(const struct value *body, struct delete_options *o) {
        const struct value *uid = value_path(body, "preconditions", "uid", NULL);
        const struct value *rv = value_path(body, "preconditions", "resourceVersion", NULL);

        o->has_uid = value_is(uid, VALUE_STRING);
        o->uid = value_text(uid);
        o->has_resource_version = value_is(rv, VALUE_STRING);
        o->resource_version = value_text(rv);
}

static void read_body(struct call *c, const struct value *body, struct delete_options *o) {
        const struct value *orphan = value_getc(body, "orphanDependents"), *dry = value_getc(body, "dryRun");

        read_preconditions(body, o);
        o->has_grace = value_to_i64(value_getc(body, "gracePeriodSeconds"), &o->grace_s);
        o->has_propagation = value_is(value_getc(body, "propagationPolicy"), VALUE_STRING);
        o->propagation = value_text(value_getc(body, "propagationPolicy"));
        o->has_orphan = value_is(orphan, VALUE_BOOL);
        o->orphan = value_truth(orphan, false);
        c->dry_run = value_count(dry) > 0;
}

static int read_query(struct call *c, struct delete_options *o) {
        struct err err = { 0 };

        o->has_grace = query_get(&c->query, "gracePeriodSeconds").n > 0;
        if (query_int(&c->query, "gracePeriodSeconds", &o->grace_s, &err) < 0)
                return status_bad_request(c, "%s", err.msg);
        o->has_propagation = query_has(&c->query, "propagationPolicy");
        o->propagation = query_get(&c->query, "propagationPolicy");
        o->has_orphan = query_has(&c->query, "orphanDependents");
        o->orphan = query_bool(&c->query, "orphanDependents");
        c->dry_run = query_get(&c->query, "dryRun").n > 0;
        return 0;
}

static int check_options(struct call *c, const struct delete_options *o) {
        struct causes causes = { .arena = c->a };
        int r = 0;

        if (o->has_orphan && o->has_propagation)
                causes_add(&causes, "FieldValueInvalid", STR("propagationPolicy"),
                           "Invalid value: \"%.*s\": orphanDependents and deletionPropagation cannot be both set",
                           STR_FMT(o->propagation));
        if (o->has_propagation && !str_eqc(o->propagation, "Foreground") && !str_eqc(o->propagation, "Background") &&
            !str_eqc(o->propagation, "Orphan"))
                causes_add(&causes, "FieldValueNotSupported", STR("propagationPolicy"),
                           "Unsupported value: \"%.*s\": supported values: \"Foreground\", \"Background\", \"Orphan\", "
                           "\"nil\"",
                           STR_FMT(o->propagation));
        if (causes.count)
                r = status_invalid(c, STR("meta.k8s.io"), STR("DeleteOptions"), (struct str){ 0 }, &causes);
        causes_done(&causes);
        return r;
}

static int read_options(struct call *c, struct delete_options *o) {
        const struct value *body;

        *o = (struct delete_options){ 0 };
        if (body_delete_options(c, &body) < 0)
                return -1;
        if (body)
                read_body(c, body, o);
        else if (read_query(c, o) < 0)
                return -1;
        if (o->has_grace && o->grace_s < 0)
                o->grace_s = 1;
        return check_options(c, o);
}

static void warn_of_pods(struct call *c, const struct delete_options *o) {
        if (str_eqc(c->kind->resource->kind, "Job") && str_eqc(c->at.group, "batch") && !o->has_orphan &&
            o->propagation.n == 0)
                call_warn(c,
                          STR("child pods are preserved by default when jobs are deleted; set "
                              "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
                              "this warning"));
}

/* ---- delete ---- */

void serve_delete(struct call *c) {
        struct delete_options o;
        struct version *last = NULL;
        bool is_gone;

        if (read_options(c, &o) < 0)
                return;
        warn_of_pods(c, &o);
        struct version *live = serve_live(c);
        if (!live || write_delete(c, live, &o, &is_gone, &last) < 0)
                return;
        if (is_gone && !(c->kind->strategy->flags & STRATEGY_RETURN_DELETED))
                status_deleted(c, c->at.name, meta_text(last->value, "uid"));
        else
                answer_object(c, !is_gone && o.has_orphan && !o.orphan ? 202 : 200, last);
        version_unref(last);
}

/* ---- deletecollection ---- */

static struct version **select_all(struct call *c, const struct list_options *o, size_t *ret_count) {
        const struct shelf *shelf = c->kind->shelf;
        size_t from, to, n = 0;

        shelf_range(shelf, c->at.namespace, &from, &to);
        struct version **list = arena_alloc(c->a, (to - from) * sizeof *list);
        for (size_t i = from; i < to; i++)
                if (select_matches(&o->selector, shelf->items[i]->value))
                        list[n++] = version_ref(shelf->items[i]);
        *ret_count = n;
        return list;
}

/* Deletes one and puts its last state in its place; a refusal ends the walk. */
static int delete_one(struct call *c, const struct delete_options *o, struct version **slot) {
        struct version *live = shelf_find(c->kind->shelf, (*slot)->namespace, (*slot)->name), *last = NULL;
        bool is_gone;

        if (!live)
                return 0;
        c->at.name = (*slot)->name;
        int r = write_delete(c, live, o, &is_gone, &last);
        c->at.name = (struct str){ 0 };
        if (r < 0)
                return r;
        /* The list shows what was listed; only objects that go on living are shown as they are now. */
        version_unref(last);
        return 0;
}

void serve_delete_collection(struct call *c) {
        struct delete_options o;
        struct list_options list_options;
        size_t count;
        int r = 0;

        if (list_options_read(c, false, &list_options) < 0 || read_options(c, &o) < 0)
                return;
        warn_of_pods(c, &o);
        uint64_t rv = store_rv(c->s->store);
        struct version **list = select_all(c, &list_options, &count);
        for (size_t i = 0; i < count && r == 0; i++)
                r = delete_one(c, &o, &list[i]);
        if (r == 0)
                list_answer(c, FORM_OBJECT, list, count, arena_strf(c->a, "{\"resourceVersion\":\"%" PRIu64 "\"%s}", rv,
                                       c->kind->is_custom ? ",\"continue\":\"\"" : ""));
        for (size_t i = 0; i < count; i++)
                version_unref(list[i]);
}

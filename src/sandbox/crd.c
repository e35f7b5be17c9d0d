/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/crd.h"

#include "sandbox/crd_names.h"
#include "sandbox/watch.h"

#define GROUP             STR("apiextensions.k8s.io")
#define PLURAL            STR("customresourcedefinitions")
#define CLEANUP_FINALIZER "customresourcecleanup.apiextensions.k8s.io"
#define STEP_MS           5
#define CLEANUP_AGAIN_MS  1000

/* Names of CRDs that need a look, oldest first. */
struct crds {
        struct sandbox *s;
        struct loop_timer *timer;
        int64_t due_ms; /* when it fires, while it runs */
        char **names;
        size_t count, cap;
};

/* ---- conditions ---- */

static const struct value *find_condition(const struct value *crd, const char *type) {
        const struct value *list = value_path(crd, "status", "conditions", NULL);

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eqc(value_text(value_getc(list->list.items[i], "type")), type))
                        return list->list.items[i];
        return NULL;
}

static bool is_condition_true(const struct value *crd, const char *type) {
        return str_eqc(value_text(value_getc(find_condition(crd, type), "status")), "True");
}

struct condition {
        const char *type, *status, *reason, *message;
};

/* `old` is what it replaces, or NULL: its time tells when the status became this one. */
static const struct value *make_condition(const struct call *c, const struct condition *d, const struct value *old) {
        bool is_new = !str_eqc(value_text(value_getc(old, "status")), d->status);
        struct str since = is_new ? c->now : value_text(value_getc(old, "lastTransitionTime"));
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("type"), value_stringc(c->a, d->type), 0);
        value_map_add(&b, STR("status"), value_stringc(c->a, d->status), 0);
        value_map_add(&b, STR("reason"), value_stringc(c->a, d->reason), 0);
        value_map_add(&b, STR("message"), value_stringc(c->a, d->message), 0);
        value_map_add(&b, STR("lastTransitionTime"), value_string(c->a, since, 0), 0);
        return value_map_end(&b, c->a, 0);
}

static const struct value *with_condition(const struct call *c, const struct value *crd, const struct condition *d) {
        static const struct str path[] = { { "status", 6 }, { "conditions", 10 } };
        const struct value *old = value_path(crd, "status", "conditions", NULL);
        struct value_list_builder list = { 0 };
        bool is_placed = false;

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++) {
                bool is_it = str_eqc(value_text(value_getc(old->list.items[i], "type")), d->type);

                value_list_add(&list, is_it ? make_condition(c, d, old->list.items[i]) : old->list.items[i]);
                is_placed |= is_it;
        }
        if (!is_placed)
                value_list_add(&list, make_condition(c, d, NULL));
        return value_with_path(c->a, crd, path, 2, value_list_end(&list, c->a, 0));
}

/* ---- the queue ---- */

static void enqueue(struct crds *k, struct str name, int64_t delay_ms) {
        for (size_t i = 0; i < k->count; i++)
                if (str_eqc(name, k->names[i]))
                        return;
        k->names = mem_grow(k->names, &k->cap, k->count + 1, sizeof *k->names);
        k->names[k->count++] = str_dup(name);
        int64_t at_ms = loop_now_ms(k->s->loop) + delay_ms;
        if (loop_timer_is_running(k->timer) && k->due_ms <= at_ms)
                return;
        k->due_ms = at_ms;
        loop_timer_start(k->timer, delay_ms);
}

/* Others of the group may get names that are free now. */
static void enqueue_group(struct crds *k, const struct value *crd) {
        const struct shelf *shelf = store_shelf(k->s->store, GROUP, PLURAL);
        struct str group = value_text(value_path(crd, "spec", "group", NULL)), name = meta_text(crd, "name");

        for (size_t i = 0; i < shelf->count; i++)
                if (str_eq(value_text(value_path(shelf->items[i]->value, "spec", "group", NULL)), group) &&
                    !str_eq(shelf->items[i]->name, name))
                        enqueue(k, shelf->items[i]->name, STEP_MS);
}

/* ---- coming into service ---- */

static const struct value *accepted_names(const struct value *crd) {
        return value_path(crd, "status", "acceptedNames", NULL);
}

static bool is_condition(const struct value *condition, const struct condition *d) {
        return str_eqc(value_text(value_getc(condition, "status")), d->status) &&
               str_eqc(value_text(value_getc(condition, "reason")), d->reason) &&
               str_eqc(value_text(value_getc(condition, "message")), d->message);
}

/* False when there is nothing to change. */
static bool settle_names(struct crds *k, struct call *c, struct version *live) {
        static const struct condition refused = { "Established", "False", "NotAccepted", "not all names are accepted" };
        static const struct condition installing = { "Established", "False", "Installing",
                                                     "the initial names have been accepted" };
        static const struct str path[] = { { "status", 6 }, { "acceptedNames", 13 } };
        struct crd_names names;

        crd_names_decide(c->kind->shelf, live->value, c->a, &names);
        const struct condition accepted = { "NamesAccepted", names.is_accepted ? "True" : "False", names.reason,
                                            names.message.p };
        if (value_equal(names.accepted, accepted_names(live->value)) &&
            is_condition(find_condition(live->value, "NamesAccepted"), &accepted))
                return false;

        const struct value *crd = with_condition(c, live->value, &accepted);
        if (!is_condition_true(crd, "Established") && names.is_accepted)
                crd = with_condition(c, crd, &installing);
        else if (!find_condition(crd, "Established"))
                crd = with_condition(c, crd, &refused);
        crd = value_with_path(c->a, crd, path, ARRAY_LEN(path), names.accepted);
        write_change(c, live, crd, "status");
        enqueue_group(k, crd);
        return true;
}

/* Watches on what is replaced end, as on the server. */
static void put_in_service(struct sandbox *s, const struct value *crd) {
        struct str group = value_text(value_path(crd, "spec", "group", NULL));
        struct str plural = value_text(value_path(crd, "spec", "names", "plural", NULL));

        watch_end_all(s, store_shelf(s->store, group, plural));
        kinds_set_crd(s->kinds, crd, NULL);
}

static void establish(struct call *c, struct version *live) {
        static const struct condition established = { "Established", "True", "InitialNamesAccepted",
                                                      "the initial names have been accepted" };

        put_in_service(c->s, live->value);
        write_change(c, live, with_condition(c, live->value, &established), "status");
}

/* ---- deletion ---- */

static bool has_cleanup_finalizer(const struct value *crd) {
        const struct value *list = value_path(crd, "metadata", "finalizers", NULL);

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eqc(value_text(list->list.items[i]), CLEANUP_FINALIZER))
                        return true;
        return false;
}

static const struct value *with_finalizer(const struct value *crd, bool present, struct arena *a) {
        const struct value *old = value_path(crd, "metadata", "finalizers", NULL);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++)
                if (!str_eqc(value_text(old->list.items[i]), CLEANUP_FINALIZER))
                        value_list_add(&list, old->list.items[i]);
        if (present)
                value_list_add(&list, value_stringc(a, CLEANUP_FINALIZER));
        bool is_empty = list.count == 0;
        const struct value *finalizers = value_list_end(&list, a, 0);
        return meta_with(crd, "finalizers", is_empty ? NULL : finalizers, a);
}

bool crd_delete(struct call *c, struct version *live, const struct delete_options *o, struct version **ret) {
        static const struct condition terminating = {
                "Terminating",
                "True",
                "InstanceDeletionPending",
                "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        };
        const struct value *crd = live->value;
        struct version *v;

        (void)o;
        if (!str_eq(c->kind->resource->plural, PLURAL) || !str_eq(c->kind->resource->group, GROUP))
                return false;
        if (value_path(crd, "metadata", "deletionTimestamp", NULL)) {
                v = version_ref(live);
        } else {
                crd = meta_with_text(crd, "deletionTimestamp", c->now, c->a);
                crd = with_finalizer(crd, true, c->a);
                v = write_store(c, live, with_condition(c, crd, &terminating));
        }
        if (ret)
                *ret = v;
        else
                version_unref(v);
        return true;
}

/* Deletes what there is; how much is left? */
static size_t delete_instances(struct call *c, const struct value *crd) {
        struct str group = value_text(value_path(crd, "spec", "group", NULL));
        struct str plural = value_text(value_path(crd, "spec", "names", "plural", NULL));
        const struct delete_options o = { 0 };
        struct call each = *c;
        bool is_gone;

        if (!write_aim(&each, group, plural, (struct str){ 0 }, (struct str){ 0 }))
                return 0;
        const struct shelf *shelf = each.kind->shelf;
        for (size_t i = shelf->count; i-- > 0;) {
                struct version *v = i < shelf->count ? shelf->items[i] : NULL;

                if (!v || value_path(v->value, "metadata", "deletionTimestamp", NULL))
                        continue;
                each.at.namespace = arena_str(c->a, v->namespace);
                each.at.name = arena_str(c->a, v->name);
                write_delete(&each, v, &o, &is_gone, NULL);
        }
        return shelf->count;
}

static void clean_up(struct crds *k, struct call *c, struct version *live) {
        static const struct condition done = { "Terminating", "False", "InstanceDeletionCompleted",
                                               "removed all instances" };

        if (delete_instances(c, live->value) > 0) {
                enqueue(k, c->at.name, CLEANUP_AGAIN_MS);
                return;
        }
        /* deletionGracePeriodSeconds was never set: taking the last finalizer away is the end. */
        struct version *v = write_store(c, live, with_condition(c, live->value, &done));
        const struct value *last = with_finalizer(v->value, false, c->a);
        bool is_held = value_path(last, "metadata", "finalizers", NULL);
        version_unref(is_held ? write_store(c, v, last) : write_remove(c, v, last));
        version_unref(v);
}

/* ---- one step of one CRD ---- */

static void step(struct crds *k, const char *name) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct sandbox_reply reply = { 0 };
        struct call c;

        call_begin(&c, k->s, a, &reply, "kube-apiserver");
        write_aim(&c, GROUP, PLURAL, (struct str){ 0 }, arena_str(a, str_from(name)));
        struct version *live = write_find(&c);
        if (live && has_cleanup_finalizer(live->value) &&
            value_path(live->value, "metadata", "deletionTimestamp", NULL))
                clean_up(k, &c, live);
        else if (live && !settle_names(k, &c, live) && is_condition_true(live->value, "NamesAccepted") &&
                 !is_condition_true(live->value, "Established"))
                establish(&c, live);
        call_end(&c);
}

static void on_timer(void *ctx) {
        struct crds *k = ctx;
        char **names = k->names;
        size_t count = k->count;

        k->names = NULL;
        k->count = k->cap = 0;
        for (size_t i = 0; i < count; i++) {
                step(k, names[i]);
                free(names[i]);
        }
        free(names);
}

/* ---- looking on ---- */

static bool spec_changed(const struct version *before, const struct version *after) {
        return !before || !value_equal(value_getc(before->value, "spec"), value_getc(after->value, "spec"));
}

static bool service_changed(const struct version *before, const struct version *after) {
        return spec_changed(before, after) ||
               !value_equal(accepted_names(before->value), accepted_names(after->value));
}

void crds_tell(struct crds *k, const struct kind *kind, const struct version *before, const struct version *after) {
        if (!str_eq(kind->resource->plural, PLURAL) || !str_eq(kind->resource->group, GROUP))
                return;
        if (!after) {
                struct str group = value_text(value_path(before->value, "spec", "group", NULL));
                struct str plural = value_text(value_path(before->value, "spec", "names", "plural", NULL));

                watch_end_all(k->s, store_shelf(k->s->store, group, plural));
                kinds_drop_crd(k->s->kinds, before->name);
                enqueue_group(k, before->value);
                return;
        }
        if (is_condition_true(after->value, "Established") && service_changed(before, after))
                put_in_service(k->s, after->value);
        if (!is_condition_true(after->value, "Established") || spec_changed(before, after) ||
            value_path(after->value, "metadata", "deletionTimestamp", NULL))
                enqueue(k, after->name, STEP_MS);
}

void crds_restore(struct crds *k) {
        const struct shelf *shelf = store_shelf(k->s->store, GROUP, PLURAL);

        for (size_t i = 0; i < shelf->count; i++) {
                if (is_condition_true(shelf->items[i]->value, "Established"))
                        put_in_service(k->s, shelf->items[i]->value);
                enqueue(k, shelf->items[i]->name, STEP_MS);
        }
}

struct crds *crds_new(struct sandbox *s) {
        struct crds *k = mem_zalloc(sizeof *k);

        k->s = s;
        k->timer = loop_timer_new(s->loop, on_timer, k);
        return k;
}

void crds_free(struct crds *k) {
        if (!k)
                return;
        loop_timer_free(k->timer);
        for (size_t i = 0; i < k->count; i++)
                free(k->names[i]);
        free(k->names);
        free(k);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/namespace.h"

#include "base/json.h"
#include "base/map.h"
#include "sandbox/write.h"

#define NEW_MS     10   /* until the controllers have seen a new namespace */
#define CONTENT_MS 5000 /* the namespace controller's namespaceDeletionGracePeriod */
#define AGAIN_MS   8000 /* while finalizers hold content: half of 15 s, and 1 */
#define CA_TEXT    "-----BEGIN CERTIFICATE-----\nc2FuZGJveA==\n-----END CERTIFICATE-----\n"
#define CA_DESCRIPTION                                                                                                 \
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as "    \
        "the "                                                                                                         \
        "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "         \
        "Kubernetes clusters."

/* One namespace somebody has to look at. */
struct task {
        struct namespaces *n;
        struct loop_timer *timer;
        bool is_end;
        char name[];
};

struct namespaces {
        struct sandbox *s;
        struct map *fill, *end; /* name → struct task */
};

static struct str plural(void) {
        return STR("namespaces");
}

static bool is_namespace(const struct kind *k) {
        return k->resource->group.n == 0 && str_eq(k->resource->plural, plural());
}

/* ---- objects as values ---- */

static const struct value *named(struct arena *a, const char *api_version, const char *kind, struct str namespace,
                                 const char *name) {
        struct value_map_builder meta = { 0 }, object = { 0 };

        value_map_add(&meta, STR("name"), value_stringc(a, name), 0);
        if (namespace.n)
                value_map_add(&meta, STR("namespace"), value_string(a, namespace, 0), 0);
        value_map_add(&object, STR("apiVersion"), value_stringc(a, api_version), 0);
        value_map_add(&object, STR("kind"), value_stringc(a, kind), 0);
        value_map_add(&object, STR("metadata"), value_map_end(&meta, a, 0), 0);
        return value_map_end(&object, a, 0);
}

/* ---- what every namespace has ---- */

static void fill(struct call *c, struct str namespace) {
        if (c->s->options.no_controllers)
                return;
        const struct value *ca = named(c->a, "v1", "ConfigMap", namespace, "kube-root-ca.crt");

        ca = meta_with(ca, "annotations",
                       value_with(c->a, NULL, STR("kubernetes.io/description"), value_stringc(c->a, CA_DESCRIPTION)),
                       c->a);
        ca = value_with(c->a, ca, STR("data"), value_with(c->a, NULL, STR("ca.crt"), value_stringc(c->a, CA_TEXT)));
        write_aim(c, (struct str){ 0 }, STR("configmaps"), namespace, STR("kube-root-ca.crt"));
        if (!write_find(c))
                write_make(c, ca);
        write_aim(c, (struct str){ 0 }, STR("serviceaccounts"), namespace, STR("default"));
        if (!write_find(c))
                write_make(c, named(c->a, "v1", "ServiceAccount", namespace, "default"));
}

/* ---- the end ---- */

struct left {
        size_t count;
        struct buf resources, finalizers; /* texts of the conditions */
};

static bool delete_in(struct call *c, const struct kind *kind, struct str namespace, struct left *left) {
        const struct delete_options o = { .propagation = STR("Background") };
        size_t from, to;
        bool is_gone;

        c->kind = kind->storage;
        c->at = (struct target){
                .group = kind->resource->group,
                .version = kind->resource->version,
                .plural = kind->resource->plural,
                .namespace = namespace,
        };
        shelf_range(kind->shelf, namespace, &from, &to);
        for (size_t i = to; i-- > from;) {
                struct version *v = i < kind->shelf->count ? kind->shelf->items[i] : NULL;

                if (!v || !str_eq(v->namespace, namespace) ||
                    value_path(v->value, "metadata", "deletionTimestamp", NULL))
                        continue;
                c->at.name = arena_str(c->a, v->name);
                write_delete(c, v, &o, &is_gone, NULL);
        }
        shelf_range(kind->shelf, namespace, &from, &to);
        if (to == from)
                return true;
        left->count += to - from;
        buf_addf(
                &left->resources, "%s%.*s has %zu resource instances", left->resources.n ? ", " : "",
                STR_FMT(arena_strf(c->a, "%.*s.%.*s", STR_FMT(kind->resource->plural), STR_FMT(kind->resource->group))),
                to - from);
        for (size_t i = from; i < to; i++) {
                const struct value *list = value_path(kind->shelf->items[i]->value, "metadata", "finalizers", NULL);

                for (size_t k = 0; value_is(list, VALUE_LIST) && k < list->list.count; k++)
                        buf_addf(&left->finalizers, "%s%.*s in 1 resource instances", left->finalizers.n ? ", " : "",
                                 STR_FMT(value_text(list->list.items[k])));
        }
        return false;
}

static void delete_content(struct call *c, struct str namespace, struct left *left) {
        const struct kind *kind;
        size_t at = 0;

        while ((kind = kinds_next(c->s->kinds, &at)))
                if (kind->resource->namespaced && kind->shelf &&
                    kind == kinds_of_resource(c->s->kinds, kind->shelf->group, kind->resource->plural))
                        delete_in(c, kind, namespace, left);
}

struct condition {
        const char *type, *reason, *message;
        bool is_true;
};

static const struct value *make_condition(const struct call *c, const struct condition *d) {
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("type"), value_stringc(c->a, d->type), 0);
        value_map_add(&b, STR("status"), value_stringc(c->a, d->is_true ? "True" : "False"), 0);
        value_map_add(&b, STR("reason"), value_stringc(c->a, d->reason), 0);
        value_map_add(&b, STR("message"), value_stringc(c->a, d->message), 0);
        value_map_add(&b, STR("lastTransitionTime"), value_string(c->a, c->now, 0), 0);
        return value_map_end(&b, c->a, 0);
}

/* In the server's order and words. */
static const struct value *end_conditions(const struct call *c, const struct left *left) {
        struct str remain = arena_strf(c->a, "Some resources are remaining: %s", left->resources.p);
        struct str held =
                arena_strf(c->a, "Some content in the namespace has finalizers remaining: %s", left->finalizers.p);
        const struct condition all[] = {
                { "NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered",
                  false },
                { "NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
                  "All legacy kube types successfully parsed", false },
                { "NamespaceDeletionContentFailure", "ContentDeleted",
                  "All content successfully deleted, may be waiting on finalization", false },
                { "NamespaceContentRemaining", left->count ? "SomeResourcesRemain" : "ContentRemoved",
                  left->count ? remain.p : "All content successfully removed", left->count > 0 },
                { "NamespaceFinalizersRemaining",
                  left->finalizers.n ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
                  left->finalizers.n ? held.p : "All content-preserving finalizers finished", left->finalizers.n > 0 },
        };
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(all); i++)
                value_list_add(&list, make_condition(c, &all[i]));
        return value_list_end(&list, c->a, 0);
}

static void aim_at(struct call *c, struct str name) {
        write_aim(c, (struct str){ 0 }, plural(), (struct str){ 0 }, name);
}

static void write_conditions(struct call *c, struct str name, const struct left *left) {
        static const struct str path[] = { { "status", 6 }, { "conditions", 10 } };

        aim_at(c, name);
        struct version *live = write_find(c);
        if (live && (left->count || value_path(live->value, "status", "conditions", NULL)))
                write_change(c, live, value_with_path(c->a, live->value, path, 2, end_conditions(c, left)), "status");
}

static const struct value *without_finalizer(const struct value *namespace, struct arena *a) {
        static const struct str path[] = { { "spec", 4 }, { "finalizers", 10 } };
        const struct value *old = value_path(namespace, "spec", "finalizers", NULL);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++)
                if (!str_eqc(value_text(old->list.items[i]), "kubernetes"))
                        value_list_add(&list, old->list.items[i]);
        bool is_empty = list.count == 0;
        const struct value *finalizers = value_list_end(&list, a, 0);
        return value_with_path(a, namespace, path, 2, is_empty ? NULL : finalizers);
}

static bool is_held(const struct value *namespace) {
        return value_count(value_path(namespace, "spec", "finalizers", NULL)) ||
               value_count(value_path(namespace, "metadata", "finalizers", NULL));
}

/* Stores without the finalizer, or takes the namespace away when nothing holds it any more. */
static struct version *finalize(struct call *c, struct version *live, const struct value *object) {
        if (!is_held(object) && value_path(object, "metadata", "deletionTimestamp", NULL))
                return write_remove(c, live, object);
        return write_store(c, live, object);
}

static void arm(struct namespaces *n, struct str name, bool is_end, int64_t delay_ms);

/* One pass over a terminating namespace. */
static void end(struct namespaces *n, struct call *c, struct str name) {
        _cleanup_(buf_done) struct buf resources = buf_make(1 << 16), finalizers = buf_make(1 << 16);
        struct left left = { .resources = resources, .finalizers = finalizers };

        aim_at(c, name);
        struct version *live = write_find(c);
        if (!live || !value_path(live->value, "metadata", "deletionTimestamp", NULL))
                return;
        delete_content(c, name, &left);
        resources = left.resources;
        finalizers = left.finalizers;
        write_conditions(c, name, &left);
        if (left.count) {
                arm(n, name, true, AGAIN_MS);
                return;
        }
        aim_at(c, name);
        live = write_find(c);
        if (live)
                version_unref(finalize(c, live, without_finalizer(live->value, c->a)));
}

/* ---- tasks ---- */

static void task_free(void *p) {
        struct task *t = p;

        loop_timer_free(t->timer);
        free(t);
}

static void on_timer(void *ctx) {
        struct task *t = ctx;
        struct namespaces *n = t->n;
        bool is_end = t->is_end;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str name = arena_str(a, str_from(t->name));
        struct sandbox_reply reply = { 0 };
        struct call c;

        map_remove(is_end ? n->end : n->fill, name);
        call_begin(&c, n->s, a, &reply, "kube-controller-manager");
        if (is_end)
                end(n, &c, name);
        else
                fill(&c, name);
        call_end(&c);
}

static void arm(struct namespaces *n, struct str name, bool is_end, int64_t delay_ms) {
        struct map *map = is_end ? n->end : n->fill;

        if (map_find(map, name))
                return;
        struct task *t = mem_zalloc(sizeof *t + name.n + 1);
        t->n = n;
        t->is_end = is_end;
        memcpy(t->name, name.p, name.n);
        t->timer = loop_timer_new(n->s->loop, on_timer, t);
        loop_timer_start(t->timer, delay_ms);
        map_set(map, name, t);
}

/* ---- requests and commits ---- */

static bool list_has(const struct value_list_builder *list, const struct value *v) {
        for (size_t i = 0; i < list->count; i++)
                if (value_equal(list->items[i], v))
                        return true;
        return false;
}

static bool has_finalizer(const struct value *object, const char *name) {
        const struct value *list = value_path(object, "metadata", "finalizers", NULL);

        for (size_t i = 0; i < value_count(list); i++)
                if (str_eqc(value_text(list->list.items[i]), name))
                        return true;
        return false;
}

/* orphanDependents: false asks for the foreground here, unlike for other kinds. */
static const struct value *with_finalizers(struct call *c, const struct value *object, const struct delete_options *o) {
        static const char *const names[] = { "orphan", "foregroundDeletion" };
        const struct value *old = value_path(object, "metadata", "finalizers", NULL);
        struct value_list_builder list = { 0 };
        bool asked = o->has_orphan || o->has_propagation;
        const bool wanted[] = { o->has_orphan ? o->orphan : str_eqc(o->propagation, "Orphan"),
                                o->has_orphan ? !o->orphan : str_eqc(o->propagation, "Foreground") };

        if (!asked || (wanted[0] == has_finalizer(object, names[0]) && wanted[1] == has_finalizer(object, names[1])))
                return object;
        for (size_t i = 0; i < value_count(old); i++) {
                struct str name = value_text(old->list.items[i]);

                if (!str_eqc(name, names[0]) && !str_eqc(name, names[1]) && !list_has(&list, old->list.items[i]))
                        value_list_add(&list, old->list.items[i]);
        }
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (wanted[i])
                        value_list_add(&list, value_stringc(c->a, names[i]));

        bool is_empty = list.count == 0;
        const struct value *finalizers = value_list_end(&list, c->a, 0);
        return meta_with(object, "finalizers", is_empty ? NULL : finalizers, c->a);
}

bool namespace_delete(struct call *c, struct version *live, const struct delete_options *o, struct version **ret) {
        static const struct str path[] = { { "status", 6 }, { "phase", 5 } };
        const struct value *object = live->value;
        struct version *v;

        if (!is_namespace(c->kind) || value_count(value_path(object, "spec", "finalizers", NULL)) == 0)
                return false;
        if (value_path(object, "metadata", "deletionTimestamp", NULL)) {
                v = version_ref(live);
        } else {
                object = with_finalizers(c, meta_with_text(object, "deletionTimestamp", c->now, c->a), o);
                v = write_store(c, live, value_with_path(c->a, object, path, 2, value_stringc(c->a, "Terminating")));
        }
        if (ret)
                *ret = v;
        else
                version_unref(v);
        return true;
}

static bool is_of_every_namespace(const struct kind *kind, const struct version *v) {
        return kind->resource->group.n == 0 && v->namespace.n &&
               ((str_eqc(kind->resource->plural, "configmaps") && str_eqc(v->name, "kube-root-ca.crt")) ||
                (str_eqc(kind->resource->plural, "serviceaccounts") && str_eqc(v->name, "default")));
}

static bool is_active(const struct namespaces *n, struct str name) {
        const struct value *v = sandbox_get(n->s, (struct str){ 0 }, plural(), (struct str){ 0 }, name);

        return v && !value_path(v, "metadata", "deletionTimestamp", NULL);
}

void namespaces_tell(struct namespaces *n, const struct kind *kind, const struct version *before,
                     const struct version *after) {
        if (is_namespace(kind) && after) {
                bool ends = value_path(after->value, "metadata", "deletionTimestamp", NULL);

                if (ends && n->s->options.keep_namespaces)
                        return;
                if (ends && !(before && value_path(before->value, "metadata", "deletionTimestamp", NULL)))
                        arm(n, after->name, true, CONTENT_MS);
                else if (!before)
                        arm(n, after->name, false, NEW_MS);
        } else if (!after && is_of_every_namespace(kind, before) && is_active(n, before->namespace)) {
                arm(n, before->namespace, false, NEW_MS);
        }
}

/* ---- life ---- */

/* The API server's own Service. */
static void make_kubernetes_service(struct call *c) {
        static const char text[] =
                "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"kubernetes\",\"namespace\":"
                "\"default\",\"labels\":{\"component\":\"apiserver\",\"provider\":\"kubernetes\"}},\"spec\":{"
                "\"clusterIP\":\"10.96.0.1\",\"type\":\"ClusterIP\",\"ports\":[{\"name\":\"https\",\"port\":443,"
                "\"protocol\":\"TCP\",\"targetPort\":6443}]}}";
        const struct value *service;

        if (json_parse(str_from(text), c->a, &service, NULL) == 0 &&
            write_aim(c, (struct str){ 0 }, STR("services"), STR("default"), STR("kubernetes")))
                write_make(c, service);
}

struct namespaces *namespaces_new(struct sandbox *s) {
        static const char *const names[] = { "kube-system", "kube-public", "kube-node-lease", "default" };
        struct namespaces *n = mem_zalloc(sizeof *n);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct sandbox_reply reply = { 0 };
        struct call c;

        n->s = s;
        n->fill = map_new(task_free);
        n->end = map_new(task_free);
        call_begin(&c, s, a, &reply, "kube-apiserver");
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                aim_at(&c, str_from(names[i]));
                write_make(&c, named(a, "v1", "Namespace", (struct str){ 0 }, names[i]));
                arm(n, str_from(names[i]), false, NEW_MS);
        }
        make_kubernetes_service(&c);
        call_end(&c);
        return n;
}

void namespaces_reset(struct namespaces *n) {
        map_free(n->fill);
        map_free(n->end);
        n->fill = map_new(task_free);
        n->end = map_new(task_free);
}

void namespaces_free(struct namespaces *n) {
        if (!n)
                return;
        map_free(n->fill);
        map_free(n->end);
        free(n);
}

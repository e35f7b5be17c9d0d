/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `truce adopt` reads for itself: how the applications, Kustomizations and releases stand that track Git's objects,
 * and what they track beside those. Their own inventories are read where they have one; and the kinds that Git holds are
 * listed in the namespaces in which it holds them.
 */
#include "cli/adopt_impl.h"

#include "base/json.h"
#include "kube/list.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

struct reading {
        struct adopt_report *report;
        struct loop *loop;
        struct kube_client *client;
        bool pending;             /* a read is under way */
        struct err err;           /* of the last read */
        const struct value *got;  /* by the last GET; in the report's arena */
        const struct kube_resource *resource; /* that is listed */
        const struct app *app;
};

static const struct kube_discovery *discovery_of(const struct reading *r) {
        return cluster_discovery(agent_cluster(r->report->agent));
}

/* The agent, which still watches, may stop the loop as well. False: the time is over. */
static bool await(struct reading *r) {
        r->pending = true;
        while (r->pending && !*r->report->stop)
                loop_run(r->loop);
        return !r->pending;
}

/* --- how a tracker stands --------------------------------------------------------------------------------------- */

static void on_got(void *ctx, const struct kube_result *result) {
        struct reading *r = ctx;

        r->pending = false;
        r->err = result->err;
        r->got = NULL;
        if (result->err.code == 0)
                r->err.code = json_parse(result->body, r->report->arena, &r->got, &r->err);
        loop_stop(r->loop);
}

/* NULL when there is none, or it cannot be read: then the state is set. */
static const struct value *read_tracker(struct reading *r, struct adopt_tracker *t, const char *group, const char *kind,
                                        struct str ns, struct str name) {
        const struct kube_resource *k = kube_discovery_find_kind(discovery_of(r), str_from(group), str_from(kind));
        struct kube_location at;

        t->state = ADOPT_GONE;
        if (!k) {
                t->note = arena_strf(r->report->arena, "gone: the cluster serves no %s", kind);
                return NULL;
        }
        if (!name.n || (k->namespaced && !ns.n)) {
                t->state = ADOPT_UNREAD;
                t->note = arena_strf(r->report->arena, "cannot be looked up: its mark names no %s",
                                     name.n ? "namespace" : "name");
                return NULL;
        }
        at = kube_resource_location(k, ns, name);
        struct kube_op *get = kube_client_get(r->client, &at, 0, on_got, r);
        if (!await(r)) {
                kube_op_cancel(get);
                err_set(&r->err, ERR_TIMEOUT, "the time is over");
        }
        if (r->err.code == ERR_NOTFOUND) {
                t->note = arena_strf(r->report->arena, "gone: there is no %s %.*s/%.*s", kind, STR_FMT(ns), STR_FMT(name));
                return NULL;
        }
        if (r->err.code) {
                t->state = ADOPT_UNREAD;
                t->note = arena_strf(r->report->arena, "cannot be read: %s", r->err.msg);
                return NULL;
        }
        return r->got;
}

static bool has_finalizers(const struct value *o) {
        return value_count(value_path(o, "metadata", "finalizers", NULL)) > 0;
}

/* Who writes it anew: an ApplicationSet, another application. Then a change of it does not last. */
static struct str maker_of(const struct value *o, struct arena *a) {
        const struct value *owners = value_path(o, "metadata", "ownerReferences", NULL);
        const struct value *annotations = value_path(o, "metadata", "annotations", NULL);
        struct str flux = value_text(value_getc(value_path(o, "metadata", "labels", NULL), "kustomize.toolkit.fluxcd.io/name"));
        struct tracking_id id;

        if (value_is(owners, VALUE_LIST) && owners->list.count)
                return arena_strf(a, "%.*s %.*s", STR_FMT(value_text(value_getc(owners->list.items[0], "kind"))),
                                  STR_FMT(value_text(value_getc(owners->list.items[0], "name"))));
        if (tracking_id_split(value_text(value_getc(annotations, TRACKING_ANNOTATION)), &id))
                return arena_strf(a, "application %.*s", STR_FMT(id.app));
        return flux.n ? arena_strf(a, "Kustomization %.*s", STR_FMT(flux)) : STR("");
}

static void add_note(struct reading *r, struct adopt_tracker *t, const struct value *o, const char *how) {
        struct str maker = maker_of(o, r->report->arena);

        t->note = arena_strf(r->report->arena, "%s%s%.*s%s", how, maker.n ? "; made by " : "", STR_FMT(maker),
                             maker.n ? ", which would undo changes of it: make them there" : "");
}

static void add_resource(struct reading *r, struct adopt_tracker *t, struct str group, struct str kind, struct str ns,
                         struct str name) {
        const struct kube_resource *k = kube_discovery_find_kind(discovery_of(r), group, kind);
        struct str where = k && !k->namespaced ? STR("") : ns;

        if (name.n && !adopt_is_desired(r->report, group, kind, where, name))
                adopt_add_extra(r->report, t, group, kind, where, name);
}

static void read_argocd(struct reading *r, struct adopt_tracker *t) {
        struct str ns = r->report->control_ns, name = t->who.app;
        ptrdiff_t cut = str_find(name, '_', 0);
        const struct value *o, *automated, *resources;

        if (cut > 0) { /* "<namespace>_<name>" */
                ns = str_sub(name, 0, (size_t)cut);
                name = str_sub(name, (size_t)cut + 1, name.n);
        }
        t->who.ns = arena_str(r->report->arena, ns);
        t->who.name = arena_str(r->report->arena, name);
        o = read_tracker(r, t, "argoproj.io", "Application", ns, name);
        if (!o)
                return;
        automated = value_path(o, "spec", "syncPolicy", "automated", NULL);
        t->state = automated && value_truth(value_getc(automated, "enabled"), true) ? ADOPT_LIVE : ADOPT_SUSPENDED;
        t->self_heals = value_truth(value_getc(automated, "selfHeal"), false);
        t->prunes = value_truth(value_getc(automated, "prune"), false);
        t->has_finalizer = has_finalizers(o);
        add_note(r, t, o, t->state == ADOPT_SUSPENDED ? "there, syncs by hand only"
                          : t->self_heals             ? "there, syncs by itself and heals"
                                                      : "there, syncs by itself");
        resources = value_path(o, "status", "resources", NULL);
        for (size_t i = 0; value_is(resources, VALUE_LIST) && i < resources->list.count; i++) {
                const struct value *x = resources->list.items[i];

                add_resource(r, t, value_text(value_getc(x, "group")), value_text(value_getc(x, "kind")),
                             value_text(value_getc(x, "namespace")), value_text(value_getc(x, "name")));
        }
}

/* An entry of Flux's inventory: "namespace_name_group_Kind"; "__" in a name stands for ":". */
static void add_flux_entry(struct reading *r, struct adopt_tracker *t, struct str id) {
        struct str part[4];
        size_t end = id.n;

        for (size_t i = 4; i > 1; i--) {
                size_t from = end;

                while (from > 0 && id.p[from - 1] != '_')
                        from--;
                if (!from)
                        return;
                part[i - 1] = str_sub(id, from, end);
                end = from - 1;
        }
        part[0] = str_sub(id, 0, end);
        add_resource(r, t, part[2], part[3], part[0], part[1]);
}

static void read_flux(struct reading *r, struct adopt_tracker *t, const char *group, const char *kind) {
        const struct value *o = read_tracker(r, t, group, kind, t->who.ns, t->who.name);
        const struct value *entries = value_path(o, "status", "inventory", "entries", NULL);

        if (!o)
                return;
        t->state = value_truth(value_path(o, "spec", "suspend", NULL), false) ? ADOPT_SUSPENDED : ADOPT_LIVE;
        t->prunes = value_truth(value_path(o, "spec", "prune", NULL), false);
        t->has_finalizer = has_finalizers(o);
        add_note(r, t, o, t->state == ADOPT_SUSPENDED ? "there, suspended" : "there, applies by force at each interval");
        for (size_t i = 0; value_is(entries, VALUE_LIST) && i < entries->list.count; i++)
                add_flux_entry(r, t, value_text(value_getc(entries->list.items[i], "id")));
}

static void read_state(struct reading *r, struct adopt_tracker *t) {
        const char *tool = t->who.tool ? t->who.tool : "";

        if (strcmp(tool, "Argo CD application") == 0)
                read_argocd(r, t);
        else if (strcmp(tool, "Flux Kustomization") == 0)
                read_flux(r, t, "kustomize.toolkit.fluxcd.io", "Kustomization");
        else if (strcmp(tool, "Flux HelmRelease") == 0)
                read_flux(r, t, "helm.toolkit.fluxcd.io", "HelmRelease");
        else if (strcmp(tool, "Helm release") == 0)
                t->note = STR("writes at helm upgrade only");
        else if (!t->who.tool)
                t->note = STR("writes when somebody runs it");
        else
                t->note = STR("how it stands is not looked at");
}

/* --- what they have that Git does not --------------------------------------------------------------------------- */

static bool has_controller(const struct value *o) {
        const struct value *owners = value_path(o, "metadata", "ownerReferences", NULL);

        for (size_t i = 0; value_is(owners, VALUE_LIST) && i < owners->list.count; i++)
                if (value_truth(value_getc(owners->list.items[i], "controller"), false))
                        return true;
        return false;
}

/* Only trackers that have a part of Git's objects; kubectl's in a namespace of Git's. */
static struct adopt_tracker *tracker_of_item(const struct reading *r, const struct value *item) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct tracking t = app_tracking(r->app);
        struct tracker who;
        struct str words;

        tracking_read(&t, item, NULL, a, &who);
        words = who.owner;
        if (who.kind == TRACKER_NONE && r->resource->namespaced &&
            value_getc(value_path(item, "metadata", "annotations", NULL), LAST_APPLIED))
                words = STR("kubectl apply");
        for (size_t i = 0; i < r->report->tracker_count; i++)
                if (words.n && str_eq(r->report->trackers[i]->words, words))
                        return r->report->trackers[i];
        return NULL;
}

static int on_item(void *ctx, struct str object, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct reading *r = ctx;
        const struct kube_resource *k = r->resource;
        const struct value *v;
        int res = json_parse(object, a, &v, err);

        if (res < 0)
                return res;
        struct str ns = value_text(value_path(v, "metadata", "namespace", NULL));
        struct str name = value_text(value_path(v, "metadata", "name", NULL));

        v = value_with(a, v, STR("kind"), value_string(a, k->kind, 0));
        v = value_with(a, v, STR("apiVersion"),
                       value_string(a, k->group.n ? arena_strf(a, "%.*s/%.*s", STR_FMT(k->group), STR_FMT(k->version))
                                                  : k->version, 0));
        struct adopt_tracker *t = has_controller(v) ? NULL : tracker_of_item(r, v);
        if (t && !adopt_is_desired(r->report, k->group, k->kind, ns, name))
                adopt_add_extra(r->report, t, k->group, k->kind, ns, name);
        return 0;
}

static void on_listed(void *ctx, struct str rv, const struct kube_status *status, const struct err *err) {
        struct reading *r = ctx;

        (void)rv;
        (void)status;
        r->pending = false;
        r->err = err ? *err : (struct err){ 0 };
        loop_stop(r->loop);
}

static void list(struct reading *r, const struct kube_resource *k, struct str ns) {
        static const struct kube_list_handler handler = { on_item, NULL, on_listed };
        struct kube_list_spec spec = { .at = kube_resource_location(k, ns, STR("")) };

        r->resource = k;
        struct kube_list *l = kube_list_start(r->client, &spec, &handler, r);
        if (!await(r)) {
                kube_list_cancel(l);
                err_set(&r->err, ERR_TIMEOUT, "the time is over");
        }
        r->report->listed += r->err.code == 0;
        if (!r->err.code)
                return;
        r->report->unread = arena_strf(r->report->arena, "%.*s%s%.*s", STR_FMT(r->report->unread),
                                       r->report->unread.n ? ", " : "", STR_FMT(k->kind));
}

/* Each kind and namespace of Git's once. */
static void list_all(struct reading *r) {
        struct map *done = map_new(NULL);

        for (size_t i = 0; i < r->report->count; i++) {
                const struct adopt_object *o = r->report->objects[i];
                _cleanup_(buf_done) struct buf key = buf_make(64 * 1024);
                const struct kube_resource *k = kube_discovery_find_kind(discovery_of(r), o->group, o->kind);

                buf_addf(&key, "%.*s/%.*s/%.*s", STR_FMT(o->group), STR_FMT(o->kind), STR_FMT(o->ns));
                if (!k || !(k->verbs & KUBE_VERB_LIST) || map_find(done, buf_str(&key)))
                        continue;
                map_set(done, buf_str(&key), done);
                r->app = o->app;
                list(r, k, o->ns);
        }
        map_free(done);
}

/* The application whose objects it tracks: its namespace is where Argo CD's of that name is looked for. */
static const struct app *app_of(const struct adopt_report *r, const struct adopt_tracker *t) {
        for (size_t i = 0; i < r->count; i++)
                if (adopt_is_tracked(r->objects[i], t))
                        return r->objects[i]->app;
        return r->objects[0]->app;
}

void adopt_read_cluster(struct adopt_report *report, struct loop *loop, struct kube_transport *transport) {
        struct reading r = { .report = report, .loop = loop };

        if (!report->count || !discovery_of(&r))
                return;
        r.client = kube_client_new(transport, loop);
        for (size_t i = 0; i < report->tracker_count; i++) {
                r.app = app_of(report, report->trackers[i]);
                read_state(&r, report->trackers[i]);
        }
        list_all(&r);
        kube_client_free(r.client);
}

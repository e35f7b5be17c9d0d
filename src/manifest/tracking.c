/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/tracking.h"

/* Marks of other tools: the key that is evidence, and where the owner's name and namespace stand. */
struct mark {
        bool label;            /* else an annotation; name and namespace likewise */
        const char *key;
        const char *value;     /* NULL: any */
        const char *name_key;  /* NULL: nameless */
        const char *ns_key;    /* NULL: none */
        const char *what;
        enum tracker_kind kind;
        const char *also;      /* its key of a mark below that it sets as well, which then tells nothing more */
};

static const struct mark marks[] = {
        { true, "argocd.argoproj.io/instance", NULL, "argocd.argoproj.io/instance", NULL, "Argo CD application",
          TRACKER_ARGOCD },
        { true, "kustomize.toolkit.fluxcd.io/name", NULL, "kustomize.toolkit.fluxcd.io/name",
          "kustomize.toolkit.fluxcd.io/namespace", "Flux Kustomization", TRACKER_OTHER_TOOL },
        { true, "helm.toolkit.fluxcd.io/name", NULL, "helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace",
          "Flux HelmRelease", TRACKER_OTHER_TOOL, "meta.helm.sh/release-name" },
        { false, "meta.helm.sh/release-name", NULL, "meta.helm.sh/release-name", "meta.helm.sh/release-namespace",
          "Helm release", TRACKER_OTHER_TOOL },
        { true, "kapp.k14s.io/app", NULL, "kapp.k14s.io/app", NULL, "kapp application", TRACKER_OTHER_TOOL },
        { false, "configmanagement.gke.io/managed", "enabled", "configsync.gke.io/manager", NULL,
          "Config Sync manager", TRACKER_OTHER_TOOL },
        { false, "config.k8s.io/owning-inventory", NULL, "config.k8s.io/owning-inventory", NULL, "kpt inventory",
          TRACKER_OTHER_TOOL },
        { true, "kluctl.io/discriminator", NULL, "kluctl.io/discriminator", NULL, "kluctl deployment",
          TRACKER_OTHER_TOOL },
        { false, "objectset.rio.cattle.io/id", NULL, "objectset.rio.cattle.io/id", NULL, "Rancher object set",
          TRACKER_OTHER_TOOL },
        { false, "gitops-agent.argoproj.io/gc-mark", NULL, NULL, NULL, "GitOps agent", TRACKER_OTHER_TOOL },
        { true, "olm.managed", "true", "olm.owner", NULL, "Operator Lifecycle Manager", TRACKER_OTHER_TOOL },
        { true, "addonmanager.kubernetes.io/mode", "Reconcile", NULL, NULL, "the cluster's addon manager",
          TRACKER_OTHER_TOOL },
};

bool tracking_id_split(struct str text, struct tracking_id *ret_id) {
        ptrdiff_t app = str_find(text, ':', 0), type = app < 0 ? -1 : str_find(text, ':', (size_t)app + 1);
        struct str kind, object;
        ptrdiff_t slash, slash2;

        if (app <= 0 || type < 0)
                return false;
        kind = str_sub(text, (size_t)app + 1, (size_t)type);
        object = str_sub(text, (size_t)type + 1, text.n);
        slash = str_find(kind, '/', 0);
        slash2 = str_find(object, '/', 0);
        if (slash < 0 || slash2 < 0 || (size_t)slash + 1 >= kind.n || (size_t)slash2 + 1 >= object.n)
                return false;

        *ret_id = (struct tracking_id){
                .app = str_sub(text, 0, (size_t)app),
                .group = str_sub(kind, 0, (size_t)slash),
                .kind = str_sub(kind, (size_t)slash + 1, kind.n),
                .ns = str_sub(object, 0, (size_t)slash2),
                .name = str_sub(object, (size_t)slash2 + 1, object.n),
        };
        return true;
}

struct str tracking_id_make(const struct tracking *t, struct str group, struct str kind, struct str ns, struct str name,
                            struct arena *a) {
        struct str where = ns.n ? ns : t->destination_namespace;

        return arena_strf(a, "%.*s:%.*s/%.*s:%.*s/%.*s", STR_FMT(t->app), STR_FMT(group), STR_FMT(kind), STR_FMT(where),
                          STR_FMT(name));
}

/* What identifies the object that carries the marks. */
static struct tracking_id identity(const struct value *object) {
        struct str api = value_text(value_getc(object, "apiVersion"));
        ptrdiff_t slash = str_find(api, '/', 0);

        return (struct tracking_id){
                .group = str_sub(api, 0, slash < 0 ? 0 : (size_t)slash),
                .kind = value_text(value_getc(object, "kind")),
                .ns = value_text(value_path(object, "metadata", "namespace", NULL)),
                .name = value_text(value_path(object, "metadata", "name", NULL)),
        };
}

const struct value *tracking_mark(const struct tracking *t, const struct value *object, struct arena *a) {
        static const struct str annotation[] = { { "metadata", 8 }, { "annotations", 11 },
                                                 { TRACKING_ANNOTATION, sizeof(TRACKING_ANNOTATION) - 1 } };
        static const struct str label[] = { { "metadata", 8 }, { "labels", 6 },
                                            { TRACKING_LABEL, sizeof(TRACKING_LABEL) - 1 } };
        struct tracking_id me = identity(object);
        struct str id = tracking_id_make(t, me.group, me.kind, me.ns, me.name, a);

        object = value_with_path(a, object, annotation, ARRAY_LEN(annotation), value_string(a, id, 0));
        return value_with_path(a, object, label, ARRAY_LEN(label), value_string(a, t->installation, 0));
}

/* Does the id describe its carrier? For one without a namespace it holds the destination's, whatever that is. */
static bool describes(const struct tracking_id *id, const struct tracking_id *me) {
        return str_eq(id->group, me->group) && str_eq(id->kind, me->kind) && str_eq(id->name, me->name) &&
               (me->ns.n == 0 || str_eq(id->ns, me->ns));
}

static struct str annotation_of(const struct value *object, const char *key) {
        return value_text(value_getc(value_path(object, "metadata", "annotations", NULL), key));
}

static struct str label_of(const struct value *object, const char *key) {
        return value_text(value_getc(value_path(object, "metadata", "labels", NULL), key));
}

static struct str mark_of(const struct value *object, const struct mark *m, const char *key) {
        if (!key)
                return (struct str){ 0 };
        return m->label ? label_of(object, key) : annotation_of(object, key);
}

static bool has_mark(const struct value *object, const struct mark *m) {
        struct str value = mark_of(object, m, m->key);

        return value.n > 0 && (!m->value || str_eqc(value, m->value));
}

static struct str owner_name(const struct mark *m, struct str ns, struct str name, struct arena *a) {
        if (name.n == 0)
                return arena_str(a, str_from(m->what));
        return arena_strf(a, "%s \"%.*s%s%.*s\"", m->what, STR_FMT(ns), ns.n ? "/" : "", STR_FMT(name));
}

static struct tracker tracker_by(const struct tracking *t, const struct value *live, const struct mark *m, struct arena *a) {
        struct str name = arena_str(a, mark_of(live, m, m->name_key)), ns = arena_str(a, mark_of(live, m, m->ns_key));
        bool argocd = m->kind == TRACKER_ARGOCD;

        return (struct tracker){
                .kind = m->kind,
                .same_app = argocd && str_eq(name, t->app),
                .app = argocd ? name : (struct str){ 0 },
                .owner = owner_name(m, ns, name, a),
                .tool = m->what,
                .name = name,
                .ns = ns,
                .mark = m->key,
                .ns_mark = m->ns_key,
                .mark_is_label = m->label,
        };
}

/* Is it the same one as an earlier mark has told, or a part of that? */
static bool is_told(const struct tracker *first, const struct tracker *who, const char *also) {
        if (also && strcmp(also, who->mark) == 0)
                return true;
        for (const struct tracker *x = first; x; x = x->next)
                if (str_eq(x->owner, who->owner) || (x->kind == TRACKER_ARGOCD && who->kind == x->kind && str_eq(x->app, who->app)))
                        return true;
        return false;
}

/* Behind `ret`, which may be one of Argo CD's already: an object may have several masters. */
static void read_other_tools(const struct tracking *t, const struct value *live, const struct value *desired,
                             struct arena *a, struct tracker *ret) {
        struct tracker *last = ret;
        const char *also = NULL;

        for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
                const struct mark *m = &marks[i];
                struct tracker who, *next;

                if (!has_mark(live, m) || (has_mark(desired, m) && str_eq(mark_of(live, m, m->key),
                                                                          mark_of(desired, m, m->key))))
                        continue;
                who = tracker_by(t, live, m, a);
                if (ret->kind == TRACKER_NONE) {
                        *ret = who;
                } else if (!is_told(ret, &who, also)) {
                        next = arena_alloc(a, sizeof *next);
                        *next = who;
                        last->next = next;
                        last = next;
                }
                also = m->also ? m->also : also;
        }
}

static void read_id(const struct tracking *t, const struct value *live, const struct tracking_id *id, struct arena *a,
                    struct tracker *ret) {
        struct str label = label_of(live, TRACKING_LABEL);
        struct str argocd = annotation_of(live, TRACKING_ARGOCD_INSTALLATION);

        ret->app = arena_str(a, id->app);
        ret->same_app = str_eq(id->app, t->app);
        if (label.n == 0) {
                ret->kind = TRACKER_ARGOCD;
                ret->tool = "Argo CD application";
                ret->name = ret->app;
                ret->mark = TRACKING_ANNOTATION;
                ret->owner = arena_strf(a, "Argo CD application \"%.*s\"%s%.*s%s", STR_FMT(id->app),
                                        argocd.n ? " of installation \"" : "", STR_FMT(argocd), argocd.n ? "\"" : "");
        } else if (!str_eq(label, t->installation)) {
                ret->kind = TRACKER_OTHER_INSTALLATION;
                ret->owner = arena_strf(a, "application \"%.*s\" of truce installation \"%.*s\"", STR_FMT(id->app),
                                        STR_FMT(label));
        } else if (ret->same_app) {
                ret->kind = TRACKER_OURS;
        } else {
                ret->kind = TRACKER_OUR_OTHER_APP;
                ret->owner = arena_strf(a, "application \"%.*s\"", STR_FMT(id->app));
        }
}

void tracking_read(const struct tracking *t, const struct value *live, const struct value *desired, struct arena *a,
                   struct tracker *ret_tracker) {
        struct tracking_id id, me = identity(live);
        struct str label = label_of(live, TRACKING_LABEL);

        *ret_tracker = (struct tracker){ 0 };
        if (tracking_id_split(annotation_of(live, TRACKING_ANNOTATION), &id) && describes(&id, &me)) {
                read_id(t, live, &id, a, ret_tracker);
                if (ret_tracker->kind == TRACKER_ARGOCD)
                        read_other_tools(t, live, desired, a, ret_tracker);
                return;
        }
        if (label.n > 0 && !str_eq(label, t->installation)) {
                ret_tracker->kind = TRACKER_OTHER_INSTALLATION;
                ret_tracker->owner = arena_strf(a, "truce installation \"%.*s\"", STR_FMT(label));
                return;
        }
        read_other_tools(t, live, desired, a, ret_tracker);
}

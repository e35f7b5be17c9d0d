/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How each deployer lets go of its objects without their values moving, in the order in which it is to be done. The facts:
 * an Application without finalizers, a suspended Kustomization and a suspended HelmRelease leave their objects when they
 * are deleted; a Helm release is a Secret with labels; nothing restarts because a mark on the workload itself goes.
 */
#include "cli/adopt_impl.h"

#include "diff/title.h"

#define COMMAND_MAX_BYTES (256 * 1024)
#define TITLE_MAX_BYTES 4096
#define OBJECTS_AT_ONCE 50 /* in one command */

struct stepping {
        struct adopt_report *report;
        struct adopt_tracker *tracker;
};

static void add(struct stepping *s, struct str text, struct str command) {
        struct adopt_tracker *t = s->tracker;

        t->steps = mem_grow(t->steps, &t->step_cap, t->step_count + 1, sizeof *t->steps);
        t->steps[t->step_count++] = (struct adopt_step){ arena_str(s->report->arena, text),
                                                         arena_str(s->report->arena, command) };
}

/* What stands in a mark is anybody's text, and the command is there to be pasted. */
static struct str word(const struct stepping *s, struct str text) {
        _cleanup_(buf_done) struct buf b = buf_make(COMMAND_MAX_BYTES);
        bool plain = text.n > 0;

        for (size_t i = 0; i < text.n; i++)
                plain &= strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:/", text.p[i]) && text.p[i];
        if (plain && text.p[0] != '-')
                return text;
        buf_addch(&b, '\'');
        for (size_t i = 0; i < text.n; i++) {
                if (text.p[i] == '\'')
                        buf_addc(&b, "'\\'");
                buf_addch(&b, text.p[i]);
        }
        buf_addch(&b, '\'');
        return arena_str(s->report->arena, buf_str(&b));
}

static struct str merge_patch(struct stepping *s, const char *kind, const char *patch) {
        const struct tracker *who = &s->tracker->who;

        if (!who->name.n || !who->ns.n)
                return STR("");
        return arena_strf(s->report->arena, "kubectl patch %s %.*s -n %.*s --type=merge -p '%s'", kind,
                          STR_FMT(word(s, who->name)), STR_FMT(word(s, who->ns)), patch);
}

static struct str deletion(struct stepping *s, const char *kind) {
        const struct tracker *who = &s->tracker->who;

        if (!who->name.n || !who->ns.n)
                return STR("");
        return arena_strf(s->report->arena, "kubectl delete %s %.*s -n %.*s", kind, STR_FMT(word(s, who->name)),
                          STR_FMT(word(s, who->ns)));
}

/* --- marks ------------------------------------------------------------------------------------------------------ */

/* An object as kubectl takes it: "deploy/web". */
static struct str title_word(struct stepping *s, const struct adopt_object *o) {
        _cleanup_(buf_done) struct buf b = buf_make(TITLE_MAX_BYTES);

        diff_title(o->group, o->kind, o->name, true, &b);
        return word(s, arena_str(s->report->arena, buf_str(&b)));
}

struct lifting {
        const char *verb, *first, *second; /* second: one more key, or NULL */
        const char *text;
        struct buf titles;                 /* of the objects of the command that is being made */
        size_t count;
};

static void end_command(struct stepping *s, struct lifting *l, struct str ns) {
        struct arena *a = s->report->arena;

        if (!l->count)
                return;
        struct str where = ns.n ? arena_strf(a, " -n %.*s", STR_FMT(word(s, ns))) : STR("");
        add(s, str_from(l->text),
            arena_strf(a, "kubectl %s%.*s%.*s %s-%s%s%s", l->verb, STR_FMT(buf_str(&l->titles)), STR_FMT(where), l->first,
                       l->second ? " " : "", l->second ? l->second : "", l->second ? "-" : ""));
        l->text = "likewise";
        l->count = 0;
        buf_clear(&l->titles);
}

static void lift_in(struct stepping *s, struct lifting *l, struct str ns) {
        for (size_t i = 0; i < s->report->count; i++) {
                const struct adopt_object *o = s->report->objects[i];

                if (!adopt_is_tracked(o, s->tracker) || !str_eq(o->ns, ns))
                        continue;
                buf_addf(&l->titles, " %.*s", STR_FMT(title_word(s, o)));
                if (++l->count == OBJECTS_AT_ONCE)
                        end_command(s, l, ns);
        }
        end_command(s, l, ns);
}

/* kubectl takes objects of one namespace at a time. */
static void add_lifting(struct stepping *s, const char *verb, const char *first, const char *second, const char *text) {
        struct lifting l = { verb, first, second, text, buf_make(OBJECTS_AT_ONCE * TITLE_MAX_BYTES), 0 };
        struct map *done = map_new(NULL);

        for (size_t i = 0; i < s->report->count; i++) {
                const struct adopt_object *o = s->report->objects[i];
                struct str key = arena_strf(s->report->arena, "ns %.*s", STR_FMT(o->ns));

                if (!adopt_is_tracked(o, s->tracker) || map_find(done, key))
                        continue;
                map_set(done, key, done);
                lift_in(s, &l, o->ns);
        }
        map_free(done);
        buf_done(&l.titles);
}

static void lift_mark(struct stepping *s, const char *text) {
        const struct tracker *who = &s->tracker->who;

        add_lifting(s, who->mark_is_label ? "label" : "annotate", who->mark, who->ns_mark, text);
}

/* --- what is shared after it ------------------------------------------------------------------------------------ */

/* In single quotes a name is itself, but for a quote. */
static struct str rule_for(const struct stepping *s, struct str manager) {
        _cleanup_(buf_done) struct buf b = buf_make(COMMAND_MAX_BYTES);

        buf_addc(&b, "- {manager: '");
        for (size_t i = 0; i < manager.n; i++) {
                if (manager.p[i] == '\'')
                        buf_addch(&b, '\'');
                buf_addch(&b, manager.p[i]);
        }
        buf_addc(&b, "', action: take}");
        return arena_str(s->report->arena, buf_str(&b));
}

/* What Git removes later would stay, as the deployer goes on owning what it applied. */
static void add_rule_for_shared(struct stepping *s) {
        struct map *told = map_new(NULL);

        for (size_t i = 0; i < s->report->count; i++) {
                const struct adopt_object *o = s->report->objects[i];

                for (size_t k = 0; adopt_is_tracked(o, s->tracker) && k < o->applier_count; k++) {
                        struct str manager = o->appliers[k];

                        if (map_find(told, manager))
                                continue;
                        map_set(told, manager, told);
                        add(s, arena_strf(s->report->arena, "say that Git has the last word over what %.*s applied (Agent "
                                          "document, spec.ownership.rules)", STR_FMT(manager)), rule_for(s, manager));
                }
        }
        map_free(told);
}

static void add_sync(struct stepping *s, const char *flag) {
        add(s, STR("look once more, then take the objects on: nothing restarts unless a value above changes"),
            arena_strf(s->report->arena, "truce diff%s … && truce sync%s …", flag, flag));
}

/* --- deployers -------------------------------------------------------------------------------------------------- */

static void argocd_steps(struct stepping *s) {
        const struct adopt_tracker *t = s->tracker;

        if (t->state == ADOPT_LIVE)
                add(s, STR("stop its writes; nothing in the cluster changes by this"),
                    merge_patch(s, "application.argoproj.io", "{\"spec\":{\"syncPolicy\":{\"automated\":null}}}"));
        if (t->state == ADOPT_UNREAD)
                add(s, STR("make sure that it does not sync by itself"), STR(""));
        if (t->who.same_app)
                add(s, STR("let truce take over what it tracks: in the Agent document, or as the flag --adopt-argocd"),
                    STR("spec: {adoptArgoCD: true}"));
        else
                lift_mark(s, "call truce's application by the same name (and set adoptArgoCD), or lift its mark");
        add_sync(s, t->who.same_app ? " --adopt-argocd" : "");
        if (t->state == ADOPT_GONE)
                return;
        if (t->has_finalizer || t->state == ADOPT_UNREAD)
                add(s, STR("take its finalizers away, or deleting it would delete the objects"),
                    merge_patch(s, "application.argoproj.io", "{\"metadata\":{\"finalizers\":null}}"));
        add(s, STR("delete the application alone"), deletion(s, "application.argoproj.io"));
}

static void flux_steps(struct stepping *s, const char *kind, bool helm) {
        const struct adopt_tracker *t = s->tracker;

        if (t->state == ADOPT_LIVE)
                add(s, STR("suspend it; nothing in the cluster changes by this"),
                    merge_patch(s, kind, "{\"spec\":{\"suspend\":true}}"));
        if (t->state == ADOPT_UNREAD)
                add(s, STR("make sure that it is suspended"), STR(""));
        add_rule_for_shared(s);
        lift_mark(s, "lift its mark");
        if (helm)
                add_lifting(s, "annotate", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace",
                            "and Helm's beside it");
        add_sync(s, "");
        if (t->state != ADOPT_GONE)
                add(s, STR("delete it: while it is suspended it leaves its objects"), deletion(s, kind));
}

static void helm_steps(struct stepping *s) {
        const struct tracker *who = &s->tracker->who;

        add(s, STR("stop what runs helm upgrade for this release"), STR(""));
        add_rule_for_shared(s);
        lift_mark(s, "lift its mark");
        add_sync(s, "");
        add(s, STR("let Helm forget the release; helm uninstall would delete the objects"),
            who->ns.n ? arena_strf(s->report->arena, "kubectl delete secret -n %.*s -l owner=helm,name=%.*s",
                                   STR_FMT(word(s, who->ns)), STR_FMT(word(s, who->name)))
                      : STR(""));
}

static void kubectl_steps(struct stepping *s) {
        add(s, STR("stop what runs kubectl apply; its part of the objects is superseded by the first sync"), STR(""));
        add_sync(s, "");
}

static void other_steps(struct stepping *s) {
        add(s, STR("make sure that it no longer writes"), STR(""));
        lift_mark(s, "lift its mark");
        add_sync(s, "");
}

static void steps_of(struct stepping *s) {
        const char *tool = s->tracker->who.tool;

        if (!tool)
                kubectl_steps(s);
        else if (strcmp(tool, "Argo CD application") == 0)
                argocd_steps(s);
        else if (strcmp(tool, "Flux Kustomization") == 0)
                flux_steps(s, "kustomization.kustomize.toolkit.fluxcd.io", false);
        else if (strcmp(tool, "Flux HelmRelease") == 0)
                flux_steps(s, "helmrelease.helm.toolkit.fluxcd.io", true);
        else if (strcmp(tool, "Helm release") == 0)
                helm_steps(s);
        else
                other_steps(s);
}

void adopt_find_steps(struct adopt_report *r) {
        for (size_t i = 0; i < r->tracker_count; i++) {
                struct stepping s = { r, r->trackers[i] };

                steps_of(&s);
        }
}

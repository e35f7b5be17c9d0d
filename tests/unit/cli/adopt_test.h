/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report of `truce adopt` that has each kind of object, matter, path and tracker, over an agent with one application: for
 * the tests of how it is shown.
 */
#ifndef TRUCE_TEST_ADOPT_H
#define TRUCE_TEST_ADOPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/world.h"
#include "cli/adopt_impl.h"

static struct world w;
static struct arena *a;
static struct buf out;
static struct adopt_report r;

static int setup(void **state) {
        (void)state;
        begin(&w, CM("a", "1"));
        a = arena_new(0);
        out = buf_make(MIB);
        r = (struct adopt_report){ .arena = a, .agent = w.agent };
        return 0;
}

static int teardown(void **state) {
        (void)state;
        end(&w);
        buf_done(&out);
        arena_free(a);
        return 0;
}

static const struct value *of(const char *json) {
        const struct value *v;

        assert_int_equal(json_parse(arena_str(a, str_from(json)), a, &v, NULL), 0);
        return v;
}

static struct adopt_object *add_object(const char *kind, const char *ns, const char *name, enum adopt_fate fate) {
        struct adopt_object *o = arena_zalloc(a, sizeof *o);
        struct adopt_object **grown = arena_alloc(a, (r.count + 1) * sizeof *grown);

        *o = (struct adopt_object){ .app = agent_app(w.agent, 0), .kind = str_from(kind), .ns = str_from(ns),
                                    .name = str_from(name), .fate = fate };
        if (r.count)
                memcpy(grown, r.objects, r.count * sizeof *grown);
        grown[r.count++] = o;
        r.objects = grown;
        return o;
}

static struct adopt_tracker *add_tracker(const char *words) {
        struct adopt_tracker *t = arena_zalloc(a, sizeof *t);
        struct adopt_tracker **grown = arena_alloc(a, (r.tracker_count + 1) * sizeof *grown);

        t->words = str_from(words);
        if (r.tracker_count)
                memcpy(grown, r.trackers, r.tracker_count * sizeof *grown);
        grown[r.tracker_count++] = t;
        r.trackers = grown;
        return t;
}

/* A Deployment that Argo CD has, about which there is everything to say. */
static struct adopt_object *add_web(void) {
        static struct adopt_matter matters[9];
        static const struct adopt_share shares[] = {
                { HAND_CHANGES, STR("kubectl-client-side-apply"), STR("Update"), STR(""), 14 },
                { HAND_CHANGES, STR("helm"), STR("Update"), STR(""), 2 },
                { HAND_SHARED, STR("argocd-controller"), STR("Apply"), STR(""), 3 },
                { HAND_STAYS, STR("kube-controller-manager"), STR("Update"), STR("scale"), 1 },
                { HAND_OURS, STR(""), STR(""), STR(""), 4 },
        };
        static const struct adopt_path paths[] = {
                { STR("spec.image"), STR(".spec.image"), HAND_CHANGES, STR("helm"), STR(""), false },
                { STR("spec.new"), STR(".spec.new"), HAND_NEW, STR(""), STR(""), false },
                { STR("spec.shared"), STR(".spec.shared"), HAND_SHARED, STR("argocd-controller"), STR(""), false },
                { STR("spec.ours"), STR(".spec.ours"), HAND_OURS, STR(""), STR(""), false },
                { STR("spec.selector"), STR(".spec.selector"), HAND_STAYS, STR("some-operator"), STR("not in Git"), true },
                { STR("spec.other"), STR(".spec.other"), HAND_STAYS, STR("some-operator"), STR("reports"), false },
                { STR("spec.gone"), STR(".spec.gone"), HAND_GOES, STR("kubectl-edit"), STR("a rule"), false },
        };
        struct adopt_object *o = add_object("Deployment", "shop", "web", ADOPT_TAKEN);

        matters[0] = (struct adopt_matter){ ADOPT_VALUE, STR("spec.image"), STR(".spec.image"), of("\"web:1\""), of("\"web:2\""),
                                            STR("helm"), STR("takes"), STR("a rule"), STR(""), 12, false, false };
        matters[1] = (struct adopt_matter){ ADOPT_VALUE, STR("spec.paused"), STR(".spec.paused"), NULL, of("true"),
                                            STR(""), STR(""), STR(""), STR(""), 0, false, false };
        matters[2] = (struct adopt_matter){ ADOPT_VALUE, STR("spec.order"), STR(".spec.order"), of("[1,2]"), of("[2,1]"),
                                            STR("kubectl-edit"), STR("reorders"), STR(""), STR(""), 3, false, false };
        matters[3] = (struct adopt_matter){ ADOPT_STAYS, STR("spec.replicas"), STR(".spec.replicas"), of("6"), of("2"),
                                            STR("HPA shop/web"), STR("yields"), STR("built-in: scaler"), STR(""), 9, false, false };
        matters[4] = (struct adopt_matter){ ADOPT_GOES, STR("spec.extra"), STR(".spec.extra"), of("{\"x\":1}"), NULL,
                                            STR("kubectl-edit"), STR("removes"), STR("people's additions"), STR(""), 0, false, false };
        matters[5] = (struct adopt_matter){ ADOPT_GOES, STR("metadata.annotations"), STR(".metadata.annotations"), of("\"{}\""), NULL,
                                            STR("kubectl"), STR("removes"), STR(""), STR(""), 0, false, true };
        matters[6] = (struct adopt_matter){ ADOPT_DECIDE, STR("spec.selector"), STR(".spec.selector"), of("{\"a\":\"b\"}"), NULL,
                                            STR("some-operator"), STR("reports"), STR(""), STR("{manager: some-operator}"), 15, true, false };
        matters[7] = (struct adopt_matter){ ADOPT_LOOK, STR("spec.min"), STR(".spec.min"), NULL, NULL,
                                            STR(""), STR(""), STR("Git's number is below the minimum"), STR(""), 9, false, false };
        matters[8] = (struct adopt_matter){ ADOPT_DECIDE, STR("spec.b"), STR(".spec.b"), of("1"), of("2"),
                                            STR(""), STR("reports"), STR("rules.yaml:4"), STR(""), 0, false, false };
        o->group = STR("apps");
        o->file = STR("app/web.yaml");
        o->line = 4;
        o->today = STR("Argo CD application \"shop\"");
        o->shares = shares;
        o->share_count = ARRAY_LEN(shares);
        o->paths = paths;
        o->path_count = ARRAY_LEN(paths);
        o->matters = matters;
        o->matter_count = ARRAY_LEN(matters);
        return o;
}

static void add_argo_cd(void) {
        static struct adopt_step steps[2];
        static struct adopt_extra extras[8];
        static const char *const names[] = { "b", "c", "d", "e", "f", "g", "h", "i" };
        struct adopt_tracker *t = add_tracker("Argo CD application \"shop\"");

        steps[0] = (struct adopt_step){ STR("suspend it"), STR("kubectl -n argocd patch application shop") };
        steps[1] = (struct adopt_step){ STR("let truce sync"), STR("") };
        for (size_t i = 0; i < ARRAY_LEN(extras); i++)
                extras[i] = (struct adopt_extra){ STR(""), STR("ConfigMap"), STR("shop"), str_from(names[i]) };
        t->who = (struct tracker){ .tool = "argocd", .ns = STR("argocd"), .name = STR("shop") };
        t->holds = true;
        t->objects = 2;
        t->state = ADOPT_LIVE;
        t->note = STR("syncs by itself");
        t->extras = extras;
        t->extra_count = ARRAY_LEN(extras);
        t->steps = steps;
        t->step_count = ARRAY_LEN(steps);
}

/* One object of each fate, and two trackers. */
static void fill(void) {
        static const struct adopt_path more[] = {
                { STR("spec.a"), STR(".spec.template.spec.a"), HAND_STAYS, STR("a\033[31m"), STR("not in Git"), false },
        };
        struct adopt_object *o;

        add_web();
        o = add_object("Service", "shop", "held", ADOPT_HELD);
        o->today = STR("Argo CD application \"shop\"");
        add_object("ConfigMap", "shop", "new", ADOPT_CREATED);
        add_object("ConfigMap", "other", "ours", ADOPT_OURS);
        o = add_object("ConfigMap", "shop", "refused", ADOPT_REFUSED);
        o->reason = STR("it belongs to somebody");
        o->file = STR("app/r.yaml");
        o->line = 7;
        o = add_object("ConfigMap", "shop", "failed", ADOPT_FAILED);
        o->reason = STR("a policy denied it");
        o->file = STR("app/f.yaml");
        o = add_object("Widget", "other", "parked", ADOPT_PARKED); /* the widest title, and nothing is said of it but its path */
        o->paths = more;
        o->path_count = ARRAY_LEN(more);
        add_object("ConfigMap", "shop", "skipped", ADOPT_SKIPPED);
        add_argo_cd();
        add_tracker("kubectl apply")->objects = 1;
        r.unread = STR("Secrets");
        r.problems = 3;
}

#endif

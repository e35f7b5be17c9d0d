/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce owners KIND/NAME`: who owns each path of an object, what truce does about it, and by which rule. It asks the
 * engine itself about the newest commit and the live object; it sends and writes nothing but reads.
 */
#include <assert.h>
#include <stdio.h>

#include "agent/groups.h"
#include "base/json.h"
#include "base/yaml.h"
#include "cli/cli.h"
#include "cli/oneshot.h"
#include "cli/operand.h"
#include "cli/owners_view.h"
#include "cli/verb.h"
#include "cli/words.h"

#define OUT_MAX_BYTES (64 * 1024 * 1024)

enum output { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_YAML };

struct owners_flags {
        int output;
        bool all;
        int64_t timeout_ms;
};

struct owners {
        struct oneshot oneshot;
        struct owners_flags flags;
        struct operand operand;
        struct str ns;             /* as it was typed */
        struct kube_client *client;
        struct kube_op *get;
        struct buf live;           /* empty: it does not exist */
        struct arena *arena;
        bool explained, awaited;   /* and the loop runs until it is */
};

static const char *const outputs[] = { "table", "json", "yaml", NULL };
static const struct option_def owners_options[] = {
        { .name = "output", .letter = 'o', .type = OPTION_CHOICE, .at = offsetof(struct owners_flags, output),
          .choices = outputs, .help = "how to print it; json and yaml give paths as rules take them" },
        { .name = "all", .type = OPTION_BOOL, .at = offsetof(struct owners_flags, all),
          .help = "every path by itself, defaults too" },
        { .name = "timeout", .type = OPTION_DURATION, .at = offsetof(struct owners_flags, timeout_ms), .fallback = "2m",
          .min = 1000, .max = 24 * 3600 * INT64_C(1000), .help = "give up after this" },
};
const struct option_group cli_owners_flags = { "Owners", owners_options, ARRAY_LEN(owners_options), NULL };

/* --- hooks: only what keeps the answer from being given is told --------------------------------------------------- */

static void say(const struct app *app, const struct err *err) {
        _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);

        buf_addf(&line, "%.*s: %s", STR_FMT(app_config(app)->name), err->msg);
        session_say(buf_str(&line));
}

static void on_revision(void *ctx, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                        const struct err *rejected) {
        (void)ctx;
        (void)r;
        (void)set;
        if (rejected)
                say(app, rejected);
}

static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        (void)ctx;
        (void)what;
        say(app, err);
}

/* --- finding ---------------------------------------------------------------------------------------------------- */

struct found {
        struct app *app;
        const struct desired *desired;
};

static bool is_meant(const struct owners *o, const struct kube_resource *r, const struct desired *d) {
        return d->id.n && str_eq(d->gvk.group, r->group) && str_eq(d->gvk.kind, r->kind) &&
               str_eq(d->name, o->operand.name) && (!o->ns.n || !d->ns.n || str_eq(d->ns, o->ns));
}

/* The names of the kind that there are, for a hint. */
static int not_found(const struct owners *o, const struct kube_resource *r, struct err *err) {
        const char **names = NULL, *near;
        size_t count = 0, cap = 0, apps = agent_app_count(o->oneshot.agent);

        for (size_t i = 0; i < apps; i++) {
                const struct desired_set *set = app_desired(agent_app(o->oneshot.agent, i));

                for (size_t k = 0; set && k < set->count; k++) {
                        if (!str_eq(set->objects[k].gvk.kind, r->kind) || !str_eq(set->objects[k].gvk.group, r->group))
                                continue;
                        names = mem_grow(names, &cap, count + 1, sizeof *names);
                        names[count++] = set->objects[k].name.p;
                }
        }
        near = option_nearest(o->operand.name, names, count);
        err_set(err, ERR_NOTFOUND, "no application has a %.*s %.*s%s%.*s in Git (%zu %s, %zu of the kind)%s%s%s",
                STR_FMT(r->kind), STR_FMT(o->operand.name), o->ns.n ? " in namespace " : "", STR_FMT(o->ns), apps,
                apps == 1 ? "application" : "applications", count, near ? "; did you mean " : "", near ? near : "",
                near ? "?" : "");
        free(names);
        return ERR_NOTFOUND;
}

static int find(const struct owners *o, struct found *ret, struct err *err) {
        const struct kube_discovery *discovery = cluster_discovery(agent_cluster(o->oneshot.agent));
        const struct kube_resource *r = discovery ? kube_discovery_find_word(discovery, o->operand.kind) : NULL;
        struct found f = { 0 };

        if (!r)
                return err_set(err, ERR_NOTFOUND, "the cluster has no kind called '%.*s'", STR_FMT(o->operand.kind));
        for (size_t i = 0; i < agent_app_count(o->oneshot.agent); i++) {
                struct app *app = agent_app(o->oneshot.agent, i);
                const struct desired_set *set = app_desired(app);

                for (size_t k = 0; set && k < set->count; k++) {
                        const struct desired *d = &set->objects[k];

                        if (!is_meant(o, r, d))
                                continue;
                        if (f.desired && !str_eq(f.desired->ns, d->ns))
                                return err_set(err, ERR_INVAL, "it is in namespaces %.*s and %.*s: say which with -n",
                                               STR_FMT(f.desired->ns), STR_FMT(d->ns));
                        if (!f.desired)
                                f = (struct found){ app, d };
                }
        }
        if (!f.desired)
                return not_found(o, r, err);
        *ret = f;
        return 0;
}

/* --- the live object ---------------------------------------------------------------------------------------------- */

static void on_live(void *ctx, const struct kube_result *result) {
        struct owners *o = ctx;

        o->get = NULL;
        if (result->err.code == 0)
                buf_add(&o->live, result->body);
        else if (result->err.code != ERR_NOTFOUND)
                o->oneshot.err = result->err;
        loop_stop(o->oneshot.session.loop);
}

/* Whole, with who owns what since when: the cache keeps no times. */
static int read_live(struct owners *o, const struct desired *d, struct err *err) {
        const struct kube_resource *r = kube_discovery_find(cluster_discovery(agent_cluster(o->oneshot.agent)), d->gvk);
        struct session *s = &o->oneshot.session;

        if (!r)
                return err_set(err, ERR_UNSUPPORTED, "the cluster does not serve %.*s in version %.*s",
                               STR_FMT(d->gvk.kind), STR_FMT(d->gvk.version));
        struct kube_location at = kube_resource_location(r, d->ns, d->name);
        o->client = kube_client_new(s->transport, s->loop);
        o->get = kube_client_get(o->client, &at, 0, on_live, o);
        loop_run(s->loop);
        kube_op_cancel(o->get);
        if (o->oneshot.err.code)
                *err = o->oneshot.err;
        return o->oneshot.err.code;
}

/* --- printing ----------------------------------------------------------------------------------------------------- */

/* Is the status of the live object written by the group reconciler? Status is no path of Git's, so no row tells. */
static bool has_groups(const struct owners *o) {
        const struct value *live, *managed;

        if (json_parse(buf_str(&o->live), o->arena, &live, NULL) < 0)
                return false;
        managed = value_path(live, "metadata", "managedFields", NULL);
        for (size_t i = 0; i < value_count(managed); i++)
                if (str_eqc(value_text(value_getc(managed->list.items[i], "manager")), GROUPS_MANAGER))
                        return true;
        return false;
}

/* Three have a part in such an object: Git, who scales, and who makes it so. */
static void add_groups(const struct owners *o, const struct owners_view *v, struct buf *out) {
        if (!has_groups(o))
                return;
        owners_view_seed(v, out);
        buf_addf(out,
                 "Pods and status are the group reconciler's (" GROUPS_MANAGER "), which takes spec.replicas as it is: "
                 "truce groups %.*s\n",
                 STR_FMT(o->operand.name));
}

static void print(const struct owners *o, const struct owners_view *v) {
        _cleanup_(buf_done) struct buf out = buf_make(OUT_MAX_BYTES);

        if (o->flags.output == OUTPUT_JSON) {
                words_add_json(owners_view_value(v, o->arena), &out);
        } else if (o->flags.output == OUTPUT_YAML) {
                yaml_print(owners_view_value(v, o->arena), &out);
        } else {
                owners_view_table(v, &out);
                add_groups(o, v, &out);
        }
        fwrite(out.p, 1, out.n, stdout);
        fflush(stdout);
}

static void explained(void *ctx, const struct err *err) {
        struct owners *o = ctx;

        o->explained = true;
        if (err)
                o->oneshot.err = *err;
        if (o->awaited)
                loop_stop(o->oneshot.session.loop);
}

/* Ignore rules may hold jq programs, which a worker evaluates. */
static int explain_found(struct owners *o, const struct found *f, struct app_explanation *ret, struct err *err) {
        struct loop *loop = o->oneshot.session.loop;
        int r = app_explain(f->app, f->desired->id, buf_str(&o->live), o->arena, ret, explained, o, err);

        if (r < 0)
                return r;
        o->awaited = true;
        while (!o->explained)
                loop_run(loop);
        if (o->oneshot.err.code)
                *err = o->oneshot.err;
        return o->oneshot.err.code;
}

static int show(struct owners *o, struct err *err) {
        struct loop *loop = o->oneshot.session.loop;
        struct app_explanation x;
        struct found f = { 0 };
        int r = find(o, &f, err);

        if (r < 0)
                return r;
        assert(f.desired);
        r = read_live(o, f.desired, err);
        if (r == 0)
                r = explain_found(o, &f, &x, err);
        if (r < 0)
                return r;
        struct owners_view view = {
                .object = &x, .app = f.app, .now_ms = loop_wall_ms(loop), .all = o->flags.all,
                .color = o->flags.output == OUTPUT_TABLE && words_in_color(STDOUT_FILENO),
        };
        print(o, &view);
        return 0;
}

static int finish(struct owners *o) {
        struct err err = o->oneshot.err;

        if (o->oneshot.timed_out) {
                session_say(STR("gave up: Git or the cluster did not answer in time (--timeout)"));
                return CLI_TIMED_OUT;
        }
        if (err.code || show(o, &err) < 0)
                return session_fail(&err);
        return CLI_OK;
}

int cli_owners(int argc, char **argv) {
        struct owners o = { .oneshot.hooks = { .revision = on_revision, .trouble = on_trouble },
                            .live = buf_make(OUT_MAX_BYTES), .arena = arena_new(0) };
        struct oneshot *one = &o.oneshot;
        const struct option_group own = option_group_of(&cli_owners_flags, &o.flags);
        struct err err;
        int result = CLI_OK;

        one->session.operand_max = 2;
        int r = session_configure(&one->session, "owners", argc, argv, &own, &err);
        if (r == 0 && !one->session.help)
                r = operand_read(one->session.operands, one->session.operand_count, "owners", &o.operand, &err);
        if (r == 0 && !one->session.help) {
                o.ns = one->session.app_flags.ns;
                one->ctx = &o;
                one->mode = DECIDE_DIFF;
                one->watch_only = true;
                one->timeout_ms = o.flags.timeout_ms;
                r = oneshot_open(one, &err);
        }
        if (r == 0 && !one->session.help) {
                oneshot_run(one);
                result = finish(&o);
        }
        kube_client_free(o.client);
        oneshot_close(one);
        buf_done(&o.live);
        arena_free(o.arena);
        return r < 0 ? session_fail(&err) : result;
}

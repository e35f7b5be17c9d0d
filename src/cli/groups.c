/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce groups [NAME]`: LeaderWorkerSets, group by group: who is ready, of which revision, and what each waits for. It
 * reads the cluster and asks the same function that the agent acts by; it writes nothing and needs no running agent.
 */
#include <stdio.h>

#include "agent/groups.h"
#include "agent/groups_cache.h"
#include "base/json.h"
#include "base/yaml.h"
#include "cli/cli.h"
#include "cli/groups_view.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "cli/words.h"
#include "kube/list.h"

#define OUT_MAX_BYTES (64 * 1024 * 1024)

enum output { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_YAML };

struct groups_flags {
        int output;
        int64_t timeout_ms;
};

struct verb_groups {
        struct session session;
        struct groups_flags flags;
        struct str name; /* empty: all */
        struct kube_client *client;
        struct kube_list *sets, *scalers;
        struct groups_cache *cache;
        struct loop_timer *timeout;
        bool timed_out;
        struct arena *arena;
        const struct value **objects; /* LeaderWorkerSets */
        size_t count, cap;
        const struct value **hpas;
        size_t hpa_count, hpa_cap;
        struct err err;
};

static const char *const outputs[] = { "table", "json", "yaml", NULL };
static const struct option_def groups_options[] = {
        { .name = "output",
          .letter = 'o',
          .type = OPTION_CHOICE,
          .at = offsetof(struct groups_flags, output),
          .choices = outputs,
          .help = "how to print it; json and yaml also say what the agent would do next" },
        { .name = "timeout",
          .type = OPTION_DURATION,
          .at = offsetof(struct groups_flags, timeout_ms),
          .fallback = "30s",
          .min = 1000,
          .max = 3600 * INT64_C(1000),
          .help = "give up after this" },
};
const struct option_group cli_groups_flags = { "Groups", groups_options, ARRAY_LEN(groups_options), NULL };

/* --- reading -------------------------------------------------------------------------------------------------- */

static void stop_when_read(struct verb_groups *v) {
        const char *what = "";
        const struct err *err = groups_cache_err(v->cache, &what);

        if (err && !v->err.code && !err_is_transient(err->code)) {
                v->err = *err;
                err_wrap(&v->err, v->err.code, "%s", what);
        }
        if (v->err.code || (!v->sets && !v->scalers && groups_cache_is_synced(v->cache)))
                loop_stop(v->session.loop);
}

static void on_state(void *ctx) {
        stop_when_read(ctx);
}

static void on_change(void *ctx, struct str set) {
        (void)ctx;
        (void)set;
}

static void on_capacity(void *ctx) {
        (void)ctx;
}

static int keep(struct str object, struct arena *a, const struct value ***items, size_t *count, size_t *cap,
                struct err *err) {
        const struct value *v;
        int r = json_parse(object, a, &v, err);

        if (r < 0)
                return r;
        *items = mem_grow(*items, cap, *count + 1, sizeof **items);
        (*items)[(*count)++] = v;
        return 0;
}

static int on_set(void *ctx, struct str object, struct err *err) {
        struct verb_groups *v = ctx;

        return keep(object, v->arena, &v->objects, &v->count, &v->cap, err);
}

static int on_hpa(void *ctx, struct str object, struct err *err) {
        struct verb_groups *v = ctx;

        return keep(object, v->arena, &v->hpas, &v->hpa_count, &v->hpa_cap, err);
}

static void on_sets_done(void *ctx, struct str rv, const struct kube_status *status, const struct err *err) {
        struct verb_groups *v = ctx;

        (void)rv;
        v->sets = NULL;
        if (err && status && status->not_served)
                err_set(&v->err, ERR_NOTFOUND,
                        "the cluster does not serve LeaderWorkerSet (leaderworkerset.x-k8s.io/v1)");
        else if (err)
                v->err = *err;
        stop_when_read(v);
}

/* Who scales is of interest, but not what the verb is for. */
static void on_hpas_done(void *ctx, struct str rv, const struct kube_status *status, const struct err *err) {
        struct verb_groups *v = ctx;

        (void)rv;
        (void)status;
        (void)err;
        v->scalers = NULL;
        stop_when_read(v);
}

static void on_timeout(void *ctx) {
        struct verb_groups *v = ctx;

        v->timed_out = true;
        loop_stop(v->session.loop);
}

static void read_all(struct verb_groups *v) {
        static const struct kube_list_handler set_handler = { on_set, NULL, on_sets_done };
        static const struct kube_list_handler hpa_handler = { on_hpa, NULL, on_hpas_done };
        static const struct groups_cache_hooks hooks = { on_change, on_capacity, on_state };
        struct str ns = v->session.app_flags.ns;
        struct kube_list_spec sets = { .at = { .group = groups_gvk().group,
                                               .version = groups_gvk().version,
                                               .plural = STR("leaderworkersets"),
                                               .namespace = ns } };
        struct kube_list_spec hpas = { .at = { .group = STR("autoscaling"),
                                               .version = STR("v2"),
                                               .plural = STR("horizontalpodautoscalers"),
                                               .namespace = ns } };

        v->client = kube_client_new(v->session.transport, v->session.loop);
        v->timeout = loop_timer_new(v->session.loop, on_timeout, v);
        loop_timer_start(v->timeout, v->flags.timeout_ms);
        v->sets = kube_list_start(v->client, &sets, &set_handler, v);
        v->scalers = kube_list_start(v->client, &hpas, &hpa_handler, v);
        v->cache = groups_cache_new(v->session.loop, v->client, &hooks, v);
        loop_run(v->session.loop);
}

/* --- showing -------------------------------------------------------------------------------------------------- */

static struct str text_at(const struct value *object, const char *a, const char *b, const char *c) {
        return value_text(value_path(object, a, b, c, NULL));
}

static struct str scaler_of(const struct verb_groups *v, struct str ns, struct str name) {
        for (size_t i = 0; i < v->hpa_count; i++) {
                const struct value *hpa = v->hpas[i];

                if (str_eq(text_at(hpa, "metadata", "namespace", NULL), ns) &&
                    str_eq(text_at(hpa, "spec", "scaleTargetRef", "name"), name) &&
                    str_eq(text_at(hpa, "spec", "scaleTargetRef", "kind"), groups_gvk().kind))
                        return arena_strf(v->arena, "HPA %.*s/%.*s", STR_FMT(ns),
                                          STR_FMT(text_at(hpa, "metadata", "name", NULL)));
        }
        return (struct str){ 0 };
}

static int view_of(struct verb_groups *v, const struct value *lws, struct groups_view *ret) {
        struct arena *a = v->arena;
        struct group_spec *spec = arena_zalloc(a, sizeof *spec);
        struct group_problems *problems = arena_zalloc(a, sizeof *problems);
        struct group_observed *observed = arena_zalloc(a, sizeof *observed);
        struct group_plan *plan = arena_zalloc(a, sizeof *plan);

        group_spec_read(lws, a, spec, problems);
        groups_cache_observe(v->cache, spec->ns, spec->name, spec->uid, a, observed);
        struct group_input in = { .spec = spec,
                                  .problems = problems,
                                  .status = value_getc(lws, "status"),
                                  .observed = observed,
                                  .now_ms = loop_wall_ms(v->session.loop) };
        int r = group_plan_make(&in, a, plan, &v->err);
        enum groups_mode mode = (enum groups_mode)v->session.config->agent.lws_controller;
        *ret = (struct groups_view){ .spec = spec,
                                     .plan = plan,
                                     .status = in.status,
                                     .ours = groups_is_ours(lws, mode),
                                     .foreign = observed->foreign,
                                     .scaler = scaler_of(v, spec->ns, spec->name) };
        return r;
}

static void add_table(const struct groups_view *views, size_t count, struct buf *out) {
        size_t width = 3;

        for (size_t i = 0; i < count; i++)
                width = groups_view_width(&views[i]) > width ? groups_view_width(&views[i]) : width;
        groups_view_head(width, out);
        for (size_t i = 0; i < count; i++)
                groups_view_table(&views[i], width, words_in_color(STDOUT_FILENO), out);
}

static void print(const struct verb_groups *v, const struct groups_view *views, size_t count) {
        _cleanup_(buf_done) struct buf out = buf_make(OUT_MAX_BYTES);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; v->flags.output != OUTPUT_TABLE && i < count; i++)
                value_list_add(&list, groups_view_value(&views[i], v->arena));
        const struct value *value = value_list_end(&list, v->arena, 0);
        if (v->flags.output == OUTPUT_JSON)
                words_add_json(value, &out);
        else if (v->flags.output == OUTPUT_YAML)
                yaml_print(value, &out);
        else if (count)
                add_table(views, count, &out);
        else
                buf_addc(&out, "there is no LeaderWorkerSet\n");
        fwrite(out.p, 1, out.n, stdout);
}

static int show(struct verb_groups *v) {
        struct groups_view *views = arena_alloc(v->arena, (v->count + 1) * sizeof *views);
        size_t count = 0;

        for (size_t i = 0; i < v->count; i++) {
                struct str name = text_at(v->objects[i], "metadata", "name", NULL);

                if (v->name.n && !str_eq(v->name, name))
                        continue;
                if (view_of(v, v->objects[i], &views[count++]) < 0)
                        return session_fail(&v->err);
        }
        if (v->name.n && !count) {
                err_set(&v->err, ERR_NOTFOUND, "there is no LeaderWorkerSet %.*s", STR_FMT(v->name));
                return session_fail(&v->err);
        }
        print(v, views, count);
        return CLI_OK;
}

static int finish(struct verb_groups *v) {
        if (v->timed_out) {
                session_say(STR("gave up: the cluster did not answer in time (--timeout)"));
                return CLI_TIMED_OUT;
        }
        return v->err.code ? session_fail(&v->err) : show(v);
}

static void close_all(struct verb_groups *v) {
        kube_list_cancel(v->sets);
        kube_list_cancel(v->scalers);
        groups_cache_free(v->cache);
        kube_client_free(v->client);
        loop_timer_free(v->timeout);
        session_close(&v->session);
        free(v->objects);
        free(v->hpas);
        arena_free(v->arena);
}

int cli_groups(int argc, char **argv) {
        struct verb_groups v = { .session = { .apps_optional = true, .only_files = true, .operand_max = 1 },
                                 .arena = arena_new(0) };
        const struct option_group own = option_group_of(&cli_groups_flags, &v.flags);
        int result = CLI_OK, r = session_configure(&v.session, "groups", argc, argv, &own, &v.err);

        if (r == 0 && !v.session.help) {
                v.name = v.session.operand_count ? v.session.operands[0] : STR("");
                r = session_connect(&v.session, &v.err);
        }
        if (r == 0 && !v.session.help) {
                read_all(&v);
                result = finish(&v);
        } else if (r < 0) {
                result = session_fail(&v.err);
        }
        close_all(&v);
        return result;
}

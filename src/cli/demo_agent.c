/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of the demo, and what the story has to know of what it does. */
#include "cli/demo_impl.h"
#include "cli/words.h"

static const char *place_of(const struct outcome *o, struct arena *a) {
        return config_place_text((struct config_place){ o->file, o->line }, a).p;
}

static void tell_web(struct demo *d, const struct outcome *o) {
        struct told *t = &d->told;
        _cleanup_(buf_done) struct buf change = buf_make(4096);

        if (o->kind == OUTCOME_FAILED) {
                t->failed_ms = loop_now_ms(d->loop);
                t->failure = arena_str(t->arena, str_from(o->err->msg));
                t->failure_place = str_from(place_of(o, t->arena));
        }
        if (o->kind != OUTCOME_CONFIGURED)
                return;
        words_change(o, &change);
        t->configured = arena_str(t->arena, buf_str(&change));
        if (o->noticed_ms) {
                t->is_healed = true;
                t->heal_ms = loop_now_ms(d->loop) - o->noticed_ms;
        }
}

static void on_outcome(void *ctx, struct app *app, const struct outcome *o) {
        struct demo *d = ctx;
        struct str id = str_from(o->id);

        (void)app;
        if (o->kind == OUTCOME_CREATED) {
                d->told.created++;
                if (str_contains(id, STR("/CustomResourceDefinition/")))
                        d->told.definition_at = d->told.created;
                if (str_contains(id, STR("/Coupon/")))
                        d->told.custom_at = d->told.created;
        }
        if (o->err)
                d->told.trouble = arena_strf(d->told.arena, "%s: %s", o->id, o->err->msg);
        if (str_eq(id, d->web_id))
                tell_web(d, o);
        if (d->live)
                demo_live_outcome(d, o);
}

static void on_revision(void *ctx, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                        const struct err *rejected) {
        struct demo *d = ctx;
        struct told *t = &d->told;
        _cleanup_(buf_done) struct buf problem = buf_make(16 * 1024);

        (void)app;
        snprintf(t->in_force, sizeof t->in_force, "%.*s", STR_FMT(r->text));
        if (!rejected)
                t->objects = set->count;
        if (rejected) {
                if (set && set->error_count)
                        manifest_problem_print(&set->errors[0], &problem);
                else
                        buf_addc(&problem, rejected->msg);
                t->is_rejected = true;
                t->rejected_ms = loop_now_ms(d->loop);
                t->rejection = arena_str(t->arena, buf_str(&problem));
        }
        if (d->live)
                demo_live_revision(d, r, set, rejected != NULL);
}

static void on_observed(void *ctx, struct app *app, const struct agent_timeline *timeline) {
        struct demo *d = ctx;

        (void)app;
        (void)timeline;
        d->told.observed_ms = loop_now_ms(d->loop);
}

static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        struct demo *d = ctx;

        (void)app;
        d->told.trouble = arena_strf(d->told.arena, "%s: %s", what, err->msg);
}

void demo_forget(struct demo *d) {
        char in_force[sizeof d->told.in_force];

        memcpy(in_force, d->told.in_force, sizeof in_force);
        arena_free(d->told.arena);
        d->told = (struct told){ .arena = arena_new(0) };
        memcpy(d->told.in_force, in_force, sizeof in_force);
}

/* As `truce run --config` reads it: what the demo prints as commands is what the demo runs. */
static int load_config(struct demo *d, struct err *err) {
        const struct str path = str_from(shop_config(d->shop));
        int r = config_load(&path, 1, &d->config, err);

        if (r < 0)
                return r;
        d->config->agent.installation_id = d->config->agent.ns;
        config_settle(d->config);
        return d->config->app_count == 1 ? 0
                                         : err_set(err, ERR_INTERNAL, "the demo's own configuration is not accepted");
}

int demo_start_agent(struct demo *d, struct err *err) {
        static const struct agent_hooks hooks = {
                .outcome = on_outcome, .revision = on_revision, .observed = on_observed, .trouble = on_trouble,
        };
        const struct agent_options options = { .keep_sources = true };
        int r = load_config(d, err);

        demo_forget(d);
        if (r == 0)
                r = agent_new(d->loop, d->agent_transport, d->config, &options, &hooks, d, &d->agent, err);
        if (r == 0)
                agent_start(d->agent);
        return r;
}

void demo_stop_agent(struct demo *d) {
        agent_free(d->agent);
        config_free(d->config);
        arena_free(d->told.arena);
        d->agent = NULL;
        d->config = NULL;
        d->told.arena = NULL;
}

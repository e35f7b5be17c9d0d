/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes known of an application's health: that it is Degraded, and that it is no more, each once. What goes on,
 * and what is Progressing in between, is no news.
 *
 * The Event is about the object that is to blame, where people look first. What an agent finds as it starts is in the
 * log, and no Event: a restart writes nothing.
 */
#include "agent/agent_impl.h"

#include "agent/events.h"
#include "diff/text.h"
#include "kube/gvk.h"

#define MESSAGE_MAX_BYTES 8192 /* before it is cut */

static const struct live *find_live(const struct agent *agent, const struct desired *d) {
        const struct cluster_kind *kind = cluster_find_kind(agent->cluster, d->gvk);

        return kind ? cluster_find(kind, d->ns, d->name) : NULL;
}

/* What does not exist has no uid. */
static void tell_event(const struct entry *e, const struct desired *d, bool warning, const char *reason,
                       struct str message) {
        _cleanup_(buf_done) struct buf version = buf_make(512);
        const struct live *live = find_live(e->agent, d);

        gvk_add_api_version(&version, d->gvk);
        struct event_object about = {
                .api_version = buf_str(&version), .kind = d->gvk.kind, .ns = d->ns, .name = d->name,
                .uid = str_from(live ? live->uid : NULL), .resource_version = str_from(live ? live->rv : NULL),
        };
        events_tell(e->agent->events, &about, warning, reason, message);
}

static void note_degraded(struct entry *e, const struct desired *worst) {
        e->degraded = true;
        free(e->degraded_id);
        e->degraded_id = worst ? str_dup(worst->id) : NULL;
}

static void tell_degraded(const struct entry *e, const struct desired *worst) {
        _cleanup_(buf_done) struct buf text = buf_make(MESSAGE_MAX_BYTES);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        if (!e->agent->events || !worst)
                return;
        buf_addf(&text, "Application %.*s is Degraded: ", STR_FMT(e->config->name));
        text_add(&text, app_health_message(e->app, a));
        tell_event(e, worst, true, "HealthDegraded", buf_str(&text));
}

static void tell_recovered(struct entry *e) {
        _cleanup_(mem_freep) char *id = TAKE_PTR(e->degraded_id);
        const struct desired *d = id ? desired_find(app_desired(e->app), str_from(id)) : NULL;
        _cleanup_(buf_done) struct buf text = buf_make(MESSAGE_MAX_BYTES);
        struct app_health now;

        if (!e->agent->events || !d)
                return;
        app_health(e->app, &now);
        buf_addf(&text, "Application %.*s is %s again", STR_FMT(e->config->name), health_name(now.code));
        tell_event(e, d, false, "HealthRecovered", buf_str(&text));
}

static enum agent_health_news news_of(struct entry *e, const struct app_health *now) {
        bool first = !e->health_known;

        if (!now->is_known)
                return AGENT_HEALTH_AS_IT_WAS;
        e->health_known = true;
        if (now->code == HEALTH_DEGRADED && !e->degraded) {
                const struct desired *worst = app_worst(e->app);

                note_degraded(e, worst);
                if (!first)
                        tell_degraded(e, worst);
                return AGENT_HEALTH_DEGRADED;
        }
        if ((now->code == HEALTH_HEALTHY || now->code == HEALTH_SUSPENDED) && e->degraded) {
                e->degraded = false;
                tell_recovered(e);
                return AGENT_HEALTH_RECOVERED;
        }
        return AGENT_HEALTH_AS_IT_WAS;
}

void agent_health(void *ctx, struct app *app) {
        struct agent *agent = ctx;
        struct app_health now;

        app_health(app, &now);
        agent->hooks.health(agent->ctx, app, news_of(agent_entry_of(agent, app), &now));
}

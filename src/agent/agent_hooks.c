/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

static void no_outcome(void *ctx, struct app *app, const struct outcome *outcome) {
        (void)ctx;
        (void)app;
        (void)outcome;
}

static void no_waiting(void *ctx, struct app *app, const char *what) {
        (void)ctx;
        (void)app;
        (void)what;
}

static void no_revision(void *ctx, struct app *app, const struct agent_revision *revision, const struct desired_set *set,
                        const struct err *rejected) {
        (void)ctx;
        (void)app;
        (void)revision;
        (void)set;
        (void)rejected;
}

static void no_settled(void *ctx, struct app *app, const struct err *prune_err) {
        (void)ctx;
        (void)app;
        (void)prune_err;
}

static void no_observed(void *ctx, struct app *app, const struct agent_timeline *timeline) {
        (void)ctx;
        (void)app;
        (void)timeline;
}

static void no_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        (void)ctx;
        (void)app;
        (void)what;
        (void)err;
}

static void no_remark(void *ctx, struct app *app, const char *place, const char *text) {
        (void)ctx;
        (void)app;
        (void)place;
        (void)text;
}

static void no_health(void *ctx, struct app *app, enum agent_health_news news) {
        (void)ctx;
        (void)app;
        (void)news;
}

struct agent_hooks agent_hooks_completed(const struct agent_hooks *hooks) {
        return (struct agent_hooks){
                .outcome = hooks->outcome ? hooks->outcome : no_outcome,
                .waiting = hooks->waiting ? hooks->waiting : no_waiting,
                .revision = hooks->revision ? hooks->revision : no_revision,
                .settled = hooks->settled ? hooks->settled : no_settled,
                .observed = hooks->observed ? hooks->observed : no_observed,
                .trouble = hooks->trouble ? hooks->trouble : no_trouble,
                .remark = hooks->remark ? hooks->remark : no_remark,
                .health = hooks->health ? hooks->health : no_health,
        };
}

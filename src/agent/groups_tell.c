/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of groups: Events, log, metrics. */
#include "agent/groups_impl.h"

#include "base/log.h"
#include "group/names.h"

static void tell(const struct set *s, bool warning, const char *reason, struct str message) {
        const struct live *live = set_live(s);
        struct event_object about = { .api_version = STR(GROUP_API_VERSION),
                                      .kind = STR(GROUP_KIND),
                                      .ns = s->ns,
                                      .name = s->name,
                                      .uid = str_from(s->uid) };
        _cleanup_(mem_freep) char *text = str_dup(message);

        if (live)
                about.resource_version = str_from(live->rv);
        log_event(warning ? LOG_WARN : LOG_INFO, "groups", reason, "lws", s->key, "what", text, NULL);
        if (s->groups->env.events)
                events_tell(s->groups->env.events, &about, warning, reason, message);
}

/* What is planned again and again, as it is refused, has not happened. */
static bool has_happened(const struct pass *p, const struct group_event *e) {
        bool waits = false;

        for (size_t i = 0; i < p->plan.action_count; i++) {
                const struct group_action *action = &p->plan.actions[i];
                bool makes_it_true =
                        e->group < 0 ? action->group < 0 : action->group == e->group && action->object == GROUP_POD;

                if (makes_it_true && p->went[i])
                        return true;
                waits |= makes_it_true;
        }
        return !waits;
}

void tell_events(const struct pass *p) {
        for (size_t i = 0; i < p->plan.event_count; i++) {
                const struct group_event *e = &p->plan.events[i];

                if (has_happened(p, e))
                        tell(p->set, e->warning, e->reason, e->message);
        }
}

void tell_refusal(const struct set *s, const struct group_action *action, const struct err *err) {
        _cleanup_(buf_done) struct buf message = buf_make(EVENT_MESSAGE_MAX_BYTES * 4);

        buf_addf(&message, "%.*s: %s", STR_FMT(action->name.n ? action->name : s->name), err->msg);
        tell(s, true, GROUP_CONDITION_BLOCKED, buf_str(&message));
}

/* --- metrics -------------------------------------------------------------------------------------------------- */

static const struct row_seen *seen(const struct set *s, int32_t index) {
        for (size_t i = 0; i < s->row_count; i++)
                if (s->rows[i].index == index)
                        return &s->rows[i];
        return NULL;
}

static struct row_seen see(struct set *s, const struct group_row *row) {
        const struct row_seen *old = seen(s, row->index);
        struct row_seen now = { .index = row->index, .restarts = row->restarts, .since_ms = old ? old->since_ms : 0 };
        int64_t now_ms = loop_now_ms(s->groups->env.loop);

        if (old && row->restarts > old->restarts) {
                s->stats.restarts += (uint64_t)(row->restarts - old->restarts);
                now.since_ms = now.since_ms ? now.since_ms : now_ms;
        } else if (now.since_ms && row->ready) {
                queue_times_add(&s->stats.recreate, now_ms - now.since_ms);
                now.since_ms = 0;
        }
        return now;
}

void note_rows(struct set *s, const struct group_plan *plan) {
        struct row_seen *rows = mem_alloc((plan->row_count + 1) * sizeof *rows);

        s->stats.groups = s->stats.ready = 0;
        for (size_t i = 0; i < plan->row_count; i++) {
                rows[i] = see(s, &plan->rows[i]);
                s->stats.groups += plan->rows[i].members > 0;
                s->stats.ready += plan->rows[i].ready;
        }
        free(s->rows);
        s->rows = rows;
        s->row_count = plan->row_count;
}

bool groups_next(const struct groups *g, size_t *at, struct groups_set_stats *ret_stats) {
        void *s;

        if (!g->begun || !map_next(g->sets, at, NULL, &s))
                return false;
        *ret_stats = ((const struct set *)s)->stats;
        return true;
}

void groups_queue_stats(const struct groups *g, struct queue_stats *ret_stats) {
        queue_stats(g->queue, ret_stats);
}

enum groups_state groups_state(const struct groups *g) {
        const char *what;

        if (g->env.mode == GROUPS_OFF)
                return GROUPS_STATE_OFF;
        if (!g->kind || cluster_kind_state(g->kind) == CLUSTER_KIND_UNKNOWN)
                return GROUPS_STATE_ABSENT;
        if (cluster_kind_state(g->kind) == CLUSTER_KIND_FAILED || (g->cache && groups_cache_err(g->cache, &what)))
                return GROUPS_STATE_FAILED;
        if (!map_count(g->sets))
                return GROUPS_STATE_IDLE;
        return groups_cache_is_synced(g->cache) ? GROUPS_STATE_RUNNING : GROUPS_STATE_SYNCING;
}

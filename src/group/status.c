/* SPDX-License-Identifier: Apache-2.0 */
#include "group/status.h"

#include "group/conditions.h"
#include "group/spec.h"

#define SELECTOR                                                                                                       \
        "leaderworkerset.sigs.k8s.io/name=%.*s,leaderworkerset.sigs.k8s.io/worker-index=0" /* leaders: one a group */
#define RESOLVED "Resolved"

/* What the set does now, in the API's words. */
enum phase { PHASE_AVAILABLE, PHASE_UPDATING, PHASE_PROGRESSING, PHASE_NONE };

struct words {
        const char *type, *reason, *message;
};

static const struct words phases[] = {
        [PHASE_AVAILABLE] = { GROUP_CONDITION_AVAILABLE, "AllGroupsReady", "All replicas are ready" },
        [PHASE_UPDATING] = { GROUP_CONDITION_UPDATING, "GroupsUpdating", "Rolling Upgrade is in progress" },
        [PHASE_PROGRESSING] = { GROUP_CONDITION_PROGRESSING, "GroupsProgressing", "Replicas are progressing" },
};

/* Conditions that say by being there that something is wrong. */
static const char *const troubles[] = {
        GROUP_CONDITION_DEGRADED, GROUP_CONDITION_STALLED, GROUP_CONDITION_BACKOFF,
        GROUP_CONDITION_WAITING,  GROUP_CONDITION_STUCK,
};

static bool is_among(struct str type, const char *const *types, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (str_eqc(type, types[i]))
                        return true;
        return false;
}

/* --- counting --------------------------------------------------------------------------------------------------- */

struct group_count group_count_of(const struct group_rollout_group *groups, size_t count, int32_t replicas,
                                  int32_t partition) {
        struct group_count c = { 0 };

        for (size_t i = 0; i < count && i < INT32_MAX; i++) {
                const struct group_rollout_group *g = &groups[i];
                bool is_surge = (int32_t)i >= replicas;

                if (!g->exists)
                        continue;
                c.groups++;
                c.ready += g->ready;
                c.updated += g->updated;
                c.ready_within += g->ready && !is_surge;
                c.behind += !g->updated && !is_surge && (int32_t)i >= partition;
        }
        return c;
}

/* --- conditions ------------------------------------------------------------------------------------------------- */

struct building {
        const struct group_status_in *in;
        const struct value *old; /* conditions */
        struct condition *set;
        size_t count;
};

static void add(struct building *b, const char *type, bool on, const char *reason, struct str message) {
        b->set[b->count++] = (struct condition){ str_from(type), on, str_from(reason), message };
}

static const struct group_condition *listed(const struct group_status_in *in, const char *type) {
        for (size_t i = 0; i < in->extra_count; i++)
                if (str_eqc(str_from(type), in->extra[i].type))
                        return &in->extra[i];
        return NULL;
}

/* What ends all progress, if there is such: the words for it. */
static const struct group_condition *end_of_progress(const struct group_status_in *in) {
        static const char *const types[] = { GROUP_CONDITION_STALLED, GROUP_CONDITION_DEGRADED };

        for (size_t i = 0; i < ARRAY_LEN(types); i++) {
                const struct group_condition *c = listed(in, types[i]);

                if (c && c->on)
                        return c;
        }
        return NULL;
}

/* Nobody makes good what breaks while the spec cannot be acted on, but what serves goes on serving. */
static bool still_available(const struct building *b) {
        return conditions_on(b->old, STR(GROUP_CONDITION_AVAILABLE)) && b->in->count.ready >= b->in->count.groups;
}

static enum phase phase_of(const struct building *b) {
        const struct group_status_in *in = b->in;

        if (in->scope == GROUP_STATUS_STALLED)
                return still_available(b) ? PHASE_AVAILABLE : PHASE_NONE;
        if (in->update_in_progress)
                return PHASE_UPDATING;
        if (in->count.ready_within >= in->s->replicas)
                return PHASE_AVAILABLE;
        return end_of_progress(in) ? PHASE_NONE : PHASE_PROGRESSING;
}

/* An update is progress too. The words of what is the case also say why the others are not. */
static void add_phase(struct building *b) {
        enum phase now = phase_of(b);
        const struct group_condition *end = end_of_progress(b->in);
        const struct words *why = &phases[now == PHASE_NONE ? PHASE_PROGRESSING : now];

        for (enum phase p = PHASE_AVAILABLE; p < PHASE_NONE; p++) {
                bool on = p == now || (p == PHASE_PROGRESSING && now == PHASE_UPDATING);
                const struct words *own = &phases[p];

                if (on)
                        add(b, own->type, true, own->reason, str_from(own->message));
                else if (now == PHASE_NONE && end)
                        add(b, own->type, false, end->reason, end->message);
                else
                        add(b, own->type, false, why->reason, str_from(why->message));
        }
}

static void add_extra(struct building *b, const struct group_condition *c) {
        if (c->on || conditions_find(b->old, str_from(c->type)))
                add(b, c->type, c->on, c->reason ? c->reason : RESOLVED, c->message);
}

/* A controller that runs the object has a Degraded of its own. */
static void add_resolved(struct building *b) {
        for (size_t i = 0; i < ARRAY_LEN(troubles); i++) {
                struct str type = str_from(troubles[i]);
                bool theirs = b->in->scope == GROUP_STATUS_FOREIGN && str_eqc(type, GROUP_CONDITION_DEGRADED);

                if (!theirs && !listed(b->in, troubles[i]) && conditions_find(b->old, type))
                        add(b, troubles[i], false, RESOLVED, STR(""));
        }
}

static const struct value *build_conditions(const struct group_status_in *in, struct arena *a) {
        struct building b = { .in = in, .old = value_getc(in->before, "conditions") };

        b.set = arena_zalloc(a, (in->extra_count + PHASE_NONE + ARRAY_LEN(troubles) + 1) * sizeof *b.set);
        if (in->scope != GROUP_STATUS_FOREIGN) {
                add_phase(&b);
                if (in->memory.n)
                        add(&b, GROUP_CONDITION_MEMORY, true, "Recorded", in->memory);
        }
        for (size_t i = 0; i < in->extra_count; i++)
                add_extra(&b, &in->extra[i]);
        add_resolved(&b);
        if (!b.count && !b.old)
                return NULL;
        return conditions_set(b.old, b.set, b.count, in->s->generation, in->now_ms, a);
}

/* --- the status ------------------------------------------------------------------------------------------------- */

static const struct value *with_number(const struct value *status, const char *key, int64_t number, struct arena *a) {
        return value_with(a, status, str_from(key), value_int(a, number, 0));
}

static const struct value *with_counters(const struct value *status, const struct group_status_in *in,
                                         struct arena *a) {
        struct str selector = arena_strf(a, SELECTOR, STR_FMT(in->s->name));

        status = with_number(status, "observedGeneration", in->s->generation, a);
        status = with_number(status, "replicas", in->count.groups, a);
        status = with_number(status, "readyReplicas", in->count.ready, a);
        status = with_number(status, "updatedReplicas", in->count.updated, a);
        return value_with(a, status, STR("hpaPodSelector"), value_string(a, selector, 0));
}

const struct value *group_status_build(const struct group_status_in *in, struct arena *a) {
        const struct value *status = in->before, *conditions = build_conditions(in, a);

        if (in->scope != GROUP_STATUS_FOREIGN)
                status = with_counters(status, in, a);
        if (conditions)
                status = value_with(a, status, STR("conditions"), conditions);
        if (in->before && value_equal(status, in->before))
                return in->before;
        return status ? status : &value_empty_map;
}

static bool is_ours(struct str type, enum group_status_scope scope) {
        if (str_eqc(type, GROUP_CONDITION_MEMORY) || str_eqc(type, GROUP_CONDITION_BLOCKED))
                return true;
        if (scope == GROUP_STATUS_FOREIGN)
                return is_among(type, troubles, ARRAY_LEN(troubles)) && !str_eqc(type, GROUP_CONDITION_DEGRADED);
        for (size_t i = 0; i < ARRAY_LEN(phases); i++)
                if (str_eqc(type, phases[i].type))
                        return true;
        return is_among(type, troubles, ARRAY_LEN(troubles));
}

const struct value *group_status_ours(const struct value *status, enum group_status_scope scope, struct arena *a) {
        static const char *const fields[] = { "hpaPodSelector", "observedGeneration", "readyReplicas", "replicas",
                                              "updatedReplicas" };
        const struct value *conditions = value_getc(status, "conditions");
        struct value_list_builder list = { 0 };
        struct value_map_builder b = { 0 };

        for (size_t i = 0; value_is(conditions, VALUE_LIST) && i < conditions->list.count; i++)
                if (is_ours(value_text(value_getc(conditions->list.items[i], "type")), scope))
                        value_list_add(&list, conditions->list.items[i]);
        for (size_t i = 0; scope != GROUP_STATUS_FOREIGN && i < ARRAY_LEN(fields); i++)
                if (value_getc(status, fields[i]))
                        value_map_add(&b, str_from(fields[i]), value_getc(status, fields[i]), 0);
        value_map_add(&b, STR("conditions"), value_list_end(&list, a, 0), 0);
        return value_map_end(&b, a, 0);
}

enum group_status_scope group_status_scope_of(const struct value *status) {
        const struct value *conditions = value_getc(status, "conditions"), *stalled;

        if (!conditions_on(conditions, STR(GROUP_CONDITION_STALLED)))
                return GROUP_STATUS_WHOLE;
        stalled = conditions_find(conditions, STR(GROUP_CONDITION_STALLED));
        return str_eqc(value_text(value_getc(stalled, "reason")), GROUP_REASON_FOREIGN) ? GROUP_STATUS_FOREIGN
                                                                                        : GROUP_STATUS_STALLED;
}

/* --- telling ---------------------------------------------------------------------------------------------------- */

static enum phase told_phase(const struct value *conditions) {
        static const enum phase order[] = { PHASE_UPDATING, PHASE_AVAILABLE, PHASE_PROGRESSING };

        for (size_t i = 0; i < ARRAY_LEN(order); i++)
                if (conditions_on(conditions, str_from(phases[order[i]].type)))
                        return order[i];
        return PHASE_NONE;
}

static struct group_told tell_phase(enum phase now, const struct value *after, int32_t replicas, struct arena *a) {
        int64_t ready = 0;

        (void)value_to_i64(value_getc(after, "readyReplicas"), &ready);
        return (struct group_told){ .reason = str_from(phases[now].reason),
                                    .message = arena_strf(a, "%s, with %lld groups ready of total %d groups",
                                                          phases[now].message, (long long)ready, (int)replicas) };
}

void group_status_events(const struct value *before, const struct value *after, int32_t replicas, struct arena *a,
                         const struct group_told **ret_told, size_t *ret_count) {
        const struct value *old = value_getc(before, "conditions"), *new = value_getc(after, "conditions");
        struct group_told *told = arena_zalloc(a, (ARRAY_LEN(troubles) + 1) * sizeof *told);
        enum phase now = told_phase(new);
        size_t count = 0;

        if (now != PHASE_NONE && now != told_phase(old))
                told[count++] = tell_phase(now, after, replicas, a);
        for (size_t i = 0; i < ARRAY_LEN(troubles); i++) {
                struct str type = str_from(troubles[i]);
                const struct value *c = conditions_find(new, type);

                if (conditions_on(new, type) && !conditions_on(old, type))
                        told[count++] = (struct group_told){ .warning = true,
                                                             .reason = value_text(value_getc(c, "reason")),
                                                             .message = value_text(value_getc(c, "message")) };
        }
        *ret_told = told;
        *ret_count = count;
}

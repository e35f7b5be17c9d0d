/* SPDX-License-Identifier: Apache-2.0 */
/* Writes that the server refuses: when each is worth another try, and the condition that says so. */
#include "agent/groups_impl.h"

#include <ctype.h>
#include <string.h>

#include "group/conditions.h"
#include "sync/backoff.h"

/* For rights that are missing; what a policy refuses waits a minute at least (sync/backoff.h). */
#define REFUSED           ((struct backoff){ 5000, 2, 5 * 60000 })
#define MESSAGE_MAX_BYTES 1024

#define CONCEALED         "***"
#define SECRET_MIN_BYTES  4 /* shorter values are words of any sentence */
#define SECRET_LONG_BYTES 8

static void refusal_done(struct refusal *r) {
        free(r->name);
        free(r->text);
}

void refusals_clear(struct set *s) {
        for (size_t i = 0; i < s->refusal_count; i++)
                refusal_done(&s->refusals[i]);
        free(s->refusals);
        s->refusals = NULL;
        s->refusal_count = s->refusal_cap = 0;
}

static bool is_about(const struct refusal *r, const struct group_action *action) {
        return r->kind == action->kind && r->object == action->object && str_eqc(action->name, r->name);
}

static struct refusal *find(const struct set *s, const struct group_action *action) {
        for (size_t i = 0; i < s->refusal_count; i++)
                if (is_about(&s->refusals[i], action))
                        return &s->refusals[i];
        return NULL;
}

/* --- what an answer may say -------------------------------------------------------------------------------------- */

static bool is_of_word(char c) {
        return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* Short ones only where they stand alone: "demo" is no part of "demo-0". */
static bool gives_away(const char *msg, const char *at, struct str secret) {
        if (secret.n >= SECRET_LONG_BYTES)
                return true;
        return (at == msg || !is_of_word(at[-1])) && !is_of_word(at[secret.n]);
}

static void conceal(struct err *err, struct str secret) {
        char *at = err->msg;

        while (secret.n >= SECRET_MIN_BYTES && (at = memmem(at, strlen(at), secret.p, secret.n))) {
                if (!gives_away(err->msg, at, secret)) {
                        at++;
                        continue;
                }
                memmove(at + strlen(CONCEALED), at + secret.n, strlen(at + secret.n) + 1);
                at = mempcpy(at, CONCEALED, strlen(CONCEALED));
        }
}

/* What every container of a group is told (group/build.h) is in the names of its pods already. */
static bool is_made(struct str name) {
        return str_starts(name, STR("LWS_")) || str_starts(name, STR("TPU_"));
}

static void conceal_values(const struct value *env, struct err *err) {
        for (size_t i = 0; value_is(env, VALUE_LIST) && i < env->list.count; i++)
                if (!is_made(value_text(value_getc(env->list.items[i], "name"))))
                        conceal(err, value_text(value_getc(env->list.items[i], "value")));
}

/* An admission policy may answer with what it was asked about, be it a Pod or a revision. */
void conceal_env(const struct value *body, struct err *err) {
        if (!err->code)
                return;
        for (size_t i = 0; value_is(body, VALUE_LIST) && i < body->list.count; i++)
                conceal_env(body->list.items[i], err);
        for (size_t i = 0; value_is(body, VALUE_MAP) && i < body->map.count; i++) {
                if (str_eqc(body->map.members[i].key, "env"))
                        conceal_values(body->map.members[i].value, err);
                else
                        conceal_env(body->map.members[i].value, err);
        }
}

/* --- which writes ------------------------------------------------------------------------------------------------ */

void refuse(struct set *s, const struct group_action *action, struct hash128 asked, const struct err *err) {
        struct loop *loop = s->groups->env.loop;
        struct refusal *r = find(s, action);

        if (!r) {
                s->refusals = mem_grow(s->refusals, &s->refusal_cap, s->refusal_count + 1, sizeof *s->refusals);
                r = &s->refusals[s->refusal_count++];
                *r = (struct refusal){ .kind = action->kind, .object = action->object, .name = str_dup(action->name) };
        }
        free(r->text);
        r->text = str_dup(str_from(err->msg));
        r->code = err->code;
        r->asked = asked;
        r->tries++;
        r->until_ms = err->code == ERR_INVAL ? INT64_MAX
                                             : loop_now_ms(loop) + backoff_after(&REFUSED, r->tries, err,
                                                                                 (unsigned)loop_random(loop, 1000));
        tell_refusal(s, action, err);
}

void refusal_over(struct set *s, const struct group_action *action) {
        struct refusal *r = find(s, action);

        if (!r)
                return;
        refusal_done(r);
        *r = s->refusals[--s->refusal_count];
}

bool is_refused(const struct set *s, const struct group_action *action, int64_t *soonest_ms) {
        const struct refusal *r = find(s, action);
        int64_t left;

        if (!r || !hash128_eq(r->asked, s->asked)) /* what is asked for now may be welcome */
                return false;
        if (r->code == ERR_INVAL)
                return true;
        left = r->until_ms - loop_now_ms(s->groups->env.loop);
        if (left > 0 && (!*soonest_ms || left < *soonest_ms))
                *soonest_ms = left;
        return left > 0;
}

/* --- the condition ----------------------------------------------------------------------------------------------- */

static const char *reason_of(enum err_code code) {
        switch (code) {
        case ERR_DENIED:
                return "AdmissionDenied";
        case ERR_INVAL:
                return "Invalid";
        case ERR_FORBIDDEN:
                return "Forbidden";
        default:
                return "Failed";
        }
}

static bool is_planned(const struct refusal *r, const struct group_plan *plan) {
        for (size_t i = 0; i < plan->action_count; i++)
                if (is_about(r, &plan->actions[i]))
                        return true;
        return false;
}

void refusals_keep(struct set *s, const struct group_plan *plan) {
        size_t kept = 0;

        for (size_t i = 0; i < s->refusal_count; i++) {
                if (is_planned(&s->refusals[i], plan))
                        s->refusals[kept++] = s->refusals[i];
                else
                        refusal_done(&s->refusals[i]);
        }
        s->refusal_count = kept;
}

/* What was asked for may be another thing by now. */
static bool counts(const struct set *s, const struct refusal *r) {
        return hash128_eq(r->asked, s->asked);
}

/* The one that is told of: by name, so that it stays the same. */
static const struct refusal *first_refusal(const struct set *s) {
        const struct refusal *first = NULL;

        for (size_t i = 0; i < s->refusal_count; i++) {
                const struct refusal *r = &s->refusals[i];

                if (counts(s, r) && (!first || strcmp(r->name, first->name) < 0))
                        first = r;
        }
        return first;
}

static struct condition verdict(const struct set *s, struct arena *a) {
        struct condition c = { .type = STR(GROUP_CONDITION_BLOCKED),
                               .reason = STR("Written"),
                               .message = STR("what is planned is written") };
        const struct refusal *r = first_refusal(s);
        const char *what = "";
        const struct err *err = s->groups->cache ? groups_cache_err(s->groups->cache, &what) : NULL;

        if (r) {
                c.on = true;
                c.reason = str_from(reason_of(r->code));
                c.message = str_from(r->text);
        } else if (err && err->code == ERR_FORBIDDEN) {
                c.on = true;
                c.reason = STR("Forbidden");
                c.message = arena_strf(a, "%s cannot be read: %s", what, err->msg);
        } else if (s->mishaps >= GROUPS_MISHAPS_TOLD && s->mishap) {
                c.on = true;
                c.reason = STR("Failed");
                c.message = str_from(s->mishap);
        }
        c.message = str_sub(c.message, 0, MESSAGE_MAX_BYTES);
        return c;
}

bool may_be_blocked(const struct set *s, const struct live *live) {
        const char *what;

        return s->refusal_count || s->mishaps >= GROUPS_MISHAPS_TOLD ||
               (s->groups->cache && groups_cache_err(s->groups->cache, &what)) ||
               str_contains((struct str){ live->text, live->text_bytes }, STR(GROUP_CONDITION_BLOCKED));
}

const struct value *blocked_status(struct set *s, const struct value *lws, struct arena *a) {
        const struct value *status = value_getc(lws, "status"), *before = value_getc(status, "conditions"), *after;
        struct condition blocked = verdict(s, a);
        int64_t generation = 0;

        if (!blocked.on && !conditions_find(before, blocked.type))
                return NULL;
        value_to_i64(value_path(lws, "metadata", "generation", NULL), &generation);
        after = conditions_set(before, &blocked, 1, generation, loop_wall_ms(s->groups->env.loop), a);
        return after == before ? NULL : value_with(a, status, STR("conditions"), after);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a size may change. A recommendation holds from one look to the next, so what was recommended within a window
 * is known without looking every 15 s.
 */
#include <stdlib.h>

#include "sandbox/controllers_autoscaler.h"

#define DOWN_WINDOW_S     300
#define LONGEST_PERIOD_MS (1800 * SECOND_MS)
#define LONGEST_WINDOW_MS (3600 * SECOND_MS)
#define RATE_MS           (15 * SECOND_MS)
#define FACTOR            2 /* without behavior: at most twice the size, or 4 */
#define FREE_REPLICAS     4

static int64_t min(int64_t a, int64_t b) {
        return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
        return a > b ? a : b;
}

void scaler_free(void *p) {
        struct scaler *m = p;

        free(m->recommendations);
        free(m->events);
        free(m);
}

/* ---- memory ---- */

static void recommend(struct scaler *m, int64_t replicas, int64_t now) {
        size_t n = 0;

        if (m->recommendation_count && m->recommendations[m->recommendation_count - 1].replicas == replicas)
                return;
        if (m->recommendation_count)
                m->recommendations[m->recommendation_count - 1].until_ms = now;
        for (size_t i = 0; i < m->recommendation_count; i++)
                if (m->recommendations[i].until_ms > now - LONGEST_WINDOW_MS)
                        m->recommendations[n++] = m->recommendations[i];
        m->recommendations = mem_grow(m->recommendations, &m->recommendation_cap, n + 1, sizeof *m->recommendations);
        m->recommendations[n] = (struct recommendation){ replicas, INT64_MAX };
        m->recommendation_count = n + 1;
}

void autoscale_begin(struct autoscale *s) {
        if (s->memory->recommendation_count == 0)
                recommend(s->memory, s->current, look_wall_ms(s->l));
}

void autoscale_note_event(struct autoscale *s, int64_t change) {
        struct scaler *m = s->memory;
        int64_t now = look_wall_ms(s->l);
        size_t n = 0;

        for (size_t i = 0; i < m->event_count; i++)
                if (m->events[i].at_ms > now - LONGEST_PERIOD_MS)
                        m->events[n++] = m->events[i];
        m->events = mem_grow(m->events, &m->event_cap, n + 1, sizeof *m->events);
        m->events[n] = (struct scale_event){ change, now };
        m->event_count = n + 1;
}

static int64_t change_within(const struct autoscale *s, int64_t period_ms) {
        int64_t sum = 0;

        for (size_t i = 0; i < s->memory->event_count; i++)
                if (s->memory->events[i].at_ms > look_wall_ms(s->l) - period_ms)
                        sum += s->memory->events[i].change;
        return sum;
}

/* ---- stabilisation ---- */

static int64_t window_ms(const struct autoscale *s, bool is_up) {
        const struct value *rules = value_path(s->spec, "behavior", is_up ? "scaleUp" : "scaleDown", NULL);

        return int_or(value_getc(rules, "stabilizationWindowSeconds"), is_up ? 0 : DOWN_WINDOW_S) * SECOND_MS;
}

static int64_t stabilise(struct autoscale *s, int64_t desired) {
        int64_t now = look_wall_ms(s->l), up = desired, down = desired, soonest = INT64_MAX;
        int64_t up_ms = window_ms(s, true), down_ms = window_ms(s, false), result = s->current;

        for (size_t i = 0; i < s->memory->recommendation_count; i++) {
                const struct recommendation *r = &s->memory->recommendations[i];
                /* The newest one ends now. */
                int64_t until = min(r->until_ms, now);

                if (up_ms && until > now - up_ms)
                        up = min(up, r->replicas);
                if (down_ms && until > now - down_ms)
                        down = max(down, r->replicas);
                if (r->replicas != desired)
                        soonest = min(soonest, until + (r->replicas < desired ? up_ms : down_ms));
        }
        recommend(s->memory, desired, now);
        result = min(max(result, up), down);
        if (result != desired && soonest != INT64_MAX)
                look_again(s->l, max(soonest - now, SECOND_MS) + 1);
        return result;
}

/* ---- rates ---- */

static int64_t policy_limit(const struct autoscale *s, const struct value *policy, bool is_up) {
        int64_t value = int_or(value_getc(policy, "value"), 0);
        int64_t start = s->current - change_within(s, int_or(value_getc(policy, "periodSeconds"), 15) * SECOND_MS);

        if (str_eqc(value_text(value_getc(policy, "type")), "Pods"))
                return is_up ? start + value : start - value;
        return is_up ? (start * (100 + value) + 99) / 100 : start * (100 - value) / 100;
}

/* The furthest size that the rules allow right now. */
static int64_t rate_limit(const struct autoscale *s, bool is_up) {
        const struct value *rules = value_path(s->spec, "behavior", is_up ? "scaleUp" : "scaleDown", NULL);
        const struct value *policies = value_getc(rules, "policies");
        struct str select = value_text(value_getc(rules, "selectPolicy"));
        bool wants_far = !str_eqc(select, "Min");

        if (str_eqc(select, "Disabled"))
                return s->current;
        if (value_count(policies) == 0)
                return is_up ? max(FACTOR * s->current, FREE_REPLICAS) : 0;
        int64_t limit = policy_limit(s, policies->list.items[0], is_up);
        for (size_t i = 1; i < policies->list.count; i++) {
                int64_t other = policy_limit(s, policies->list.items[i], is_up);

                limit = wants_far == is_up ? max(limit, other) : min(limit, other);
        }
        return is_up ? max(limit, s->current) : min(limit, s->current);
}

struct limit {
        int64_t replicas;
        const char *reason, *message;
};

static struct limit upper_limit(const struct autoscale *s) {
        int64_t rate = rate_limit(s, true);

        if (s->most > rate)
                return (struct limit){ rate, "ScaleUpLimit",
                                       "the desired replica count is increasing faster than the maximum scale rate" };
        return (struct limit){ s->most, "TooManyReplicas",
                               "the desired replica count is more than the maximum replica count" };
}

static struct limit lower_limit(const struct autoscale *s) {
        int64_t rate = rate_limit(s, false);

        if (s->least < rate)
                return (struct limit){ rate, "ScaleDownLimit",
                                       "the desired replica count is decreasing faster than the maximum scale rate" };
        return (struct limit){ s->least, "TooFewReplicas",
                               "the desired replica count is less than the minimum replica count" };
}

static struct limit apply_limits(const struct autoscale *s, int64_t desired) {
        struct limit upper = upper_limit(s), lower = lower_limit(s);

        if (desired > upper.replicas && desired > s->current)
                return upper;
        if (desired > s->most)
                return (struct limit){ s->most, "TooManyReplicas",
                                       "the desired replica count is more than the maximum replica count" };
        if (desired < lower.replicas)
                return lower;
        return (struct limit){ desired, "DesiredWithinRange", "the desired count is within the acceptable range" };
}

/* ---- both ---- */

int64_t autoscale_pace(struct autoscale *s, int64_t desired) {
        struct arena *a = s->l->a;
        int64_t stable = stabilise(s, desired);
        struct limit limit = apply_limits(s, stable);
        bool is_up = desired >= s->current;

        if (stable == desired)
                autoscale_condition(s, "AbleToScale", true, "ReadyForNewScale",
                                    make_text(a, "recommended size matches current size"));
        else
                autoscale_condition(
                        s, "AbleToScale", true, is_up ? "ScaleUpStabilized" : "ScaleDownStabilized",
                        make_text(a,
                                  is_up ? "recent recommendations were lower than current one, applying the lowest "
                                          "recent recommendation"
                                        : "recent recommendations were higher than current one, applying the highest "
                                          "recent recommendation"));
        autoscale_condition(s, "ScalingLimited", limit.replicas != stable, limit.reason, make_text(a, limit.message));
        if (limit.replicas != stable && limit.replicas > s->least && limit.replicas < s->most)
                look_again(s->l, RATE_MS);
        return limit.replicas;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object of any shape (JSON), judged by the rule that there is for its kind, in C or in Lua, with and without the
 * freshness guard. Whatever it is, the answer is a word with a bounded message; the guard never makes anything Healthy;
 * and the same question has the same answer.
 */
#include "fuzz.h"

#include "base/json.h"
#include "health/rules.h"
#include "health/settle.h"
#include "health/total.h"

/* 2026-01-01T12:00:00Z */
#define NOW_MS INT64_C(1767268800000)

static void check(const struct health *h) {
        HOLDS(h->code >= HEALTH_NONE && h->code <= HEALTH_UNKNOWN);
        HOLDS(h->message.n <= HEALTH_MAX_MESSAGE_BYTES && str_is_utf8(h->message));
        HOLDS(str_find(h->message, '\x1b', 0) < 0 && str_find(h->message, '\0', 0) < 0);
        HOLDS(h->rule && h->again_ms >= 0);
        HOLDS(!h->terminal || h->code == HEALTH_DEGRADED);
        HOLDS(h->failure == ERR_OK || h->code == HEALTH_UNKNOWN);
        HOLDS(!h->guard || h->code == HEALTH_PROGRESSING);
}

static void add_up(const struct health *h, struct arena *a) {
        struct health_total t = { 0 };
        struct str message;

        for (int i = 0; i < 5; i++)
                health_total_add(&t,
                                 &(struct health_member){ .name = h->message, .code = h->code, .message = h->message });
        message = health_total_message(&t, a);
        HOLDS(message.n <= HEALTH_MAX_MESSAGE_BYTES && str_is_utf8(message) && str_find(message, '\n', 0) < 0);
        HOLDS(t.code == (h->code == HEALTH_NONE ? HEALTH_HEALTHY : h->code));
}

static void settle(const struct health *h) {
        struct health_settle s = { 0 };
        int64_t again_ms;

        health_settle(&s, h, 0, true, NOW_MS, &again_ms);
        HOLDS(again_ms == 0 || again_ms > NOW_MS);
        health_settle(&s, h, 0, true, NOW_MS + HEALTH_DEAD_BAND_MS, &again_ms);
        HOLDS(s.shown == h->code);
}

static struct health judge(struct health_rules *r, const struct value *object, bool guard, struct arena *a) {
        struct health_question q = { .object = object, .now_ms = NOW_MS, .guard = guard };
        struct health h;

        health_judge(r, &q, a, &h);
        check(&h);
        return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        /* Anew each time: a rule that ran out of time must not stay in quarantine. */
        struct health_rules *r = health_rules_new();
        struct arena *a = arena_new(0);
        const struct value *object;

        if (json_parse((struct str){ (const char *)data, n }, a, &object, NULL) == 0) {
                struct health alone = judge(r, object, false, a), guarded = judge(r, object, true, a);
                struct health again = judge(r, object, false, a);

                HOLDS(again.code == alone.code && str_eq(again.message, alone.message));
                add_up(&guarded, a);
                settle(&guarded);
        }
        arena_free(a);
        health_rules_unref(r);
        return 0;
}

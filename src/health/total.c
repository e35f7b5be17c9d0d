/* SPDX-License-Identifier: Apache-2.0 */
#include "health/total.h"

#include "health/message.h"

/* Three of both, and what is between them, stay below HEALTH_MAX_MESSAGE_BYTES. */
#define NAME_MAX_BYTES  256
#define CAUSE_MAX_BYTES 384

void health_total_add(struct health_total *t, const struct health_member *m) {
        enum health_code code = m->code;

        if (code == HEALTH_SUSPENDED && m->suspended_is_healthy)
                code = HEALTH_HEALTHY;
        if (t->code == HEALTH_NONE)
                t->code = HEALTH_HEALTHY;
        if (m->ignored)
                return;

        t->counts[code]++;
        if (code < t->code || code <= HEALTH_HEALTHY)
                return;
        if (code > t->code)
                t->worst = 0;
        t->code = code;
        if (t->worst < HEALTH_TOTAL_NAMED)
                t->named[t->worst] = *m;
        t->worst++;
}

struct str health_total_message(const struct health_total *t, struct arena *a) {
        size_t named = t->worst < HEALTH_TOTAL_NAMED ? t->worst : HEALTH_TOTAL_NAMED;
        _cleanup_(buf_done) struct buf out = buf_make(HEALTH_MAX_MESSAGE_BYTES);

        for (size_t i = 0; i < named; i++) {
                const struct health_member *m = &t->named[i];

                buf_addc(&out, i > 0 ? "; " : "");
                message_add_line(&out, m->name, NAME_MAX_BYTES);
                buf_addc(&out, m->message.n > 0 ? ": " : "");
                message_add_line(&out, m->message, CAUSE_MAX_BYTES);
        }
        if (t->worst > named)
                buf_addf(&out, "; and %zu more", t->worst - named);
        return arena_str(a, buf_str(&out));
}

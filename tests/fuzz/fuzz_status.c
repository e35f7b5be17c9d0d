/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any body under any HTTP status gives a code, a message and details that agree; redacting leaves none of the texts the
 * body could have chosen. The first two bytes are the HTTP status, the rest is the body.
 */
#include "fuzz.h"

#include "kube/status.h"

/* What is a cause's own text, and long enough not to turn up by chance. */
static void check_redacted(struct kube_status *s, struct arena *a, struct err *err, struct str message) {
        bool had_text = message.n > 64 && !str_contains(message, STR("denied")) &&
                        !str_contains(message, STR("PodSecurity")) && !str_contains(message, STR("quota"));

        kube_status_redact(s, a, err);
        for (size_t i = 0; i < s->cause_count && s->http_status; i++)
                HOLDS(str_eq(s->causes[i].message, s->causes[i].reason) || s->code == ERR_UNAUTH ||
                      s->code == ERR_FORBIDDEN || s->code == ERR_NOTFOUND || s->code == ERR_GONE ||
                      s->code == ERR_THROTTLED);
        if (had_text && s->code == ERR_INVAL && s->reason.n < message.n)
                HOLDS(!str_eq(s->message, message));
}

static void check(int r, struct kube_status *s, struct arena *a, struct err *err) {
        struct str message = s->message;

        HOLDS(r == (int)s->code);
        if (r == 0)
                return;
        HOLDS(err->code == r && err->msg[0] && err->http_status == s->http_status);
        HOLDS((s->conflict != KUBE_CONFLICT_NONE) == (r == ERR_CONFLICT));
        HOLDS(s->cause_count <= KUBE_STATUS_MAX_CAUSES);
        HOLDS(s->retry_after_ms >= 0);
        for (size_t i = 0; i < s->cause_count; i++)
                HOLDS(s->causes[i].manager.n <= s->causes[i].message.n);
        check_redacted(s, a, err, message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        if (n < 2)
                return 0;

        struct arena *a = arena_new(0);
        const struct kube_reply reply = {
                .status = 100 + (data[0] * 256 + data[1]) % 500,
                .body = { (const char *)data + 2, n - 2 },
        };
        struct kube_status status;
        struct err err = { 0 };

        int r = kube_status_from_reply(&reply, a, &status, &err);
        check(r, &status, a, &err);
        r = kube_status_from_object(reply.body, a, &status, &err);
        HOLDS(r < 0);
        check(r, &status, a, &err);
        arena_free(a);
        return 0;
}

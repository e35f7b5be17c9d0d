/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that goes away (a restart, or --goaway-chance) names the last stream it looked at; requests above it were
 * never acted on and may be sent again, writes too (RFC 9113 §6.8). With dozens of writes in flight each such farewell
 * would otherwise cost as many unknown outcomes. libcurl 7.88 repeats them as it repeats what died with its connection
 * and tells both apart nowhere but in its trace, so that is read here. Lines that a later libcurl words differently are
 * not understood, and then a write is not repeated: the safe side.
 *
 * Nor does libcurl's API tell how many streams a server allows on a connection. The trace does when a call has to go
 * elsewhere because a connection is full.
 */
#include "kube/curl_impl.h"

/* The number behind `label`, if the text holds it. */
static bool number_after(struct str text, struct str label, uint32_t *ret_number) {
        const char *at = memmem(text.p, text.n, label.p, label.n);
        uint64_t number = 0;
        size_t digits = 0;

        if (!at)
                return false;
        for (at += label.n; at < text.p + text.n && *at >= '0' && *at <= '9' && digits < 10; at++, digits++)
                number = number * 10 + (uint64_t)(*at - '0');
        *ret_number = (uint32_t)number;
        return digits && number <= INT32_MAX;
}

static void note_goaway(struct kube_call *call, uint32_t last_stream) {
        struct pump *p = call->pump;

        for (unsigned i = 0; i < PUMP_GOAWAYS; i++) {
                /* A second farewell may only lower what the first one said. */
                if (p->goaways[i].local_port != call->local_port)
                        continue;
                p->goaways[i].last_stream = last_stream;
                return;
        }
        p->goaways[p->next_goaway] = (struct goaway){ call->local_port, last_stream };
        p->next_goaway = (p->next_goaway + 1) % PUMP_GOAWAYS;
}

/* The port may have come back to us: a farewell on an older connection says nothing about this one. */
static void forget_goaway(struct kube_call *call) {
        for (unsigned i = 0; i < PUMP_GOAWAYS; i++)
                if (call->pump->goaways[i].local_port == call->local_port)
                        call->pump->goaways[i] = (struct goaway){ 0 };
}

static int on_trace(CURL *easy, curl_infotype type, char *p, size_t n, void *ctx) {
        struct kube_call *call = ctx;
        struct str text = { p, n };
        uint32_t number;

        (void)easy;
        if (type != CURLINFO_TEXT || !call->pump)
                return 0;
        /* Our own limit is worded "client side MAX_…". */
        if (str_starts(text, STR("MAX_CONCURRENT_STREAMS reached, skip (")) && number_after(text, STR("("), &number))
                transport_learn_streams(call->transport, number);
        if (!call->connected)
                return 0;
        if (str_starts(text, STR("Using Stream ID: ")) && number_after(text, STR("Stream ID: "), &number)) {
                call->stream = number;
                if (number == 1)
                        forget_goaway(call);
        } else if (str_contains(text, STR("GOAWAY, error=")) && number_after(text, STR("last_stream="), &number)) {
                note_goaway(call, number);
        } else if (str_starts(text, STR("REFUSED_STREAM, "))) {
                call->refused = true;
        }
        return 0;
}

unsigned trace_set(CURL *easy, struct kube_call *call) {
        return (unsigned)curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_trace) |
               (unsigned)curl_easy_setopt(easy, CURLOPT_DEBUGDATA, call) |
               (unsigned)curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
}

static const struct goaway *goaway_of(const struct kube_call *call) {
        for (unsigned i = 0; i < PUMP_GOAWAYS; i++)
                if (call->pump->goaways[i].local_port == call->local_port)
                        return &call->pump->goaways[i];
        return NULL;
}

bool trace_goaway(const struct kube_call *call) {
        return call->local_port && goaway_of(call);
}

bool trace_refused(const struct kube_call *call) {
        const struct goaway *goaway = call->stream ? goaway_of(call) : NULL;

        return call->refused || (goaway && call->stream > goaway->last_stream);
}

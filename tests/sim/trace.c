/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include "base/hash.h"

void trace_begin(struct trace *t, const struct loop *l, FILE *live) {
        *t = (struct trace){ .loop = l, .start_ms = loop_now_ms(l), .live = live };
}

void trace_done(struct trace *t) {
        for (size_t i = 0; i < TRACE_KEPT; i++)
                free(t->kept[i]);
}

int64_t trace_now_ms(const struct trace *t) {
        return loop_now_ms(t->loop) - t->start_ms;
}

void trace_mix(struct trace *t, struct str bytes) {
        const struct hash_key key = { t->hash, t->count };

        t->hash = hash64(&key, bytes);
}

void trace_add(struct trace *t, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf line = buf_make(1 << 24);
        int64_t ms = trace_now_ms(t);
        va_list ap;

        buf_addf(&line, "%6lld.%03d  ", (long long)(ms / 1000), (int)(ms % 1000));
        va_start(ap, fmt);
        buf_vaddf(&line, fmt, ap);
        va_end(ap);
        trace_mix(t, buf_str(&line));
        if (line.n > TRACE_LINE_BYTES)
                buf_truncate(&line, TRACE_LINE_BYTES);
        if (t->live)
                fprintf(t->live, "%s\n", line.p);
        char **place = &t->kept[t->count++ % TRACE_KEPT];
        free(*place);
        *place = str_dup(buf_str(&line));
}

void trace_print(const struct trace *t, FILE *out) {
        uint64_t from = t->count > TRACE_KEPT ? t->count - TRACE_KEPT : 0;

        for (uint64_t i = from; i < t->count; i++)
                fprintf(out, "  %s\n", t->kept[i % TRACE_KEPT]);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"
#include "base/limits.h"
#include "kube/curl_impl.h"

#define REPLY_MAX_HEADER_BYTES 1024 /* Content-Type, Audit-ID: longer ones count as absent */
#define RETRY_AFTER_MAX_MS (24 * 60 * 60 * INT64_C(1000))

void reply_init(struct kube_call *call) {
        call->reply = buf_make(KUBE_MAX_REPLY_BYTES);
        call->content_type_seen = buf_make(REPLY_MAX_HEADER_BYTES);
        call->audit_id = buf_make(REPLY_MAX_HEADER_BYTES);
        call->warnings = buf_make(CURL_MAX_WARNING_BYTES);
}

void reply_clear(struct kube_call *call) {
        call->status = 0;
        call->retry_after_ms = 0;
        buf_clear(&call->reply);
        buf_clear(&call->content_type_seen);
        buf_clear(&call->audit_id);
        buf_clear(&call->warnings);
}

void reply_done(struct kube_call *call) {
        buf_done(&call->reply);
        buf_done(&call->content_type_seen);
        buf_done(&call->audit_id);
        buf_done(&call->warnings);
}

/* "HTTP/1.1 200 OK", "HTTP/2 200". */
static void status_line(struct kube_call *call, struct str line) {
        ptrdiff_t blank = str_find(line, ' ', 0);
        int64_t status;

        reply_clear(call);
        if (blank > 0 && str_to_i64(str_sub(line, (size_t)blank + 1, (size_t)blank + 4), &status))
                call->status = (int)status;
}

static void replace(struct buf *b, struct str text) {
        buf_clear(b);
        buf_add(b, text);
}

static void content_type(struct kube_call *call, struct str value, int64_t wall_ms) {
        (void)wall_ms;
        replace(&call->content_type_seen, value);
}

static void audit_id(struct kube_call *call, struct str value, int64_t wall_ms) {
        (void)wall_ms;
        replace(&call->audit_id, value);
}

/* Seconds or an HTTP date (RFC 9110 §10.2.3). */
static void retry_after(struct kube_call *call, struct str value, int64_t wall_ms) {
        _cleanup_(mem_freep) char *text = str_dup(value);
        int64_t seconds, ms;

        if (str_to_i64(value, &seconds) && seconds >= 0) {
                ms = duration_of_seconds(seconds);
        } else {
                time_t at = curl_getdate(text, NULL);

                ms = at == -1 ? 0 : duration_of_seconds((int64_t)at - wall_ms / 1000);
        }
        call->retry_after_ms = ms < 0 ? 0 : ms > RETRY_AFTER_MAX_MS ? RETRY_AFTER_MAX_MS : ms;
}

static size_t skip_blanks(struct str s, size_t at) {
        while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t'))
                at++;
        return at;
}

static size_t skip_word(struct str s, size_t at) {
        while (at < s.n && s.p[at] != ' ' && s.p[at] != '\t' && s.p[at] != ',')
                at++;
        return at;
}

/* Reads a quoted string that begins at `at`; returns the place behind it, or 0 when none is there. `out` may be NULL. */
static size_t quoted(struct str s, size_t at, struct buf *out) {
        if (at >= s.n || s.p[at] != '"')
                return 0;
        for (at++; at < s.n && s.p[at] != '"'; at++) {
                if (s.p[at] == '\\' && at + 1 < s.n)
                        at++;
                if (out)
                        buf_addch(out, (unsigned char)s.p[at] < ' ' || s.p[at] == 0x7f ? ' ' : s.p[at]);
        }
        return at < s.n ? at + 1 : 0;
}

static void add_warning(struct kube_call *call, struct str text) {
        size_t before = call->warnings.n;

        if (!text.n || call->warnings.overflow)
                return;
        if (before)
                buf_addch(&call->warnings, '\n');
        buf_add(&call->warnings, text);
        if (call->warnings.overflow && call->warnings.n > before)
                buf_truncate(&call->warnings, before);
}

/* One `299 agent "text" ["date"]`; returns the place behind it, 0 when it is malformed. RFC 7234 §5.5. */
static size_t warning_value(struct kube_call *call, struct str value, size_t at) {
        _cleanup_(buf_done) struct buf text = buf_make(CURL_MAX_WARNING_BYTES);
        size_t code_end = skip_word(value, at), after, dated;
        bool wanted = str_eq(str_sub(value, at, code_end), STR("299"));

        at = skip_blanks(value, skip_word(value, skip_blanks(value, code_end)));
        after = quoted(value, at, &text);
        if (!after)
                return 0;
        dated = quoted(value, skip_blanks(value, after), NULL);
        if (wanted)
                add_warning(call, buf_str(&text));
        return dated ? dated : after;
}

static void warning(struct kube_call *call, struct str value, int64_t wall_ms) {
        size_t at = 0;

        (void)wall_ms;
        while (at < value.n) {
                at = warning_value(call, value, skip_blanks(value, at));
                if (!at)
                        return;
                at = skip_blanks(value, at);
                if (at < value.n && value.p[at] == ',')
                        at++;
                else
                        return;
        }
}

static const struct {
        const char *name;
        void (*take)(struct kube_call *call, struct str value, int64_t wall_ms);
} taken[] = {
        { "content-type", content_type },
        { "audit-id", audit_id },
        { "retry-after", retry_after },
        { "warning", warning },
};

void reply_header(struct kube_call *call, struct str line, int64_t wall_ms) {
        ptrdiff_t colon = str_find(line, ':', 0);

        if (str_starts(line, STR("HTTP/"))) {
                status_line(call, line);
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(taken) && colon > 0; i++)
                if (strlen(taken[i].name) == (size_t)colon && strncasecmp(line.p, taken[i].name, (size_t)colon) == 0)
                        taken[i].take(call, str_trim(str_sub(line, (size_t)colon + 1, line.n)), wall_ms);
}

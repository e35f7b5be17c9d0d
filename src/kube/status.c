/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/status.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/value.h"

/* --- reading the body --- */

/* The string after `from` between Go's double quotes with its escapes undone; what follows is left in *rest. */
static bool take_quoted(struct str *rest, struct arena *a, struct str *ret_text) {
        if (rest->n == 0 || rest->p[0] != '"')
                return false;

        char *text = arena_alloc(a, rest->n);
        size_t n = 0, i = 1;

        for (; i < rest->n && rest->p[i] != '"'; i++) {
                if (rest->p[i] == '\\' && i + 1 < rest->n)
                        i++;
                text[n++] = rest->p[i];
        }
        if (i >= rest->n)
                return false;

        *ret_text = (struct str){ text, n };
        *rest = str_sub(*rest, i + 1, rest->n);
        return true;
}

static bool take_prefix(struct str *rest, struct str prefix) {
        if (!str_starts(*rest, prefix))
                return false;

        *rest = str_sub(*rest, prefix.n, rest->n);
        return true;
}

/*
 * `conflict with "M" [with subresource "S"] [using V [at T]]`: the API server prints a version (and a time) exactly for
 * Update entries.
 */
static void read_conflict(struct kube_cause *cause, struct arena *a) {
        struct str rest = cause->message;

        if (!take_prefix(&rest, STR("conflict with ")) || !take_quoted(&rest, a, &cause->manager))
                return;
        if (take_prefix(&rest, STR(" with subresource ")))
                take_quoted(&rest, a, &cause->subresource);

        cause->operation = KUBE_OPERATION_APPLY;
        if (!take_prefix(&rest, STR(" using ")))
                return;
        cause->operation = KUBE_OPERATION_UPDATE;
        str_next(&rest, ' ', &cause->api_version);
}

static bool is_field_conflict(const struct kube_cause *cause) {
        return str_eqc(cause->reason, "FieldManagerConflict");
}

static void read_causes(struct kube_status *s, const struct value *causes, struct arena *a) {
        size_t count = value_is(causes, VALUE_LIST) ? causes->list.count : 0;
        struct kube_cause *read;

        if (count > KUBE_STATUS_MAX_CAUSES)
                count = KUBE_STATUS_MAX_CAUSES;
        read = arena_zalloc(a, count * sizeof *read);
        for (size_t i = 0; i < count; i++) {
                const struct value *cause = causes->list.items[i];

                read[i].reason = value_text(value_getc(cause, "reason"));
                read[i].message = value_text(value_getc(cause, "message"));
                read[i].field = value_text(value_getc(cause, "field"));
                if (is_field_conflict(&read[i]))
                        read_conflict(&read[i], a);
        }
        s->causes = read;
        s->cause_count = count;
}

/* An error's text ends at a NUL, which would hide what comes behind it. */
static struct str without_nuls(struct str text, struct arena *a) {
        struct str copy;

        if (text.n == 0 || !memchr(text.p, '\0', text.n))
                return text;
        copy = arena_str(a, text);
        for (size_t i = 0; i < copy.n; i++) {
                if (copy.p[i] == '\0')
                        ((char *)copy.p)[i] = ' ';
        }
        return copy;
}

static void read_status(struct kube_status *s, const struct value *v, struct arena *a) {
        const struct value *details = value_getc(v, "details");
        int64_t retry_s = 0;

        s->reason = without_nuls(value_text(value_getc(v, "reason")), a);
        s->message = without_nuls(value_text(value_getc(v, "message")), a);
        s->name = value_text(value_getc(details, "name"));
        s->group = value_text(value_getc(details, "group"));
        s->kind = value_text(value_getc(details, "kind"));
        s->uid = value_text(value_getc(details, "uid"));
        read_causes(s, value_getc(details, "causes"), a);
        if (s->retry_after_ms == 0 && value_to_i64(value_getc(details, "retryAfterSeconds"), &retry_s) && retry_s > 0 &&
            retry_s < 24 * 3600)
                s->retry_after_ms = retry_s * 1000;
}

/* The first line of a body that is no Status (a proxy's page, "404 page not found"), without control characters. */
static struct str first_line(struct str body, struct arena *a) {
        struct str line = { 0 };

        body = str_trim(str_sub(body, 0, KUBE_STATUS_MAX_TEXT_BYTES));
        str_next(&body, '\n', &line);
        line = str_trim(line);
        while (line.n && !str_is_utf8(line))
                line.n--;

        char *text = arena_alloc(a, line.n);
        for (size_t i = 0; i < line.n; i++)
                text[i] = (unsigned char)line.p[i] < 0x20 || line.p[i] == 0x7f ? ' ' : line.p[i];
        return (struct str){ text, line.n };
}

static bool read_body(struct kube_status *s, struct str body, struct arena *a) {
        const struct value *v = NULL;

        if (body.n <= KUBE_MAX_ERROR_BYTES && json_parse(body, a, &v, NULL) == 0 &&
            str_eqc(value_text(value_getc(v, "kind")), "Status")) {
                read_status(s, v, a);
                return true;
        }
        s->message = first_line(body, a);
        return false;
}

/* --- from details to a code --- */

static const struct kube_cause *find_cause(const struct kube_status *s, const char *reason, const char *field) {
        for (size_t i = 0; i < s->cause_count; i++)
                if ((!reason || str_eqc(s->causes[i].reason, reason)) && (!field || str_eqc(s->causes[i].field, field)))
                        return &s->causes[i];
        return NULL;
}

static bool says(const struct kube_status *s, const char *text) {
        return str_contains(s->message, str_from(text));
}

/*
 * How admission says no: an opening, and what follows it. Webhooks choose their own HTTP status, so the text decides.
 * Authorization ("User … cannot patch …") and the NamespaceLifecycle plug-in are not among them.
 */
static const struct {
        const char *opens, *closes;
} denials[] = {
        { "ValidatingAdmissionPolicy '", "denied request" },
        { "admission webhook \"", "denied the request" },
        { "violates PodSecurity \"", "\"" },
        { "exceeded quota: ", "," },
};

/* The part of the message that names who denied; empty when nobody did. */
static struct str find_denial(struct str message) {
        for (size_t i = 0; i < ARRAY_LEN(denials); i++) {
                struct str opens = str_from(denials[i].opens), closes = str_from(denials[i].closes);
                const char *from = message.n ? memmem(message.p, message.n, opens.p, opens.n) : NULL;
                if (!from)
                        continue;

                struct str rest = str_sub(message, (size_t)(from - message.p), message.n);
                const char *to = memmem(rest.p + opens.n, rest.n - opens.n, closes.p, closes.n);
                if (to)
                        return (struct str){ from, (size_t)(to - from) + closes.n };
        }
        return (struct str){ 0 };
}

static enum err_code code_of_conflict(struct kube_status *s) {
        if (find_cause(s, "FieldManagerConflict", NULL))
                s->conflict = KUBE_CONFLICT_FIELDS;
        else if (str_eqc(s->reason, "AlreadyExists"))
                s->conflict = KUBE_CONFLICT_EXISTS;
        else if (says(s, "uid mismatch") || says(s, "UID in the precondition") || says(s, "UID in precondition"))
                s->conflict = KUBE_CONFLICT_UID;
        else if (says(s, "the object has been modified") || says(s, "ResourceVersion in the precondition"))
                s->conflict = KUBE_CONFLICT_RESOURCE_VERSION;
        else
                s->conflict = KUBE_CONFLICT_OTHER;
        return ERR_CONFLICT;
}

static enum err_code code_of_invalid(struct kube_status *s) {
        if (!find_cause(s, NULL, "metadata.uid") || !says(s, "immutable"))
                return ERR_INVAL;

        s->conflict = KUBE_CONFLICT_UID;
        return ERR_CONFLICT;
}

static enum err_code code_of_missing(struct kube_status *s) {
        s->namespace_missing = str_eqc(s->kind, "namespaces") && s->group.n == 0;
        s->not_served = s->name.n == 0;
        return ERR_NOTFOUND;
}

/* 500s that are not the server's fault, or that tell more than "500". Seen on real servers: research/testbed.md. */
static const struct {
        const char *text;
        enum err_code code;
} texts_of_500[] = {
        { "failed to create typed patch object", ERR_INVAL },
        { "failed to convert new object", ERR_INVAL },
        { "request is too large", ERR_LIMIT },
        { "trying to send message larger than max", ERR_LIMIT },
        { "etcdserver: request timed out", ERR_TIMEOUT },
        { "context deadline exceeded", ERR_TIMEOUT },
};

static enum err_code code_of_500(struct kube_status *s) {
        if (str_eqc(s->reason, "ServerTimeout") || str_eqc(s->reason, "Timeout"))
                return ERR_TIMEOUT;

        for (size_t i = 0; i < ARRAY_LEN(texts_of_500); i++)
                if (says(s, texts_of_500[i].text))
                        return texts_of_500[i].code;
        return ERR_INTERNAL;
}

static const struct {
        int http_status;
        enum err_code code; /* unless `look` decides */
        enum err_code (*look)(struct kube_status *status);
} codes[] = {
        { 400, ERR_INVAL, NULL },       { 401, ERR_UNAUTH, NULL },
        { 403, ERR_FORBIDDEN, NULL },   { 404, ERR_NOTFOUND, code_of_missing },
        { 405, ERR_UNSUPPORTED, NULL }, { 406, ERR_INVAL, NULL },
        { 408, ERR_TIMEOUT, NULL },     { 409, ERR_CONFLICT, code_of_conflict },
        { 410, ERR_GONE, NULL },        { 413, ERR_LIMIT, NULL },
        { 415, ERR_INVAL, NULL },       { 422, ERR_INVAL, code_of_invalid },
        { 429, ERR_THROTTLED, NULL },   { 500, ERR_INTERNAL, code_of_500 },
        { 502, ERR_UNREACHABLE, NULL }, { 503, ERR_UNREACHABLE, NULL },
        { 504, ERR_TIMEOUT, NULL },
};

static enum err_code code_of(struct kube_status *s) {
        if (s->http_status >= 400 && find_denial(s->message).n)
                return ERR_DENIED;

        for (size_t i = 0; i < ARRAY_LEN(codes); i++)
                if (codes[i].http_status == s->http_status)
                        return codes[i].look ? codes[i].look(s) : codes[i].code;

        /* What is left are redirects, which an API server does not send, and statuses that nobody defined. */
        return s->http_status >= 400 && s->http_status < 500 ? ERR_INVAL : ERR_INTERNAL;
}

static int judge(struct kube_status *s, struct err *err) {
        s->namespace_terminating = find_cause(s, "NamespaceTerminating", NULL) != NULL;
        s->rv_too_large = find_cause(s, "ResourceVersionTooLarge", NULL) || says(s, "Too large resource version");
        s->code = code_of(s);

        if (s->message.n)
                err_set(err, s->code, "%.*s", STR_FMT(s->message));
        else if (s->reason.n)
                err_set(err, s->code, "%.*s", STR_FMT(s->reason));
        else
                err_set(err, s->code, "the API server answered HTTP %d", s->http_status);
        if (err) {
                err->http_status = s->http_status;
                err->retry_after_ms = s->retry_after_ms;
        }
        return s->code;
}

int kube_status_from_reply(const struct kube_reply *reply, struct arena *a, struct kube_status *ret, struct err *err) {
        *ret = (struct kube_status){ .http_status = reply->status, .retry_after_ms = reply->retry_after_ms };
        if (reply->status >= 200 && reply->status < 300)
                return 0;

        if (!read_body(ret, reply->body, a) && str_starts(ret->message, STR("<")))
                ret->message = arena_strf(a, "HTTP %d with a page that no API server sends (is the address right?): %.*s",
                                          reply->status, STR_FMT(ret->message));
        return judge(ret, err);
}

int kube_status_from_object(struct str object, struct arena *a, struct kube_status *ret, struct err *err) {
        const struct value *v = NULL;
        int64_t code = 0;

        *ret = (struct kube_status){ .http_status = 500 };
        if (!read_body(ret, object, a))
                return judge(ret, err);

        json_parse(object, a, &v, NULL);
        if (value_to_i64(value_getc(v, "code"), &code) && code >= 400 && code <= 599)
                ret->http_status = (int)code;
        return judge(ret, err);
}

void kube_status_from_err(const struct err *transport_err, struct arena *a, struct kube_status *ret) {
        *ret = (struct kube_status){
                .code = transport_err->code,
                .http_status = transport_err->http_status,
                .message = arena_str(a, str_from(transport_err->msg)),
                .retry_after_ms = transport_err->retry_after_ms,
        };
}

/* --- Secrets --- */

static void add_fields(struct buf *out, const struct kube_status *s) {
        const char *before = ": ";

        for (size_t i = 0; i < s->cause_count; i++) {
                if (s->causes[i].field.n == 0)
                        continue;
                buf_addc(out, before);
                buf_add(out, s->causes[i].field);
                before = ", ";
        }
}

static void add_redacted(struct buf *out, const struct kube_status *s) {
        struct str denial = find_denial(s->message);

        if (denial.n)
                buf_add(out, denial);
        else if (s->reason.n)
                buf_add(out, s->reason);
        else
                buf_addf(out, "HTTP %d", s->http_status);
        add_fields(out, s);
        buf_addc(out, " (text withheld: it could hold values of a Secret)");
}

/* Answers that the server makes before it looks at the object: they name it, but cannot know what is in it. */
static bool is_harmless(enum err_code code) {
        return code == ERR_UNAUTH || code == ERR_FORBIDDEN || code == ERR_NOTFOUND || code == ERR_GONE ||
               code == ERR_THROTTLED;
}

void kube_status_redact(struct kube_status *status, struct arena *a, struct err *err) {
        _cleanup_(buf_done) struct buf text = buf_make(ERR_MSG_MAX_BYTES);
        struct kube_cause *causes = arena_zalloc(a, status->cause_count * sizeof *causes);

        if (status->code == ERR_OK || status->http_status == 0 || is_harmless(status->code))
                return;

        add_redacted(&text, status);
        status->message = arena_str(a, buf_str(&text));
        for (size_t i = 0; i < status->cause_count; i++) {
                causes[i] = status->causes[i];
                causes[i].message = causes[i].reason;
        }
        status->causes = causes;
        if (err)
                snprintf(err->msg, sizeof err->msg, "%s", text.p);
}

bool kube_is_secret(struct str group, struct str kind_or_plural) {
        return group.n == 0 && (str_eqc(kind_or_plural, "Secret") || str_eqc(kind_or_plural, "secrets"));
}

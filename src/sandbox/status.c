/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/status.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/limits.h"

static void add_field(struct buf *out, const char *name, struct str text) {
        if (text.n == 0)
                return;
        if (out->p[out->n - 1] != '{')
                buf_addch(out, ',');
        buf_addf(out, "\"%s\":", name);
        value_print_string(text, out);
}

static void add_causes(struct buf *out, const struct status_details *d) {
        if (d->cause_count == 0)
                return;
        if (out->p[out->n - 1] != '{')
                buf_addch(out, ',');
        buf_addc(out, "\"causes\":[");
        for (size_t i = 0; i < d->cause_count; i++) {
                buf_addc(out, i ? ",{" : "{");
                add_field(out, "reason", d->causes[i].reason);
                add_field(out, "message", d->causes[i].message);
                add_field(out, "field", d->causes[i].field);
                buf_addch(out, '}');
        }
        buf_addch(out, ']');
}

static void add_details(struct buf *out, const struct status_details *d) {
        buf_addc(out, ",\"details\":{");
        add_field(out, "name", d->name);
        add_field(out, "group", d->group);
        add_field(out, "kind", d->kind);
        add_field(out, "uid", d->uid);
        add_causes(out, d);
        if (d->retry_after_s)
                buf_addf(out, "%s\"retryAfterSeconds\":%" PRId64, out->p[out->n - 1] == '{' ? "" : ",",
                         d->retry_after_s);
        buf_addch(out, '}');
}

struct str status_text(struct arena *a, int code, const char *reason, const struct status_details *details,
                       struct str message) {
        _cleanup_(buf_done) struct buf out = buf_make(KUBE_MAX_OBJECT_BYTES);

        buf_addf(&out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"%s\"",
                 code < 400 ? "Success" : "Failure");
        add_field(&out, "message", message);
        add_field(&out, "reason", str_from(reason));
        if (details)
                add_details(&out, details);
        if (code >= 400)
                buf_addf(&out, ",\"code\":%d", code);
        buf_addch(&out, '}');
        return arena_str(a, buf_str(&out));
}

static int refuse(struct call *c, int code, const char *reason, const struct status_details *details,
                  struct str message) {
        answer_json(c, code, status_text(c->a, code, reason, details, message));
        if (details)
                c->reply->retry_after_s = details->retry_after_s;
        return -1;
}

static struct str vformat(struct arena *a, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
static struct str vformat(struct arena *a, const char *fmt, va_list ap) {
        _cleanup_(buf_done) struct buf out = buf_make(KUBE_MAX_OBJECT_BYTES);

        buf_vaddf(&out, fmt, ap);
        return arena_str(a, buf_str(&out));
}

#define FORMATTED(c, fmt)                                                                                              \
        ({                                                                                                             \
                va_list _ap;                                                                                           \
                va_start(_ap, fmt);                                                                                    \
                struct str _text = vformat((c)->a, fmt, _ap);                                                          \
                va_end(_ap);                                                                                           \
                _text;                                                                                                 \
        })

int(status_refuse)(struct call *c, int code, const char *reason, const struct status_details *details, const char *fmt,
                   ...) {
        return refuse(c, code, reason, details, FORMATTED(c, fmt));
}

int(status_bad_request)(struct call *c, const char *fmt, ...) {
        return refuse(c, 400, "BadRequest", NULL, FORMATTED(c, fmt));
}

int(status_internal)(struct call *c, const char *fmt, ...) {
        return refuse(c, 500, NULL, NULL, FORMATTED(c, fmt));
}

static struct str qualified(struct arena *a, struct str kind, struct str group) {
        return group.n ? arena_strf(a, "%.*s.%.*s", STR_FMT(kind), STR_FMT(group)) : kind;
}

int status_not_found_named(struct call *c, struct str group, struct str plural, struct str name) {
        const struct status_details d = { .name = name, .group = group, .kind = plural };

        return status_refuse(c, 404, "NotFound", &d, "%.*s \"%.*s\" not found", STR_FMT(qualified(c->a, plural, group)),
                             STR_FMT(name));
}

int status_not_found(struct call *c) {
        return status_not_found_named(c, c->at.group, c->at.plural, c->at.name);
}

int status_no_resource(struct call *c) {
        const struct status_details d = { 0 };

        return status_refuse(c, 404, "NotFound", &d, "the server could not find the requested resource");
}

int status_no_page(struct call *c) {
        c->reply->status = 404;
        c->reply->content_type = STR("text/plain; charset=utf-8");
        c->reply->body = STR("404 page not found\n");
        return -1;
}

int status_no_method(struct call *c) {
        const struct status_details d = { 0 };

        return status_refuse(c, 405, "MethodNotAllowed", &d,
                             "the server does not allow this method on the requested resource");
}

int status_conflict(struct call *c, struct str group, struct str kind_or_plural, struct str name, struct str why) {
        const struct status_details d = { .name = name, .group = group, .kind = kind_or_plural };

        return status_refuse(c, 409, "Conflict", &d, "Operation cannot be fulfilled on %.*s \"%.*s\": %.*s",
                             STR_FMT(qualified(c->a, kind_or_plural, group)), STR_FMT(name), STR_FMT(why));
}

int status_stored_otherwise(struct call *c, struct str name, const char *what, struct str wanted, struct str have) {
        const struct strategy *s = c->kind->strategy;
        struct str directory = s->etcd ? str_from(s->etcd) : c->at.plural;

        if (c->kind->is_custom)
                directory = arena_strf(c->a, "%.*s/%.*s", STR_FMT(c->at.group), STR_FMT(c->at.plural));
        return status_conflict(c, c->at.group, c->at.plural, name,
                               arena_strf(c->a,
                                          "StorageError: invalid object, Code: 4, Key: %s/%.*s/%.*s%s%.*s, "
                                          "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: %s in "
                                          "precondition: %.*s, %s in object meta: %.*s",
                                          c->dry_run ? "" : "/registry", STR_FMT(directory), STR_FMT(c->at.namespace),
                                          c->at.namespace.n ? "/" : "", STR_FMT(name), what, STR_FMT(wanted), what,
                                          STR_FMT(have)));
}

int status_modified(struct call *c) {
        return status_conflict(c, c->at.group, c->at.plural, c->at.name,
                               STR("the object has been modified; please apply your changes to the latest version and "
                                   "try again"));
}

int status_exists(struct call *c, struct str name, bool ends) {
        const struct status_details d = { .name = name, .group = c->at.group, .kind = c->at.plural };

        return status_refuse(c, 409, "AlreadyExists", &d, "%s%.*s \"%.*s\" already exists",
                             ends ? "object is being deleted: " : "", STR_FMT(qualified(c->a, c->at.plural, c->at.group)), STR_FMT(name));
}

int status_invalid(struct call *c, struct str group, struct str kind, struct str name, const struct causes *causes) {
        const struct status_details d = {
                .name = name,
                .group = group,
                .kind = kind,
                .causes = causes->items,
                .cause_count = causes->count,
        };

        return refuse(c, 422, "Invalid", &d, causes_message(causes, kind, group, name));
}

int status_forbidden(struct call *c, struct str name, struct str why, const struct cause *cause) {
        const struct status_details d = {
                .name = name,
                .group = c->at.group,
                .kind = c->at.plural,
                .causes = cause,
                .cause_count = cause != NULL,
        };

        return status_refuse(c, 403, "Forbidden", &d, "%.*s \"%.*s\" is forbidden: %.*s",
                             STR_FMT(qualified(c->a, c->at.plural, c->at.group)), STR_FMT(name), STR_FMT(why));
}

int status_expired(struct call *c, const char *text) {
        return status_refuse(c, 410, "Expired", NULL, "%s", text);
}

int status_too_large_rv(struct call *c, uint64_t rv) {
        const struct cause cause = {
                .reason = STR("ResourceVersionTooLarge"),
                .message = STR("Too large resource version"),
        };
        const struct status_details d = { .causes = &cause, .cause_count = 1, .retry_after_s = 1 };

        return status_refuse(c, 504, "Timeout", &d,
                             "Timeout: Too large resource version: %" PRIu64 ", current: %" PRIu64, rv,
                             store_rv(c->s->store));
}

int status_too_many(struct call *c, struct str message, const struct cause *cause) {
        const struct status_details d = { .causes = cause, .cause_count = cause != NULL };

        return refuse(c, 429, "TooManyRequests", &d, message);
}

void status_deleted(struct call *c, struct str name, struct str uid) {
        const struct status_details d = { .name = name, .group = c->at.group, .kind = c->at.plural, .uid = uid };

        answer_json(c, 200, status_text(c->a, 200, NULL, &d, (struct str){ 0 }));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/path.h"

static bool is_unreserved(unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
               c == '_' || c == '~';
}

void kube_path_encode(struct buf *out, struct str s) {
        for (size_t i = 0; i < s.n; i++) {
                unsigned char c = (unsigned char)s.p[i];

                if (is_unreserved(c))
                        buf_addch(out, (char)c);
                else
                        buf_addf(out, "%%%02X", c);
        }
}

bool kube_path_segment_is_legal(struct str segment) {
        if (segment.n == 0 || str_eqc(segment, ".") || str_eqc(segment, ".."))
                return false;

        for (size_t i = 0; i < segment.n; i++)
                if (segment.p[i] == '/' || segment.p[i] == '%' || segment.p[i] == '\0')
                        return false;
        return true;
}

void kube_location_print(struct buf *out, const struct kube_location *location) {
        struct str after_blank[] = { location->namespace, location->name, location->subresource };
        char separator = ' ';

        if (location->group.n) {
                buf_add(out, location->group);
                buf_addch(out, '/');
        }
        buf_add(out, location->version);
        buf_addch(out, ' ');
        buf_add(out, location->plural);
        for (size_t i = 0; i < ARRAY_LEN(after_blank); i++) {
                if (after_blank[i].n == 0)
                        continue;
                buf_addch(out, separator);
                buf_add(out, after_blank[i]);
                separator = '/';
        }
}

/* Empty parts that may be empty were left out by the caller. */
static int add_segment(struct buf *out, const char *what, struct str segment, struct err *err) {
        if (!kube_path_segment_is_legal(segment))
                return err_set(err, ERR_INVAL, "\"%.*s\" cannot be the %s in an API path", STR_FMT(segment), what);

        buf_addch(out, '/');
        kube_path_encode(out, segment);
        return 0;
}

static int add_optional(struct buf *out, const char *what, struct str segment, struct err *err) {
        return segment.n ? add_segment(out, what, segment, err) : 0;
}

static int add_location(struct buf *out, const struct kube_location *l, struct err *err) {
        int r;

        if (l->subresource.n && !l->name.n)
                return err_set(err, ERR_INVAL, "subresource \"%.*s\" without a name", STR_FMT(l->subresource));

        buf_addc(out, l->group.n ? "/apis" : "/api");
        r = add_optional(out, "group", l->group, err);
        if (r == 0)
                r = add_segment(out, "version", l->version, err);
        if (r == 0 && l->namespace.n) {
                buf_addc(out, "/namespaces");
                r = add_segment(out, "namespace", l->namespace, err);
        }
        if (r == 0)
                r = add_segment(out, "resource", l->plural, err);
        if (r == 0)
                r = add_optional(out, "name", l->name, err);
        if (r == 0)
                r = add_optional(out, "subresource", l->subresource, err);
        return r;
}

static void add_parameter(struct buf *out, char *separator, const char *name, struct str value) {
        if (value.n == 0)
                return;

        buf_addf(out, "%c%s=", *separator, name);
        kube_path_encode(out, value);
        *separator = '&';
}

static void add_number(struct buf *out, char *separator, const char *name, uint32_t number) {
        char text[16];

        if (number == 0)
                return;
        snprintf(text, sizeof text, "%u", number);
        add_parameter(out, separator, name, str_from(text));
}

static void add_flag(struct buf *out, char *separator, const char *name, bool flag) {
        add_parameter(out, separator, name, flag ? STR("true") : (struct str){ 0 });
}

static const char *const validation_names[] = {
        [KUBE_VALIDATION_DEFAULT] = "",
        [KUBE_VALIDATION_IGNORE] = "Ignore",
        [KUBE_VALIDATION_WARN] = "Warn",
        [KUBE_VALIDATION_STRICT] = "Strict",
};

static void add_query(struct buf *out, const struct kube_query *q) {
        char sep = '?';

        add_parameter(out, &sep, "fieldManager", q->field_manager);
        add_flag(out, &sep, "force", q->force);
        add_parameter(out, &sep, "dryRun", q->dry_run ? STR("All") : (struct str){ 0 });
        add_parameter(out, &sep, "fieldValidation", str_from(validation_names[q->validation]));
        add_parameter(out, &sep, "labelSelector", q->label_selector);
        add_parameter(out, &sep, "fieldSelector", q->field_selector);
        add_number(out, &sep, "limit", q->limit);
        add_parameter(out, &sep, "continue", q->continue_token);
        if (q->continue_token.n == 0) {
                add_parameter(out, &sep, "resourceVersion", q->resource_version);
                add_parameter(out, &sep, "resourceVersionMatch", q->resource_version_match);
        }
        add_flag(out, &sep, "watch", q->watch);
        add_flag(out, &sep, "allowWatchBookmarks", q->allow_bookmarks);
        add_flag(out, &sep, "sendInitialEvents", q->send_initial_events);
        add_number(out, &sep, "timeoutSeconds", q->timeout_s);
}

int kube_path(const struct kube_location *location, const struct kube_query *query, struct buf *out, struct err *err) {
        _cleanup_(buf_done) struct buf path = buf_make(KUBE_MAX_PATH_BYTES);
        int r = add_location(&path, location, err);

        if (r < 0)
                return r;
        if (query)
                add_query(&path, query);
        r = buf_check(&path, "path of an API request", err);
        if (r < 0)
                return r;

        buf_add(out, buf_str(&path));
        return buf_check(out, "path of an API request", err);
}

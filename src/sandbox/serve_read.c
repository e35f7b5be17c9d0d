/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/serve.h"

#include <inttypes.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/limits.h"
#include "sandbox/convert.h"
#include "sandbox/list.h"
#include "sandbox/status.h"

/* -1 in a token: go on with what is there now. */
#define NO_RV          UINT64_MAX
#define LIST_MAX_BYTES (512 * MIB)

/* ---- forms of an object ---- */

/* What comes behind the opening brace, or behind kind and apiVersion: the same text for all versions of a custom
 * resource. */
static void add_rest(struct buf *out, const struct kind *kind, struct version *v, struct arena *a) {
        _cleanup_(version_unrefp) struct version *converted = NULL;

        if (kind != kind->storage && !kind->is_custom) {
                converted = version_new(convert(kind->storage, kind, v->value, a), v->rv);
                v = converted;
        }
        struct str text = version_text(v);

        if (out->p[out->n - 1] != '{' && !str_eqc(text, "}"))
                buf_addch(out, ',');
        buf_add(out, text);
}

void form_add_object(struct buf *out, const struct kind *kind, struct version *v, struct arena *a) {
        buf_addc(out, "{\"kind\":");
        value_print_string(kind->resource->kind, out);
        buf_addf(out, ",\"apiVersion\":\"%.*s\"", STR_FMT(kind->api_version));
        add_rest(out, kind, v, a);
}

/* Of a DaemonSet the server shows what is inside, where its template's generation is no annotation. */
static const struct value *inner_metadata(const struct value *object, struct arena *a) {
        static const struct str path[] = { { "metadata", 8 },
                                           { "annotations", 11 },
                                           { "deprecated.daemonset.template.generation", 40 } };

        if (!value_path(object, "metadata", "annotations", path[2].p, NULL))
                return value_getc(object, "metadata");
        object = value_with_path(a, object, path, 3, NULL);
        if (value_count(value_path(object, "metadata", "annotations", NULL)) == 0)
                object = meta_with(object, "annotations", NULL, a);
        return value_getc(object, "metadata");
}

void form_add_partial(struct buf *out, struct version *v) {
        struct arena *a = arena_new(0);

        buf_addc(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
        value_print(inner_metadata(v->value, a), out);
        arena_free(a);
        buf_addch(out, '}');
}

void form_add(struct buf *out, const struct kind *kind, enum form form, bool with_columns, struct version *v,
              const struct table_now *now) {
        if (form == FORM_PARTIAL)
                form_add_partial(out, v);
        else if (form == FORM_TABLE)
                table_add(out, kind, with_columns, (struct version *const[]){ v }, 1, (struct str){ 0 }, now);
        else
                form_add_object(out, kind, v, now->arena);
}

static void answer_form(struct call *c, int status, enum form form, struct version *v) {
        _cleanup_(buf_done) struct buf out = buf_make(LIST_MAX_BYTES);

        const struct table_now now = { loop_wall_ms(c->s->loop), c->a };

        form_add(&out, c->kind, form, true, v, &now);
        answer_json(c, status, arena_str(c->a, buf_str(&out)));
}

void answer_object(struct call *c, int status, struct version *v) {
        answer_form(c, status, FORM_OBJECT, v);
}

/* ---- get ---- */

static int check_get_version(struct call *c) {
        struct str text = query_get(&c->query, "resourceVersion");
        uint64_t rv = 0;

        if (text.n == 0)
                return 0;
        if (!str_to_u64(text, &rv))
                return status_internal(c,
                                       "resourceVersion: Invalid value: \"%.*s\": strconv.ParseUint: parsing \"%.*s\": "
                                       "invalid syntax",
                                       STR_FMT(text), STR_FMT(text));
        return rv > store_rv(c->s->store) ? status_too_large_rv(c, rv) : 0;
}

void serve_get(struct call *c, enum form form) {
        if (check_get_version(c) < 0)
                return;
        struct version *v = serve_live(c);
        if (v)
                answer_form(c, 200, form, v);
}

/* ---- list options ---- */

static void forbid(struct causes *out, const char *field, const char *why) {
        causes_add(out, "FieldValueForbidden", str_from(field), "Forbidden: %s", why);
}

static void check_list_match(const struct query *q, struct causes *out) {
        struct str match = query_get(q, "resourceVersionMatch"), rv = query_get(q, "resourceVersion");
        bool is_exact = str_eqc(match, "Exact");

        if (match.n == 0)
                return;
        if (rv.n == 0)
                forbid(out, "resourceVersionMatch",
                       "resourceVersionMatch is forbidden unless resourceVersion is provided");
        if (query_get(q, "continue").n)
                forbid(out, "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
        if (!is_exact && !str_eqc(match, "NotOlderThan"))
                causes_add(out, "FieldValueNotSupported", STR("resourceVersionMatch"),
                           "Unsupported value: \"%.*s\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
                           STR_FMT(match));
        if (is_exact && str_eqc(rv, "0"))
                forbid(out, "resourceVersionMatch",
                       "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
}

static void check_watch_match(const struct query *q, struct causes *out) {
        struct str match = query_get(q, "resourceVersionMatch");
        bool initial = query_has(q, "sendInitialEvents"), is_newer = str_eqc(match, "NotOlderThan");

        if (initial && !is_newer)
                forbid(out, "resourceVersionMatch",
                       "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        if (match.n == 0)
                return;
        if (!initial)
                forbid(out, "resourceVersionMatch",
                       "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
        if (!is_newer)
                causes_add(out, "FieldValueNotSupported", STR("resourceVersionMatch"),
                           "Unsupported value: \"%.*s\": supported values: \"NotOlderThan\"", STR_FMT(match));
        if (query_get(q, "continue").n)
                forbid(out, "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
}

static int check_numbers(struct call *c, struct list_options *o) {
        struct err err = { 0 };

        if (query_int(&c->query, "limit", &o->limit, &err) < 0 ||
            query_int(&c->query, "timeoutSeconds", &o->timeout_s, &err) < 0)
                return status_bad_request(c, "%s", err.msg);
        return 0;
}

int list_options_read(struct call *c, bool is_watch, struct list_options *o) {
        struct causes causes = { .arena = c->a };
        struct err err = { 0 };
        int r = 0;

        *o = (struct list_options){
                .continue_token = query_get(&c->query, "continue"),
                .resource_version = query_get(&c->query, "resourceVersion"),
                .match = query_get(&c->query, "resourceVersionMatch"),
        };
        if (check_numbers(c, o) < 0 || serve_selector(c, &o->selector) < 0)
                return -1;
        if (is_watch)
                check_watch_match(&c->query, &causes);
        else
                check_list_match(&c->query, &causes);
        if (!is_watch && query_has(&c->query, "sendInitialEvents"))
                forbid(&causes, "sendInitialEvents", "sendInitialEvents is forbidden for list");
        if (causes.count)
                r = status_invalid(c, STR("meta.k8s.io"), STR("ListOptions"), (struct str){ 0 }, &causes);
        causes_done(&causes);
        if (r == 0 && select_settle_fields(&o->selector, c->kind, c->a, &err) < 0)
                r = status_bad_request(c, "%s", err.msg);
        return r;
}

/* ---- continue tokens: base64 of {"v":"meta.k8s.io/v1","rv":1,"start":"/ns/name\0"} ---- */

static struct str make_token(uint64_t rv, struct str last_key, struct str namespace, struct arena *a) {
        _cleanup_(buf_done) struct buf json = buf_make(4 * KIB), out = buf_make(8 * KIB);
        size_t prefix = namespace.n ? namespace.n + 1 : 0;

        buf_addf(&json, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%" PRId64 ",\"start\":\"/%.*s\\u0000\"}", (int64_t)rv,
                 STR_FMT(str_sub(last_key, prefix, last_key.n)));
        base64_encode(buf_str(&json), &out);
        while (out.n && out.p[out.n - 1] == '=')
                buf_truncate(&out, out.n - 1);
        for (size_t i = 0; i < out.n; i++)
                out.p[i] = out.p[i] == '+' ? '-' : out.p[i] == '/' ? '_' : out.p[i];
        return arena_str(a, buf_str(&out));
}

static bool read_token(struct str token, struct arena *a, uint64_t *ret_rv, struct str *ret_start) {
        _cleanup_(buf_done) struct buf text = buf_make(8 * KIB), json = buf_make(8 * KIB);
        const struct value *v;
        int64_t rv = 0;

        for (size_t i = 0; i < token.n; i++)
                buf_addch(&text, token.p[i] == '-' ? '+' : token.p[i] == '_' ? '/' : token.p[i]);
        while (text.n % 4)
                buf_addch(&text, '=');
        if (!base64_decode(buf_str(&text), &json) || json_parse(arena_str(a, buf_str(&json)), a, &v, NULL) < 0)
                return false;
        struct str start = value_text(value_getc(v, "start"));
        if (!str_starts(start, STR("/")) || !value_to_i64(value_getc(v, "rv"), &rv))
                return false;
        *ret_rv = (uint64_t)rv;
        *ret_start = str_sub(start, 1, start.n);
        return true;
}

/* ---- list ---- */

struct page {
        uint64_t rv;
        struct version *const *items;
        size_t from, to;
        int64_t limit;
        struct str start; /* full key */
};

static const char expired_token[] =
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list.";

static int refuse_expired_token(struct call *c, struct str start) {
        struct str body = status_text(c->a, 410, "Expired", NULL, str_from(expired_token));
        struct str token = make_token(NO_RV, str_sub(start, 0, start.n ? start.n - 1 : 0), (struct str){ 0 }, c->a);

        /* A token that goes on from here with what is there now. */
        const struct value *v;
        if (json_parse(body, c->a, &v, NULL) == 0)
                v = meta_with_text(v, "continue", token, c->a);
        serve_value(c, 410, v);
        return -1;
}

static int continue_page(struct call *c, struct str token, struct page *p) {
        struct str start;

        if (!read_token(token, c->a, &p->rv, &start))
                return status_bad_request(c, "continue key is not valid: illegal base64 data");
        if (p->rv == 0 || p->rv > store_rv(c->s->store))
                p->rv = store_rv(c->s->store);
        else if (p->rv < store_compacted_rv(c->s->store))
                return refuse_expired_token(c, start);
        p->start = c->at.namespace.n ? arena_strf(c->a, "%.*s/%.*s", STR_FMT(c->at.namespace), STR_FMT(start)) : start;
        /* The token's final NUL makes it the smallest key behind the last one. */
        if (c->at.namespace.n && start.n)
                p->start.n = c->at.namespace.n + 1 + start.n;
        return 0;
}

static int plain_page(struct call *c, const struct list_options *o, struct page *p) {
        bool is_exact = str_eqc(o->match, "Exact");
        uint64_t rv = 0;

        p->rv = store_rv(c->s->store);
        if (o->resource_version.n == 0)
                return 0;
        if (!str_to_u64(o->resource_version, &rv))
                return status_bad_request(c,
                                          "invalid resource version: resourceVersion: Invalid value: \"%.*s\": "
                                          "strconv.ParseUint: parsing \"%.*s\": invalid syntax",
                                          STR_FMT(o->resource_version), STR_FMT(o->resource_version));
        if (rv > p->rv)
                return status_too_large_rv(c, rv);
        if (rv == 0)
                p->limit = 0; /* from the cache, whole */
        if (is_exact || (o->match.n == 0 && rv > 0 && p->limit > 0)) {
                if (rv < store_compacted_rv(c->s->store))
                        return status_expired(c, "The resourceVersion for the provided list is too old.");
                p->rv = rv;
        }
        return 0;
}

static void find_range(struct call *c, struct page *p) {
        size_t count = shelf_at(c->kind->shelf, p->rv, c->a, &p->items);
        const struct shelf view = { .items = (struct version **)p->items, .count = count };

        shelf_range(&view, c->at.namespace, &p->from, &p->to);
        if (p->start.n) {
                size_t at = shelf_lower_bound(&view, p->start);

                p->from = at > p->from ? at : p->from;
        }
        if (p->from > p->to)
                p->from = p->to;
}

/* The selected versions of the page; p->from ends behind the last one looked at. */
static size_t collect(struct call *c, const struct list_options *o, struct page *p, struct version ***ret) {
        struct version **list = arena_alloc(c->a, (p->to - p->from) * sizeof *list);
        size_t n = 0, max = p->limit > 0 ? (size_t)p->limit : SIZE_MAX;

        struct str name = select_name(&o->selector);

        while (p->from < p->to && n < max) {
                struct version *v = p->items[p->from++];

                if (name.n && !str_eq(v->name, name))
                        continue; /* the server reads that one key only */

                if (select_is_empty(&o->selector) || select_matches(&o->selector, v->value))
                        list[n++] = v;
        }
        if (name.n)
                p->from = p->to;
        *ret = list;
        return n;
}

static struct str list_meta(struct call *c, enum form form, const struct list_options *o, const struct page *p) {
        _cleanup_(buf_done) struct buf out = buf_make(16 * KIB);

        buf_addf(&out, "{\"resourceVersion\":\"%" PRIu64 "\"", p->rv);
        if (p->from < p->to) {
                struct str token = make_token(p->rv, p->items[p->from - 1]->key, c->at.namespace, c->a);

                buf_addf(&out, ",\"continue\":\"%.*s\"", STR_FMT(token));
                if (select_is_empty(&o->selector))
                        buf_addf(&out, ",\"remainingItemCount\":%zu", p->to - p->from);
        }
        if (p->from == p->to && c->kind->is_custom && form == FORM_OBJECT)
                buf_addc(&out, ",\"continue\":\"\"");
        buf_addch(&out, '}');
        return arena_str(c->a, buf_str(&out));
}

static void add_item(struct buf *out, struct call *c, enum form form, struct version *v) {
        if (form == FORM_PARTIAL) {
                form_add_partial(out, v);
        } else if (c->kind->is_custom) {
                form_add_object(out, c->kind, v, c->a);
        } else {
                buf_addch(out, '{');
                add_rest(out, c->kind, v, c->a);
        }
}

static struct str list_text(struct call *c, enum form form, struct version *const *list, size_t count,
                            struct str meta) {
        _cleanup_(buf_done) struct buf out = buf_make(LIST_MAX_BYTES);

        if (form == FORM_PARTIAL)
                buf_addc(&out, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\"");
        else
                buf_addf(&out, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\"", STR_FMT(c->kind->resource->list_kind),
                         STR_FMT(c->kind->api_version));
        buf_addf(&out, ",\"metadata\":%.*s,\"items\":", STR_FMT(meta));
        if (form == FORM_PARTIAL && count == 0) {
                buf_addc(&out, "null}");
                return arena_str(c->a, buf_str(&out));
        }
        buf_addch(&out, '[');
        for (size_t i = 0; i < count; i++) {
                if (i)
                        buf_addch(&out, ',');
                add_item(&out, c, form, list[i]);
        }
        buf_addc(&out, "]}");
        return arena_str(c->a, buf_str(&out));
}

void list_answer(struct call *c, enum form form, struct version *const *list, size_t count, struct str meta) {
        if (form == FORM_TABLE)
                table_answer(c, list, count, meta);
        else
                answer_json(c, 200, list_text(c, form, list, count, meta));
}

void serve_list(struct call *c, enum form form) {
        struct list_options o;
        struct page p = { 0 };
        struct version **list;

        if (list_options_read(c, false, &o) < 0)
                return;
        p.limit = o.limit;
        if ((o.continue_token.n ? continue_page(c, o.continue_token, &p) : plain_page(c, &o, &p)) < 0)
                return;
        find_range(c, &p);
        size_t count = collect(c, &o, &p, &list);
        list_answer(c, form, list, count, list_meta(c, form, &o, &p));
}

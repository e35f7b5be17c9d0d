/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/serve.h"

#include "base/limits.h"
#include "sandbox/body.h"
#include "sandbox/status.h"

#define MANAGER_MAX_BYTES 128

/* ---- the path ---- */

#define PATH_MAX_PARTS 8

struct parts {
        struct str items[PATH_MAX_PARTS];
        size_t count;
};

static bool split_path(struct str path, struct arena *a, struct parts *ret) {
        struct str part;

        ret->count = 0;
        for (path = str_sub(path, 1, path.n); str_next(&path, '/', &part);) {
                if (ret->count == PATH_MAX_PARTS)
                        return false;
                ret->items[ret->count++] = query_decode(part, false, a);
        }
        return true;
}

static struct str part_at(const struct parts *p, size_t i) {
        return i < p->count ? p->items[i] : (struct str){ 0 };
}

/* "namespaces/NAME/PLURAL/…" is a path into a namespace, unless PLURAL is a subresource of the Namespace itself. */
static bool is_in_namespace(const struct parts *p, size_t at) {
        if (p->count < at + 3 || !str_eqc(p->items[at], "namespaces"))
                return false;
        return p->count > at + 3 || (!str_eqc(p->items[at + 2], "status") && !str_eqc(p->items[at + 2], "finalize"));
}

static bool read_target(const struct parts *p, struct target *t) {
        bool is_core = p->count && str_eqc(p->items[0], "api");
        size_t at = is_core ? 2 : 3;

        if (p->count <= at || (!is_core && !str_eqc(p->items[0], "apis")))
                return false;
        t->group = is_core ? (struct str){ 0 } : p->items[1];
        t->version = p->items[at - 1];
        if (is_in_namespace(p, at)) {
                t->namespace = p->items[at + 1];
                at += 2;
        }
        t->plural = part_at(p, at);
        t->name = part_at(p, at + 1);
        t->subresource = part_at(p, at + 2);
        return p->count <= at + 3;
}

/* ---- who asks for what ---- */

/* The User-Agent up to the first slash, printable ASCII and letters beyond it, at most 128 bytes. */
static struct str agent_prefix(struct str agent, struct arena *a) {
        ptrdiff_t slash = str_find(agent, '/', 0);
        struct str prefix = slash < 0 ? agent : str_sub(agent, 0, (size_t)slash);
        char *out = arena_alloc(a, prefix.n + 1);
        size_t n = 0;

        for (size_t i = 0; i < prefix.n && n < MANAGER_MAX_BYTES; i++)
                if ((unsigned char)prefix.p[i] >= 0x20 && prefix.p[i] != 0x7f)
                        out[n++] = prefix.p[i];
        out[n] = '\0';
        return query_text((struct str){ out, n }, a);
}

static enum form accepted_form(struct str accept, bool *ret_ok) {
        struct str option;

        *ret_ok = accept.n == 0;
        while (str_next(&accept, ',', &option)) {
                struct str type = media_type(option);
                bool is_json = str_eqc(type, "application/json");

                *ret_ok |= is_json || str_eqc(type, "*/*") || str_eqc(type, "application/*");
                if (is_json && str_contains(option, STR("as=Table")))
                        return FORM_TABLE;
                if (is_json && str_contains(option, STR("as=PartialObjectMetadata")))
                        return FORM_PARTIAL;
                if (*ret_ok)
                        return FORM_OBJECT;
        }
        return FORM_OBJECT;
}

static int refuse_accept(struct call *c) {
        const struct status_details d = { 0 };

        return status_refuse(c, 406, "NotAcceptable", &d,
                             "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml%s",
                             c->kind->is_custom
                                     ? ""
                                     : ", application/vnd.kubernetes.protobuf, application/json;stream=watch, "
                                       "application/vnd.kubernetes.protobuf;stream=watch");
}

/* ---- shared by verbs ---- */

struct version *serve_live(struct call *c) {
        struct version *v = shelf_find(c->kind->shelf, c->at.namespace, c->at.name);

        if (!v)
                status_not_found(c);
        return v;
}

static void check_manager(struct call *c, bool is_apply, struct causes *out) {
        struct str manager = query_get(&c->query, "fieldManager");

        if (is_apply && manager.n == 0)
                causes_add(out, "FieldValueRequired", STR("fieldManager"),
                           "Required value: is required for apply patch");
        if (manager.n > MANAGER_MAX_BYTES)
                causes_add(out, "FieldValueTooLong", STR("fieldManager"), "Too long: may not be more than %d bytes",
                           MANAGER_MAX_BYTES);
        for (size_t i = 0; i < manager.n; i++)
                if ((unsigned char)manager.p[i] < 0x20)
                        causes_add(out, "FieldValueInvalid", STR("fieldManager"),
                                   "Invalid value: \"%.*s\": invalid character U+%04X (at position %zu)",
                                   STR_FMT(manager), (unsigned)manager.p[i], i);
}

static void check_options(struct call *c, bool is_apply, struct causes *out) {
        struct str validation = query_get(&c->query, "fieldValidation"), dry = query_get(&c->query, "dryRun");

        if (!is_apply && c->req->method == KUBE_PATCH && query_has(&c->query, "force"))
                causes_add(out, "FieldValueForbidden", STR("force"),
                           "Forbidden: may not be specified for non-apply patch");
        check_manager(c, is_apply, out);
        if (dry.n && !str_eqc(dry, "All"))
                causes_add(out, "FieldValueNotSupported", STR("dryRun"),
                           "Unsupported value: [\"%.*s\"]: supported values: \"All\"", STR_FMT(dry));
        if (validation.n && !str_eqc(validation, "Ignore") && !str_eqc(validation, "Strict") &&
            !str_eqc(validation, "Warn"))
                causes_add(out, "FieldValueNotSupported", STR("fieldValidation"),
                           "Unsupported value: \"%.*s\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
                           STR_FMT(validation));
}

int serve_write_options(struct call *c, const char *options, bool is_apply) {
        struct causes causes = { .arena = c->a };
        int r = 0;

        check_options(c, is_apply, &causes);
        if (causes.count)
                r = status_invalid(c, STR("meta.k8s.io"), str_from(options), (struct str){ 0 }, &causes);
        causes_done(&causes);
        c->dry_run = query_get(&c->query, "dryRun").n > 0;
        if (query_get(&c->query, "fieldManager").n)
                c->manager = query_get(&c->query, "fieldManager");
        return r;
}

int serve_selector(struct call *c, struct selector *ret) {
        struct str labels = query_get(&c->query, "labelSelector"), fields = query_get(&c->query, "fieldSelector");
        struct err err = { 0 };

        *ret = (struct selector){ 0 };
        if ((labels.n && select_parse_labels(labels, c->a, ret, &err) < 0) ||
            (fields.n && select_parse_fields(fields, c->a, ret, &err) < 0))
                return status_bad_request(c, "%s", err.msg);
        return 0;
}

int serve_check_names(struct call *c, const struct value *object) {
        struct str name = meta_text(object, "name"), namespace = meta_text(object, "namespace");

        if (namespace.n && !str_eq(namespace, c->at.namespace))
                return status_bad_request(
                        c, "the namespace of the provided object does not match the namespace sent on the request");
        if (name.n == 0)
                return status_bad_request(
                        c, "the name of the object (%.*s based on URL) was undeterminable: name must be provided",
                        STR_FMT(c->at.name));
        if (!str_eq(name, c->at.name))
                return status_bad_request(c, "the name of the object (%.*s) does not match the name on the URL (%.*s)",
                                          STR_FMT(name), STR_FMT(c->at.name));
        return 0;
}

void serve_value(struct call *c, int status, const struct value *v) {
        answer_json(c, status, value_canonical(c->a, v));
}

/* ---- routing ---- */

static const struct {
        enum kube_method method;
        bool on_collection;
        enum resource_verb verb;
        void (*serve)(struct call *c);
} routes[] = {
        { KUBE_POST, true, RESOURCE_CREATE, serve_create },
        { KUBE_PUT, false, RESOURCE_UPDATE, serve_update },
        { KUBE_PATCH, false, RESOURCE_PATCH, serve_patch },
        { KUBE_DELETE, false, RESOURCE_DELETE, serve_delete },
        { KUBE_DELETE, true, RESOURCE_DELETECOLLECTION, serve_delete_collection },
};

static void route_read(struct call *c, enum form form) {
        bool is_collection = c->at.name.n == 0;
        bool is_watch = is_collection && query_bool(&c->query, "watch");
        enum resource_verb verb = is_watch ? RESOURCE_WATCH : is_collection ? RESOURCE_LIST : RESOURCE_GET;

        if (!(c->kind->resource->verbs & verb))
                status_no_method(c);
        else if (is_watch)
                serve_watch(c, form);
        else if (is_collection)
                serve_list(c, form);
        else
                serve_get(c, form);
}

static void route_resource(struct call *c, enum form form) {
        bool is_collection = c->at.name.n == 0;

        /* Over all namespaces one can only look. */
        if (c->kind->resource->namespaced && c->at.namespace.n == 0 && (c->req->method != KUBE_GET || !is_collection)) {
                if (is_collection)
                        status_no_method(c);
                else
                        status_no_resource(c);
                return;
        }
        if (c->req->method == KUBE_GET) {
                route_read(c, form);
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
                if (routes[i].method != c->req->method || routes[i].on_collection != is_collection ||
                    !(c->kind->resource->verbs & routes[i].verb))
                        continue;
                if (c->kind->shelf)
                        routes[i].serve(c);
                else
                        serve_special(c, c->req->method);
                return;
        }
        status_no_method(c);
}

static enum resource_verb verb_of(enum kube_method method) {
        static const enum resource_verb verbs[] = {
                [KUBE_GET] = RESOURCE_GET,     [KUBE_POST] = RESOURCE_CREATE,   [KUBE_PUT] = RESOURCE_UPDATE,
                [KUBE_PATCH] = RESOURCE_PATCH, [KUBE_DELETE] = RESOURCE_DELETE,
        };

        return verbs[method];
}

static void route_subresource(struct call *c, enum form form) {
        c->sub = resource_sub_find(c->kind->resource, c->at.subresource);
        if (!c->sub) {
                if (c->kind->is_custom)
                        status_not_found(c);
                else
                        status_no_resource(c);
                return;
        }
        if (!(c->sub->verbs & verb_of(c->req->method))) {
                status_no_method(c);
                return;
        }
        if (str_eqc(c->at.subresource, "scale"))
                serve_scale(c, c->req->method);
        else if (!str_eq(c->sub->kind, c->kind->resource->kind) || str_eqc(c->at.subresource, "log"))
                serve_special(c, c->req->method);
        else if (c->req->method == KUBE_GET)
                serve_get(c, form);
        else if (c->req->method == KUBE_PUT)
                serve_update(c);
        else
                serve_patch(c);
}

static void route(struct call *c) {
        struct parts parts;
        bool is_accepted;
        ptrdiff_t question = str_find(c->req->path, '?', 0);
        struct str path = question < 0 ? c->req->path : str_sub(c->req->path, 0, (size_t)question);

        if (question >= 0)
                c->query = query_parse(str_sub(c->req->path, (size_t)question + 1, c->req->path.n), c->a);
        if (!split_path(path, c->a, &parts) || !read_target(&parts, &c->at)) {
                if (!serve_other(c, path))
                        status_no_page(c);
                return;
        }
        c->kind = kinds_find(c->s->kinds, c->at.group, c->at.version, c->at.plural);
        bool fits = c->kind && (c->at.namespace.n == 0 || c->kind->resource->namespaced);
        if (!fits) {
                if (kinds_is_builtin_group(c->s->kinds, c->at.group))
                        status_no_resource(c);
                else
                        status_no_page(c);
                return;
        }
        if (c->kind->deprecation_warning.n)
                call_warn(c, c->kind->deprecation_warning);
        enum form form = accepted_form(c->req->accept, &is_accepted);
        if (!is_accepted)
                refuse_accept(c);
        else if (c->at.subresource.n)
                route_subresource(c, form);
        else
                route_resource(c, form);
}

void sandbox_serve(struct sandbox *s, const struct sandbox_request *req, struct arena *a, struct sandbox_reply *ret) {
        struct call c;

        *ret = (struct sandbox_reply){ 0 };
        call_begin(&c, s, a, ret, "");
        c.req = req;
        c.user = query_text(req->user, a);
        c.manager = agent_prefix(req->user_agent, a);
        route(&c);
        call_end(&c);
}

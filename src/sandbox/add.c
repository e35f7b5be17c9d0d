/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects from files: a forced server-side apply of each, through the front door, so that they are defaulted, checked
 * and owned as any other.
 */
#include "base/json.h"
#include "base/limits.h"
#include "sandbox/sandbox_impl.h"

#define ADD_MANAGER "truce-sandbox"

static struct str add_path(const struct kind *k, const struct value *object, struct arena *a) {
        const struct resource *r = k->resource;
        struct str namespace = meta_text(object, "namespace");
        struct str root = r->group.n ? arena_strf(a, "/apis/%.*s/%.*s", STR_FMT(r->group), STR_FMT(r->version))
                                     : arena_strf(a, "/api/%.*s", STR_FMT(r->version));

        if (r->namespaced)
                root = arena_strf(a, "%.*s/namespaces/%.*s", STR_FMT(root),
                                  STR_FMT(namespace.n ? namespace : STR("default")));
        return arena_strf(a, "%.*s/%.*s/%.*s?fieldManager=" ADD_MANAGER "&force=true", STR_FMT(root),
                          STR_FMT(r->plural), STR_FMT(meta_text(object, "name")));
}

/* The server's message out of a Status. */
static int refused(const struct sandbox_reply *reply, struct arena *a, struct err *err) {
        const struct value *status = NULL;

        if (json_parse(reply->body, a, &status, NULL) < 0)
                return err_set(err, ERR_INTERNAL, "answered with %d", reply->status);
        return err_set(err, reply->status == 403 ? ERR_DENIED : ERR_INVAL, "%.*s",
                       STR_FMT(value_text(value_getc(status, "message"))));
}

int sandbox_add(struct sandbox *s, const struct value *object, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str api_version = value_text(value_getc(object, "apiVersion"));
        struct str kind_name = value_text(value_getc(object, "kind"));
        const struct kind *kind = kinds_of_kind(s->kinds, api_version, kind_name);
        static const struct str groups[] = { { "system:masters", 14 } };
        struct sandbox_reply reply;

        if (meta_text(object, "name").n == 0 || kind_name.n == 0)
                return err_set(err, ERR_INVAL, "no object with apiVersion, kind and metadata.name");
        if (!kind)
                return err_set(err, ERR_NOTFOUND, "%.*s of %.*s is not served", STR_FMT(kind_name),
                               STR_FMT(api_version));
        const struct sandbox_request req = {
                .method = KUBE_PATCH,
                .path = add_path(kind, object, a),
                .content_type = STR("application/apply-patch+yaml"),
                .accept = STR("application/json"),
                .user_agent = STR(ADD_MANAGER),
                .body = value_canonical(a, object),
                .user = STR("sandbox-admin"),
                .groups = groups,
                .group_count = ARRAY_LEN(groups),
        };
        sandbox_serve(s, &req, a, &reply);
        return reply.status < 300 ? 0 : refused(&reply, a, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/serve.h"

#include "sandbox/body.h"
#include "sandbox/status.h"
#include "sandbox/warn.h"
#include "sandbox/write.h"

#define JSON_PATCH      STR("application/json-patch+json")
#define MERGE_PATCH     STR("application/merge-patch+json")
#define STRATEGIC_PATCH STR("application/strategic-merge-patch+json")
#define APPLY_PATCH     STR("application/apply-patch+yaml")

/* ---- create ---- */

const struct value *serve_wiped(const struct value *object, struct arena *a) {
        static const char *const fields[] = {
                "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"
        };

        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                if (value_path(object, "metadata", fields[i], NULL))
                        object = meta_with(object, fields[i], NULL, a);
        return object;
}

int serve_place(struct call *c, const struct value **object) {
        struct str namespace = meta_text(*object, "namespace");

        if (namespace.n && !str_eq(namespace, c->at.namespace))
                return status_bad_request(
                        c, "the namespace of the provided object does not match the namespace sent on the request");
        if (c->at.namespace.n && namespace.n == 0)
                *object = meta_with_text(*object, "namespace", c->at.namespace, c->a);
        return 0;
}

void serve_create(struct call *c) {
        const struct value *object;
        struct version *v = NULL;

        if (serve_write_options(c, "CreateOptions", false) < 0 ||
            body_object(c, kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, &object) < 0)
                return;
        object = warn_of_owners(c, serve_wiped(object, c->a), false);
        if (serve_place(c, &object) < 0)
                return;
        object = body_default(c, object);
        c->at.name = meta_text(object, "name");
        object = write_managed(c, NULL, object);
        if (write_create(c, object, &v) < 0)
                return;
        answer_object(c, 201, v);
        version_unref(v);
}

/* ---- update ---- */

static void create_by_update(struct call *c, const struct value *object) {
        struct version *v = NULL;

        object = serve_wiped(object, c->a);
        if (serve_place(c, &object) < 0)
                return;
        object = write_managed(c, NULL, body_default(c, object));
        if (write_create(c, object, &v) < 0)
                return;
        answer_object(c, 201, v);
        version_unref(v);
}

int serve_check_uid(struct call *c, const struct value *live, const struct value *object) {
        struct str uid = meta_text(object, "uid"), have = meta_text(live, "uid");

        return uid.n == 0 || str_eq(uid, have) ? 0 : status_stored_otherwise(c, c->at.name, "UID", uid, have);
}

void serve_update(struct call *c) {
        const struct value *object;

        if (serve_write_options(c, "UpdateOptions", false) < 0 ||
            body_object(c, kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, &object) < 0 ||
            serve_check_names(c, object) < 0)
                return;
        object = warn_of_owners(c, object, false);
        struct version *live = shelf_find(c->kind->shelf, c->at.namespace, c->at.name);
        if (!live && c->kind->strategy->flags & STRATEGY_CREATE_ON_UPDATE) {
                if (serve_check_uid(c, NULL, object) == 0)
                        create_by_update(c, object);
                return;
        }
        if (!live) {
                status_not_found(c);
                return;
        }

        _cleanup_(version_unrefp) struct version *held = version_ref(live), *v = NULL;
        const struct value *before = write_live(c, held);
        if (serve_check_uid(c, before, object) < 0)
                return;
        object = write_managed(c, before, body_default(c, object));
        if (write_update(c, held, object, &v) == 0)
                answer_object(c, 200, v);
}

/* ---- patches ---- */

static int refuse_media(struct call *c) {
        const struct status_details d = { 0 };

        return status_refuse(c, 415, "UnsupportedMediaType", &d, "415: Unsupported Media Type");
}

static int check_media(struct call *c) {
        struct str type = media_type(c->req->content_type);

        if (str_eq(type, JSON_PATCH) || str_eq(type, MERGE_PATCH) || str_eq(type, APPLY_PATCH) ||
            (str_eq(type, STRATEGIC_PATCH) && !c->kind->is_custom))
                return 0;
        if (str_eq(type, STRATEGIC_PATCH))
                return status_refuse(c, 415, "UnsupportedMediaType", NULL,
                                     "the body of the request was in an unknown format - accepted media types include: "
                                     "application/json-patch+json, application/merge-patch+json, "
                                     "application/apply-patch+yaml");
        return refuse_media(c);
}

static void patch_plain(struct call *c) {
        struct version *live = serve_live(c);
        const struct value *object;

        if (!live)
                return;
        _cleanup_(version_unrefp) struct version *held = version_ref(live), *v = NULL;
        const struct value *before = write_live(c, held);
        if (body_patched(c, kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, before, &object) < 0 ||
            serve_check_names(c, object) < 0)
                return;
        object = write_managed(c, before, body_default(c, object));
        if (write_update(c, held, object, &v) == 0)
                answer_object(c, 200, v);
}

void serve_patch(struct call *c) {
        bool is_apply = serve_is_apply(c);

        if (check_media(c) < 0 || serve_write_options(c, "PatchOptions", is_apply) < 0)
                return;
        if (is_apply)
                serve_apply(c);
        else
                patch_plain(c);
}

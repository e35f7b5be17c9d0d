/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/serve.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "sandbox/body.h"
#include "sandbox/codec.h"
#include "sandbox/status.h"
#include "sandbox/write.h"

#define JSON_PATCH      STR("application/json-patch+json")
#define MERGE_PATCH     STR("application/merge-patch+json")
#define STRATEGIC_PATCH STR("application/strategic-merge-patch+json")
#define APPLY_PATCH     STR("application/apply-patch+yaml")

/* ---- create ---- */

/* What a creation cannot bring along. */
static const struct value *wiped(const struct value *object, struct arena *a) {
        static const char *const fields[] = {
                "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"
        };

        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                if (value_path(object, "metadata", fields[i], NULL))
                        object = meta_with(object, fields[i], NULL, a);
        return object;
}

static int place_in_namespace(struct call *c, const struct value **object) {
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
        object = wiped(object, c->a);
        if (place_in_namespace(c, &object) < 0)
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

        object = wiped(object, c->a);
        if (place_in_namespace(c, &object) < 0)
                return;
        object = write_managed(c, NULL, body_default(c, object));
        if (write_create(c, object, &v) < 0)
                return;
        answer_object(c, 201, v);
        version_unref(v);
}

/* A uid in the body of a PUT is a precondition of the storage. */
static int check_uid(struct call *c, const struct value *live, const struct value *object) {
        struct str uid = meta_text(object, "uid"), have = meta_text(live, "uid");
        const struct strategy *s = c->kind->strategy;
        struct str directory = s->etcd ? str_from(s->etcd) : c->at.plural;

        if (uid.n == 0 || str_eq(uid, have))
                return 0;
        if (c->kind->is_custom)
                directory = arena_strf(c->a, "%.*s/%.*s", STR_FMT(c->at.group), STR_FMT(c->at.plural));
        return status_conflict(c, c->at.group, c->at.plural, c->at.name,
                               arena_strf(c->a,
                                          "StorageError: invalid object, Code: 4, Key: /registry/%.*s/%.*s%s%.*s, "
                                          "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                                          "precondition: %.*s, UID in object meta: %.*s",
                                          STR_FMT(directory), STR_FMT(c->at.namespace), c->at.namespace.n ? "/" : "",
                                          STR_FMT(c->at.name), STR_FMT(uid), STR_FMT(have)));
}

void serve_update(struct call *c) {
        const struct value *object;

        if (serve_write_options(c, "UpdateOptions", false) < 0 ||
            body_object(c, kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, &object) < 0 ||
            serve_check_names(c, object) < 0)
                return;
        struct version *live = shelf_find(c->kind->shelf, c->at.namespace, c->at.name);
        if (!live && c->kind->strategy->flags & STRATEGY_CREATE_ON_UPDATE && c->at.subresource.n == 0) {
                create_by_update(c, object);
                return;
        }
        if (!live) {
                status_not_found(c);
                return;
        }

        _cleanup_(version_unrefp) struct version *held = version_ref(live), *v = NULL;
        const struct value *before = write_live(c, held);
        if (check_uid(c, before, object) < 0)
                return;
        object = write_managed(c, before, body_default(c, object));
        if (write_update(c, held, object, &v) == 0)
                answer_object(c, 200, v);
}

/* ---- patches ---- */

bool serve_is_apply(const struct call *c) {
        return str_eq(media_type(c->req->content_type), APPLY_PATCH);
}

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

static const char *json_kind(const struct value *v) {
        static const char *const names[] = {
                [VALUE_NULL] = "null",      [VALUE_BOOL] = "bool",     [VALUE_INT] = "number", [VALUE_UINT] = "number",
                [VALUE_DECIMAL] = "number", [VALUE_STRING] = "string", [VALUE_LIST] = "array", [VALUE_MAP] = "object",
        };

        return names[v->kind];
}

static int patched_by_json(struct call *c, const struct value *live, const struct value *patch,
                           const struct value **ret) {
        const struct status_details d = { 0 };
        struct err err = { 0 };

        if (!value_is(patch, VALUE_LIST))
                return status_bad_request(c,
                                          "error decoding patch: json: cannot unmarshal %s into Go value of type "
                                          "[]handlers.jsonPatchOp",
                                          json_kind(patch));
        if (patch_json(live, patch, c->a, ret, &err) < 0)
                return status_refuse(c, 422, "Invalid", &d,
                                     "the server rejected our request due to an error in our request");
        return 0;
}

static int patched_document(struct call *c, const struct type *type, const struct value *live,
                            const struct value **ret) {
        struct str media = media_type(c->req->content_type);
        const struct value *patch;
        struct err err = { 0 };

        if (json_parse(c->req->body, c->a, &patch, &err) < 0)
                return status_bad_request(c, str_eq(media, MERGE_PATCH)
                                                     ? "invalid JSON patch"
                                                     : "error decoding patch: unexpected end of JSON "
                                                       "input");
        if (str_eq(media, JSON_PATCH))
                return patched_by_json(c, live, patch, ret);
        if (!value_is(patch, VALUE_MAP))
                return status_bad_request(c,
                                          "error decoding patch: json: cannot unmarshal %s into Go value of type "
                                          "map[string]interface {}",
                                          json_kind(patch));
        if (str_eq(media, MERGE_PATCH)) {
                *ret = patch_merge(live, patch, c->a);
                return 0;
        }
        if (patch_strategic(type, live, patch, c->a, ret, &err) < 0)
                return status_bad_request(c, "%s", err.msg);
        return 0;
}

int serve_patched(struct call *c, const struct type *type, struct str api_version, struct str kind,
                  const struct value *live, const struct value **ret) {
        const struct value *document;
        int r = patched_document(c, type, live, &document);

        return r < 0 ? r : body_patched(c, type, api_version, kind, document, ret);
}

static void patch_plain(struct call *c) {
        struct version *live = serve_live(c);
        const struct value *object;

        if (!live)
                return;
        _cleanup_(version_unrefp) struct version *held = version_ref(live), *v = NULL;
        const struct value *before = write_live(c, held);
        if (serve_patched(c, kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, before, &object) < 0 ||
            serve_check_names(c, object) < 0)
                return;
        object = write_managed(c, before, body_default(c, object));
        if (write_update(c, held, object, &v) == 0)
                answer_object(c, 200, v);
}

/* ---- server-side apply ---- */

int serve_conflicts(struct call *c, const void *all) {
        const struct ssa_conflicts *conflicts = all;
        struct cause *causes = arena_alloc(c->a, conflicts->count * sizeof *causes);
        const struct status_details d = { .causes = causes, .cause_count = conflicts->count };

        for (size_t i = 0; i < conflicts->count; i++)
                causes[i] = (struct cause){
                        .reason = STR("FieldManagerConflict"),
                        .field = field_path_text(c->a, conflicts->items[i].path),
                        .message = ssa_conflict_cause(&conflicts->items[i], c->a),
                };
        return status_refuse(c, 409, "Conflict", &d, "%.*s", STR_FMT(ssa_conflict_message(conflicts, c->a)));
}

static int parse_config(struct call *c, const struct value **ret) {
        const struct yaml_document *docs;
        struct err err = { 0 };
        size_t count;

        /* JSON is YAML; its own parser is much faster and knows no caps that JSON need not keep. */
        if (json_parse(c->req->body, c->a, ret, NULL) < 0) {
                if (yaml_parse(c->req->body, c->a, &docs, &count, &err) < 0)
                        return status_bad_request(c, "error encoding patch: yaml: %s", err.msg);
                *ret = count && docs[0].value ? docs[0].value : &value_null;
        }
        if (!value_is(*ret, VALUE_MAP))
                return status_bad_request(
                        c,
                        "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot "
                        "unmarshal %s into Go value of type map[string]interface {}",
                        json_kind(*ret));
        return 0;
}

static int check_config(struct call *c, const struct value *config) {
        struct str version = value_text(value_getc(config, "apiVersion")),
                   kind = value_text(value_getc(config, "kind"));

        if (!str_eq(version, c->kind->api_version) || !str_eq(kind, c->kind->resource->kind)) {
                struct str group = schema_group(version);

                return status_bad_request(c, "invalid object type: %.*s/%.*s, Kind=%.*s", STR_FMT(group),
                                          STR_FMT(schema_version(version)), STR_FMT(kind));
        }
        return 0;
}

static int apply(struct call *c, const struct value *live, const struct value *config, const struct value **ret) {
        struct ssa_conflicts conflicts = { 0 };
        struct ssa_versions versions;
        struct ssa_request how = write_ssa_request(c, live, &versions);
        struct err err = { 0 };

        how.force = query_bool(&c->query, "force");
        int r = ssa_apply(kind_type(c->kind), live, config, &how, c->a, ret, &conflicts, &err);
        if (r == ERR_CONFLICT)
                return serve_conflicts(c, &conflicts);
        if (r < 0 && err.http_status == 400)
                return status_bad_request(c, "%s", err.msg);
        if (r < 0)
                return status_internal(c, "%s", err.msg);
        return 0;
}

static void apply_to_nothing(struct call *c, const struct value *config) {
        struct str uid = meta_text(config, "uid");
        const struct value *object;
        struct version *v = NULL;

        if (c->at.subresource.n) {
                status_not_found(c);
                return;
        }
        if (uid.n) {
                status_conflict(
                        c, c->at.group, c->at.plural, c->at.name,
                        arena_strf(c->a,
                                   "uid mismatch: the provided object specified uid %.*s, and no existing object "
                                   "was found",
                                   STR_FMT(uid)));
                return;
        }
        if (meta_text(config, "name").n == 0)
                config = meta_with_text(config, "name", c->at.name, c->a);
        if (c->at.namespace.n && meta_text(config, "namespace").n == 0)
                config = meta_with_text(config, "namespace", c->at.namespace, c->a);
        if (apply(c, NULL, config, &object) < 0 || body_merged(c, object, &object) < 0)
                return;
        object = wiped(body_default(c, object), c->a);
        if (serve_check_names(c, object) < 0 || write_create(c, object, &v) < 0)
                return;
        answer_object(c, 201, v);
        version_unref(v);
}

static void apply_to_live(struct call *c, struct version *live, const struct value *config) {
        _cleanup_(version_unrefp) struct version *held = version_ref(live), *v = NULL;
        const struct value *before = write_live(c, held), *object;

        if (apply(c, before, config, &object) < 0)
                return;
        if (object == before) {
                answer_object(c, 200, held);
                return;
        }
        if (serve_check_names(c, object) < 0 || body_merged(c, object, &object) < 0)
                return;
        if (write_update(c, held, body_default(c, object), &v) == 0)
                answer_object(c, 200, v);
}

static void patch_apply(struct call *c) {
        const struct value *config;

        if (parse_config(c, &config) < 0 || check_config(c, config) < 0)
                return;
        struct version *live = shelf_find(c->kind->shelf, c->at.namespace, c->at.name);
        if (live)
                apply_to_live(c, live, config);
        else
                apply_to_nothing(c, config);
}

void serve_patch(struct call *c) {
        bool is_apply = serve_is_apply(c);

        if (check_media(c) < 0 || serve_write_options(c, "PatchOptions", is_apply) < 0)
                return;
        if (is_apply)
                patch_apply(c);
        else
                patch_plain(c);
}

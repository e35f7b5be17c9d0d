/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-side apply.
 *
 * Source: apiserver's endpoints/handlers/patch.go (applyPatcher), apimachinery's managedfields.
 */
#include "sandbox/serve.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/yaml.h"
#include "sandbox/body.h"
#include "sandbox/codec.h"
#include "sandbox/status.h"
#include "sandbox/warn.h"
#include "sandbox/write.h"

bool serve_is_apply(const struct call *c) {
        return str_eqc(media_type(c->req->content_type), "application/apply-patch+yaml");
}

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

/* ---- the configuration ---- */

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
        *ret = codec_numbers(*ret, c->a);
        return 0;
}

int serve_config(struct call *c, struct str api_version, struct str kind, const struct value **ret) {
        if (parse_config(c, ret) < 0)
                return -1;
        if (!value_is(*ret, VALUE_MAP) && !value_is(*ret, VALUE_NULL))
                return status_bad_request(
                        c,
                        "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot "
                        "unmarshal %s into Go value of type map[string]interface {}",
                        body_json_kind(*ret));
        struct str v = value_text(value_getc(*ret, "apiVersion")), k = value_text(value_getc(*ret, "kind"));
        if (!str_eq(v, api_version) || !str_eq(k, kind))
                return status_bad_request(c, "invalid object type: %.*s/%.*s, Kind=%.*s", STR_FMT(schema_group(v)),
                                          STR_FMT(schema_version(v)), STR_FMT(k));
        return 0;
}

static bool has_duplicates(struct call *c) {
        struct causes found = { .arena = c->a };
        const struct value *v;

        if (json_parse(c->req->body, c->a, &v, NULL) == 0)
                codec_duplicates(c->req->body, &found);
        else
                causes_add(&found, "", (struct str){ 0 }, "YAML: only its parser knows");
        bool any = found.count > 0;
        causes_done(&found);
        return any;
}

static int refuse_duplicates(struct call *c, const struct yaml_document *doc) {
        _cleanup_(buf_done) struct buf text = buf_make(64 * 1024);

        for (size_t i = 0; i < doc->note_count; i++)
                buf_addf(&text, "\n  line %u: key \"%.*s\" already set in map", (unsigned)doc->notes[i].line,
                         STR_FMT(doc->notes[i].key));
        return status_bad_request(
                c, "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:%s", text.p);
}

int serve_config_strict(struct call *c) {
        const struct yaml_document *docs;
        size_t count;

        if (body_strictness(c) == BODY_IGNORE || !has_duplicates(c) ||
            yaml_parse(c->req->body, c->a, &docs, &count, NULL) < 0 || count == 0 || docs[0].note_count == 0)
                return 0;
        if (body_strictness(c) == BODY_STRICT)
                return refuse_duplicates(c, &docs[0]);
        for (size_t i = 0; i < docs[0].note_count; i++)
                call_warn(c, arena_strf(c->a, "line %u: key \"%.*s\" already set in map",
                                        (unsigned)docs[0].notes[i].line, STR_FMT(docs[0].notes[i].key)));
        return 0;
}

/* ---- applying it ---- */

/* How refusals name the configuration: as it does itself. */
static struct str patch_name(struct call *c, const struct value *config) {
        return arena_strf(c->a, "%.*s/%.*s", STR_FMT(meta_text(config, "namespace")),
                          STR_FMT(meta_text(config, "name")));
}

/* The part of an object that the request decides: metadata only of its writer, status only through /status. */
static const struct value *written_part(struct call *c, const struct value *object) {
        static const char *const fields[] = { "annotations", "finalizers", "labels", "ownerReferences" };
        const struct value *meta = value_getc(object, "metadata"), *kept = NULL;

        if (str_eqc(c->at.subresource, "status"))
                return value_with(c->a, &value_empty_map, STR("status"), value_getc(object, "status"));
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                if (value_getc(meta, fields[i]))
                        kept = value_with(c->a, kept, str_from(fields[i]), value_getc(meta, fields[i]));
        if (c->kind->strategy->flags & STRATEGY_STATUS)
                object = value_with(c->a, object, STR("status"), NULL);
        return value_with(c->a, object, STR("metadata"), kept);
}

/*
 * A custom resource is stored as it was applied; empty maps in its metadata and fields that its schema does not have go
 * when it is read. The next write differs from what is stored, if only by them.
 */
static uint64_t unread_of(struct call *c, const struct value *merged, const struct value *object) {
        static const struct hash_key key = { 0 };
        const struct value *stored = written_part(c, merged);

        if (!c->kind->is_custom || value_equal(stored, written_part(c, codec_prune(kind_type(c->kind), object, c->a))))
                return 0;
        c->rewrites = !value_equal(value_getc(stored, "metadata"), value_getc(written_part(c, object), "metadata"));
        return (hash64(&key, value_canonical(c->a, stored)) & ~UNREAD_NAMED) | UNREAD_OTHER;
}

/* The merged object, decoded; `live` itself when nothing changed. */
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
        const struct value *merged = *ret;
        if (merged != live && body_merged(c, merged, patch_name(c, config), ret) < 0)
                return -1;
        if (merged != live) {
                c->unread |= unread_of(c, merged, *ret);
                c->merged = c->kind->is_custom ? merged : NULL;
        }
        return serve_config_strict(c);
}

static void apply_to_nothing(struct call *c, const struct value *config) {
        struct str uid = meta_text(config, "uid");
        const struct value *object;
        struct version *v = NULL;

        if (apply(c, NULL, config, &object) < 0)
                return;
        if (uid.n) {
                status_conflict(
                        c, c->at.group, c->at.plural, c->at.name,
                        arena_strf(c->a,
                                   "uid mismatch: the provided object specified uid %.*s, and no existing object "
                                   "was found",
                                   STR_FMT(uid)));
                return;
        }
        if (serve_place(c, &object) < 0 || serve_check_names(c, object) < 0)
                return;
        object = serve_wiped(body_default(c, object), c->a);
        if (write_create(c, object, &v) < 0)
                return;
        answer_object(c, 201, v);
        version_unref(v);
}

static void apply_to_live(struct call *c, struct version *live, const struct value *config) {
        _cleanup_(version_unrefp) struct version *held = version_ref(live), *v = NULL;
        const struct value *before = write_live(c, held), *object;

        if (apply(c, before, config, &object) < 0)
                return;
        if (object == before && !held->unread) {
                warn_of(c, before, before);
                answer_object(c, 200, held);
        } else if (serve_place(c, &object) == 0 && serve_check_names(c, object) == 0 &&
                   write_update(c, held, body_default(c, object), &v) == 0)
                answer_object(c, 200, v);
}

void serve_apply(struct call *c) {
        const struct value *config;
        struct version *live = shelf_find(c->kind->shelf, c->at.namespace, c->at.name);

        if (parse_config(c, &config) < 0)
                return;
        if (!live && c->at.subresource.n && !(c->kind->strategy->flags & STRATEGY_CREATE_ON_UPDATE)) {
                status_not_found(c);
                return;
        }
        if (serve_config(c, c->kind->api_version, c->kind->resource->kind, &config) < 0)
                return;
        if (live)
                apply_to_live(c, live, config);
        else
                apply_to_nothing(c, config);
}

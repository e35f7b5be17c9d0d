/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/body.h"

#include <stdio.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "sandbox/codec.h"
#include "sandbox/held.h"
#include "sandbox/prepare.h"
#include "sandbox/serve.h"
#include "sandbox/status.h"

#define SUMMARY_BYTES 30

bool body_is_custom(const struct call *c, const struct type *type) {
        return c->kind->is_custom && type == kind_type(c->kind);
}

static bool is_customs_scale(const struct call *c, const struct type *type) {
        return c->kind->is_custom && type != kind_type(c->kind);
}

struct str media_type(struct str content_type) {
        ptrdiff_t end = str_find(content_type, ';', 0);

        return str_trim(end < 0 ? content_type : str_sub(content_type, 0, (size_t)end));
}

static bool is_yaml(struct str type) {
        return str_eqc(type, "application/yaml") || str_eqc(type, "application/apply-patch+yaml");
}

static int parse_yaml(struct str text, struct arena *a, const struct value **ret, struct err *err) {
        const struct yaml_document *docs;
        size_t count;
        int r = yaml_parse(text, a, &docs, &count, err);

        if (r == 0)
                *ret = count ? docs[0].value : NULL;
        return r;
}

static struct str hex_summary(struct str body, struct arena *a) {
        char hex[2 * SUMMARY_BYTES + 1] = "";

        for (size_t i = 0; i < body.n && i < SUMMARY_BYTES; i++)
                snprintf(hex + 2 * i, 3, "%02x", (unsigned char)body.p[i]);
        return arena_strf(a, "%s%s", hex, body.n > SUMMARY_BYTES ? " ..." : "");
}

static struct str summary(struct str body, struct arena *a) {
        if (body.n == 0)
                return STR("<empty>");
        if (body.p[0] != '{')
                return hex_summary(body, a);
        return body.n > SUMMARY_BYTES ? arena_strf(a, "%.*s ...", SUMMARY_BYTES, body.p) : body;
}

static int refuse_text(struct call *c, struct str kind, struct str body, struct str why) {
        return status_bad_request(
                c, "the object provided is unrecognized (must be of type %.*s): couldn't get version/kind; %.*s (%.*s)",
                STR_FMT(kind), STR_FMT(why), STR_FMT(summary(body, c->a)));
}

struct str body_kind_fault(const struct value *body, struct arena *a) {
        static const char *const fields[] = { "apiVersion", "kind" };

        if (!value_is(body, VALUE_MAP) && !value_is(body, VALUE_NULL))
                return arena_strf(
                        a,
                        "json parse error: json: cannot unmarshal %s into Go value of type struct { APIVersion "
                        "string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                        "\"json:\\\"kind,omitempty\\\"\" }",
                        body_json_kind(body));
        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                const struct value *v = value_getc(body, fields[i]);

                if (v && v->kind != VALUE_STRING && v->kind != VALUE_NULL)
                        return arena_strf(
                                a,
                                "json parse error: json: cannot unmarshal %s into Go struct field .%s of type "
                                "string",
                                body_json_kind(v), fields[i]);
        }
        return (struct str){ 0 };
}

int body_parse(struct call *c, const struct value **ret) {
        struct str type = media_type(c->req->content_type), body = c->req->body;
        struct err err = { 0 };

        if (body.n > KUBE_MAX_REQUEST_BYTES)
                return status_refuse(c, 413, "RequestEntityTooLarge", NULL, "Request entity too large: limit is %d",
                                     KUBE_MAX_REQUEST_BYTES);
        if (type.n && !str_eqc(type, "application/json") && !is_yaml(type))
                return status_refuse(c, 415, "UnsupportedMediaType", NULL,
                                     "the body of the request was in an unknown format - accepted media types include: "
                                     "application/json, application/yaml, application/vnd.kubernetes.protobuf");
        *ret = NULL;
        if (body.n == 0)
                return 0;
        int r = is_yaml(type) ? parse_yaml(body, c->a, ret, &err) : json_parse(body, c->a, ret, &err);
        if (r < 0 && str_is_utf8(body))
                return refuse_text(c, c->kind->resource->kind, body,
                                   STR("json parse error: unexpected end of JSON input"));
        return r < 0 ? status_bad_request(c, "%s", err.msg) : 0;
}

/* ---- strict decoding ---- */

struct str body_strict_text(const struct causes *strict, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(KUBE_MAX_OBJECT_BYTES);

        buf_addc(&out, "strict decoding error: ");
        for (size_t i = 0; i < strict->count; i++)
                buf_addf(&out, "%s%.*s", i ? ", " : "", STR_FMT(strict->items[i].message));
        return arena_str(a, buf_str(&out));
}

enum body_strictness body_strictness(const struct call *c) {
        struct str text = query_get(&c->query, "fieldValidation");

        return str_eqc(text, "Strict") ? BODY_STRICT : str_eqc(text, "Ignore") ? BODY_IGNORE : BODY_WARN;
}

void body_warn(struct call *c, const struct causes *strict) {
        for (size_t i = 0; body_strictness(c) == BODY_WARN && i < strict->count; i++)
                call_warn(c, strict->items[i].message);
}

const struct value *body_with_emptied_owners(const struct value *object, const struct value *body, struct arena *a) {
        const struct value *owners = value_path(body, "metadata", "managedFields", NULL);

        if (!value_is(owners, VALUE_LIST) || owners->list.count > 0)
                return object;
        return meta_with(object, "managedFields", owners, a);
}

const struct value *body_decode(struct call *c, const struct type *type, const struct value *body,
                                struct causes *strict, struct str *ret_why) {
        bool is_custom = body_is_custom(c, type);
        const struct value *object = NULL;
        struct err err = { 0 };

        bool is_odd = is_custom && !str_eq(value_text(value_getc(body, "kind")), c->kind->resource->kind);
        int r = is_odd ? codec_decode_odd(type, body, c->a, &object, strict, &err)
                       : codec_decode(type, body, is_custom, c->a, &object, strict, &err);

        *ret_why = (struct str){ 0 };
        if (r < 0)
                *ret_why = arena_str(c->a, str_from(err.msg));
        if (object && type == kind_type(c->kind))
                *ret_why = prepare_fault(c, object);
        if (ret_why->n)
                return NULL;
        if (object && !is_custom)
                held_note(c, type, body);
        return object && !is_custom ? body_with_emptied_owners(object, body, c->a) : object;
}

void body_read_text(struct call *c, const struct type *type, struct str text, struct causes *strict) {
        bool is_custom = body_is_custom(c, type);
        struct causes found = { .arena = c->a };

        codec_strict(type, text, &found);
        if (is_custom)
                causes_append(&found, strict);
        causes_done(strict);
        *strict = found;
}

/* The decoded body of a POST or PUT; *ret_why is empty or the text of what is wrong. */
static const struct value *decode(struct call *c, const struct type *type, const struct value *body,
                                  struct str *ret_why) {
        struct causes strict = { .arena = c->a };
        const struct value *object = body_decode(c, type, body, &strict, ret_why);

        if (object && body_strictness(c) != BODY_IGNORE && !is_yaml(media_type(c->req->content_type)))
                body_read_text(c, type, c->req->body, &strict);
        if (object && strict.count && body_strictness(c) == BODY_STRICT)
                *ret_why = body_strict_text(&strict, c->a);
        else if (object)
                body_warn(c, &strict);
        causes_done(&strict);
        return object;
}

/* ---- bodies of POST and PUT ---- */

void body_note_type(struct call *c, const struct value *body) {
        struct str v = value_text(value_getc(body, "apiVersion")), k = value_text(value_getc(body, "kind"));

        c->is_odd = !str_eq(v, c->kind->api_version) || !str_eq(k, c->kind->resource->kind);
        c->odd = (struct odd_type){ v, k };
}

/* What strict reading finds is told before the version is refused; of a version that is none no field is known. */
static void find_in_other_version(struct call *c, const struct value *body, struct causes *found) {
        static const char *const known[] = { "apiVersion", "kind", "metadata" };
        struct str v = value_text(value_getc(body, "apiVersion")), k = value_text(value_getc(body, "kind"));
        bool is_ours = str_eq(schema_group(v), c->kind->resource->group) && str_eq(k, c->kind->resource->kind);

        if (!is_yaml(media_type(c->req->content_type)))
                codec_duplicates(c->req->body, found);
        for (size_t i = 0; is_ours && i < body->map.count; i++) {
                struct str key = body->map.members[i].key;

                if (!str_eqc(key, known[0]) && !str_eqc(key, known[1]) && !str_eqc(key, known[2]))
                        causes_add(found, "", (struct str){ 0 }, "unknown field \"%.*s\"", STR_FMT(key));
        }
}

static int note_other_version(struct call *c, const struct value *body) {
        struct str v = value_text(value_getc(body, "apiVersion")), k = value_text(value_getc(body, "kind"));
        struct causes found = { .arena = c->a };
        int r = 0;

        find_in_other_version(c, body, &found);
        if (body_strictness(c) != BODY_STRICT)
                body_warn(c, &found);
        else if (found.count && v.n == 0)
                r = status_bad_request(c, "Object 'apiVersion' is missing in 'object has no apiVersion field'");
        else if (found.count)
                r = status_bad_request(c, "%.*s in version \"%.*s\" cannot be handled as a %.*s: %.*s", STR_FMT(k),
                                       STR_FMT(schema_version(v)), STR_FMT(c->kind->resource->kind),
                                       STR_FMT(body_strict_text(&found, c->a)));
        causes_done(&found);
        return r;
}

static int check_custom_type(struct call *c, const struct value *body) {
        struct str v = value_text(value_getc(body, "apiVersion")), k = value_text(value_getc(body, "kind"));
        struct str api_version = c->kind->api_version, kind = c->kind->resource->kind;

        if (k.n == 0 && body_strictness(c) == BODY_IGNORE)
                return status_bad_request(
                        c, "%.*s in version \"%.*s\" cannot be handled as a %.*s: Object 'Kind' is missing in '%.*s'",
                        STR_FMT(kind), STR_FMT(schema_version(api_version)), STR_FMT(kind), STR_FMT(c->req->body));
        if (k.n == 0)
                return status_bad_request(
                        c,
                        "the object provided is unrecognized (must be of type %.*s): Object 'Kind' is "
                        "missing in '%.*s' (%.*s)",
                        STR_FMT(kind), STR_FMT(c->req->body), STR_FMT(summary(c->req->body, c->a)));
        if (value_is(value_getc(body, "apiVersion"), VALUE_NULL))
                return status_bad_request(
                        c,
                        "%.*s in version \"\" cannot be handled as a %.*s: .apiVersion accessor error: "
                        "<nil> is of the type <nil>, expected string",
                        STR_FMT(kind), STR_FMT(kind));
        if (!str_eq(v, api_version) && note_other_version(c, body) < 0)
                return -1;
        if (!str_eq(v, api_version))
                return status_bad_request(
                        c, "the API version in the data (%.*s) does not match the expected API version (%.*s)",
                        STR_FMT(v), STR_FMT(api_version));
        return 0;
}

/* As far as it says. */
static bool is_of(const struct value *body, struct str api_version, struct str kind) {
        struct str v = value_text(value_getc(body, "apiVersion")), k = value_text(value_getc(body, "kind"));

        return (v.n == 0 || str_eq(v, api_version)) && (k.n == 0 || str_eq(k, kind));
}

static int check_kind(struct call *c, const struct value *body, struct str api_version, struct str kind) {
        struct str v = value_text(value_getc(body, "apiVersion")), k = value_text(value_getc(body, "kind"));

        if (c->kind->is_custom && str_eq(kind, c->kind->resource->kind))
                return check_custom_type(c, body);
        if (is_of(body, api_version, kind))
                return 0;
        v = v.n ? v : api_version;
        k = k.n ? k : kind;
        struct str version = schema_version(v);
        if (kinds_of_kind(c->s->kinds, v, k))
                return status_bad_request(
                        c,
                        "%.*s in version \"%.*s\" cannot be handled as a %.*s: converting (%.*s.%.*s) to "
                        "(%.*s.%.*s): unknown conversion",
                        STR_FMT(k), STR_FMT(version), STR_FMT(kind), STR_FMT(version), STR_FMT(k),
                        STR_FMT(c->at.group.n ? c->at.group : STR("core")), STR_FMT(kind));
        return status_bad_request(
                c,
                "%.*s in version \"%.*s\" cannot be handled as a %.*s: no kind \"%.*s\" is registered "
                "for version \"%.*s\" in scheme \"pkg/runtime/scheme.go:111\"",
                STR_FMT(k), STR_FMT(version), STR_FMT(kind), STR_FMT(k), STR_FMT(v));
}

const struct value *body_with_kind(const struct value *object, struct str api_version, struct str kind,
                                   struct arena *a) {
        if (!str_eq(value_text(value_getc(object, "apiVersion")), api_version))
                object = value_with(a, object, STR("apiVersion"), value_string(a, api_version, 0));
        if (!str_eq(value_text(value_getc(object, "kind")), kind))
                object = value_with(a, object, STR("kind"), value_string(a, kind, 0));
        return object;
}

struct str body_version(const struct call *c, const struct type *type, const struct value *object,
                        struct str api_version) {
        return is_customs_scale(c, type) ? value_text(value_getc(object, "apiVersion")) : api_version;
}

/* CRDs' scheme does not know it. */
static int refuse_scale(struct call *c, struct str kind) {
        return status_bad_request(
                c, "no kind is registered for the type v1.%.*s in scheme \"pkg/runtime/scheme.go:111\"", STR_FMT(kind));
}

int body_object(struct call *c, const struct type *type, struct str api_version, struct str kind,
                const struct value **ret) {
        const struct value *body;
        struct str why;
        int r = body_parse(c, &body);

        if (r < 0)
                return r;
        if (!body)
                return refuse_text(c, kind, c->req->body, STR("json parse error: unexpected end of JSON input"));
        why = body_kind_fault(body, c->a);
        if (why.n && is_customs_scale(c, type))
                return refuse_scale(c, kind);
        if (why.n)
                return refuse_text(c, kind, c->req->body, why);
        if (body->kind == VALUE_NULL)
                body = &value_empty_map;
        if (is_customs_scale(c, type) && !is_of(body, api_version, kind))
                return refuse_scale(c, kind);
        r = check_kind(c, body, api_version, kind);
        if (r < 0)
                return r;
        const struct value *object = decode(c, type, body, &why);
        if (why.n && is_customs_scale(c, type))
                return refuse_scale(c, kind);
        if (why.n)
                return status_bad_request(c, "%.*s in version \"%.*s\" cannot be handled as a %.*s: %.*s",
                                          STR_FMT(kind), STR_FMT(schema_version(api_version)), STR_FMT(kind),
                                          STR_FMT(why));
        if (body_is_custom(c, type))
                body_note_type(c, body);
        *ret = body_with_kind(object, body_version(c, type, object, api_version), kind, c->a);
        return 0;
}

int body_merged(struct call *c, const struct value *merged, struct str patch_name, const struct value **ret) {
        struct str version = c->kind->api_version, kind = c->kind->resource->kind;
        const char *slash = str_find(version, '/', 0) < 0 ? "/" : "";
        struct causes strict = { .arena = c->a };
        struct err err = { 0 };

        if (c->kind->is_custom)
                return codec_metadata(kind_type(c->kind), merged, c->a, ret, &err) < 0
                               ? status_internal(c, "%s", err.msg)
                               : 0;
        int r = codec_convert(kind_type(c->kind), merged, c->a, ret, &strict, &err);
        causes_done(&strict);
        if (r < 0)
                return status_internal(
                        c,
                        "failed to convert new object (%.*s; %s%.*s, Kind=%.*s) to proper version: unable "
                        "to convert unstructured object to %s%.*s, Kind=%.*s: %s",
                        STR_FMT(patch_name), slash, STR_FMT(version), STR_FMT(kind), slash, STR_FMT(version),
                        STR_FMT(kind), err.msg);
        struct str why = prepare_fault(c, *ret);
        if (why.n)
                return status_internal(c, "failed to convert to unversioned (%.*s; %s%.*s, Kind=%.*s): %.*s",
                                       STR_FMT(patch_name), slash, STR_FMT(version), STR_FMT(kind), STR_FMT(why));
        held_note(c, kind_type(c->kind), merged);
        *ret = body_with_kind(*ret, version, kind, c->a);
        return 0;
}

const struct value *body_default(struct call *c, const struct value *object) {
        if (c->kind->is_custom && !(c->req && serve_is_apply(c)))
                object = codec_prune(kind_type(c->kind), object, c->a);
        object = codec_default(kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, object, c->a);
        return prepare_default(c, object);
}

/* ---- DeleteOptions ---- */

static int decode_options(struct call *c, const struct value **options) {
        const struct type *type = type_table_find(kinds_types(c->s->kinds), STR("v1"), STR("DeleteOptions"));
        struct str why = body_kind_fault(*options, c->a), kind = value_text(value_getc(*options, "kind")),
                   version = value_text(value_getc(*options, "apiVersion"));
        struct err err = { 0 };

        if (why.n)
                return status_bad_request(c, "couldn't get version/kind; %.*s", STR_FMT(why));
        if (kind.n && !str_eqc(kind, "DeleteOptions"))
                return status_bad_request(
                        c,
                        "no kind \"%.*s\" is registered for version \"%.*s\" in scheme \"pkg/runtime/scheme.go:111\"",
                        STR_FMT(kind), STR_FMT(version.n ? version : STR("v1")));
        if ((*options)->kind == VALUE_NULL)
                *options = &value_empty_map;
        if (codec_decode(type, *options, false, c->a, options, NULL, &err) < 0)
                return status_bad_request(c, "%s", err.msg);
        return 0;
}

int body_delete_options(struct call *c, const struct value **ret) {
        struct str type;
        struct err err = { 0 };

        *ret = NULL;
        if (!c->req || c->req->body.n == 0)
                return 0;
        type = media_type(c->req->content_type);
        int r = is_yaml(type) ? parse_yaml(c->req->body, c->a, ret, &err) : json_parse(c->req->body, c->a, ret, &err);
        if (r < 0 || !*ret)
                return status_bad_request(c, "unable to decode DeleteOptions: %s", err.msg);
        return decode_options(c, ret);
}

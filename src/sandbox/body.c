/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/body.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "sandbox/codec.h"
#include "sandbox/prepare.h"
#include "sandbox/status.h"

#define SUMMARY_BYTES 30

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

static struct str summary(struct str body, struct arena *a) {
        if (body.n == 0)
                return STR("<empty>");
        return body.n > SUMMARY_BYTES ? arena_strf(a, "%.*s ...", SUMMARY_BYTES, body.p) : body;
}

static int refuse_text(struct call *c, struct str body) {
        return status_bad_request(
                c,
                "the object provided is unrecognized (must be of type %.*s): couldn't get version/kind; "
                "json parse error: unexpected end of JSON input (%.*s)",
                STR_FMT(c->kind->resource->kind), STR_FMT(summary(body, c->a)));
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
                return refuse_text(c, body);
        return r < 0 ? status_bad_request(c, "%s", err.msg) : 0;
}

/* ---- strict decoding ---- */

static struct str strict_text(const struct causes *strict, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(KUBE_MAX_OBJECT_BYTES);

        buf_addc(&out, "strict decoding error: ");
        for (size_t i = 0; i < strict->count; i++)
                buf_addf(&out, "%s%.*s", i ? ", " : "", STR_FMT(strict->items[i].message));
        return arena_str(a, buf_str(&out));
}

static bool is_strict(const struct call *c) {
        return str_eqc(query_get(&c->query, "fieldValidation"), "Strict");
}

static void warn_all(struct call *c, const struct causes *strict) {
        if (str_eqc(query_get(&c->query, "fieldValidation"), "Ignore"))
                return;
        for (size_t i = 0; i < strict->count; i++)
                call_warn(c, strict->items[i].message);
}

/* An empty list of managedFields means "forget the owners", though decoding drops empty lists. */
static const struct value *with_emptied_owners(const struct value *object, const struct value *body, struct arena *a) {
        const struct value *owners = value_path(body, "metadata", "managedFields", NULL);

        if (!value_is(owners, VALUE_LIST) || owners->list.count > 0)
                return object;
        return meta_with(object, "managedFields", owners, a);
}

/* Decodes; *ret_why is empty or the text of what is wrong. */
static const struct value *decode(struct call *c, const struct type *type, const struct value *body,
                                  struct str *ret_why) {
        struct causes strict = { .arena = c->a };
        const struct value *object = NULL;
        struct err err = { 0 };

        *ret_why = (struct str){ 0 };
        if (codec_decode(type, body, c->kind->is_custom && type == kind_type(c->kind), c->a, &object, &strict, &err) <
            0)
                *ret_why = arena_str(c->a, str_from(err.msg));
        else if (strict.count && is_strict(c))
                *ret_why = strict_text(&strict, c->a);
        else
                warn_all(c, &strict);
        causes_done(&strict);
        return object ? with_emptied_owners(object, body, c->a) : NULL;
}

/* ---- bodies of POST and PUT ---- */

static int refuse_field(struct call *c, const struct value *object, const char *field, struct str is, struct str must) {
        struct causes causes = { .arena = c->a };
        struct str kind = value_text(value_getc(object, "kind"));

        causes_add(&causes, "FieldValueInvalid", str_from(field), "Invalid value: \"%.*s\": must be %.*s", STR_FMT(is),
                   STR_FMT(must));
        int r = status_invalid(c, c->at.group, kind, meta_text(object, "name"), &causes);
        causes_done(&causes);
        return r;
}

/* Custom resources are decoded without a scheme: kind must be there, apiVersion must be the path's. */
static int check_custom_kind(struct call *c, const struct value *body, struct str v, struct str k, bool is_patch) {
        struct str api_version = c->kind->api_version, kind = c->kind->resource->kind;

        if (k.n == 0 && !is_patch)
                return status_bad_request(
                        c,
                        "the object provided is unrecognized (must be of type %.*s): Object 'Kind' is "
                        "missing in '%.*s' (%.*s)",
                        STR_FMT(kind), STR_FMT(c->req->body), STR_FMT(summary(c->req->body, c->a)));
        if (!str_eq(v, api_version) && !is_patch)
                return status_bad_request(
                        c, "the API version in the data (%.*s) does not match the expected API version (%.*s)",
                        STR_FMT(v), STR_FMT(api_version));
        if (!str_eq(k, kind))
                return refuse_field(c, body, "kind", k, kind);
        return str_eq(v, api_version) ? 0 : refuse_field(c, body, "apiVersion", v, api_version);
}

static int check_kind(struct call *c, const struct value *body, struct str api_version, struct str kind) {
        struct str v = value_text(value_getc(body, "apiVersion")), k = value_text(value_getc(body, "kind"));

        if (c->kind->is_custom && str_eq(kind, c->kind->resource->kind))
                return check_custom_kind(c, body, v, k, false);
        if ((v.n == 0 || str_eq(v, api_version)) && (k.n == 0 || str_eq(k, kind)))
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

static const struct value *with_kind(const struct value *object, struct str api_version, struct str kind,
                                     struct arena *a) {
        if (!str_eq(value_text(value_getc(object, "apiVersion")), api_version))
                object = value_with(a, object, STR("apiVersion"), value_string(a, api_version, 0));
        if (!str_eq(value_text(value_getc(object, "kind")), kind))
                object = value_with(a, object, STR("kind"), value_string(a, kind, 0));
        return object;
}

int body_object(struct call *c, const struct type *type, struct str api_version, struct str kind,
                const struct value **ret) {
        const struct value *body;
        struct str why;
        int r = body_parse(c, &body);

        if (r < 0)
                return r;
        if (!value_is(body, VALUE_MAP))
                return refuse_text(c, c->req->body);
        r = check_kind(c, body, api_version, kind);
        if (r < 0)
                return r;
        const struct value *object = decode(c, type, body, &why);
        if (why.n)
                return status_bad_request(c, "%.*s in version \"%.*s\" cannot be handled as a %.*s: %.*s",
                                          STR_FMT(kind), STR_FMT(schema_version(api_version)), STR_FMT(kind),
                                          STR_FMT(why));
        *ret = with_kind(object, api_version, kind, c->a);
        return 0;
}

/* ---- patches ---- */

static int refuse_patch(struct call *c, const struct value *document, struct str why) {
        _cleanup_(buf_done) struct buf quoted = buf_make(KUBE_MAX_OBJECT_BYTES);
        struct causes causes = { .arena = c->a };

        value_print_string(value_canonical(c->a, document), &quoted);
        causes_add(&causes, "FieldValueInvalid", STR("patch"), "Invalid value: %.*s: %.*s", STR_FMT(buf_str(&quoted)),
                   STR_FMT(why));
        int r = status_invalid(c, (struct str){ 0 }, (struct str){ 0 }, (struct str){ 0 }, &causes);
        causes_done(&causes);
        return r;
}

/* fmt's %v of JSON: map[a:b c:[d e]]. */
static void add_go(struct buf *out, const struct value *v) {
        if (v->kind == VALUE_MAP) {
                buf_addc(out, "map[");
                for (size_t i = 0; i < v->map.count; i++) {
                        buf_addf(out, "%s%.*s:", i ? " " : "", STR_FMT(v->map.members[i].key));
                        add_go(out, v->map.members[i].value);
                }
                buf_addch(out, ']');
        } else if (v->kind == VALUE_LIST) {
                buf_addch(out, '[');
                for (size_t i = 0; i < v->list.count; i++) {
                        if (i)
                                buf_addch(out, ' ');
                        add_go(out, v->list.items[i]);
                }
                buf_addch(out, ']');
        } else if (v->kind == VALUE_STRING) {
                buf_add(out, v->text);
        } else if (v->kind == VALUE_NULL) {
                buf_addc(out, "<nil>");
        } else {
                value_print(v, out);
        }
}

/* A strategic merge patch is not decoded from text: the same mistake has other words. */
static struct str strategic_why(struct call *c, struct str why) {
        static const char of_type[] = " of type ";
        const char *at = memmem(why.p, why.n, of_type, sizeof of_type - 1);

        if (!at)
                return why;
        struct str type = str_from(at + sizeof of_type - 1);
        if (str_starts(type, STR("[]")))
                return STR("cannot restore slice from string");
        if (str_starts(type, STR("map[")))
                return STR("cannot restore map from string");
        if (str_find(type, '.', 0) >= 0)
                return STR("cannot restore struct from: string");
        return arena_strf(c->a, "unrecognized type: %.*s", STR_FMT(type));
}

static int refuse_strategic(struct call *c, struct str why) {
        _cleanup_(buf_done) struct buf shown = buf_make(KUBE_MAX_OBJECT_BYTES),
                                       quoted = buf_make(KUBE_MAX_OBJECT_BYTES);
        struct causes causes = { .arena = c->a };
        const struct value *patch;

        if (json_parse(c->req->body, c->a, &patch, NULL) == 0)
                add_go(&shown, patch);
        value_print_string(buf_str(&shown), &quoted);
        causes_add(&causes, "FieldValueInvalid", STR("patch"), "Invalid value: %.*s: %.*s", STR_FMT(buf_str(&quoted)),
                   STR_FMT(strategic_why(c, why)));
        int r = status_invalid(c, (struct str){ 0 }, (struct str){ 0 }, (struct str){ 0 }, &causes);
        causes_done(&causes);
        return r;
}

int body_patched(struct call *c, const struct type *type, struct str api_version, struct str kind,
                 const struct value *document, const struct value **ret) {
        struct str v = value_text(value_getc(document, "apiVersion")), k = value_text(value_getc(document, "kind"));
        struct str why;

        if (c->kind->is_custom && type == kind_type(c->kind)) {
                int r = check_custom_kind(c, document, v, k, true);

                if (r < 0)
                        return r;
        } else if (!str_eq(v, api_version) || !str_eq(k, kind)) {
                return refuse_patch(c, document,
                                    arena_strf(c->a,
                                               "no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
                                               "\"pkg/runtime/scheme.go:111\"",
                                               STR_FMT(k), STR_FMT(v)));
        }
        const struct value *object = decode(c, type, document, &why);
        if (why.n && str_eqc(media_type(c->req->content_type), "application/strategic-merge-patch+json"))
                return refuse_strategic(c, why);
        if (why.n)
                return refuse_patch(c, document, why);
        *ret = with_kind(object, api_version, kind, c->a);
        return 0;
}

int body_merged(struct call *c, const struct value *merged, const struct value **ret) {
        struct causes strict = { .arena = c->a };
        struct err err = { 0 };
        int r = codec_decode(kind_type(c->kind), merged, c->kind->is_custom, c->a, ret, &strict, &err);

        causes_done(&strict);
        if (r < 0)
                return status_internal(c, "failed to create typed patch object: %s", err.msg);
        *ret = with_kind(*ret, c->kind->api_version, c->kind->resource->kind, c->a);
        return 0;
}

const struct value *body_default(struct call *c, const struct value *object) {
        if (c->kind->is_custom)
                object = codec_prune(kind_type(c->kind), object, c->a);
        object = codec_default(kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, object, c->a);
        return prepare_default(c, object);
}

/* ---- DeleteOptions ---- */

int body_delete_options(struct call *c, const struct value **ret) {
        struct str type;
        struct err err = { 0 };

        *ret = NULL;
        if (!c->req || c->req->body.n == 0)
                return 0;
        type = media_type(c->req->content_type);
        int r = is_yaml(type) ? parse_yaml(c->req->body, c->a, ret, &err) : json_parse(c->req->body, c->a, ret, &err);
        if (r < 0 || !value_is(*ret, VALUE_MAP))
                return status_bad_request(c, "unable to decode DeleteOptions: %s", err.msg);
        return 0;
}

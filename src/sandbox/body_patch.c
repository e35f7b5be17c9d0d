/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patches other than server-side apply: from the request's body and the live object to the patched one, decoded. Each
 * of the three refuses in its own words.
 *
 * Source: apiserver's endpoints/handlers/patch.go.
 */
#include "base/json.h"
#include "base/limits.h"
#include "sandbox/body.h"
#include "sandbox/codec.h"
#include "sandbox/held.h"
#include "sandbox/patch_impl.h"
#include "sandbox/prepare.h"
#include "sandbox/status.h"

#define MERGE_PATCH    STR("application/merge-patch+json")
#define JSON_PATCH     STR("application/json-patch+json")
#define MAX_OPERATIONS 10000

/* One patch on its way. */
struct patching {
        struct call *c;
        const struct type *type;
        struct str api_version, kind;
        const struct value *live, *patch;
        struct causes strict; /* of the patch's text */
};

const char *body_json_kind(const struct value *v) {
        static const char *const names[] = {
                [VALUE_NULL] = "null",      [VALUE_BOOL] = "bool",     [VALUE_INT] = "number", [VALUE_UINT] = "number",
                [VALUE_DECIMAL] = "number", [VALUE_STRING] = "string", [VALUE_LIST] = "array", [VALUE_MAP] = "object",
        };

        return names[v->kind];
}

static int refuse_shown(struct call *c, struct str shown, struct str why) {
        _cleanup_(buf_done) struct buf quoted = buf_make(KUBE_MAX_OBJECT_BYTES);
        struct causes causes = { .arena = c->a };

        value_print_string(shown, &quoted);
        causes_add(&causes, "FieldValueInvalid", STR("patch"), "Invalid value: %.*s: %.*s", STR_FMT(buf_str(&quoted)),
                   STR_FMT(why));
        int r = status_invalid(c, (struct str){ 0 }, (struct str){ 0 }, (struct str){ 0 }, &causes);
        causes_done(&causes);
        return r;
}

/* The strict findings of text and object: warnings, or a refusal. */
static int settle_strict(struct patching *p, const struct causes *of_object, struct str shown) {
        struct causes all = { .arena = p->c->a };
        int r = 0;

        causes_append(&all, &p->strict);
        causes_append(&all, of_object);
        if (all.count && body_strictness(p->c) == BODY_STRICT)
                r = refuse_shown(p->c, shown, body_strict_text(&all, p->c->a));
        else
                body_warn(p->c, &all);
        causes_done(&all);
        return r;
}

/* ---- merge patches and JSON patches: the result is decoded ---- */

static struct str text_of(const struct patching *p, const struct value *document) {
        bool is_custom = body_is_custom(p->c, p->type);

        return body_patched_text(is_custom ? NULL : p->type, p->live, p->patch, p->c->req->body, document, p->c->a);
}

static int check_kind(struct patching *p, const struct value *document) {
        struct str v = value_text(value_getc(document, "apiVersion")), k = value_text(value_getc(document, "kind"));
        struct str why = body_kind_fault(document, p->c->a);
        bool is_custom = body_is_custom(p->c, p->type);

        if (why.n)
                return refuse_shown(p->c, text_of(p, document),
                                    arena_strf(p->c->a, "couldn't get version/kind; %.*s", STR_FMT(why)));
        if (is_custom && k.n == 0)
                return refuse_shown(
                        p->c, text_of(p, document),
                        arena_strf(p->c->a, "Object 'Kind' is missing in '%.*s'", STR_FMT(text_of(p, document))));
        if (is_custom)
                return 0;
        v = v.n ? v : p->api_version;
        k = k.n ? k : p->kind;
        if (str_eq(v, p->api_version) && str_eq(k, p->kind))
                return 0;
        return refuse_shown(p->c, text_of(p, document),
                            arena_strf(p->c->a,
                                       "no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
                                       "\"pkg/runtime/scheme.go:111\"",
                                       STR_FMT(k), STR_FMT(v)));
}

static int decode_document(struct patching *p, const struct value *document, const struct value **ret) {
        struct call *c = p->c;
        struct causes strict = { .arena = c->a };
        struct str why;
        int r = check_kind(p, document);

        if (r < 0)
                return r;
        const struct value *object = body_decode(c, p->type, document, &strict, &why);
        /* Only a patch with duplicates can have left some behind. */
        bool has_findings = body_strictness(c) != BODY_IGNORE && strict.count + p->strict.count;
        struct str text = !object || has_findings ? text_of(p, document) : (struct str){ 0 };

        if (object && has_findings)
                body_read_text(c, p->type, text, &strict);
        r = object ? settle_strict(p, &strict, text) : refuse_shown(c, text, why);
        causes_done(&strict);
        if (r == 0 && body_is_custom(c, p->type))
                body_note_type(c, document);
        if (r == 0)
                *ret = body_with_kind(object, body_version(c, p->type, object, p->api_version), p->kind, c->a);
        return r;
}

static void find_json_patch_faults(struct patching *p) {
        struct causes found = { .arena = p->c->a };

        codec_operations(p->c->req->body, &found);
        for (size_t i = 0; i < found.count; i++)
                causes_add(&p->strict, "", (struct str){ 0 }, "json patch %.*s", STR_FMT(found.items[i].message));
        causes_done(&found);
}

/* An item of the patch that is no object. */
static const struct value *no_operation(const struct value *patch) {
        for (size_t i = 0; i < value_count(patch); i++)
                if (!value_is(patch->list.items[i], VALUE_MAP) && !value_is(patch->list.items[i], VALUE_NULL))
                        return patch->list.items[i];
        return NULL;
}

/* With fieldValidation=Ignore nobody looks at operations before they are carried out. */
static int check_operations(struct patching *p) {
        struct err err = { 0 };

        if (body_strictness(p->c) != BODY_IGNORE) {
                find_json_patch_faults(p);
                return patch_json_check(p->patch, &err) < 0 ? status_bad_request(p->c, "%s", err.msg) : 0;
        }
        if (p->patch->kind != VALUE_LIST && p->patch->kind != VALUE_NULL)
                return status_bad_request(p->c, "json: cannot unmarshal %s into Go value of type jsonpatch.Patch",
                                          body_json_kind(p->patch));
        if (no_operation(p->patch))
                return status_bad_request(p->c, "json: cannot unmarshal %s into Go value of type jsonpatch.Operation",
                                          body_json_kind(no_operation(p->patch)));
        return 0;
}

static int by_json(struct patching *p, const struct value **ret) {
        const struct status_details d = { 0 };
        const struct value *document;

        if (check_operations(p) < 0)
                return -1;
        if (value_count(p->patch) > MAX_OPERATIONS)
                return status_refuse(p->c, 413, "RequestEntityTooLarge", &d,
                                     "Request entity too large: The allowed maximum operations in a JSON patch is %d, "
                                     "got %zu",
                                     MAX_OPERATIONS, value_count(p->patch));
        if (patch_json(p->live, p->patch, p->c->a, &document, NULL) < 0)
                return status_refuse(p->c, 422, "Invalid", &d,
                                     "the server rejected our request due to an error in our request");
        return decode_document(p, document, ret);
}

static int by_merge(struct patching *p, const struct value **ret) {
        struct call *c = p->c;

        if (p->patch->kind == VALUE_LIST && body_strictness(c) == BODY_IGNORE)
                return decode_document(p, patch_without_nulls(p->patch, c->a), ret);
        if (p->patch->kind == VALUE_NULL || (p->patch->kind != VALUE_MAP && body_strictness(c) == BODY_IGNORE))
                return status_bad_request(c, "Invalid JSON Patch");
        if (p->patch->kind != VALUE_MAP)
                return status_bad_request(
                        c,
                        "error decoding patch: json: cannot unmarshal %s into Go value of type map[string]interface {}",
                        body_json_kind(p->patch));
        if (body_strictness(c) != BODY_IGNORE)
                codec_duplicates(c->req->body, &p->strict);
        return decode_document(p, patch_merge(p->live, p->patch, c->a), ret);
}

/* ---- strategic merge patches: the result is converted ---- */

/* Errors have short texts: what is cut off of one that quotes a map of the patch is found again there. */
static const char *whole_refusal(const struct value *patch, struct str why, struct arena *a) {
        static const struct str cut = { "…", sizeof "…" - 1 };
        const struct value *directive = value_getc(patch, "$patch");
        struct str begin = str_sub(why, 0, why.n - cut.n), all;

        if (!str_ends(why, cut))
                return arena_str(a, why).p;
        all = arena_strf(a, "unknown patch type: %.*s in map: %.*s", STR_FMT(value_text(directive)),
                         STR_FMT(patch_go_text(patch, a)));
        if (directive && str_starts(all, begin))
                return all.p;
        for (size_t i = 0; i < value_count(patch); i++) {
                const struct value *below =
                        value_is(patch, VALUE_MAP) ? patch->map.members[i].value : patch->list.items[i];
                const char *found = whole_refusal(below, why, a);

                if (!str_ends(str_from(found), cut))
                        return found;
        }
        return arena_str(a, why).p;
}

static int refuse_strategic(struct call *c, int code, const char *why) {
        const struct status_details d = { 0 };

        if (code == ERR_PARSE)
                return status_bad_request(c, "%s", why);
        if (code == ERR_INVAL)
                return status_refuse(c, 422, "Invalid", &d,
                                     "the server rejected our request due to an error in our request");
        return status_internal(c, "%s", why);
}

static int by_strategic(struct patching *p, const struct value **ret) {
        struct call *c = p->c;
        const struct value *patch = p->patch->kind == VALUE_NULL ? &value_empty_map : p->patch, *document;
        struct causes strict = { .arena = c->a };
        struct err err = { 0 };

        if (patch->kind != VALUE_MAP)
                return status_bad_request(c, "json: cannot unmarshal %s into Go value of type map[string]interface {}",
                                          body_json_kind(patch));
        int r = patch_strategic(p->type, p->live, patch, c->a, &document, &err);
        if (r < 0)
                return refuse_strategic(c, r, whole_refusal(patch, str_from(err.msg), c->a));
        if (body_strictness(c) != BODY_IGNORE)
                codec_duplicates(c->req->body, &p->strict);
        struct str text = patch_go_text(patch_left(p->type, p->live, patch, c->a), c->a);
        r = codec_convert(p->type, document, c->a, ret, &strict, &err);
        r = r < 0 ? refuse_shown(c, text, str_from(err.msg)) : settle_strict(p, &strict, text);
        causes_done(&strict);
        if (r == 0 && p->type == kind_type(c->kind) && prepare_fault(c, *ret).n)
                r = status_internal(c, "%.*s", STR_FMT(prepare_fault(c, *ret)));
        if (r == 0)
                held_note(c, p->type, document);
        if (r == 0)
                *ret = body_with_kind(body_with_emptied_owners(*ret, document, c->a), p->api_version, p->kind, c->a);
        return r;
}

int body_patched(struct call *c, const struct type *type, struct str api_version, struct str kind,
                 const struct value *live, const struct value **ret) {
        struct patching p = { c, type, api_version, kind, live, NULL, { .arena = c->a } };
        struct str media = media_type(c->req->content_type);
        int r;

        if (json_parse(c->req->body, c->a, &p.patch, NULL) < 0)
                return status_bad_request(c, "invalid JSON patch");
        if (str_eq(media, JSON_PATCH))
                r = by_json(&p, ret);
        else
                r = str_eq(media, MERGE_PATCH) ? by_merge(&p, ret) : by_strategic(&p, ret);
        causes_done(&p.strict);
        return r;
}

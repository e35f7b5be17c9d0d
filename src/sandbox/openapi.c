/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenAPI v3, as much as kubectl asks for: which group versions there are, and for each kind which parameters a PATCH
 * takes (that is how it learns that the server validates fields itself) and which schema names it. Fields are described
 * for custom resources only: `kubectl explain` shows nothing of built-in kinds.
 */
#include "base/limits.h"
#include "sandbox/serve.h"

#define DOCUMENT_MAX_BYTES (16 * MIB)

static void add_group_path(struct buf *out, const struct kind *k) {
        if (k->resource->group.n)
                buf_addf(out, "apis/%.*s", STR_FMT(k->api_version));
        else
                buf_addf(out, "api/%.*s", STR_FMT(k->api_version));
}

static struct str index_of(struct call *c) {
        _cleanup_(buf_done) struct buf out = buf_make(DOCUMENT_MAX_BYTES);
        const struct kind *k, *last = NULL;
        size_t at = 0;

        buf_addc(&out, "{\"paths\":{");
        while ((k = kinds_next(c->s->kinds, &at))) {
                if (last && str_eq(last->api_version, k->api_version))
                        continue;
                buf_addc(&out, last ? ",\"" : "\"");
                add_group_path(&out, k);
                buf_addc(&out, "\":{\"serverRelativeURL\":\"/openapi/v3/");
                add_group_path(&out, k);
                /* Clients cache by hash: a CRD's group changes with the store. */
                buf_addf(&out, "?hash=%llX\"}", k->is_custom ? (unsigned long long)store_rv(c->s->store) : 1ULL);
                last = k;
        }
        buf_addc(&out, "}}");
        return arena_str(c->a, buf_str(&out));
}

static void add_kind_name(struct buf *out, const struct kind *k) {
        buf_addf(out, "{\"group\":\"%.*s\",\"kind\":\"%.*s\",\"version\":\"%.*s\"}", STR_FMT(k->resource->group),
                 STR_FMT(k->resource->kind), STR_FMT(k->resource->version));
}

static void add_parameters(struct buf *out) {
        static const char *const names[] = { "dryRun", "fieldManager", "fieldValidation", "force" };

        buf_addc(out, "\"parameters\":[");
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                buf_addf(out, "%s{\"name\":\"%s\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}}", i ? "," : "",
                         names[i]);
        buf_addch(out, ']');
}

static void add_path(struct buf *out, const struct kind *k) {
        buf_addc(out, "\"/");
        add_group_path(out, k);
        buf_addf(out, "%s/%.*s/{name}\":{\"patch\":{\"x-kubernetes-action\":\"patch\",",
                 k->resource->namespaced ? "/namespaces/{namespace}" : "", STR_FMT(k->resource->plural));
        add_parameters(out);
        buf_addc(out, ",\"responses\":{\"200\":{\"description\":\"OK\"}},\"x-kubernetes-group-version-kind\":");
        add_kind_name(out, k);
        buf_addc(out, "}}");
}

/* A CRD's own schema, as it stands there. */
static void add_custom_fields(struct buf *out, const struct kind *k) {
        const struct value *schema = kind_type(k)->rules;

        for (size_t i = 0; value_is(schema, VALUE_MAP) && i < schema->map.count; i++) {
                if (str_eqc(schema->map.members[i].key, "type"))
                        continue;
                buf_addch(out, ',');
                value_print_string(schema->map.members[i].key, out);
                buf_addch(out, ':');
                value_print(schema->map.members[i].value, out);
        }
}

static void add_schema(struct buf *out, const struct kind *k) {
        buf_addf(out, "\"%.*s.%.*s.%.*s\":{\"type\":\"object\",\"x-kubernetes-group-version-kind\":[",
                 STR_FMT(k->resource->group.n ? k->resource->group : STR("core")), STR_FMT(k->resource->version),
                 STR_FMT(k->resource->kind));
        add_kind_name(out, k);
        buf_addc(out, "]");
        if (k->is_custom)
                add_custom_fields(out, k);
        else
                buf_addc(out, ",\"x-kubernetes-preserve-unknown-fields\":true");
        buf_addc(out, "}");
}

static size_t add_each(struct buf *out, struct call *c, struct str api_version,
                       void (*add)(struct buf *out, const struct kind *k)) {
        const struct kind *k;
        size_t at = 0, count = 0;

        while ((k = kinds_next(c->s->kinds, &at))) {
                if (!str_eq(k->api_version, api_version))
                        continue;
                if (count++)
                        buf_addch(out, ',');
                add(out, k);
        }
        return count;
}

static bool answer_group(struct call *c, struct str api_version) {
        _cleanup_(buf_done) struct buf out = buf_make(DOCUMENT_MAX_BYTES);

        buf_addc(&out,
                 "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"v1.37.2\"},\"paths\":{");
        size_t count = add_each(&out, c, api_version, add_path);
        buf_addc(&out, "},\"components\":{\"schemas\":{");
        add_each(&out, c, api_version, add_schema);
        buf_addc(&out, "}}}");
        if (count)
                answer_json(c, 200, arena_str(c->a, buf_str(&out)));
        return count > 0;
}

bool serve_openapi(struct call *c, struct str path) {
        struct str rest = str_sub(path, STR("/openapi/v3").n, path.n);

        if (rest.n == 0)
                answer_json(c, 200, index_of(c));
        else if (str_starts(rest, STR("/api/")))
                return answer_group(c, str_sub(rest, STR("/api/").n, rest.n));
        else if (str_starts(rest, STR("/apis/")))
                return answer_group(c, str_sub(rest, STR("/apis/").n, rest.n));
        else
                return false;
        return true;
}

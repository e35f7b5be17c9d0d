/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is served, for clients: aggregated discovery (apidiscovery.k8s.io/v2) and the old documents, and the few paths
 * that are no resources. Made anew for each request: they are rare.
 */
#include "base/limits.h"
#include "sandbox/serve.h"
#include "sandbox/status.h"

#define AGGREGATED         "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define DOCUMENT_MAX_BYTES (16 * MIB)

/* ---- pieces ---- */

static void add_pair(struct buf *out, const char *name, struct str text) {
        if (out->p[out->n - 1] != '{')
                buf_addch(out, ',');
        buf_addf(out, "\"%s\":", name);
        value_print_string(text, out);
}

static void add_list(struct buf *out, const char *name, struct str comma_separated) {
        struct str part;
        bool is_first = true;

        if (comma_separated.n == 0)
                return;
        buf_addf(out, ",\"%s\":[", name);
        while (str_next(&comma_separated, ',', &part)) {
                if (!is_first)
                        buf_addch(out, ',');
                value_print_string(part, out);
                is_first = false;
        }
        buf_addch(out, ']');
}

/* Custom resources' verbs in the old list, in the order in which that server writes them. */
#define CUSTOM_VERBS                                                                                                   \
        ",\"verbs\":[\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"create\",\"update\",\"watch\"]"

static void add_verbs(struct buf *out, unsigned verbs) {
        bool is_first = true;

        buf_addc(out, ",\"verbs\":[");
        for (size_t i = 0; i < RESOURCE_VERBS; i++) {
                if (!(verbs & 1U << i))
                        continue;
                buf_addf(out, "%s\"%s\"", is_first ? "" : ",", resource_verb_names[i]);
                is_first = false;
        }
        buf_addch(out, ']');
}

static bool same_group_version(const struct kind *x, const struct kind *y) {
        return str_eq(x->api_version, y->api_version);
}

/* ---- aggregated ---- */

static void add_response_kind(struct buf *out, struct str group, struct str version, struct str kind) {
        buf_addc(out, ",\"responseKind\":{");
        add_pair(out, "group", group);
        add_pair(out, "version", version);
        add_pair(out, "kind", kind);
        buf_addch(out, '}');
}

static void add_subresources(struct buf *out, const struct resource *r) {
        if (r->sub_count == 0)
                return;
        buf_addc(out, ",\"subresources\":[");
        for (size_t i = 0; i < r->sub_count; i++) {
                buf_addc(out, i ? ",{" : "{");
                add_pair(out, "subresource", r->subs[i].name);
                add_response_kind(out, r->subs[i].group, r->subs[i].version, r->subs[i].kind);
                add_verbs(out, r->subs[i].verbs);
                buf_addch(out, '}');
        }
        buf_addch(out, ']');
}

static void add_aggregated_resource(struct buf *out, const struct kind *k) {
        const struct resource *r = k->resource;

        buf_addch(out, '{');
        add_pair(out, "resource", r->plural);
        add_response_kind(out, k->is_custom ? r->group : (struct str){ 0 },
                          k->is_custom ? r->version : (struct str){ 0 }, r->kind);
        add_pair(out, "scope", r->namespaced ? STR("Namespaced") : STR("Cluster"));
        add_pair(out, "singularResource", r->singular);
        add_verbs(out, r->verbs);
        add_list(out, "shortNames", r->short_names);
        add_list(out, "categories", r->categories);
        add_subresources(out, r);
        buf_addch(out, '}');
}

static struct str aggregated(struct call *c, bool is_core) {
        _cleanup_(buf_done) struct buf out = buf_make(DOCUMENT_MAX_BYTES);
        const struct kind *k, *last = NULL;
        size_t at = 0;

        buf_addc(&out, "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},"
                       "\"items\":[");
        while ((k = kinds_next(c->s->kinds, &at))) {
                if ((k->resource->group.n == 0) != is_core)
                        continue;
                bool new_group = !last || !str_eq(k->resource->group, last->resource->group);
                bool new_version = new_group || !same_group_version(k, last);

                if (last && new_version)
                        buf_addc(&out, "],\"freshness\":\"Current\"}");
                if (last && new_group)
                        buf_addc(&out, "]},");
                if (new_group) {
                        buf_addc(&out, "{\"metadata\":{");
                        if (!is_core)
                                add_pair(&out, "name", k->resource->group);
                        buf_addc(&out, "},\"versions\":[");
                }
                if (new_version) {
                        buf_addc(&out, new_group ? "{" : ",{");
                        add_pair(&out, "version", k->resource->version);
                        buf_addc(&out, ",\"resources\":[");
                }
                if (!new_version)
                        buf_addch(&out, ',');
                add_aggregated_resource(&out, k);
                last = k;
        }
        buf_addc(&out, last ? "],\"freshness\":\"Current\"}]}]}" : "]}");
        return arena_str(c->a, buf_str(&out));
}

/* ---- the old documents ---- */

static void add_plain_resource(struct buf *out, const struct kind *k) {
        const struct resource *r = k->resource;

        buf_addch(out, '{');
        add_pair(out, "name", r->plural);
        add_pair(out, "singularName", r->singular);
        buf_addf(out, ",\"namespaced\":%s", r->namespaced ? "true" : "false");
        add_pair(out, "kind", r->kind);
        if (k->is_custom)
                buf_addc(out, CUSTOM_VERBS);
        else
                add_verbs(out, r->verbs);
        add_list(out, "shortNames", r->short_names);
        add_list(out, "categories", r->categories);
        if (r->storage_hash.n)
                add_pair(out, "storageVersionHash", r->storage_hash);
        buf_addch(out, '}');
        for (size_t i = 0; i < r->sub_count; i++) {
                buf_addf(out, ",{\"name\":\"%.*s/%.*s\",\"singularName\":\"\",\"namespaced\":%s", STR_FMT(r->plural),
                         STR_FMT(r->subs[i].name), r->namespaced ? "true" : "false");
                if (r->subs[i].group.n)
                        add_pair(out, "group", r->subs[i].group);
                if (r->subs[i].version.n)
                        add_pair(out, "version", r->subs[i].version);
                add_pair(out, "kind", r->subs[i].kind);
                add_verbs(out, r->subs[i].verbs);
                buf_addch(out, '}');
        }
}

static struct str resource_list(struct call *c, struct str group, struct str version) {
        _cleanup_(buf_done) struct buf out = buf_make(DOCUMENT_MAX_BYTES);
        const struct kind *k;
        size_t at = 0, count = 0;

        buf_addf(&out, "{\"kind\":\"APIResourceList\",%s\"groupVersion\":\"%.*s%s%.*s\",\"resources\":[",
                 group.n ? "\"apiVersion\":\"v1\"," : "", STR_FMT(group), group.n ? "/" : "", STR_FMT(version));
        while ((k = kinds_next(c->s->kinds, &at))) {
                if (!str_eq(k->resource->group, group) || !str_eq(k->resource->version, version))
                        continue;
                if (count++)
                        buf_addch(&out, ',');
                add_plain_resource(&out, k);
        }
        buf_addc(&out, "]}");
        return arena_str(c->a, buf_str(&out));
}

static void add_group_version(struct buf *out, const struct kind *k) {
        buf_addch(out, '{');
        add_pair(out, "groupVersion", k->api_version);
        add_pair(out, "version", k->resource->version);
        buf_addch(out, '}');
}

/* One APIGroup without its closing brace's neighbours; `first` is the group's first kind. */
static void add_group(struct buf *out, struct call *c, const struct kind *first, const char *head) {
        const struct kind *k, *last = NULL;
        size_t at = 0;

        buf_addf(out, "{%s", head);
        add_pair(out, "name", first->resource->group);
        buf_addc(out, ",\"versions\":[");
        while ((k = kinds_next(c->s->kinds, &at))) {
                if (!str_eq(k->resource->group, first->resource->group) || (last && same_group_version(k, last)))
                        continue;
                if (last)
                        buf_addch(out, ',');
                add_group_version(out, k);
                last = k;
        }
        buf_addc(out, "],\"preferredVersion\":");
        add_group_version(out, first);
        buf_addch(out, '}');
}

static const struct kind *first_of_group(struct call *c, struct str group) {
        const struct kind *k;
        size_t at = 0;

        while ((k = kinds_next(c->s->kinds, &at)))
                if (str_eq(k->resource->group, group))
                        return k;
        return NULL;
}

static struct str group_list(struct call *c) {
        _cleanup_(buf_done) struct buf out = buf_make(DOCUMENT_MAX_BYTES);
        const struct kind *k;
        size_t at = 0, count = 0;

        buf_addc(&out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
        while ((k = kinds_next(c->s->kinds, &at))) {
                if (k->resource->group.n == 0 || first_of_group(c, k->resource->group) != k)
                        continue;
                if (count++)
                        buf_addch(&out, ',');
                add_group(&out, c, k, "");
        }
        buf_addc(&out, "]}");
        return arena_str(c->a, buf_str(&out));
}

static struct str one_group(struct call *c, const struct kind *first) {
        _cleanup_(buf_done) struct buf out = buf_make(DOCUMENT_MAX_BYTES);

        add_group(&out, c, first, "\"kind\":\"APIGroup\",\"apiVersion\":\"v1\"");
        return arena_str(c->a, buf_str(&out));
}

/* ---- paths ---- */

static bool wants_aggregated(const struct call *c) {
        struct str rest = c->req->accept, option;

        while (str_next(&rest, ',', &option))
                if (str_contains(option, STR("as=APIGroupDiscoveryList")) && str_contains(option, STR("v=v2")) &&
                    !str_contains(option, STR("v=v2beta1")))
                        return true;
        return false;
}

static void answer_root(struct call *c, bool is_core) {
        if (wants_aggregated(c)) {
                answer_json(c, 200, aggregated(c, is_core));
                c->reply->content_type = STR(AGGREGATED);
        } else if (is_core) {
                answer_json(c, 200,
                            STR("{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[{"
                                "\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"127.0.0.1:0\"}]}"));
        } else {
                answer_json(c, 200, group_list(c));
        }
}

static bool answer_group(struct call *c, struct str path) {
        struct str group, version = { 0 };
        struct str rest = str_sub(path, STR("/apis/").n, path.n);

        str_next(&rest, '/', &group);
        str_next(&rest, '/', &version);
        const struct kind *first = first_of_group(c, group);
        if (!first || rest.n)
                return false;
        if (version.n == 0)
                answer_json(c, 200, one_group(c, first));
        else if (kinds_has_group_version(c->s->kinds, group, version))
                answer_json(c, 200, resource_list(c, group, version));
        else if (kinds_is_builtin_group(c->s->kinds, group))
                status_no_resource(c);
        else
                return false;
        return true;
}

static const char version_document[] =
        "{\"major\":\"1\",\"minor\":\"37\",\"emulationMajor\":\"1\",\"emulationMinor\":\"37\","
        "\"minCompatibilityMajor\":\"1\",\"minCompatibilityMinor\":\"36\",\"gitVersion\":\"v1.37.2\","
        "\"gitCommit\":\"\",\"gitTreeState\":\"\",\"buildDate\":\"1970-01-01T00:00:00Z\",\"goVersion\":\"go1.26.8\","
        "\"compiler\":\"gc\",\"platform\":\"linux/amd64\"}";

static void answer_text(struct call *c, struct str text) {
        c->reply->status = 200;
        c->reply->content_type = STR("text/plain; charset=utf-8");
        c->reply->body = text;
}

bool serve_other(struct call *c, struct str path) {
        if (path.n > 1 && path.p[path.n - 1] == '/')
                path = str_sub(path, 0, path.n - 1);
        if (str_eqc(path, "/healthz") || str_eqc(path, "/livez") || str_eqc(path, "/readyz"))
                answer_text(c, STR("ok"));
        else if (str_eqc(path, "/version"))
                answer_json(c, 200, str_from(version_document));
        else if (str_eqc(path, "/api") || str_eqc(path, "/apis"))
                answer_root(c, path.n == STR("/api").n);
        else if (str_eqc(path, "/api/v1"))
                answer_json(c, 200, resource_list(c, (struct str){ 0 }, STR("v1")));
        else if (str_starts(path, STR("/apis/")))
                return answer_group(c, path);
        else if (str_starts(path, STR("/openapi/v3")))
                return serve_openapi(c, path);
        else
                return false;
        return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /scale: autoscaling/v1 Scale made of its parent, and back. Built-in kinds have spec.replicas, status.replicas and a
 * selector; custom resources name the paths in their CRD.
 * Source: pkg/registry/apps/deployment/storage (scaleUpdatedObjectInfo), apiextensions' customresource/etcd.go.
 */
#include "sandbox/scale.h"

#include "sandbox/body.h"
#include "sandbox/codec.h"
#include "sandbox/patch_impl.h"
#include "sandbox/serve.h"
#include "sandbox/status.h"
#include "sandbox/write.h"

#define SCALE_VERSION STR("autoscaling/v1")

/* ---- where things are ---- */

struct paths {
        struct str replicas, status_replicas, selector; /* dotted, with a leading dot; selector empty: none */
};

static struct paths paths_of(const struct kind *k) {
        if (!k->is_custom)
                return (struct paths){ STR(".spec.replicas"), STR(".status.replicas"), STR(".spec.selector") };
        return (struct paths){
                .replicas = value_text(value_getc(k->scale, "specReplicasPath")),
                .status_replicas = value_text(value_getc(k->scale, "statusReplicasPath")),
                .selector = value_text(value_getc(k->scale, "labelSelectorPath")),
        };
}

static const struct value *at_path(const struct value *v, struct str path) {
        struct str name;

        for (path = str_sub(path, 1, path.n); v && str_next(&path, '.', &name);)
                v = value_get(v, name);
        return v;
}

static const struct value *with_path(struct call *c, const struct value *object, struct str path,
                                     const struct value *value) {
        struct str keys[32], name;
        size_t n = 0;

        for (path = str_sub(path, 1, path.n); n < ARRAY_LEN(keys) && str_next(&path, '.', &name);)
                keys[n++] = name;
        return value_with_path(c->a, object, keys, n, value);
}

static size_t count_versions(const struct call *c) {
        const struct kind *k;
        size_t at = 0, n = 0;

        while ((k = kinds_next(c->s->kinds, &at)))
                n += k->shelf == c->kind->shelf;
        return n;
}

static struct ssa_scale scale_versions(struct call *c) {
        struct ssa_scale_version *versions = arena_alloc(c->a, (count_versions(c) + 1) * sizeof *versions);
        struct ssa_scale s = { .versions = versions, .api_version = c->kind->api_version };
        const struct kind *k;
        size_t at = 0;

        while ((k = kinds_next(c->s->kinds, &at))) {
                if (k->shelf != c->kind->shelf)
                        continue;
                versions[s.count] = (struct ssa_scale_version){ .api_version = k->api_version };
                if (k->resource->has_scale)
                        field_path_from_dotted(paths_of(k).replicas, c->a, &versions[s.count].replicas, NULL);
                s.count++;
        }
        return s;
}

/* ---- from parent to Scale ---- */

static struct str selector_text(struct call *c, const struct value *parent, struct str path) {
        const struct value *v = path.n ? at_path(parent, path) : NULL;

        if (value_is(v, VALUE_STRING))
                return value_text(v);
        /* A ReplicationController's selector is a plain map. */
        if (value_is(v, VALUE_MAP) && !value_getc(v, "matchLabels") && !value_getc(v, "matchExpressions"))
                v = value_with(c->a, NULL, STR("matchLabels"), v);
        return value_is(v, VALUE_MAP) ? label_selector_text(v, c->a) : (struct str){ 0 };
}

static const struct value *scale_status(struct call *c, const struct value *parent, const struct paths *p) {
        const struct value *replicas = at_path(parent, p->status_replicas);
        struct str selector = selector_text(c, parent, p->selector);
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("replicas"), value_is(replicas, VALUE_INT) ? replicas : value_int(c->a, 0, 0), 0);
        if (selector.n)
                value_map_add(&b, STR("selector"), value_string(c->a, selector, 0), 0);
        return value_map_end(&b, c->a, 0);
}

static const struct value *scale_metadata(struct call *c, const struct value *parent) {
        static const char *const fields[] = { "name", "namespace", "uid", "resourceVersion", "creationTimestamp" };
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                const struct value *v = value_path(parent, "metadata", fields[i], NULL);

                if (v)
                        value_map_add(&b, str_from(fields[i]), v, 0);
        }
        return value_map_end(&b, c->a, 0);
}

static const struct value *scale_of(struct call *c, const struct value *parent) {
        struct paths p = paths_of(c->kind);
        const struct value *replicas = at_path(parent, p.replicas);
        struct value_map_builder b = { 0 };
        int64_t n = 0;

        value_to_i64(replicas, &n);
        value_map_add(&b, STR("apiVersion"), value_string(c->a, SCALE_VERSION, 0), 0);
        value_map_add(&b, STR("kind"), value_stringc(c->a, "Scale"), 0);
        value_map_add(&b, STR("metadata"), scale_metadata(c, parent), 0);
        value_map_add(&b, STR("spec"), n ? value_with(c->a, NULL, STR("replicas"), replicas) : &value_empty_map, 0);
        value_map_add(&b, STR("status"), scale_status(c, parent, &p), 0);
        return value_map_end(&b, c->a, 0);
}

/* ---- the new Scale ---- */

struct scaling {
        struct call *c;
        const struct type *type;
        struct ssa_request how;
        const struct value *before; /* with managedFields */
        const struct value *sent;   /* by a PUT */
};

static bool is_unchanged(const struct scaling *s, const struct value *scale) {
        return value_equal(meta_with(scale, "managedFields", NULL, s->c->a),
                           meta_with(s->before, "managedFields", NULL, s->c->a));
}

/* CRDs' conversion knows no Scale without a Go type, which is what an apply makes: those of custom resources fail. */
static int check_applied(const struct scaling *s, const struct value *config, const struct value *scale) {
        static const char version[] = "request to convert CR to an invalid group/version: autoscaling/v1";
        static const char object[] = "unable to convert unstructured object to autoscaling/v1, Kind=Scale: ";
        bool is_custom = s->c->kind->is_custom;
        struct causes strict = { .arena = s->c->a };
        const struct value *converted;
        struct err err = { 0 };
        int r = 0;

        if (!is_custom)
                r = codec_convert(s->type, scale, s->c->a, &converted, &strict, &err);
        else if (!is_unchanged(s, scale))
                r = -1;
        causes_done(&strict);
        if (r == 0)
                return 0;
        return status_internal(
                s->c, "failed to convert new object (%.*s/%.*s; autoscaling/v1, Kind=Scale) to proper version: %s%s",
                STR_FMT(meta_text(config, "namespace")), STR_FMT(meta_text(config, "name")),
                is_custom ? version : object, err.msg);
}

static int apply_config(struct scaling *s, const struct value **ret) {
        struct ssa_conflicts conflicts = { 0 };
        const struct value *config;
        struct err err = { 0 };

        if (serve_config(s->c, SCALE_VERSION, STR("Scale"), &config) < 0)
                return -1;
        if (s->c->kind->is_custom && value_count(value_path(s->before, "metadata", "managedFields", NULL)) == 0)
                return status_internal(
                        s->c, "failed to create manager for existing fields: failed to convert live object (/; "
                              "autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid "
                              "group/version: autoscaling/v1");
        s->how.force = query_bool(&s->c->query, "force");
        int r = ssa_apply(s->type, s->before, config, &s->how, s->c->a, ret, &conflicts, &err);
        if (r == ERR_CONFLICT)
                return serve_conflicts(s->c, &conflicts);
        if (r < 0)
                return status_internal(s->c, "%s", err.msg);
        if (check_applied(s, config, *ret) < 0)
                return -1;
        return serve_config_strict(s->c) < 0 ? -1 : serve_check_names(s->c, *ret);
}

static int new_scale(struct scaling *s, enum kube_method method, const struct value **ret) {
        struct call *c = s->c;
        const struct value *scale = s->sent;

        if (method == KUBE_PATCH && serve_is_apply(c))
                return apply_config(s, ret);
        if (method == KUBE_PATCH && body_patched(c, s->type, SCALE_VERSION, STR("Scale"), s->before, &scale) < 0)
                return -1;
        if (serve_check_names(c, scale) < 0)
                return -1;
        /* Owners are not looked for in what names no version. */
        if (!value_text(value_getc(scale, "apiVersion")).n)
                *ret = meta_with(scale, "managedFields", value_path(s->before, "metadata", "managedFields", NULL),
                                 c->a);
        else
                *ret = ssa_update(s->type, s->before, scale, &s->how, c->a);
        return 0;
}

static int validate(struct scaling *s, const struct value *scale) {
        struct causes causes = { .arena = s->c->a };
        int r = 0;

        if (s->c->kind->is_custom)
                return 0; /* the object it becomes is */
        codec_validate(s->type, SCALE_VERSION, STR("Scale"), s->before, scale, "scale", NULL, &causes);
        if (causes.count)
                r = status_invalid(s->c, STR("autoscaling"), STR("Scale"), meta_text(scale, "name"), &causes);
        causes_done(&causes);
        return r;
}

/*
 * For writing, a custom resource without replicas has a number that is none, so that the server can tell whether the
 * request gave one.
 */
#define NO_REPLICAS INT32_MIN

static const struct value *for_writing(struct call *c, const struct value *scale, const struct value *parent) {
        static const struct str path[] = { { "spec", 4 }, { "replicas", 8 } };

        if (!c->kind->is_custom || at_path(parent, paths_of(c->kind).replicas))
                return scale;
        return value_with_path(c->a, scale, path, ARRAY_LEN(path), value_int(c->a, NO_REPLICAS, 0));
}

static int check_given(struct call *c, const struct value *scale) {
        int64_t replicas = 0;

        if (!c->kind->is_custom || !value_to_i64(value_path(scale, "spec", "replicas", NULL), &replicas) ||
            replicas != NO_REPLICAS)
                return 0;
        return status_bad_request(c, "the spec replicas field \"%.*s\" cannot be empty",
                                  STR_FMT(paths_of(c->kind).replicas));
}

static const struct value *scaled_parent(struct call *c, const struct ssa_scale *versions, const struct value *parent,
                                         const struct value *scale) {
        const struct value *replicas = value_path(scale, "spec", "replicas", NULL);
        const struct value *entries = value_path(scale, "metadata", "managedFields", NULL);
        const struct value *managed = ssa_scale_adopt(versions, parent, entries, c->a);
        struct str rv = meta_text(scale, "resourceVersion");

        parent = with_path(c, parent, paths_of(c->kind).replicas,
                           value_is(replicas, VALUE_INT) ? replicas : value_int(c->a, 0, 0));
        if (rv.n)
                parent = meta_with_text(parent, "resourceVersion", rv, c->a);
        parent = meta_with(parent, "managedFields", managed, c->a);
        if (!c->kind->is_custom) {
                c->unread = ssa_scale_reorders(managed, c->a) ? UNREAD_ORDER : 0;
                return parent;
        }
        /* Nobody defaults what is stored here; reading does. */
        const struct value *read =
                codec_default(kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, parent, c->a);
        c->unread = value_equal(read, parent) ? 0 : UNREAD_OTHER;
        return read;
}

/* Patches may tell a uid as well. */
static int check_uid(struct call *c, const struct value *parent, const struct value *scale) {
        struct str uid = meta_text(scale, "uid"), have = meta_text(parent, "uid");

        if (c->kind->is_custom || uid.n == 0 || str_eq(uid, have))
                return 0;
        return status_conflict(c, c->at.group, arena_strf(c->a, "%.*s/scale", STR_FMT(c->at.plural)), c->at.name,
                               arena_strf(c->a,
                                          "Precondition failed: UID in precondition: %.*s, UID in object meta: %.*s",
                                          STR_FMT(uid), STR_FMT(have)));
}

static const struct type *scale_type(struct call *c) {
        return type_table_find(kinds_types(c->s->kinds), SCALE_VERSION, STR("Scale"));
}

static struct scaling scaling_of(struct call *c, const struct value *parent, const struct ssa_scale *versions) {
        struct scaling s = {
                .c = c,
                .type = scale_type(c),
                .how = { .manager = c->manager,
                         .subresource = STR("scale"),
                         .api_version = SCALE_VERSION,
                         .now = c->now },
        };

        s.before = meta_with(for_writing(c, scale_of(c, parent), parent), "managedFields",
                             ssa_scale_entries(versions, parent, c->a), c->a);
        return s;
}

static void write_scale(struct call *c, enum kube_method method, struct version *live, const struct value *sent) {
        _cleanup_(version_unrefp) struct version *held = version_ref(live), *v = NULL;
        const struct value *parent = write_live(c, held), *scale;
        struct ssa_scale versions = scale_versions(c);
        struct scaling s = scaling_of(c, parent, &versions);

        s.sent = sent;
        if (sent && serve_check_uid(c, parent, sent) < 0)
                return;
        if (new_scale(&s, method, &scale) < 0 || check_given(c, scale) < 0 || validate(&s, scale) < 0 ||
            check_uid(c, parent, scale) < 0)
                return;
        if (write_update(c, held, scaled_parent(c, &versions, parent, scale), &v) == 0)
                serve_value(c, 200, scale_of(c, write_live(c, v)));
}

/* ---- validation of custom resources ---- */

/* The value there; false when something on the way or the value itself is not of its type, which is told. */
static bool check_path(const struct value *object, struct str path, enum value_kind kind, const char *shown,
                       const struct value **ret, struct causes *out) {
        struct str rest = str_sub(path, 1, path.n), name;
        size_t end = 0;

        *ret = object;
        while (*ret && (*ret)->kind != VALUE_NULL && str_next(&rest, '.', &name)) {
                end = (size_t)(name.p + name.n - path.p);
                if ((*ret)->kind != VALUE_MAP) {
                        causes_add(out, "FieldValueInvalid", path,
                                   "Invalid value: %s: %.*s accessor error: %.*s is of the type %s, expected "
                                   "map[string]interface{}",
                                   shown, (int)end, path.p, STR_FMT(patch_go_text(*ret, out->arena)),
                                   patch_go_type(*ret));
                        return false;
                }
                *ret = value_get(*ret, name);
        }
        if (!*ret || rest.n || (*ret)->kind == kind)
                return *ret && !rest.n;
        causes_add(out, "FieldValueInvalid", path,
                   "Invalid value: %s: %.*s accessor error: %.*s is of the type %s, expected %s", shown, STR_FMT(path),
                   STR_FMT(patch_go_text(*ret, out->arena)), (*ret)->kind == VALUE_NULL ? "<nil>" : patch_go_type(*ret),
                   kind == VALUE_INT ? "int64" : "string");
        return false;
}

static void check_count(const struct value *object, struct str path, struct causes *out) {
        const struct value *v;
        int64_t n = 0;

        if (!path.n || !check_path(object, path, VALUE_INT, "0", &v, out) || !value_to_i64(v, &n))
                return;
        if (n < 0)
                causes_add(out, "FieldValueInvalid", path, "Invalid value: %lld: should be a non-negative integer",
                           (long long)n);
        if (n > INT32_MAX)
                causes_add(out, "FieldValueInvalid", path, "Invalid value: %lld: should be less than or equal to %d",
                           (long long)n, INT32_MAX);
}

void scale_check(struct call *c, const struct value *object, struct causes *out) {
        struct paths p = paths_of(c->kind);
        const struct value *ignored;

        if (!c->kind->resource->has_scale)
                return;
        /* /status is asked for its own fields only. */
        if (!str_eqc(c->at.subresource, "status"))
                check_count(object, p.replicas, out);
        check_count(object, p.status_replicas, out);
        if (p.selector.n)
                check_path(object, p.selector, VALUE_STRING, "\"\"", &ignored, out);
}

/* ---- for controllers ---- */

const struct value *scale_read(struct call *c, const struct version *live) {
        const struct value *parent = write_live(c, live);

        return at_path(parent, paths_of(c->kind).replicas) ? scale_of(c, parent) : NULL;
}

int scale_set(struct call *c, struct version *live, int64_t replicas) {
        static const struct str path[] = { { "spec", 4 }, { "replicas", 8 } };
        _cleanup_(version_unrefp) struct version *held = version_ref(live);
        const struct value *parent = write_live(c, held);
        struct ssa_scale versions = scale_versions(c);
        struct scaling s = scaling_of(c, parent, &versions);
        const struct value *scale =
                value_with_path(c->a, s.before, path, ARRAY_LEN(path), value_int(c->a, replicas, 0));

        scale = ssa_update(s.type, s.before, scale, &s.how, c->a);
        c->at.subresource = STR("scale");
        return write_update(c, held, scaled_parent(c, &versions, parent, scale), NULL);
}

static void refuse_missing(struct call *c) {
        const struct cause cause = {
                .message = arena_strf(c->a, "the spec replicas field \"%.*s\" does not exist",
                                      STR_FMT(paths_of(c->kind).replicas)),
        };
        const struct status_details d = { .causes = &cause, .cause_count = 1 };

        status_refuse(c, 500, "InternalError", &d, "Internal error occurred: %.*s", STR_FMT(cause.message));
}

void serve_scale(struct call *c, enum kube_method method) {
        bool is_apply = method == KUBE_PATCH && serve_is_apply(c);
        const char *options = method == KUBE_PUT ? "UpdateOptions" : "PatchOptions";
        const struct value *sent = NULL;

        if (method != KUBE_GET && serve_write_options(c, options, is_apply) < 0)
                return;
        if (method == KUBE_PUT &&
            (body_object(c, scale_type(c), SCALE_VERSION, STR("Scale"), &sent) < 0 || serve_check_names(c, sent) < 0))
                return;
        struct version *live = serve_live(c);
        if (!live)
                return;
        const struct value *parent = write_live(c, live);
        if (c->kind->is_custom && !at_path(parent, paths_of(c->kind).replicas) && method == KUBE_GET)
                refuse_missing(c);
        else if (method == KUBE_GET)
                serve_value(c, 200, scale_of(c, parent));
        else
                write_scale(c, method, live, sent);
}

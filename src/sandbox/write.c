/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/write.h"

#include <assert.h>
#include <inttypes.h>

#include "sandbox/admission.h"
#include "sandbox/body.h"
#include "sandbox/codec.h"
#include "sandbox/convert.h"
#include "sandbox/held.h"
#include "sandbox/prepare.h"
#include "sandbox/scale.h"
#include "sandbox/serve.h"
#include "sandbox/status.h"
#include "sandbox/warn.h"

#define NAME_SUFFIX_CHARS     "bcdfghjklmnpqrstvwxz2456789"
#define NAME_SUFFIX_BYTES     5
#define NAME_PREFIX_MAX_BYTES 58 /* generateName is cut so that a label can hold the whole name */

/* ---- what an ExternalName has in storage, and writes find there ---- */

static const struct str policy_path[] = { { "spec", 4 }, { "internalTrafficPolicy", 21 } };

static bool is_external_name(const struct call *c, const struct value *object) {
        return !c->kind->is_custom && str_eqc(c->kind->resource->plural, "services") &&
               str_eqc(value_text(value_path(object, "spec", "type", NULL)), "ExternalName");
}

static uint64_t hidden_of(const struct call *c, const struct value *object) {
        struct str policy = value_text(value_path(object, "spec", "internalTrafficPolicy", NULL));

        if (!is_external_name(c, object) || policy.n == 0)
                return 0;
        return str_eqc(policy, "Local") ? UNREAD_LOCAL : UNREAD_CLUSTER;
}

const struct value *write_live(const struct call *c, const struct version *live) {
        const struct value *object = convert(c->kind->storage, c->kind, live->value, c->a);

        if (!is_external_name(c, object) || !(live->unread & (UNREAD_LOCAL | UNREAD_CLUSTER)))
                return object;
        return value_with_path(c->a, object, policy_path, ARRAY_LEN(policy_path),
                               value_stringc(c->a, live->unread & UNREAD_LOCAL ? "Local" : "Cluster"));
}

/* ---- managedFields ---- */

static const struct kind *version_of(const struct call *c, struct str api_version) {
        if (!str_eq(schema_group(api_version), c->kind->resource->group))
                return NULL;
        return kinds_find(c->s->kinds, c->kind->resource->group, schema_version(api_version),
                          c->kind->resource->plural);
}

static const struct type *versions_type(void *ctx, struct str api_version) {
        const struct kind *k = version_of(ctx, api_version);

        return k ? kind_type(k) : NULL;
}

static const struct fieldset *versions_reset(void *ctx, struct str api_version) {
        const struct call *c = ctx;
        const struct kind *k = version_of(c, api_version);

        return k ? strategy_reset_fields(k->strategy, c->at.subresource) : NULL;
}

static const struct value *versions_convert(void *ctx, const struct value *object, struct str api_version,
                                            struct arena *a) {
        const struct call *c = ctx;
        const struct kind *to = version_of(c, api_version);
        const struct kind *from = version_of(c, value_text(value_getc(object, "apiVersion")));

        return to && from ? convert(from, to, object, a) : object;
}

struct ssa_request write_ssa_request(const struct call *c, const struct value *live, struct ssa_versions *versions) {
        *versions = (struct ssa_versions){
                .ctx = (void *)c,
                .type = versions_type,
                .reset = versions_reset,
                .convert = c->kind->is_custom ? NULL : versions_convert,
                .gone_fails = c->kind->is_custom,
        };
        return (struct ssa_request){
                .manager = c->manager,
                .subresource = c->at.subresource,
                .api_version = c->kind->api_version,
                .now = c->now,
                .reset = strategy_reset_fields(c->kind->strategy, c->at.subresource),
                .versions = versions,
                .zero = live || c->kind->is_custom
                                ? NULL
                                : ssa_zero(kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, c->a),
        };
}

const struct value *write_managed(const struct call *c, const struct value *live, const struct value *object) {
        struct ssa_versions versions;
        struct ssa_request how = write_ssa_request(c, live, &versions);

        const struct value *seen = held_for_owners(c, object), *marked = live ? held_mark_lists(c, seen) : seen;

        object = ssa_update(kind_type(c->kind), live, marked, &how, c->a);
        if (marked != seen)
                object = meta_with(seen, "managedFields", value_path(object, "metadata", "managedFields", NULL), c->a);
        return held_after_owners(c, object);
}

/* ---- storing ---- */

/* What was applied is pruned only here: it may have counted as a change before. */
static const struct value *to_storage(const struct call *c, const struct value *object) {
        if (c->kind->is_custom && c->req && serve_is_apply(c))
                object = codec_prune(kind_type(c->kind), object, c->a);
        object = convert(c->kind, c->kind->storage, object, c->a);
        if (hidden_of(c, object))
                object = value_with_path(c->a, object, policy_path, ARRAY_LEN(policy_path), NULL);
        return object;
}

static struct version *dry(const struct call *c, const struct version *live, const struct value *object) {
        return version_new(to_storage(c, object), live ? live->rv : 0);
}

struct version *write_store(struct call *c, struct version *live, const struct value *object) {
        if (c->dry_run)
                return dry(c, live, object);

        _cleanup_(version_unrefp) struct version *before = live ? version_ref(live) : NULL;
        struct version *v = version_ref(shelf_put(c->kind->shelf, to_storage(c, object), c->a));
        sandbox_tell(c, before, v, v->rv);
        return v;
}

struct version *write_remove(struct call *c, struct version *live, const struct value *last) {
        if (c->dry_run)
                return dry(c, live, last);

        _cleanup_(version_unrefp) struct version *before = version_ref(live);
        struct version *gone = shelf_remove(c->kind->shelf, live, to_storage(c, last), c->a);
        sandbox_tell(c, before, NULL, gone->rv);
        return gone;
}

/* ---- creation ---- */

static struct str generated_name(struct call *c, struct str prefix) {
        char suffix[NAME_SUFFIX_BYTES];
        struct str name;

        prefix = str_sub(prefix, 0, NAME_PREFIX_MAX_BYTES);
        do {
                for (size_t i = 0; i < sizeof suffix; i++)
                        suffix[i] = NAME_SUFFIX_CHARS[loop_random(c->s->loop, sizeof NAME_SUFFIX_CHARS - 1)];
                name = arena_strf(c->a, "%.*s%.*s", STR_FMT(prefix), (int)sizeof suffix, suffix);
        } while (shelf_find(c->kind->shelf, c->at.namespace, name));
        return name;
}

/* As it was sent. */
static const struct value *odd_object(const struct call *c, const struct value *object) {
        return body_with_kind(object, c->odd.api_version, c->odd.kind, c->a);
}

static void find_faults(struct call *c, const struct value *live, const struct value *object, const char *subresource,
                        struct causes *out) {
        struct causes scale = { .arena = c->a };

        if (c->is_odd && !subresource) {
                codec_validate_odd(kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, live,
                                   odd_object(c, object), out);
                return;
        }
        if (c->kind->is_custom)
                scale_check(c, object, &scale);
        codec_validate(kind_type(c->kind), c->kind->api_version, c->kind->resource->kind, live,
                       held_for_checks(c, object), subresource, &scale, out);
        causes_done(&scale);
}

static int validate(struct call *c, const struct value *live, const struct value *object, const char *subresource) {
        struct causes causes = { .arena = c->a };
        int r = 0;

        find_faults(c, live, object, subresource, &causes);
        if (causes.count)
                r = status_invalid(c, c->is_odd ? schema_group(c->odd.api_version) : c->kind->resource->group,
                                   c->is_odd ? c->odd.kind : c->kind->resource->kind, meta_text(object, "name"),
                                   &causes);
        causes_done(&causes);
        return r;
}

static const struct value *own_metadata(struct call *c, const struct value *object) {
        struct str name = meta_text(object, "name"), prefix = meta_text(object, "generateName");

        if (name.n == 0 && prefix.n)
                object = meta_with_text(object, "name", generated_name(c, prefix), c->a);
        object = meta_with_text(object, "uid", new_uid(c->s, c->a), c->a);
        return meta_with_text(object, "creationTimestamp", c->now, c->a);
}

int write_create(struct call *c, const struct value *object, struct version **ret) {
        int r = admission_check(c, NULL, &object);

        if (r < 0)
                return r;
        object = warn_of_owners(c, object, true);
        object = own_metadata(c, object);
        object = strategy_create(c->kind->strategy, object, c->a);
        r = prepare_create(c, &object);
        if (r < 0)
                return r;
        r = validate(c, NULL, object, NULL);
        if (r < 0)
                return r;
        warn_of(c, NULL, object);
        r = admission_validate(c, NULL, object);
        if (r < 0)
                return r;
        object = prepare_read(c, object);
        /* Only a POST is refused: an apply or PUT that creates just loses it. */
        uint64_t rv = 0;
        if (!c->dry_run && c->req && c->req->method == KUBE_POST &&
            str_to_u64(meta_text(object, "resourceVersion"), &rv) && rv)
                return status_internal(c, "resourceVersion should not be set on objects to be created");

        struct str name = meta_text(object, "name");
        c->at.name = name;
        const struct version *other = shelf_find(c->kind->shelf, c->at.namespace, name);
        if (other)
                return status_exists(c, name, value_path(other->value, "metadata", "deletionTimestamp", NULL));
        struct version *v = write_store(c, NULL, object);
        v->unread = c->unread | hidden_of(c, object);
        if (ret)
                *ret = v;
        else
                version_unref(v);
        return 0;
}

/* ---- updates ---- */

static int check_version(struct call *c, const struct version *live, const struct value *object) {
        struct str rv = meta_text(object, "resourceVersion");
        uint64_t number = 0;

        if (rv.n == 0 || str_eqc(rv, "0")) {
                struct causes causes = { .arena = c->a };

                if (!(c->kind->strategy->flags & STRATEGY_NO_UNCONDITIONAL))
                        return 0;
                causes_add(&causes, "FieldValueInvalid", STR("metadata.resourceVersion"),
                           "Invalid value: 0: must be specified for an update");
                int r = status_invalid(c, c->at.group, c->at.plural, c->at.name, &causes);
                causes_done(&causes);
                return r;
        }
        if (!str_to_u64(rv, &number))
                return status_internal(c, "strconv.ParseUint: parsing \"%.*s\": invalid syntax", STR_FMT(rv));
        return number == live->rv ? 0 : status_modified(c);
}

/* Metadata that an update cannot change. */
static const struct value *keep_metadata(const struct value *live, const struct value *object, struct arena *a) {
        static const char *const kept[] = { "creationTimestamp", "deletionTimestamp" };

        for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
                const struct value *v = value_path(live, "metadata", kept[i], NULL);

                if (v || i == 0)
                        object = meta_with(object, kept[i], v, a);
        }
        if (meta_text(object, "uid").n == 0)
                object = meta_with_text(object, "uid", meta_text(live, "uid"), a);
        if (!value_path(object, "metadata", "deletionGracePeriodSeconds", NULL))
                object = meta_with(object, "deletionGracePeriodSeconds",
                                   value_path(live, "metadata", "deletionGracePeriodSeconds", NULL), a);
        if (meta_text(object, "namespace").n == 0)
                object = meta_with(object, "namespace", value_path(live, "metadata", "namespace", NULL), a);
        return meta_with_text(object, "resourceVersion", meta_text(live, "resourceVersion"), a);
}

static size_t finalizer_count(const struct value *object) {
        return value_count(value_path(object, "metadata", "finalizers", NULL));
}

/* The last finalizer of an object that is being deleted went away: this update is its end. */
static bool is_end(const struct call *c, const struct value *live, const struct value *object) {
        int64_t grace = 0;

        value_to_i64(value_path(live, "metadata", "deletionGracePeriodSeconds", NULL), &grace);
        if (!value_path(live, "metadata", "deletionTimestamp", NULL) || finalizer_count(object) || grace > 0)
                return false;
        if (c->kind->resource->group.n == 0 && str_eqc(c->kind->resource->plural, "namespaces"))
                return value_count(value_path(object, "spec", "finalizers", NULL)) == 0;
        return finalizer_count(live) > 0;
}

static const struct value *next_generation(const struct call *c, const struct value *before,
                                           const struct value *object) {
        const struct value *was = value_path(before, "metadata", "generation", NULL);
        int64_t generation = 0;

        object = strategy_update(c->kind->strategy, c->at.subresource, before, object, c->a);
        if (held_counts(c, before) && value_to_i64(was, &generation) &&
            value_equal(was, value_path(object, "metadata", "generation", NULL)))
                object = meta_with(object, "generation", value_int(c->a, generation + 1, 0), c->a);
        return object;
}

/* Is that what is stored already, to the byte? */
static bool is_stored(const struct call *c, const struct version *live, const struct value *object) {
        if (c->rewrites)
                return false;
        return c->unread == live->unread && value_equal(to_storage(c, object), live->value);
}

/* The answer to an object's end was never stored and read: it shows what was sent empty. */
static struct version *last_words(const struct call *c, const struct version *live, const struct value *object) {
        static const char *const fields[] = { "annotations", "finalizers", "labels", "ownerReferences" };
        const struct value *shown =
                c->merged ? convert(c->kind, c->kind->storage, object, c->a) : to_storage(c, object);

        for (size_t i = 0; c->merged && i < ARRAY_LEN(fields); i++) {
                const struct value *v = value_path(c->merged, "metadata", fields[i], NULL);

                if (v && value_count(v) == 0 && !value_path(shown, "metadata", fields[i], NULL))
                        shown = meta_with(shown, fields[i], v, c->a);
        }
        return version_new(held_for_owners(c, shown), live->rv);
}

/* Times are put back only where the rest is stored alike. */
static bool is_read_alike(const struct call *c, const struct version *live) {
        if (c->kind->is_custom)
                return !c->unread;
        return !(c->unread & ~(UNREAD_KEPT | UNREAD_NO_BYTES)) && !((c->unread ^ live->unread) & UNREAD_KEPT);
}

int write_update(struct call *c, struct version *live, const struct value *object, struct version **ret) {
        const struct value *before = write_live(c, live);
        struct version *v;
        int r = admission_check(c, before, &object);

        object = warn_of_owners(c, object, true);
        if (r == 0)
                r = check_version(c, live, object);
        if (r < 0)
                return r;
        object = keep_metadata(before, next_generation(c, before, object), c->a);
        r = prepare_update(c, before, &object);
        if (r < 0)
                return r;
        c->unread |= hidden_of(c, object);
        r = validate(c, before, object, str_eqc(c->at.subresource, "status") ? "status" : NULL);
        if (r < 0)
                return r;
        warn_of(c, before, object);
        r = admission_validate(c, before, object);
        if (r < 0)
                return r;
        if (is_read_alike(c, live))
                object = ssa_settle(before, object, c->a);
        if (is_stored(c, live, object)) {
                v = version_ref(live);
        } else if (is_end(c, before, object)) {
                /* The answer shows the object as it was written, the event as it was before, at the deletion's version.
                 */
                v = last_words(c, live, object);
                version_unref(write_remove(c, live, before));
        } else {
                v = write_store(c, live, object);
                v->unread = c->unread;
        }
        if (ret)
                *ret = v;
        else
                version_unref(v);
        return 0;
}

/* ---- the sandbox's own writes ---- */

bool write_aim(struct call *c, struct str group, struct str plural, struct str namespace, struct str name) {
        const struct kind *kind = kinds_of_resource(c->s->kinds, group, plural);

        if (!kind || !kind->shelf)
                return false;
        c->kind = kind->storage;
        c->at = (struct target){
                .group = group,
                .version = kind->resource->version,
                .plural = plural,
                .namespace = namespace,
                .name = name,
        };
        return true;
}

struct version *write_find(const struct call *c) {
        return shelf_find(c->kind->shelf, c->at.namespace, c->at.name);
}

int write_make(struct call *c, const struct value *object) {
        int r = body_merged(c, object, c->at.name, &object);

        if (r < 0)
                return r;
        object = body_default(c, object);
        return write_create(c, write_managed(c, NULL, object), NULL);
}

int write_change(struct call *c, struct version *live, const struct value *object, const char *subresource) {
        int r = body_merged(c, object, c->at.name, &object);

        if (r < 0)
                return r;
        _cleanup_(version_unrefp) struct version *held = version_ref(live);
        c->at.subresource = str_from(subresource);
        object = body_default(c, object);
        r = write_update(c, held, write_managed(c, write_live(c, held), object), NULL);
        c->at.subresource = (struct str){ 0 };
        return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of another cluster, taken over as they were there. First all is read: definitions, whose kinds are served from
 * then on, then the rest. Each object is decoded and defaulted, as the server does with what it reads from its storage,
 * and checked by the rules of a creation; what those refuse may still be what was allowed once, so the rules of an update
 * that changes nothing count then. Only when all can be taken is anything stored, past admission, owners and the rules
 * that give an object its uid, times and generation.
 *
 * Nobody is told of what is being deleted: a Namespace that ends in the dump would take what is in it along.
 */
#include <inttypes.h>

#include "base/limits.h"
#include "base/map.h"
#include "sandbox/body.h"
#include "sandbox/codec.h"
#include "sandbox/controllers.h"
#include "sandbox/convert.h"
#include "sandbox/crd.h"
#include "sandbox/expiry.h"
#include "sandbox/gc.h"
#include "sandbox/namespace.h"
#include "sandbox/prepare.h"
#include "sandbox/scale.h"
#include "sandbox/ssa.h"

#define MAX_NAMED 10 /* kinds without a definition that one message names */

/* One object of the dump. */
struct taken {
        const struct sandbox_dumped *from;
        const struct kind *kind;    /* until a definition is stored */
        const struct value *object; /* as it is stored */
        struct str group, plural, namespace, name;
        uint64_t rv; /* 0: it has none yet */
        bool is_definition;
        bool is_copy; /* of one before it */
};

struct dump {
        struct sandbox *s;
        struct arena *a;
        struct call *call;
        const struct sandbox_noter *noter;
        struct taken *items;
        size_t count;
        uint64_t rv; /* the newest */
};

/* ---- what is said of an object ---- */

static struct str title(const struct dump *d, const struct taken *t) {
        return arena_strf(d->a, "%.*s:%u: %.*s '%.*s'", STR_FMT(t->from->file), t->from->object->line,
                          STR_FMT(value_text(value_getc(t->from->object, "kind"))),
                          STR_FMT(meta_text(t->from->object, "name")));
}

static bool is_secret(const struct taken *t) {
        return str_eqc(value_text(value_getc(t->from->object, "kind")), "Secret");
}

/* Messages quote values, and nobody may read a Secret's. */
static int refuse(const struct dump *d, const struct taken *t, struct str why, struct err *err) {
        if (is_secret(t))
                why = STR("the API server would not take it (why is not told of a Secret: its values would be in it)");
        return err_set(err, ERR_INVAL, "%.*s: %.*s", STR_FMT(title(d, t)), STR_FMT(why));
}

static void note(const struct dump *d, const struct taken *t, struct str text) {
        if (d->noter)
                d->noter->note(d->noter->ctx, arena_strf(d->a, "%.*s: %.*s", STR_FMT(title(d, t)), STR_FMT(text)));
}

/* ---- which kind it is of ---- */

static bool is_of_group(const struct kind *k, struct str group, struct str name) {
        return str_eq(k->resource->group, group) && str_eq(k->resource->kind, name);
}

/* The versions of the kind that are served, with commas; empty: none. */
static struct str versions_of(const struct dump *d, struct str api_version, struct str name) {
        _cleanup_(buf_done) struct buf out = buf_make(KIB);
        const struct kind *k;
        size_t at = 0;

        while ((k = kinds_next(d->s->kinds, &at)))
                if (is_of_group(k, schema_group(api_version), name))
                        buf_addf(&out, "%s%.*s", out.n ? ", " : "", STR_FMT(k->api_version));
        return arena_str(d->a, buf_str(&out));
}

static int find_kind(const struct dump *d, struct taken *t, struct err *err) {
        struct str api_version = value_text(value_getc(t->from->object, "apiVersion"));
        struct str name = value_text(value_getc(t->from->object, "kind"));

        t->kind = kinds_of_kind(d->s->kinds, api_version, name);
        if (t->kind && t->kind->shelf)
                return 0;
        struct str others = versions_of(d, api_version, name);
        bool is_custom = !kinds_is_builtin_group(d->s->kinds, schema_group(api_version));
        if (!t->kind && !others.n && is_custom) /* told together by tell_undefined() */
                return ERR_NOTFOUND;
        if (!t->kind && others.n)
                return refuse(d, t, arena_strf(d->a, "version %.*s is not served, only %.*s", STR_FMT(api_version),
                                               STR_FMT(others)), err);
        return refuse(d, t, arena_strf(d->a, "the sandbox knows no such kind in %.*s", STR_FMT(api_version)), err);
}

/* Has an item before this one the same kind? */
static bool is_named(const struct dump *d, size_t index) {
        const struct value *object = d->items[index].from->object;

        for (size_t i = 0; i < index; i++)
                if (!d->items[i].kind &&
                    value_equal(value_getc(d->items[i].from->object, "kind"), value_getc(object, "kind")) &&
                    value_equal(value_getc(d->items[i].from->object, "apiVersion"), value_getc(object, "apiVersion")))
                        return true;
        return false;
}

static int tell_undefined(const struct dump *d, struct err *err) {
        _cleanup_(buf_done) struct buf kinds = buf_make(ERR_MSG_MAX_BYTES);
        const struct taken *first = NULL;
        size_t named = 0;

        for (size_t i = 0; i < d->count && named <= MAX_NAMED; i++) {
                const struct taken *t = &d->items[i];

                if (t->kind || is_named(d, i))
                        continue;
                first = first ? first : t;
                if (named++ < MAX_NAMED)
                        buf_addf(&kinds, "%s%.*s (%.*s)", kinds.n ? ", " : "",
                                 STR_FMT(value_text(value_getc(t->from->object, "kind"))),
                                 STR_FMT(value_text(value_getc(t->from->object, "apiVersion"))));
        }
        if (!first)
                return 0;
        return err_set(err, ERR_INVAL,
                       "%.*s: the dump has no CustomResourceDefinition of %s%s; add them, as one more file: kubectl get "
                       "crd -o yaml --show-managed-fields",
                       STR_FMT(title(d, first)), kinds.p, named > MAX_NAMED ? " and more" : "");
}

/* ---- reading one ---- */

/* It becomes a part of a path, and of a key. */
static bool is_segment(struct str name) {
        return name.n <= 253 && str_find(name, '/', 0) < 0 && !str_eqc(name, ".") && !str_eqc(name, "..");
}

static int check_names(const struct dump *d, struct taken *t, struct err *err) {
        const struct value *object = t->from->object;

        t->name = meta_text(object, "name");
        if (!value_is(object, VALUE_MAP) || !value_text(value_getc(object, "kind")).n ||
            !value_text(value_getc(object, "apiVersion")).n || !t->name.n)
                return err_set(err, ERR_INVAL, "%.*s:%u: no object with apiVersion, kind and metadata.name",
                               STR_FMT(t->from->file), object->line);
        if (!is_segment(t->name) || !is_segment(meta_text(object, "namespace")))
                return refuse(d, t, STR("no object can have that name, or be in that namespace"), err);
        return 0;
}

static int check_version(struct dump *d, struct taken *t, const struct value *object, struct err *err) {
        struct str rv = meta_text(object, "resourceVersion");

        if (rv.n && (!str_to_u64(rv, &t->rv) || t->rv > INT64_MAX))
                return refuse(d, t, STR("metadata.resourceVersion is no number"), err);
        d->rv = t->rv > d->rv ? t->rv : d->rv;
        return 0;
}

static int check_owners(const struct dump *d, const struct taken *t, const struct value *object, struct err *err) {
        const struct value *owners = value_path(object, "metadata", "managedFields", NULL);
        struct err why;

        return owners && ssa_check_entries(owners, &why) < 0 ? refuse(d, t, str_from(why.msg), err) : 0;
}

static void find_faults(const struct dump *d, const struct kind *k, const struct value *live,
                        const struct value *object, struct causes *out) {
        struct causes scale = { .arena = d->a };

        if (k->is_custom)
                scale_check(d->call, object, &scale);
        codec_validate(kind_type(k), k->api_version, k->resource->kind, live, object, NULL, &scale, out);
        causes_done(&scale);
}

static int check_rules(const struct dump *d, const struct taken *t, const struct value *object, struct err *err) {
        struct causes new = { .arena = d->a }, same = { .arena = d->a };
        int r = 0;

        find_faults(d, t->kind, NULL, object, &new);
        if (new.count)
                find_faults(d, t->kind, object, object, &same);
        struct str why = causes_message(&new, t->kind->resource->kind, t->kind->resource->group, t->name);
        if (same.count)
                r = refuse(d, t, why, err);
        else if (new.count && !is_secret(t))
                note(d, t, arena_strf(d->a, "it could not be created again, and is taken as it is: %.*s", STR_FMT(why)));
        causes_done(&new);
        causes_done(&same);
        return r;
}

/* What a hand-written object lacks. */
static const struct value *complete(const struct dump *d, const struct taken *t, const struct value *object) {
        if (t->kind->resource->namespaced && !meta_text(object, "namespace").n)
                object = meta_with_text(object, "namespace", STR("default"), d->a);
        if (!meta_text(object, "uid").n)
                object = meta_with_text(object, "uid", new_uid(d->s, d->a), d->a);
        if (!meta_text(object, "creationTimestamp").n)
                object = meta_with_text(object, "creationTimestamp", d->call->now, d->a);
        return object;
}

static int decode(const struct dump *d, const struct taken *t, const struct value **ret, struct err *err) {
        struct causes strict = { .arena = d->a };
        const struct value *object = NULL;
        const struct kind *k = t->kind;
        struct err why = { 0 };
        struct str fault = { 0 };

        if (codec_decode(kind_type(k), t->from->object, k->is_custom, d->a, &object, &strict, &why) < 0)
                fault = str_from(why.msg);
        else
                fault = prepare_fault(d->call, object);
        for (size_t i = 0; !fault.n && i < strict.count; i++)
                note(d, t, arena_strf(d->a, "%.*s, which is left out", STR_FMT(strict.items[i].message)));
        causes_done(&strict);
        if (fault.n)
                return refuse(d, t, fault, err);
        object = body_with_kind(object, k->api_version, k->resource->kind, d->a);
        object = complete(d, t, body_default(d->call, object));
        /* A definition as it was written by hand: no API server has seen it. */
        if (t->is_definition && !value_count(value_path(object, "status", "storedVersions", NULL)))
                prepare_create(d->call, &object);
        *ret = object;
        return 0;
}

static int read_object(struct dump *d, struct taken *t, struct err *err) {
        const struct value *object = NULL;
        int r;

        d->call->kind = t->kind;
        d->call->at = (struct target){ .group = t->kind->resource->group,
                                       .version = t->kind->resource->version,
                                       .plural = t->kind->resource->plural,
                                       .name = t->name };
        if (decode(d, t, &object, err) < 0 || check_version(d, t, object, err) < 0 ||
            check_owners(d, t, object, err) < 0)
                return ERR_INVAL;
        r = check_rules(d, t, object, err);
        if (r < 0)
                return r;
        t->group = t->kind->shelf->group;
        t->plural = t->kind->shelf->plural;
        t->namespace = meta_text(object, "namespace");
        t->object = convert(t->kind, t->kind->storage, object, d->a);
        return 0;
}

/* ---- reading all ---- */

static bool is_definition(const struct value *object) {
        return str_eqc(value_text(value_getc(object, "kind")), "CustomResourceDefinition") &&
               str_eqc(schema_group(value_text(value_getc(object, "apiVersion"))), "apiextensions.k8s.io");
}

/* Its names are accepted a moment later, if they were not; its objects are read now. */
static int serve(const struct dump *d, const struct taken *t, struct err *err) {
        static const struct str path[] = { { "status", 6 }, { "acceptedNames", 13 } };
        const struct value *crd = t->object, *names = value_path(crd, "spec", "names", NULL);
        struct err why = { 0 };

        if (!value_text(value_path(crd, "status", "acceptedNames", "plural", NULL)).n)
                crd = value_with_path(d->a, crd, path, ARRAY_LEN(path), names);
        return kinds_set_crd(d->s->kinds, crd, &why) < 0 ? refuse(d, t, str_from(why.msg), err) : 0;
}

static int read_definition(struct dump *d, struct taken *t, struct err *err) {
        int r = find_kind(d, t, err);

        if (r == 0)
                r = read_object(d, t, err);
        return r < 0 ? r : serve(d, t, err);
}

static int read_definitions(struct dump *d, struct err *err) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < d->count; i++)
                r = check_names(d, &d->items[i], err);
        for (size_t i = 0; r == 0 && i < d->count; i++) {
                struct taken *t = &d->items[i];

                t->is_definition = is_definition(t->from->object);
                if (t->is_definition)
                        r = read_definition(d, t, err);
        }
        return r;
}

static int read_rest(struct dump *d, struct err *err) {
        int r;

        for (size_t i = 0; i < d->count; i++) {
                r = d->items[i].is_definition ? 0 : find_kind(d, &d->items[i], err);
                if (r < 0 && r != ERR_NOTFOUND)
                        return r;
        }
        r = tell_undefined(d, err);
        for (size_t i = 0; r == 0 && i < d->count; i++)
                r = d->items[i].is_definition ? 0 : read_object(d, &d->items[i], err);
        return r;
}

/* Of equal ones the first in the dump is first. */
static int taken_cmp(const void *a, const void *b) {
        const struct taken *x = *(const struct taken *const *)a, *y = *(const struct taken *const *)b;
        const struct str texts[][2] = {
                { x->group, y->group }, { x->plural, y->plural }, { x->namespace, y->namespace }, { x->name, y->name }
        };
        int order = 0;

        for (size_t i = 0; order == 0 && i < ARRAY_LEN(texts); i++)
                order = str_cmp(texts[i][0], texts[i][1]);
        return order;
}

static int by_place(const void *a, const void *b) {
        const struct taken *x = *(const struct taken *const *)a, *y = *(const struct taken *const *)b;
        int order = taken_cmp(a, b);

        return order ? order : x < y ? -1 : x > y;
}

/* `kubectl get all,deployments` gives one object twice; two states of one object are another matter. */
static int check_twice(struct dump *d, struct err *err) {
        struct taken **sorted = arena_alloc(d->a, d->count * sizeof *sorted);

        for (size_t i = 0; i < d->count; i++)
                sorted[i] = &d->items[i];
        qsort(sorted, d->count, sizeof *sorted, by_place);
        for (size_t i = 1; i < d->count; i++) {
                const struct taken *first = sorted[i - 1];

                if (taken_cmp(&sorted[i - 1], &sorted[i]) != 0)
                        continue;
                sorted[i]->is_copy = value_equal(first->object, sorted[i]->object);
                if (!sorted[i]->is_copy)
                        return refuse(d, sorted[i],
                                      arena_strf(d->a, "is there twice, and otherwise at %.*s:%u: leave one out",
                                                 STR_FMT(first->from->file), first->from->object->line),
                                      err);
        }
        return 0;
}

/* ---- storing ---- */

static void tell(struct sandbox *s, const struct kind *kind, const struct version *before, struct version *v) {
        if (str_eqc(kind->resource->kind, "Service") && kind->resource->group.n == 0)
                allocator_tell(s->allocator, before ? before->value : NULL, v->value);
        expiry_tell(s->expiry, kind, v);
        if (value_path(v->value, "metadata", "deletionTimestamp", NULL))
                return;
        crds_tell(s->crds, kind, before, v);
        namespaces_tell(s->namespaces, kind, before, v);
        if (s->gc)
                gc_tell(s->gc, kind, before, v);
        if (s->controllers)
                controllers_tell(s->controllers, kind, before, v);
}

static void store(struct dump *d, struct taken *t) {
        const struct kind *kind = kinds_of_resource(d->s->kinds, t->group, t->plural);
        struct version *had = shelf_find(kind->shelf, t->namespace, t->name);
        _cleanup_(version_unrefp) struct version *before = had ? version_ref(had) : NULL;

        if (!t->rv) {
                t->rv = ++d->rv;
                t->object = meta_with_text(t->object, "resourceVersion", arena_strf(d->a, "%" PRIu64, t->rv), d->a);
        }
        tell(d->s, kind, before, shelf_restore(kind->shelf, t->object, t->rv));
}

static void store_those(struct dump *d, bool definitions) {
        for (size_t i = 0; i < d->count; i++)
                if (!d->items[i].is_copy && d->items[i].is_definition == definitions)
                        store(d, &d->items[i]);
}

/* Definitions come last: storing one makes its kinds anew, and defaults of its objects are parts of the old ones. */
static void store_all(struct dump *d) {
        store_those(d, false);
        store_those(d, true);
        store_set_rv(d->s->store, d->rv);
}

static int make_namespace(const struct dump *d, struct str name, struct err *err) {
        const struct value *object = value_with(d->a, NULL, STR("apiVersion"), value_stringc(d->a, "v1"));

        object = value_with(d->a, object, STR("kind"), value_stringc(d->a, "Namespace"));
        return sandbox_add(d->s, meta_with_text(object, "name", name, d->a), err);
}

static bool is_namespace(const struct taken *t) {
        return t->group.n == 0 && str_eqc(t->plural, "namespaces");
}

static int make_namespaces(struct dump *d, struct err *err) {
        _cleanup_(map_freep) struct map *there = map_new(NULL);
        int r = 0;

        for (size_t i = 0; i < d->count; i++)
                if (is_namespace(&d->items[i]))
                        map_set(there, d->items[i].name, d);
        for (size_t i = 0; r == 0 && i < d->count; i++) {
                const struct taken *t = &d->items[i];

                if (!t->namespace.n || map_find(there, t->namespace))
                        continue;
                map_set(there, t->namespace, d);
                if (!sandbox_get(d->s, (struct str){ 0 }, STR("namespaces"), (struct str){ 0 }, t->namespace))
                        r = make_namespace(d, t->namespace, err);
                if (r < 0)
                        return err_wrap(err, r, "%.*s: its Namespace", STR_FMT(title(d, t)));
        }
        return r;
}

static bool is_owned(const struct dump *d, struct str file) {
        for (size_t i = 0; i < d->count; i++)
                if (str_eq(d->items[i].from->file, file) &&
                    value_count(value_path(d->items[i].from->object, "metadata", "managedFields", NULL)))
                        return true;
        return false;
}

/* Some objects have none, as a namespace's own ServiceAccount; not those of a whole file. Told of the first such one. */
static void note_unowned(const struct dump *d) {
        size_t i = 0;

        while (i < d->count && is_owned(d, d->items[i].from->file))
                i++;
        if (i < d->count && d->noter)
                d->noter->note(d->noter->ctx,
                               arena_strf(d->a, "%.*s: no object in it has managedFields, so nobody owns their fields here: "
                                                "kubectl get … -o yaml --show-managed-fields gives them",
                                          STR_FMT(d->items[i].from->file)));
}

static void forget_definitions(const struct dump *d) {
        for (size_t i = 0; i < d->count; i++)
                if (d->items[i].is_definition && d->items[i].object)
                        kinds_drop_crd(d->s->kinds, d->items[i].name);
}

int sandbox_load_dump(struct sandbox *s, const struct sandbox_dumped *objects, size_t count,
                      const struct sandbox_noter *noter, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct sandbox_reply reply = { 0 };
        struct call call;
        struct dump d = { .s = s, .a = a, .call = &call, .noter = noter, .count = count };

        call_begin(&call, s, a, &reply, "kube-apiserver");
        d.items = arena_zalloc(a, count * sizeof *d.items);
        for (size_t i = 0; i < count; i++)
                d.items[i].from = &objects[i];
        int r = read_definitions(&d, err);
        if (r == 0)
                r = read_rest(&d, err);
        if (r == 0)
                r = check_twice(&d, err);
        if (r == 0)
                r = make_namespaces(&d, err);
        if (r == 0) {
                d.rv = store_rv(s->store) > d.rv ? store_rv(s->store) : d.rv;
                store_compact(s->store);
                store_all(&d);
                note_unowned(&d);
        } else {
                forget_definitions(&d);
        }
        call_end(&call);
        return r;
}

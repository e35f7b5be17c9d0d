/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox_impl.h"

#include <time.h>

#include "sandbox/admission.h"
#include "sandbox/controllers.h"
#include "sandbox/crd.h"
#include "sandbox/expiry.h"
#include "sandbox/gc.h"
#include "sandbox/namespace.h"
#include "sandbox/prepare.h"
#include "sandbox/watch.h"

/* ---- life ---- */

struct sandbox *sandbox_new(struct loop *l, const struct sandbox_options *options) {
        struct sandbox *s = mem_zalloc(sizeof *s);

        s->loop = l;
        if (options)
                s->options = *options;
        s->store = sandbox_store_new(s->options.history_events);
        s->kinds = kinds_new(s->store);
        s->allocator = allocator_new();
        s->crds = crds_new(s);
        s->expiry = expiry_new(s);
        if (!s->options.no_controllers)
                s->gc = gc_new(s);
        s->namespaces = namespaces_new(s);
        if (!s->options.no_controllers)
                s->controllers = controllers_new(s);
        return s;
}

void sandbox_free(struct sandbox *s) {
        if (!s)
                return;
        watch_end_all(s, NULL);
        controllers_free(s->controllers);
        namespaces_free(s->namespaces);
        gc_free(s->gc);
        expiry_free(s->expiry);
        crds_free(s->crds);
        rules_free(s->rules);
        allocator_free(s->allocator);
        kinds_free(s->kinds);
        sandbox_store_free(s->store);
        free(s->observers);
        free(s);
}

struct loop *sandbox_loop(const struct sandbox *s) {
        return s->loop;
}

/* ---- calls ---- */

void call_begin(struct call *c, struct sandbox *s, struct arena *a, struct sandbox_reply *reply, const char *manager) {
        *c = (struct call){ .s = s, .a = a, .reply = reply };
        c->manager = str_from(manager);
        c->user = STR("system:kube-controller-manager");
        c->now = rfc3339(loop_wall_ms(s->loop), a);
}

void call_warn(struct call *c, struct str text) {
        for (size_t i = 0; i < c->warnings.count; i++)
                if (str_eq(c->warnings.items[i], text))
                        return;
        c->warnings.items =
                mem_grow(c->warnings.items, &c->warnings.cap, c->warnings.count + 1, sizeof *c->warnings.items);
        c->warnings.items[c->warnings.count++] = arena_str(c->a, text);
}

void call_end(struct call *c) {
        struct str *copy = arena_alloc(c->a, c->warnings.count * sizeof *copy);

        if (c->warnings.count)
                memcpy(copy, c->warnings.items, c->warnings.count * sizeof *copy);
        free(c->warnings.items);
        c->reply->warnings = copy;
        c->reply->warning_count = c->warnings.count;
}

void answer_json(struct call *c, int status, struct str body) {
        c->reply->status = status;
        c->reply->content_type = STR("application/json");
        c->reply->body = body;
}

/* ---- commits ---- */

void sandbox_observe(struct sandbox *s, void (*fn)(void *ctx, const struct sandbox_commit *c), void *ctx) {
        s->observers = mem_grow(s->observers, &s->observer_cap, s->observer_count + 1, sizeof *s->observers);
        s->observers[s->observer_count++] = (struct observer){ fn, ctx };
}

void sandbox_tell(struct call *c, struct version *before, struct version *after, uint64_t rv) {
        const struct version *any = after ? after : before;
        const struct sandbox_commit commit = {
                .request = c->req,
                .user = c->user,
                .manager = c->manager,
                .group = c->kind->shelf->group,
                .kind = c->kind->resource->kind,
                .namespace = any->namespace,
                .name = any->name,
                .subresource = c->at.subresource,
                .before = before ? before->value : NULL,
                .after = after ? after->value : NULL,
                .resource_version = rv,
        };

        for (size_t i = 0; i < c->s->observer_count; i++)
                c->s->observers[i].fn(c->s->observers[i].ctx, &commit);
        if (str_eqc(c->kind->resource->kind, "Service") && c->kind->resource->group.n == 0)
                allocator_tell(c->s->allocator, commit.before, commit.after);
        crds_tell(c->s->crds, c->kind, before, after);
        expiry_tell(c->s->expiry, c->kind, after);
        if (c->s->namespaces)
                namespaces_tell(c->s->namespaces, c->kind, before, after);
        if (c->s->gc)
                gc_tell(c->s->gc, c->kind, before, after);
        if (c->s->controllers)
                controllers_tell(c->s->controllers, c->kind, before, after);
}

/* ---- looking on ---- */

void sandbox_compact(struct sandbox *s) {
        store_compact(s->store);
}

void sandbox_drop_watches(struct sandbox *s) {
        watch_end_all(s, NULL);
}

const struct value *sandbox_get(struct sandbox *s, struct str group, struct str plural, struct str namespace,
                                struct str name) {
        const struct kind *kind = kinds_of_resource(s->kinds, group, plural);
        struct version *v = kind && kind->shelf ? shelf_find(kind->shelf, namespace, name) : NULL;

        return v ? v->value : NULL;
}

size_t sandbox_list(struct sandbox *s, struct str group, struct str plural, struct arena *a,
                    const struct value *const **ret_objects) {
        const struct kind *kind = kinds_of_resource(s->kinds, group, plural);
        size_t count = kind && kind->shelf ? kind->shelf->count : 0;
        const struct value **list = arena_alloc(a, count * sizeof *list);

        for (size_t i = 0; i < count; i++)
                list[i] = kind->shelf->items[i]->value;
        *ret_objects = list;
        return count;
}

/* ---- small things ---- */

struct str new_uid(struct sandbox *s, struct arena *a) {
        unsigned w[8];

        for (size_t i = 0; i < ARRAY_LEN(w); i++)
                w[i] = (unsigned)loop_random(s->loop, 0x10000);
        return arena_strf(a, "%04x%04x-%04x-4%03x-%04x-%04x%04x%04x", w[0], w[1], w[2], w[3] & 0xfff,
                          (w[4] & 0x3fff) | 0x8000, w[5], w[6], w[7]);
}

struct str rfc3339(int64_t wall_ms, struct arena *a) {
        time_t seconds = (time_t)(wall_ms / 1000);
        struct tm tm;
        char text[32];

        gmtime_r(&seconds, &tm);
        size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
        return arena_str(a, (struct str){ text, n });
}

struct str meta_text(const struct value *object, const char *field) {
        return value_text(value_path(object, "metadata", field, NULL));
}

const struct value *meta_with(const struct value *object, const char *field, const struct value *value,
                              struct arena *a) {
        const struct str path[] = { STR("metadata"), str_from(field) };

        if (!value && !value_path(object, "metadata", field, NULL))
                return object;
        return value_with_path(a, object, path, ARRAY_LEN(path), value);
}

const struct value *meta_with_text(const struct value *object, const char *field, struct str text, struct arena *a) {
        return meta_with(object, field, value_string(a, text, 0), a);
}

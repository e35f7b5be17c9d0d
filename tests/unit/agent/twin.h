/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small API server on the scripted transport, enough for an agent to run on its three twins in one thread: objects in
 * a map, server-side apply by one manager with true managedFields, LIST, WATCH, create, update and delete. No conflicts,
 * no defaults: what needs those is tested on a real server.
 */
#ifndef TRUCE_TEST_AGENT_TWIN_H
#define TRUCE_TEST_AGENT_TWIN_H

#include "base/json.h"
#include "base/map.h"
#include "kube/script_transport.h"
#include "own/fieldset.h"

struct twin {
        struct script *script;
        struct map *objects; /* path → JSON text */
        unsigned rv;
        struct buf answer;
};

static struct str twin_parent(struct str path) {
        size_t n = path.n;

        while (n && path.p[n - 1] != '/')
                n--;
        return str_sub(path, 0, n ? n - 1 : 0);
}

static struct str twin_path(const struct script_request *r) {
        ptrdiff_t query = str_find(r->path, '?', 0);

        return str_sub(r->path, 0, query < 0 ? r->path.n : (size_t)query);
}

/* Namespaced objects are listed at the cluster-wide collection: /api/v1/namespaces/NS/configmaps → /api/v1/configmaps. */
static struct str twin_collection(struct str path, struct arena *a) {
        struct str parent = twin_parent(path);
        const char *at = memmem(parent.p, parent.n, "/namespaces/", 12);

        if (!at)
                return parent;
        struct str head = { parent.p, (size_t)(at - parent.p) }, rest = { at + 12, parent.n - head.n - 12 };
        ptrdiff_t slash = str_find(rest, '/', 0);
        if (slash < 0)
                return parent;
        return arena_strf(a, "%.*s%.*s", STR_FMT(head), STR_FMT(str_sub(rest, (size_t)slash, rest.n)));
}

static void twin_send(struct twin *t, const char *type, struct str path, struct str object) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str pattern = arena_strf(a, "%.*s?*watch=true*", STR_FMT(twin_collection(path, a)));

        script_send(t->script, pattern.p,
                    arena_strf(a, "{\"type\":\"%s\",\"object\":%.*s}", type, STR_FMT(object)));
}

static const struct value *twin_set(struct arena *a, const struct value *object, const char *key, struct str text) {
        struct str path[] = { STR("metadata"), str_from(key) };

        return value_with_path(a, object, path, 2, value_string(a, text, 0));
}

/* Stores a new state of the object under a new resourceVersion and tells the watches. */
static struct str twin_store(struct twin *t, struct str path, const struct value *object, struct arena *a) {
        const char *old = map_find(t->objects, path);
        const struct value *old_object = NULL;

        if (old)
                json_parse(str_from(old), a, &old_object, NULL);
        struct str uid = old ? value_text(value_path(old_object, "metadata", "uid", NULL))
                             : arena_strf(a, "uid-%u", t->rv);
        object = twin_set(a, object, "uid", uid);
        object = twin_set(a, object, "resourceVersion", arena_strf(a, "%u", ++t->rv));
        struct str text = value_canonical(a, object);
        map_set(t->objects, path, str_dup(text));
        twin_send(t, old ? "MODIFIED" : "ADDED", path, text);
        return text;
}

static const struct value *twin_with_owner(struct arena *a, const struct value *object) {
        const struct schema *type = schema_builtin(a, value_text(value_getc(object, "apiVersion")),
                                                   value_text(value_getc(object, "kind")));
        struct value_map_builder entry = { 0 };
        struct value_list_builder list = { 0 };
        struct str path[] = { STR("metadata"), STR("managedFields") };

        value_map_add(&entry, STR("manager"), value_stringc(a, "truce"), 0);
        value_map_add(&entry, STR("operation"), value_stringc(a, "Apply"), 0);
        value_map_add(&entry, STR("apiVersion"), value_getc(object, "apiVersion"), 0);
        value_map_add(&entry, STR("fieldsType"), value_stringc(a, "FieldsV1"), 0);
        value_map_add(&entry, STR("fieldsV1"), fieldset_to_value(a, fieldset_of_value(object, type, a, NULL)), 0);
        value_list_add(&list, value_map_end(&entry, a, 0));
        return value_with_path(a, object, path, 2, value_list_end(&list, a, 0));
}

static int twin_answer(struct twin *t, struct script_answer *answer, int status, struct str body) {
        buf_clear(&t->answer);
        buf_add(&t->answer, body);
        answer->status = status;
        answer->body = buf_str(&t->answer);
        return 0;
}

static int twin_not_found(struct twin *t, struct script_answer *answer) {
        return twin_answer(t, answer, 404,
                           STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"NotFound\","
                               "\"details\":{\"name\":\"x\",\"kind\":\"configmaps\"},\"message\":\"not found\",\"code\":404}"));
}

static int twin_list(struct twin *t, struct str path, struct script_answer *answer) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(1024 * 1024);
        size_t at = 0, n = 0;
        struct str key;
        void *object;

        buf_addf(&out, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%u\"},\"items\":[", t->rv);
        while (map_next(t->objects, &at, &key, &object)) {
                if (!str_eq(twin_collection(key, a), path) && !str_eq(twin_parent(key), path))
                        continue;
                buf_addf(&out, "%s%s", n++ ? "," : "", (const char *)object);
        }
        buf_addc(&out, "]}");
        return twin_answer(t, answer, 200, buf_str(&out));
}

static int twin_get(void *ctx, const struct script_request *r, struct script_answer *answer) {
        struct twin *t = ctx;
        struct str path = twin_path(r);
        const char *object = map_find(t->objects, path);

        if (r->watch) {
                answer->stream = true;
                return 0;
        }
        if (object)
                return twin_answer(t, answer, 200, str_from(object));
        return str_contains(r->path, STR("limit=")) ? twin_list(t, path, answer) : twin_not_found(t, answer);
}

/* JSON merge patch (RFC 7396), without null. */
static const struct value *twin_merge(struct arena *a, const struct value *old, const struct value *patch) {
        if (!value_is(patch, VALUE_MAP))
                return patch;
        for (size_t i = 0; i < patch->map.count; i++) {
                const struct value_member *m = &patch->map.members[i];

                old = value_with(a, old, m->key, twin_merge(a, value_get(old, m->key), m->value));
        }
        return old;
}

static int twin_conflict(struct twin *t, struct script_answer *answer) {
        return twin_answer(t, answer, 409,
                           STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Conflict\","
                               "\"message\":\"the object has been modified\",\"code\":409}"));
}

static struct str twin_rv(const struct value *object) {
        return value_text(value_path(object, "metadata", "resourceVersion", NULL));
}

static int twin_merge_patch(struct twin *t, struct str path, const struct value *patch, struct script_answer *answer,
                            struct arena *a) {
        const char *text = map_find(t->objects, path);
        const struct value *old;

        if (!text)
                return twin_not_found(t, answer);
        json_parse(str_from(text), a, &old, NULL);
        if (twin_rv(patch).n && !str_eq(twin_rv(patch), twin_rv(old)))
                return twin_conflict(t, answer);
        return twin_answer(t, answer, 200, twin_store(t, path, twin_merge(a, old, patch), a));
}

static int twin_write(void *ctx, const struct script_request *r, struct script_answer *answer) {
        struct twin *t = ctx;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;
        struct str path = twin_path(r);

        if (json_parse(r->body, a, &object, NULL) < 0)
                abort();
        if (r->method == KUBE_POST)
                path = arena_strf(a, "%.*s/%.*s", STR_FMT(path), STR_FMT(value_text(value_path(object, "metadata", "name", NULL))));
        bool existed = map_find(t->objects, path) != NULL;
        if (str_contains(r->content_type, STR("merge-patch")))
                return twin_merge_patch(t, path, object, answer, a);
        if (r->method == KUBE_PATCH)
                object = twin_with_owner(a, object);
        if (str_contains(r->path, STR("dryRun=All")))
                return twin_answer(t, answer, existed ? 200 : 201, value_canonical(a, object));
        return twin_answer(t, answer, existed ? 200 : 201, twin_store(t, path, object, a));
}

static int twin_delete(void *ctx, const struct script_request *r, struct script_answer *answer) {
        struct twin *t = ctx;
        char *object = map_find(t->objects, twin_path(r));

        if (!object)
                return twin_not_found(t, answer);
        _cleanup_(mem_freep) char *copy = str_dup(str_from(object));
        map_remove(t->objects, twin_path(r));
        t->rv++;
        twin_send(t, "DELETED", twin_path(r), str_from(copy));
        return twin_answer(t, answer, 200, STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}"));
}

/* Scripts all its answers. */
static void twin_serve(struct twin *t) {
        script_on_call(t->script, KUBE_GET, "*", twin_get, t);
        script_on_call(t->script, KUBE_PATCH, "*", twin_write, t);
        script_on_call(t->script, KUBE_POST, "*", twin_write, t);
        script_on_call(t->script, KUBE_PUT, "*", twin_write, t);
        script_on_call(t->script, KUBE_DELETE, "*", twin_delete, t);
        script_serve_discovery(t->script, "v1 ConfigMap configmaps namespaced cm\n"
                                          "v1 Secret secrets namespaced\n"
                                          "v1 Namespace namespaces cluster ns\n"
                                          "apps/v1 Deployment deployments namespaced status scale deploy\n"
                                          "autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers namespaced hpa\n");
}

static void twin_init(struct twin *t, struct loop *l) {
        *t = (struct twin){ .script = script_new(l), .objects = map_new(free), .rv = 100, .answer = buf_make(1024 * 1024) };
        twin_serve(t);
}

static void twin_done(struct twin *t) {
        script_free(t->script);
        map_free(t->objects);
        buf_done(&t->answer);
}

#endif

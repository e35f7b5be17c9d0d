/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "act.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/limits.h"
#include "group_check.h"
#include "manifest/tracking.h"
#include "own/managed.h"
#include "sync/inventory.h"

#define APPLY_TYPE "application/apply-patch+yaml"
#define JSON_PATCH_TYPE "application/json-patch+json"

struct check {
        struct world *world;
        struct group_check *groups;
        struct map *created;     /* uid → anything: the agent made it, or a copy of what it made */
        struct map *inventories; /* name of the ConfigMap → struct inventory */
        struct map *changes;     /* "namespaces/shop/configmaps/a" → uint64_t: commits so far */
        struct map *under_way;   /* number of an exchange → struct write */
        struct map *given_up;    /* all of a write without an answer, which may have been or yet be done → anything */
        struct map *done;        /* all of a write that was answered → uint64_t: the object's commits then */
        struct str *secrets;     /* what must not be seen, plain and in base64 */
        size_t secret_count;
        bool quiet;
};

struct write {
        char *all; /* method, path and body */
        char *object;
        uint64_t changes; /* of the object, when it was sent or, if it changed it, done */
};

static void drop_write(void *p) {
        struct write *write = p;

        free(write->all);
        free(write->object);
        free(write);
}

static void drop_inventory(void *inv) {
        inventory_free(inv);
}

static void add_secret(struct check *c, struct str text) {
        _cleanup_(buf_done) struct buf coded = buf_make(64 * KIB);
        struct arena *a = c->world->arena;

        base64_encode(text, &coded);
        c->secrets[c->secret_count++] = text;
        c->secrets[c->secret_count++] = arena_str(a, buf_str(&coded));
}

struct check *check_new(struct world *w) {
        struct check *c = mem_zalloc(sizeof *c);
        const struct value *secrets = value_getc(w->doc, "secrets");

        c->world = w;
        c->groups = group_check_new(w);
        c->created = map_new(NULL);
        c->inventories = map_new(drop_inventory);
        c->changes = map_new(free);
        c->under_way = map_new(drop_write);
        c->given_up = map_new(NULL);
        c->done = map_new(free);
        c->secrets = arena_alloc(w->arena, (2 * value_count(secrets) + 1) * sizeof *c->secrets);
        for (size_t i = 0; i < value_count(secrets); i++)
                add_secret(c, value_text(secrets->list.items[i]));
        return c;
}

void check_free(struct check *c) {
        if (!c)
                return;
        group_check_free(c->groups);
        map_free(c->created);
        map_free(c->inventories);
        map_free(c->changes);
        map_free(c->given_up);
        map_free(c->under_way);
        map_free(c->done);
        free(c);
}

void check_quiet(struct check *c) {
        c->quiet = true;
}

bool check_is_ours(const struct sandbox_commit *commit) {
        return commit->request && str_eqc(commit->user, SIM_USER);
}

void check_words_shown(struct check *c, const char *where, struct str text) {
        for (size_t i = 0; i < c->secret_count; i++) {
                if (str_contains(text, c->secrets[i]))
                        world_fail(c->world, "a Secret's value is in %s", where);
        }
}

/* ---- requests ---- */

static struct str meta(const struct value *object, const char *key) {
        return value_text(value_path(object, "metadata", key, NULL));
}

static bool has_lock(const struct value *body) {
        return meta(body, "uid").n && meta(body, "resourceVersion").n;
}

static void check_forced(struct check *c, const struct sandbox_request *req, const struct value *body) {
        if (str_contains(req->path, STR("force=true")) && !has_lock(body))
                world_fail(c->world, "a forced request without uid and resourceVersion: %.*s", STR_FMT(req->path));
}

static void check_delete(struct check *c, const struct sandbox_request *req, const struct value *body) {
        const struct value *conditions = value_getc(body, "preconditions");

        if (!value_text(value_getc(conditions, "uid")).n || !value_text(value_getc(conditions, "resourceVersion")).n)
                world_fail(c->world, "a DELETE without uid and resourceVersion: %.*s", STR_FMT(req->path));
}

static bool is_dry_run(const struct sandbox_request *req) {
        return str_contains(req->path, STR("dryRun="));
}

void check_request(struct check *c, const struct sandbox_request *req, bool is_watch) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *body = NULL;

        if (c->quiet && !is_watch)
                world_fail(c->world, "a request without need: nothing has changed for more than a minute");
        check_words_shown(c, "a path", req->path);
        if (req->method == KUBE_GET)
                return;
        if (!str_contains(req->path, STR("/secrets")))
                check_words_shown(c, "the body of a request that is not about a Secret", req->body);
        if (req->body.n && json_parse(req->body, a, &body, NULL) < 0)
                world_fail(c->world, "a body that is no JSON");
        if (req->method == KUBE_PATCH)
                check_forced(c, req, body);
        if (req->method == KUBE_DELETE && !is_dry_run(req))
                check_delete(c, req, body);
}

/* ---- writes that are sent twice ---- */

static uint64_t number_in(const struct map *m, struct str key) {
        const uint64_t *n = map_find(m, key);

        return n ? *n : 0;
}

static void set_number(struct map *m, struct str key, uint64_t value) {
        uint64_t *n = mem_alloc(sizeof *n);

        *n = value;
        map_set(m, key, n);
}

/* "namespaces/shop/configmaps/a" of "/api/v1/namespaces/shop/configmaps/a?force=true"; groups do not count. */
static struct str object_of(struct str path) {
        ptrdiff_t query = str_find(path, '?', 0);
        struct str rest = str_sub(path, 1, query < 0 ? path.n : (size_t)query), part;

        str_next(&rest, '/', &part);
        if (str_eqc(part, "apis"))
                str_next(&rest, '/', &part);
        str_next(&rest, '/', &part);
        if (str_ends(rest, STR("/status")))
                rest = str_sub(rest, 0, rest.n - strlen("/status"));
        return rest;
}

/* What a request is about: of one that creates the object that comes of it. */
static struct str object_of_request(const struct sandbox_request *req, struct arena *a) {
        const struct value *body;
        struct str object = object_of(req->path);

        if (req->method != KUBE_POST || json_parse(req->body, a, &body, NULL) < 0)
                return object;
        return arena_strf(a, "%.*s/%.*s", STR_FMT(object), STR_FMT(meta(body, "name")));
}

static struct str object_of_commit(const struct sandbox_commit *commit, struct arena *a) {
        struct str plural = act_plural(commit->kind, a);

        if (!commit->namespace.n)
                return arena_strf(a, "%.*s/%.*s", STR_FMT(plural), STR_FMT(commit->name));
        return arena_strf(a, "namespaces/%.*s/%.*s/%.*s", STR_FMT(commit->namespace), STR_FMT(plural), STR_FMT(commit->name));
}

static struct str number_key(uint64_t number, struct arena *a) {
        return arena_strf(a, "%llu", (unsigned long long)number);
}

static struct str all_of(const struct sandbox_request *req, struct arena *a) {
        return arena_strf(a, "%d %.*s %.*s", (int)req->method, STR_FMT(req->path), STR_FMT(req->body));
}

void check_born(struct check *c) {
        size_t at = 0;
        void *p;

        while (map_next(c->under_way, &at, NULL, &p))
                map_set(c->given_up, str_from(((struct write *)p)->all), c);
        map_free(c->under_way);
        map_free(c->done);
        c->under_way = map_new(drop_write);
        c->done = map_new(free);
}

void check_write(struct check *c, const struct sandbox_request *req, uint64_t number) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str all = all_of(req, a), object = object_of_request(req, a);
        struct write *write = mem_alloc(sizeof *write);

        if (map_find(c->done, all) && number_in(c->done, all) == number_in(c->changes, object))
                world_fail(c->world, "a write that was done already, and nothing has changed since: %.*s", STR_FMT(req->path));
        *write = (struct write){ str_dup(all), str_dup(object), number_in(c->changes, object) };
        map_set(c->under_way, number_key(number, a), write);
}

void check_answer(struct check *c, uint64_t number, int status) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct write *write = map_take(c->under_way, number_key(number, a));

        if (!write)
                return;
        if (status >= 200 && status < 300)
                set_number(c->done, str_from(write->all), write->changes);
        if (!status)
                map_set(c->given_up, str_from(write->all), c);
        drop_write(write);
}

static void note_change(struct check *c, const struct sandbox_commit *commit, struct arena *a) {
        struct str object = object_of_commit(commit, a);

        uint64_t changes = number_in(c->changes, object) + 1;
        size_t at = 0;
        void *p;

        set_number(c->changes, object, changes);
        while (check_is_ours(commit) && map_next(c->under_way, &at, NULL, &p)) {
                struct write *write = p;

                if (str_eqc(object, write->object))
                        write->changes = changes;
        }
}

/* ---- commits ---- */

/* Two applications may know one object: the entry of whoever made it, if there is one. */
static struct inventory_entry *stored_entry(const struct check *c, struct str id) {
        struct inventory_entry *found = NULL;
        size_t at = 0;
        void *inv;

        while (map_next(c->inventories, &at, NULL, &inv)) {
                struct inventory_entry *e = inventory_find(inv, id);

                if (e && (!found || (found->flags & INVENTORY_ADOPTED)))
                        found = e;
        }
        return found;
}

/* What the agent would read if it were started now. */
static void note_inventory(struct check *c, const struct sandbox_commit *commit) {
        struct str prefix = STR("truce-inventory-");

        if (!str_eqc(commit->kind, "ConfigMap") || !str_eqc(commit->namespace, SIM_NAMESPACE) ||
            !str_starts(commit->name, prefix))
                return;
        map_remove(c->inventories, commit->name);
        if (!check_is_ours(commit)) {
                map_free(c->done); /* what was noted since the last save is read over */
                c->done = map_new(free);
        }
        if (!commit->after)
                return;
        struct inventory *inv = inventory_new();
        struct err err = { 0 };
        unsigned shards;
        map_set(c->inventories, commit->name, inv);
        check_words_shown(c, "an inventory", value_text(value_path(commit->after, "data", "status", NULL)));
        if (inventory_parse(inv, 0, value_text(value_path(commit->after, "data", "objects", NULL)), &shards, &err) < 0)
                world_fail(c->world, "the stored inventory is damaged: %s", err.msg);
}

static bool is_going(const struct value *object) {
        return meta(object, "deletionTimestamp").n > 0;
}

static bool asks_to_stay(const struct value *object) {
        const struct value *notes = value_path(object, "metadata", "annotations", NULL);
        struct str options = value_text(value_getc(notes, "argocd.argoproj.io/sync-options"));

        return str_contains(options, STR("Prune=false")) || str_contains(options, STR("Delete=false")) ||
               str_eqc(value_text(value_getc(notes, "helm.sh/resource-policy")), "keep");
}

static bool has_controller(const struct value *object) {
        const struct value *refs = value_path(object, "metadata", "ownerReferences", NULL);

        for (size_t i = 0; i < value_count(refs); i++) {
                if (value_truth(value_getc(refs->list.items[i], "controller"), false))
                        return true;
        }
        return false;
}

static bool is_of_another(const struct value *object) {
        const struct value *labels = value_path(object, "metadata", "labels", NULL);
        struct str mark = value_text(value_getc(labels, TRACKING_LABEL));

        return mark.n && !str_eqc(mark, SIM_INSTALLATION);
}

/* A person who replaces an object by its own text leaves our marks on it: by them it is ours still. */
static bool is_marked(const struct value *object, const char *id) {
        struct str mark = value_text(value_path(object, "metadata", "annotations", TRACKING_ANNOTATION, NULL));
        struct inventory_id parts;
        struct tracking_id marked;

        return tracking_id_split(mark, &marked) && inventory_id_split(str_from(id), &parts) &&
               str_eq(marked.kind, parts.kind) && str_eq(marked.name, parts.name);
}

static void check_removal(struct check *c, const struct sandbox_commit *commit, const char *id) {
        const struct inventory_entry *e = stored_entry(c, str_from(id));
        struct str uid = meta(commit->before, "uid");

        if (!map_find(c->created, uid))
                world_fail(c->world, "deleted an object that the agent did not make: %s", id);
        else if (!e)
                world_fail(c->world, "pruned an object that is not in the stored inventory: %s", id);
        else if (e->flags & (INVENTORY_ADOPTED | INVENTORY_KEEP))
                world_fail(c->world, "pruned an object that is adopted or to be kept: %s", id);
        else if (e->uid && !str_eqc(uid, e->uid) && !is_marked(commit->before, id))
                world_fail(c->world, "pruned another incarnation than the inventory's: %s", id);
        else if (asks_to_stay(commit->before))
                world_fail(c->world, "pruned an object that asks to stay: %s", id);
}

/* The destination namespace is made without marks, and is no part of the application. */
static bool is_plain_namespace(const struct sandbox_commit *commit) {
        return str_eqc(commit->kind, "Namespace") &&
               !value_path(commit->after, "metadata", "annotations", TRACKING_ANNOTATION, NULL);
}

static void check_creation(struct check *c, const struct sandbox_commit *commit, const char *id) {
        map_set(c->created, meta(commit->after, "uid"), c);
        if (!is_plain_namespace(commit) && !stored_entry(c, str_from(id)))
                world_fail(c->world, "created an object that is not in the stored inventory: %s", id);
}

static const struct value *without_ownership(const struct value *object, struct arena *a) {
        const struct str fields[] = { STR("metadata"), STR("managedFields") }, rv[] = { STR("metadata"), STR("resourceVersion") };

        return value_with_path(a, value_with_path(a, object, fields, 2, NULL), rv, 2, NULL);
}

static const struct value *our_fields(const struct value *object) {
        const struct value *entries = value_path(object, "metadata", "managedFields", NULL);

        for (size_t i = 0; i < value_count(entries); i++) {
                const struct value *e = entries->list.items[i];

                if (str_eqc(value_text(value_getc(e, "manager")), OWN_MANAGER) &&
                    str_eqc(value_text(value_getc(e, "operation")), "Apply"))
                        return value_getc(e, "fieldsV1");
        }
        return NULL;
}

static bool has_all(const struct value *fields, const struct value *of) {
        for (size_t i = 0; i < value_count(of); i++) {
                const struct value *at = value_get(fields, of->map.members[i].key);

                if (!at || !has_all(at, of->map.members[i].value))
                        return false;
        }
        return true;
}

/* It was given up, and arrived all the same. */
static bool is_late(const struct check *c, const struct sandbox_commit *commit, struct arena *a) {
        return commit->request && map_find(c->given_up, all_of(commit->request, a));
}

/*
 * A co-owner that left in between would let the field be deleted. What was given up may arrive when more is ours than it was
 * sent with: then only the end counts.
 */
static void check_leaving(struct check *c, const struct sandbox_commit *commit, const struct value *body, const char *id,
                          struct arena *a) {
        if (!meta(body, "resourceVersion").n && !has_all(our_fields(commit->after), our_fields(commit->before)) &&
            !is_late(c, commit, a))
                world_fail(c->world, "an apply without resourceVersion let go of a path that was ours: %s", id);
}

static void check_change(struct check *c, const struct sandbox_commit *commit, const char *id, struct arena *a) {
        const struct sandbox_request *req = commit->request;
        const struct value *body = NULL;

        if (has_controller(commit->before))
                world_fail(c->world, "wrote an object that has a controller: %s", id);
        if (is_of_another(commit->before))
                world_fail(c->world, "wrote an object of another installation: %s", id);
        if (str_eqc(req->content_type, JSON_PATCH_TYPE) &&
            !value_equal(without_ownership(commit->before, a), without_ownership(commit->after, a)))
                world_fail(c->world, "a value moved in a hand-over: %s", id);
        if (!str_eqc(req->content_type, APPLY_TYPE) || json_parse(req->body, a, &body, NULL) < 0)
                return;
        check_leaving(c, commit, body, id, a);
        if (!meta(body, "uid").n)
                world_fail(c->world, "an apply that was to create changed an object: %s", id);
}

void check_commit(struct check *c, const struct sandbox_commit *commit) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const char *id = arena_strf(a, "%.*s/%.*s/%.*s/%.*s", STR_FMT(commit->group), STR_FMT(commit->kind),
                                    STR_FMT(commit->namespace), STR_FMT(commit->name)).p;

        note_change(c, commit, a);
        note_inventory(c, commit);
        if (!commit->before && is_marked(commit->after, id))
                map_set(c->created, meta(commit->after, "uid"), c);
        if (group_check_commit(c->groups, commit, is_late(c, commit, a))) {
                if (c->quiet)
                        world_fail(c->world, "a write without need: %s", id);
                return;
        }
        if (!check_is_ours(commit) || str_eqc(commit->namespace, SIM_NAMESPACE) || strcmp(id, "/Namespace//" SIM_NAMESPACE) == 0)
                return;
        if (c->quiet)
                world_fail(c->world, "a write without need: %s", id);
        if (str_eqc(commit->kind, "Event"))
                check_words_shown(c, "an Event", value_text(value_getc(commit->after, "message")));
        else if (!commit->before)
                check_creation(c, commit, id);
        else if (!commit->after || (is_going(commit->after) && !is_going(commit->before)))
                check_removal(c, commit, id);
        else
                check_change(c, commit, id, a);
}

bool check_groups_settled(const struct check *c, const char **ret_why) {
        return group_check_settled(c->groups, ret_why);
}

uint64_t check_group_count(const struct check *c) {
        return group_check_count(c->groups);
}

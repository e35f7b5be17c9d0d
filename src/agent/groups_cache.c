/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/groups_cache.h"

#include "agent/groups_digest.h"
#include "base/map.h"

#define TIDY_ABSENCES 64

struct table {
        struct groups_cache *cache;
        enum groups_table kind;
        struct informer *informer;
        bool met; /* a set found what is another set's */
};

struct groups_cache {
        struct loop *loop;
        struct groups_cache_hooks hooks;
        void *ctx;
        struct table tables[GROUPS_TABLES];
        struct map *missing; /* Node that Pods name and that there is not → since when, struct absence */
        int64_t capacity_ms;
};

struct absence {
        int64_t since_ms;
};

static const struct kube_location locations[GROUPS_TABLES] = {
        [GROUPS_PODS] = { STR(""), STR("v1"), STR("pods"), STR(""), STR(""), STR("") },
        [GROUPS_SERVICES] = { STR(""), STR("v1"), STR("services"), STR(""), STR(""), STR("") },
        [GROUPS_CLAIMS] = { STR(""), STR("v1"), STR("persistentvolumeclaims"), STR(""), STR(""), STR("") },
        [GROUPS_REVISIONS] = { STR("apps"), STR("v1"), STR("controllerrevisions"), STR(""), STR(""), STR("") },
        [GROUPS_SETS] = { STR("apps"), STR("v1"), STR("statefulsets"), STR(""), STR(""), STR("") },
        [GROUPS_NODES] = { STR(""), STR("v1"), STR("nodes"), STR(""), STR(""), STR("") },
};

struct kube_location groups_cache_location(enum groups_table table) {
        return locations[table];
}

/* Of what read_digest() made. */
static const struct digest *digest_of(const struct kept *k) {
        return (const struct digest *)k;
}

/* --- Nodes ---------------------------------------------------------------------------------------------------- */

static bool is_named(const struct groups_cache *c, struct str node) {
        const struct kept *k;

        for (size_t at = 0; (k = informer_next(c->tables[GROUPS_PODS].informer, &at));)
                if (str_eq(digest_of(k)->pod.node, node))
                        return true;
        return false;
}

/* Those that no Pod names any more are forgotten. */
static void tidy_absences(struct groups_cache *c) {
        size_t at = 0;
        struct str node;
        void *p;

        while (map_next(c->missing, &at, &node, &p))
                if (!is_named(c, node))
                        map_remove(c->missing, node);
}

static void note_absence(struct groups_cache *c, struct str node) {
        struct absence *absence = mem_alloc(sizeof *absence);

        if (map_count(c->missing) >= TIDY_ABSENCES)
                tidy_absences(c);
        absence->since_ms = loop_wall_ms(c->loop);
        map_set(c->missing, node, absence);
}

/* The sets that have Pods on it. */
static void tell_of_node(struct groups_cache *c, struct str node) {
        const struct kept *k;

        for (size_t at = 0; (k = informer_next(c->tables[GROUPS_PODS].informer, &at));)
                if (k->owner.n && str_eq(digest_of(k)->pod.node, node))
                        c->hooks.changed(c->ctx, k->owner);
}

/* A Node that the first list shows came when it was made. */
static void note_capacity(struct groups_cache *c, const struct digest *node) {
        bool is_news = informer_is_synced(c->tables[GROUPS_NODES].informer);
        int64_t when = is_news ? loop_wall_ms(c->loop) : node->node.created_ms;

        if (when > c->capacity_ms)
                c->capacity_ms = when;
        if (is_news)
                c->hooks.capacity(c->ctx);
}

static void node_went(struct groups_cache *c, struct str name) {
        if (is_named(c, name))
                note_absence(c, name);
        tell_of_node(c, name);
}

static void node_is(struct groups_cache *c, const struct digest *old, const struct digest *now) {
        bool may_hold_more = digest_node_is_usable(now) &&
                             (!old || !digest_node_is_usable(old) || !hash128_eq(old->node.room, now->node.room));
        bool same = old && !old->node.is.lost_ms == !now->node.is.lost_ms &&
                    old->node.is.out_of_service == now->node.is.out_of_service;

        if (may_hold_more)
                note_capacity(c, now);
        if (!old)
                map_remove(c->missing, now->kept.name);
        if (!same)
                tell_of_node(c, now->kept.name);
}

static void node_changed(void *ctx, const struct kept *old, const struct kept *now) {
        const struct table *t = ctx;

        if (now)
                node_is(t->cache, digest_of(old), digest_of(now));
        else
                node_went(t->cache, old->name);
}

/* --- found things --------------------------------------------------------------------------------------------- */

/* Of what carries another set's label: beside what the watch tells of it, which that one goes on to see. */
static struct str found_key(struct str key, struct str set, struct arena *a) {
        return arena_strf(a, "%.*s of %.*s", STR_FMT(key), STR_FMT(set));
}

/* What is known as the set's own it need not have found. */
static void thing_changed(void *ctx, const struct kept *old, const struct kept *now) {
        const struct table *t = ctx;

        (void)old;
        if (!t->met || !now)
                return;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        informer_drop(t->informer, found_key(now->key, now->owner, a));
}

/* --- the kinds ------------------------------------------------------------------------------------------------ */

/* The taint does not say when it came. */
static void note_out_of_service(const struct table *t, struct digest *now) {
        const struct kept *k = informer_find(t->informer, now->kept.key);
        int64_t since_ms = k ? digest_of(k)->node.is.out_of_service_ms : 0;

        if (now->node.is.out_of_service)
                now->node.is.out_of_service_ms = since_ms ? since_ms : loop_wall_ms(t->cache->loop);
}

static struct kept *read_digest(void *ctx, struct str bytes) {
        const struct table *t = ctx;
        struct digest *d = digest_read(t->kind, bytes);

        if (d && t->kind == GROUPS_NODES)
                note_out_of_service(t, d);
        return d ? &d->kept : NULL;
}

static void release_digest(struct kept *k) {
        digest_free((struct digest *)k);
}

static void on_change(void *ctx, struct str set) {
        const struct table *t = ctx;

        t->cache->hooks.changed(t->cache->ctx, set);
}

static void on_state(void *ctx) {
        const struct table *t = ctx;

        t->cache->hooks.state(t->cache->ctx);
}

static void open_table(struct groups_cache *c, enum groups_table kind, struct kube_client *client) {
        struct table *t = &c->tables[kind];
        bool is_node = kind == GROUPS_NODES;
        struct informer_options options = { .at = locations[kind],
                                            .label_selector = is_node ? STR("") : STR(GROUP_LABEL_NAME),
                                            .read = read_digest,
                                            .release = release_digest,
                                            .wake = on_change,
                                            .changed = is_node ? node_changed : thing_changed,
                                            .state = on_state,
                                            .ctx = t };

        *t = (struct table){ .cache = c, .kind = kind };
        t->informer = informer_new(client, &options);
}

struct groups_cache *groups_cache_new(struct loop *l, struct kube_client *client,
                                      const struct groups_cache_hooks *hooks, void *ctx) {
        struct groups_cache *c = mem_zalloc(sizeof *c);

        *c = (struct groups_cache){ .loop = l, .hooks = *hooks, .ctx = ctx, .missing = map_new(free) };
        for (size_t i = 0; i < GROUPS_TABLES; i++)
                open_table(c, (enum groups_table)i, client);
        return c;
}

void groups_cache_free(struct groups_cache *c) {
        if (!c)
                return;
        for (size_t i = 0; i < GROUPS_TABLES; i++)
                informer_free(c->tables[i].informer);
        map_free(c->missing);
        free(c);
}

bool groups_cache_is_synced(const struct groups_cache *c) {
        for (size_t i = 0; i < GROUPS_TABLES; i++)
                if (!informer_is_synced(c->tables[i].informer))
                        return false;
        return true;
}

const struct err *groups_cache_err(const struct groups_cache *c, const char **ret_what) {
        for (size_t i = 0; i < GROUPS_TABLES; i++) {
                const struct err *err = informer_err(c->tables[i].informer);

                if (!err)
                        continue;
                *ret_what = locations[i].plural.p;
                return err;
        }
        return NULL;
}

/* --- what a set is made of --------------------------------------------------------------------------------------- */

struct informer *groups_cache_informer(const struct groups_cache *c, enum groups_table table) {
        return c->tables[table].informer;
}

bool groups_cache_doubts(const struct groups_cache *c, struct str set, enum groups_table *ret_table,
                         struct str *ret_name) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        int64_t before = loop_now_ms(c->loop) - GROUPS_FOUND_MS;

        for (size_t i = 0; i < GROUPS_NODES; i++) {
                const struct kept *const *members;
                size_t count = informer_of(c->tables[i].informer, set, a, &members);

                for (size_t k = 0; k < count; k++) {
                        int64_t found_ms = digest_of(members[k])->found_ms;

                        if (!found_ms || found_ms > before)
                                continue;
                        *ret_table = (enum groups_table)i;
                        *ret_name = members[k]->name;
                        return true;
                }
        }
        return false;
}

void groups_cache_found(struct groups_cache *c, enum groups_table table, struct str set, struct str object) {
        struct informer *i = c->tables[table].informer;
        struct digest *now = digest_read(table, object);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        if (!now)
                return;
        if (now->kept.owner.n && !str_eq(now->kept.owner, set)) {
                c->tables[table].met = true;
                now->kept.key = found_key(now->kept.key, set, now->arena);
        }
        struct str key = arena_str(a, now->kept.key);
        if (!str_eq(now->kept.owner, set)) {
                now->kept.owner = arena_str(now->arena, set);
                now->kept.pinned = true;
                now->found_ms = loop_now_ms(c->loop);
        }
        if (informer_put(i, &now->kept))
                return;
        struct digest *known = (struct digest *)informer_find(i, key);
        if (known->found_ms)
                known->found_ms = loop_now_ms(c->loop);
}

void groups_cache_lost(struct groups_cache *c, enum groups_table table, struct str set, struct str ns,
                       struct str name) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct informer *i = c->tables[table].informer;
        struct str key = informer_key(ns, name, a);
        const struct kept *k = informer_find(i, key);

        if (k && k->pinned)
                informer_drop(i, key);
        informer_drop(i, found_key(key, set, a));
}

void groups_cache_deleted(struct groups_cache *c, enum groups_table table, struct str ns, struct str name) {
        struct digest *d = (struct digest *)informer_at(c->tables[table].informer, ns, name);

        if (d && d->found_ms)
                d->found_ms = 1;
}

/* Copies the members of a table, as struct `what` has them, into an array of the arena. */
#define COPY(c, table, set, a, what, ret_items, ret_count)                                                             \
        do {                                                                                                           \
                const struct kept *const *_members;                                                                    \
                size_t _count = informer_of((c)->tables[table].informer, set, a, &_members);                           \
                struct group_##what *_items = arena_alloc(a, _count * sizeof *_items);                                 \
                                                                                                                       \
                for (size_t _i = 0; _i < _count; _i++)                                                                 \
                        _items[_i] = digest_##what(digest_of(_members[_i]), a);                                        \
                *(ret_items) = _items;                                                                                 \
                *(ret_count) = _count;                                                                                 \
        } while (0)

static int by_text(const void *left, const void *right) {
        return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

static struct group_node node_of(struct groups_cache *c, struct str name, struct arena *a) {
        const struct kept *k = informer_find(c->tables[GROUPS_NODES].informer, name);
        const struct absence *absence;

        if (k)
                return digest_node(digest_of(k), a);
        if (!map_find(c->missing, name))
                note_absence(c, name);
        absence = map_find(c->missing, name);
        return (struct group_node){ .name = arena_str(a, name), .gone = true, .lost_ms = absence->since_ms };
}

static void observe_nodes(struct groups_cache *c, struct arena *a, struct group_observed *ret) {
        struct group_node *nodes = arena_alloc(a, ret->pod_count * sizeof *nodes);
        struct str *names = arena_alloc(a, ret->pod_count * sizeof *names);
        size_t bound = 0, count = 0;

        for (size_t i = 0; i < ret->pod_count; i++)
                if (ret->pods[i].node.n)
                        names[bound++] = ret->pods[i].node;
        if (bound)
                qsort(names, bound, sizeof *names, by_text);
        for (size_t i = 0; i < bound; i++)
                if (!i || !str_eq(names[i], names[i - 1]))
                        nodes[count++] = node_of(c, names[i], a);
        ret->nodes = nodes;
        ret->node_count = count;
}

/* A StatefulSet of this very object, or one that the other controller left behind for anybody of this name. */
static struct str foreign_of(const struct groups_cache *c, struct str set, struct str uid, struct arena *a) {
        const struct kept *const *members;
        size_t count = informer_of(c->tables[GROUPS_SETS].informer, set, a, &members);

        for (size_t i = 0; i < count; i++) {
                const struct digest *d = digest_of(members[i]);

                if (str_eq(d->owner_uid, uid) || (!d->owner_uid.n && d->by_lws))
                        return arena_strf(a, "StatefulSet %.*s", STR_FMT(members[i]->name));
        }
        return (struct str){ 0 };
}

void groups_cache_observe(struct groups_cache *c, struct str ns, struct str name, struct str uid, struct arena *a,
                          struct group_observed *ret) {
        struct str set = arena_strf(a, "%.*s/%.*s", STR_FMT(ns), STR_FMT(name));

        *ret = (struct group_observed){ .capacity_ms = c->capacity_ms, .foreign = foreign_of(c, set, uid, a) };
        COPY(c, GROUPS_PODS, set, a, pod, &ret->pods, &ret->pod_count);
        COPY(c, GROUPS_SERVICES, set, a, service, &ret->services, &ret->service_count);
        COPY(c, GROUPS_CLAIMS, set, a, claim, &ret->claims, &ret->claim_count);
        COPY(c, GROUPS_REVISIONS, set, a, stored_revision, &ret->revisions, &ret->revision_count);
        observe_nodes(c, a, ret);
}

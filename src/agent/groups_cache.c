/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/groups_cache.h"

#include "agent/groups_digest.h"
#include "base/json.h"
#include "base/map.h"

#define TIDY_ABSENCES 64

struct table {
        struct groups_cache *cache;
        enum groups_table kind;
        struct kube_watch *watch;
        struct map *entries; /* "namespace/name" → struct digest */
        struct map *sets;    /* "namespace/name" of a set → struct members; not of Nodes */
        unsigned list;       /* number of the newest LIST */
        unsigned listed;     /* and of the newest one that was read to its end */
        unsigned wanted;     /* that one is to be begun, once what is under way has ended */
        bool ready;
};

struct members {
        struct digest **items;
        size_t count, cap;
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

/* --- who belongs to a set ------------------------------------------------------------------------------------------
 */

static void members_free(void *p) {
        struct members *m = p;

        free(m->items);
        free(m);
}

static void join(struct table *t, struct digest *d) {
        struct members *m;

        if (!d->set.n)
                return;
        m = map_find(t->sets, d->set);
        if (!m) {
                m = mem_zalloc(sizeof *m);
                map_set(t->sets, d->set, m);
        }
        m->items = mem_grow(m->items, &m->cap, m->count + 1, sizeof *m->items);
        m->items[m->count++] = d;
}

static void leave(struct table *t, const struct digest *d) {
        struct members *m = d->set.n ? map_find(t->sets, d->set) : NULL;

        for (size_t i = 0; m && i < m->count; i++) {
                if (m->items[i] != d)
                        continue;
                m->items[i] = m->items[--m->count];
                break;
        }
        if (m && !m->count)
                map_remove(t->sets, d->set);
}

static void tell(const struct table *t, struct str set) {
        if (set.n)
                t->cache->hooks.changed(t->cache->ctx, set);
}

/* --- Nodes ---------------------------------------------------------------------------------------------------- */

static bool is_named(const struct groups_cache *c, struct str node) {
        size_t at = 0;
        void *p;

        while (map_next(c->tables[GROUPS_PODS].entries, &at, NULL, &p))
                if (str_eq(((const struct digest *)p)->pod.node, node))
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
        struct table *pods = &c->tables[GROUPS_PODS];
        size_t at = 0;
        void *p;

        while (map_next(pods->entries, &at, NULL, &p)) {
                const struct digest *d = p;

                if (str_eq(d->pod.node, node))
                        tell(pods, d->set);
        }
}

/* A Node that the first list shows came when it was made. */
static void note_capacity(struct groups_cache *c, const struct digest *node) {
        bool is_news = c->tables[GROUPS_NODES].ready;
        int64_t when = is_news ? loop_wall_ms(c->loop) : node->node.created_ms;

        if (when > c->capacity_ms)
                c->capacity_ms = when;
        if (is_news)
                c->hooks.capacity(c->ctx);
}

/* `old` and `now` may be NULL: it came, or went. */
static void node_changed(struct groups_cache *c, const struct digest *old, const struct digest *now) {
        bool may_hold_more = now && digest_node_is_usable(now) &&
                             (!old || !digest_node_is_usable(old) || !hash128_eq(old->node.room, now->node.room));
        bool same = old && now && !old->node.is.lost_ms == !now->node.is.lost_ms &&
                    old->node.is.out_of_service == now->node.is.out_of_service;

        if (may_hold_more)
                note_capacity(c, now);
        if (!now && is_named(c, old->name))
                note_absence(c, old->name);
        else if (now && !old)
                map_remove(c->missing, now->name);
        if (!same)
                tell_of_node(c, now ? now->name : old->name);
}

/* --- one object ----------------------------------------------------------------------------------------------- */

static bool is_older(struct str rv, struct str other) {
        int order;

        return !kube_rv_cmp(rv, other, &order) || order < 0;
}

static void store(struct table *t, struct digest *now) {
        struct digest *old = map_find(t->entries, now->key);

        now->seen = t->list;
        if (old)
                leave(t, old);
        join(t, now);
        if (t->kind == GROUPS_NODES)
                node_changed(t->cache, old, now);
        if (old && !str_eq(old->set, now->set))
                tell(t, old->set);
        tell(t, now->set);
        map_set(t->entries, now->key, now); /* frees the old one */
}

static void take_in(struct table *t, struct str bytes) {
        struct digest *now = digest_read(t->kind, bytes);

        if (!now)
                return;
        struct digest *old = map_find(t->entries, now->key);
        if (old && !is_older(old->rv, now->rv)) {
                old->seen = t->list;
                digest_free(now);
                return;
        }
        store(t, now);
}

static void forget(struct table *t, struct str key) {
        struct digest *old = map_take(t->entries, key);

        if (!old)
                return;
        leave(t, old);
        if (t->kind == GROUPS_NODES)
                node_changed(t->cache, old, NULL);
        tell(t, old->set);
        digest_free(old);
}

/* --- the watch ------------------------------------------------------------------------------------------------ */

static void on_replace_begin(void *ctx) {
        struct table *t = ctx;

        t->list++;
}

static void on_item(void *ctx, struct str bytes) {
        take_in(ctx, bytes);
}

static void on_replace_end(void *ctx, struct str resource_version) {
        struct table *t = ctx;
        size_t at = 0;
        struct str key;
        void *p;

        while (map_next(t->entries, &at, &key, &p)) {
                const struct digest *d = p;

                if (d->seen != t->list && !d->found_ms && is_older(d->rv, resource_version))
                        forget(t, key);
        }
        bool first = !t->ready;
        t->ready = true;
        t->listed = t->list;
        if (t->wanted > t->list)
                kube_watch_relist(t->watch);
        if (!first)
                for (at = 0; map_next(t->sets, &at, &key, &p);)
                        tell(t, key);
        t->cache->hooks.state(t->cache->ctx);
}

static void on_event(void *ctx, enum kube_watch_event event, struct str object, struct str resource_version) {
        struct table *t = ctx;

        (void)resource_version;
        if (event != KUBE_WATCH_DELETED) {
                take_in(t, object);
                return;
        }
        struct digest *last = digest_read(t->kind, object);
        const struct digest *known = last ? map_find(t->entries, last->key) : NULL;
        if (known && !is_older(last->rv, known->rv))
                forget(t, last->key);
        digest_free(last);
}

static void on_state(void *ctx, const struct kube_watch_state *state) {
        struct table *t = ctx;

        (void)state;
        t->cache->hooks.state(t->cache->ctx);
}

static void open_table(struct groups_cache *c, enum groups_table kind, struct kube_client *client) {
        static const struct kube_watch_handler handler = { on_replace_begin, on_item, on_replace_end, on_event,
                                                           on_state };
        struct table *t = &c->tables[kind];
        struct kube_watch_spec spec = { .at = locations[kind] };

        if (kind != GROUPS_NODES)
                spec.list_label_selector = spec.watch_label_selector = STR(GROUP_LABEL_NAME);
        *t = (struct table){
                .cache = c, .kind = kind, .entries = map_new(digest_freev), .sets = map_new(members_free)
        };
        t->watch = kube_watch_new(client, &spec, &handler, t);
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
        for (size_t i = 0; i < GROUPS_TABLES; i++) {
                kube_watch_free(c->tables[i].watch);
                map_free(c->tables[i].sets);
                map_free(c->tables[i].entries);
        }
        map_free(c->missing);
        free(c);
}

bool groups_cache_is_synced(const struct groups_cache *c) {
        for (size_t i = 0; i < GROUPS_TABLES; i++)
                if (!c->tables[i].ready)
                        return false;
        return true;
}

const struct err *groups_cache_err(const struct groups_cache *c, const char **ret_what) {
        for (size_t i = 0; i < GROUPS_TABLES; i++) {
                const struct err *err = &kube_watch_state(c->tables[i].watch)->err;

                if (!err->code)
                        continue;
                *ret_what = locations[i].plural.p;
                return err;
        }
        return NULL;
}

size_t groups_cache_count(const struct groups_cache *c, enum groups_table table) {
        return map_count(c->tables[table].entries);
}

/* --- what a set is made of -----------------------------------------------------------------------------------------
 */

static int by_name(const void *p, const void *q) {
        const struct digest *const *a = p, *const *b = q;

        return str_cmp((*a)->name, (*b)->name);
}

bool groups_cache_doubts(const struct groups_cache *c, struct str set, enum groups_table *ret_table,
                         struct str *ret_name) {
        int64_t before = loop_now_ms(c->loop) - GROUPS_FOUND_MS;

        for (size_t i = 0; i < GROUPS_NODES; i++) {
                const struct members *m = map_find(c->tables[i].sets, set);

                for (size_t k = 0; m && k < m->count; k++) {
                        if (!m->items[k]->found_ms || m->items[k]->found_ms > before)
                                continue;
                        *ret_table = (enum groups_table)i;
                        *ret_name = m->items[k]->name;
                        return true;
                }
        }
        return false;
}

void groups_cache_found(struct groups_cache *c, enum groups_table table, struct str set, struct str object) {
        struct table *t = &c->tables[table];
        struct digest *now = digest_read(t->kind, object), *known = now ? map_find(t->entries, now->key) : NULL;

        if (!now || (known && !is_older(known->rv, now->rv))) {
                if (known && known->found_ms)
                        known->found_ms = loop_now_ms(c->loop);
                digest_free(now);
                return;
        }
        if (!str_eq(now->set, set)) {
                now->set = arena_str(now->arena, set);
                now->found_ms = loop_now_ms(c->loop);
        }
        store(t, now);
}

void groups_cache_lost(struct groups_cache *c, enum groups_table table, struct str ns, struct str name) {
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);
        const struct digest *d;

        digest_add_key(&key, ns, name);
        d = map_find(c->tables[table].entries, buf_str(&key));
        if (d && d->found_ms)
                forget(&c->tables[table], buf_str(&key));
}

/* In the order of their names, as a plan must not depend on the order in which they came. */
static size_t members_of(const struct groups_cache *c, enum groups_table table, struct str set, struct arena *a,
                         const struct digest ***ret_members) {
        const struct members *m = map_find(c->tables[table].sets, set);
        size_t count = m ? m->count : 0;
        const struct digest **sorted = arena_alloc(a, count * sizeof *sorted);

        for (size_t i = 0; i < count; i++)
                sorted[i] = m->items[i];
        if (count)
                qsort(sorted, count, sizeof *sorted, by_name);
        *ret_members = sorted;
        return count;
}

/* Copies the members of a table, as struct `what` has them, into an array of the arena. */
#define COPY(c, table, set, a, what, ret_items, ret_count)                                                             \
        do {                                                                                                           \
                const struct digest **_members;                                                                        \
                size_t _count = members_of(c, table, set, a, &_members);                                               \
                struct group_##what *_items = arena_alloc(a, _count * sizeof *_items);                                 \
                                                                                                                       \
                for (size_t _i = 0; _i < _count; _i++)                                                                 \
                        _items[_i] = digest_##what(_members[_i], a);                                                   \
                *(ret_items) = _items;                                                                                 \
                *(ret_count) = _count;                                                                                 \
        } while (0)

static bool is_listed(const struct group_node *nodes, size_t count, struct str name) {
        for (size_t i = 0; i < count; i++)
                if (str_eq(nodes[i].name, name))
                        return true;
        return false;
}

static struct group_node node_of(struct groups_cache *c, struct str name, struct arena *a) {
        const struct digest *d = map_find(c->tables[GROUPS_NODES].entries, name);
        const struct absence *absence;

        if (d)
                return digest_node(d, a);
        if (!map_find(c->missing, name))
                note_absence(c, name);
        absence = map_find(c->missing, name);
        return (struct group_node){ .name = arena_str(a, name), .gone = true, .lost_ms = absence->since_ms };
}

static void observe_nodes(struct groups_cache *c, struct arena *a, struct group_observed *ret) {
        struct group_node *nodes = arena_alloc(a, ret->pod_count * sizeof *nodes);
        size_t count = 0;

        for (size_t i = 0; i < ret->pod_count; i++) {
                struct str name = ret->pods[i].node;

                if (name.n && !is_listed(nodes, count, name))
                        nodes[count++] = node_of(c, name, a);
        }
        ret->nodes = nodes;
        ret->node_count = count;
}

/* A StatefulSet of this very object, or one that the other controller left behind for anybody of this name. */
static struct str foreign_of(const struct groups_cache *c, struct str set, struct str uid, struct arena *a) {
        const struct digest **members;
        size_t count = members_of(c, GROUPS_SETS, set, a, &members);

        for (size_t i = 0; i < count; i++) {
                const struct digest *d = members[i];

                if (str_eq(d->owner_uid, uid) || (!d->owner_uid.n && d->by_lws))
                        return arena_strf(a, "StatefulSet %.*s", STR_FMT(d->name));
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

/* --- own writes ----------------------------------------------------------------------------------------------- */

static const struct digest *find(const struct table *t, struct str ns, struct str name) {
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);

        digest_add_key(&key, ns, name);
        return map_find(t->entries, buf_str(&key));
}

bool groups_cache_saw(const struct groups_cache *c, enum groups_table table, struct str ns, struct str name,
                      struct str rv) {
        const struct table *t = &c->tables[table];
        const struct digest *d = find(t, ns, name);
        int order;

        if (d && (str_eq(d->rv, rv) || (kube_rv_cmp(d->rv, rv, &order) && order >= 0)))
                return true;
        return kube_rv_cmp(kube_watch_rv(t->watch), rv, &order) && order >= 0;
}

bool groups_cache_saw_end(const struct groups_cache *c, enum groups_table table, struct str ns, struct str name,
                          struct str uid) {
        const struct digest *d = find(&c->tables[table], ns, name);

        return !d || d->deleting || !str_eq(d->uid, uid);
}

unsigned groups_cache_refresh(struct groups_cache *c, enum groups_table table) {
        struct table *t = &c->tables[table];

        if (t->wanted <= t->list) {
                t->wanted = t->list + 1;
                if (kube_watch_state(t->watch)->phase != KUBE_WATCH_LISTING)
                        kube_watch_relist(t->watch);
        }
        return t->wanted;
}

bool groups_cache_is_fresh(const struct groups_cache *c, enum groups_table table, unsigned number) {
        return c->tables[table].listed >= number;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster.h"

#include "base/json.h"
#include "manifest/tracking.h"
#include "own/intern.h"
#include "own/managed.h"

#define ASK_AGAIN_MS 5000

struct cluster_kind {
        struct cluster *cluster;
        struct kube_discovery *discovery; /* keeps `resource` alive */
        const struct kube_resource *resource;
        struct kube_watch *watch;
        struct map *live;  /* "namespace/name" → struct live */
        struct map *unread; /* "namespace/name" → anything: its newest state cannot be read */
        enum cluster_scope scope;
        bool synced;       /* as its watch told last */
        unsigned list;     /* number of the newest LIST */
        uint64_t list_epoch; /* the cluster's epoch when that LIST began */
        struct err err;
};

struct waiter {
        void (*done)(void *ctx, const struct err *err);
        void *ctx;
};

struct cluster {
        struct kube_client *client;
        struct cluster_hooks hooks;
        void *ctx;
        struct str installation;
        struct buf label_selector;
        struct loop *loop;
        struct kube_discovery *discovery;
        int64_t discovered_ms; /* when the one at hand was asked for */
        struct kube_discovery_fetch *fetch;
        int64_t asked_ms;      /* when `fetch` began */
        struct waiter *waiters;
        size_t waiter_count, waiter_cap;
        struct loop_timer *unserved; /* discovery could not be asked about kinds that are not served any more */
        struct map *kinds; /* "group/version/kind" → struct cluster_kind */
        struct intern_pool *pool;
        uint64_t epoch;
};

static void ask_about_unserved(void *ctx);

static void live_free(struct live *live) {
        if (!live)
                return;
        managed_packed_free(live->managed);
        free(live->id);
        free(live->uid);
        free(live->rv);
        free(live->text);
        free(live);
}

static void forget_all(struct cluster_kind *k) {
        size_t at = 0;
        struct str key;
        void *live;

        while (map_next(k->live, &at, &key, &live)) {
                live_free(live);
                map_take(k->live, key);
        }
}

static void kind_free(void *p) {
        struct cluster_kind *k = p;

        kube_watch_free(k->watch);
        forget_all(k);
        map_free(k->live);
        map_free(k->unread);
        kube_discovery_unref(k->discovery);
        free(k);
}

struct cluster *cluster_new(struct loop *l, struct kube_client *client, struct str installation, const struct cluster_hooks *hooks,
                            void *ctx) {
        struct cluster *c = mem_zalloc(sizeof *c);

        *c = (struct cluster){ .loop = l, .client = client, .hooks = *hooks, .ctx = ctx };
        c->label_selector = buf_make(KUBE_MAX_PATH_BYTES);
        buf_addf(&c->label_selector, "%s=%.*s", TRACKING_LABEL, STR_FMT(installation));
        c->installation = str_sub(buf_str(&c->label_selector), c->label_selector.n - installation.n,
                                  c->label_selector.n);
        c->kinds = map_new(kind_free);
        c->pool = intern_pool_new();
        c->unserved = loop_timer_new(l, ask_about_unserved, c);
        return c;
}

void cluster_free(struct cluster *c) {
        if (!c)
                return;
        kube_discovery_fetch_cancel(c->fetch);
        loop_timer_free(c->unserved);
        map_free(c->kinds);
        intern_pool_free(c->pool);
        kube_discovery_unref(c->discovery);
        free(c->waiters);
        buf_done(&c->label_selector);
        free(c);
}

const struct kube_discovery *cluster_discovery(const struct cluster *c) {
        return c->discovery;
}

int64_t cluster_discovered_ms(const struct cluster *c) {
        return c->discovered_ms;
}

static void discovered(void *ctx, struct kube_discovery *d, const struct err *err) {
        struct cluster *c = ctx;
        struct waiter *waiters = TAKE_PTR(c->waiters);
        size_t count = c->waiter_count;

        c->fetch = NULL;
        c->waiter_count = c->waiter_cap = 0;
        if (d) {
                kube_discovery_ref(d);
                kube_discovery_unref(c->discovery);
                c->discovery = d;
                c->discovered_ms = c->asked_ms;
                c->hooks.discovered(c->ctx);
        }
        for (size_t i = 0; i < count; i++)
                waiters[i].done(waiters[i].ctx, err);
        free(waiters);
}

void cluster_discover(struct cluster *c, void (*done)(void *ctx, const struct err *err), void *ctx) {
        c->waiters = mem_grow(c->waiters, &c->waiter_cap, c->waiter_count + 1, sizeof *c->waiters);
        c->waiters[c->waiter_count++] = (struct waiter){ done, ctx };
        if (c->fetch)
                return;
        c->asked_ms = loop_now_ms(c->loop);
        c->fetch = kube_discovery_fetch(c->client, c->discovery, discovered, c);
}

/* The labels of a tracked object say so; the annotation, which says whose, is the application's business. */
static bool is_tracked(const struct cluster *c, const struct value *object) {
        return str_eq(value_text(value_get(value_path(object, "metadata", "labels", NULL),
                                           STR(TRACKING_LABEL))),
                      c->installation);
}

/* The object as it came, with apiVersion and kind (items of a LIST of built-in kinds have neither). */
static const struct value *parse_object(const struct cluster_kind *k, struct str bytes, struct arena *a,
                                        struct err *err) {
        _cleanup_(buf_done) struct buf api_version = buf_make(512);
        const struct value *object;

        int r = json_parse(bytes, a, &object, err);
        if (r == ERR_LIMIT && bytes.n <= JSON_MAX_BYTES)
                err_set(err, r, "the live object cannot be read: with its managedFields it nests deeper than %d levels", JSON_MAX_DEPTH);
        if (r < 0)
                return NULL;
        if (!value_is(value_getc(object, "metadata"), VALUE_MAP)) {
                err_set(err, ERR_PARSE, "an object of kind %.*s has no metadata", STR_FMT(k->resource->kind));
                return NULL;
        }
        if (value_getc(object, "kind"))
                return object;
        gvk_add_api_version(&api_version, kube_resource_gvk(k->resource));
        object = value_with(a, object, STR("apiVersion"), value_string(a, buf_str(&api_version), 0));
        return value_with(a, object, STR("kind"), value_string(a, k->resource->kind, 0));
}

static void add_key(struct buf *out, struct str namespace, struct str name) {
        buf_add(out, namespace);
        buf_addch(out, '/');
        buf_add(out, name);
}

static struct object_key key_of(const struct cluster_kind *k, const struct value *object) {
        return (struct object_key){ k->resource->group, k->resource->kind,
                                    value_text(value_path(object, "metadata", "namespace", NULL)),
                                    value_text(value_path(object, "metadata", "name", NULL)) };
}

/* Versions that do not compare count as older: what the server sends last is then what counts. */
static bool is_older(struct str rv, struct str other) {
        int order;

        return !kube_rv_cmp(rv, other, &order) || order < 0;
}

/* Owners that cannot be read are no owners: nothing is then proven, and the server decides. */
static struct managed_packed *pack_owners(struct cluster *c, const struct value *object, struct arena *a) {
        struct managed owners = { 0 };

        managed_parse(object, a, &owners, NULL);
        owners = managed_reduce(&owners, a);
        return managed_pack(&owners, c->pool);
}

static struct live *live_new(struct cluster *c, const struct object_key *key, const struct value *object,
                             struct arena *a) {
        static const struct str managed_path[] = { STR("metadata"), STR("managedFields") };
        struct live *live = mem_zalloc(sizeof *live);
        _cleanup_(buf_done) struct buf id = buf_make(KUBE_MAX_PATH_BYTES);
        const struct value *metadata = value_getc(object, "metadata");

        object_key_add_id(&id, key);
        live->id = buf_take(&id);
        live->uid = str_dup(value_text(value_getc(metadata, "uid")));
        live->rv = str_dup(value_text(value_getc(metadata, "resourceVersion")));
        live->tracked = is_tracked(c, object);
        live->deleting = value_getc(metadata, "deletionTimestamp") != NULL;
        live->managed = pack_owners(c, object, a);

        struct str text = value_canonical(a, value_with_path(a, object, managed_path, 2, NULL));
        live->text = str_dup(text);
        live->text_bytes = text.n;
        return live;
}

/*
 * Stores an object unless something newer is known. Returns what is kept now, or NULL when it is of no interest;
 * *ret_new says whether the content changed.
 */
static struct live *store(struct cluster_kind *k, const struct value *object, bool always, struct arena *a,
                          bool *ret_new) {
        struct cluster *c = k->cluster;
        struct object_key key = key_of(k, object);
        _cleanup_(buf_done) struct buf map_key = buf_make(KUBE_MAX_PATH_BYTES), id = buf_make(KUBE_MAX_PATH_BYTES);
        struct str rv = value_text(value_path(object, "metadata", "resourceVersion", NULL));

        *ret_new = false;
        add_key(&map_key, key.namespace, key.name);
        struct live *known = map_find(k->live, buf_str(&map_key));
        if (known && !is_older(str_from(known->rv), rv))
                return known;

        object_key_add_id(&id, &key);
        if (!always && !known && k->scope != CLUSTER_ALL && !is_tracked(c, object) && !c->hooks.keep(c->ctx, buf_str(&id)))
                return NULL;

        struct live *live = live_new(c, &key, object, a);
        live_free(known);
        map_set(k->live, buf_str(&map_key), live);
        *ret_new = true;
        return live;
}

static void forget(struct cluster_kind *k, struct str key) {
        live_free(map_take(k->live, key));
}

static void on_replace_begin(void *ctx) {
        struct cluster_kind *k = ctx;

        k->list++;
        map_free(k->unread);
        k->unread = map_new(NULL);
        k->list_epoch = k->cluster->epoch;
}

static struct str unquoted(struct str s) {
        return s.n >= 2 ? str_sub(s, 1, s.n - 1) : (struct str){ 0 };
}

/* Of a text that cannot be parsed. */
static struct object_key key_of_text(const struct cluster_kind *k, struct str bytes) {
        struct str metadata = json_member(bytes, STR("metadata"));

        return (struct object_key){ k->resource->group, k->resource->kind, unquoted(json_member(metadata, STR("namespace"))),
                                    unquoted(json_member(metadata, STR("name"))) };
}

/* A single object that cannot be read must not blind us for the rest: only who wants it is told. */
static void note_unread(struct cluster_kind *k, struct str bytes) {
        struct cluster *c = k->cluster;
        struct object_key key = key_of_text(k, bytes);
        _cleanup_(buf_done) struct buf map_key = buf_make(KUBE_MAX_PATH_BYTES), id = buf_make(KUBE_MAX_PATH_BYTES);

        add_key(&map_key, key.namespace, key.name);
        object_key_add_id(&id, &key);
        if (!key.name.n || map_find(k->unread, buf_str(&map_key)) ||
            (!map_find(k->live, buf_str(&map_key)) && !c->hooks.keep(c->ctx, buf_str(&id))))
                return;
        map_set(k->unread, buf_str(&map_key), c);
        c->hooks.unread(c->ctx, k, buf_str(&id));
}

static void note_read(struct cluster_kind *k, const struct value *object) {
        _cleanup_(buf_done) struct buf map_key = buf_make(KUBE_MAX_PATH_BYTES);
        struct object_key key = key_of(k, object);

        if (!map_count(k->unread))
                return;
        add_key(&map_key, key.namespace, key.name);
        map_remove(k->unread, buf_str(&map_key));
}

static void take_in(struct cluster_kind *k, struct str bytes) {
        _cleanup_(arena_freep) struct arena *a = arena_new(bytes.n * 8);
        bool is_new;
        const struct value *object = parse_object(k, bytes, a, NULL);

        if (!object) {
                note_unread(k, bytes);
                return;
        }

        note_read(k, object);
        struct live *live = store(k, object, false, a, &is_new);
        if (!live)
                return;
        live->seen = k->list;
        bool is_echo = live->put && str_eqc(value_text(value_path(object, "metadata", "resourceVersion", NULL)), live->rv);
        live->put &= !is_echo;
        if (is_new || is_echo)
                k->cluster->hooks.changed(k->cluster->ctx, k, str_from(live->id), live);
}

static void on_item(void *ctx, struct str bytes) {
        take_in(ctx, bytes);
}

/* What the list did not show is gone, unless we learnt of it after the moment that the list shows. */
static void on_replace_end(void *ctx, struct str resource_version) {
        struct cluster_kind *k = ctx;
        struct cluster *c = k->cluster;
        size_t at = 0;
        struct str key;
        void *value;

        while (map_next(k->live, &at, &key, &value)) {
                struct live *live = value;

                if (live->seen == k->list || !is_older(str_from(live->rv), resource_version) || map_find(k->unread, key))
                        continue;
                _cleanup_(mem_freep) char *id = str_dup(str_from(live->id));
                forget(k, key);
                c->hooks.changed(c->ctx, k, str_from(id), NULL);
        }
        if (!k->err.code) /* else the state that follows tells it */
                c->hooks.kind_changed(c->ctx, k);
}

static void on_deleted(struct cluster_kind *k, struct str bytes) {
        _cleanup_(arena_freep) struct arena *a = arena_new(bytes.n * 8);
        _cleanup_(buf_done) struct buf map_key = buf_make(KUBE_MAX_PATH_BYTES);
        const struct value *object = parse_object(k, bytes, a, NULL);
        struct object_key key = object ? key_of(k, object) : key_of_text(k, bytes);

        add_key(&map_key, key.namespace, key.name);
        map_remove(k->unread, buf_str(&map_key));
        struct live *known = map_find(k->live, buf_str(&map_key));
        if (!known || (object && !is_older(str_from(known->rv), value_text(value_path(object, "metadata", "resourceVersion", NULL)))))
                return;

        _cleanup_(mem_freep) char *id = str_dup(str_from(known->id));
        forget(k, buf_str(&map_key));
        k->cluster->hooks.changed(k->cluster->ctx, k, str_from(id), NULL);
}

static void on_event(void *ctx, enum kube_watch_event event, struct str object, struct str resource_version) {
        (void)resource_version;
        if (event == KUBE_WATCH_DELETED)
                on_deleted(ctx, object);
        else
                take_in(ctx, object);
}

static void drop(struct cluster_kind *k, struct str key) {
        struct live *live = map_take(k->live, key);

        if (live)
                k->cluster->hooks.dropped(k->cluster->ctx, k, str_from(live->id));
        live_free(live);
}

static void drop_all(struct cluster_kind *k) {
        size_t at = 0;
        struct str key;
        void *live;

        while (map_next(k->live, &at, &key, &live))
                drop(k, key);
}

/* A kind that is gone (its CRD was deleted) is not asked for again until somebody wants it and discovery has it. */
static void drop_unserved(void *ctx, const struct err *err) {
        struct cluster *c = ctx;
        size_t at = 0;
        void *p;

        if (err)
                loop_timer_start(c->unserved, ASK_AGAIN_MS);
        while (!err && map_next(c->kinds, &at, NULL, &p)) {
                struct cluster_kind *k = p;

                if (!k->watch || !kube_watch_state(k->watch)->not_served ||
                    kube_discovery_find(c->discovery, kube_resource_gvk(k->resource)))
                        continue;
                kube_watch_free(TAKE_PTR(k->watch));
                drop_all(k);
        }
}

static void ask_about_unserved(void *ctx) {
        cluster_discover(ctx, drop_unserved, ctx);
}

/* One that gets through means that the others would, too. */
static void wake_others(const struct cluster_kind *k) {
        size_t at = 0;
        void *p;

        while (map_next(k->cluster->kinds, &at, NULL, &p)) {
                struct cluster_kind *other = p;

                if (other != k && other->watch)
                        kube_watch_wake(other->watch);
        }
}

static void on_state(void *ctx, const struct kube_watch_state *state) {
        struct cluster_kind *k = ctx;
        bool was_away = k->err.code == ERR_UNREACHABLE || k->err.code == ERR_TIMEOUT, had_failed = k->err.code != 0;

        k->err = state->err;
        if (was_away && !state->err.code)
                k->cluster->hooks.back(k->cluster->ctx);
        if (state->not_served)
                cluster_discover(k->cluster, drop_unserved, k->cluster);
        /* The end of the first list of a watch is told before it counts as synced. */
        if (state->err.code || had_failed || state->synced != k->synced)
                k->cluster->hooks.kind_changed(k->cluster->ctx, k);
        k->synced = state->synced;
        if (!state->err.code && state->phase == KUBE_WATCH_STREAMING)
                wake_others(k);
}

static const struct kube_watch_handler watch_handler = {
        .replace_begin = on_replace_begin,
        .item = on_item,
        .replace_end = on_replace_end,
        .event = on_event,
        .state = on_state,
};

static struct str kind_key(struct gvk gvk, struct buf *out) {
        buf_add(out, gvk.group);
        buf_addch(out, '/');
        buf_add(out, gvk.version);
        buf_addch(out, '/');
        buf_add(out, gvk.kind);
        return buf_str(out);
}

struct cluster_kind *cluster_find_kind(const struct cluster *c, struct gvk gvk) {
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);

        return map_find(c->kinds, kind_key(gvk, &key));
}

static void start_watch(struct cluster_kind *k) {
        struct kube_watch_spec spec = { .at = kube_resource_location(k->resource, STR(""), STR("")) };

        if (k->scope == CLUSTER_TRACKED)
                spec.watch_label_selector = buf_str(&k->cluster->label_selector);
        k->synced = false;
        k->watch = kube_watch_new(k->cluster->client, &spec, &watch_handler, k);
}

struct cluster_kind *cluster_want(struct cluster *c, struct gvk gvk, enum cluster_scope scope) {
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);
        struct cluster_kind *k = map_find(c->kinds, kind_key(gvk, &key));

        const struct kube_resource *resource = c->discovery ? kube_discovery_find(c->discovery, gvk) : NULL;

        if (resource && !kube_resource_is_watchable(resource))
                resource = NULL;
        if (k && !k->watch && resource) {
                kube_discovery_unref(k->discovery); /* a CRD that was made anew may have another scope or plural */
                k->discovery = kube_discovery_ref(c->discovery);
                k->resource = resource;
        }
        if (k && (scope > k->scope || (!k->watch && resource))) {
                k->scope = scope > k->scope ? scope : k->scope;
                kube_watch_free(k->watch);
                start_watch(k);
        }
        if (k)
                return k;
        if (!resource)
                return NULL;
        k = mem_zalloc(sizeof *k);
        *k = (struct cluster_kind){ .cluster = c, .discovery = kube_discovery_ref(c->discovery), .resource = resource,
                                    .live = map_new(NULL), .unread = map_new(NULL), .scope = scope };
        map_set(c->kinds, buf_str(&key), k);
        start_watch(k);
        return k;
}

enum cluster_kind_state cluster_kind_state(const struct cluster_kind *k) {
        const struct kube_watch_state *state = k->watch ? kube_watch_state(k->watch) : NULL;

        if (!state || state->not_served)
                return CLUSTER_KIND_UNKNOWN;
        if (state->synced)
                return CLUSTER_KIND_SYNCED;
        return state->err.code ? CLUSTER_KIND_FAILED : CLUSTER_KIND_SYNCING;
}

const struct err *cluster_kind_err(const struct cluster_kind *k) {
        return k->watch ? &kube_watch_state(k->watch)->err : &k->err;
}

const struct kube_resource *cluster_kind_resource(const struct cluster_kind *k) {
        return k->resource;
}

const struct err *cluster_err(const struct cluster *c) {
        static const struct err none;
        size_t at = 0;
        void *p;

        while (map_next(c->kinds, &at, NULL, &p)) {
                const struct err *err = cluster_kind_err(p);

                if (err->code == ERR_UNREACHABLE || err->code == ERR_TIMEOUT || err->code == ERR_UNAUTH)
                        return err;
        }
        return &none;
}

size_t cluster_kind_count(const struct cluster *c) {
        return map_count(c->kinds);
}

size_t cluster_live_count(const struct cluster *c) {
        size_t at = 0, count = 0;
        void *k;

        while (map_next(c->kinds, &at, NULL, &k))
                count += map_count(((struct cluster_kind *)k)->live);
        return count;
}

const struct live *cluster_find(const struct cluster_kind *k, struct str namespace, struct str name) {
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);

        add_key(&key, namespace, name);
        return map_find(k->live, buf_str(&key));
}

bool cluster_is_unread(const struct cluster_kind *k, struct str namespace, struct str name) {
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);

        add_key(&key, namespace, name);
        return map_find(k->unread, buf_str(&key));
}

const struct live *cluster_next(const struct cluster_kind *k, size_t *at) {
        void *live = NULL;

        return map_next(k->live, at, NULL, &live) ? live : NULL;
}

const struct live *cluster_put(struct cluster_kind *k, struct str bytes, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(bytes.n * 8);
        bool is_new;
        const struct value *object = parse_object(k, bytes, a, err);

        if (!object)
                return NULL;

        struct live *live = store(k, object, true, a, &is_new);
        live->put |= is_new;
        return live;
}

uint64_t cluster_begin_epoch(struct cluster *c) {
        return ++c->epoch;
}

bool cluster_kind_covers(const struct cluster_kind *k, uint64_t epoch) {
        return k->scope == CLUSTER_ALL || k->list_epoch >= epoch;
}

void cluster_drop(struct cluster_kind *k, struct str namespace, struct str name) {
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);

        add_key(&key, namespace, name);
        drop(k, buf_str(&key));
}

const struct value *live_value(const struct live *live, struct arena *a, struct managed *ret_managed) {
        const struct value *object;

        if (json_parse((struct str){ live->text, live->text_bytes }, a, &object, NULL) < 0 ||
            managed_unpack(live->managed, a, ret_managed, NULL) < 0)
                abort(); /* text and owners are of our own making */
        return object;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which sets there are, and when each is looked at. */
#include "agent/groups_impl.h"

#include "base/json.h"
#include "group/names.h"
#include "manifest/object.h"

#define MAX_BACKOFF_MS (5 * 60000)
/* A watch that shows nothing any more is noticed within a few bookmarks, which come every minute. */
#define DOUBT_MS (5 * 60000)

struct gvk groups_gvk(void) {
        return (struct gvk){ STR("leaderworkerset.x-k8s.io"), STR("v1"), STR(GROUP_KIND) };
}

bool groups_is_ours(const struct value *lws, enum groups_mode mode) {
        const struct value *metadata = value_getc(lws, "metadata");
        struct str word = value_text(value_get(value_getc(metadata, "annotations"), STR(GROUPS_ANNOTATION)));

        return mode == GROUPS_ALL ||
               (mode == GROUPS_ANNOTATED && str_eqc(word, GROUPS_EMBEDDED) && !kept_controller(lws));
}

const struct live *set_live(const struct set *s) {
        return s->groups->kind ? cluster_find(s->groups->kind, s->ns, s->name) : NULL;
}

/* --- sets ----------------------------------------------------------------------------------------------------- */

static void set_free(void *p) {
        struct set *s = p;

        pass_free(s->pass);
        gates_clear(&s->gates);
        refusals_clear(s);
        map_free(s->made);
        free(s->rows);
        free(s->mishap);
        free(s->uid);
        free(s->key);
        free(s);
}

static struct set *set_new(struct groups *g, struct str ns, struct str name) {
        struct set *s = mem_zalloc(sizeof *s);
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);

        buf_addf(&key, "%.*s/%.*s", STR_FMT(ns), STR_FMT(name));
        s->groups = g;
        s->key = buf_take(&key);
        s->ns = (struct str){ s->key, ns.n };
        s->name = (struct str){ s->key + ns.n + 1, name.n };
        s->uid = str_dup(STR(""));
        s->made = map_new(free);
        s->stats.ns = s->ns;
        s->stats.name = s->name;
        map_set(g->sets, str_from(s->key), s);
        return s;
}

/* What was learnt of an object of this name that is no more. */
static void begin_anew(struct set *s, struct str uid) {
        free(s->uid);
        s->uid = str_dup(uid);
        gates_clear(&s->gates);
        refusals_clear(s);
        map_free(s->made);
        s->made = map_new(free);
        s->row_count = 0;
        s->mishaps = 0;
        s->unsure = false;
}

static struct hash128 hash_asked(const struct value *metadata, struct arena *a) {
        const struct value *annotations = value_getc(metadata, "annotations");
        int64_t generation = 0;

        value_to_i64(value_getc(metadata, "generation"), &generation);
        struct str text = arena_strf(a, "%.*s %lld %d", STR_FMT(value_text(value_getc(metadata, "uid"))),
                                     (long long)generation, value_getc(metadata, "deletionTimestamp") != NULL);
        struct hash128 h = hash128(hash_process_key(), text);
        struct hash128 notes = value_hash(hash_process_key(), annotations ? annotations : &value_null);

        return (struct hash128){ h.lo ^ notes.lo, h.hi ^ notes.hi };
}

/* --- what may run ------------------------------------------------------------------------------------------------ */

static void add_all(struct groups *g) {
        size_t at = 0;
        struct str key;
        void *s;

        while (map_next(g->sets, &at, &key, &s))
                queue_add(g->queue, key, QUEUE_LATER);
}

static void on_set(void *ctx, struct str key) {
        struct groups *g = ctx;

        if (map_find(g->sets, key))
                queue_add(g->queue, key, QUEUE_NOW);
}

static void on_capacity(void *ctx) {
        add_all(ctx);
}

static void on_state(void *ctx) {
        struct groups *g = ctx;
        const char *what;
        const struct err *err = g->cache ? groups_cache_err(g->cache, &what) : NULL;
        enum err_code code = err ? err->code : ERR_OK;
        bool synced = g->cache && groups_cache_is_synced(g->cache);

        if (err && code != g->was_err)
                g->env.trouble(g->env.ctx, what, err);
        if (code != g->was_err || synced != g->was_synced)
                add_all(g);
        g->was_err = code;
        g->was_synced = synced;
}

static void need_cache(struct groups *g) {
        static const struct groups_cache_hooks hooks = { on_set, on_capacity, on_state };

        if (!g->cache)
                g->cache = groups_cache_new(g->env.loop, g->env.client, &hooks, g);
}

/* True: what is asked for was changed. */
static bool note_object(struct set *s, const struct value *lws, struct arena *a) {
        const struct value *metadata = value_getc(lws, "metadata");
        struct str uid = value_text(value_getc(metadata, "uid"));
        struct hash128 asked = hash_asked(metadata, a);
        bool is_new = !hash128_eq(asked, s->asked);

        if (!str_eqc(uid, s->uid))
                begin_anew(s, uid);
        s->asked = asked;
        if (is_new)
                s->rest_until_ms = 0;
        return is_new;
}

bool set_take(struct set *s) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct live *live = set_live(s);
        const struct value *lws;
        struct managed owners;

        if (!live)
                return false;
        lws = live_value(live, a, &owners);
        note_object(s, lws, a);
        return groups_is_ours(lws, s->groups->env.mode);
}

/* A set is ours, and what is asked for was changed, or not. */
static void take(struct groups *g, struct str ns, struct str name, const struct value *lws, struct arena *a) {
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);
        struct set *s;

        buf_addf(&key, "%.*s/%.*s", STR_FMT(ns), STR_FMT(name));
        s = map_find(g->sets, buf_str(&key));
        if (!s)
                s = set_new(g, ns, name);
        need_cache(g);
        if (note_object(s, lws, a))
                queue_release(g->queue, buf_str(&key));
        else
                queue_add(g->queue, buf_str(&key), QUEUE_NOW);
}

/* Most objects of a cluster are none of ours, and need not be parsed to know. */
static bool may_be_ours(const struct groups *g, const struct live *live) {
        return g->env.mode == GROUPS_ALL ||
               str_contains((struct str){ live->text, live->text_bytes }, STR(GROUPS_ANNOTATION));
}

void groups_changed(struct groups *g, struct str id, const struct live *live) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);
        struct object_key object;
        struct managed owners;

        if (!object_key_from_id(id, &object))
                return;
        if (live && may_be_ours(g, live)) {
                const struct value *lws = live_value(live, a, &owners);

                if (groups_is_ours(lws, g->env.mode)) {
                        take(g, object.namespace, object.name, lws, a);
                        return;
                }
        }
        buf_addf(&key, "%.*s/%.*s", STR_FMT(object.namespace), STR_FMT(object.name));
        on_set(g, buf_str(&key)); /* one that is not ours any more is left when it is run */
}

/* --- the kind ---------------------------------------------------------------------------------------------------- */

static void tell_absent(struct groups *g) {
        struct err err;

        if (g->env.mode != GROUPS_ALL)
                return;
        loop_timer_start(g->look, GROUPS_LOOK_AGAIN_MS);
        if (g->told_absent)
                return;
        g->told_absent = true;
        err_set(&err, ERR_NOTFOUND,
                "the cluster does not serve LeaderWorkerSet (leaderworkerset.x-k8s.io/v1): its definition is "
                "missing; it is looked for again");
        g->env.trouble(g->env.ctx, "groups", &err);
}

void groups_discovered(struct groups *g) {
        const struct kube_resource *r = kube_discovery_find(cluster_discovery(g->env.cluster), groups_gvk());

        if (!r || !kube_resource_is_watchable(r)) {
                tell_absent(g);
                return;
        }
        g->told_absent = false;
        loop_timer_stop(g->look);
        g->kind = cluster_want(g->env.cluster, groups_gvk(), CLUSTER_ALL);
}

static void looked(void *ctx, const struct err *err) {
        struct groups *g = ctx;

        if (err)
                loop_timer_start(g->look, GROUPS_LOOK_AGAIN_MS);
}

static void look(void *ctx) {
        struct groups *g = ctx;

        cluster_discover(g->env.cluster, looked, g);
}

/* --- runs -------------------------------------------------------------------------------------------------------- */

static void run(void *ctx, struct str key) {
        struct groups *g = ctx;
        struct set *s = map_find(g->sets, key);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct live *live = s ? set_live(s) : NULL;
        struct managed owners;

        if (live && !g->begun) { /* groups_begin() adds it again */
                queue_done(g->queue, key, QUEUE_DONE, 0);
                return;
        }
        if (live && groups_is_ours(live_value(live, a, &owners), g->env.mode)) {
                pass_begin(s);
                return;
        }
        map_remove(g->sets, key);
        queue_forget(g->queue, key);
        queue_done(g->queue, key, QUEUE_DONE, 0);
}

void groups_begin(struct groups *g) {
        g->begun = true;
        g->doubt_until_ms = g->cache ? loop_now_ms(g->env.loop) + DOUBT_MS : 0;
        add_all(g);
}

struct groups *groups_new(const struct groups_env *env) {
        struct groups *g = mem_zalloc(sizeof *g);
        struct queue_options options = {
                .workers = GROUPS_WORKERS, .max_backoff_ms = MAX_BACKOFF_MS, .run = run, .ctx = g
        };

        g->env = *env;
        g->sets = map_new(set_free);
        g->queue = queue_new(env->loop, &options);
        g->look = loop_timer_new(env->loop, look, g);
        return g;
}

void groups_free(struct groups *g) {
        if (!g)
                return;
        loop_timer_free(g->look);
        map_free(g->sets);
        groups_cache_free(g->cache);
        queue_free(g->queue);
        free(g);
}

enum groups_table table_of(enum group_object object) {
        static const enum groups_table tables[] = {
                [GROUP_POD] = GROUPS_PODS,
                [GROUP_SERVICE] = GROUPS_SERVICES,
                [GROUP_CLAIM] = GROUPS_CLAIMS,
                [GROUP_REVISION] = GROUPS_REVISIONS,
        };

        return tables[object];
}

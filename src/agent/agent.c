/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "git/deadline.h"
#include "git/remote.h"
#include "sync/backoff.h"

#define RENDER_TIMEOUT_MS (60 * INT64_C(1000))
#define MANIFEST_CACHE_IN_AGENT_BYTES (2 * MIB)

struct render;

/* One application and the way its commits take. */
struct entry {
        struct agent *agent;
        const struct config_app *config;
        struct app *app;
        struct poll_subscription *poll;
        struct arena *news_arena;
        struct poll_news news;      /* newest fetched commit; strings in news_arena */
        bool has_news;
        struct render *render;      /* under way */
        bool render_again;
        struct agent_revision revision; /* in force */
        struct arena *revision_arena;
        struct err err;
        struct err rejected;        /* why the newest commit is not in force; code 0: it is */
        bool unread;                /* the newest commit is to be rendered again though it is known */
        bool told_settled;          /* of the commit in force */
};

/* Parsed files. A render that outlives the agent keeps it, so that the agent need not wait for pool threads. */
struct cache {
        struct manifest_cache *files;
        unsigned users;
};

struct agent {
        struct loop *loop;
        const struct config *config;
        struct agent_options options;
        struct agent_hooks hooks;
        void *ctx;
        struct kube_transport *transport;
        struct kube_client *client;
        struct cluster *cluster;
        struct store *store;
        struct scaler_index *scalers;
        struct map *scaler_targets; /* id of a scaler → id of what it scales */
        struct poller *poller;
        struct cache *cache;
        struct entry *entries;
        size_t count;
        struct loop_timer *retry;
        unsigned attempts;
        bool opened, discovered;
        struct agent_stats stats;
};

/* A commit on its way to a desired set, on a pool thread. */
struct render {
        struct entry *entry;        /* NULL: nobody wants it any more */
        struct git_source *source;  /* kept by `hold` */
        struct poll_hold *hold;
        struct git_id commit;
        struct manifest_source spec;
        struct cache *cache;
        struct tracking tracking;
        struct manifest_protection protection;
        struct kube_discovery *discovery;
        atomic_bool cancelled;
        int64_t timeout_ms;
        bool keep_sources;
        struct desired_set *set;
        int r;
        struct err err;
};

/* --- scalers ---------------------------------------------------------------------------------------------------- */

static void tell_target(struct agent *agent, const char *target_id, bool is_gone) {
        for (size_t i = 0; i < agent->count; i++)
                app_scaler_changed(agent->entries[i].app, str_from(target_id), is_gone);
}

/* The id of what a scaler scales. Status changes leave it as it is. */
static char *target_id(const struct value *scaler, struct arena *a) {
        const struct value *ref = value_path(scaler, "spec", "scaleTargetRef", NULL);

        return str_dup(arena_strf(a, "%.*s/%.*s/%.*s/%.*s",
                                  STR_FMT(schema_group(value_text(value_getc(ref, "apiVersion")))),
                                  STR_FMT(value_text(value_getc(ref, "kind"))),
                                  STR_FMT(value_text(value_path(scaler, "metadata", "namespace", NULL))),
                                  STR_FMT(value_text(value_getc(ref, "name")))));
}

static void scaler_changed(struct agent *agent, struct str id, const struct live *live) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct object_key key;
        struct managed owners;
        char *old = map_find(agent->scaler_targets, id), *now = NULL;

        if (!object_key_from_id(id, &key))
                return;
        if (live) {
                const struct value *object = live_value(live, a, &owners);

                scaler_index_set(agent->scalers, object, SCALER_LIVE, NULL);
                now = target_id(object, a);
        } else {
                scaler_index_remove(agent->scalers, key.group, key.kind, key.namespace, key.name, SCALER_LIVE);
        }
        if (old && (!now || strcmp(old, now) != 0))
                tell_target(agent, old, true);
        if (now && (!old || strcmp(old, now) != 0))
                tell_target(agent, now, false);
        if (now)
                map_set(agent->scaler_targets, id, now);
        else
                map_remove(agent->scaler_targets, id);
}

/* Also those of an autoscaler that was installed later. */
static void on_discovery(void *ctx) {
        struct agent *agent = ctx;
        const char *group, *kind;

        for (size_t i = 0; scaler_kind_at(i, &group, &kind); i++) {
                const struct kube_resource *r = kube_discovery_find_kind(cluster_discovery(agent->cluster),
                                                                         str_from(group), str_from(kind));

                if (r && kube_resource_is_watchable(r))
                        cluster_want(agent->cluster, kube_resource_gvk(r), CLUSTER_ALL);
        }
}

/* Scalers that Git wants count before they exist: the seed and the first apply depend on them. */
static void index_desired_scalers(struct agent *agent) {
        scaler_index_clear(agent->scalers, SCALER_DESIRED);
        for (size_t i = 0; i < agent->count; i++) {
                const struct desired_set *set = app_desired(agent->entries[i].app);

                for (size_t k = 0; set && k < set->count; k++) {
                        const struct desired *d = &set->objects[k];
                        _cleanup_(arena_freep) struct arena *a = NULL;
                        const struct value *object;

                        if (d->state != DESIRED_OK || !scaler_is_kind(d->gvk.group, d->gvk.kind))
                                continue;
                        a = arena_new(0);
                        if (json_parse(d->text, a, &object, NULL) == 0)
                                scaler_index_set(agent->scalers, object, SCALER_DESIRED, NULL);
                }
        }
}

/* --- the cluster's events --------------------------------------------------------------------------------------- */

/* The CRD of a kind that is watched: its schema says what the kind's fields are. */
static bool defines_wanted_kind(const struct agent *agent, struct str id) {
        struct object_key key;

        if (!object_key_from_id(id, &key) || !manifest_is_crd(key.group, key.kind))
                return false;
        ptrdiff_t dot = str_find(key.name, '.', 0);
        if (dot < 0)
                return false;
        const struct kube_resource *r = kube_discovery_find_plural(cluster_discovery(agent->cluster),
                                                                   str_sub(key.name, (size_t)dot + 1, key.name.n),
                                                                   str_sub(key.name, 0, (size_t)dot));
        return r && cluster_find_kind(agent->cluster, kube_resource_gvk(r));
}

static bool on_keep(void *ctx, struct str id) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++) {
                if (app_knows(agent->entries[i].app, id))
                        return true;
        }
        return defines_wanted_kind(agent, id);
}

static void on_changed(void *ctx, const struct cluster_kind *kind, struct str id, const struct live *live) {
        struct agent *agent = ctx;
        const struct kube_resource *r = cluster_kind_resource(kind);

        if (scaler_is_kind(r->group, r->kind))
                scaler_changed(agent, id, live);
        for (size_t i = 0; i < agent->count; i++)
                app_live_changed(agent->entries[i].app, id, live);
}

static void on_kind_changed(void *ctx, const struct cluster_kind *kind) {
        struct agent *agent = ctx;
        const struct err *err = cluster_kind_err(kind);
        _cleanup_(buf_done) struct buf what = buf_make(1024);

        if (err->code) {
                gvk_print(&what, kube_resource_gvk(cluster_kind_resource(kind)));
                agent->hooks.trouble(agent->ctx, NULL, what.p, err);
        }
        for (size_t i = 0; i < agent->count; i++)
                app_kinds_changed(agent->entries[i].app);
}

/* --- from a commit to a desired set ----------------------------------------------------------------------------- */

static enum manifest_scope scope_of(void *ctx, struct str group, struct str version, struct str kind) {
        const struct kube_resource *r = kube_discovery_find(ctx, (struct gvk){ group, version, kind });

        if (!r)
                return MANIFEST_SCOPE_UNKNOWN;
        return r->namespaced ? MANIFEST_SCOPE_NAMESPACED : MANIFEST_SCOPE_CLUSTER;
}

static void run_render(void *ctx) {
        struct render *job = ctx;
        struct manifest_set *set;
        struct git_deadline deadline = { git_now_ms() + job->timeout_ms, &job->cancelled };
        struct manifest_binding binding = {
                .default_namespace = job->tracking.destination_namespace,
                .tracking = &job->tracking,
                .protection = &job->protection,
                .scope = scope_of,
                .ctx = job->discovery,
        };

        job->r = manifest_render(job->source, &job->commit, &job->spec, job->cache->files, deadline, &set, &job->err);
        if (job->r < 0)
                return;
        job->set = desired_set_new(set, manifest_bind(set, &binding), &job->commit, job->keep_sources);
}

static void begin_render(struct entry *e);

static struct cache *cache_new(void) {
        struct cache *c = mem_zalloc(sizeof *c);

        *c = (struct cache){ manifest_cache_new(MANIFEST_CACHE_IN_AGENT_BYTES), 1 };
        return c;
}

static struct cache *cache_ref(struct cache *c) {
        c->users++;
        return c;
}

static void cache_unref(struct cache *c) {
        if (!c || --c->users)
                return;
        manifest_cache_free(c->files);
        free(c);
}

/* A commit that could not be read for a reason that may pass is fetched and rendered again at the next look. */
static void reject(struct entry *e, const struct desired_set *set, const struct err *err) {
        e->err = e->rejected = *err;
        e->unread = err_is_transient(err->code) || err->code == ERR_CORRUPT;
        if (e->unread)
                poll_forget(e->poll);
        e->agent->hooks.revision(e->agent->ctx, e->app, &e->revision, set, err);
}

static void put_in_force(struct entry *e, struct desired_set *set) {
        struct agent *agent = e->agent;

        arena_free(e->revision_arena);
        e->revision_arena = arena_new(0);
        e->revision = (struct agent_revision){
                .ref = arena_str(e->revision_arena, e->news.ref),
                .subject = arena_str(e->revision_arena, e->news.subject),
                .timeline = { e->news.noticed_ms, e->news.fetched_ms, loop_now_ms(agent->loop), 0, 0 },
        };
        git_id_hex(&set->commit, e->revision.commit);
        e->err.code = e->rejected.code = 0;
        e->told_settled = false;
        agent->hooks.revision(agent->ctx, e->app, &e->revision, set, NULL);
        app_set_desired(e->app, set);
        index_desired_scalers(agent);
}

static void rendered(void *ctx, bool cancelled) {
        struct render *job = ctx;
        struct entry *e = job->entry;
        _cleanup_(desired_set_freep) struct desired_set *set = job->set;
        struct err err = job->err;
        int r = job->r;

        kube_discovery_unref(job->discovery);
        cache_unref(job->cache);
        poll_release(job->hold);
        free(job);
        if (!e)
                return;
        e->render = NULL;
        if (e->render_again) {
                begin_render(e);
                return;
        }
        if (cancelled)
                return;
        if (r == 0 && !set->complete)
                r = err_set(&err, ERR_INVAL, "not every document could be read: nothing of this commit is applied");
        if (r < 0)
                reject(e, set, &err);
        else
                put_in_force(e, TAKE_PTR(set));
}

static void begin_render(struct entry *e) {
        struct agent *agent = e->agent;
        const struct config_app *c = e->config;

        if (!e->has_news || !agent->discovered)
                return;
        if (e->render) {
                e->render_again = true;
                atomic_store(&e->render->cancelled, true);
                return;
        }
        e->render_again = false;
        struct render *job = mem_zalloc(sizeof *job);
        job->entry = e;
        job->source = e->news.source;
        job->hold = poll_hold(e->poll);
        job->commit = e->news.commit;
        job->spec = (struct manifest_source){
                .path = c->path, .recurse = c->recurse, .include = c->include, .exclude = c->exclude,
                .any_extension = c->any_extension, .default_namespace = c->destination_namespace,
                .strict_yaml = agent->config->agent.strict_yaml,
        };
        job->cache = cache_ref(agent->cache);
        job->tracking = app_tracking(e->app);
        job->protection = config_protection(agent->config, c);
        job->discovery = kube_discovery_ref((struct kube_discovery *)cluster_discovery(agent->cluster));
        job->timeout_ms = RENDER_TIMEOUT_MS;
        job->keep_sources = agent->options.poll_once;
        e->render = job;
        loop_work_start(agent->loop, LOOP_POOL_CPU, run_render, rendered, job);
}

static void on_news(void *ctx, const struct poll_news *news, const struct err *err) {
        struct entry *e = ctx;
        struct agent *agent = e->agent;

        if (err) {
                e->err = *err;
                agent->hooks.trouble(agent->ctx, e->app, "git", err);
                return;
        }
        if (e->has_news && git_id_eq(&news->commit, &e->news.commit) && !e->unread) {
                e->err = e->rejected; /* Git can be read again; what is wrong with its commit still is */
                return;
        }
        e->unread = false;
        arena_free(e->news_arena);
        e->news_arena = arena_new(0);
        e->news = *news;
        e->news.ref = arena_str(e->news_arena, news->ref);
        e->news.subject = arena_str(e->news_arena, news->subject);
        e->has_news = true;
        begin_render(e);
}

/* --- the applications' events ----------------------------------------------------------------------------------- */

static struct entry *entry_of(struct agent *agent, const struct app *app) {
        for (size_t i = 0; i < agent->count; i++) {
                if (agent->entries[i].app == app)
                        return &agent->entries[i];
        }
        abort();
}

static void on_outcome(void *ctx, struct app *app, const struct outcome *o) {
        struct agent *agent = ctx;

        agent->stats.outcomes[o->kind]++;
        if (o->noticed_ms && (o->kind == OUTCOME_CONFIGURED || o->kind == OUTCOME_CREATED)) {
                agent->stats.heals++;
                agent->stats.last_heal_ms = loop_now_ms(agent->loop) - o->noticed_ms;
        }
        agent->hooks.outcome(agent->ctx, app, o);
}

static void on_waiting(void *ctx, struct app *app, const char *what) {
        struct agent *agent = ctx;

        agent->hooks.waiting(agent->ctx, app, what);
}

static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        struct agent *agent = ctx;

        agent->hooks.trouble(agent->ctx, app, what, err);
}

static const char *sync_word(enum app_sync_status s) {
        static const char *const words[] = { "Unknown", "Synced", "OutOfSync" };

        return words[s];
}

static bool same_member(const struct value *old, const char *key, struct str text) {
        return str_eq(value_text(value_getc(old, key)), text);
}

/* The old text stays as long as commit, state and counts do: `changed` is when they last became different. */
static void on_status(void *ctx, struct app *app, struct str old_text, struct buf *out) {
        struct agent *agent = ctx;
        struct entry *e = entry_of(agent, app);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *old = NULL;
        struct app_counts c;
        struct value_map_builder b = { 0 };

        app_counts(app, &c);
        struct str counts = arena_strf(a, "%zu/%zu/%zu", c.synced, c.objects, c.failed + c.refused + c.parked);
        struct str sync = str_from(sync_word(app_sync_status(app)));
        if (json_parse(old_text, a, &old, NULL) == 0 && same_member(old, "commit", str_from(e->revision.commit)) &&
            same_member(old, "sync", sync) && same_member(old, "counts", counts)) {
                buf_add(out, old_text);
                return;
        }
        value_map_add(&b, STR("application"), value_string(a, e->config->name, 0), 0);
        value_map_add(&b, STR("ref"), value_string(a, e->revision.ref, 0), 0);
        value_map_add(&b, STR("commit"), value_stringc(a, e->revision.commit), 0);
        value_map_add(&b, STR("subject"), value_string(a, e->revision.subject, 0), 0);
        value_map_add(&b, STR("sync"), value_string(a, sync, 0), 0);
        value_map_add(&b, STR("counts"), value_string(a, counts, 0), 0);
        value_map_add(&b, STR("objects"), value_int(a, (int64_t)c.objects, 0), 0);
        value_map_add(&b, STR("changed"), value_int(a, loop_wall_ms(agent->loop), 0), 0);
        value_print(value_map_end(&b, a, 0), out);
}

static void on_settled(void *ctx, struct app *app, const struct err *prune_err) {
        struct agent *agent = ctx;
        struct entry *e = entry_of(agent, app);

        if (!e->told_settled) {
                e->told_settled = true;
                e->revision.timeline.applied_ms = loop_now_ms(agent->loop);
                agent->stats.commits_applied++;
        }
        agent->hooks.settled(agent->ctx, app, prune_err);
}

static void on_observed(void *ctx, struct app *app) {
        struct agent *agent = ctx;
        struct entry *e = entry_of(agent, app);

        if (e->revision.timeline.observed_ms)
                return;
        e->revision.timeline.observed_ms = loop_now_ms(agent->loop);
        agent->stats.last = e->revision.timeline;
        agent->hooks.observed(agent->ctx, app, &e->revision.timeline);
}

static bool wants(const struct entry *e, struct str id) {
        const struct desired *d = desired_find(app_desired(e->app), id);

        return d && d->state == DESIRED_OK;
}

static struct str on_rival(void *ctx, const struct app *app, struct str id, struct str tracked_by) {
        const struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++) {
                const struct entry *e = &agent->entries[i];

                if (wants(e, id) && (!tracked_by.n || str_eq(tracked_by, e->config->instance)))
                        return e->app == app ? STR("") : e->config->name;
        }
        return STR("");
}

static void on_rebind(void *ctx, struct app *app) {
        begin_render(entry_of(ctx, app));
}

/* --- start ------------------------------------------------------------------------------------------------------ */

static void start(void *ctx);

static void try_again(struct agent *agent, const char *what, const struct err *err) {
        agent->hooks.trouble(agent->ctx, NULL, what, err);
        agent->attempts++;
        loop_timer_start(agent->retry, backoff_after(&BACKOFF_SYNC, agent->attempts, err,
                                                     (unsigned)loop_random(agent->loop, 1000)));
}

static void on_discovered(void *ctx, const struct err *err) {
        struct agent *agent = ctx;

        if (err) {
                try_again(agent, "discovery", err);
                return;
        }
        agent->discovered = true;
        for (size_t i = 0; i < agent->count; i++)
                begin_render(&agent->entries[i]);
}

static void on_opened(void *ctx, const struct err *err) {
        struct agent *agent = ctx;

        if (err) {
                try_again(agent, "inventory", err);
                return;
        }
        agent->opened = true;
        start(agent);
}

static void start(void *ctx) {
        struct agent *agent = ctx;

        if (!agent->opened)
                store_open(agent->store, agent->options.read_only, on_opened, agent);
        else if (!agent->discovered)
                cluster_discover(agent->cluster, on_discovered, agent);
}

static void on_warning(void *ctx, struct str text) {
        (void)ctx;
        _cleanup_(mem_freep) char *copy = str_dup(text);

        log_event(LOG_WARN, "kube", "the API server warns", "text", copy, NULL);
}

int agent_open_remote(const struct config *c, const struct config_app *app, struct git_source **ret_source,
                      struct err *err) {
        struct git_remote_options o = {
                .url = app->repo_url,
                .store_dir = c->agent.data_dir,
                .ca_file = c->agent.git_ca,
                .allow_file = true, /* config_settle() refused what is not allowed */
        };

        if (app->repository)
                o.credentials = (struct git_credentials){ .username = app->repository->username,
                                                          .password = app->repository->password };
        return git_remote_open(&o, ret_source, err);
}

static struct git_source *open_remote(void *ctx, const void *key, struct err *err) {
        struct agent *agent = ctx;
        struct git_source *source = NULL;

        if (agent->options.open_source)
                return agent->options.open_source(agent->options.open_ctx, key, err);
        return agent_open_remote(agent->config, key, &source, err) < 0 ? NULL : source;
}

static int subscribe(struct entry *e, struct err *err) {
        struct agent *agent = e->agent;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str key = e->config->repo_url;

        if (!agent->options.open_source) {
                int r = git_remote_key(e->config->repo_url, a, &key, err);

                if (r < 0)
                        return r;
        }
        e->poll = poller_subscribe(agent->poller, key, e->config->revision, open_remote, agent, e->config, on_news, e);
        return 0;
}

static const struct cluster_hooks cluster_hooks = { on_keep, on_changed, on_kind_changed, on_discovery };

int agent_new(struct loop *l, struct kube_transport *t, const struct config *config,
              const struct agent_options *options, const struct agent_hooks *hooks, void *ctx,
              struct agent **ret_agent, struct err *err) {
        _cleanup_(agent_freep) struct agent *agent = mem_zalloc(sizeof *agent);

        agent->loop = l;
        agent->config = config;
        agent->options = *options;
        agent->hooks = *hooks;
        agent->ctx = ctx;
        agent->transport = t;
        agent->client = kube_client_new(t, l);
        kube_client_on_warning(agent->client, on_warning, agent);
        agent->cluster = cluster_new(agent->client, config->agent.installation_id, &cluster_hooks, agent);
        agent->store = store_new(l, agent->client, config->agent.ns, config->agent.installation_id);
        agent->scalers = scaler_index_new();
        agent->scaler_targets = map_new(free);
        agent->poller = poller_new(l, options->poll_once ? 0 : config->agent.poll_ms, config->agent.git_timeout_ms);
        agent->cache = cache_new();
        agent->retry = loop_timer_new(l, start, agent);
        agent->entries = mem_zalloc((config->app_count + 1) * sizeof *agent->entries);

        struct app_env env = {
                .loop = l, .client = agent->client, .cluster = agent->cluster, .store = agent->store,
                .scalers = agent->scalers, .agent = &config->agent, .ctx = agent,
                .hooks = { on_outcome, on_waiting, on_settled, on_observed, on_status, on_trouble,
                           on_rival, on_rebind },
        };
        for (size_t i = 0; i < config->app_count; i++) {
                struct entry *e = &agent->entries[agent->count];

                if (config->apps[i].suspended)
                        continue;
                e->agent = agent;
                e->config = &config->apps[i];
                e->app = app_new(&env, e->config);
                agent->count++;
                int r = subscribe(e, err);
                if (r < 0)
                        return err_wrap(err, r, "application %.*s", STR_FMT(e->config->name));
        }
        *ret_agent = TAKE_PTR(agent);
        return 0;
}

void agent_free(struct agent *agent) {
        if (!agent)
                return;
        for (size_t i = 0; i < agent->count; i++) {
                struct entry *e = &agent->entries[i];

                poller_unsubscribe(e->poll);
                if (e->render) {
                        e->render->entry = NULL;
                        atomic_store(&e->render->cancelled, true);
                }
                app_free(e->app);
                arena_free(e->news_arena);
                arena_free(e->revision_arena);
        }
        free(agent->entries);
        poller_free(agent->poller);
        loop_timer_free(agent->retry);
        store_free(agent->store);
        cluster_free(agent->cluster);
        kube_client_free(agent->client);
        scaler_index_free(agent->scalers);
        map_free(agent->scaler_targets);
        cache_unref(agent->cache);
        free(agent);
}

void agent_start(struct agent *agent) {
        loop_timer_start(agent->retry, 0);
}

void agent_poll_now(struct agent *agent) {
        for (size_t i = 0; i < agent->count; i++)
                poll_now(agent->entries[i].poll);
}

size_t agent_app_count(const struct agent *agent) {
        return agent->count;
}

struct app *agent_app(const struct agent *agent, size_t i) {
        return agent->entries[i].app;
}

void agent_app_revision(const struct agent *agent, size_t i, struct agent_revision *ret_revision) {
        *ret_revision = agent->entries[i].revision;
}

const struct err *agent_app_err(const struct agent *agent, size_t i) {
        const struct entry *e = &agent->entries[i];

        return e->err.code ? &e->err : app_err(e->app);
}

bool agent_is_ready(const struct agent *agent) {
        if (!agent->opened || !agent->discovered || cluster_err(agent->cluster)->code)
                return false;
        for (size_t i = 0; i < agent->count; i++) {
                if (!agent->entries[i].revision.commit[0] && !agent->entries[i].err.code)
                        return false;
        }
        return true;
}

struct cluster *agent_cluster(const struct agent *agent) {
        return agent->cluster;
}

void agent_stats(const struct agent *agent, struct agent_stats *ret_stats) {
        *ret_stats = agent->stats;
        poller_stats(agent->poller, &ret_stats->polls);
        ret_stats->kinds = cluster_kind_count(agent->cluster);
        ret_stats->live = cluster_live_count(agent->cluster);
        kube_transport_get_stats(agent->transport, &ret_stats->api);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_impl.h"

#include "agent/events.h"
#include "agent/jq.h"
#include "base/json.h"
#include "base/log.h"
#include "git/remote.h"
#include "git/url.h"
#include "sync/backoff.h"

/* A kind that Git wants and that is not served is looked for so often by one that stands by. */
#define LOOK_AHEAD_AGAIN_MS 60000

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
                const struct entry *e = &agent->entries[i];

                if (app_knows(e->app, id) || (e->ahead && desired_find(e->ahead, id)))
                        return true;
        }
        return defines_wanted_kind(agent, id) || agent_defines_scaler(id) || agent_defines_groups(agent, id);
}

static void on_changed(void *ctx, const struct cluster_kind *kind, struct str id, const struct live *live) {
        struct agent *agent = ctx;
        const struct kube_resource *r = cluster_kind_resource(kind);

        if (scaler_is_kind(r->group, r->kind))
                agent_scaler_changed(agent, id, live);
        if (live && manifest_is_crd(r->group, r->kind) && (agent_defines_scaler(id) || agent_defines_groups(agent, id)))
                agent_scaler_is_coming(agent, id);
        agent_groups_see(agent, r, id, live);
        for (size_t i = 0; i < agent->count; i++) {
                app_live_changed(agent->entries[i].app, id, live);
                if (app_is_storage_class(r->group, r->kind))
                        app_storage_class_changed(agent->entries[i].app);
        }
}

static void on_dropped(void *ctx, const struct cluster_kind *kind, struct str id) {
        struct agent *agent = ctx;
        const struct kube_resource *r = cluster_kind_resource(kind);

        if (scaler_is_kind(r->group, r->kind))
                agent_scaler_changed(ctx, id, NULL);
        agent_groups_see(agent, r, id, NULL);
        for (size_t i = 0; i < agent->count; i++)
                app_live_dropped(agent->entries[i].app, id);
}

static void on_unread(void *ctx, const struct cluster_kind *kind, struct str id) {
        struct agent *agent = ctx;

        (void)kind;
        for (size_t i = 0; i < agent->count; i++)
                app_live_changed(agent->entries[i].app, id, NULL);
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
        agent_scalers_may_be_known(agent);
}

static void on_back(void *ctx) {
        struct agent *agent = ctx;

        for (size_t i = 0; i < agent->count; i++)
                app_server_is_back(agent->entries[i].app);
}

/* --- Git's events ----------------------------------------------------------------------------------------------- */

/* Which of several sources it is about. */
static void name_source(const struct feed *feed, struct err *err) {
        if (feed->entry->config->source_count > 1)
                err_wrap(err, err->code, "source %.*s", STR_FMT(feed->source->title));
}

static void cannot_look(struct feed *feed, const struct err *err) {
        struct entry *e = feed->entry;
        struct agent *agent = e->agent;

        feed->err = *err;
        name_source(feed, &feed->err);
        e->err = feed->err;
        agent->hooks.trouble(agent->ctx, e->app, "git", &e->err);
        if (e->stale)
                entry_render(e); /* it is held back from now on */
        entry_tell_status(e);
        entry_bring_back(e);
}

static void take_news(struct feed *feed, const struct poll_news *news) {
        arena_free(feed->news_arena);
        feed->news_arena = arena_new(0);
        feed->news = *news;
        feed->news.ref = arena_str(feed->news_arena, news->ref);
        feed->news.subject = arena_str(feed->news_arena, news->subject);
        feed->has_news = true;
        feed->entry->stale = true;
}

static void on_news(void *ctx, const struct poll_news *news, const struct err *err) {
        struct feed *feed = ctx;
        struct entry *e = feed->entry;

        if (err) {
                cannot_look(feed, err);
                return;
        }
        bool known = feed->has_news && git_id_eq(&news->commit, &feed->news.commit) && !e->unread;

        feed->err.code = 0;
        if (!known)
                take_news(feed, news);
        if (e->stale) {
                entry_render(e);
                if (!e->held_back)
                        return;
        }
        e->err = entry_git_err(e); /* Git can be read again; what is wrong with its commit still is */
        entry_tell_status(e);
}

/* --- the applications' events ----------------------------------------------------------------------------------- */

struct entry *agent_entry_of(const struct agent *agent, const struct app *app) {
        for (size_t i = 0; i < agent->count; i++) {
                if (agent->entries[i].app == app)
                        return &agent->entries[i];
        }
        abort();
}

static void on_outcome(void *ctx, struct app *app, const struct outcome *outcome) {
        struct agent *agent = ctx;
        struct outcome masked = *outcome;
        const struct outcome *o = &masked;

        if (agent->config->mask.count)
                masked.mask = &agent->config->mask;
        agent->stats.outcomes[o->kind]++;
        if (o->noticed_ms && (o->kind == OUTCOME_CONFIGURED || o->kind == OUTCOME_CREATED)) {
                agent->stats.heals++;
                agent->stats.last_heal_ms = loop_now_ms(agent->loop) - o->noticed_ms;
        }
        if (agent->events)
                agent_tell_outcome(agent, app, o);
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

static void on_remark(void *ctx, struct app *app, const char *place, const char *text) {
        struct agent *agent = ctx;

        agent->hooks.remark(agent->ctx, app, place, text);
}

static void on_status(void *ctx, struct app *app, struct str old, struct buf *out) {
        entry_status(agent_entry_of(ctx, app), old, out);
}

static void on_loaded(void *ctx, struct app *app) {
        struct agent *agent = ctx;
        struct entry *e = agent_entry_of(agent, app);
        struct err err;

        if (entry_check_name(e, &err) < 0) {
                app_bar(app);
                agent->hooks.trouble(agent->ctx, app, "name", &err);
                return;
        }
        agent_pruned(agent, app);
        if (e->wants_recall)
                entry_render(e);
        if (e->wants_record)
                entry_bring_back(e);
}

/* A rule for all applications does nothing when it does nothing in any of those that it speaks of. */
static bool is_idle_everywhere(const struct agent *agent, size_t rule, bool *ret_known, const char **ret_why) {
        bool idle = false;

        *ret_known = true;
        for (size_t i = 0; i < agent->count; i++) {
                const char *why = NULL;

                switch (app_ignore_use(agent->entries[i].app, rule, &why)) {
                case APP_IGNORE_OPEN:
                        *ret_known = false;
                        break;
                case APP_IGNORE_IDLE:
                        idle = true;
                        *ret_why = why;
                        break;
                case APP_IGNORE_USED:
                        *ret_known = true;
                        return false;
                case APP_IGNORE_ELSEWHERE:
                        break;
                }
        }
        return idle && *ret_known;
}

static void tell_idle_ignores(struct agent *agent, struct app *app) {
        const struct config_ignores *rules = &agent->config->ignores;

        for (size_t i = 0; i < rules->count && !agent->options.watch_only; i++) {
                const char *why;
                bool known;

                if (agent->ignores_told[i] || rules->rules[i].aggregated)
                        continue;
                if (is_idle_everywhere(agent, i, &known, &why))
                        agent->hooks.remark(agent->ctx, app, rules->rules[i].place, why);
                agent->ignores_told[i] = known;
        }
}

static void on_settled(void *ctx, struct app *app, const struct err *prune_err) {
        struct agent *agent = ctx;
        struct entry *e = agent_entry_of(agent, app);

        if (!e->told_settled) {
                e->told_settled = true;
                e->revision.timeline.applied_ms = loop_now_ms(agent->loop);
                agent->stats.commits_applied++;
        }
        tell_idle_ignores(agent, app);
        agent->hooks.settled(agent->ctx, app, prune_err);
}

static void on_observed(void *ctx, struct app *app) {
        struct agent *agent = ctx;
        struct entry *e = agent_entry_of(agent, app);

        bool again = e->revision.timeline.observed_ms;

        if (e->revision.stands_in || (again && !agent->options.poll_once))
                return;
        if (!again) {
                e->revision.timeline.observed_ms = loop_now_ms(agent->loop);
                agent->stats.last = e->revision.timeline;
        }
        agent->hooks.observed(agent->ctx, app, &e->revision.timeline);
}

static void on_rebind(void *ctx, struct app *app) {
        entry_rebind(agent_entry_of(ctx, app));
}

/* --- start ------------------------------------------------------------------------------------------------------ */

static void start(void *ctx);

static void try_again(struct agent *agent, const char *what, const struct err *err) {
        agent->hooks.trouble(agent->ctx, NULL, what, err);
        agent->attempts++;
        loop_timer_start(agent->retry, backoff_after(&BACKOFF_SYNC, agent->attempts, err,
                                                     (unsigned)loop_random(agent->loop, 1000)));
}

static void begin_entries(struct agent *agent) {
        for (size_t i = 0; i < agent->count; i++) {
                struct entry *e = &agent->entries[i];

                entry_render(e);
                if (!e->err.code)
                        continue;
                entry_tell_status(e);
                entry_bring_back(e);
        }
}

static void on_discovered(void *ctx, const struct err *err) {
        struct agent *agent = ctx;

        agent->discovering = false;
        if (err) {
                try_again(agent, "discovery", err);
                return;
        }
        agent->discovered = true;
        if (agent->opened || !agent->begun)
                begin_entries(agent);
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

        if (agent->begun && !agent->opened) {
                store_open(agent->store, agent->options.read_only, on_opened, agent);
        } else if (agent->discovered && !agent->looks_again) {
                begin_entries(agent);
        } else if (!agent->discovering) {
                agent->discovering = true;
                agent->looks_again = false;
                cluster_discover(agent->cluster, on_discovered, agent);
        }
}

static void on_warning(void *ctx, struct str text) {
        (void)ctx;
        _cleanup_(mem_freep) char *copy = str_dup(text);

        log_event(LOG_WARN, "kube", "the API server warns", "text", copy, NULL);
}

static void set_credentials(struct git_remote_options *o, const struct config_repository *repo) {
        bool basic = repo->force_basic && repo->password.n;

        o->credentials = (struct git_credentials){
                .username = repo->username, .password = repo->password,
                .bearer_token = basic ? STR("") : repo->bearer_token,
                .certificate = repo->certificate, .key = repo->key,
        };
        o->scope = repo->project;
        o->insecure_tls = repo->insecure;
        o->no_proxy = repo->no_proxy;
}

int agent_open_remote(const struct config *c, const struct config_source *source, struct git_source **ret_source,
                      struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct config_ca *ca;
        struct git_remote_options o = {
                .url = source->repo_url,
                .store_dir = c->agent.data_dir,
                .ca_file = c->agent.git_ca,
                .allow_file = true, /* config_settle() refused what is not allowed */
        };

        struct git_url url;

        if (git_url_parse(source->repo_url, a, &url, NULL) == 0 && (ca = config_find_ca(c, url.host)))
                o.ca = ca->pem;
        if (source->repository)
                set_credentials(&o, source->repository);
        return git_remote_open(&o, ret_source, err);
}

static struct git_source *open_remote(void *ctx, const void *key, struct err *err) {
        struct agent *agent = ctx;
        struct git_source *source = NULL;

        if (agent->options.open_source)
                return agent->options.open_source(agent->options.open_ctx, key, err);
        return agent_open_remote(agent->config, key, &source, err) < 0 ? NULL : source;
}

static int subscribe(struct feed *feed, struct err *err) {
        struct agent *agent = feed->entry->agent;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str key = feed->source->repo_url;
        const struct config_repository *repo = feed->source->repository;

        if (!agent->options.open_source) {
                int r = git_remote_key(key, a, &key, err);

                if (r < 0)
                        return r;
        }
        /* Others have other credentials for it, or none. */
        if (repo && repo->project.n)
                key = arena_strf(a, "%.*s %.*s", STR_FMT(key), STR_FMT(repo->project));
        feed->poll = poller_subscribe(agent->poller, key, feed->source->revision, open_remote, agent, feed->source, on_news,
                                      feed);
        return 0;
}

/* The feed of the i-th source, one of an earlier source or a new one. */
static size_t feed_for(struct entry *e, size_t i) {
        const struct config_source *source = &e->config->sources[i];
        size_t at = 0;

        while (at < e->feed_count && !(str_eq(e->feeds[at].source->repo_url, source->repo_url) &&
                                       str_eq(e->feeds[at].source->revision, source->revision)))
                at++;
        if (at == e->feed_count)
                e->feeds[e->feed_count++] = (struct feed){ .entry = e, .source = source };
        return at;
}

static int follow(struct entry *e, struct err *err) {
        size_t count = e->config->source_count;
        int r = 0;

        e->feeds = mem_zalloc(count * sizeof *e->feeds);
        e->feed_of = mem_zalloc(count * sizeof *e->feed_of);
        for (size_t i = 0; i < count; i++)
                e->feed_of[i] = feed_for(e, i);
        for (size_t i = 0; r == 0 && i < e->feed_count; i++)
                r = subscribe(&e->feeds[i], err);
        return r;
}

static void unfollow(struct entry *e) {
        for (size_t i = 0; i < e->feed_count; i++) {
                poller_unsubscribe(e->feeds[i].poll);
                arena_free(e->feeds[i].news_arena);
        }
        free(e->feeds);
        free(e->feed_of);
}

static void on_discovery(void *ctx) {
        struct agent *agent = ctx;

        agent_want_scalers(agent);
        if (agent->groups)
                groups_discovered(agent->groups);
}

static const struct cluster_hooks cluster_hooks = {
        on_keep, on_changed, on_dropped, on_unread, on_kind_changed, on_back, on_discovery,
};

int agent_new(struct loop *l, struct kube_transport *t, const struct config *config,
              const struct agent_options *options, const struct agent_hooks *hooks, void *ctx,
              struct agent **ret_agent, struct err *err) {
        _cleanup_(agent_freep) struct agent *agent = mem_zalloc(sizeof *agent);

        agent->loop = l;
        agent->config = config;
        agent->options = *options;
        agent->hooks = agent_hooks_completed(hooks);
        agent->ctx = ctx;
        agent->transport = t;
        agent->client = kube_client_new(t, l);
        kube_client_on_warning(agent->client, on_warning, agent);
        agent->cluster = cluster_new(l, agent->client, config->agent.installation_id, &cluster_hooks, agent);
        agent->store = store_new(l, agent->client, config->agent.ns, config->agent.installation_id);
        if (config->agent.events && !options->poll_once)
                agent->events = events_new(l, agent->client, config->agent.installation_id);
        agent_open_groups(agent);
        agent->scalers = scaler_index_new();
        agent->scaler_targets = map_new(free);
        agent->desired_targets = map_new(free);
        agent->scaler_look = loop_timer_new(l, agent_look_for_scaler, agent);
        agent->know = loop_timer_new(l, agent_ask_for_scalers, agent);
        int64_t poll_ms = options->poll_once && !options->follow ? 0 : config->agent.poll_ms;
        agent->poller = poller_new(l, poll_ms, config->agent.git_timeout_ms);
        agent->cache = cache_new();
        agent->retry = loop_timer_new(l, start, agent);
        agent->entries = mem_zalloc((config->app_count + 1) * sizeof *agent->entries);
        agent->ignores_told = mem_zalloc(config->ignores.count + 1);

        agent->jq = options->jq;
        if (!agent->jq && config_has_programs(config))
                agent->jq = agent->own_jq = jq_worker_new(l, &(struct jq_worker_spec){ 0 });

        if (!options->read_only && !options->watch_only)
                agent->judge = judge_new(l, config->health, &app_judge_hooks, agent);

        struct app_env env = {
                .loop = l, .client = agent->client, .cluster = agent->cluster, .store = agent->store,
                .scalers = agent->scalers, .jq = agent->jq, .judge = agent->judge, .agent = &config->agent, .ctx = agent,
                .hooks = { on_outcome, on_waiting, on_settled, on_observed, on_status, on_trouble, on_remark,
                           agent_rival, agent_given_up, agent_knows_scalers, agent_others_begin, agent_other, agent_others_known,
                           agent_pruned, agent_unread_by, on_rebind, on_loaded, agent_health },
                .read_only = options->read_only,
                .watch_only = options->watch_only,
                .one_shot = options->poll_once,
                .foretell = options->foretell,
        };
        for (size_t i = 0; i < config->app_count; i++) {
                struct entry *e = &agent->entries[agent->count];

                if (config->apps[i].suspended)
                        continue;
                e->agent = agent;
                e->config = &config->apps[i];
                e->app = app_new(&env, e->config);
                agent->count++;
                int r = follow(e, err);
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

                unfollow(e);
                entry_drop_render(e);
                desired_set_free(e->ahead);
                app_free(e->app);
                arena_free(e->revision_arena);
                free(e->degraded_id);
        }
        judge_free(agent->judge);
        free(agent->entries);
        free(agent->ignores_told);
        free(agent->config_trouble);
        jq_engine_free(agent->own_jq);
        poller_free(agent->poller);
        loop_timer_free(agent->retry);
        loop_timer_free(agent->scaler_look);
        loop_timer_free(agent->know);
        free(agent->scaler_coming);
        store_free(agent->store);
        groups_free(agent->groups);
        events_free(agent->events);
        cluster_free(agent->cluster);
        kube_client_free(agent->client);
        scaler_index_free(agent->scalers);
        map_free(agent->scaler_targets);
        map_free(agent->desired_targets);
        cache_unref(agent->cache);
        free(agent);
}

void agent_start(struct agent *agent) {
        agent->begun = true;
        agent->looks_again = false;
        agent->attempts = 0;
        for (size_t i = 0; i < agent->count; i++)
                entry_end_ahead(&agent->entries[i]);
        if (agent->groups)
                groups_begin(agent->groups);
        loop_timer_start(agent->retry, 0);
}

void agent_stand_by(struct agent *agent) {
        loop_timer_start(agent->retry, 0);
}

void agent_look_ahead_again(struct agent *agent) {
        agent->looks_again = true;
        loop_timer_start(agent->retry, LOOK_AHEAD_AGAIN_MS);
}

void agent_poll_now(struct agent *agent) {
        for (size_t i = 0; i < agent->count; i++)
                for (size_t k = 0; k < agent->entries[i].feed_count; k++)
                        poll_now(agent->entries[i].feeds[k].poll);
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

/* The newest commit could not be read: what the cluster is compared with is an older one. */
enum app_sync_status agent_sync_status(const struct agent *agent, const struct app *app) {
        return entry_is_behind(agent_entry_of(agent, app)) ? APP_UNKNOWN : app_sync_status(app);
}

bool agent_is_ready(const struct agent *agent) {
        if (!agent->opened || !agent->discovered || cluster_err(agent->cluster)->code)
                return false;
        for (size_t i = 0; i < agent->count; i++) {
                if (!agent->entries[i].revision.count && !agent->entries[i].err.code)
                        return false;
        }
        return true;
}

struct cluster *agent_cluster(const struct agent *agent) {
        return agent->cluster;
}

const struct groups *agent_groups(const struct agent *agent) {
        return agent->groups;
}

void agent_stats(const struct agent *agent, struct agent_stats *ret_stats) {
        *ret_stats = agent->stats;
        poller_stats(agent->poller, &ret_stats->polls);
        ret_stats->kinds = cluster_kind_count(agent->cluster);
        ret_stats->live = cluster_live_count(agent->cluster);
        kube_transport_get_stats(agent->transport, &ret_stats->api);
        if (agent->judge)
                judge_stats(agent->judge, &ret_stats->health);
}

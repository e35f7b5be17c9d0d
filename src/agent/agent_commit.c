/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a commit, or one of each of several sources, to a desired set in force.
 *
 * Usually the newest commit is rendered. When it cannot be and nothing is in force (the agent has just started), the
 * commit that was applied last, which the inventory's status names, is fetched by its id and rendered instead: "the last
 * good revision stays in force until the next one renders" holds across a restart. It heals and never prunes: what the
 * newest commit wants to keep is not known.
 *
 * Before the first commit of a process the one that was applied last is read, where the repository still has it: only what
 * a commit changed ends a hold and lets go of what the keeper has, also when the agent was away as it came.
 *
 * An object may go from one source to another in two pushes. So that no combination is rendered that has it in neither, a
 * new commit of one is rendered with what the others are when they are looked at after it was noticed.
 */
#include "agent/agent_impl.h"
#include "agent/ignore.h"

#include "base/json.h"
#include "base/limits.h"
#include "git/deadline.h"
#include "manifest/join.h"

#define RENDER_TIMEOUT_MS (60 * INT64_C(1000))
#define MANIFEST_CACHE_IN_AGENT_BYTES (2 * MIB)

enum render_kind {
        RENDER_NEWEST,
        RENDER_STAND_IN, /* the commit that was applied last, instead of the newest: fetched by its id if need be */
        RENDER_RECALLED, /* the same, only to know what it wanted */
};

/* What one source is rendered from. */
struct part {
        struct git_source *source; /* kept by `hold` */
        struct poll_hold *hold;
        struct manifest_source spec;
        struct str title;
};

/* Commits on their way to a desired set, on a pool thread. */
struct render {
        struct entry *entry;        /* NULL: nobody wants it any more */
        struct part *parts;         /* one a source */
        struct git_id *commits;
        struct agent_commit *known; /* of each: for agent_revision */
        size_t count;
        enum render_kind kind;
        struct arena *arena;        /* of all these */
        struct agent_timeline timeline;
        struct config *config;      /* kept: what follows borrows from it, and may outlive the agent */
        struct str along, along_file; /* text of what is made along, and where it stands; empty: nothing is */
        uint32_t along_line;
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

/* --- on a pool thread ------------------------------------------------------------------------------------------- */

static enum manifest_scope scope_of(void *ctx, struct str group, struct str version, struct str kind) {
        const struct kube_resource *r = kube_discovery_find(ctx, (struct gvk){ group, version, kind });

        if (!r)
                return MANIFEST_SCOPE_UNKNOWN;
        return r->namespaced ? MANIFEST_SCOPE_NAMESPACED : MANIFEST_SCOPE_CLUSTER;
}

static int fetch_by_id(struct render *job, size_t i, struct git_deadline deadline) {
        struct git_revision revision = { .commit = job->commits[i], .name = str_from(job->known[i].id) };
        int r = git_source_fetch(job->parts[i].source, &revision, deadline, &job->err);

        return r == ERR_NOTFOUND ? err_wrap(&job->err, r, "it is not in the repository any more") : r;
}

/* `left` of the bytes that all manifests of an application may have is taken down by what this one's do. */
static int render_part(struct render *job, size_t i, struct git_deadline deadline, uint64_t *left,
                       struct manifest_set **ret_set) {
        struct part *part = &job->parts[i];
        int r = job->kind == RENDER_STAND_IN ? fetch_by_id(job, i, deadline) : 0;

        part->spec.max_bytes = *left ? *left : 1;
        if (r >= 0)
                r = manifest_render(part->source, &job->commits[i], &part->spec, job->cache->files, deadline, ret_set,
                                    &job->err);
        if (r >= 0)
                *left -= (*ret_set)->bytes;
        else if (job->count > 1)
                err_wrap(&job->err, r, "source %.*s", STR_FMT(part->title));
        return r;
}

/* All of them or nothing. */
static int render_parts(struct render *job, struct git_deadline deadline, struct manifest_set **ret_set) {
        struct manifest_part *done = arena_zalloc(job->arena, (job->count + 1) * sizeof *done);
        uint64_t left = MANIFEST_MAX_TOTAL_BYTES;
        size_t n = 0;
        int r = 0;

        if (job->along.n)
                r = manifest_make_along(job->along, job->along_file, job->along_line, &done[n++].set, &job->err);
        for (size_t i = 0; r >= 0 && i < job->count; i++) {
                done[n].title = job->parts[i].title;
                r = render_part(job, i, deadline, &left, &done[n].set);
                n += r >= 0;
        }
        if (r >= 0)
                return manifest_join(done, n, job->tracking.destination_namespace, ret_set, &job->err);
        while (n > 0)
                manifest_set_free(done[--n].set);
        return r;
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
                .check = ignore_check_annotations,
        };

        job->r = render_parts(job, deadline, &set);
        if (job->r < 0)
                return;
        job->set = desired_set_new(set, manifest_bind(set, &binding), job->commits, job->count, job->keep_sources);
        if (!job->set->complete)
                job->r = err_set(&job->err, ERR_INVAL,
                                 "not every document could be read: nothing of this commit is applied");
}

/* --- parsed files ----------------------------------------------------------------------------------------------- */

struct cache *cache_new(void) {
        struct cache *c = mem_zalloc(sizeof *c);

        *c = (struct cache){ manifest_cache_new(MANIFEST_CACHE_IN_AGENT_BYTES), 1 };
        return c;
}

static struct cache *cache_ref(struct cache *c) {
        c->users++;
        return c;
}

void cache_unref(struct cache *c) {
        if (!c || --c->users)
                return;
        manifest_cache_free(c->files);
        free(c);
}

/* --- the end of a render ---------------------------------------------------------------------------------------- */

static void tell_others(const struct entry *e) {
        const struct agent *agent = e->agent;

        for (size_t i = 0; i < agent->count; i++) {
                if (&agent->entries[i] != e)
                        app_others_changed(agent->entries[i].app);
        }
}

/* A commit that could not be read for a reason that may pass is fetched and rendered again at the next look. */
static void reject(struct entry *e, const struct desired_set *set, const struct err *err) {
        if (!entry_is_behind(e))
                e->rejected_since_ms = loop_now_ms(e->agent->loop);
        e->err = e->rejected = *err;
        e->unread = err_is_transient(err->code) || err->code == ERR_CORRUPT;
        for (size_t i = 0; e->unread && i < e->feed_count; i++)
                poll_forget(e->feeds[i].poll);
        e->agent->hooks.revision(e->agent->ctx, e->app, &e->revision, set, err);
        entry_tell_status(e);
        entry_bring_back(e);
        tell_others(e);
}

static void put_in_force(struct entry *e, struct render *job) {
        struct agent *agent = e->agent;
        struct desired_set *set = TAKE_PTR(job->set);

        arena_free(e->revision_arena);
        e->revision_arena = TAKE_PTR(job->arena);
        e->revision = (struct agent_revision){
                .text = arena_str(e->revision_arena, set->revision), .commits = job->known, .count = job->count,
                .timeline = job->timeline, .stands_in = job->kind == RENDER_STAND_IN,
        };
        e->revision.timeline.rendered_ms = loop_now_ms(agent->loop);
        set->stands_in = e->told_settled = e->revision.stands_in;
        agent->hooks.revision(agent->ctx, e->app, &e->revision, set, NULL);
        app_set_desired(e->app, set);
        desired_set_free(TAKE_PTR(e->ahead));
        tell_others(e);
        agent_index_desired_scalers(agent);
}

/* The last good commit could not be brought back: nothing is in force until a commit renders. */
static void lost(struct entry *e, const struct render *job, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        e->brought_back = !err_is_transient(err->code);
        err_wrap(err, err->code, "nothing is healed until a commit renders: commit %.*s, which was applied last, cannot be "
                                 "used again", STR_FMT(desired_revision_text(job->commits, job->count, a)));
        e->agent->hooks.trouble(e->agent->ctx, e->app, "last good commit", err);
}

/* A commit that is no longer there, or cannot be read now, is not remembered: what is new is then unknown, as at first. */
static void recalled(struct entry *e, struct render *job) {
        if (job->r == 0)
                app_remember(e->app, TAKE_PTR(job->set));
        entry_render(e);
        if (e->held_back)
                entry_bring_back(e); /* a source went away meanwhile, which could not bring it back then */
}

/* What is wrong with a commit is told by whoever wants to put it in force. */
static void rendered_ahead(struct entry *e, struct render *job) {
        if (job->r < 0)
                return;
        desired_set_free(e->ahead);
        e->ahead = TAKE_PTR(job->set);
        if (!app_want_kinds(e->app, e->ahead))
                agent_look_ahead_again(e->agent);
}

void entry_end_ahead(struct entry *e) {
        entry_drop_render(e);
        e->render = NULL;
}

static void ended(struct entry *e, struct render *job) {
        if (!e->agent->begun) {
                rendered_ahead(e, job);
                return;
        }
        if (job->kind == RENDER_RECALLED) {
                recalled(e, job);
                return;
        }
        if (job->r == 0 && job->kind == RENDER_NEWEST) {
                e->rejected.code = 0;
                e->err = entry_git_err(e);
        }
        if (job->r == 0)
                put_in_force(e, job);
        else if (job->kind == RENDER_STAND_IN)
                lost(e, job, &job->err);
        else
                reject(e, job->set, &job->err);
}

static void rendered(void *ctx, bool cancelled) {
        struct render *job = ctx;
        struct entry *e = job->entry;

        if (e) {
                e->render = NULL;
                if (e->render_again)
                        entry_render(e);
                else if (!cancelled)
                        ended(e, job);
        }
        config_free(job->config);
        kube_discovery_unref(job->discovery);
        cache_unref(job->cache);
        for (size_t i = 0; i < job->count; i++)
                poll_release(job->parts[i].hold);
        desired_set_free(job->set);
        arena_free(job->arena);
        free(job);
}

struct err entry_git_err(const struct entry *e) {
        for (size_t i = 0; i < e->feed_count; i++)
                if (e->feeds[i].err.code)
                        return e->feeds[i].err;
        return e->rejected;
}

/* --- the beginning of one --------------------------------------------------------------------------------------- */

bool entry_has_news(const struct entry *e) {
        for (size_t i = 0; i < e->feed_count; i++)
                if (!e->feeds[i].has_news)
                        return false;
        return true;
}

static const struct poll_news *news_of(const struct entry *e, size_t source) {
        return &e->feeds[e->feed_of[source]].news;
}

static bool are_newest(const struct entry *e, const struct git_id *commits, size_t count) {
        if (count != e->config->source_count || !entry_has_news(e))
                return false;
        for (size_t i = 0; i < count; i++)
                if (!git_id_eq(&commits[i], &news_of(e, i)->commit))
                        return false;
        return true;
}

bool entry_is_current(const struct entry *e) {
        const struct desired_set *set = app_desired(e->app);

        return set && are_newest(e, set->commits, set->commit_count);
}

bool entry_is_behind(const struct entry *e) {
        return e->rejected.code || e->held_back;
}

struct manifest_source agent_manifest_source(const struct config *c, const struct config_app *app,
                                             const struct config_source *source) {
        return (struct manifest_source){
                .path = source->path, .recurse = source->recurse, .include = source->include, .exclude = source->exclude,
                .any_extension = source->any_extension, .default_namespace = app->destination_namespace,
                .strict_yaml = c->agent.strict_yaml,
        };
}

/* Without commits yet: add_commit() for each source. */
static struct render *render_new(struct entry *e) {
        struct agent *agent = e->agent;
        const struct config_app *c = e->config;
        struct render *job = mem_zalloc(sizeof *job);

        job->entry = e;
        job->arena = arena_new(0);
        job->config = config_ref((struct config *)agent->config);
        job->parts = arena_zalloc(job->arena, c->source_count * sizeof *job->parts);
        job->commits = arena_zalloc(job->arena, c->source_count * sizeof *job->commits);
        job->known = arena_zalloc(job->arena, c->source_count * sizeof *job->known);
        job->cache = cache_ref(agent->cache);
        job->tracking = app_tracking(e->app);
        job->protection = config_protection(agent->config, c);
        job->discovery = kube_discovery_ref((struct kube_discovery *)cluster_discovery(agent->cluster));
        job->along = arena_str(job->arena, c->namespace_text);
        job->along_file = arena_str(job->arena, c->namespace_place.file);
        job->along_line = c->namespace_place.line;
        job->timeout_ms = RENDER_TIMEOUT_MS;
        job->keep_sources = agent->options.poll_once || agent->options.keep_sources;
        e->render_again = false;
        e->render = job;
        return job;
}

static void add_commit(struct render *job, const struct git_id *commit, struct str ref, struct str subject) {
        const struct entry *e = job->entry;
        const struct config_source *source = &e->config->sources[job->count];
        struct poll_subscription *poll = e->feeds[e->feed_of[job->count]].poll;
        struct agent_commit *known = &job->known[job->count];

        git_id_hex(commit, known->id);
        known->ref = arena_str(job->arena, ref);
        known->subject = arena_str(job->arena, subject);
        job->commits[job->count] = *commit;
        job->parts[job->count++] = (struct part){
                .source = poll_source(poll), .hold = poll_hold(poll), .title = source->title,
                .spec = agent_manifest_source(e->agent->config, e->config, source),
        };
}

/* What a status tells about commits: that of several sources has a map for each. */
static const struct agent_commit *recorded(const struct value *record, size_t count, struct arena *a) {
        struct agent_commit *known = arena_zalloc(a, count * sizeof *known);
        const struct value *all = value_getc(record, "revisions");

        for (size_t i = 0; i < count; i++) {
                const struct value *one = count == 1 ? record : i < value_count(all) ? all->list.items[i] : NULL;

                known[i].ref = value_text(value_getc(one, "ref"));
                known[i].subject = value_text(value_getc(one, "subject"));
        }
        return known;
}

/* Of several sources each commit is of a place: in another order, or of other sources, they are no combination that was. */
static bool may_be_used(const struct value *record, const struct config_app *c) {
        return c->source_count == 1 || app_is_recorded(record, c);
}

/*
 * Commits that are not the newest ones. On the Git pool: a server may have to be asked for them. `known` is what is known of
 * each, NULL: nothing. False: there are none.
 */
static bool render_older(struct entry *e, enum render_kind kind, struct str text, const struct agent_commit *known) {
        size_t count = e->config->source_count;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct git_id *commits = arena_alloc(a, count * sizeof *commits);

        if (!desired_revision_read(text, commits, count) || are_newest(e, commits, count))
                return false;
        for (size_t i = 0; i < e->feed_count; i++)
                if (!poll_source(e->feeds[i].poll))
                        return false;
        struct render *job = render_new(e);
        for (size_t i = 0; i < count; i++)
                add_commit(job, &commits[i], known ? known[i].ref : STR(""), known ? known[i].subject : STR(""));
        job->kind = kind;
        job->timeout_ms = e->agent->config->agent.git_timeout_ms;
        loop_work_start(e->agent->loop, LOOP_POOL_GIT, run_render, rendered, job);
        return true;
}

/* Is the commit that was applied last to be read first? entry_render() is called again then. */
static bool recalls(struct entry *e) {
        _cleanup_(arena_freep) struct arena *a = NULL;
        const struct value *record;

        if (e->recalled || e->revision.count)
                return false;
        e->wants_recall = !app_inventory(e->app);
        if (e->wants_recall) {
                app_load(e->app);
                return true;
        }
        e->recalled = true;
        a = arena_new(0);
        return json_parse(app_status_text(e->app), a, &record, NULL) == 0 && may_be_used(record, e->config) &&
               render_older(e, RENDER_RECALLED, app_recorded_commit(e->app, record), NULL);
}

/* The feed whose commit was noticed last. */
static const struct feed *newest_feed(const struct entry *e) {
        const struct feed *newest = &e->feeds[0];

        for (size_t i = 1; i < e->feed_count; i++)
                if (e->feeds[i].news.noticed_ms > newest->news.noticed_ms)
                        newest = &e->feeds[i];
        return newest;
}

/* Is every other feed known as of when the newest commit was noticed? Those that are not are looked at. */
static bool are_looked_at(struct entry *e) {
        const struct feed *newest = newest_feed(e);
        bool all = true, failed = false;

        for (size_t i = 0; e->stale && e->feed_count > 1 && i < e->feed_count; i++) {
                struct feed *feed = &e->feeds[i];

                failed |= feed->err.code;
                if (feed == newest || feed->err.code || !feed->has_news ||
                    poll_looked_ms(feed->poll) >= newest->news.noticed_ms)
                        continue;
                poll_look(feed->poll);
                all = false;
        }
        if (failed && !entry_is_behind(e))
                e->rejected_since_ms = loop_now_ms(e->agent->loop);
        e->held_back = failed;
        return all && !failed;
}

static void begin_newest(struct entry *e) {
        struct render *job = render_new(e);
        struct agent_timeline *t = &job->timeline;

        for (size_t i = 0; i < e->config->source_count; i++) {
                const struct poll_news *news = news_of(e, i);

                add_commit(job, &news->commit, news->ref, news->subject);
                t->noticed_ms = news->noticed_ms > t->noticed_ms ? news->noticed_ms : t->noticed_ms;
                t->fetched_ms = news->fetched_ms > t->fetched_ms ? news->fetched_ms : t->fetched_ms;
        }
        e->stale = e->unread = false;
        loop_work_start(e->agent->loop, LOOP_POOL_CPU, run_render, rendered, job);
}

void entry_render(struct entry *e) {
        if (!e->agent->discovered || !are_looked_at(e) || !entry_has_news(e))
                return;
        if (e->render) {
                /* After one that is recalled comes what is the newest then. */
                e->render_again = e->render->kind != RENDER_RECALLED;
                atomic_store(&e->render->cancelled, e->render_again);
                return;
        }
        if (!e->agent->begun || !recalls(e))
                begin_newest(e);
}

void entry_drop_render(struct entry *e) {
        if (!e->render)
                return;
        e->render->entry = NULL;
        atomic_store(&e->render->cancelled, true);
}

void entry_bring_back(struct entry *e) {
        _cleanup_(arena_freep) struct arena *a = NULL;
        const struct value *record;

        if (e->agent->options.poll_once || !e->agent->begun || !e->agent->discovered || e->revision.count || e->render || e->brought_back)
                return;
        e->wants_record = !app_inventory(e->app);
        if (e->wants_record) {
                app_load(e->app);
                return;
        }
        a = arena_new(0);
        if (json_parse(app_status_text(e->app), a, &record, NULL) == 0 && may_be_used(record, e->config))
                render_older(e, RENDER_STAND_IN, app_recorded_commit(e->app, record),
                             recorded(record, e->config->source_count, a));
}

void entry_rebind(struct entry *e) {
        if (!entry_is_behind(e) && !e->revision.stands_in)
                entry_render(e);
        else if (!e->render)
                render_older(e, RENDER_STAND_IN, e->revision.text, e->revision.commits);
}

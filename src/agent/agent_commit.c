/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a commit to a desired set in force.
 *
 * Usually the newest commit is rendered. When it cannot be and nothing is in force (the agent has just started), the
 * commit that was applied last, which the inventory's status names, is fetched by its id and rendered instead: "the last
 * good revision stays in force until the next one renders" holds across a restart. It heals and never prunes: what the
 * newest commit wants to keep is not known.
 *
 * Before the first commit of a process the one that was applied last is read, where the repository still has it: only what
 * a commit changed ends a hold and lets go of what the keeper has, also when the agent was away as it came.
 */
#include "agent/agent_impl.h"
#include "agent/ignore.h"

#include "base/json.h"
#include "git/deadline.h"
#include "git/refs.h"

#define RENDER_TIMEOUT_MS (60 * INT64_C(1000))
#define MANIFEST_CACHE_IN_AGENT_BYTES (2 * MIB)

enum render_kind {
        RENDER_NEWEST,
        RENDER_STAND_IN, /* the commit that was applied last, instead of the newest: fetched by its id if need be */
        RENDER_RECALLED, /* the same, only to know what it wanted */
};

/* A commit on its way to a desired set, on a pool thread. */
struct render {
        struct entry *entry;        /* NULL: nobody wants it any more */
        struct git_source *source;  /* kept by `hold` */
        struct poll_hold *hold;
        struct git_id commit;
        enum render_kind kind;
        struct arena *arena;        /* of ref and subject */
        struct str ref, subject;
        struct agent_timeline timeline;
        struct config *config;      /* kept: what follows borrows from it, and may outlive the agent */
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

/* --- on a pool thread ------------------------------------------------------------------------------------------- */

static enum manifest_scope scope_of(void *ctx, struct str group, struct str version, struct str kind) {
        const struct kube_resource *r = kube_discovery_find(ctx, (struct gvk){ group, version, kind });

        if (!r)
                return MANIFEST_SCOPE_UNKNOWN;
        return r->namespaced ? MANIFEST_SCOPE_NAMESPACED : MANIFEST_SCOPE_CLUSTER;
}

static int fetch_by_id(struct render *job, struct git_deadline deadline) {
        char hex[GIT_OID_HEX_BYTES + 1];
        struct git_revision revision = { .commit = job->commit };

        git_id_hex(&job->commit, hex);
        revision.name = str_from(hex);
        int r = git_source_fetch(job->source, &revision, deadline, &job->err);

        return r == ERR_NOTFOUND ? err_wrap(&job->err, r, "it is not in the repository any more") : r;
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

        job->r = job->kind == RENDER_STAND_IN ? fetch_by_id(job, deadline) : 0;
        if (job->r >= 0)
                job->r = manifest_render(job->source, &job->commit, &job->spec, job->cache->files, deadline, &set,
                                         &job->err);
        if (job->r < 0)
                return;
        job->set = desired_set_new(set, manifest_bind(set, &binding), &job->commit, job->keep_sources);
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
        if (!e->rejected.code)
                e->rejected_since_ms = loop_now_ms(e->agent->loop);
        e->err = e->rejected = *err;
        e->unread = err_is_transient(err->code) || err->code == ERR_CORRUPT;
        if (e->unread)
                poll_forget(e->poll);
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
        e->revision = (struct agent_revision){ .ref = job->ref, .subject = job->subject, .timeline = job->timeline,
                                               .stands_in = job->kind == RENDER_STAND_IN };
        e->revision.timeline.rendered_ms = loop_now_ms(agent->loop);
        git_id_hex(&set->commit, e->revision.commit);
        set->stands_in = e->told_settled = e->revision.stands_in;
        agent->hooks.revision(agent->ctx, e->app, &e->revision, set, NULL);
        app_set_desired(e->app, set);
        tell_others(e);
        agent_index_desired_scalers(agent);
}

/* The last good commit could not be brought back: nothing is in force until a commit renders. */
static void lost(struct entry *e, const struct git_id *commit, struct err *err) {
        char hex[GIT_OID_HEX_BYTES + 1];

        git_id_hex(commit, hex);
        e->brought_back = !err_is_transient(err->code);
        err_wrap(err, err->code, "nothing is healed until a commit renders: commit %s, which was applied last, cannot be "
                                 "used again", hex);
        e->agent->hooks.trouble(e->agent->ctx, e->app, "last good commit", err);
}

/* A commit that is no longer there, or cannot be read now, is not remembered: what is new is then unknown, as at first. */
static void recalled(struct entry *e, struct render *job) {
        if (job->r == 0)
                app_remember(e->app, TAKE_PTR(job->set));
        entry_render(e);
}

static void ended(struct entry *e, struct render *job) {
        if (job->kind == RENDER_RECALLED) {
                recalled(e, job);
                return;
        }
        if (job->r == 0 && job->kind == RENDER_NEWEST)
                e->err.code = e->rejected.code = 0;
        if (job->r == 0)
                put_in_force(e, job);
        else if (job->kind == RENDER_STAND_IN)
                lost(e, &job->commit, &job->err);
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
        poll_release(job->hold);
        desired_set_free(job->set);
        arena_free(job->arena);
        free(job);
}

/* --- the beginning of one --------------------------------------------------------------------------------------- */

static struct render *render_new(struct entry *e, struct git_source *source, const struct git_id *commit, struct str ref,
                                 struct str subject) {
        struct agent *agent = e->agent;
        const struct config_app *c = e->config;
        struct render *job = mem_zalloc(sizeof *job);

        job->entry = e;
        job->source = source;
        job->hold = poll_hold(e->poll);
        job->commit = *commit;
        job->arena = arena_new(0);
        job->ref = arena_str(job->arena, ref);
        job->subject = arena_str(job->arena, subject);
        job->config = config_ref((struct config *)agent->config);
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
        job->keep_sources = agent->options.poll_once || agent->options.keep_sources;
        e->render_again = false;
        e->render = job;
        return job;
}

/* A commit that is not the newest one. On the Git pool: a server may have to be asked for it. False: there is none. */
static bool render_older(struct entry *e, enum render_kind kind, struct str hex, struct str ref, struct str subject) {
        struct git_source *source = poll_source(e->poll);
        struct git_id commit;

        if (!source || !git_id_from_hex(hex, &commit) || (e->has_news && git_id_eq(&commit, &e->news.commit)))
                return false;
        struct render *job = render_new(e, source, &commit, ref, subject);
        job->kind = kind;
        job->timeout_ms = e->agent->config->agent.git_timeout_ms;
        loop_work_start(e->agent->loop, LOOP_POOL_GIT, run_render, rendered, job);
        return true;
}

/* Is the commit that was applied last to be read first? entry_render() is called again then. */
static bool recalls(struct entry *e) {
        _cleanup_(arena_freep) struct arena *a = NULL;
        const struct value *record;

        if (e->recalled || e->revision.commit[0])
                return false;
        e->wants_recall = !app_inventory(e->app);
        if (e->wants_recall) {
                app_load(e->app);
                return true;
        }
        e->recalled = true;
        a = arena_new(0);
        return json_parse(app_status_text(e->app), a, &record, NULL) == 0 &&
               render_older(e, RENDER_RECALLED, app_recorded_commit(e->app, record), STR(""), STR(""));
}

void entry_render(struct entry *e) {
        if (!e->has_news || !e->agent->discovered)
                return;
        if (e->render) {
                /* After one that is recalled comes what is the newest then. */
                e->render_again = e->render->kind != RENDER_RECALLED;
                atomic_store(&e->render->cancelled, e->render_again);
                return;
        }
        if (recalls(e))
                return;
        struct render *job = render_new(e, e->news.source, &e->news.commit, e->news.ref, e->news.subject);
        job->timeline = (struct agent_timeline){ .noticed_ms = e->news.noticed_ms, .fetched_ms = e->news.fetched_ms };
        loop_work_start(e->agent->loop, LOOP_POOL_CPU, run_render, rendered, job);
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

        if (e->agent->options.poll_once || !e->agent->discovered || e->revision.commit[0] || e->render || e->brought_back)
                return;
        e->wants_record = !app_inventory(e->app);
        if (e->wants_record) {
                app_load(e->app);
                return;
        }
        a = arena_new(0);
        if (json_parse(app_status_text(e->app), a, &record, NULL) == 0)
                render_older(e, RENDER_STAND_IN, app_recorded_commit(e->app, record), value_text(value_getc(record, "ref")),
                             value_text(value_getc(record, "subject")));
}

void entry_rebind(struct entry *e) {
        if (!e->rejected.code && !e->revision.stands_in)
                entry_render(e);
        else if (!e->render)
                render_older(e, RENDER_STAND_IN, str_from(e->revision.commit), e->revision.ref, e->revision.subject);
}

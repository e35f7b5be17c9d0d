/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce run`: the daemon. Everything that happens is a log line; what can be scraped is in http/.
 */
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "agent/leader.h"
#include "base/hash.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/reload.h"
#include "cli/session.h"
#include "cli/words.h"
#include "http/server.h"

struct daemon {
        struct session session;  /* arguments and connection, and the first configuration */
        struct session *current; /* whose configuration is in force: `session`, or `reread`; NULL: none yet */
        struct session reread;
        struct leader *leader;   /* NULL: there is no election, and whoever runs writes */
        bool leads;              /* or there is none */
        struct kube_client *client; /* of `cluster` */
        struct config_cluster *cluster; /* documents that are objects; NULL: files and flags alone count */
        struct reload *reload;
        char *unusable;          /* why the newest documents are not in force; NULL: they are */
        struct agent *agent;     /* NULL: no configuration is in force yet */
        struct http_server *http;
        struct map *told;        /* application → counts of its last "synced" line */
        struct loop_signal *term, *interrupt, *hangup;
        bool stopping;
};

/* It goes, and with it what it has under way. */
static void forget_agent(struct daemon *d) {
        if (d->http)
                http_server_set_agent(d->http, NULL);
        agent_free(TAKE_PTR(d->agent));
}

static const char *text(struct arena *a, struct str s) {
        return arena_str(a, s).p;
}

static const char *app_name(const struct app *app, struct arena *a) {
        return app ? text(a, app_config(app)->name) : "";
}

static void log_failure(const struct outcome *o, const char *app, const char *place, struct arena *a) {
        const char *retry = o->retry_in_ms < 0 ? "when Git or the schema changes"
                                               : arena_strf(a, "%lld ms", (long long)o->retry_in_ms).p;

        log_event_limited(LOG_ERROR, "sync", words_outcome(o->kind), "obj", o->id, "app", app, "at", place, "err",
                          o->err->msg, "retry", retry, NULL);
}

#define LOG_NOTES_MAX_BYTES (8 * 1024)

/* One line an object: its paths of that kind, with their owners. */
static void log_notes(const struct outcome *o, enum decide_note_kind kind, const char *msg) {
        _cleanup_(buf_done) struct buf paths = buf_make(LOG_NOTES_MAX_BYTES);
        const char *rule = NULL;

        if (!o->notes_are_new)
                return;
        for (size_t i = 0; i < o->note_count; i++) {
                const struct decide_note *n = &o->notes[i];

                if (n->kind != kind)
                        continue;
                buf_addc(&paths, rule ? ", " : "");
                field_path_print(n->path, &paths);
                buf_addf(&paths, " (%.*s)", STR_FMT(n->owner));
                rule = n->rule;
        }
        if (rule)
                log_event(LOG_WARN, "own", msg, "obj", o->id, "paths", paths.p, "rule", rule, NULL);
}

static void log_remarks(const struct outcome *o, const char *app, const char *place) {
        for (size_t i = 0; o->notes_are_new && i < o->note_count; i++)
                if (decide_note_is_remark(o->notes[i].kind))
                        log_event(LOG_WARN, "own", o->notes[i].rule, "obj", o->id, "app", app, "kind",
                                  decide_note_name(o->notes[i].kind), "at", place, NULL);
}

static void on_outcome(void *ctx, struct app *app, const struct outcome *o) {
        struct daemon *d = ctx;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf change = buf_make(4096);
        const char *name = app_name(app, a), *word = words_outcome(o->kind);
        const char *place = config_place_text((struct config_place){ o->file, o->line }, a).p;

        log_notes(o, DECIDE_REPORTED, "another owner's field differs from Git");
        log_notes(o, DECIDE_EXTRA, "not in Git, left alone");
        log_notes(o, DECIDE_OVERRIDDEN, "a person's change is kept for a while");
        log_notes(o, DECIDE_PAUSED, "fought over, left alone for a while");
        log_notes(o, DECIDE_REMOVED, "not in Git, removed");
        log_remarks(o, name, place);
        log_notes(o, DECIDE_HELD, "who had it is gone, its value stays for now");
        if (!word)
                return;
        if (o->kind == OUTCOME_CONFIGURED || o->kind == OUTCOME_DIFFERS)
                words_change(o, &change);
        const char *detail = change.n ? change.p : o->reason;
        if (o->err)
                log_failure(o, name, place, a);
        else if (o->noticed_ms && (o->kind == OUTCOME_CONFIGURED || o->kind == OUTCOME_CREATED))
                log_event(LOG_INFO, "sync", "healed", "obj", o->id, "app", name, "after_ms",
                          arena_strf(a, "%lld", (long long)(loop_now_ms(d->session.loop) - o->noticed_ms)).p, "what",
                          detail[0] ? detail : word, NULL);
        else if (detail[0])
                log_event(LOG_INFO, "sync", word, "obj", o->id, "app", name, change.n ? "what" : "reason", detail, NULL);
        else
                log_event(LOG_INFO, "sync", word, "obj", o->id, "app", name, NULL);
}

static void on_waiting(void *ctx, struct app *app, const char *what) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        (void)ctx;
        log_event(LOG_INFO, "sync", "waiting", "for", what, "app", app_name(app, a), NULL);
}

static void log_problems(const struct desired_set *set, const char *app) {
        for (size_t i = 0; set && i < set->error_count; i++) {
                _cleanup_(buf_done) struct buf line = buf_make(16 * 1024);

                manifest_problem_print(&set->errors[i], &line);
                log_event(LOG_ERROR, "render", line.p, "app", app, NULL);
        }
        for (size_t i = 0; set && i < set->warning_count; i++) {
                _cleanup_(buf_done) struct buf line = buf_make(16 * 1024);

                manifest_problem_print(&set->warnings[i], &line);
                log_event(LOG_WARN, "render", line.p, "app", app, NULL);
        }
}

/* A text of each commit, " + " between those of several sources. */
static const char *each(const struct agent_revision *r, size_t at, struct arena *a) {
        struct str all = { 0 };

        for (size_t i = 0; i < r->count; i++)
                all = arena_strf(a, "%.*s%s%.*s", STR_FMT(all), i ? " + " : "",
                                 STR_FMT(*(const struct str *)((const char *)&r->commits[i] + at)));
        return text(a, all);
}

static void on_revision(void *ctx, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                        const struct err *rejected) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const char *name = app_name(app, a);

        (void)ctx;
        log_problems(set, name);
        if (rejected)
                log_event(LOG_ERROR, "render", "commit not applied", "app", name, "err", rejected->msg, "in_force",
                          r->count ? text(a, r->text) : "nothing", NULL);
        else
                log_event(r->stands_in ? LOG_WARN : LOG_INFO, "render",
                          r->stands_in ? "the commit that was applied last stands in" : "commit in force", "app", name, "commit", text(a, r->text), "ref",
                          each(r, offsetof(struct agent_commit, ref), a), "subject",
                          each(r, offsetof(struct agent_commit, subject), a), "objects", arena_strf(a, "%zu", set->count).p, NULL);
}

/* Events that change nothing settle an application again and again: only what differs from the last line is told. */
static bool is_told(struct daemon *d, const struct app *app, const struct app_counts *c) {
        char key[32];
        struct app_counts *last;

        snprintf(key, sizeof key, "%p", (const void *)app);
        last = map_find(d->told, str_from(key));
        if (last && last->writes == c->writes && last->synced == c->synced && last->failed == c->failed &&
            last->refused == c->refused && last->parked == c->parked && last->objects == c->objects &&
            last->pruned == c->pruned)
                return true;
        last = mem_alloc(sizeof *last);
        *last = *c;
        map_set(d->told, str_from(key), last);
        return false;
}

static void on_settled(void *ctx, struct app *app, const struct err *prune_err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct daemon *d = ctx;
        struct app_counts c;

        app_counts(app, &c);
        if (is_told(d, app, &c))
                return;
        if (prune_err)
                log_event_limited(LOG_WARN, "sync", prune_err->msg, "app", app_name(app, a), NULL);
        log_event(app_sync_status(app) == APP_SYNCED ? LOG_INFO : LOG_WARN, "sync",
                  app_sync_status(app) == APP_SYNCED ? "synced" : "out of sync", "app", app_name(app, a), "objects",
                  arena_strf(a, "%zu", c.objects).p, "synced", arena_strf(a, "%zu", c.synced).p, "failed",
                  arena_strf(a, "%zu", c.failed + c.refused).p, "parked", arena_strf(a, "%zu", c.parked).p, "requests",
                  arena_strf(a, "%zu", c.requests).p, "writes", arena_strf(a, "%zu", c.writes).p, "dry_runs",
                  arena_strf(a, "%zu", c.dry_runs).p, "by_fingerprint", arena_strf(a, "%zu", c.by_fingerprint).p, "by_proof",
                  arena_strf(a, "%zu", c.by_proof).p, NULL);
        malloc_trim(0); /* what rendering and deciding took goes back to the system */
}

static void on_observed(void *ctx, struct app *app, const struct agent_timeline *t) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        (void)ctx;
        log_event(LOG_INFO, "sync", "latency", "app", app_name(app, a), "fetched_ms",
                  arena_strf(a, "%lld", (long long)(t->fetched_ms - t->noticed_ms)).p, "rendered_ms",
                  arena_strf(a, "%lld", (long long)(t->rendered_ms - t->noticed_ms)).p, "applied_ms",
                  arena_strf(a, "%lld", (long long)(t->applied_ms - t->noticed_ms)).p, "observed_ms",
                  arena_strf(a, "%lld", (long long)(t->observed_ms - t->noticed_ms)).p, NULL);
}

/* Lines are told apart by their first pair: "git of shop", of several sources ", source infra" as the error begins. */
static const char *trouble_of(const struct app *app, const char *what, const struct err *err, struct arena *a) {
        bool by_source = strcmp(what, "git") == 0 && app_config(app)->source_count > 1;
        struct str rest = str_from(err->msg), source = { 0 };

        if (by_source)
                str_next(&rest, ':', &source);
        return arena_strf(a, "%s of %s%s%.*s", what, app_name(app, a), by_source ? ", " : "", STR_FMT(source)).p;
}

static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        (void)ctx;
        if (app && strcmp(what, "name") == 0) {
                log_event(LOG_ERROR, "agent", "application not run", "app", app_name(app, a), "err", err->msg, NULL);
                return;
        }
        if (app)
                what = trouble_of(app, what, err, a);
        log_event_limited(LOG_WARN, "agent", "does not work now, tried again", "what", what, "err", err->msg, NULL);
}

static void on_remark(void *ctx, struct app *app, const char *place, const char *text) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        (void)ctx;
        log_event(LOG_WARN, "config", text, "app", app_name(app, a), "at", place, NULL);
}

static void on_health(void *ctx, struct app *app, enum agent_health_news news) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        (void)ctx;
        if (news == AGENT_HEALTH_DEGRADED)
                log_event(LOG_WARN, "health", "degraded", "app", app_name(app, a), "what",
                          text(a, app_health_message(app, a)), NULL);
        else if (news == AGENT_HEALTH_RECOVERED)
                log_event(LOG_INFO, "health", "healthy again", "app", app_name(app, a), NULL);
}

static const struct agent_hooks hooks = { on_outcome,  on_waiting, on_revision, on_settled,
                                          on_observed, on_trouble, on_remark,   on_health };

static void on_released(void *ctx, const struct err *err) {
        struct daemon *d = ctx;

        if (err)
                log_event(LOG_WARN, "leader", "the Lease runs out by itself", "why", err->msg, NULL);
        else
                log_event(LOG_INFO, "leader", "the Lease is free for others", NULL);
        loop_stop(d->session.loop);
}

/* Who leads lets others in first: the agent goes, its writes end, and then the Lease. */
static void on_stop(void *ctx, int signum) {
        struct daemon *d = ctx;

        log_event(LOG_INFO, "agent", "stopping", "signal", signum == SIGTERM ? "SIGTERM" : "SIGINT", NULL);
        if (!d->leader || d->stopping) {
                loop_stop(d->session.loop);
                return;
        }
        d->stopping = true;
        leader_release(d->leader, on_released, d);
        forget_agent(d);
        reload_free(TAKE_PTR(d->reload));
        config_cluster_free(TAKE_PTR(d->cluster));
}

static void on_hangup(void *ctx, int signum) {
        struct daemon *d = ctx;

        (void)signum;
        reload_now(d->reload);
        if (d->agent)
                agent_poll_now(d->agent);
}

/*
 * From the first moment on a signal means an orderly end: until there is a loop to tell it to, it waits. Threads that
 * are started meanwhile leave them to this one.
 */
static void hold_signals(bool held) {
        static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
        sigset_t set;

        sigemptyset(&set);
        for (size_t i = 0; i < ARRAY_LEN(signals); i++)
                sigaddset(&set, signals[i]);
        pthread_sigmask(held ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static void take_signals(struct daemon *d) {
        d->term = loop_signal_new(d->session.loop, SIGTERM, on_stop, d);
        d->interrupt = loop_signal_new(d->session.loop, SIGINT, on_stop, d);
        d->hangup = loop_signal_new(d->session.loop, SIGHUP, on_hangup, d);
        hold_signals(false);
}

/* --- another configuration ---------------------------------------------------------------------------------------- */

/* What the process was begun with and goes on with; NULL: none of it differs. */
static const char *needs_restart(const struct daemon *d, const struct config_agent *is) {
        const struct config_agent *was = &d->session.config->agent;
        const struct {
                const char *name;
                bool same;
        } fixed[] = {
                { "kubeconfig", str_eq(was->kubeconfig, is->kubeconfig) }, { "context", str_eq(was->context, is->context) },
                { "listen", str_eq(was->listen, is->listen) },             { "logLevel", was->log_level == is->log_level },
                { "logFormat", was->log_format == is->log_format },        { "workers", was->workers == is->workers },
                { "gitWorkers", was->git_workers == is->git_workers },
                /* Whose Lease it is about. */
                { "namespace", !d->leader || str_eq(was->ns, is->ns) },
                { "installationId", !d->leader || str_eq(was->installation_id, is->installation_id) },
                { "leaderElection", was->election == is->election }, { "leaseDuration", was->lease_ms == is->lease_ms },
                { "configNamespace", str_eq(was->config_ns, is->config_ns) },
                { "configSelector", str_eq(was->config_selector, is->config_selector) },
        };

        for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
                if (!fixed[i].same)
                        return fixed[i].name;
        return NULL;
}

/* One that stands by has an agent that only looks, at Git and at the cluster, so that it is there when it is its turn. */
static void start_agent(struct daemon *d) {
        if (d->agent && d->leads)
                agent_start(d->agent);
        else if (d->agent)
                agent_stand_by(d->agent);
}

static int new_agent(struct daemon *d, const struct config *c, struct err *err) {
        struct agent_options options = { 0 };
        struct kube_transport *t = d->leader ? leader_transport(d->leader) : d->session.transport;
        int r = agent_new(d->session.loop, t, c, &options, &hooks, d, &d->agent, err);

        if (r == 0 && d->http)
                http_server_set_agent(d->http, d->agent);
        return r;
}

/*
 * A kind that may not be read any more, or is not served any more, hides what is newest; a server that is away is
 * told for what it is, and may have nothing new at all.
 */
static const char *why_unseen(const struct daemon *d) {
        const struct err *err = d->cluster ? config_cluster_err(d->cluster) : NULL;

        switch (err ? err->code : 0) {
        case ERR_FORBIDDEN:
        case ERR_UNAUTH:
        case ERR_NOTFOUND:
        case ERR_INVAL:
        case ERR_PARSE:
        case ERR_LIMIT:
                return err->msg;
        default:
                return NULL;
        }
}

/* Tells the agent, its statuses and metrics whether the newest configuration is in force; only what is news. */
static void note(struct daemon *d) {
        const char *why = d->unusable ? d->unusable : why_unseen(d), *told;

        if (!d->agent)
                return;
        told = agent_config_trouble(d->agent);
        if ((why || told) && strcmp(why ? why : "", told ? told : "") != 0)
                agent_note_config(d->agent, why);
}

static void set_unusable(struct daemon *d, const char *why) {
        free(d->unusable);
        d->unusable = why ? str_dup(str_from(why)) : NULL;
        note(d);
}

static const char none_in_force[] = "no configuration is in force; waiting for another one";

/* The first configuration cannot be put in force: there is none before it, and another one may come. */
static void stay_without(struct daemon *d, struct session *fresh, const struct err *err) {
        log_event(LOG_ERROR, "config", none_in_force, "err", err->msg, NULL);
        session_close(fresh);
        set_unusable(d, err->msg);
}

/* The agent begins anew, as after a restart: what it finds converged costs no request. */
static void put_in_force(struct daemon *d, struct session *fresh) {
        struct err err;

        if (d->current)
                health_rules_inherit(fresh->config->health, d->current->config->health);
        agent_free(TAKE_PTR(d->agent));
        map_free(d->told);
        d->told = map_new(free);
        if (new_agent(d, fresh->config, &err) == 0) {
                if (d->current == &d->reread)
                        session_close(&d->reread);
                d->reread = *fresh;
                log_event(LOG_INFO, "config",
                          d->current ? "another configuration is in force" : "a configuration is in force", NULL);
                d->current = &d->reread;
                set_unusable(d, NULL);
        } else if (!d->current) {
                stay_without(d, fresh, &err);
                return;
        } else {
                log_event(LOG_ERROR, "config", "the configuration before stays in force", "err", err.msg, NULL);
                session_close(fresh);
                /* It could be made before. */
                if (new_agent(d, d->current->config, NULL) < 0)
                        abort();
                set_unusable(d, err.msg);
        }
        start_agent(d);
}

static void tell_problems(const struct config *c) {
        static const enum log_level levels[] = {
                [CONFIG_NOTICE] = LOG_INFO, [CONFIG_WARNING] = LOG_WARN, [CONFIG_REFUSED] = LOG_WARN, [CONFIG_ERROR] = LOG_ERROR,
        };

        for (size_t i = 0; i < c->problem_count; i++) {
                _cleanup_(buf_done) struct buf line = buf_make(16 * 1024);

                config_problem_print(&c->problems[i], &line);
                log_event(levels[c->problems[i].severity], "config", line.p, NULL);
        }
}

static void on_changed(void *ctx, struct session *fresh, const struct err *err) {
        struct daemon *d = ctx;
        const char *fixed = NULL;
        struct err why;

        if (!err) {
                tell_problems(fresh->config);
                fixed = needs_restart(d, &fresh->config->agent);
        } else if (fresh->config) {
                tell_problems(fresh->config);
        }
        if (fixed) {
                err_set(&why, ERR_UNSUPPORTED, "%s cannot change while truce runs: restart it", fixed);
                session_close(fresh);
                err = &why;
        }
        if (!err) {
                put_in_force(d, fresh);
                return;
        }
        log_event(LOG_ERROR, "config", d->current ? "the configuration before stays in force" : none_in_force, "err",
                  err->msg, NULL);
        set_unusable(d, err->msg);
}

/* What the cluster has in documents can be seen now, or not any more. */
static void on_cluster(void *ctx) {
        struct daemon *d = ctx;
        const struct err *err = config_cluster_err(d->cluster);

        if (err->code)
                log_event_limited(LOG_WARN, "config", "the cluster's documents cannot be read now; what is in force stays",
                                  "err", err->msg, NULL);
        else if (!d->current && config_cluster_snapshot(d->cluster))
                reload_now(d->reload);
        note(d);
}

/* --- leader election ---------------------------------------------------------------------------------------------- */

static void on_leads(void *ctx) {
        struct daemon *d = ctx;

        d->leads = true;
        start_agent(d);
}

/*
 * Others may be writing by now. Nothing of ours does any more, and what an orderly end would wait for (a pool thread
 * that waits for Git) is nothing that anybody needs: whoever started us does so again.
 */
static void on_lost(void *ctx, const char *why) {
        (void)ctx;
        log_event(LOG_ERROR, "leader", "this truce does not lead any more and ends", "why", why, NULL);
        _exit(CLI_ERROR);
}

/* The name of the Pod, or of the machine, so that people know it, and what no other process has. */
static struct str identity(struct arena *a) {
        char host[256] = "";
        uint64_t unique;

        gethostname(host, sizeof host - 1);
        hash_random(&unique, sizeof unique);
        return arena_strf(a, "%s_%016llx", host[0] ? host : "truce", (unsigned long long)unique);
}

static void stand_for_election(struct daemon *d) {
        static const struct leader_hooks leader_hooks = { .leads = on_leads, .lost = on_lost };
        struct session *s = &d->session;
        const struct config_agent *agent = &s->config->agent;
        bool in_cluster = strcmp(s->kube->origin, "in-cluster") == 0;

        d->leads = agent->election == CONFIG_ELECTION_OFF || (agent->election == CONFIG_ELECTION_AUTO && !in_cluster);
        if (d->leads)
                return;
        struct leader_options options = {
                .ns = agent->ns, .name = arena_strf(s->arena, "truce-%.*s", STR_FMT(agent->installation_id)),
                .identity = identity(s->arena), .lease_ms = agent->lease_ms,
        };
        d->leader = leader_new(s->loop, s->transport, &options, &leader_hooks, d);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static int start(struct daemon *d, struct err *err) {
        struct session *s = &d->session;
        bool from_cluster = s->config->agent.config_ns.n;
        int r = session_connect(s, err);

        if (r == 0)
                stand_for_election(d);
        d->current = from_cluster ? NULL : s;
        if (r == 0 && !from_cluster)
                r = new_agent(d, s->config, err);
        if (r == 0 && s->config->agent.listen.n)
                r = http_server_new(s->loop, s->config->agent.listen, d->agent, &d->http, err);
        if (r < 0)
                return r;
        if (d->http)
                http_server_set_leader(d->http, d->leader);
        take_signals(d);
        if (from_cluster) {
                d->client = kube_client_new(s->transport, s->loop);
                d->cluster = config_cluster_new(s->loop, d->client, s->config->agent.config_ns,
                                                s->config->agent.config_selector, on_cluster, d);
        }
        d->reload = reload_new(s, d->cluster, s->loop, on_changed, d);
        start_agent(d);
        return 0;
}

static void stop(struct daemon *d) {
        loop_signal_free(d->term);
        loop_signal_free(d->interrupt);
        loop_signal_free(d->hangup);
        http_server_free(d->http);
        agent_free(d->agent);
        map_free(d->told);
        reload_free(d->reload);
        config_cluster_free(d->cluster);
        kube_client_free(d->client);
        leader_free(d->leader);
        free(d->unusable);
        if (d->current == &d->reread)
                session_close(&d->reread);
        session_close(&d->session);
}

int cli_run(int argc, char **argv) {
        struct daemon d = { .told = map_new(free), .session.only_files = true };
        struct option_group none = { "Run", NULL, 0, NULL };
        struct err err;

        hold_signals(true);
        int r = session_configure(&d.session, "run", argc, argv, &none, &err);

        if (r == 0 && !d.session.help) {
                log_init((enum log_level)d.session.config->agent.log_level,
                         (enum log_format)d.session.config->agent.log_format, STDERR_FILENO);
                r = start(&d, &err);
                if (r == 0)
                        loop_run(d.session.loop);
        }
        stop(&d);
        return r < 0 ? session_fail(&err) : CLI_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <sys/mman.h>
#include <unistd.h>

#include "act.h"
#include "agent/jq.h"
#include "base/log.h"
#include "base/loop_impl.h"
#include "base/map.h"
#include "check.h"
#include "config_of.h"
#include "expect.h"
#include "twins.h"

#define START_WALL_MS INT64_C(1800000000000)
#define CALM_MS (60 * INT64_C(1000))
#define FORGOTTEN_MS (65 * INT64_C(1000)) /* a minute after the inventory was read what may still arrive is looked for */
#define QUIET_MS (10 * 60 * INT64_C(1000))
#define WAIT_MAX_MS (3600 * INT64_C(1000)) /* for "after: synced" */
#define CALM_MAX_MS (24 * 3600 * INT64_C(1000)) /* faults that never end are no calm either */
#define TICK_MS 200
#define JITTER_MS 2000
#define GROUPS_SETTLE_MS (40 * 60 * INT64_C(1000)) /* the longest back-off, and until restarts are forgotten */
#define CHAOS_SETTLE_MS (20 * 60 * INT64_C(1000))
#define TOLD_MAX_BYTES (4 << 20)
#define LOG_MAX_BYTES (64 << 20)

/* ---- words ---- */

void world_fail(struct world *w, const char *fmt, ...) {
        va_list ap;

        if (w->failure)
                return;
        va_start(ap, fmt);
        if (vasprintf(&w->failure, fmt, ap) < 0)
                abort();
        va_end(ap);
        trace_add(&w->trace, "FAILED    %s", w->failure);
        loop_stop(w->loop);
}

void world_changed(struct world *w) {
        w->last_change_ms = loop_now_ms(w->loop);
}

void world_restart(struct world *w, int64_t down_ms) {
        w->restart_due = true;
        w->down_ms = down_ms;
        world_changed(w);
        loop_stop(w->loop);
}

bool world_is_plain(const struct world *w) {
        return w->spec->moment == MOMENT_NEVER && !w->spec->chaos;
}

void world_reconfigure(struct world *w, const struct value *agent) {
        w->next_agent = agent;
}

int64_t world_now_ms(const struct world *w) {
        return trace_now_ms(&w->trace);
}

/* ---- what the agent says ---- */

static const char *outcome_name(enum outcome_kind kind) {
        static const char *const names[] = {
                "unchanged", "created", "configured", "handed over", "differs", "missing", "extra", "pruned",
                "kept",      "parked",  "waiting",    "skipped",     "refused", "failed",
        };

        return names[kind];
}

static void tell(struct world *w, const char *where, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void tell(struct world *w, const char *where, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf line = buf_make(TOLD_MAX_BYTES);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&line, fmt, ap);
        va_end(ap);
        trace_add(&w->trace, "%-9s %s", where, line.p);
        check_words_shown(w->check, where, buf_str(&line));
        buf_add(&w->told, buf_str(&line));
        buf_addch(&w->told, '\n');
}

static void tell_notes(struct world *w, const struct outcome *o) {
        for (size_t i = 0; i < o->note_count; i++) {
                _cleanup_(buf_done) struct buf path = buf_make(64 * 1024);
                const struct decide_note *n = &o->notes[i];

                field_path_print(n->path, &path);
                tell(w, "note", "%s %s %s, owner %.*s: %s", o->id, decide_note_name(n->kind), path.p, STR_FMT(n->owner), n->rule);
        }
}

static void on_outcome(void *ctx, struct app *app, const struct outcome *o) {
        (void)app;
        if (o->notes_are_new)
                tell_notes(ctx, o);
        tell(ctx, "outcome", "%s %s%s%s%s%s", o->id, outcome_name(o->kind), o->reason[0] ? ": " : "", o->reason,
             o->err ? " because " : "", o->err ? o->err->msg : "");
        for (size_t i = 0; o->notes_are_new && i < o->note_count; i++)
                if (decide_note_is_remark(o->notes[i].kind))
                        tell(ctx, "remark", "%s %s", o->id, o->notes[i].rule);
}

static void on_waiting(void *ctx, struct app *app, const char *what) {
        (void)app;
        tell(ctx, "waiting", "%s", what);
}

static void tell_problems(struct world *w, const char *where, const struct manifest_problem *problems, size_t count) {
        for (size_t i = 0; i < count; i++) {
                _cleanup_(buf_done) struct buf text = buf_make(64 * 1024);

                manifest_problem_print(&problems[i], &text);
                tell(w, where, "%s", text.p);
        }
}

static void on_revision(void *ctx, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                        const struct err *rejected) {
        (void)app;
        if (set) {
                tell_problems(ctx, "problem", set->errors, set->error_count);
                tell_problems(ctx, "warning", set->warnings, set->warning_count);
        }
        for (size_t i = 0; i < r->count || (i == 0 && rejected); i++)
                tell(ctx, "revision", "%.*s (%.*s)%s%s", STR_FMT(i < r->count ? r->commits[i].subject : STR("")),
                     STR_FMT(i < r->count ? r->commits[i].ref : STR("")), rejected ? " rejected: " : "",
                     rejected ? rejected->msg : "");
}

static void on_settled(void *ctx, struct app *app, const struct err *prune_err) {
        struct world *w = ctx;

        w->settled++;
        tell(w, "settled", "%s%s%s", app_sync_status(app) == APP_SYNCED ? "synced" : "not synced", prune_err ? ": " : "",
             prune_err ? prune_err->msg : "");
}

static void on_observed(void *ctx, struct app *app, const struct agent_timeline *timeline) {
        (void)app;
        tell(ctx, "observed", "rendered at %lld", (long long)timeline->rendered_ms);
}

static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        (void)app;
        tell(ctx, "trouble", "%s: %s", what, err->msg);
}

static void on_remark(void *ctx, struct app *app, const char *place, const char *text) {
        tell(ctx, "remark", "%.*s, %s: %s", STR_FMT(app_config(app)->name), place, text);
}

/* ---- the agent's life ---- */

static struct git_source *open_source(void *ctx, const struct config_source *source, struct err *err) {
        struct world *w = ctx;

        (void)err;
        return repo_source(str_contains(source->repo_url, STR("infra")) ? w->infra : w->repo);
}

static void agent_born(struct world *w) {
        static const struct agent_hooks hooks = { on_outcome,  on_waiting, on_revision, on_settled,
                                                  on_observed, on_trouble, on_remark };
        struct agent_options options = { .open_source = open_source, .open_ctx = w, .jq = w->jq };
        struct err err = { 0 };

        trace_add(&w->trace, "agent     starts");
        if (agent_new(w->loop, wire_transport(w->wire), w->config, &options, &hooks, w, &w->agent, &err) < 0)
                world_fail(w, "the agent cannot be made: %s", err.msg);
        else
                agent_start(w->agent);
        check_born(w->check);
        world_changed(w);
}

static void agent_dies(struct world *w) {
        trace_add(&w->trace, "agent     dies");
        agent_free(TAKE_PTR(w->agent));
        if (wire_calls(w->wire))
                world_fail(w, "a dead agent still waits for %u answers", wire_calls(w->wire));
}

/* Between two lives: the agent reads its documents at start only. */
static void reconfigure_if_due(struct world *w) {
        const struct value *agent = TAKE_PTR(w->next_agent);
        struct config *c;
        struct err err;

        if (!agent)
                return;
        c = config_of(w->doc, agent, &err);
        if (!c) {
                world_fail(w, "%s", err.msg);
                return;
        }
        config_free(w->config);
        w->config = c;
}

static void restart_if_due(struct world *w) {
        if (w->restart_due && w->agent) {
                agent_dies(w);
                w->birth_ms = loop_now_ms(w->loop) + w->down_ms;
                reconfigure_if_due(w);
        }
        w->restart_due = false;
        if (!w->agent && !w->failure && loop_now_ms(w->loop) >= w->birth_ms)
                agent_born(w);
}

/* ---- what passes the network ---- */

static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

static bool is_write(const struct sandbox_request *req) {
        return req->method != KUBE_GET && !str_contains(req->path, STR("dryRun="));
}

static void note_read(struct world *w, const struct sandbox_request *req) {
        if (req->method == KUBE_GET && str_contains(req->path, STR("labelSelector=truce.dev%2Finventory%3D")))
                w->read_ms = loop_now_ms(w->loop);
}

static bool hook_fits(struct world *w, const struct value *on, const struct sandbox_request *req) {
        struct str match = scenario_text(on, "match", ""), exact = scenario_text(on, "exact", ""), text;
        struct str since = scenario_text(on, "since", ""), until = scenario_text(on, "until", "");
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        if ((scenario_bool(on, "writes", false) && !is_write(req)) || (since.n && !map_find(w->marks, since)) ||
            (until.n && map_find(w->marks, until)))
                return false;
        text = arena_strf(a, "%s %.*s", methods[req->method], STR_FMT(req->path));
        return str_contains(text, match) && (!exact.n || str_eq(text, exact));
}

static void take_hooked(struct world *w, const struct sandbox_request *req) {
        for (size_t i = 0; i < w->hooked_count; i++) {
                const struct value *step = w->hooked[i], *on = value_getc(step, "when");

                if (!step || !hook_fits(w, on, req) || ++w->hook_seen[i] < (uint64_t)scenario_int(on, "nth", 1))
                        continue;
                if (!scenario_bool(on, "always", false))
                        w->hooked[i] = NULL;
                act(w, step);
        }
}

static void take_sweep(struct world *w) {
        const struct value *steps = value_getc(w->doc, "sweep");

        for (size_t i = 0; i < value_count(steps); i++)
                act(w, steps->list.items[i]);
}

static void strike(struct world *w, bool write, struct sandbox_fault *fault) {
        const struct run_spec *spec = w->spec;

        if (spec->moment == MOMENT_BEFORE_REQUEST && w->all_requests == spec->moment_at) {
                w->struck = true;
                take_sweep(w);
        }
        if (!write || wire_is_cut(w->wire) || w->all_writes != spec->moment_at)
                return;
        w->struck |= spec->moment == MOMENT_LATE_WRITE || spec->moment == MOMENT_BEFORE_WRITE;
        if (spec->moment == MOMENT_LATE_WRITE) {
                fault->delay_ms += 1500;
                wire_keep_writes(w->wire, true);
        }
        if (spec->moment == MOMENT_BEFORE_WRITE || spec->moment == MOMENT_LATE_WRITE)
                world_restart(w, 0);
}

static void on_request(void *ctx, const struct sandbox_request *req, bool is_watch, uint64_t number,
                       struct sandbox_fault *fault, bool *late) {
        struct world *w = ctx;
        bool write = is_write(req);

        w->requests += !is_watch;
        w->watches += is_watch;
        w->writes += write;
        w->all_requests++;
        w->all_writes += write && !wire_is_cut(w->wire);
        trace_add(&w->trace, "request   #%llu %s%s %.*s", (unsigned long long)number, is_watch ? "WATCH " : "",
                  methods[req->method], STR_FMT(req->path));
        trace_mix(&w->trace, req->body);
        if (w->trace.live && req->body.n)
                trace_add(&w->trace, "          %.*s", STR_FMT(req->body));
        check_request(w->check, req, is_watch);
        note_read(w, req);
        if (write)
                check_write(w->check, req, number);
        w->fault = fault;
        w->late = late;
        take_hooked(w, req);
        strike(w, write, fault);
        w->fault = NULL;
}

static void on_touch(void *ctx, const struct sandbox_request *req) {
        struct world *w = ctx;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        ptrdiff_t query = str_find(req->path, '?', 0);
        struct str path = str_sub(req->path, 0, query < 0 ? req->path.n : (size_t)query);

        ask(w, KUBE_PATCH, arena_strf(a, "%.*s?fieldManager=toucher", STR_FMT(path)), "application/merge-patch+json",
            arena_strf(a, "{\"metadata\":{\"annotations\":{\"touched\":\"%lld\"}}}", (long long)world_now_ms(w)),
            STR("toucher"), a, NULL);
}

static void on_answer(void *ctx, uint64_t number, int status, const struct err *err) {
        struct world *w = ctx;

        trace_add(&w->trace, "answer    #%llu %d%s%s", (unsigned long long)number, status, err ? " " : "", err ? err->msg : "");
        check_answer(w->check, number, status);
}

static void on_event(void *ctx, uint64_t number, struct str line) {
        struct world *w = ctx;
        struct str head = str_sub(line, 0, 160);

        trace_mix(&w->trace, line);
        if (!str_contains(head, STR("BOOKMARK")))
                trace_add(&w->trace, "event     #%llu %.*s…", (unsigned long long)number, STR_FMT(head));
}

static void on_hurt(void *ctx, uint64_t number, const char *what) {
        struct world *w = ctx;

        trace_add(&w->trace, "fault     #%llu %s", (unsigned long long)number, what);
        world_changed(w);
}

static struct str meta(const struct value *object, const char *key) {
        return value_text(value_path(object, "metadata", key, NULL));
}

static void show_commit(struct world *w, const struct sandbox_commit *c) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        trace_add(&w->trace, "          %s", value_canonical(a, c->after ? c->after : c->before).p);
}

static void on_commit(void *ctx, const struct sandbox_commit *c) {
        struct world *w = ctx;
        bool ours = check_is_ours(c);

        trace_add(&w->trace, "commit    %llu %.*s/%.*s %s %.*s %.*s/%.*s%s%.*s uid %.*s", (unsigned long long)c->resource_version,
                  STR_FMT(c->user), STR_FMT(c->manager), !c->before ? "creates" : c->after ? "changes" : "removes",
                  STR_FMT(c->kind), STR_FMT(c->namespace), STR_FMT(c->name), c->subresource.n ? " " : "",
                  STR_FMT(c->subresource), STR_FMT(meta(c->after ? c->after : c->before, "uid")));
        if (w->trace.live)
                show_commit(w, c);
        check_commit(w->check, c);
        expect_never(w, c);
        if (!ours) {
                world_changed(w);
                return;
        }
        w->commits++;
        w->all_commits++;
        if (w->spec->moment == MOMENT_AFTER_COMMIT && w->all_commits == w->spec->moment_at) {
                w->struck = true;
                world_restart(w, 0);
        }
}

/* ---- the story ---- */

static const struct value *step_at(const struct world *w, size_t i) {
        const struct value *story = value_getc(w->doc, "story");

        return i < value_count(story) ? story->list.items[i] : NULL;
}

/* With seed 0 the story goes by the clock of its file, else each step comes a little later. */
static int64_t jitter_ms(const struct world *w) {
        return w->spec->seed ? (int64_t)loop_random(w->loop, JITTER_MS) : 0;
}

static bool is_synced(const struct world *w) {
        bool synced = w->agent && !w->restart_due && w->settled > w->settled_at_step;

        for (size_t i = 0; synced && i < agent_app_count(w->agent); i++)
                synced = expect_app_ends(w, i, "Synced");
        return synced;
}

/* When the next step is due, in loop time; for those that wait for something: now, once it is there. */
static int64_t step_due_ms(struct world *w, const struct value *step) {
        struct str after = scenario_text(step, "after", "");
        int64_t now_ms = loop_now_ms(w->loop), tick_ms = now_ms + TICK_MS;

        if (value_getc(step, "at"))
                return w->trace.start_ms + scenario_ms(step, "at", 0) + w->jitter_ms;
        if (str_eqc(after, "synced") || str_eqc(after, "settled")) {
                bool there = str_eqc(after, "synced") ? is_synced(w) : w->settled > w->settled_at_step;

                if (!there)
                        return tick_ms;
                if (!w->waited_ms)
                        w->waited_ms = now_ms + scenario_ms(step, "plus", 0) + w->jitter_ms;
                return w->waited_ms;
        }
        return w->step_ms + scenario_ms(step, "after", 0) + w->jitter_ms;
}

static bool waits(const struct value *step) {
        struct str after = scenario_text(step, "after", "");

        return str_eqc(after, "synced") || str_eqc(after, "settled");
}

static void begin_step(struct world *w) {
        w->step_ms = loop_now_ms(w->loop);
        w->settled_at_step = w->settled;
        w->waited_ms = 0;
        w->jitter_ms = jitter_ms(w);
}

/* False when the next one is not due yet; *ret_due_ms says when to look again. */
static bool take_step(struct world *w, int64_t *ret_due_ms) {
        const struct value *step = step_at(w, w->next_step);
        int64_t now_ms = loop_now_ms(w->loop);

        *ret_due_ms = step_due_ms(w, step);
        if (*ret_due_ms > now_ms || (waits(step) && !w->waited_ms)) {
                if (waits(step) && now_ms - w->step_ms > WAIT_MAX_MS)
                        world_fail(w, "line %u: an hour went by before it was %.*s", step->line,
                                   STR_FMT(scenario_text(step, "after", "")));
                return false;
        }
        w->next_step++;
        begin_step(w);
        act(w, step);
        return true;
}

/* Runs the loop up to a moment, through deaths and births of the agent. */
static void run_until(struct world *w, int64_t until_ms) {
        do {
                restart_if_due(w);
                int64_t to_ms = !w->agent && w->birth_ms < until_ms ? w->birth_ms : until_ms;

                loop_run_for(w->loop, to_ms - loop_now_ms(w->loop));
        } while (!w->failure && (w->restart_due || loop_now_ms(w->loop) < until_ms));
}

static void play(struct world *w) {
        int64_t due_ms;

        begin_step(w);
        while (!w->failure && step_at(w, w->next_step)) {
                if (!value_getc(step_at(w, w->next_step), "when")) {
                        if (!take_step(w, &due_ms))
                                run_until(w, due_ms);
                } else {
                        w->next_step++;
                }
                restart_if_due(w);
        }
}

static bool is_calm(const struct world *w, int64_t now_ms, int64_t calm_ms) {
        return !w->restart_due && now_ms - w->last_change_ms >= calm_ms &&
               now_ms - w->read_ms >= FORGOTTEN_MS;
}

/* After the last change: synced in time, then nothing. */
static void calm_down(struct world *w) {
        bool has_groups = value_getc(w->doc, "serves") != NULL;
        int64_t calm_ms = scenario_ms(w->doc, "calm", CALM_MS);
        int64_t settle_ms = scenario_ms(w->doc, "settle", has_groups ? GROUPS_SETTLE_MS : calm_ms);
        const char *why = NULL;
        struct wire_rates healthy = act_rates(NULL);

        if (w->spec->chaos && settle_ms < CHAOS_SETTLE_MS)
                settle_ms = CHAOS_SETTLE_MS;
        wire_set_rates(w->wire, &healthy);
        if (w->last_change_ms < w->step_ms)
                w->last_change_ms = w->step_ms;
        for (int64_t now_ms; !w->failure; run_until(w, now_ms + 1000)) {
                now_ms = loop_now_ms(w->loop);
                if (now_ms - w->step_ms > calm_ms + settle_ms + CALM_MAX_MS)
                        world_fail(w, "a day after the last step there still is no calm");
                if (!is_calm(w, now_ms, calm_ms))
                        continue;
                if (expect_settled(w) && !wire_orphans(w->wire) && check_groups_settled(w->check, &why))
                        return;
                if (now_ms - w->last_change_ms > settle_ms + 1000)
                        world_fail(w, "%s%sthe application is not as it should be %lld s after the last change", why ? why : "",
                                   why ? "; " : "", (long long)(settle_ms / 1000));
        }
}

static void be_quiet(struct world *w) {
        int64_t quiet_ms = scenario_ms(w->doc, "quiet", QUIET_MS);

        w->busy_requests = w->all_requests;
        if (!quiet_ms || w->failure)
                return;
        trace_add(&w->trace, "quiet     nothing may happen from here on");
        check_quiet(w->check);
        run_until(w, loop_now_ms(w->loop) + quiet_ms);
}

/* ---- beginning and end ---- */

static void make_namespace(struct world *w, const char *name) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        ask(w, KUBE_POST, STR("/api/v1/namespaces"), "application/json",
            arena_strf(a, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", name), STR("admin"), a,
            NULL);
}

static void add_hooked(struct world *w) {
        size_t count = value_count(value_getc(w->doc, "story"));

        w->hooked = arena_zalloc(w->arena, (count + 1) * sizeof *w->hooked);
        w->hook_seen = arena_zalloc(w->arena, (count + 1) * sizeof *w->hook_seen);
        for (size_t i = 0; i < count; i++) {
                if (value_getc(step_at(w, i), "when"))
                        w->hooked[w->hooked_count++] = step_at(w, i);
        }
}

static void serve(struct world *w) {
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("serve"), value_getc(w->doc, "serves"), 0);
        act(w, value_map_end(&b, w->arena, 0));
}

static void furnish(struct world *w) {
        const struct value *cluster = value_getc(w->doc, "cluster");
        struct value_map_builder first = { 0 }, apply = { 0 };

        if (!scenario_bool(w->doc, "bare", false))
                make_namespace(w, "shop");
        make_namespace(w, SIM_NAMESPACE);
        if (cluster) {
                value_map_add(&apply, STR("create"), cluster, 0);
                act(w, value_map_end(&apply, w->arena, cluster->line));
        }
        if (value_getc(w->doc, "serves"))
                serve(w);
        loop_run_for(w->loop, 2000); /* CRDs become Established, names are checked */
        for (size_t i = 0; i < value_count(value_getc(w->doc, "before")); i++)
                act(w, value_getc(w->doc, "before")->list.items[i]);
        struct str start = scenario_text(w->doc, "start", "one");
        if (start.n) {
                value_map_add(&first, STR("push"), value_string(w->arena, start, 0), 0);
                act(w, value_map_end(&first, w->arena, 0));
        }
}

static void begin(struct world *w, const struct run_spec *spec) {
        static const struct wire_rates chaos = {
                .lose = 20, .lose_reply = 20, .late = 20, .error = 20, .conflict = 50, .drop = 10, .hold = 100, .merge = 200,
                .delay_ms = 200, .late_ms = 4000, .hold_ms = 5000,
        };
        static const struct wire_hooks hooks = { on_request, on_touch, on_answer, on_event, on_hurt };
        struct err err = { 0 };

        *w = (struct world){ .spec = spec, .doc = spec->scenario->doc, .told = buf_make(TOLD_MAX_BYTES) };
        w->loop = loop_new_virtual(spec->seed + 1, START_WALL_MS);
        twins_begin(w->loop, spec->seed);
        w->arena = arena_new(0);
        trace_begin(&w->trace, w->loop, spec->live);
        w->marks = map_new(NULL);
        w->met = map_new(NULL);
        w->heads = map_new(NULL);
        w->log_fd = memfd_create("log", MFD_CLOEXEC);
        log_init(spec->log ? LOG_DEBUG : LOG_INFO, LOG_TEXT, spec->log ? 2 : w->log_fd);
        const struct value *nodes = value_getc(w->doc, "nodes");
        struct sandbox_options options = {
                .no_controllers = !scenario_bool(w->doc, "controllers", false),
                .nodes = { .count = (unsigned)scenario_int(nodes, "count", 0), .gpu = (unsigned)scenario_int(nodes, "gpu", 0),
                           .cpu = scenario_text(nodes, "cpu", ""), .memory = scenario_text(nodes, "memory", "") },
        };
        w->jq = jq_in_process_new(w->loop);
        w->sandbox = sandbox_new(w->loop, &options);
        w->check = check_new(w);
        w->repo = repo_new(w->loop);
        w->infra = repo_new(w->loop);
        w->wire = wire_new(w->sandbox, STR(SIM_USER), &hooks, w);
        sandbox_observe(w->sandbox, on_commit, w);
        w->config = config_of(w->doc, NULL, &err);
        if (!w->config) {
                world_fail(w, "%s", err.msg);
                return;
        }
        add_hooked(w);
        furnish(w);
        struct wire_rates rates = spec->chaos ? chaos : act_rates(value_getc(w->doc, "faults"));
        wire_set_rates(w->wire, &rates);
}

/* Secrets' values must not be in what was logged. */
static void check_log(struct world *w) {
        _cleanup_(buf_done) struct buf text = buf_make(LOG_MAX_BYTES);
        char bytes[16384];
        ssize_t n;
        off_t at = 0;

        while ((n = pread(w->log_fd, bytes, sizeof bytes, at)) > 0) {
                buf_add(&text, (struct str){ bytes, (size_t)n });
                at += n;
        }
        check_words_shown(w->check, "the log", buf_str(&text));
        close(w->log_fd);
}

static void check_loop(struct world *w) {
        if (w->loop->timer_count || w->loop->busy || w->loop->posts)
                world_fail(w, "the loop is not empty at the end: %zu timers, %u jobs", w->loop->timer_count, w->loop->busy);
}

/* A step that no request set off has not been taken, and what the scenario is about did not happen. */
static void check_hooked(struct world *w) {
        for (size_t i = 0; world_is_plain(w) && i < w->hooked_count; i++) {
                const struct value *step = w->hooked[i], *on = value_getc(step, "when");

                if (step && w->hook_seen[i] < (uint64_t)scenario_int(on, "nth", 1))
                        world_fail(w, "line %u: no request came that this step waits for", step->line);
        }
}

/* A scenario that is to break an invariant shows that it can be broken. */
static void check_breaks(struct world *w) {
        struct str wanted = scenario_text(w->doc, "breaks", "");
        bool broke = wanted.n && w->failure && str_contains(str_from(w->failure), wanted);

        if (broke) {
                free(TAKE_PTR(w->failure));
        } else if (wanted.n) {
                char *instead = TAKE_PTR(w->failure);

                world_fail(w, "it is to break \"%.*s\": %s", STR_FMT(wanted), instead ? instead : "it does not");
                free(instead);
        }
}

static void report(const struct world *w) {
        static const char *const moments[] = { "", "--moment before", "--moment after", "--moment late", "--moment sweep" };
        const struct run_spec *spec = w->spec;

        fprintf(stderr, "FAILED %s, seed %llu: %s\n", spec->scenario->name, (unsigned long long)spec->seed, w->failure);
        fprintf(stderr, "again: sim %s --seed %llu", spec->scenario->file, (unsigned long long)spec->seed);
        if (spec->moment != MOMENT_NEVER)
                fprintf(stderr, " %s:%llu", moments[spec->moment], (unsigned long long)spec->moment_at);
        fprintf(stderr, "%s --trace\nlast events:\n", spec->chaos ? " --chaos" : "");
        trace_print(&w->trace, stderr);
}

static void end(struct world *w, struct run_result *ret_result) {
        if (w->agent)
                agent_dies(w);
        loop_run_for(w->loop, 600 * 1000); /* looks at Git that were under way, late writes */
        if (repo_users(w->repo) + repo_users(w->infra))
                world_fail(w, "%u sources of Git are not freed", repo_users(w->repo) + repo_users(w->infra));
        if (wire_orphans(w->wire))
                world_fail(w, "%u writes are still on their way", wire_orphans(w->wire));
        wire_free(w->wire);
        sandbox_free(w->sandbox);
        repo_free(w->repo);
        repo_free(w->infra);
        check_loop(w);
        check_log(w);
        check_breaks(w);
        if (w->failure)
                report(w);
        *ret_result = (struct run_result){ w->failure != NULL, w->trace.hash, world_now_ms(w), w->trace.count,
                                           w->all_requests, w->all_writes, w->all_commits, w->busy_requests,
                                           check_group_count(w->check), w->struck };
        check_free(w->check);
        config_free(w->config);
        map_free(w->marks);
        map_free(w->met);
        map_free(w->heads);
        buf_done(&w->told);
        trace_done(&w->trace);
        arena_free(w->arena);
        free(w->failure);
        twins_end();
        jq_engine_free(w->jq);
        loop_free(w->loop);
}

void world_run(const struct run_spec *spec, struct run_result *ret_result) {
        struct world w;

        begin(&w, spec);
        play(&w);
        calm_down(&w);
        be_quiet(&w);
        if (!w.failure)
                expect_all(&w, value_getc(w.doc, "expect"), "at the end");
        if (!w.failure && world_is_plain(&w))
                expect_met(&w);
        check_hooked(&w);
        end(&w, ret_result);
}

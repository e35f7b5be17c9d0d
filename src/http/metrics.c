/* SPDX-License-Identifier: Apache-2.0 */
#include "http/metrics.h"

#include "http/metrics_impl.h"

void metrics_head(struct buf *out, const char *name, const char *type, const char *help) {
        buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void single(struct buf *out, const char *name, const char *type, const char *help, double value) {
        metrics_head(out, name, type, help);
        buf_addf(out, "%s %.15g\n", name, value);
}

/* Label values escape backslash, quote and newline (exposition formats, "text format details"). */
void metrics_label(struct buf *out, struct str value) {
        for (size_t i = 0; i < value.n; i++) {
                if (value.p[i] == '\n')
                        buf_addc(out, "\\n");
                else if (value.p[i] == '"' || value.p[i] == '\\')
                        buf_addf(out, "\\%c", value.p[i]);
                else
                        buf_addch(out, value.p[i]);
        }
}

static void app_sample(struct buf *out, const char *name, const struct app *app, const char *label, const char *value,
                       double number) {
        buf_addf(out, "%s{application=\"", name);
        metrics_label(out, app_config(app)->instance);
        if (label)
                buf_addf(out, "\",%s=\"%s", label, value);
        buf_addf(out, "\"} %.15g\n", number);
}

static void print_sync_status(const struct agent *agent, struct buf *out) {
        static const char *const words[] = { "Unknown", "Synced", "OutOfSync" };

        metrics_head(out, "truce_app_sync_status", "gauge", "1 for the sync status the application has.");
        for (size_t i = 0; i < agent_app_count(agent); i++) {
                struct app *app = agent_app(agent, i);

                for (size_t k = 0; k < ARRAY_LEN(words); k++)
                        app_sample(out, "truce_app_sync_status", app, "status", words[k], agent_sync_status(agent, app) == k);
        }
}

static void print_health(const struct agent *agent, struct buf *out) {
        metrics_head(out, "truce_application_health", "gauge", "1 for the health status the application has.");
        for (size_t i = 0; i < agent_app_count(agent); i++) {
                struct app *app = agent_app(agent, i);
                struct app_health now;

                app_health(app, &now);
                for (unsigned code = HEALTH_HEALTHY; code <= HEALTH_UNKNOWN; code++)
                        app_sample(out, "truce_application_health", app, "status", health_name((enum health_code)code),
                                   now.code == code);
        }
}

static void print_judge(const struct judge_stats *s, struct buf *out) {
        static const char *const reasons[JUDGE_FAILURES] = {
                [JUDGE_ERROR] = "error", [JUDGE_TIMEOUT] = "timeout", [JUDGE_MEMORY] = "memory"
        };

        single(out, "truce_health_evaluations_total", "counter", "Live objects whose health was judged.",
               (double)s->evaluations);
        single(out, "truce_health_seconds_total", "counter", "Time that took, on pool threads.", (double)s->took_us / 1e6);
        metrics_head(out, "truce_health_failures_total", "counter", "Health rules that failed, by why.");
        for (size_t i = 0; i < JUDGE_FAILURES; i++)
                buf_addf(out, "truce_health_failures_total{reason=\"%s\"} %llu\n", reasons[i],
                         (unsigned long long)s->failures[i]);
}

static void print_objects(const struct agent *agent, struct buf *out) {
        metrics_head(out, "truce_app_objects", "gauge", "Desired objects by state.");
        for (size_t i = 0; i < agent_app_count(agent); i++) {
                struct app *app = agent_app(agent, i);
                struct app_counts c;

                app_counts(app, &c);
                app_sample(out, "truce_app_objects", app, "state", "synced", (double)c.synced);
                app_sample(out, "truce_app_objects", app, "state", "out_of_sync", (double)c.out_of_sync);
                app_sample(out, "truce_app_objects", app, "state", "failed", (double)c.failed);
                app_sample(out, "truce_app_objects", app, "state", "parked", (double)c.parked);
                app_sample(out, "truce_app_objects", app, "state", "refused", (double)c.refused);
        }
}

static void print_decisions(const struct agent *agent, struct buf *out) {
        metrics_head(out, "truce_app_decisions_total", "counter", "Objects decided on, by how.");
        for (size_t i = 0; i < agent_app_count(agent); i++) {
                struct app *app = agent_app(agent, i);
                struct app_counts c;

                app_counts(app, &c);
                app_sample(out, "truce_app_decisions_total", app, "by", "fingerprint", (double)c.by_fingerprint);
                app_sample(out, "truce_app_decisions_total", app, "by", "proof", (double)c.by_proof);
                app_sample(out, "truce_app_decisions_total", app, "by", "dry_run", (double)c.dry_runs);
                app_sample(out, "truce_app_decisions_total", app, "by", "write", (double)c.writes);
        }
}

static void print_fights(const struct agent *agent, struct buf *out) {
        metrics_head(out, "truce_field_fights_total", "counter",
             "Fields that were left alone for a while because another manager wrote them again and again.");
        for (size_t i = 0; i < agent_app_count(agent); i++) {
                struct app *app = agent_app(agent, i);
                size_t count;
                const struct app_fights *rows = app_fights(app, &count);

                for (size_t k = 0; k < count; k++) {
                        buf_addc(out, "truce_field_fights_total{application=\"");
                        metrics_label(out, app_config(app)->instance);
                        buf_addc(out, "\",manager=\"");
                        metrics_label(out, str_from(rows[k].manager));
                        buf_addc(out, "\",kind=\"");
                        metrics_label(out, str_from(rows[k].kind));
                        buf_addf(out, "\"} %llu\n", (unsigned long long)rows[k].count);
                }
        }
}

static void print_ownership(const struct agent *agent, struct buf *out) {
        static const char *const results[HANDOVER_RESULTS] = {
                [HANDOVER_DONE] = "done", [HANDOVER_LOST] = "lost", [HANDOVER_REFUSED] = "refused"
        };
        size_t handovers[HANDOVER_RESULTS] = { 0 };

        metrics_head(out, "truce_yielded_paths", "gauge", "Paths of desired objects that are left to their owners.");
        for (size_t i = 0; i < agent_app_count(agent); i++) {
                struct app *app = agent_app(agent, i);
                struct app_counts c;

                app_counts(app, &c);
                app_sample(out, "truce_yielded_paths", app, NULL, NULL, (double)c.yielded);
                for (size_t k = 0; k < HANDOVER_RESULTS; k++)
                        handovers[k] += c.handovers[k];
        }
        metrics_head(out, "truce_reported_paths", "gauge", "Paths of other owners that differ from Git and wait for a rule.");
        for (size_t i = 0; i < agent_app_count(agent); i++) {
                struct app_counts c;

                app_counts(agent_app(agent, i), &c);
                app_sample(out, "truce_reported_paths", agent_app(agent, i), NULL, NULL, (double)c.reported);
        }
        metrics_head(out, "truce_handover_total", "counter", "Patches that move ownership and no value, by result.");
        for (size_t k = 0; k < HANDOVER_RESULTS; k++)
                buf_addf(out, "truce_handover_total{result=\"%s\"} %zu\n", results[k], handovers[k]);
}

static void stage(struct buf *out, const char *name, int64_t from_ms, int64_t to_ms) {
        buf_addf(out, "truce_commit_latency_seconds{stage=\"%s\"} %.15g\n", name,
                 from_ms && to_ms ? (double)(to_ms - from_ms) / 1000 : 0.0);
}

static void print_latency(const struct agent_timeline *t, struct buf *out) {
        metrics_head(out, "truce_commit_latency_seconds", "gauge",
             "Newest commit that was seen back in the cluster: time from noticing it to the end of each stage.");
        stage(out, "fetched", t->noticed_ms, t->fetched_ms);
        stage(out, "rendered", t->noticed_ms, t->rendered_ms);
        stage(out, "applied", t->noticed_ms, t->applied_ms);
        stage(out, "observed", t->noticed_ms, t->observed_ms);
}

static void print_agent(const struct agent_stats *s, struct buf *out) {
        single(out, "truce_git_polls_total", "counter", "Looks at Git.", (double)s->polls.looks);
        single(out, "truce_git_poll_failures_total", "counter", "Looks at Git that failed.", (double)s->polls.failures);
        single(out, "truce_git_fetches_total", "counter", "New commits fetched.", (double)s->polls.fetches);
        single(out, "truce_commits_applied_total", "counter", "Commits brought to the cluster.", (double)s->commits_applied);
        single(out, "truce_heals_total", "counter", "Changes of live objects that were undone.", (double)s->heals);
        single(out, "truce_last_heal_seconds", "gauge", "From the watch event to the end of the write, of the newest heal.",
               (double)s->last_heal_ms / 1000);
        single(out, "truce_watched_kinds", "gauge", "Kinds that are listed and watched.", (double)s->kinds);
        single(out, "truce_cached_objects", "gauge", "Live objects kept in memory.", (double)s->live);
        print_latency(&s->last, out);
}

static void print_transport(const struct kube_transport_stats *s, struct buf *out) {
        static const char *const methods[KUBE_METHODS] = { "GET", "POST", "PUT", "PATCH", "DELETE" };
        static const char *const codes[KUBE_STATUS_CLASSES] = { "none", "1xx", "2xx", "3xx", "4xx", "5xx" };

        metrics_head(out, "rest_client_requests_total", "counter", "Requests to the API server that ended, by method and code class.");
        for (size_t m = 0; m < KUBE_METHODS; m++) {
                for (size_t c = 0; c < KUBE_STATUS_CLASSES; c++)
                        buf_addf(out, "rest_client_requests_total{method=\"%s\",code=\"%s\"} %llu\n", methods[m], codes[c],
                                 (unsigned long long)s->calls[m][c]);
        }
        single(out, "rest_client_request_retries_total", "counter", "Requests sent again by the transport.", (double)s->retries);
        single(out, "truce_kube_connections_total", "counter", "Connections opened.", (double)s->connections_opened);
        single(out, "truce_kube_received_bytes_total", "counter", "Bytes of reply bodies.", (double)s->bytes_received);
        single(out, "truce_kube_open_watches", "gauge", "Watches that are open.", s->open_watches);
        single(out, "truce_kube_waiting_watches", "gauge", "Watches that wait for a connection.", s->waiting_watches);
        single(out, "truce_kube_in_flight", "gauge", "Requests in flight.", s->in_flight);
        single(out, "truce_kube_queued", "gauge", "Requests that wait in the queue.", s->queued);
}

/* Names that others have for it keep them: controller-runtime's leader_election_…, with the Lease's name. */
static void print_leader(const struct leader *leader, struct buf *out) {
        struct leader_status now;

        leader_status(leader, &now);
        metrics_head(out, "leader_election_master_status", "gauge", "1 while this process leads.");
        buf_addf(out, "leader_election_master_status{name=\"%.*s\"} %d\n", STR_FMT(now.name), now.leads);
        metrics_head(out, "leader_election_slowpath_total", "counter", "Writes of the Lease that met another one's.");
        buf_addf(out, "leader_election_slowpath_total{name=\"%.*s\"} %llu\n", STR_FMT(now.name),
                 (unsigned long long)now.slow_paths);
        metrics_head(out, "truce_leader", "gauge", "1 while this process leads, with the Lease and the identity in it.");
        buf_addf(out, "truce_leader{lease=\"%.*s/%.*s\",identity=\"", STR_FMT(now.ns), STR_FMT(now.name));
        metrics_label(out, now.identity);
        buf_addf(out, "\"} %d\n", now.leads);
        single(out, "truce_leader_transitions", "gauge", "How often the Lease has changed hands.", (double)now.transitions);
        single(out, "truce_leader_trouble", "gauge", "1 while the Lease cannot be read or written.", now.err->code != 0);
        single(out, "truce_leader_refused_writes_total", "counter", "Writes that were not let through.", (double)now.refused);
}

void metrics_print(const struct agent *agent, const struct leader *leader, int64_t longest_turn_us, struct buf *out) {
        struct agent_stats stats;

        metrics_head(out, "truce_build_info", "gauge", "Version of truce.");
        buf_addf(out, "truce_build_info{version=\"%s\"} 1\n", TRUCE_VERSION);
        single(out, "truce_config_stale", "gauge", "1 while the newest configuration cannot be used, and the one before is in force.",
               !agent || agent_config_trouble(agent) != NULL);
        single(out, "truce_loop_longest_turn_seconds", "gauge", "The longest turn of the loop so far.",
               (double)longest_turn_us / 1e6);
        if (leader)
                print_leader(leader, out);
        if (!agent)
                return;
        agent_stats(agent, &stats);
        print_sync_status(agent, out);
        print_health(agent, out);
        print_objects(agent, out);
        print_decisions(agent, out);
        print_fights(agent, out);
        print_ownership(agent, out);
        print_judge(&stats.health, out);
        print_agent(&stats, out);
        metrics_print_groups(agent_groups(agent), out);
        print_transport(&stats.api, out);
}

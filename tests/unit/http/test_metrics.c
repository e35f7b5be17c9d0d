/* SPDX-License-Identifier: Apache-2.0 */
#include "http/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>

#include "agent/twin.h"
#include "git/memory.h"

#define PAGE_MAX_BYTES (1024 * 1024)
#define TABLE_BEGIN    "## Metrics"

struct world {
        struct loop *loop;
        struct twin twin;
        struct git_memory *git; /* freed with its source by the agent, once it has opened it */
        bool opened;
        struct config *config;
        struct kube_transport_ops ops;
        struct agent *agent;
        struct leader *leader;
        struct buf page;
};

static struct git_source *open_source(void *ctx, const struct config_source *source, struct err *err) {
        struct world *w = ctx;

        (void)source;
        (void)err;
        w->opened = true;
        return git_memory_source(w->git);
}

static void some_stats(const struct kube_transport *t, struct kube_transport_stats *ret_stats) {
        (void)t;
        ret_stats->calls[KUBE_PATCH][4] = 7;
        ret_stats->calls[KUBE_GET][0] = 3;
        ret_stats->open_watches = 12;
}

/* An agent that has not been started, whose application is called `name`. */
static void begin(struct world *w, const char *name) {
        struct config_app_flags flags = { .repo = STR("https://git.example/shop.git"),
                                          .name = str_from(name),
                                          .revision = STR("main"),
                                          .path = STR(".") };
        struct agent_options options = { .open_source = open_source, .open_ctx = w };
        struct kube_transport *t;

        *w = (struct world){ .loop = loop_new_virtual(1, 1000000), .page = buf_make(PAGE_MAX_BYTES) };
        twin_init(&w->twin, w->loop);
        w->git = git_memory_new();
        w->config = config_new();
        assert_int_equal(config_add_flags(w->config, &flags, NULL), 0);
        w->config->agent.installation_id = STR("test");
        config_settle(w->config);
        t = script_transport(w->twin.script);
        w->ops = *t->ops;
        w->ops.stats = some_stats;
        t->ops = &w->ops;
        assert_int_equal(agent_new(w->loop, t, w->config, &options, &(struct agent_hooks){ 0 }, w, &w->agent, NULL), 0);
        w->leader = leader_new(w->loop, t,
                               &(struct leader_options){ .ns = STR("truce"), .name = STR("truce-test"), .identity = STR("pod_1") },
                               &(struct leader_hooks){ 0 }, w);
        metrics_print(w->agent, w->leader, 2500000, &w->page);
}

static void end(struct world *w) {
        buf_done(&w->page);
        agent_free(w->agent);
        leader_free(w->leader);
        loop_run_for(w->loop, 1000);
        if (!w->opened) /* otherwise it went with the agent's source */
                git_source_free(git_memory_source(w->git));
        twin_done(&w->twin);
        config_free(w->config);
        loop_free(w->loop);
}

static bool has(struct str text, struct str part) {
        return memmem(text.p, text.n, part.p, part.n) != NULL;
}

static void has_line(const struct world *w, const char *line) {
        if (!has(buf_str(&w->page), str_from(line)))
                fail_msg("no line \"%s\" in:\n%s", line, w->page.p);
}

static void requests_are_told_by_method_and_class(void **state) {
        struct world w;

        (void)state;
        begin(&w, "shop");
        has_line(&w, "\nrest_client_requests_total{method=\"PATCH\",code=\"4xx\"} 7\n");
        has_line(&w, "\nrest_client_requests_total{method=\"GET\",code=\"none\"} 3\n");
        has_line(&w, "\nrest_client_requests_total{method=\"DELETE\",code=\"2xx\"} 0\n");
        has_line(&w, "\ntruce_kube_open_watches 12\n");
        has_line(&w, "\ntruce_loop_longest_turn_seconds 2.5\n");
        end(&w);
}

static void series_exist_from_the_start(void **state) {
        struct world w;

        (void)state;
        begin(&w, "shop");
        has_line(&w, "\ntruce_app_sync_status{application=\"shop\",status=\"Unknown\"} 1\n");
        has_line(&w, "\ntruce_app_sync_status{application=\"shop\",status=\"Synced\"} 0\n");
        has_line(&w, "\ntruce_app_objects{application=\"shop\",state=\"failed\"} 0\n");
        has_line(&w, "\ntruce_app_decisions_total{application=\"shop\",by=\"write\"} 0\n");
        has_line(&w, "\ntruce_commit_latency_seconds{stage=\"observed\"} 0\n");
        has_line(&w, "\nleader_election_master_status{name=\"truce-test\"} 0\n");
        has_line(&w, "\ntruce_leader{lease=\"truce/truce-test\",identity=\"pod_1\"} 0\n");
        end(&w);
}

static void a_label_cannot_end_its_quotes(void **state) {
        struct world w;

        (void)state;
        begin(&w, "a\"b\\c\nd");
        has_line(&w, "{application=\"a\\\"b\\\\c\\nd\",state=\"synced\"} 0\n");
        end(&w);
}

/* --- docs/CONFIGURATION.md -------------------------------------------------------------------------------------- */

static struct str read_docs(struct arena *a) {
        FILE *f = fopen(TRUCE_SOURCE_DIR "/docs/CONFIGURATION.md", "r");
        char *bytes = arena_alloc(a, PAGE_MAX_BYTES);
        const char *table;
        size_t n;

        assert_non_null(f);
        n = fread(bytes, 1, PAGE_MAX_BYTES - 1, f);
        fclose(f);
        table = memmem(bytes, n, TABLE_BEGIN, strlen(TABLE_BEGIN));
        assert_non_null(table);
        return (struct str){ table, n - (size_t)(table - bytes) };
}

static struct str next_word(struct str line, size_t from) {
        struct str rest = str_sub(line, from, line.n), word;

        str_next(&rest, ' ', &word);
        return word;
}

/* "| `name`" of each metric that is printed stands in the table, and the other way round. */
static void the_documented_metrics_are_those_printed(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str docs = read_docs(a), rest, line;
        size_t printed = 0, documented = 0;
        struct world w;

        (void)state;
        begin(&w, "shop");
        rest = buf_str(&w.page);
        while (str_next(&rest, '\n', &line)) {
                if (!str_starts(line, STR("# TYPE ")))
                        continue;
                struct str row = arena_strf(a, "\n| `%.*s` |", STR_FMT(next_word(line, 7)));

                if (!has(docs, row))
                        fail_msg("docs/CONFIGURATION.md lacks the metric of \"%.*s\"", STR_FMT(line));
                printed++;
        }
        for (rest = docs; str_next(&rest, '\n', &line);)
                documented += str_starts(line, STR("| `"));
        assert_int_equal(documented, printed);
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(requests_are_told_by_method_and_class),
                cmocka_unit_test(series_exist_from_the_start),
                cmocka_unit_test(a_label_cannot_end_its_quotes),
                cmocka_unit_test(the_documented_metrics_are_those_printed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

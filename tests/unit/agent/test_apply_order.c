/* SPDX-License-Identifier: Apache-2.0 */
/* In which order, and how many at a time, the objects of a first sync are sent. */
#include "agent/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "git/memory.h"
#include "twin.h"

#define ANSWER_MS 10
#define PLACES 32
#define A_WHILE_MS 20000

struct world {
        struct loop *loop;
        struct twin twin;
        struct git_memory *git;
        struct config *config;
        struct agent *agent;
        unsigned settled;
        struct buf yaml;
};

static void on_outcome(void *ctx, struct app *app, const struct outcome *o) {
        (void)ctx;
        (void)app;
        assert_null(o->err);
}

static void on_revision(void *ctx, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                        const struct err *rejected) {
        (void)ctx;
        (void)app;
        (void)r;
        (void)set;
        assert_null(rejected);
}

static void on_settled(void *ctx, struct app *app, const struct err *prune_err) {
        struct world *w = ctx;

        (void)app;
        assert_null(prune_err);
        w->settled++;
}

static void on_trouble(void *ctx, struct app *app, const char *what, const struct err *err) {
        (void)ctx;
        (void)app;
        fail_msg("%s: %s", what, err->msg);
}

static struct git_source *open_source(void *ctx, const struct config_source *source, struct err *err) {
        struct world *w = ctx;

        (void)source;
        (void)err;
        return git_memory_source(w->git);
}

static int slow_write(void *ctx, const struct script_request *r, struct script_answer *answer) {
        answer->delay_ms = ANSWER_MS;
        return twin_write(ctx, r, answer);
}

static void begin(struct world *w) {
        *w = (struct world){ .loop = loop_new_virtual(1, 1000000), .yaml = buf_make(1024 * 1024) };
        twin_init(&w->twin, w->loop);
        script_serve_discovery(w->twin.script, "v1 ConfigMap configmaps namespaced\n"
                                               "v1 Namespace namespaces cluster\n"
                                               "v1 ResourceQuota resourcequotas namespaced\n"
                                               "v1 Secret secrets namespaced\n"
                                               "v1 Service services namespaced\n"
                                               "apps/v1 Deployment deployments namespaced status scale\n");
        script_on_call(w->twin.script, KUBE_PATCH, "*", slow_write, &w->twin);
        w->git = git_memory_new();
}

static void add(struct world *w, const char *api_version, const char *kind, unsigned count) {
        for (unsigned i = 0; i < count; i++)
                buf_addf(&w->yaml, "---\napiVersion: %s\nkind: %s\nmetadata: {name: o%u}\n", api_version, kind, i);
}

static void sync_all(struct world *w) {
        static const struct agent_hooks hooks = {
                .outcome = on_outcome, .revision = on_revision, .settled = on_settled, .trouble = on_trouble,
        };
        struct agent_options options = { .open_source = open_source, .open_ctx = w };
        struct config_app_flags flags = {
                .repo = STR("https://git.example/shop.git"), .path = STR("app"), .revision = STR("main"), .ns = STR("shop"),
        };
        struct git_memory_file file = { "app/all.yaml", GIT_MEMORY_FILE, buf_str(&w->yaml) };
        struct err err;

        git_memory_push(w->git, &file, 1);
        w->config = config_new();
        assert_int_equal(config_add_flags(w->config, &flags, &err), 0);
        w->config->agent.installation_id = STR("test");
        config_settle(w->config);
        w->config->agent.apply_parallel = PLACES;
        assert_int_equal(agent_new(w->loop, script_transport(w->twin.script), w->config, &options, &hooks, w, &w->agent, NULL),
                         0);
        agent_start(w->agent);
        loop_run_for(w->loop, A_WHILE_MS);
        assert_int_equal(w->settled, 1);
}

static void end(struct world *w) {
        agent_free(w->agent);
        loop_run_for(w->loop, 1000);
        assert_int_equal(script_unexpected(w->twin.script), 0);
        twin_done(&w->twin);
        config_free(w->config);
        buf_done(&w->yaml);
        loop_free(w->loop);
}

/* A write of an object of the application; `plural` empty: of any kind. */
static bool is_write(const struct script_request *r, const char *plural) {
        return r->method == KUBE_PATCH && str_contains(r->path, STR("/namespaces/shop/")) &&
               str_contains(r->path, str_from(plural));
}

/* Which of all requests the first, or the last, of these was. */
static size_t place_of(const struct world *w, const char *plural, bool last) {
        size_t at = SIZE_MAX;

        for (size_t i = 0; i < script_request_count(w->twin.script); i++) {
                if (is_write(script_request_at(w->twin.script, i), plural) && (last || at == SIZE_MAX))
                        at = i;
        }
        assert_true(at != SIZE_MAX);
        return at;
}

/* How many of the kind were sent before any write to the namespace had an answer. */
static unsigned in_first_wave(const struct world *w, const char *plural) {
        int64_t begun_ms = INT64_MAX;
        unsigned count = 0;

        for (size_t i = 0; i < script_request_count(w->twin.script); i++) {
                const struct script_request *r = script_request_at(w->twin.script, i);

                if (is_write(r, "") && r->at_ms < begun_ms)
                        begun_ms = r->at_ms;
        }
        for (size_t i = 0; i < script_request_count(w->twin.script); i++) {
                const struct script_request *r = script_request_at(w->twin.script, i);

                count += is_write(r, plural) && r->at_ms < begun_ms + ANSWER_MS;
        }
        return count;
}

static void services_leave_places_to_what_does_not_depend_on_them(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        add(&w, "v1", "Service", 40);
        add(&w, "v1", "ConfigMap", 40);
        sync_all(&w);
        assert_int_equal(in_first_wave(&w, "services"), PLACES / 4);
        assert_int_equal(in_first_wave(&w, "configmaps"), PLACES - PLACES / 4);
        end(&w);
}

static void services_alone_have_all_places(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        add(&w, "v1", "Service", 40);
        sync_all(&w);
        assert_int_equal(in_first_wave(&w, "services"), PLACES);
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, "*/services/*"), 40);
        end(&w);
}

static void workloads_wait_until_all_services_were_sent(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        add(&w, "apps/v1", "Deployment", 5);
        add(&w, "v1", "Service", 40);
        add(&w, "v1", "ConfigMap", 3);
        sync_all(&w);
        assert_true(place_of(&w, "deployments", false) > place_of(&w, "services", true));
        assert_true(place_of(&w, "deployments", false) > place_of(&w, "configmaps", true));
        assert_int_equal(script_count(w.twin.script, KUBE_PATCH, "*/deployments/*"), 5);
        end(&w);
}

static void services_wait_until_all_quotas_were_sent(void **state) {
        struct world w;

        (void)state;
        begin(&w);
        add(&w, "v1", "Service", 1);
        add(&w, "v1", "ResourceQuota", 40);
        add(&w, "v1", "ConfigMap", 1);
        sync_all(&w);
        assert_true(place_of(&w, "services", false) > place_of(&w, "resourcequotas", true));
        end(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(services_leave_places_to_what_does_not_depend_on_them),
                cmocka_unit_test(services_alone_have_all_places),
                cmocka_unit_test(workloads_wait_until_all_services_were_sent),
                cmocka_unit_test(services_wait_until_all_quotas_were_sent),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

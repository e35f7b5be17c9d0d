/* SPDX-License-Identifier: Apache-2.0 */
/* An application of two sources, one of which goes away at the wrong moment. */
#include "agent/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "world.h"

#define APPLICATION                                                                                                    \
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\nspec:\n"       \
        "  project: default\n  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"              \
        "  syncPolicy: {automated: {prune: true, selfHeal: true}}\n  sources:\n"                                        \
        "  - {repoURL: 'https://git.example/shop.git', path: app, targetRevision: main}\n"                              \
        "  - {repoURL: 'https://git.example/infra.git', path: app, targetRevision: main}\n"
#define RECALL_MS (2 * POLL_MS)

struct pair {
        struct world w;
        struct git_memory *infra;
        bool recalls;
};

static struct git_source *open_one(void *ctx, const struct config_source *source, struct err *err) {
        struct pair *p = ctx;

        (void)err;
        return git_memory_source(str_contains(source->repo_url, STR("infra")) ? p->infra : p->w.git);
}

static void start(struct pair *p) {
        static const struct agent_hooks hooks = { on_outcome, on_waiting,  on_revision,
                                                  on_settled, on_observed, on_trouble, on_remark };
        struct agent_options options = { .open_source = open_one, .open_ctx = p };

        assert_int_equal(agent_new(p->w.loop, script_transport(p->w.twin.script), p->w.config, &options, &hooks, &p->w,
                                   &p->w.agent, NULL),
                         0);
        agent_start(p->w.agent);
}

static void push_to(struct git_memory *git, const char *yaml) {
        struct git_memory_file files[] = { { "app/all.yaml", GIT_MEMORY_FILE, str_from(yaml) } };

        git_memory_push(git, files, 1);
}

static void begin_with_two(struct pair *p) {
        struct err err;

        *p = (struct pair){ 0 };
        prepare(&p->w, CM("a", "1"));
        config_free(p->w.config);
        assert_int_equal(config_load_text(STR(APPLICATION), STR("apps.yaml"), &p->w.config, &err), 0);
        p->w.config->agent.installation_id = STR("test");
        p->w.config->agent.poll_ms = POLL_MS;
        config_settle(p->w.config);
        assert_int_equal(p->w.config->problem_count, 0);
        p->infra = git_memory_new();
        push_to(p->infra, CM("b", "1"));
        start(p);
        loop_run_for(p->w.loop, A_WHILE_MS);
        assert_non_null(map_find(p->w.twin.objects, STR(PATH_A)));
        assert_non_null(map_find(p->w.twin.objects, STR(PATH_B)));
}

/* The first that reads a tree is the render of the commit that was applied last: it takes long. */
static void slow_down(void *ctx, enum git_memory_op op) {
        struct pair *p = ctx;

        if (op != GIT_MEMORY_LIST || p->recalls)
                return;
        p->recalls = true;
        loop_virtual_slow_pool(p->w.loop, LOOP_POOL_GIT, RECALL_MS);
}

static bool is_one(const struct pair *p) {
        return strstr(map_find(p->w.twin.objects, STR(PATH_A)), "\"key\":\"1\"") != NULL;
}

/* What fails goes on to fail with the same words, and that is not told again: nobody else would bring the commit back. */
static void a_source_that_goes_away_while_a_commit_is_recalled_lets_it_be_brought_back(void **state) {
        struct pair p;

        (void)state;
        begin_with_two(&p);
        stop_agent(&p.w);
        edit(&p.w, STR(PATH_A), "9");
        p.w.git = git_memory_new();
        p.infra = git_memory_new();
        push(&p.w, CM("a", "1"));
        push_to(p.infra, CM("b", "1"));
        push(&p.w, CM("a", "2"));
        git_memory_set_hook(p.w.git, slow_down, &p);
        start(&p);
        for (int i = 0; i < A_WHILE_MS && !p.recalls; i++)
                loop_run_for(p.w.loop, 1);
        assert_true(p.recalls);
        loop_virtual_slow_pool(p.w.loop, LOOP_POOL_GIT, 0);
        git_memory_fail(p.infra, GIT_MEMORY_RESOLVE, ERR_UNREACHABLE, "infra is away", 1000);
        loop_run_for(p.w.loop, RECALL_MS - 1000);
        assert_int_equal(p.w.trouble, 1);
        assert_false(is_one(&p));
        loop_run_for(p.w.loop, 10 * A_WHILE_MS);
        assert_true(is_one(&p));
        end(&p.w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_source_that_goes_away_while_a_commit_is_recalled_lets_it_be_brought_back),
        };

        return cmocka_run_group_tests_name("agent with two sources", tests, NULL, NULL);
}

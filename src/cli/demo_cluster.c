/* SPDX-License-Identifier: Apache-2.0 */
/* Where the demo plays: the sandbox in this process, or the cluster of a kubeconfig. */
#include "base/json.h"
#include "cli/demo_impl.h"
#include "kube/curl_transport.h"

#define CLEAN_UP_MS (90 * INT64_C(1000))
#define ANSWER_MS   (40 * INT64_C(1000))

static const struct str admins[] = { { "system:masters", 14 } };

/* ---- the sandbox ---- */

static int add_user(struct demo *d, size_t i, struct str name, struct err *err) {
        d->users[i] = (struct sandbox_user){ .name = name, .groups = admins, .group_count = ARRAY_LEN(admins) };
        return sandbox_new_token(d->arena, &d->users[i].token, err);
}

static int start_sandbox(struct demo *d, struct err *err) {
        const struct sandbox_options o = { .events = true };
        int r = add_user(d, 0, STR("you"), err);

        if (r == 0)
                r = add_user(d, 1, STR("jane"), err);
        if (r < 0)
                return r;
        d->sandbox = sandbox_new(d->loop, &o);
        r = sandbox_http_new(d->sandbox, STR("127.0.0.1:0"), d->users, ARRAY_LEN(d->users), &d->http, err);
        if (r < 0)
                return r;
        struct str url = arena_strf(d->arena, "http://127.0.0.1:%u", sandbox_http_port(d->http));
        d->where = arena_strf(d->arena, "a Kubernetes API in memory, 127.0.0.1:%u", sandbox_http_port(d->http));
        d->kubeconfig = arena_strf(d->arena, "%s/kubeconfig", shop_dir(d->shop));
        d->agent_transport = sandbox_transport(d->sandbox, STR("truce"), STR("system:masters"));
        d->transport = sandbox_transport(d->sandbox, STR("jane"), STR("system:masters"));
        return sandbox_write_kubeconfig(d->kubeconfig.p, url, d->users, ARRAY_LEN(d->users), err);
}

/* ---- a real cluster ---- */

static int connect_cluster(struct demo *d, struct err *err) {
        int r = kube_config_load(d->flags.kubeconfig.p, d->flags.context.p, NULL, &d->kube, err);

        if (r < 0)
                return r;
        d->kubeconfig = d->flags.kubeconfig;
        d->where = arena_strf(d->arena, "the cluster of context %s, %s:%s", d->kube->context, d->kube->host,
                              d->kube->port);
        d->agent_transport = kube_curl_transport_new(d->loop, d->kube, "truce-demo/" TRUCE_VERSION, err);
        if (d->agent_transport)
                d->transport = kube_curl_transport_new(d->loop, d->kube, "truce-demo-person/" TRUCE_VERSION, err);
        return d->transport ? 0 : ERR_INVAL;
}

/* What is deleted at the end must not have been there before. */
static int check_is_new(struct demo *d, struct str ns, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct kube_location at = demo_core_location("namespaces", (struct str){ 0 }, ns);
        const struct value *found;
        int r = demo_get(d, &at, a, &found, err);

        if (r == ERR_NOTFOUND)
                return 0;
        return r < 0 ? r
                     : err_set(err, ERR_CONFLICT,
                               "namespace %.*s is there already, and the demo removes its own at the "
                               "end; give another with --namespace",
                               STR_FMT(ns));
}

int demo_open_cluster(struct demo *d, struct err *err) {
        int r = d->flags.cluster ? connect_cluster(d, err) : start_sandbox(d, err);

        if (r < 0)
                return r;
        d->client = kube_client_new(d->transport, d->loop);
        if (!d->flags.cluster)
                return 0;
        r = check_is_new(d, d->flags.ns, err);
        if (r == 0)
                r = check_is_new(d, d->agent_ns, err);
        d->namespaces_are_ours = r == 0;
        return r;
}

void demo_close_cluster(struct demo *d) {
        kube_client_free(d->client);
        kube_transport_free(d->transport);
        kube_transport_free(d->agent_transport);
        kube_config_free(d->kube);
        sandbox_http_free(d->http);
        sandbox_free(d->sandbox);
}

/* ---- requests ---- */

struct kube_location demo_web_location(const struct demo *d, const char *subresource) {
        return (struct kube_location){ STR("apps"), STR("v1"),  STR("deployments"),
                                       d->flags.ns, STR("web"), str_from(subresource) };
}

struct kube_location demo_core_location(const char *plural, struct str namespace, struct str name) {
        return (struct kube_location){
                .version = STR("v1"), .plural = str_from(plural), .namespace = namespace, .name = name
        };
}

struct answer {
        bool is_there;
        struct err err;
        struct arena *arena; /* NULL: the object is not wanted */
        const struct value *object;
};

static void on_answer(void *ctx, const struct kube_result *result) {
        struct answer *answer = ctx;

        answer->is_there = true;
        answer->err = result->err;
        if (result->err.code == 0 && answer->arena)
                json_parse(result->body, answer->arena, &answer->object, &answer->err);
}

/* Also when somebody pressed Ctrl-C: the answer decides what has to be removed. */
static int await(struct demo *d, const struct answer *answer, struct err *err) {
        while (!answer->is_there)
                loop_run_for(d->loop, 5);
        if (answer->err.code != 0 && err)
                *err = answer->err;
        return answer->err.code;
}

int demo_patch(struct demo *d, const struct kube_location *at, enum kube_patch kind, const char *body,
               const char *manager, struct err *err) {
        const struct kube_write how = { .field_manager = str_from(manager), .deadline_ms = ANSWER_MS };
        struct answer answer = { 0 };

        kube_client_patch(d->client, at, kind, str_from(body), &how, on_answer, &answer);
        return await(d, &answer, err);
}

int demo_get(struct demo *d, const struct kube_location *at, struct arena *a, const struct value **ret,
             struct err *err) {
        struct answer answer = { .arena = a };

        kube_client_get(d->client, at, ANSWER_MS, on_answer, &answer);
        int r = await(d, &answer, err);
        if (r == 0)
                *ret = answer.object;
        return r;
}

static int delete (struct demo *d, const struct kube_location *at, struct err *err) {
        const struct kube_delete how = { .deadline_ms = ANSWER_MS };
        struct answer answer = { 0 };

        kube_client_delete(d->client, at, &how, on_answer, &answer);
        int r = await(d, &answer, err);
        return r == ERR_NOTFOUND ? 0 : r;
}

uint64_t demo_writes(const struct demo *d) {
        struct app_counts counts;

        app_counts(agent_app(d->agent, 0), &counts);
        return counts.writes + counts.pruned;
}

/* ---- the end ---- */

static int await_gone(struct demo *d, const struct kube_location *at, int64_t until_ms, struct err *err) {
        int64_t begin = loop_now_ms(d->loop);

        for (;;) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                const struct value *found;
                int r = demo_get(d, at, a, &found, err);

                if (r < 0)
                        return r == ERR_NOTFOUND ? 0 : r;
                if (loop_now_ms(d->loop) > until_ms || d->interrupts > 1)
                        return err_set(err, ERR_TIMEOUT, "namespace %.*s is still being deleted", STR_FMT(at->name));
                screen_waiting(d->screen, "removing the namespaces", loop_now_ms(d->loop) - begin);
                loop_run_for(d->loop, 200);
        }
}

int demo_clean_cluster(struct demo *d, struct err *err) {
        const struct kube_location at[] = {
                demo_core_location("namespaces", (struct str){ 0 }, d->flags.ns),
                demo_core_location("namespaces", (struct str){ 0 }, d->agent_ns),
                { STR("apiextensions.k8s.io"),
                  STR("v1"),
                  STR("customresourcedefinitions"),
                  { 0 },
                  arena_strf(d->arena, "coupons.%.*s.example.io", STR_FMT(d->flags.ns)),
                  { 0 } },
        };
        int64_t until_ms = loop_now_ms(d->loop) + CLEAN_UP_MS;
        int r = 0;

        if (!d->namespaces_are_ours)
                return 0;
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(at); i++)
                r = delete (d, &at[i], err);
        for (size_t i = 0; r == 0 && i < 2; i++)
                r = await_gone(d, &at[i], until_ms, err);
        return r;
}

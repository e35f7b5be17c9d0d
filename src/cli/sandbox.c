/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce sandbox`: a Kubernetes API in memory, to try manifests, truce and kubectl without a cluster. Everything of
 * substance is in sandbox/; here are flags, files, signals and what a person reads.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/option.h"
#include "cli/cli.h"
#include "cli/sandbox_files.h"
#include "cli/sandbox_state.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "own/amount.h"

#define MAX_USERS 64
#define MAX_FILES 4096 /* connections */
#define MAX_NODES 5000
#define MAX_GPUS  1000000

struct flags {
        struct str listen, kubeconfig, state, rules;
        struct str node_cpu, node_memory;
        int64_t pod_ready_ms, nodes, zones, node_gpu;
        bool controllers;
        struct option_list from, load, users;
};

static const struct option_def options[] = {
        { .name = "listen", .type = OPTION_TEXT, .at = offsetof(struct flags, listen), .fallback = "127.0.0.1:0",
          .word = "HOST:PORT", .help = "address on loopback; port 0 takes a free one" },
        { .name = "kubeconfig", .type = OPTION_TEXT, .at = offsetof(struct flags, kubeconfig),
          .fallback = "truce-sandbox.kubeconfig", .word = "FILE", .help = "where to write the kubeconfig" },
        { .name = "state", .type = OPTION_TEXT, .at = offsetof(struct flags, state), .word = "FILE",
          .help = "keep all objects in this file and begin with what is in it" },
        { .name = "from", .type = OPTION_LIST, .at = offsetof(struct flags, from), .word = "FILE",
          .help = "begin with the objects of a dump as they were there, - is standard input; may be given again. "
                  "Without controllers, unless --controllers is given" },
        { .name = "load", .type = OPTION_LIST, .at = offsetof(struct flags, load), .word = "PATH",
          .help = "begin with the manifests of this file or folder; may be given again" },
        { .name = "rules", .type = OPTION_TEXT, .at = offsetof(struct flags, rules), .word = "FILE",
          .help = "admission rules: what is refused or changed, as webhooks do" },
        { .name = "user", .type = OPTION_LIST, .at = offsetof(struct flags, users), .word = "NAME",
          .help = "one more user, with a context truce-sandbox-NAME; may be given again" },
        { .name = "pod-ready", .type = OPTION_DURATION, .at = offsetof(struct flags, pod_ready_ms), .fallback = "200ms",
          .min = 1, .max = 3600000, .help = "how long a Pod takes to become Ready" },
        { .name = "nodes", .type = OPTION_NUMBER, .at = offsetof(struct flags, nodes), .fallback = "0", .max = MAX_NODES,
          .help = "so many Nodes of a size, node-1, node-2 …, instead of one that takes every Pod" },
        { .name = "zones", .type = OPTION_NUMBER, .at = offsetof(struct flags, zones), .fallback = "0", .max = MAX_NODES,
          .help = "spread --nodes over so many zones, zone-1, zone-2 …" },
        { .name = "node-cpu", .type = OPTION_TEXT, .at = offsetof(struct flags, node_cpu), .fallback = "1000",
          .word = "QUANTITY", .help = "cpu that each of --nodes has" },
        { .name = "node-memory", .type = OPTION_TEXT, .at = offsetof(struct flags, node_memory), .fallback = "4Ti",
          .word = "QUANTITY", .help = "memory that each of --nodes has" },
        { .name = "node-gpu", .type = OPTION_NUMBER, .at = offsetof(struct flags, node_gpu), .fallback = "0",
          .max = MAX_GPUS, .help = "nvidia.com/gpu that each of --nodes has" },
        { .name = "controllers", .type = OPTION_BOOL, .at = offsetof(struct flags, controllers), .fallback = "true",
          .help = "Pods for Deployments, autoscaling, collection; --no-controllers: a bare API" },
};
const struct option_group cli_sandbox_flags = { "Sandbox", options, ARRAY_LEN(options), NULL };

struct sandbox_verb {
        struct flags flags;
        struct arena *arena;
        struct loop *loop;
        struct sandbox *sandbox;
        struct sandbox_http *http;
        struct sandbox_user users[MAX_USERS];
        size_t user_count;
        struct sandbox_state *state; /* NULL: in memory only */
        size_t replayed;             /* objects of --from */
        struct loop_signal *term, *interrupt;
};

/* ---- users ---- */

static int add_user(struct sandbox_verb *v, struct str name, struct err *err) {
        static const struct str groups[] = { { "system:masters", 14 } };
        struct sandbox_user *u = &v->users[v->user_count];

        if (v->user_count == MAX_USERS)
                return err_set(err, ERR_INVAL, "--user: at most %d", MAX_USERS - 1);
        if (name.n == 0 || name.n > 253)
                return err_set(err, ERR_INVAL, "--user: a name of 1 to 253 bytes");
        for (size_t i = 0; i < v->user_count; i++)
                if (str_eq(v->users[i].name, name))
                        return err_set(err, ERR_INVAL, "--user %.*s: is there already", STR_FMT(name));
        *u = (struct sandbox_user){ .name = name, .groups = groups, .group_count = ARRAY_LEN(groups) };
        v->user_count++;
        return sandbox_new_token(v->arena, &u->token, err);
}

static int add_users(struct sandbox_verb *v, struct err *err) {
        int r = add_user(v, STR("sandbox-admin"), err);

        for (size_t i = 0; r == 0 && i < v->flags.users.count; i++)
                r = add_user(v, v->flags.users.items[i], err);
        return r;
}

/* ---- life ---- */

static void on_stop(void *ctx, int signum) {
        struct sandbox_verb *v = ctx;

        (void)signum;
        loop_stop(v->loop);
}

static int open_state(struct sandbox_verb *v, struct err *err) {
        int r = v->flags.state.n ? sandbox_state_open(v->loop, v->sandbox, v->flags.state.p, &v->state, err) : 0;

        return r < 0 ? err_wrap(err, r, "--state") : 0;
}

static int load_rules(struct sandbox_verb *v, struct err *err) {
        int r = v->flags.rules.n ? sandbox_load_rules(v->sandbox, v->flags.rules, err) : 0;

        return r < 0 ? err_wrap(err, r, "--rules") : 0;
}

/* Before a state is written, so that it begins with them. */
static int load_dumps(struct sandbox_verb *v, struct err *err) {
        const struct option_list *from = &v->flags.from;
        int r;

        if (from->count == 0)
                return 0;
        if (v->flags.state.n && access(v->flags.state.p, F_OK) == 0)
                return err_set(err, ERR_INVAL,
                               "--from: %s has objects already; go on with them without --from, or name a new file",
                               v->flags.state.p);
        r = sandbox_load_dumps(v->sandbox, from->items, from->count, &v->replayed, err);
        return r < 0 ? err_wrap(err, r, "--from") : 0;
}

static int load_all(struct sandbox_verb *v, struct err *err) {
        size_t loaded = 0;
        int r = 0;

        for (size_t i = 0; i < v->flags.load.count; i++) {
                r = sandbox_load_manifests(v->sandbox, v->flags.load.items[i], &loaded, err);
                if (r < 0)
                        return err_wrap(err, r, "--load");
        }
        return 0;
}

/* Shells give 1024, which a few hundred watches use up. What the system does not allow is done without. */
static void raise_file_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= MAX_FILES)
                return;
        limit.rlim_cur = limit.rlim_max < MAX_FILES ? limit.rlim_max : MAX_FILES;
        setrlimit(RLIMIT_NOFILE, &limit);
}

static struct str server_url(const struct sandbox_verb *v) {
        struct str listen = v->flags.listen;
        size_t colon = listen.n;

        while (colon && listen.p[colon - 1] != ':')
                colon--;
        return arena_strf(v->arena, "http://%.*s%u", STR_FMT(str_sub(listen, 0, colon)), sandbox_http_port(v->http));
}

static bool is_quantity(struct str text) {
        const struct value v = { .kind = VALUE_STRING, .text = text };

        return quantity_equal(&v, &v) && text.p[0] != '-';
}

static int check_nodes(const struct flags *f, struct err *err) {
        const struct {
                const char *name;
                struct str text;
        } sizes[] = { { "cpu", f->node_cpu }, { "memory", f->node_memory } };

        if (f->nodes == 0 &&
            (f->zones || f->node_gpu || !str_eqc(f->node_cpu, "1000") || !str_eqc(f->node_memory, "4Ti")))
                return err_set(err, ERR_INVAL, "--zones and --node-… say what --nodes are like: give it too");
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
                if (!is_quantity(sizes[i].text))
                        return err_set(err, ERR_INVAL, "--node-%s %.*s: not a quantity", sizes[i].name,
                                       STR_FMT(sizes[i].text));
        return 0;
}

static struct sandbox_options options_of(const struct flags *f) {
        return (struct sandbox_options){
                .no_controllers = !f->controllers,
                .events = true,
                .pod_ready_ms = f->pod_ready_ms,
                .nodes = { .count = (unsigned)f->nodes,
                           .zones = (unsigned)f->zones,
                           .gpu = (unsigned)f->node_gpu,
                           .cpu = f->node_cpu,
                           .memory = f->node_memory },
        };
}

static int start(struct sandbox_verb *v, struct err *err) {
        const struct sandbox_options o = options_of(&v->flags);
        int r = check_nodes(&v->flags, err);

        if (r == 0)
                r = add_users(v, err);
        if (r < 0)
                return r;
        raise_file_limit();
        v->loop = loop_new(1, 1, err);
        if (!v->loop)
                return err->code;
        v->term = loop_signal_new(v->loop, SIGTERM, on_stop, v);
        v->interrupt = loop_signal_new(v->loop, SIGINT, on_stop, v);
        v->sandbox = sandbox_new(v->loop, &o);
        r = load_dumps(v, err);
        if (r == 0)
                r = open_state(v, err);
        if (r == 0)
                r = load_rules(v, err);
        if (r == 0)
                r = load_all(v, err);
        if (r == 0)
                r = sandbox_http_new(v->sandbox, v->flags.listen, v->users, v->user_count, &v->http, err);
        if (r == 0)
                r = sandbox_write_kubeconfig(v->flags.kubeconfig.p, server_url(v), v->users, v->user_count, err);
        return r;
}

static void stop(struct sandbox_verb *v) {
        sandbox_http_free(v->http);
        sandbox_state_free(v->state);
        sandbox_free(v->sandbox);
        loop_signal_free(v->term);
        loop_signal_free(v->interrupt);
        loop_free(v->loop);
        arena_free(v->arena);
}

/* ---- what a person reads ---- */

static void greet(const struct sandbox_verb *v) {
        _cleanup_(mem_freep) char *path = realpath(v->flags.kubeconfig.p, NULL);
        _cleanup_(buf_done) struct buf ready = buf_make(64);

        duration_print(v->flags.pod_ready_ms, &ready);
        printf("truce sandbox: a Kubernetes API in memory, at %s\n\n", server_url(v).p);
        printf("  export KUBECONFIG=%s\n", path ? path : v->flags.kubeconfig.p);
        printf("  kubectl apply --server-side -f deploy/\n"
               "  truce diff --repo . --path deploy --namespace default\n\n");
        if (v->replayed)
                printf("%zu object%s as the dump has %s.\n", v->replayed, v->replayed == 1 ? "" : "s",
                       v->replayed == 1 ? "it" : "them");
        printf("It is no cluster: nothing runs in its Pods, there is no network, no RBAC, no webhook and no CEL.\n");
        if (!v->flags.controllers)
                printf("Without controllers: Deployments get no Pods, and nothing is collected.\n");
        else
                printf("Pods become Ready after %s.\n", ready.p);
        if (v->flags.state.n)
                printf("Objects are kept in %s.", v->flags.state.p);
        else
                printf("Objects are gone when it ends (--state FILE keeps them).");
        printf(" Ctrl-C ends it.\n");
        fflush(stdout);
}

static void print_help(const struct option_group *group) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);

        options_help(group, 1, &out);
        printf("usage: truce sandbox [flags]\n\n"
               "A Kubernetes API in memory, on loopback, for kubectl, truce and other clients. It is no cluster.\n\n%s",
               out.p);
}

static int parse(struct sandbox_verb *v, const struct option_group *group, int argc, char **argv, struct err *err) {
        const struct str *operands;
        size_t operand_count;

        options_default(group, 1, v->arena);
        int r = options_parse(group, 1, argc, argv, v->arena, &operands, &operand_count, err);

        if (r == 0 && v->flags.from.count) { /* they would go on with what is to be looked at */
                v->flags.controllers = false;
                r = options_parse(group, 1, argc, argv, v->arena, &operands, &operand_count, err);
        }
        if (r == 0 && operand_count)
                r = err_set(err, ERR_INVAL, "what is '%.*s'? (truce sandbox --help)", STR_FMT(operands[0]));
        return r;
}

int cli_sandbox(int argc, char **argv) {
        struct sandbox_verb v = { .arena = arena_new(0) };
        const struct option_group group = option_group_of(&cli_sandbox_flags, &v.flags);
        struct err err = { 0 };
        int r = 0;

        if (options_want_help(argc, argv)) {
                print_help(&group);
        } else {
                r = parse(&v, &group, argc, argv, &err);
                if (r == 0)
                        r = start(&v, &err);
                if (r == 0) {
                        greet(&v);
                        loop_run(v.loop);
                        r = sandbox_state_end(v.state, &err);
                        if (r < 0)
                                err_wrap(&err, r, "--state: the last changes are lost");
                }
        }
        int result = r == 0 ? CLI_OK : session_fail(&err);
        stop(&v);
        return result;
}

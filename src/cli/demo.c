/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce demo`: the first minute. A sandbox (or a cluster), a Git repository of examples/shop, an agent, and a story
 * that checks what it tells; then it stays, for hands.
 */
#include "cli/demo_impl.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/option.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "git/remote.h"

#define WORKERS    2
#define SHORT_OID  7
#define PATH_BYTES 4096
#define SUBJECT    "shop: two replicas"

#define AT(field) offsetof(struct demo_flags, field)
static const struct option_def options[] = {
        { .name = "cluster",
          .type = OPTION_BOOL,
          .at = AT(cluster),
          .help = "play on the cluster that kubectl would use, in namespaces of its own, instead of in a sandbox" },
        { .name = "kubeconfig",
          .type = OPTION_TEXT,
          .at = AT(kubeconfig),
          .word = "FILE",
          .help = "play on the cluster of this file" },
        { .name = "context",
          .type = OPTION_TEXT,
          .at = AT(context),
          .word = "NAME",
          .help = "context of the kubeconfig" },
        { .name = "namespace",
          .letter = 'n',
          .type = OPTION_TEXT,
          .at = AT(ns),
          .max = 40,
          .word = "NAMESPACE",
          .help = "where the shop goes; must not exist, and is removed at the end. shop in the sandbox, else a new "
                  "name" },
        { .name = "pause",
          .type = OPTION_DURATION,
          .at = AT(pause_ms),
          .fallback = "3s",
          .max = 60000,
          .help = "time to read between two steps" },
        { .name = "exit", .type = OPTION_BOOL, .at = AT(exit), .help = "end after the story" },
};
const struct option_group cli_demo_flags = { "Demo", options, ARRAY_LEN(options), NULL };

/* ---- start and end ---- */

static void on_stop(void *ctx, int signum) {
        struct demo *d = ctx;

        (void)signum;
        d->interrupts++;
        loop_stop(d->loop);
}

/* Names that nobody else has chosen: at the end they are deleted. */
static int name_namespaces(struct demo *d, struct err *err) {
        struct str token;

        d->flags.cluster |= d->flags.kubeconfig.n || d->flags.context.n;
        if (d->flags.ns.n == 0 && !d->flags.cluster)
                d->flags.ns = STR("shop");
        if (d->flags.ns.n == 0) {
                int r = sandbox_new_token(d->arena, &token, err);

                if (r < 0)
                        return r;
                d->flags.ns = arena_strf(d->arena, "shop-%.6s", token.p);
        }
        d->agent_ns = d->flags.cluster ? arena_strf(d->arena, "%.*s-truce", STR_FMT(d->flags.ns)) : STR("truce");
        d->web_id = arena_strf(d->arena, "apps/Deployment/%.*s/web", STR_FMT(d->flags.ns));
        return 0;
}

static int start(struct demo *d, struct git_id *ret_commit, struct err *err) {
        int r = name_namespaces(d, err);

        if (r == 0)
                r = git_init_library(err);
        if (r < 0)
                return r;
        d->loop = loop_new(WORKERS, WORKERS, err);
        if (!d->loop)
                return err->code;
        d->term = loop_signal_new(d->loop, SIGTERM, on_stop, d);
        d->interrupt = loop_signal_new(d->loop, SIGINT, on_stop, d);
        r = shop_new(d->flags.ns, &d->shop, err);
        if (r == 0)
                r = demo_open_cluster(d, err);
        if (r == 0)
                r = shop_write_config(d->shop, d->kubeconfig, d->flags.context, d->agent_ns, err);
        return r < 0 ? r : shop_commit(d->shop, SUBJECT, NULL, 0, ret_commit, err);
}

static void stop(struct demo *d) {
        loop_timer_free(d->scaling.timer);
        demo_close_cluster(d);
        loop_signal_free(d->term);
        loop_signal_free(d->interrupt);
        loop_free(d->loop);
        shop_free(d->shop);
        screen_free(d->screen);
        arena_free(d->arena);
}

/* ---- what a person reads around the story ---- */

static void greet(struct demo *d, const struct git_id *commit) {
        char hex[GIT_OID_HEX_BYTES + 1];

        git_id_hex(commit, hex);
        screen_line(d->screen, SCREEN_STRONG, "truce %s · %s", TRUCE_VERSION, d->where.p);
        if (d->kubeconfig.n)
                screen_line(d->screen, SCREEN_PLAIN, "kubeconfig  %s", d->kubeconfig.p);
        screen_line(d->screen, SCREEN_PLAIN, "repository  %s   main @ %.*s  \"" SUBJECT "\"", shop_repository(d->shop),
                    SHORT_OID, hex);
        if (d->flags.cluster)
                screen_line(d->screen, SCREEN_PLAIN, "namespaces  %s and %s, removed at the end", d->flags.ns.p,
                            d->agent_ns.p);
        screen_line(d->screen, SCREEN_PLAIN, "%s", "");
}

static double resident_mib(void) {
        _cleanup_(mem_freep) char *line = NULL;
        size_t cap = 0;
        int64_t pages = 0;
        FILE *f = fopen("/proc/self/statm", "re");

        if (f && getline(&line, &cap, f) > 0) {
                struct str rest = str_from(line), part = { 0 };

                for (int column = 0; column < 2; column++) /* size, resident, … */
                        str_next(&rest, ' ', &part);
                str_to_i64(part, &pages);
        }
        if (f)
                fclose(f);
        return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1024 * 1024);
}

static void sum_up(struct demo *d, int64_t begin_ms) {
        screen_line(d->screen, SCREEN_PLAIN, "%s", "");
        screen_line(d->screen, SCREEN_QUIET, "All of it held, in %.0f s. In memory: %.0f MiB, for agent%s and story.",
                    (double)(loop_now_ms(d->loop) - begin_ms) / 1000, resident_mib(),
                    d->sandbox ? ", API server, controllers" : "");
}

/* This program as one would type it here. */
static const char *program(struct demo *d) {
        char path[PATH_BYTES], cwd[PATH_BYTES];
        ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

        if (n <= 0)
                return "truce";
        path[n] = '\0';
        size_t below = getcwd(cwd, sizeof cwd) ? strlen(cwd) : 0;
        bool is_below = below > 1 && strncmp(path, cwd, below) == 0 && path[below] == '/';
        return arena_str(d->arena, str_from(is_below ? path + below + 1 : path)).p;
}

static void offer(struct demo *d) {
        const char *truce = program(d);
        const char *config = shop_config(d->shop);
        struct str kubectl =
                d->kubeconfig.n ? arena_strf(d->arena, "kubectl --kubeconfig %s", d->kubeconfig.p) : STR("kubectl");

        screen_line(d->screen, SCREEN_PLAIN, "%s", "");
        screen_line(d->screen, SCREEN_STRONG, "Still running. What will truce do? Try, in another terminal:");
        screen_line(d->screen, SCREEN_PLAIN, "  %s scale deploy/web -n %s --replicas=9", kubectl.p, d->flags.ns.p);
        screen_line(d->screen, SCREEN_PLAIN, "  %s set image deploy/web -n %s web=web:debug", kubectl.p, d->flags.ns.p);
        screen_line(d->screen, SCREEN_PLAIN, "  %s delete service web -n %s", kubectl.p, d->flags.ns.p);
        screen_line(d->screen, SCREEN_PLAIN, "  sed -i 's/\"on\"/\"off\"/' %s/config.yaml && git -C %s commit -qam off",
                    shop_repository(d->shop), shop_repository(d->shop));
        screen_line(d->screen, SCREEN_PLAIN, "  %s status --config %s", truce, config);
        screen_line(d->screen, SCREEN_PLAIN, "  %s diff --config %s", truce, config);
        screen_line(d->screen, SCREEN_PLAIN, "What happens is told here. Ctrl-C ends and removes everything.");
        screen_line(d->screen, SCREEN_PLAIN, "%s", "");
}

static void stay(struct demo *d) {
        offer(d);
        d->live = true;
        while (!d->interrupts)
                loop_run_for(d->loop, 1000);
        d->live = false;
}

/* ---- the verb ---- */

/* What was made on a real cluster goes, whatever became of the story. */
static int clean_up(struct demo *d) {
        struct err err = { 0 };
        int r;

        demo_unwatch_web(d);
        demo_stop_agent(d);
        d->interrupts = 0;
        r = demo_clean_cluster(d, &err);
        if (r < 0)
                session_fail(&err);
        return r < 0 ? CLI_DIFFERENT : CLI_OK;
}

static int play(struct demo *d, const struct git_id *commit) {
        struct err err = { 0 };
        int64_t begin_ms = loop_now_ms(d->loop);

        greet(d, commit);
        int r = demo_story(d, &err);
        if (r == 0) {
                sum_up(d, begin_ms);
                if (!d->flags.exit)
                        stay(d);
        } else {
                screen_line(d->screen, SCREEN_BAD, "%s: %s", r == ERR_CANCELLED ? "ended" : "the story does not hold",
                            err.msg);
        }
        int cleaned = clean_up(d);
        return r < 0 ? CLI_DIFFERENT : cleaned;
}

static void print_help(const struct option_group *group) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);

        options_help(group, 1, &out);
        printf("usage: truce demo [flags]\n\n"
               "The first minute with truce: a small shop, and what happens when an autoscaler, a person and a typing\n"
               "error get in its way. Plays on a Kubernetes API in memory, then stays for your own hands.\n\n"
               "Exit status: 0 all of it held · 1 a step did not come true, or was interrupted · 2 it could not "
               "begin\n\n%s",
               out.p);
}

static int parse(struct demo *d, const struct option_group *group, int argc, char **argv, struct err *err) {
        const struct str *operands;
        size_t operand_count;

        options_default(group, 1, d->arena);
        int r = options_parse(group, 1, argc, argv, d->arena, &operands, &operand_count, err);
        if (r == 0 && operand_count)
                r = err_set(err, ERR_INVAL, "what is '%.*s'? (truce demo --help)", STR_FMT(operands[0]));
        return r;
}

int cli_demo(int argc, char **argv) {
        struct demo d = { .arena = arena_new(0), .screen = screen_new(STDOUT_FILENO) };
        const struct option_group group = option_group_of(&cli_demo_flags, &d.flags);
        struct err err = { 0 };
        struct git_id commit;
        int result = CLI_OK;

        if (options_want_help(argc, argv)) {
                print_help(&group);
        } else {
                int r = parse(&d, &group, argc, argv, &err);

                if (r == 0)
                        r = start(&d, &commit, &err);
                result = r < 0 ? session_fail(&err) : play(&d, &commit);
        }
        stop(&d);
        return result;
}

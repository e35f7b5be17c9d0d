/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/jq.h"
#include "base/macro.h"
#include "base/option.h"
#include "base/str.h"

struct verb {
        const char *name;
        int (*run)(int argc, char **argv);
        const char *help;
        const char *statuses; /* NULL: 0 done, 2 it could not be */
        const char *operands; /* NULL: none */
};

static const struct verb verbs[] = {
        { "run", cli_run, "stay: poll Git, apply, prune, heal drift" },
        { "sync", cli_sync, "bring the cluster to what Git says, once",
          "0 as Git says · 1 an object failed, or a prune was held · 2 it could not be done · 3 --timeout passed" },
        { "diff", cli_diff, "show what a sync would change; exit 1 when anything",
          "0 nothing · 1 something · 2 it could not be found out · 3 --timeout passed" },
        { .name = "owners", .run = cli_owners, .help = "who owns each field of an object, and what truce does about it",
          .operands = "KIND/NAME " },
        { "adopt", cli_adopt, "what a first sync would take over from Argo CD, Flux, Helm or kubectl",
          "0 nothing is to be decided · 1 something is · 2 it could not be found out · 3 --timeout passed" },
        { "status", cli_status, "what is in force, from the cluster's inventory" },
        { "render", cli_render, "print the objects of a revision, as they were read" },
        { "config", cli_config, "what truce makes of configuration files: used, irrelevant, refused, wrong",
          "0 all is used, or irrelevant · 1 something is refused, or has no effect · 2 something is wrong", "check FILE… " },
        { "test", cli_test, "suites of ignore rules: objects, rules, what must come of them",
          "0 all is as expected · 1 something is not · 2 it could not be run", "DIR… " },
        { "sandbox", cli_sandbox, "a Kubernetes API in memory, to try things without a cluster" },
        { "demo", cli_demo, "the first minute: a story in a sandbox, each step checked" },
        { "version", cli_version, "print the version" },
};

static void print_usage(FILE *out) {
        fputs("truce: a GitOps sync agent that knows who owns each field\n\nusage: truce VERB [flags]\n\n", out);
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
                fprintf(out, "  %-9s %s\n", verbs[i].name, verbs[i].help);
        fputs("\ntruce VERB --help lists the flags of a verb. A first sync:\n"
              "  truce sync --repo https://git.example/shop.git --path deploy --namespace shop\n",
              out);
}

void cli_print_head(const char *name) {
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
                const struct verb *v = &verbs[i];

                if (strcmp(v->name, name) != 0)
                        continue;
                printf("usage: truce %s %s[flags]\n\n%s: %s\n", name, v->operands ? v->operands : "", name, v->help);
                if (v->statuses)
                        printf("Exit status: %s\n", v->statuses);
                puts("");
        }
}

static int unknown_verb(const char *word) {
        const char *names[ARRAY_LEN(verbs)];

        for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
                names[i] = verbs[i].name;
        const char *nearest = option_nearest(str_from(word), names, ARRAY_LEN(names));
        fprintf(stderr, "truce: no such verb: '%s'%s%s%s\n       truce --help lists them\n", word,
                nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
        return CLI_ERROR;
}

/* `truce diff | head`: who reads has seen enough, and nothing went wrong. */
static bool reader_left(void) {
        struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

        return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

/* A plan that a full disk cut short must not pass for the whole one. */
static int check_output(int status) {
        errno = 0;
        if ((fflush(stdout) == 0 && !ferror(stdout)) || reader_left())
                return status;
        fprintf(stderr, "truce: not all of the output could be written%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : "");
        return CLI_ERROR;
}

static int run_verb(int argc, char **argv) {
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
                if (strcmp(argv[0], verbs[i].name) == 0)
                        return check_output(verbs[i].run(argc - 1, argv + 1));
        }
        return unknown_verb(argv[0]);
}

int cli_main(int argc, char **argv) {
        /* Not for people: an agent starts itself like this. */
        if (argc == 2 && strcmp(argv[1], JQ_WORKER_VERB) == 0)
                return jq_worker_main();
        if (argc < 2) {
                print_usage(stderr);
                return CLI_ERROR;
        }
        if (argc > 2 && strcmp(argv[1], "help") == 0)
                return run_verb(2, (char *[]){ argv[2], (char[]){ "--help" }, NULL });
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
                print_usage(stdout);
                return check_output(CLI_OK);
        }
        if (strcmp(argv[1], "--version") == 0)
                return check_output(cli_version(0, NULL));
        return run_verb(argc - 1, argv + 1);
}

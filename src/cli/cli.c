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
#include "cli/verb.h"

static const char *const config_words[] = { "check", "schema", NULL };
static const char *const shells[] = { "bash", "zsh", NULL };

const struct verb cli_verbs[] = {
        { .name = "run", .run = cli_run, .help = "stay: poll Git, apply, prune, heal drift", .has_shared_flags = true },
        { .name = "sync", .run = cli_sync, .help = "bring the cluster to what Git says, once",
          .statuses = "0 as Git says · 1 an object failed, or a prune was held · 2 it could not be done · 3 --timeout passed",
          .flags = &cli_sync_flags, .has_shared_flags = true },
        { .name = "diff", .run = cli_diff, .help = "show what a sync would change; exit 1 when anything",
          .statuses = "0 nothing · 1 something · 2 it could not be found out · 3 --timeout passed",
          .flags = &cli_diff_flags, .has_shared_flags = true },
        { .name = "owners", .run = cli_owners, .help = "who owns each field of an object, and what truce does about it",
          .usage = "KIND/NAME ", .flags = &cli_owners_flags, .has_shared_flags = true, .operands = VERB_OBJECT },
        { .name = "adopt", .run = cli_adopt, .help = "what a first sync would take over from Argo CD, Flux, Helm or kubectl",
          .statuses = "0 nothing is to be decided · 1 something is · 2 it could not be found out · 3 --timeout passed",
          .flags = &cli_adopt_flags, .has_shared_flags = true },
        { .name = "status", .run = cli_status, .help = "what is in force, from the cluster's inventory",
          .flags = &cli_status_flags, .has_shared_flags = true },
        { .name = "groups", .run = cli_groups, .help = "the groups of LeaderWorkerSets, one by one, and what each waits for",
          .statuses = "0 shown · 2 it could not be found out · 3 --timeout passed", .usage = "[NAME] ",
          .flags = &cli_groups_flags, .has_shared_flags = true },
        { .name = "health", .run = cli_health, .help = "how an object is, of the cluster or of a file, and which rule says so",
          .statuses = "0 Healthy, Suspended, or without health · 1 anything else · 2 it could not be found out",
          .usage = "KIND/NAME|-f FILE ", .flags = &cli_health_flags, .has_shared_flags = true, .operands = VERB_OBJECT },
        { .name = "render", .run = cli_render, .help = "print the objects of a revision, as they were read",
          .flags = &cli_render_flags, .has_shared_flags = true },
        { .name = "config", .run = cli_config,
          .help = "what truce makes of configuration files: used, irrelevant, refused, wrong; schema: the Agent document's, "
                  "for editors",
          .statuses = "0 all is used, or irrelevant · 1 something is refused, or has no effect · 2 something is wrong",
          .usage = "check FILE…|schema ", .flags = &cli_check_flags, .words = config_words, .operands = VERB_FILES },
        { .name = "test", .run = cli_test, .help = "suites of ignore rules and health rules: objects, rules, what must come of them",
          .statuses = "0 all is as expected · 1 something is not · 2 it could not be run", .usage = "DIR… ",
          .flags = &cli_test_flags, .operands = VERB_FOLDERS },
        { .name = "sandbox", .run = cli_sandbox, .help = "a Kubernetes API in memory, to try things without a cluster",
          .flags = &cli_sandbox_flags },
        { .name = "demo", .run = cli_demo, .help = "the first minute: a story in a sandbox, each step checked",
          .flags = &cli_demo_flags },
        { .name = "completion", .run = cli_completion, .help = "print what lets a shell complete truce's words",
          .usage = "bash|zsh ", .words = shells },
        { .name = "version", .run = cli_version, .help = "print the version" },
};
const size_t cli_verb_count = ARRAY_LEN(cli_verbs);

static void print_usage(FILE *out) {
        fputs("truce: a GitOps sync agent that knows who owns each field\n\nusage: truce VERB [flags]\n\n", out);
        for (size_t i = 0; i < cli_verb_count; i++)
                fprintf(out, "  %-10s %s\n", cli_verbs[i].name, cli_verbs[i].help);
        fputs("\ntruce VERB --help lists the flags of a verb. A first sync:\n"
              "  truce sync --repo https://git.example/shop.git --path deploy --namespace shop\n",
              out);
}

void cli_print_head(const char *name) {
        for (size_t i = 0; i < cli_verb_count; i++) {
                const struct verb *v = &cli_verbs[i];

                if (strcmp(v->name, name) != 0)
                        continue;
                printf("usage: truce %s %s[flags]\n\n%s: %s\n", name, v->usage ? v->usage : "", name, v->help);
                if (v->statuses)
                        printf("Exit status: %s\n", v->statuses);
                puts("");
        }
}

static int unknown_verb(const char *word) {
        const char *names[ARRAY_LEN(cli_verbs)];

        for (size_t i = 0; i < cli_verb_count; i++)
                names[i] = cli_verbs[i].name;
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
        for (size_t i = 0; i < cli_verb_count; i++) {
                if (strcmp(argv[0], cli_verbs[i].name) == 0)
                        return check_output(cli_verbs[i].run(argc - 1, argv + 1));
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: `truce VERB [flags]`. One row a verb; each verb's flags are option tables (base/option.h), from which
 * parsing and --help come.
 *
 * Exit status: 0 done (diff: no difference) · 1 something is not as Git wants it (diff: differences; sync: an object
 * failed or prune was stopped) · 2 it could not be found out or done (usage, configuration, no connection) · 3 --timeout
 * passed.
 */
#ifndef TRUCE_CLI_CLI_H
#define TRUCE_CLI_CLI_H

enum cli_exit { CLI_OK = 0, CLI_DIFFERENT = 1, CLI_ERROR = 2, CLI_TIMED_OUT = 3 };

/* Everything the program does; returns the exit status. */
int cli_main(int argc, char **argv);

/* The head of a verb's --help: usage, what it is for, its exit statuses. */
void cli_print_head(const char *verb);

/* The verbs. argc and argv begin after the verb. */
int cli_run(int argc, char **argv);
int cli_sync(int argc, char **argv);
int cli_diff(int argc, char **argv);
int cli_owners(int argc, char **argv);
int cli_adopt(int argc, char **argv);
int cli_status(int argc, char **argv);
int cli_groups(int argc, char **argv);
int cli_health(int argc, char **argv);
int cli_render(int argc, char **argv);
int cli_config(int argc, char **argv);
int cli_test(int argc, char **argv);
int cli_sandbox(int argc, char **argv);
int cli_demo(int argc, char **argv);
int cli_completion(int argc, char **argv);
int cli_version(int argc, char **argv);

#endif

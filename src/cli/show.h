/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How `sync` and `diff` tell a person, or a machine, what happened: one line (sync) or one block (diff) an object as it
 * comes, a progress line while stderr is a terminal, failures together at the end, worst first, and a last line. Where
 * failures are tried again, each is also told when it comes a second time.
 *
 * Text goes to stdout in one write a block; progress and failures go to stderr. Colour only on a terminal that is not
 * TERM=dumb, and without NO_COLOR. JSON is one document at the end.
 */
#ifndef TRUCE_CLI_SHOW_H
#define TRUCE_CLI_SHOW_H

#include "agent/agent.h"

enum show_format { SHOW_TEXT, SHOW_JSON, SHOW_MARKDOWN };
enum show_verb { SHOW_SYNC, SHOW_DIFF };

struct show;

struct show *show_new(enum show_format format, enum show_verb verb, struct loop *l);
void show_free(struct show *s);
/* What fails is tried again until it is done or the time is over. */
void show_retries(struct show *s);

void show_revision(struct show *s, struct app *app, const struct agent_revision *r, const struct desired_set *set,
                   const struct err *rejected);
void show_outcome(struct show *s, struct app *app, const struct outcome *o);
void show_waiting(struct show *s, struct app *app, const char *what);
/* Why nothing more is to be expected of the application: its repository or inventory cannot be read. */
void show_trouble(struct show *s, struct app *app, const struct err *err);
/* A setting at `place` does not do what it says. */
void show_setting(struct show *s, struct app *app, const char *place, const char *text);
/* It is waited for to become healthy, since `since_ms` of the loop's clock. */
void show_health(struct show *s, struct app *app, int64_t since_ms);
void show_settled(struct show *s, struct app *app, const struct err *prune_err);
/* The command ends without being done; says what it waited for. Before show_end(). */
void show_timed_out(struct show *s, int64_t timeout_ms);
/* `exit_code` is what the command ends with; it stands in the last line. */
void show_end(struct show *s, struct agent *agent, int64_t took_ms, int exit_code);

/* The exit status of a diff, after show_timed_out(). */
int show_diff_exit(const struct show *s);

/* Objects so far that failed or were refused; that differ, are missing or would be pruned. */
size_t show_failures(const struct show *s);
size_t show_differences(const struct show *s);

#endif

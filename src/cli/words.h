/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that several verbs use for the same things.
 */
#ifndef TRUCE_CLI_WORDS_H
#define TRUCE_CLI_WORDS_H

#include "agent/agent.h"
#include "diff/compare.h"

/* Is it a terminal that knows more than lines of text? TERM=dumb does not. */
bool words_on_terminal(int fd);
/* The same where NO_COLOR is not set to something. */
bool words_in_color(int fd);

/* Appends the value as indented JSON and a line end; what could steer a terminal is escaped in it. */
void words_add_json(const struct value *v, struct buf *out);

/* "created", "configured" …; NULL for what is not worth a line. */
const char *words_outcome(enum outcome_kind kind);

/* "main" of "refs/heads/main", "v1" of "refs/tags/v1"; a commit's first seven digits; else the ref. Borrowed. */
struct str words_ref(struct str ref);

/* "main @ 1a2b3c4", without the commit's subject; of several sources "infra main @ 1a2b3c4 + shop v1.2 @ 5d6e7f8". */
void words_revision(const struct app *app, const struct agent_revision *r, struct buf *out);
/* The same, and of a single source: two blanks and the subject in quotes, cut. Fit for a terminal. */
void words_revision_line(const struct app *app, const struct agent_revision *r, struct buf *out);

/* What to say of an application for which Git has no object at all: most often the folder is not the one that was meant. */
struct str words_nothing(const struct config_app *app, struct arena *a);

/* Who keeps an application from being Healthy, in one line; fit for a terminal. Empty: nobody. */
void words_health(const struct app *app, struct buf *out);
/* "██████░░░░  deploy/web: 1 of 3 available   12 s": as many blocks as objects are Healthy. */
void words_health_progress(const struct app *app, int64_t for_ms, struct buf *out);

/* The line of a path in the object's file, as near as is known: its parents', at last the document's. */
uint32_t words_line(const struct outcome *o, struct field_path path);

/* ":12" behind a file; nothing where no line is known. */
void words_add_line(uint32_t line, struct buf *out);

/* What changed, or would, from the object before to the object after. Of an object that comes or goes: all of it. */
int words_compare(const struct outcome *o, struct arena *a, struct diff *ret_diff);
/* The same in a few words ("image web:1.4 → web:1.5"); nothing of Secrets but the names of fields. Empty: no change. */
void words_change(const struct outcome *o, struct buf *out);

#endif

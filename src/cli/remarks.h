/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JSON document of `sync` and `diff` tells besides differences (diff/print.h): elements of the same array, after
 * them, told apart by "kind":
 *
 *   {application, object {group, kind, namespace, name}, file, line, kind, reason}
 *           parked, waiting, kept, extra, pruned, "handed over", refused, failed: one element an object, what it was last
 *   {application, file, line, object "Kind namespace/name", kind: "problem", reason}
 *           a document that cannot be read, or an object that is refused
 *   {application, kind, reason}
 *           "not rendered": its commit could not be rendered; "failed": its repository or inventory cannot be read;
 *           "prune stopped": nothing that left Git was pruned; "not healthy": who is to blame
 *
 * What is not known is left out. Reasons must not hold secrets.
 */
#ifndef TRUCE_CLI_REMARKS_H
#define TRUCE_CLI_REMARKS_H

#include "agent/agent.h"
#include "diff/print.h"

struct remarks;

struct remarks *remarks_new(void);
void remarks_free(struct remarks *r);

/* What an object is now takes the place of what was said of it; `kind` NULL: nothing more is to be said. */
void remarks_object(struct remarks *r, const struct app *app, const struct outcome *o, const char *kind, struct str reason);
void remarks_problem(struct remarks *r, const struct app *app, const struct manifest_problem *p);
void remarks_app(struct remarks *r, const struct app *app, const char *kind, struct str reason);

/* Appends the elements, each application's own first, then those of its objects by file, line and id. */
void remarks_print(const struct remarks *r, struct diff_printer *p, struct buf *out);

#endif

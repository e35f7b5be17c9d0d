/* SPDX-License-Identifier: Apache-2.0 */
/* What metrics.c and metrics_groups.c share. */
#ifndef TRUCE_HTTP_METRICS_IMPL_H
#define TRUCE_HTTP_METRICS_IMPL_H

#include "base/buf.h"

void metrics_head(struct buf *out, const char *name, const char *type, const char *help);
/* The value of a label, escaped. */
void metrics_label(struct buf *out, struct str value);

struct groups;
/* NULL: groups are not run. */
void metrics_print_groups(const struct groups *g, struct buf *out);

#endif

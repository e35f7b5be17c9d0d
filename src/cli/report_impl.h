/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of report*.c: the formats that are printed at the end. */
#ifndef TRUCE_CLI_REPORT_IMPL_H
#define TRUCE_CLI_REPORT_IMPL_H

#include "base/limits.h"
#include "cli/report.h"

void report_print_junit(const struct report *r, FILE *out);
void report_print_json(const struct report *r, FILE *out);

/* A JSON string that is fit for a terminal. */
void report_add_json_string(struct buf *out, struct str text);

#endif

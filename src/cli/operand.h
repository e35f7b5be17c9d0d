/* SPDX-License-Identifier: Apache-2.0 */
/* The object that a verb is about, as it was typed: "deploy/web", "deploy web", "deployments.apps/web". */
#ifndef TRUCE_CLI_OPERAND_H
#define TRUCE_CLI_OPERAND_H

#include "base/err.h"
#include "base/str.h"

struct operand {
        struct str kind, name; /* borrowed */
};

/* Of one or two words. INVAL for anything else, with how `verb` is to be called. */
int operand_read(const struct str *words, size_t count, const char *verb, struct operand *ret, struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ListOptions, and answers that show many objects.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_LIST_H
#define TRUCE_SANDBOX_LIST_H

#include "sandbox/table.h"

struct list_options {
        struct selector selector;
        int64_t limit, timeout_s;
        struct str continue_token, resource_version, match;
};

/* Reads and checks them; -1: refused. */
int list_options_read(struct call *c, bool is_watch, struct list_options *o);
/* `meta` is the JSON of the list's metadata. */
void list_answer(struct call *c, enum form form, struct version *const *list, size_t count, struct str meta);
/* A Table; without columns (but with rows) for events after the first. `meta` empty: of one object. */
void table_add(struct buf *out, const struct kind *kind, bool with_columns, struct version *const *versions,
               size_t count, struct str meta, const struct table_now *now);

#endif

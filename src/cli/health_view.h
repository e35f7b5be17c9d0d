/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How `truce health` says what was judged: a table, or values for JSON and YAML.
 */
#ifndef TRUCE_CLI_HEALTH_VIEW_H
#define TRUCE_CLI_HEALTH_VIEW_H

#include "base/value.h"
#include "health/health.h"

/* Of an object that is there, or is not (`object` NULL: kind and names are known all the same). */
struct health_row {
        struct str api_version, group, kind, ns, name;
        struct str file;       /* where it is from; empty: the cluster */
        uint32_t line;
        struct health health;
};

/* Kind and names of an object; the health is the caller's. Borrowed. */
struct health_row health_row_of(const struct value *object);

void health_view_table(const struct health_row *rows, size_t count, bool color, struct arena *a, struct buf *out);
const struct value *health_view_value(const struct health_row *row, struct arena *a);

/* "Healthy" …, "none" where there is no health. */
const char *health_view_word(enum health_code code);
/* Who says so: a rule's place or name, the freshness guard. */
const char *health_view_rule(const struct health *h);
/* Does it ask for attention: worse than Suspended? */
bool health_view_is_bad(enum health_code code);

/* "2025-01-02T03:04:05Z". */
struct str health_view_time(int64_t ms, struct arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a node of a schema is checked with: the node, and the faults and matches it gives. */
#ifndef TRUCE_SANDBOX_VALIDATE_SCHEMA_IMPL_H
#define TRUCE_SANDBOX_VALIDATE_SCHEMA_IMPL_H

#include "sandbox/validate_schema.h"

enum fault_kind {
        FAULT_PLAIN, /* belongs to no field */
        FAULT_INVALID,
        FAULT_TYPE,
        FAULT_REQUIRED,
        FAULT_ENUM,
        FAULT_TOO_LONG,
        FAULT_TOO_MANY,
};

struct fault {
        enum fault_kind kind;
        struct str path, text; /* where it is; the whole message */
        struct str shown;      /* value as the finding shows it */
        int64_t size, max;
        struct fault *next;
};

struct result {
        struct fault *first, **end;
        int matches;
};

/* One value at one place: what all rules look at. */
struct node {
        struct check *c;
        const struct value *schema, *v;
        struct str path;
        const struct value *old; /* NULL: nothing to compare with */
};

void result_add(struct check *c, struct result *r, struct fault fault);
void add_invalid(const struct node *n, struct result *r, struct str shown, struct str text);
bool is_number(const struct value *v);
double number_of(const struct value *v);
/* The node's format, empty when it is none that is checked. */
struct str format_of(const struct value *schema);

/* Rules for strings and numbers. */
void check_string(const struct node *n, struct result *r);
void check_format(const struct node *n, struct result *r);
void check_number(const struct node *n, struct result *r);

#endif

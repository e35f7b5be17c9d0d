/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the YAML reader (yaml.c) and the printer (yaml_print.c) share: the typing of scalars (yaml_type.c)
 * and the text of floats and keys (yaml_float.c).
 *
 * The rules are those of go.yaml.in/yaml/v2, on which sigs.k8s.io/yaml stands: YAML 1.1 booleans, Go's integer
 * literals with any underscores dropped, floats through a double, no base 60, timestamps left as text. tests/cases/yaml
 * holds the library's own answers.
 */
#ifndef TRUCE_BASE_YAML_IMPL_H
#define TRUCE_BASE_YAML_IMPL_H

#include "base/value.h"

enum yaml_type {
        YAML_NULL,
        YAML_BOOL,
        YAML_INT,
        YAML_UINT, /* above INT64_MAX */
        YAML_FLOAT,
        YAML_TEXT,
        YAML_TIMESTAMP, /* `text`, which reads as a date */
};

struct yaml_typed {
        enum yaml_type type;
        union {
                bool boolean;
                int64_t i64;
                uint64_t u64;
                double real;
                struct str text;
        };
};

/*
 * Types one scalar. `tag` is empty or resolved ("tag:yaml.org,2002:int"); `plain` says that the text may be more than
 * a string (libyaml's plain_implicit). The text is borrowed, save for !!binary, which is decoded into the arena.
 * PARSE when the text does not fit the tag; the message has no line yet.
 */
int yaml_type(struct str text, struct str tag, bool plain, struct arena *a, struct yaml_typed *ret_typed,
              struct err *err);

/* Is it one of the tags written as !!name, such as yaml_tag_is(tag, "merge")? */
bool yaml_tag_is(struct str tag, const char *name);

/* Shortest digits that read back as the same number, laid out as Go's encoding/json does. */
struct str yaml_float_text(double real, struct arena *a);

/* The string that sigs.k8s.io/yaml makes of a key (a text is borrowed); false for those it refuses: null, YAML_UINT. */
bool yaml_key(const struct yaml_typed *typed, struct arena *a, struct str *ret_key);

#endif

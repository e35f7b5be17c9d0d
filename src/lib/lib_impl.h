/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtruce (include/truce/): a thin face over base, own and diff. What is opaque outside is here. Nothing is decided in
 * this folder; what it prints and says comes from below.
 */
#ifndef TRUCE_LIB_LIB_IMPL_H
#define TRUCE_LIB_LIB_IMPL_H

#include "base/value.h"
#include "own/schema.h"
#include "truce/value.h"

#define LIB_MAX_TEXT_BYTES (128 * 1024 * 1024)

struct truce_value {
        struct arena *arena;
        const struct value *value;
};

/* The content, NULL for NULL. */
const struct value *lib_value(const struct truce_value *v);

/* Turns an err into what the public functions give: returns code, and a copy of the message when it is wanted. */
int lib_fail(int code, const struct err *err, char **ret_message);

/* A heap copy that ends in NUL. */
char *lib_text(struct str s);

/* The type of the object in the arena. INVAL when it names no apiVersion and kind, or the CRD is none of its kind's. */
int lib_type(const struct value *object, const struct truce_value *crd, struct arena *a, const struct schema **ret_type,
             struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to decode*.c: spellings of scalars, and where in the body we stand.
 */
#ifndef TRUCE_SANDBOX_DECODE_IMPL_H
#define TRUCE_SANDBOX_DECODE_IMPL_H

#include "sandbox/codec.h"

/* codec_decode() of either sort of type. */
int decode_builtin(const struct type *t, const struct value *body, struct arena *a, const struct value **ret_object,
                   struct causes *strict, struct err *err);
int decode_custom(const struct type *t, const struct value *body, struct arena *a, const struct value **ret_object,
                  struct causes *strict, struct err *err);

/* One step into the body. Frames live on the C stack, so a path costs nothing until somebody asks for it. */
struct decode_frame {
        const struct decode_frame *up;
        struct str name;     /* field or map key; empty for an item */
        size_t index;        /* item */
        struct str embedded; /* Go names of the embedded structs on the way to the field */
        struct str owner;    /* Go name of the struct that declares the field; empty for keys and items */
};

/* "spec.containers[0].name" */
struct str decode_path(const struct decode_frame *f, struct arena *a);

/*
 * The canonical spelling of a quantity, as resource.Quantity prints what it parsed; empty with *ret_why (static text)
 * when it is none. More than 38 digits are cut.
 */
struct str decode_quantity(struct str text, struct arena *a, const char **ret_why);
/* The same rounded up to thousandths, as all resource lists are. */
struct str decode_quantity_milli(struct str text, struct arena *a, const char **ret_why);

/* Is what Go parsed from `text` to the bit what it would parse from `spelt`, its canonical spelling? */
bool decode_quantity_is_held(struct str text, struct str spelt, bool rounded);

/*
 * RFC 3339 in UTC, with six digits of fraction when `micro`, else without any; empty with the server's words in
 * *ret_why when it is none. The zero time is the text "null".
 */
struct str decode_time(struct str text, bool micro, struct arena *a, struct str *ret_why);

/* Does a float64 reach as far as this JSON number? */
bool decode_is_float(struct str text, struct arena *a);

/* A number as Go's encoding/json prints a float64. What no float64 can hold comes back as it is. */
struct str decode_float(struct str text, struct arena *a);

/* … and as its %v does. */
struct str decode_float_g(struct str text, struct arena *a);

/* Checks standard base64 and spells it without line breaks; false with the offset of the bad byte. */
bool decode_base64(struct str text, struct arena *a, struct str *ret_text, size_t *ret_bad_byte);

#endif

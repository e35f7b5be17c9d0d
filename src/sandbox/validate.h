/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation: what the API server answers with 422 Invalid. Metadata first or last (a creation checks the kind's rules
 * before the general metadata, an update after it), then the kind's own rules; for custom resources the values of the
 * structural schema. All findings at once, in the server's order, with its reasons, field paths and texts. Where the
 * server walks a Go map its order is random; here it is the keys' order.
 *
 * Not for: conflicts, preconditions, the namespace of the request against the object's (400), decoding (400).
 *
 * `object` is decoded and defaulted, named (generateName is resolved), and has what the server fills in before it
 * validates: uid and creationTimestamp of a creation or of `live` when the writer left them out, generation of `live`.
 *
 * Source of the rules: k8s.io/kubernetes/pkg/apis/.../validation, apimachinery's validation packages, kube-openapi's
 * schema validation, at v1.37. Recorded answers of a real server are in tests/cases/sandbox_validate.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_VALIDATE_H
#define TRUCE_SANDBOX_VALIDATE_H

#include "sandbox/types.h"

/* One entry of details.causes of a 422, also a warning or strict error of decoding. */
struct cause {
        struct str reason;  /* FieldValueInvalid, FieldValueRequired, FieldValueDuplicate, FieldValueForbidden … */
        struct str field;   /* spec.template.spec.containers[0].name */
        struct str message; /* without the field: `Invalid value: -1: must be greater than or equal to 0` */
};

/* Zero-initialised with an arena is empty. Texts live in the arena, the array on the heap until causes_done(). */
struct causes {
        struct cause *items;
        size_t count, cap;
        struct arena *arena;
};
void causes_add(struct causes *c, const char *reason, struct str field, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* The same findings once more. */
void causes_append(struct causes *c, const struct causes *from);
void causes_done(struct causes *c);

/*
 * The message of the Status: `Deployment.apps "web" is invalid: [A, B]`, one cause without brackets, equal ones once.
 * `group` is empty for the core group. The text lives in the arena of `c`.
 */
struct str causes_message(const struct causes *c, struct str kind, struct str group, struct str name);

/*
 * Adds all findings to `out`. `live` is NULL for a creation. `subresource` is NULL or empty, "status" or "scale" (then
 * object and live are Scales). `t` is the kind's type; its `rules` say whether it is a custom resource. `scale`: what
 * scale_check() found in that one, which stands behind the findings of its schema; NULL: nothing.
 */
void codec_validate(const struct type *t, struct str api_version, struct str kind, const struct value *live,
                    const struct value *object, const char *subresource, const struct causes *scale,
                    struct causes *out);
/* The same of a custom resource that says it is something else, which is most of what is told then. */
void codec_validate_odd(const struct type *t, struct str api_version, struct str kind, const struct value *live,
                        const struct value *object, struct causes *out);
/* Of a Service's validation what comes before its addresses are allotted: clusterIP, clusterIPs, families. */
void codec_validate_addresses(const struct value *live, const struct value *service, struct causes *out);

#endif

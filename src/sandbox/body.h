/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request bodies: from bytes to a decoded object of the call's kind, with the refusals and warnings of each way in.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_BODY_H
#define TRUCE_SANDBOX_BODY_H

#include "sandbox/sandbox_impl.h"

/* JSON or YAML by content type; 415 for others. NULL in *ret for an empty body. */
int body_parse(struct call *c, const struct value **ret);
/* The object of a POST or PUT: parsed, of the right kind, decoded, not defaulted. */
int body_object(struct call *c, const struct type *type, struct str api_version, struct str kind,
                const struct value **ret);
/* A patched document of the call's own kind: as above with a patch's refusals. */
int body_patched(struct call *c, const struct type *type, struct str api_version, struct str kind,
                 const struct value *document, const struct value **ret);
/* What a server-side apply has merged: decoded once more, so that spellings become canonical. */
int body_merged(struct call *c, const struct value *merged, const struct value **ret);
/* Defaults (and pruning, for custom resources). */
const struct value *body_default(struct call *c, const struct value *object);
/* DeleteOptions, or NULL without body. */
int body_delete_options(struct call *c, const struct value **ret);

/* "application/json", without parameters. */
struct str media_type(struct str content_type);

#endif

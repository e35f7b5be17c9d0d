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
/*
 * An object of that type after the patch in the request's body, decoded; not for applies. `live` is in the call's
 * version.
 */
int body_patched(struct call *c, const struct type *type, struct str api_version, struct str kind,
                 const struct value *live, const struct value **ret);
/*
 * What a server-side apply has merged: decoded once more, so that spellings become canonical. `patch_name` is how a
 * refusal names the applied object: NAMESPACE/NAME as it says them.
 */
int body_merged(struct call *c, const struct value *merged, struct str patch_name, const struct value **ret);
/* Defaults (and pruning, for custom resources). */
const struct value *body_default(struct call *c, const struct value *object);
/* DeleteOptions, or NULL without body. */
int body_delete_options(struct call *c, const struct value **ret);

/* "application/json", without parameters. */
struct str media_type(struct str content_type);

/* "number", "object" … as Go's decoder calls JSON's types. */
const char *body_json_kind(const struct value *v);

/* --- shared by body*.c --- */

/* Of a custom resource `type` is the object's own type (and not that of its Scale), which Go has no struct for. */
bool body_is_custom(const struct call *c, const struct type *type);

enum body_strictness { BODY_WARN, BODY_IGNORE, BODY_STRICT };
enum body_strictness body_strictness(const struct call *c);
/* "strict decoding error: …" */
struct str body_strict_text(const struct causes *strict, struct arena *a);
/* As warnings, where the request wants them. */
void body_warn(struct call *c, const struct causes *strict);
/* NULL with the decoder's words in *ret_why when a value has a wrong type. `strict` gets unknown fields. */
const struct value *body_decode(struct call *c, const struct type *type, const struct value *body,
                                struct causes *strict, struct str *ret_why);
/* An empty list of managedFields means "forget the owners", though decoding drops empty lists. */
const struct value *body_with_emptied_owners(const struct value *object, const struct value *body, struct arena *a);
/* The version that body_with_kind() is to fill in. A custom resource's Scale without one stays so: owners need to know.
 */
struct str body_version(const struct call *c, const struct type *type, const struct value *object,
                        struct str api_version);
const struct value *body_with_kind(const struct value *object, struct str api_version, struct str kind,
                                   struct arena *a);
/* What keeps the server from reading version and kind, in its words; empty: nothing. */
struct str body_kind_fault(const struct value *body, struct arena *a);
/* Custom resources are decoded without a scheme: which type the body says it is of is validated at last. */
void body_note_type(struct call *c, const struct value *body);

/*
 * What a body's JSON text says beyond its value: duplicates, and the order of unknown fields. `strict` has what
 * body_decode() found, and gets that instead.
 */
void body_read_text(struct call *c, const struct type *type, struct str text, struct causes *strict);

/*
 * The JSON of what a merge patch or JSON patch made of `live`, as the server prints it: what the patch led through with
 * sorted keys, the rest in Go's order of fields (`t` NULL: sorted as well) or as `patch_text` has it.
 */
struct str body_patched_text(const struct type *t, const struct value *live, const struct value *patch,
                             struct str patch_text, const struct value *document, struct arena *a);

#endif

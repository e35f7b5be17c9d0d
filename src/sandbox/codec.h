/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request's body to an object that may be stored: decoding against the type (unknown and duplicate fields,
 * wrong JSON types, canonical spelling of quantities and times, omitted empty values), defaults, pruning, validation.
 * One function a stage, each pure (validation is validate.h). The order is the API server's: decode → (patch) →
 * default → admission → validate.
 *
 * Messages are the server's, because tests and people read them: `spec.replicas: Invalid value: -1: must be greater
 * than or equal to 0`. Checked by tests/cluster/fidelity.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_CODEC_H
#define TRUCE_SANDBOX_CODEC_H

#include "sandbox/types.h"
#include "sandbox/validate.h"

/*
 * Decodes strictly or not. Unknown and duplicate fields go to `strict` as the texts of a strict decoding error
 * (`unknown field "spec.foo"`), in the server's order; they are dropped (built-in kinds, CRDs prune later). A value of
 * a wrong JSON type is INVAL with the server's message (400: `… cannot unmarshal string into Go struct field …` for
 * built-in kinds). `text_duplicates`: duplicate keys found in the body's text (json_parse keeps the last).
 */
int codec_decode(const struct type *t, const struct value *body, bool is_crd, struct arena *a,
                 const struct value **ret_object, struct causes *strict, struct err *err);

/* OpenAPI defaults of the type, then (built-in kinds) the Go defaulting functions of defaults.c. */
const struct value *codec_default(const struct type *t, struct str api_version, struct str kind,
                                  const struct value *object, struct arena *a);

/* Structural pruning of a CR: undeclared fields go, except under preserve-unknown-fields. */
const struct value *codec_prune(const struct type *t, const struct value *object, struct arena *a);

/* Patches. INVAL / CONFLICT-free: the messages are the server's for a 400 or 422. */
int patch_json(const struct value *doc, const struct value *patch, struct arena *a, const struct value **ret_doc,
               struct err *err);
const struct value *patch_merge(const struct value *doc, const struct value *patch, struct arena *a);
int patch_strategic(const struct type *t, const struct value *doc, const struct value *patch, struct arena *a,
                    const struct value **ret_doc, struct err *err);

#endif

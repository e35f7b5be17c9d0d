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
 * Decodes a body against its type: built-in kinds as Go reads and prints them; custom resources (`is_crd`) keep what
 * they have, except that metadata is decoded, undeclared fields are pruned, and nulls that may not be null and have no
 * default go. Numbers, quantities, times and base64 are spelt as the server prints them; stringData of a Secret is in
 * its data. metadata that only the server sets stays for the caller to clean.
 *
 * Unknown fields are dropped and told in `strict` (NULL: nobody asks): only `message` is set, to the text of a strict
 * decoding error (`unknown field "spec.foo"`), in the keys' order, which is the server's for a body that a program
 * printed; codec_strict() has the text's order and duplicates too. INVAL is a value of a wrong JSON type, with the Go
 * decoder's message; a creation or an update puts `Deployment in version "v1" cannot be handled as a Deployment: ` in
 * front of it and answers 400, a patch answers 422 with it.
 */
int codec_decode(const struct type *t, const struct value *body, bool is_crd, struct arena *a,
                 const struct value **ret_object, struct causes *strict, struct err *err);

/* A custom resource that says it is of another kind: nothing of the schema holds for it, only its own metadata is read.
 */
int codec_decode_odd(const struct type *t, const struct value *body, struct arena *a, const struct value **ret_object,
                     struct causes *strict, struct err *err);

/*
 * The same for what a strategic merge patch made of an object: the server converts there instead of decoding, with
 * other words (`unrecognized type: int32`) and milder rules for numbers.
 */
int codec_convert(const struct type *t, const struct value *body, struct arena *a, const struct value **ret_object,
                  struct causes *strict, struct err *err);

/* The same of a built-in kind as Go holds it: empty lists and maps of the body stay, where printing omits them. */
int codec_hold(const struct type *t, const struct value *body, struct arena *a, const struct value **ret_object);

/*
 * Unknown and duplicate fields of a body's JSON text (which json_parse() took), in the text's order, at most 100, each
 * once. Of a custom resource only the duplicates are in that order; its unknown fields come from codec_decode().
 */
void codec_strict(const struct type *t, struct str text, struct causes *strict);
/* Only the duplicates, of any JSON: what a patch is read into has no fields. */
void codec_duplicates(struct str text, struct causes *strict);
/* The same of a JSON patch, whose operations have fields. */
void codec_operations(struct str text, struct causes *strict);

/* The numbers of what is applied, as YAML's reader gives them on: 1e3 and 1000.0 are 1000. */
const struct value *codec_numbers(const struct value *config, struct arena *a);

/* Of a custom resource only metadata, its own and that of embedded resources: what is merged is not decoded again. */
int codec_metadata(const struct type *t, const struct value *object, struct arena *a, const struct value **ret_object,
                   struct err *err);

/* OpenAPI defaults, and for built-in kinds what their Go defaulting functions do. Also for what is read from a file. */
const struct value *codec_default(const struct type *t, struct str api_version, struct str kind,
                                  const struct value *object, struct arena *a);

/*
 * Without the fields that the registry takes out of every object (struct type_field's `dropped`). It does so when
 * owners are computed already: they keep them.
 */
const struct value *codec_drop(const struct type *t, const struct value *object, struct arena *a);

/* Only the pruning of codec_decode() for a custom resource: for stored objects whose schema changed. */
const struct value *codec_prune(const struct type *t, const struct value *object, struct arena *a);

/*
 * Patches. The messages are the server's; the code says what it answers: PARSE 400 BadRequest with the message, INVAL
 * 422 Invalid with "the server rejected our request due to an error in our request" instead of it, INTERNAL 500. Merge
 * patches that are no objects are the caller's to refuse. What a patch yields has to be decoded: codec_decode() after
 * the first two, codec_convert() after the third.
 */
/* Operations and their members are of the right types; PARSE when not. With fieldValidation=Ignore nobody looks. */
int patch_json_check(const struct value *patch, struct err *err);
/* Members of a wrong type count as missing. */
int patch_json(const struct value *doc, const struct value *patch, struct arena *a, const struct value **ret_doc,
               struct err *err);
const struct value *patch_merge(const struct value *doc, const struct value *patch, struct arena *a);
int patch_strategic(const struct type *t, const struct value *doc, const struct value *patch, struct arena *a,
                    const struct value **ret_doc, struct err *err);

/* What a strategic merge patch that could be merged into `doc` is then: without directives that were followed. */
const struct value *patch_left(const struct type *t, const struct value *doc, const struct value *patch,
                               struct arena *a);

/* A JSON value as Go's %v prints it, which the server's refusals of strategic merge patches quote. */
struct str patch_go_text(const struct value *v, struct arena *a);

#endif

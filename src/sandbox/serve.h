/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs, one function each: they set the call's answer. serve.c finds out which one a request means.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_SERVE_H
#define TRUCE_SANDBOX_SERVE_H

#include "sandbox/sandbox_impl.h"

struct table_now; /* table.h */

/* What form of an object the client accepts. */
enum form { FORM_OBJECT, FORM_TABLE, FORM_PARTIAL };

void serve_get(struct call *c, enum form form);
void serve_list(struct call *c, enum form form);
void serve_watch(struct call *c, enum form form);
void serve_create(struct call *c);
void serve_update(struct call *c);
void serve_patch(struct call *c);
void serve_apply(struct call *c);
void serve_delete(struct call *c);
void serve_delete_collection(struct call *c);
/* /scale: get, update, patch. */
void serve_scale(struct call *c, enum kube_method method);
/* POST of pods/binding, pods/eviction, serviceaccounts/token, PUT of namespaces/finalize; reviews. */
void serve_special(struct call *c, enum kube_method method);

/* Puts a Pod on a node, as its /binding does. */
void serve_bind(struct call *c, struct version *live, struct str node);

/* Discovery and everything else that is no resource; false when the path is not one of them. */
bool serve_other(struct call *c, struct str path);
/* /openapi/v3 and below. */
bool serve_openapi(struct call *c, struct str path);

/* --- shared by verbs --- */

/* The live version or NULL with 404 as answer. */
struct version *serve_live(struct call *c);
/* fieldManager, dryRun and fieldValidation of a write; `options` is "CreateOptions" … -1: refused. */
int serve_write_options(struct call *c, const char *options, bool is_apply);
/* Reads label and field selectors. */
int serve_selector(struct call *c, struct selector *ret);
/* Does the name (or namespace) in a body differ from the one in the path? */
int serve_check_names(struct call *c, const struct value *object);
/* What a creation cannot bring along, taken away. */
const struct value *serve_wiped(const struct value *object, struct arena *a);
/* Puts the object into the request's namespace; refused when it names another. */
int serve_place(struct call *c, const struct value **object);
/* A uid in the body of a PUT is a precondition of the storage. `live` NULL: there is no object. */
int serve_check_uid(struct call *c, const struct value *live, const struct value *object);
bool serve_is_apply(const struct call *c);
/* The configuration in an apply's body. Refused when it is no object of that version and kind. */
int serve_config(struct call *c, struct str api_version, struct str kind, const struct value **ret);
/* Keys the body has twice: warnings, or a refusal. For when the apply itself has worked. */
int serve_config_strict(struct call *c);
int serve_conflicts(struct call *c, const void *conflicts);
/* Answers with the JSON of any value. */
void serve_value(struct call *c, int status, const struct value *v);

/* The same object in a Table or as PartialObjectMetadata; `versions` are of the call's kind. */
void table_answer(struct call *c, struct version *const *versions, size_t count, struct str list_meta);
/* The object of a watch event in this form. */
void form_add(struct buf *out, const struct kind *kind, enum form form, bool with_columns, struct version *v,
              const struct table_now *now);
/* `"kind":…,"apiVersion":…,` and the rest of the object, braces included. */
void form_add_object(struct buf *out, const struct kind *kind, struct version *v, struct arena *a);
void form_add_partial(struct buf *out, struct version *v);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field ownership, as the API server records it in metadata.managedFields.
 *
 * Which lists are keyed and which maps are atomic is known for the kinds that every cluster has; for a custom kind it
 * comes from its CustomResourceDefinition, given as `crd` (NULL otherwise). What neither says stays unknown, and
 * nothing is guessed from it.
 */
#ifndef TRUCE_OWN_API_H
#define TRUCE_OWN_API_H

#include <truce/value.h>

#ifdef __cplusplus
extern "C" {
#endif

struct truce_owners;

/*
 * Who owns what stands at a JSON pointer into the live object, "/spec/template/spec/containers/0/image"; the empty
 * pointer asks for everybody who owns anything. Inside an atomic list or map it is the owner of the whole. None is an
 * answer, not a failure. NOTFOUND when there is nothing at the pointer; INVAL for a bad pointer or an object without
 * apiVersion and kind; PARSE when managedFields cannot be read.
 */
TRUCE_API int truce_owners(const struct truce_value *live, const struct truce_value *crd, const char *pointer,
                           struct truce_owners **ret_owners, char **ret_message);
TRUCE_API void truce_owners_free(struct truce_owners *owners);

/* The path as the API server prints it, `.spec.template.spec.containers[name="web"].image`; borrowed. */
TRUCE_API const char *truce_owners_path(const struct truce_owners *owners);
TRUCE_API size_t truce_owners_count(const struct truce_owners *owners);

/*
 * Of owner number i, in the order of managedFields; borrowed, never NULL. The operation is "Apply" or "Update", the
 * subresource empty for the object itself, the time RFC 3339 or empty.
 */
TRUCE_API const char *truce_owner_manager(const struct truce_owners *owners, size_t i);
TRUCE_API const char *truce_owner_operation(const struct truce_owners *owners, size_t i);
TRUCE_API const char *truce_owner_subresource(const struct truce_owners *owners, size_t i);
TRUCE_API const char *truce_owner_time(const struct truce_owners *owners, size_t i);

/* Every path owner number i has in the object, one a line, in the server's order. */
TRUCE_API char *truce_owner_fields(const struct truce_owners *owners, size_t i);

/*
 * Would a server-side apply of `desired` as field manager "truce" leave `live` as it is? *ret_proven true: it would
 * change nothing, neither a value nor an owner nor the generation. False: it is not proven, and a dry-run has to say;
 * *ret_why (NULL: not wanted) then names the first obstacle. `desired` is the body of the apply. INVAL for an object
 * without apiVersion and kind; PARSE when managedFields cannot be read.
 */
TRUCE_API int truce_apply_is_no_op(const struct truce_value *desired, const struct truce_value *live,
                                   const struct truce_value *crd, bool *ret_proven, char **ret_why, char **ret_message);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second half of every write: from an object that is decoded, defaulted and has its managedFields to a new version
 * in the store (admission, what the kind's strategy resets, validation, storing, telling). Used by requests
 * (serve_write.c) and by the sandbox's own controllers.
 *
 * Objects go in and out in the API version of call->kind; the store holds call->kind->storage.
 *
 * Each returns 0, or -1 with the refusal written into the call's answer.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_WRITE_H
#define TRUCE_SANDBOX_WRITE_H

#include "sandbox/sandbox_impl.h"
#include "sandbox/ssa.h"

/* The live object in the call's version. */
const struct value *write_live(const struct call *c, const struct version *live);
/* managedFields of anything but an apply. `live` NULL: a creation. */
const struct value *write_managed(const struct call *c, const struct value *live, const struct value *object);
/* What the call's endpoint and versions mean to ssa.h. `versions` is the caller's memory. */
struct ssa_request write_ssa_request(const struct call *c, const struct value *live, struct ssa_versions *versions);

/*
 * Creates. Metadata of the server's (uid, times, generation) is made here, a name too. *ret (may be NULL) is the new
 * version, to be unreferenced.
 */
int write_create(struct call *c, const struct value *object, struct version **ret);

/*
 * Replaces `live` by `object`. Nothing is stored when nothing changed; removes the object when its last finalizer went
 * away. *ret (may be NULL): the resulting version, to be unreferenced.
 */
int write_update(struct call *c, struct version *live, const struct value *object, struct version **ret);

/* Stores as it is: no admission, no validation. For what the server itself changes (deletionTimestamp, finalizers). */
struct version *write_store(struct call *c, struct version *live, const struct value *object);

struct delete_options {
        bool has_grace;
        int64_t grace_s;
        struct str propagation;           /* "Foreground", "Background", "Orphan" or empty */
        bool has_propagation;             /* given, if only as an empty text (for serve_delete.c, which refuses it) */
        bool has_orphan, orphan;          /* orphanDependents, deprecated */
        struct str uid, resource_version; /* preconditions; empty: none */
        bool has_uid, has_resource_version;
};

/*
 * Deletes, or marks as being deleted. *ret_gone: is it gone? *ret (may be NULL): the last state of the object, to be
 * unreferenced.
 */
int write_delete(struct call *c, struct version *live, const struct delete_options *o, bool *ret_gone,
                 struct version **ret);
/* Takes it out of the store now. The result is to be unreferenced. */
struct version *write_remove(struct call *c, struct version *live, const struct value *last);

/* ---- for controllers: whole writes, as `call->manager`; NULL or -1 when the server would refuse ---- */

/* Aims the call at a resource (its stored version), namespace and name; false when it is not served. */
bool write_aim(struct call *c, struct str group, struct str plural, struct str namespace, struct str name);
/* The version at which the call is aimed, borrowed, or NULL. */
struct version *write_find(const struct call *c);
/* Creates from an object that need not be defaulted. */
int write_make(struct call *c, const struct value *object);
/* Updates the object (subresource empty) or its status. `object` need not be defaulted. */
int write_change(struct call *c, struct version *live, const struct value *object, const char *subresource);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metadata.managedFields as a table of owners.
 *
 * An owner is (manager, operation, subresource); Update entries are also told apart by apiVersion. The same name with
 * Apply and with Update is two owners. Ours is manager "truce", operation Apply, no subresource.
 *
 * Two names are nobody's: `ancient-changes` (the server merged the oldest of more than ten Update entries) and
 * `before-first-apply` (what stood in an object without managedFields when it was first applied).
 *
 * Invariants: entries keep the server's order; a `struct managed` borrows from the value or text it was read from and
 * from the arena. An entry whose fieldsV1 cannot be read keeps its name and has set NULL and `broken`.
 *
 * Thread rule: plain data.
 */
#ifndef TRUCE_OWN_MANAGED_H
#define TRUCE_OWN_MANAGED_H

#include "own/fieldset.h"
#include "own/intern.h"

#define OWN_MANAGER "truce"
#define OWN_KEEPER  "truce-keeper"

/* Entries of one object. The server caps Update entries at ten and has no cap on Apply entries. */
#define MANAGED_MAX_ENTRIES 256

enum managed_operation {
        MANAGED_APPLY,
        MANAGED_UPDATE,
};

struct managed_entry {
        struct str manager;
        enum managed_operation operation;
        struct str subresource; /* empty: the object itself */
        struct str api_version;
        struct str time;            /* RFC 3339, empty in the reduced form */
        bool creation;              /* an Update of the very second the object was made: it owns defaults as well */
        const struct fieldset *set; /* NULL when broken */
        bool broken;
};

struct managed {
        const struct managed_entry *entries;
        size_t count;
};

/*
 * Reads the owners of a whole object (one without managedFields has none). PARSE when managedFields is no list of maps
 * or an operation is neither Apply nor Update, LIMIT above MANAGED_MAX_ENTRIES. A bad set does not fail the object: see
 * `broken`.
 */
int managed_parse(const struct value *object, struct arena *a, struct managed *ret_managed, struct err *err);

/* The entry of one owner; NULL when absent. `api_version` empty: any. */
const struct managed_entry *managed_find(const struct managed *m, struct str manager, enum managed_operation operation,
                                         struct str subresource, struct str api_version);
/* Our Apply entry, or NULL. */
const struct managed_entry *managed_ours(const struct managed *m);
/* A keeper's Update entry whose set has the path, or NULL. */
const struct managed_entry *managed_keeper_of(const struct managed *m, const struct schema *type,
                                              struct field_path p);
bool managed_is_ours(const struct managed_entry *e);
bool managed_is_keeper(const struct managed_entry *e);
/* `ancient-changes`, `before-first-apply`. */
bool managed_is_ancient(const struct managed_entry *e);
bool managed_is_before_first_apply(const struct managed_entry *e);

/*
 * Who owns what stands at the path: every entry whose set covers it (own/fieldset.h; `type` is the root's, NULL: unknown).
 * Entries in order, at most `max` into ret; returns how many there are in all. Broken entries own nothing here.
 */
size_t managed_owners(const struct managed *m, const struct schema *type, struct field_path p,
                      const struct managed_entry **ret, size_t max);
/* As above, also those that only own something below the path. */
size_t managed_touching(const struct managed *m, const struct schema *type, struct field_path p,
                        const struct managed_entry **ret, size_t max);
/* Does anyone but us (and, with_keeper false, the keeper) own the path? The first such entry, or NULL. */
const struct managed_entry *managed_other_owner(const struct managed *m, const struct schema *type, struct field_path p,
                                                bool with_keeper);

/*
 * What decisions need, and no more: no times, and of status entries only what they own outside status (the server's own
 * status writers apply whole objects for some kinds and then share paths of spec). `a` holds the new table.
 */
struct managed managed_reduce(const struct managed *m, struct arena *a);

/* The reduced form for a cache: names and sets as interned texts. */
struct managed_packed;
struct managed_packed *managed_pack(const struct managed *m, struct intern_pool *pool);
void managed_packed_free(struct managed_packed *p);
DEFINE_CLEANUP(struct managed_packed *, managed_packed_free)
/* Reads it back, whole: p may go while the result is used. CORRUPT only if memory was damaged. */
int managed_unpack(const struct managed_packed *p, struct arena *a, struct managed *ret_managed, struct err *err);
/* Bytes of the pack itself, without the shared texts. */
size_t managed_packed_bytes(const struct managed_packed *p);

#endif

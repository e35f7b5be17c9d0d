/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of field paths: FieldsV1, the form in which the API server records who owns what.
 *
 * On the wire a set is a JSON trie: `f:name` a field, `k:{json}` an item of a keyed list, `v:json` an item of a set,
 * `i:n` an index; `{}` under an element says the element itself is in the set; `.` says the same where the element has
 * children too. Here a node is in the set (`member`) and has children; a node with neither exists only as the empty
 * root. In memory both spellings of a leaf are the same.
 *
 * Invariants: immutable; children sorted by path_element_cmp() and unique; every node below the root is a member or
 * has children; the root itself is never a member. Operations share unchanged parts with their arguments, so results
 * live no longer than the arguments' arenas.
 *
 * Limits: depth JSON_MAX_DEPTH (the parser's), size that of the object it came in.
 *
 * Thread rule: readable from any thread once built.
 */
#ifndef TRUCE_OWN_FIELDSET_H
#define TRUCE_OWN_FIELDSET_H

#include "own/path.h"
#include "own/schema.h"

struct fieldset_child;

struct fieldset {
        bool member;
        const struct fieldset_child *children;
        size_t count;
};

struct fieldset_child {
        struct path_element element;
        struct fieldset set;
};

extern const struct fieldset fieldset_empty;

/*
 * Reads a `fieldsV1` value. PARSE for anything but maps, unknown element prefixes, bad keys, and `.` with content: the
 * server skips what it does not know, but a set we understand in part must not prove anything. A `.` at the root is
 * dropped, as the server does. `fields` NULL or null reads as the empty set.
 */
int fieldset_parse(const struct value *fields, struct arena *a, const struct fieldset **ret_set, struct err *err);
/* As above, from JSON text. */
int fieldset_parse_text(struct str text, struct arena *a, const struct fieldset **ret_set, struct err *err);

/* Canonical FieldsV1 text: compact, in the server's order. Equal sets give equal text. */
void fieldset_print(const struct fieldset *set, struct buf *out);
struct str fieldset_text(struct arena *a, const struct fieldset *set);
/* The same as a value, to be put into a body. */
const struct value *fieldset_to_value(struct arena *a, const struct fieldset *set);

bool fieldset_is_empty(const struct fieldset *set);
bool fieldset_equal(const struct fieldset *a, const struct fieldset *b);
struct hash128 fieldset_hash(const struct hash_key *key, const struct fieldset *set);

/* Plain set algebra over member paths: an owned ancestor is one path, it does not stand for what is below it. */
const struct fieldset *fieldset_union(struct arena *a, const struct fieldset *x, const struct fieldset *y);
const struct fieldset *fieldset_intersect(struct arena *a, const struct fieldset *x, const struct fieldset *y);
const struct fieldset *fieldset_subtract(struct arena *a, const struct fieldset *x, const struct fieldset *y);

/* As subtract, and what is below a member of `y` goes too: x without the whole of what y names. */
const struct fieldset *fieldset_subtract_whole(struct arena *a, const struct fieldset *x, const struct fieldset *y);

/* Is exactly this path a member? */
bool fieldset_contains(const struct fieldset *set, struct field_path p);
/*
 * Does the set own what stands at the path: the path is a member, or an ancestor is a leaf that has one owner as a whole?
 * A leaf that `type` (of the root) shows to be a granular map or list was emptied by others: nothing of what came into it
 * since is its owner's. Where nothing is known of the type a leaf owns what is below.
 */
bool fieldset_covers(const struct fieldset *set, const struct schema *type, struct field_path p);
/* Is the path or anything below it a member? */
bool fieldset_touches(const struct fieldset *set, struct field_path p);

/* With the path added; without exactly this path (parents left with nothing vanish, those with `.` stay). */
const struct fieldset *fieldset_insert(struct arena *a, const struct fieldset *set, struct field_path p);
const struct fieldset *fieldset_remove(struct arena *a, const struct fieldset *set, struct field_path p);
/* The members at and below the path, as a set from the root; and the set without them. */
const struct fieldset *fieldset_under(struct arena *a, const struct fieldset *set, struct field_path p);
const struct fieldset *fieldset_without(struct arena *a, const struct fieldset *set, struct field_path p);
/* The node at a path (its `member` and children), or NULL. Of one step: the child, or NULL. */
const struct fieldset *fieldset_at(const struct fieldset *set, struct field_path p);
const struct fieldset *fieldset_child(const struct fieldset *set, const struct path_element *e);

/* All member paths in order; the array and its elements live in the arena. */
size_t fieldset_paths(const struct fieldset *set, struct arena *a, const struct field_path **ret_paths);
/* How many member paths. */
size_t fieldset_count(const struct fieldset *set);

/*
 * Without what the server never tracks: apiVersion, kind, metadata itself and metadata.{name, namespace, uid,
 * generation, resourceVersion, creationTimestamp, selfLink, managedFields, clusterName}. Labels, annotations,
 * finalizers and ownerReferences stay.
 */
const struct fieldset *fieldset_strip(struct arena *a, const struct fieldset *set);
/* Is it one of those paths? */
bool fieldset_is_stripped(struct field_path p);

/*
 * The set an apply of this object would own (already stripped). *ret_exact (may be NULL) is false when the schema left
 * something open that matters: there lists were taken as atomic and maps as structs. A keyed item whose key cannot be
 * told is entered by index and makes the set inexact.
 */
const struct fieldset *fieldset_of_value(const struct value *object, const struct schema *type, struct arena *a,
                                         bool *ret_exact);
/* The same with what is never tracked (fieldset_strip) still in it: every path the object spells out. */
const struct fieldset *fieldset_of_all(const struct value *object, const struct schema *type, struct arena *a);

/*
 * A node under construction. Children may come in any order; empty sets are skipped, equal elements join. Uses the heap
 * until fieldset_build_end(), which leaves the builder empty; fieldset_build_drop() only frees.
 */
struct fieldset_builder {
        struct fieldset_child *children;
        size_t count, cap;
};
void fieldset_build_add(struct fieldset_builder *b, struct path_element element, struct fieldset set);
struct fieldset fieldset_build_end(struct fieldset_builder *b, struct arena *a, bool member);
void fieldset_build_drop(struct fieldset_builder *b);

#endif

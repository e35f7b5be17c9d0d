/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path into a Kubernetes object as field ownership names it: fields, items of associative lists by their keys,
 * items of sets by their value, items of other lists by index. It is the path of FieldsV1 (structured-merge-diff's
 * PathElement), not a JSON pointer: `.spec.containers[name="c"].image` stays the same when containers are reordered.
 *
 * Invariants: a path is plain data and borrows; its elements, names and values live in an arena the caller knows.
 * The empty path names the whole object.
 *
 * Thread rule: immutable once built.
 */
#ifndef TRUCE_OWN_PATH_H
#define TRUCE_OWN_PATH_H

#include "base/value.h"
#include "own/schema.h"

/* In the order the server sorts them. */
enum path_kind {
        PATH_FIELD, /* f:name */
        PATH_KEY,   /* k:{"name":"c"} */
        PATH_VALUE, /* v:"text" */
        PATH_INDEX, /* i:0 */
};

struct path_element {
        enum path_kind kind;
        struct str name;           /* FIELD */
        const struct value *value; /* KEY: a map of the key fields; VALUE: the item itself */
        int64_t index;             /* INDEX */
};

struct field_path {
        const struct path_element *elements;
        size_t count;
};

/* A field element; borrows the name. */
struct path_element path_field(struct str name);

/* The server's order: fields, keys, values, indexes; within a kind by name or by value (numbers, strings, booleans). */
int path_element_cmp(const struct path_element *a, const struct path_element *b);
bool field_path_equal(struct field_path a, struct field_path b);
/* Is `a` the path `b` or an ancestor of it? */
bool field_path_covers(struct field_path a, struct field_path b);

/*
 * Reads an element as FieldsV1 spells it ("f:spec", "k:{…}"). PARSE for an unknown prefix, bad JSON or a key that is
 * no map of scalars and nulls. The bytes are borrowed, parsed JSON goes into the arena.
 */
int path_element_parse(struct str text, struct arena *a, struct path_element *ret_element, struct err *err);
/* The reverse: canonical FieldsV1 spelling. */
void path_element_spell(const struct path_element *e, struct buf *out);

/*
 * A dotted path of plain fields, with or without the leading dot (".spec.replicas", a CRD's specReplicasPath). INVAL
 * for an empty name or brackets. Names with dots in them cannot be written this way.
 */
int field_path_from_dotted(struct str text, struct arena *a, struct field_path *ret_path, struct err *err);
/* The path with one more element, in the arena. */
struct field_path field_path_join(struct arena *a, struct field_path parent, struct path_element last);
/* Does it name a list item by its place? */
bool field_path_has_index(struct field_path p);
struct field_path field_path_dup(struct arena *a, struct field_path p);

/*
 * As the API server prints it in a conflict's `field`: `.spec.template.spec.containers[name="c"].image`, set items
 * `[="x"]`, indexes `[0]`. Not reversible for names with dots: compare paths, or printed text with printed text.
 */
void field_path_print(struct field_path p, struct buf *out);
struct str field_path_text(struct arena *a, struct field_path p);
/* Short form for tables: no leading dot, the key's values only: `spec.template.spec.containers[c].image`. */
void field_path_print_short(struct field_path p, struct buf *out);

/*
 * The list item that `e` (KEY, VALUE or INDEX) names in `list`; its place goes to *ret_at when not NULL. Key fields an
 * item does not spell out are filled from the schema's defaults. NULL when there is none.
 */
const struct value *path_item_find(const struct value *list, const struct path_element *e, const struct schema *type,
                                   size_t *ret_at);
/* The element under which the schema files this item of a list: KEY or VALUE. False when it cannot be told. */
bool path_item_element(const struct value *item, const struct schema *list_type, struct arena *a,
                       struct path_element *ret_element);

/* The schema of what stands at the path, of `type` that of the root; NULL when unknown. */
const struct schema *field_path_type(const struct schema *type, struct field_path p);
/* What stands at the path, or NULL. `type` is the schema of `root`. */
const struct value *field_path_find(const struct value *root, struct field_path p, const struct schema *type);

/*
 * Copies of `root` with the path removed or set; everything else is shared. Maps that become empty stay (an empty map
 * is owned, an absent one is not: use field_path_prune() for the first). Setting makes missing maps on the way, never
 * list items: NOTFOUND then. Removing what is not there gives root itself.
 */
const struct value *field_path_remove(struct arena *a, const struct value *root, struct field_path p,
                                      const struct schema *type);
/* As field_path_remove(), and maps left empty by it go too, up to the nearest list item or the root. */
const struct value *field_path_prune(struct arena *a, const struct value *root, struct field_path p,
                                     const struct schema *type);
/* Both for many paths at once, which all name what they name in `root`: also indexes. */
const struct value *field_paths_remove(struct arena *a, const struct value *root, const struct field_path *paths,
                                       size_t count, const struct schema *type);
const struct value *field_paths_prune(struct arena *a, const struct value *root, const struct field_path *paths,
                                      size_t count, const struct schema *type);
/*
 * As field_paths_prune(), for what is applied beside others: a member of a map with free keys stays, empty, where `live` has
 * something in it. To the API server such a member is an item: an apply that lets go of it takes away all that is in it,
 * whoever owns that.
 */
const struct value *field_paths_leave(struct arena *a, const struct value *root, const struct field_path *paths,
                                      size_t count, const struct schema *type, const struct value *live);
int field_path_set(struct arena *a, const struct value *root, struct field_path p, const struct schema *type,
                   const struct value *value, const struct value **ret_root, struct err *err);

#endif

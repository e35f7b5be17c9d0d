/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths as people write them in rules, and what such a path covers.
 *
 * Read is the text that the API server prints in conflicts and `truce owners` prints: `.spec.replicas`,
 * `.spec.template.spec.containers[name="api"].env[name="REGION"].value`, `[containerPort=80,protocol="TCP"]`, items of
 * sets `[="x"]`, indexes `[0]`; key values are JSON, the leading dot may be left out. So is a JSON pointer, when it
 * begins with "/"; it cannot name list items.
 *
 * Names with dots. The server prints a name as it is, so `.metadata.labels.app.kubernetes.io/name` could be one label or
 * a map in a map. It is read at every dot, and a path read so is a *pattern*: one name of a real path stands for as many
 * parts of the pattern as it has dots (field_pattern_fit()), so it covers exactly the paths that print so. Where one
 * name is meant, whatever is in it, it may stand in brackets: `.metadata.labels["app.kubernetes.io/name"]`. A name that
 * holds "[" can be written in that way only.
 *
 * Keys. A pattern need not say all keys of an item: `ports[containerPort=80]` covers that port under each protocol.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_OWN_PATH_READ_H
#define TRUCE_OWN_PATH_READ_H

#include "own/fieldset.h"

#define FIELD_PATH_MAX_BYTES 4096

/*
 * Reads a path. INVAL, with a hint of what to write instead where there is one, for anything else; LIMIT above
 * FIELD_PATH_MAX_BYTES. Everything is copied into the arena.
 */
int field_path_read(struct str text, struct arena *a, struct field_path *ret_path, struct err *err);

/*
 * The spelling that field_path_read() reads as this very path: as the server prints it, but names that hold a dot, a
 * bracket or a quote, and empty ones, stand in brackets.
 */
void field_path_spell(struct field_path p, struct buf *out);

enum pattern_fit {
        PATTERN_APART,  /* neither */
        PATTERN_COVERS, /* the path is what the pattern names, or below it */
        PATTERN_BELOW,  /* the path is an ancestor of what the pattern names */
};
enum pattern_fit field_pattern_fit(struct field_path pattern, struct field_path p);

struct path_list {
        struct field_path *paths;
        size_t count;
};

void path_list_add(struct path_list *list, struct arena *a, struct field_path p);

/*
 * Adds the real paths that the pattern names in an object, or in a set of paths, when they are not in the list yet. List
 * items are told by the schema; without one, by the keys that the pattern says.
 */
void field_pattern_find(struct field_path pattern, const struct value *root, const struct schema *type, struct arena *a,
                        struct path_list *list);
void field_pattern_find_in(struct field_path pattern, const struct fieldset *set, struct arena *a,
                           struct path_list *list);

#endif

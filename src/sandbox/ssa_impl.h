/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of server-side apply share: the managers of one object, the run of one request, and the walks that
 * only make sense in between.
 */
#ifndef TRUCE_SANDBOX_SSA_IMPL_H
#define TRUCE_SANDBOX_SSA_IMPL_H

#include "sandbox/ssa.h"

/* --- managers (ssa_managers.c) --- */

/*
 * One manager and what it owns. `id` is the server's identity of a manager: who, by which operation, through which
 * subresource, and of updates in which version.
 */
struct ssa_entry {
        struct str id;
        struct managed_entry e;
};

/* Sorted by id. */
struct ssa_managers {
        struct ssa_entry *items;
        size_t count, cap;
};

/* Reads a managedFields list (NULL: none). INVAL with the server's words for what it could not read. */
int ssa_managers_read(const struct value *list, struct arena *a, struct ssa_managers *ret, struct err *err);
/* The list in the server's order, NULL when there are none. */
const struct value *ssa_managers_write(const struct ssa_managers *m, struct arena *a);
struct ssa_entry *ssa_managers_find(const struct ssa_managers *m, struct str id);
/* Adds, or replaces the entry of that id. */
void ssa_managers_put(struct ssa_managers *m, struct arena *a, struct ssa_entry entry);
void ssa_managers_remove(struct ssa_managers *m, struct str id);
/* Those that own nothing go. */
void ssa_managers_drop_empty(struct ssa_managers *m);
/* More than ten Update entries: the oldest become ancient-changes, one for each apiVersion. */
void ssa_managers_cap(struct ssa_managers *m, struct arena *a);
/* An entry without a set, its id made. */
struct ssa_entry ssa_entry_make(struct managed_entry e, struct arena *a);

/* The list of an object, NULL when it has none or null; and the object with another one (NULL: without). */
const struct value *ssa_entries_of(const struct value *object);
const struct value *ssa_with_entries(const struct value *object, const struct value *list, struct arena *a);

/* --- sets (ssa_set.c) --- */

/* With every declared field that has members below it as a member itself (EnsureNamedFieldsAreMembers). */
const struct fieldset *ssa_set_with_named(const struct fieldset *set, const struct schema *type, struct arena *a);
/* Where the type became atomic since the set was written: the node instead of what was below it. */
const struct fieldset *ssa_set_reconcile(const struct fieldset *set, const struct schema *type, struct arena *a);
/* Without the paths nobody owns: apiVersion, kind, metadata.name … */
const struct fieldset *ssa_set_strip(const struct fieldset *set, struct arena *a);
/* All member paths in the server's order: at each level members first, then what is below. */
size_t ssa_set_paths(const struct fieldset *set, struct arena *a, const struct field_path **ret_paths);

/* --- one request (ssa_run.c) --- */

struct ssa_run {
        const struct type *type;
        const struct ssa_request *how;
        struct arena *arena;
        struct ssa_managers managers;
};

/* An object as one version of its kind sees it. */
struct ssa_view {
        const struct schema *schema;
        const struct value *object;
};

/* The object in that version. NOTFOUND: there is none and that is no failure. INVAL: it is (gone_fails). */
int ssa_view_make(const struct ssa_run *r, const struct value *object, struct str api_version, struct ssa_view *ret,
                  struct err *err);
/* Drops entries of versions that are gone, and fits sets to today's types. */
int ssa_reconcile(struct ssa_run *r, const struct value *live, struct err *err);
/*
 * Takes from all managers but `own` what changes between `from` and `to`: what is removed, and what has another value
 * now. Without force the latter is a CONFLICT. *ret_own: what changed in the request's version, reset fields left out.
 */
int ssa_take(struct ssa_run *r, const struct value *from, const struct value *to, struct str own, bool force,
             struct ssa_comparison *ret_own, struct ssa_conflicts *ret_conflicts, struct err *err);
/* The whole of an update's bookkeeping: `to` is what `manager` made of `from`. */
int ssa_run_update(struct ssa_run *r, const struct value *from, const struct value *to, struct str manager,
                   struct err *err);
/* What the server compares a creation with. */
const struct value *ssa_nothing(const struct ssa_run *r, const struct value *of);

/* --- apply's parts --- */

/*
 * As ssa_validate(), but items may be repeated. Built-in kinds always fit by now; a custom resource may not (a set of
 * maps is a fine structural schema, and nothing that server-side apply can deal with).
 */
int ssa_validate_stored(const struct type *type, const struct value *object, struct err *err);

/* What `own` applied last time and does not apply now leaves the merged object (ssa_prune.c). */
int ssa_prune(struct ssa_run *r, const struct value **merged, const struct ssa_entry *last, struct err *err);

/*
 * kubectl's way from client-side to server-side apply (ssa_lastapplied.c): are all conflicts with what the annotation
 * says kubectl wrote itself? The rest stays in *conflicts; false also when there is no usable annotation.
 */
bool ssa_last_applied_allows(const struct ssa_run *r, const struct value *live, struct ssa_conflicts *conflicts);
/* Keeps the annotation of `object`, if it has one, up to date with `config`. */
const struct value *ssa_last_applied_update(const struct value *object, const struct value *config, struct arena *a);

/* A text in Go's %q spelling (ssa_text.c). */
void ssa_add_quoted(struct str text, struct buf *out);
/* As Go prints a value of an unstructured object: %v, %#v and %T. */
void ssa_add_go(const struct value *v, struct buf *out);
void ssa_add_go_syntax(const struct value *v, struct buf *out);
const char *ssa_go_type(const struct value *v);

#endif

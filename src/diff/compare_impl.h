/* SPDX-License-Identifier: Apache-2.0 */
/* Private to diff/: the walk over two trees. compare.c opens and closes it, compare_walk.c and compare_list.c walk. */
#ifndef TRUCE_DIFF_COMPARE_IMPL_H
#define TRUCE_DIFF_COMPARE_IMPL_H

#include "base/limits.h"
#include "diff/compare.h"

/* Everything here is masked already. */
struct walk {
        const struct diff_input *in;
        struct arena *arena;
        const struct value *before, *after, *desired;
        struct managed before_owners, after_owners;
        const struct fieldset *ours_before, *ours_after; /* never NULL */
        bool blind;                                      /* nothing is known of owners: then all is ours */
        struct path_element stack[JSON_MAX_DEPTH];
        size_t depth;
        struct diff_entry *entries; /* heap */
        size_t count, cap, left_out;
};

/* Where the walk stands; borrowed until it goes on. */
static inline struct field_path walk_path(const struct walk *w) {
        return (struct field_path){ w->stack, w->depth };
}

/* Compares what stands at the path on both sides; one of them may be NULL. */
void walk_values(struct walk *w, const struct value *before, const struct value *after, const struct schema *type);
/* As above, one step down. */
void walk_step(struct walk *w, struct path_element step, const struct value *before, const struct value *after,
               const struct schema *type);
/* Two lists that are not equal; an absent one is empty. */
void walk_lists(struct walk *w, const struct value *before, const struct value *after, const struct schema *type);

/* Whose is what stands at the path? */
enum diff_class walk_class(const struct walk *w);
/* Notes a difference at the path. */
void walk_emit(struct walk *w, enum diff_kind kind, const struct value *before, const struct value *after);

/* Can the items of both lists be told apart by the keys some set uses at the path? Then *ret_type says how. */
bool walk_guess_keys(const struct walk *w, struct schema *ret_type);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sets made node by node, and the difference that takes whole branches away. */
#include <stdlib.h>

#include "own/fieldset.h"

void fieldset_build_add(struct fieldset_builder *b, struct path_element element, struct fieldset set) {
        if (fieldset_is_empty(&set))
                return;
        b->children = mem_grow(b->children, &b->cap, b->count + 1, sizeof *b->children);
        b->children[b->count++] = (struct fieldset_child){ element, set };
}

static int child_cmp(const void *x, const void *y) {
        const struct fieldset_child *a = x, *b = y;

        return path_element_cmp(&a->element, &b->element);
}

/* Most callers add in order already. */
static bool is_sorted(const struct fieldset_builder *b) {
        for (size_t i = 1; i < b->count; i++)
                if (child_cmp(&b->children[i - 1], &b->children[i]) >= 0)
                        return false;
        return true;
}

static void join_equal(struct fieldset_builder *b, struct arena *a) {
        size_t out = 0;

        qsort(b->children, b->count, sizeof *b->children, child_cmp);
        for (size_t i = 0; i < b->count; i++) {
                struct fieldset_child *last = out ? &b->children[out - 1] : NULL;

                if (last && child_cmp(last, &b->children[i]) == 0)
                        last->set = *fieldset_union(a, &last->set, &b->children[i].set);
                else
                        b->children[out++] = b->children[i];
        }
        b->count = out;
}

struct fieldset fieldset_build_end(struct fieldset_builder *b, struct arena *a, bool member) {
        struct fieldset set = { .member = member };

        if (b->count > 1 && !is_sorted(b))
                join_equal(b, a);
        if (b->count) {
                struct fieldset_child *children = arena_alloc(a, b->count * sizeof *children);

                memcpy(children, b->children, b->count * sizeof *children);
                set.children = children;
                set.count = b->count;
        }
        fieldset_build_drop(b);
        return set;
}

void fieldset_build_drop(struct fieldset_builder *b) {
        free(b->children);
        *b = (struct fieldset_builder){ 0 };
}

static struct fieldset subtract_whole(struct arena *a, const struct fieldset *x, const struct fieldset *y) {
        struct fieldset_builder b = { 0 };

        for (size_t i = 0; i < x->count; i++) {
                const struct fieldset_child *child = &x->children[i];
                const struct fieldset *gone = fieldset_child(y, &child->element);

                if (!gone)
                        fieldset_build_add(&b, child->element, child->set);
                else if (!gone->member)
                        fieldset_build_add(&b, child->element, subtract_whole(a, &child->set, gone));
        }
        return fieldset_build_end(&b, a, x->member);
}

const struct fieldset *fieldset_subtract_whole(struct arena *a, const struct fieldset *x, const struct fieldset *y) {
        if (fieldset_is_empty(y))
                return x;
        struct fieldset *box = arena_alloc(a, sizeof *box);

        *box = subtract_whole(a, x, y);
        return box;
}

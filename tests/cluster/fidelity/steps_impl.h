/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that make steps share. A maker fills a step for its verb: method, path, body. Paths end in "?" until
 * step_finish, so that each query can be added in the same way.
 */
#ifndef TRUCE_FIDELITY_STEPS_IMPL_H
#define TRUCE_FIDELITY_STEPS_IMPL_H

#include "steps.h"

#define JSON_TYPE "application/json"

static inline bool chance(struct episode *e, unsigned percent) {
        return random_chance(&e->random, percent);
}
static inline unsigned below(struct episode *e, unsigned bound) {
        return random_below(&e->random, bound);
}

/* Of an object, or (NULL) of the collection; `sub` as "/status", or empty. */
struct buf step_path(const struct episode *e, const struct subject *s, const char *sub);
void step_query(struct buf *path, const char *name, const char *value);
/* A selector beside the episode's own, which lists outside of namespaces need; it may be empty. */
void step_add_labels(struct episode *e, struct buf *path, const char *selector);
/* By chance, of labels and of fields. */
void step_add_selectors(struct episode *e, struct buf *path);
/* The path becomes the step's; the buffer ends. */
void step_finish(struct episode *e, struct buf *path, struct step *s);
/* Now and then with a doubled key. */
void step_set_body(struct episode *e, struct step *s, const char *type, const struct value *body);
/* One seen in this episode, as a label. */
struct str step_random_version(struct episode *e);
/* Has it two managers or more? */
bool subject_is_shared(const struct subject *s);

void ask_create(struct episode *e, struct subject *s, struct step *step);
void ask_get(struct episode *e, struct subject *s, struct step *step);
void ask_list(struct episode *e, struct subject *s, struct step *step);
void ask_update(struct episode *e, struct subject *s, struct step *step);
void ask_patch(struct episode *e, struct subject *s, struct step *step);
void ask_apply(struct episode *e, struct subject *s, struct step *step);
void ask_status(struct episode *e, struct subject *s, struct step *step);
void ask_scale(struct episode *e, struct subject *s, struct step *step);
void ask_delete(struct episode *e, struct subject *s, struct step *step);
void ask_deletecollection(struct episode *e, struct subject *s, struct step *step);
void ask_watch(struct episode *e, struct subject *s, struct step *step);

#endif

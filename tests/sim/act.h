/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a story: what people, operators, Git and misfortune do. One row of the table in act.c is one step.
 */
#ifndef TRUCE_SIM_ACT_H
#define TRUCE_SIM_ACT_H

#include "words.h"
#include "world.h"

/* The keys of a step's verb, itself first; NULL: it has none that is known. */
const struct word *act_words(const struct value *step);
/* Does it now. A step that is refused by the sandbox fails the run unless it says `mayFail: true`. */
void act(struct world *w, const struct value *step);

/* "deployments.apps shop/web", "widgets.v1.example.io shop/w", "namespaces shop". */
struct ref {
        struct str plural, version, group, ns, name;
};
bool ref_parse(struct str text, struct ref *ret_ref);
struct str ref_path(const struct ref *r, struct arena *a);
/* "configmaps" of "ConfigMap", for the kinds of scenarios. */
struct str act_plural(struct str kind, struct arena *a);
/* The stored object or NULL. */
const struct value *ref_get(const struct world *w, struct str text);

/* The rates of faults that a map names ("lose: 2%"). */
struct wire_rates act_rates(const struct value *map);

/* One request of somebody; the status. `reply` may be NULL. */
int ask(struct world *w, enum kube_method method, struct str path, const char *type, struct str body, struct str user,
        struct arena *a, struct sandbox_reply *reply);

#endif

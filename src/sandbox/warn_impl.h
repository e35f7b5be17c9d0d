/* SPDX-License-Identifier: Apache-2.0 */
/* Private to warn*.c. */
#ifndef TRUCE_SANDBOX_WARN_IMPL_H
#define TRUCE_SANDBOX_WARN_IMPL_H

#include "sandbox/warn.h"

/* A place that a warning names, as text. */
#define PLACE(c, ...) arena_strf((c)->a, __VA_ARGS__)

/* "PLACE: WHAT" */
void warn_at(struct call *c, struct str place, const char *what);

static inline const struct value *warn_item(const struct value *list, size_t i) {
        return list->list.items[i];
}

/* --- warn_pod.c --- */

bool warn_is_pod(const struct call *c);
/* Pods are named after it, or it is one. */
void warn_of_name(struct call *c, const struct value *object);
/* The Pod that it is or the template that it has. */
void warn_of_template(struct call *c, const struct value *object);

/* --- warn_node.c; `place` is that of the Pod's spec --- */

/* Of what its nodeSelector and nodeAffinity ask for. */
void warn_of_nodes(struct call *c, struct str place, const struct value *spec);
/* Here `place` is the label's. */
void warn_of_node_label(struct call *c, struct str place, struct str label);

/* --- warn_volume.c --- */

/* Of an amount of bytes that is no whole number; NULL is none. */
void warn_of_fraction(struct call *c, struct str place, const struct value *amount);
void warn_of_claim_spec(struct call *c, struct str place, const struct value *spec);
/* A StatefulSet's, which the server names in two ways: at its creation, and later. */
void warn_of_claim_templates(struct call *c, const struct value *live, const struct value *templates);
/* `place` is that of the Pod's spec. */
void warn_of_pod_volumes(struct call *c, struct str place, const struct value *volumes);

#endif

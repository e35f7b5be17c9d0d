/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label and field selectors of lists and watches, read as the API server reads them: same grammar, same error texts.
 *
 * Source: apimachinery's labels and fields packages; which fields a kind can be selected by is in
 * k8s.io/kubernetes/pkg/apis/<group>/v1/conversion.go, for CRDs in selectableFields.
 *
 * Thread rule: plain data; a selector borrows from the text and the arena it was made from.
 */
#ifndef TRUCE_SANDBOX_SELECTOR_H
#define TRUCE_SANDBOX_SELECTOR_H

#include "sandbox/kinds.h"

enum selector_op { SELECT_IN, SELECT_NOT_IN, SELECT_EXISTS, SELECT_MISSING, SELECT_ABOVE, SELECT_BELOW };

struct label_requirement {
        struct str key;
        enum selector_op op;
        const struct str *values;
        size_t count;
};

struct field_requirement {
        struct str field;
        struct str value;
        bool differs; /* != */
};

/* Zero selects everything. */
struct selector {
        const struct label_requirement *labels;
        size_t label_count;
        const struct field_requirement *fields;
        size_t field_count;
};

/* INVAL with the server's text. Each sets its half of *ret. */
int select_parse_labels(struct str text, struct arena *a, struct selector *ret, struct err *err);
int select_parse_fields(struct str text, struct arena *a, struct selector *ret, struct err *err);
/* Are they fields that the kind can be selected by (INVAL)? Then they are called as they are stored. */
int select_settle_fields(struct selector *s, const struct kind *kind, struct arena *a, struct err *err);
/* A full copy into another arena. */
struct selector select_dup(const struct selector *s, struct arena *a);

static inline bool select_is_empty(const struct selector *s) {
        return s->label_count == 0 && s->field_count == 0;
}
bool select_field_matches(const struct field_requirement *q, const struct value *object);
bool select_matches(const struct selector *s, const struct value *object);
/* The one name that can match ("metadata.name=x"), or empty. */
struct str select_name(const struct selector *s);

/* A metav1.LabelSelector (matchLabels, matchExpressions) against labels. NULL selects nothing, {} everything. */
bool label_selector_matches(const struct value *selector, const struct value *labels);
/* The same as text, sorted by key, as Scale's status.selector and tables show it. */
struct str label_selector_text(const struct value *selector, struct arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two states of one object, compared field by field: a live object with the answer to a dry-run, or before and after.
 * List items meet by their keys; each difference has the owner of the old value and the line of Git's file. Status and
 * what the server counts up are left out. Values of Secrets are masked, whoever asks.
 */
#ifndef TRUCE_DIFF_API_H
#define TRUCE_DIFF_API_H

#include <truce/value.h>

#ifdef __cplusplus
extern "C" {
#endif

struct truce_diff;

enum truce_diff_format { TRUCE_DIFF_TEXT, TRUCE_DIFF_MARKDOWN, TRUCE_DIFF_JSON };

/*
 * `before` NULL: the object is created, `after` NULL: it goes. `desired` is what Git says, for lines (NULL: not known),
 * `file` its name (NULL: none), `crd` as in truce/own.h. The result borrows nothing. INVAL when both sides are NULL or
 * a document is no object, PARSE when managedFields cannot be read.
 */
TRUCE_API int truce_diff(const struct truce_value *before, const struct truce_value *after,
                         const struct truce_value *desired, const struct truce_value *crd, const char *file,
                         struct truce_diff **ret_diff, char **ret_message);
TRUCE_API void truce_diff_free(struct truce_diff *diff);

/* Is there a difference that somebody wants, rather than a default or the work of an admission plug-in? */
TRUCE_API bool truce_diff_differs(const struct truce_diff *diff);
/* All differences, those too. */
TRUCE_API size_t truce_diff_count(const struct truce_diff *diff);

/* The format as `truce diff -o` prints it, without colour. Empty (JSON: "[]") when nothing differs. */
TRUCE_API char *truce_diff_print(const struct truce_diff *diff, enum truce_diff_format format);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One JSON or YAML document, immutable. Numbers keep what the text said, a present null and an absent key differ, and
 * values from YAML remember their lines.
 *
 * YAML is read as sigs.k8s.io/yaml does, which is how kubectl and the API server's own tools read it.
 */
#ifndef TRUCE_VALUE_API_H
#define TRUCE_VALUE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <truce/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct truce_value;

/* PARSE or LIMIT. The text need not end in NUL. */
TRUCE_API int truce_value_from_json(const char *text, size_t bytes, struct truce_value **ret_value, char **ret_message);

/*
 * The documents of a YAML stream, those that are empty left out, as an array that truce_values_free() frees. PARSE or
 * LIMIT, with the line. Any number of documents is success, also none.
 */
TRUCE_API int truce_values_from_yaml(const char *text, size_t bytes, struct truce_value ***ret_values,
                                     size_t *ret_count, char **ret_message);

TRUCE_API void truce_value_free(struct truce_value *value);
TRUCE_API void truce_values_free(struct truce_value **values, size_t count);

/* Compact JSON with sorted keys: equal documents give equal texts, save for the spelling of numbers. */
TRUCE_API char *truce_value_json(const struct truce_value *value);
TRUCE_API char *truce_value_yaml(const struct truce_value *value);

/* Compact JSON of what stands at a JSON pointer ("/spec/replicas"). NOTFOUND; INVAL when it is no pointer. */
TRUCE_API int truce_value_at(const struct truce_value *value, const char *pointer, char **ret_json, char **ret_message);

/* Equal content; 1, 1.0 and 1e0 are equal. */
TRUCE_API bool truce_value_equal(const struct truce_value *a, const struct truce_value *b);

#ifdef __cplusplus
}
#endif

#endif

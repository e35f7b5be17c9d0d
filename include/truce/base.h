/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtruce: what truce knows of Kubernetes objects, without truce: who owns a field, whether an apply would change
 * anything, what has changed and whose it is. Pure functions over values that the caller reads: no network, no clock,
 * no global state, no threads.
 *
 *   truce/value.h   documents, from JSON and YAML
 *   truce/own.h     owners of a path, the proof that an apply would change nothing
 *   truce/diff.h    two states of an object, compared
 *
 * A function that can fail returns 0 or a negative code; then its outputs are untouched, and *ret_message (where the
 * caller gave one; NULL is fine) is a text for a person: free it with truce_free(). Texts end in NUL and are freed with
 * truce_free() unless they are const. Destructors accept NULL. Bytes from outside are bounded as base/limits.h says;
 * when memory is out the process ends.
 *
 * Thread rule: an object may be read by several threads at once; nothing is shared between objects.
 */
#ifndef TRUCE_BASE_API_H
#define TRUCE_BASE_API_H

#if defined(__GNUC__)
#define TRUCE_API __attribute__((visibility("default")))
#else
#define TRUCE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum truce_code {
        TRUCE_OK = 0,
        TRUCE_INVAL = -1,    /* an argument does not fit */
        TRUCE_NOTFOUND = -2, /* what was asked for is not there */
        TRUCE_LIMIT = -12,   /* deeper, longer or more than is read */
        TRUCE_PARSE = -13    /* the text is not what it should be */
};

/* "0.1.0" */
TRUCE_API const char *truce_version(void);

/* Frees a text; NULL is fine. */
TRUCE_API void truce_free(char *text);

#ifdef __cplusplus
}
#endif

#endif

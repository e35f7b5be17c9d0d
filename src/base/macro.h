/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few macros every file may use: owned locals that free themselves, visible moves of ownership, array lengths.
 */
#ifndef TRUCE_BASE_MACRO_H
#define TRUCE_BASE_MACRO_H

#include <stddef.h>

/*
 * `_cleanup_(foo_freep) struct foo *f = NULL;` frees f when it leaves its scope. "unused" because clang does not count
 * being freed as a use.
 */
#define _cleanup_(fn) __attribute__((cleanup(fn), unused))

/* Defines `foo_freep` for `_cleanup_` from `void foo_free(struct foo *)`, which must accept NULL. */
#define DEFINE_CLEANUP(type, fn)                                                                                       \
        static inline __attribute__((unused)) void fn##p(type *p) {                                                    \
                if (*p)                                                                                                \
                        fn(*p);                                                                                        \
        }

/* Hands a pointer on: the value is returned and the variable becomes NULL, so its cleanup does nothing. */
#define TAKE_PTR(ptr)                                                                                                  \
        ({                                                                                                             \
                typeof(ptr) *_pp = &(ptr);                                                                             \
                typeof(ptr) _p = *_pp;                                                                                 \
                *_pp = NULL;                                                                                           \
                _p;                                                                                                    \
        })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif

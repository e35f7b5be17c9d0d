/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every fuzz target has: its one function, and a check that also stands in builds without assertions. A property
 * that does not hold aborts, which is what a fuzzer looks for.
 */
#ifndef TRUCE_TESTS_FUZZ_H
#define TRUCE_TESTS_FUZZ_H

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define HOLDS(property)                                                                                                \
        do {                                                                                                           \
                if (!(property)) {                                                                                     \
                        fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #property);                  \
                        abort();                                                                                       \
                }                                                                                                      \
        } while (0)

#endif

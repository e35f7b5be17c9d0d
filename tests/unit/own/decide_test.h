/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of decisions: an arena, an index of scalers and a key, new for each test. */
#ifndef TRUCE_TEST_OWN_DECIDE_H
#define TRUCE_TEST_OWN_DECIDE_H

#include "own_test.h"
#include "own/decide.h"

static struct arena *a;
static struct scaler_index *ix;
static const struct hash_key key = { 1, 2 };

static int begin(void **state) {
        (void)state;
        a = arena_new(0);
        ix = scaler_index_new();
        return 0;
}

static int end(void **state) {
        (void)state;
        scaler_index_free(ix);
        arena_free(a);
        return 0;
}

#endif

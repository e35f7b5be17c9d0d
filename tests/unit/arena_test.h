/* SPDX-License-Identifier: Apache-2.0 */
/* What most tests need: an arena, new for each test or each program, however setup() and teardown() are registered. */
#ifndef TRUCE_TEST_ARENA_H
#define TRUCE_TEST_ARENA_H

#include "base/arena.h"

static struct arena *a;

static int setup(void **state) {
        (void)state;
        a = arena_new(0);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        arena_free(a);
        return 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named places where a test may kill the process, as `kill -9` would: TRUCE_FAILPOINT=after-superset truce sync …
 * Only builds with TRUCE_FAILPOINTS defined (debug, asan, tsan) look at the variable; elsewhere it is nothing.
 */
#ifndef TRUCE_AGENT_FAILPOINT_H
#define TRUCE_AGENT_FAILPOINT_H

#ifdef TRUCE_FAILPOINTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static inline void failpoint(const char *name) {
        const char *wanted = getenv("TRUCE_FAILPOINT");

        if (wanted && strcmp(wanted, name) == 0)
                raise(SIGKILL);
}
#else
static inline void failpoint(const char *name) {
        (void)name;
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the health suites that `truce test` found: each by the rules beside it, which come before truce's own.
 */
#ifndef TRUCE_CLI_TEST_HEALTH_H
#define TRUCE_CLI_TEST_HEALTH_H

#include "cli/coverage.h"
#include "cli/report.h"
#include "cli/test_find.h"

struct test_health {
        struct report *report;     /* gets the cases */
        struct coverage *coverage; /* NULL: not asked for */
        int64_t now_ms;            /* Unix time, of cases that name none */
};

/* Of what was found below one folder: the rules of another one do not count here. */
void test_health_run(const struct test_health *t, const struct test_found *found);

#endif

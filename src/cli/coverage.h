/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lines of health rules were run (`truce test --coverage FILE`), as JSON:
 *
 *   {"scripts": [{"file": "health/keda.sh/ScaledObject/health.lua", "lines": 40, "run": [1, 3, 4]}]}
 */
#ifndef TRUCE_CLI_COVERAGE_H
#define TRUCE_CLI_COVERAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "lua/script.h"

struct coverage {
        struct arena *arena; /* set before */
        struct coverage_script *scripts;
        size_t count, cap;
};

/* What the runs of this script fill; the same for the same file. Lives as long as the arena. */
struct lua_coverage *coverage_of(struct coverage *c, struct str file, struct str text);
int coverage_write(const struct coverage *c, struct str path, struct err *err);
/* Frees what is outside of the arena. */
void coverage_done(struct coverage *c);

#endif

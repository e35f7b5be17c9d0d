/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program carries: health/<group>/<Kind>/health.lua and lua/<module>.lua, as they were when it was built.
 * Constants; a `_` in a folder's name is a `*` here.
 */
#ifndef TRUCE_HEALTH_BUNDLE_H
#define TRUCE_HEALTH_BUNDLE_H

#include "base/str.h"

struct bundle_rule {
        struct str group, kind; /* globs */
        const char *name;       /* "health/keda.sh/ScaledObject" */
        const char *file;       /* "health/keda.sh/ScaledObject/health.lua" */
        struct str text;
};

struct bundle_module {
        const char *name; /* "truce" */
        const char *file; /* "lua/truce.lua" */
        struct str text;
};

/* In bytewise order of their files. */
size_t bundle_rules(const struct bundle_rule **ret_rules);
size_t bundle_modules(const struct bundle_module **ret_modules);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario as it stands in its file, a YAML map (docs/SIMULATION.md has the words). Read once, then immutable.
 */
#ifndef TRUCE_SIM_SCENARIO_H
#define TRUCE_SIM_SCENARIO_H

#include "base/buf.h"
#include "base/value.h"

struct scenario {
        struct arena *arena;
        const char *file;
        const char *name; /* the file's, without folder and ".yaml" */
        const struct value *doc;
};

/* NOTFOUND, PARSE, or INVAL with file and line: what words.h does not allow. */
int scenario_load(const char *file, struct scenario **ret_scenario, struct err *err);
void scenario_free(struct scenario *s);
DEFINE_CLEANUP(struct scenario *, scenario_free)

/* All bytes of a file. NOTFOUND, LIMIT. */
int scenario_read(const char *file, struct buf *out, struct err *err);

/* Reading with defaults. Durations are as in "90s"; rates are per cent ("2%", "0.5%") and become per mille. */
int64_t scenario_ms(const struct value *map, const char *key, int64_t otherwise_ms);
int64_t scenario_per_mille(const struct value *map, const char *key);
int64_t scenario_int(const struct value *map, const char *key, int64_t otherwise);
bool scenario_bool(const struct value *map, const char *key, bool otherwise);
struct str scenario_text(const struct value *map, const char *key, const char *otherwise);

#endif

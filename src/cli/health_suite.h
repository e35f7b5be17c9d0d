/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suites of health rules (`truce test`), in Argo CD's format:
 *
 *   <group>/<Kind>/health.lua          the rule
 *   <group>/<Kind>/health_test.yaml    its suite:
 *     tests:
 *     - inputPath: testdata/x.yaml     from the suite's folder; of several documents the first one that is not empty
 *       healthStatus: {status: Progressing, message: 1 of 3 available}    both exact; no status: no health
 *       name: …                        ours: for people
 *       guard: true                    ours: the freshness guard is asked first
 *       now: "2025-01-02T03:04:05Z"    ours: the time that it is
 *
 * "_" in a folder's name stands for "*"; a rule of the core group lies in <Kind>/. As Go's readers do, letter case of
 * keys does not count. Which rule judges follows from the object, not from the folder: the rules that were found
 * together come before those that truce has.
 */
#ifndef TRUCE_CLI_HEALTH_SUITE_H
#define TRUCE_CLI_HEALTH_SUITE_H

#include "base/value.h"
#include "health/health.h"

struct suite_health_case {
        struct str name;           /* or the input's path */
        struct str input;          /* joined with the suite's folder */
        uint32_t line;             /* in the suite */
        enum health_code code;
        struct str message;
        bool guard;
        bool has_now;
        int64_t now_ms;            /* Unix time */
        const char *wrong;         /* what keeps it from being run; the rest does not count then. NULL: nothing */
        uint32_t wrong_line;
};

struct suite_health {
        const struct suite_health_case *cases;
        size_t count;
        struct str *notes;         /* keys that are passed over, "LINE: …" */
        size_t note_count;
};

/* Reads FOLDER/health_test.yaml into the arena. Errors, which begin with "FILE:LINE: ", are of the suite as a whole. */
int suite_health_read(struct str folder, struct arena *a, struct suite_health *ret, struct err *err);

/* The object of a sample. Errors begin with "FILE:LINE: ". */
int suite_health_sample(struct str file, struct arena *a, const struct value **ret, struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `truce test` prints: a line a case for people, TAP 14, JUnit's XML, or JSON.
 *
 * Text from suites and objects is made fit for a terminal in all of them, and for XML in JUnit's.
 */
#ifndef TRUCE_CLI_REPORT_H
#define TRUCE_CLI_REPORT_H

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"

enum report_format { REPORT_PLAIN, REPORT_TAP, REPORT_JUNIT, REPORT_JSON };

enum report_result {
        REPORT_PASSED,
        REPORT_FAILED,
        REPORT_ERROR, /* it could not be run */
};

/* Of health: what a rule says. Both texts empty: no health. */
struct report_health {
        struct str status, message;
};

/* All of it lives in the report's arena. */
struct report_case {
        struct str suite;              /* "keda.sh/ScaledObject"; of ignore cases the folder that holds them */
        struct str name;               /* in its suite: unique enough for people */
        struct str path;               /* what the plain line says */
        struct str file;               /* where it is written; empty: `path` */
        uint32_t line;                 /* in it; 0: none */
        enum report_result result;
        bool is_health;                /* the next three count */
        struct report_health wanted, got;
        struct str rule;               /* which one judged */
        struct str complaints;         /* a line each; empty: it passed */
        int64_t took_us;
};

/* Where it goes as it comes. */
struct report_sink {
        enum report_format format;
        FILE *out;
};

struct report {
        struct arena *arena;           /* set before */
        struct report_sink sinks[2];   /* set before */
        size_t sink_count;
        struct report_case *cases;
        size_t count, cap;
        struct str *notes;             /* what is passed over, a sentence each */
        size_t note_count, note_cap;
        size_t failed, errors;
        size_t rules, suites;          /* of health; counted by the caller */
        size_t action_suites;
};

void report_begin(const struct report *r);
void report_add(struct report *r, const struct report_case *c);
void report_note(struct report *r, struct str text);
void report_end(const struct report *r);
/* Frees what is outside of the arena. */
void report_done(struct report *r);

/* `Degraded: "2 of 3"`, `no health`: for people, on one line. */
void report_add_health(const struct report_health *h, struct buf *out);

#endif

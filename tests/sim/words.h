/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may stand in a scenario: which keys, what each holds, what belongs together. Tables say it; a scenario that does
 * not keep to them is refused before anything runs, for a misspelt expectation must not pass for one that holds.
 */
#ifndef TRUCE_SIM_WORDS_H
#define TRUCE_SIM_WORDS_H

#include "scenario.h"

enum word_type {
        WORD_ANY,
        WORD_TEXT,
        WORD_FLAG,
        WORD_NUMBER,
        WORD_TIME,    /* "90s" */
        WORD_AFTER,   /* a time, or "synced", "settled" */
        WORD_RATE,    /* "2%" */
        WORD_REF,     /* "configmaps shop/a", act.h */
        WORD_POINTER, /* "/data/key" */
        WORD_OBJECTS, /* one, or a list of them */
        WORD_COMMIT,  /* one of `commits` */
        WORD_MARK,    /* the `mark` of a step */
        WORD_TEXTS,   /* a list of texts, none empty */
        WORD_MAP,     /* of `in`, or of anything */
        WORD_MAPS,    /* a list of maps of `in` */
};

/* A list of them ends with a row without a name. */
struct word {
        const char *name;
        enum word_type type;
        bool is_needed;
        const char *among; /* of texts: the only ones, each between blanks; NULL: any */
        const struct word *in;
};

/* INVAL with file and line. */
int words_check(const struct scenario *s, struct err *err);

/* Of steps, act.c: what their verbs hold. */
extern const struct word words_of_rates[], words_of_fault[], words_of_expectation[];

#endif

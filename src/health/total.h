/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An application's health: the worst of its members, and who is to blame.
 *
 * As Argo CD, with two differences of our own: a member that is missing counts as Missing and is named, and Suspended
 * counts as Healthy where a mark says so. Members that are ignored or have no health count for nothing but their
 * number; an application of only such ones is Healthy.
 *
 * Zeroed at first. Names and messages are borrowed until health_total_message() has been called.
 */
#ifndef TRUCE_HEALTH_TOTAL_H
#define TRUCE_HEALTH_TOTAL_H

#include "health/health.h"

/* So many of the worst are named; Argo CD's number. */
#define HEALTH_TOTAL_NAMED 3

struct health_member {
        struct str name; /* "deploy/web" */
        enum health_code code;
        struct str message;
        bool ignored; /* struct health_marks */
        bool suspended_is_healthy;
};

struct health_total {
        enum health_code code;             /* NONE while there is no member */
        size_t counts[HEALTH_UNKNOWN + 1]; /* of members that are not ignored, as they are counted */
        /* private: */
        struct health_member named[HEALTH_TOTAL_NAMED];
        size_t worst; /* how many members are as bad as `code` */
};

void health_total_add(struct health_total *t, const struct health_member *m);
/*
 * "deploy/web: 1 of 3 available; job/seed: 2 failed; and 4 more": in the order they were added, in one line, each cut
 * to a fair share of HEALTH_MAX_MESSAGE_BYTES. Empty when the total is Healthy or NONE.
 */
struct str health_total_message(const struct health_total *t, struct arena *a);

#endif

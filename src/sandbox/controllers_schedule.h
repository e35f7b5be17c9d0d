/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a CronJob is due: five fields (numbers, names, lists, ranges, steps) or @hourly, @daily, @every 5m …, in UTC.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_CONTROLLERS_SCHEDULE_H
#define TRUCE_SANDBOX_CONTROLLERS_SCHEDULE_H

#include "base/str.h"

struct schedule {
        uint64_t minutes, hours, days, months, weekdays; /* bit n: n is in it */
        bool any_day, any_weekday;                       /* "*": only the other one counts */
        int64_t every_ms;                                /* @every; 0: the fields */
};

/* False when it cannot be read. */
bool schedule_parse(struct str text, struct schedule *ret);
/* The first time after `after_ms` (Unix ms), or -1 when there is none within five years. */
int64_t schedule_next(const struct schedule *s, int64_t after_ms);

#endif

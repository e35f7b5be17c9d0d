/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of CronJobs: what is wrong with one, in the words of the parser that the API server uses. */
#ifndef TRUCE_SANDBOX_VALIDATE_CRON_H
#define TRUCE_SANDBOX_VALIDATE_CRON_H

#include "base/arena.h"

/* Empty when the schedule can be read. */
struct str cron_fault(struct str schedule, struct arena *a);
/* Is it a time zone? Looked up among the names this machine's tz database usually has; "UTC" and "Local" always are. */
bool cron_zone_exists(struct str zone);

#endif

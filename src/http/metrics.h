/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Prometheus page: text format 0.0.4. Names begin with truce_; what peers measure under a common name keeps it
 * (rest_client_requests_total). Every series exists from the start.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_HTTP_METRICS_H
#define TRUCE_HTTP_METRICS_H

#include "agent/agent.h"
#include "agent/leader.h"

/* NULL: there is no agent yet; there is no election. */
void metrics_print(const struct agent *agent, const struct leader *leader, int64_t longest_turn_us, struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: events of one shelf, selected, in the form the client asked for. Made by serve_watch(), started and closed
 * by whoever holds the reply (sandbox.h).
 *
 * A selector makes of a change that enters or leaves the selection an ADDED or DELETED. Bookmarks come about once a
 * minute to those who allow them and 2 s before the end, as on the server.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_WATCH_H
#define TRUCE_SANDBOX_WATCH_H

#include "sandbox/serve.h"

/* Ends every watch; of one shelf when not NULL. Those not yet started end when they start. */
void watch_end_all(struct sandbox *s, const struct shelf *shelf);

#endif

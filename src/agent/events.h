/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes Events of what truce notices about an object, for `kubectl describe` and `kubectl events`.
 *
 * An object has one Event for each reason: told again it counts on, with the newest message, at most twice a minute. Events
 * are the second record of what the log and `truce status` say, so nothing waits for them and nothing fails with them: they
 * are sent one at a time, behind all writes; what the server does not take is dropped, and a queue of EVENTS_MAX_WAITING
 * drops what is told beyond it. Warnings are sent first, and in a full queue another one makes room for them.
 *
 * A server that is away or overloaded gets no Event until a pause is over that doubles up to EVENTS_MAX_PAUSE_MS, and no
 * sooner than it asks for; then what waits is sent. A namespace that takes none (no permission, a policy, it is terminating or gone)
 * gets none for EVENTS_REFUSED_MS, and what was told meanwhile is dropped.
 *
 * Bounds: EVENTS_BURST at once, then EVENTS_PER_MINUTE. EVENTS_MAX_KNOWN objects and reasons are remembered, for the hour
 * that the API server keeps Events; the one that rested longest goes first. A message has at most EVENT_MESSAGE_MAX_BYTES.
 *
 * Thread rule: the loop's thread.
 */
#ifndef TRUCE_AGENT_EVENTS_H
#define TRUCE_AGENT_EVENTS_H

#include "base/loop.h"
#include "kube/client.h"

#define EVENTS_MAX_KNOWN        1000
#define EVENTS_MAX_WAITING      100
#define EVENTS_BURST            100
#define EVENTS_PER_MINUTE       60
#define EVENTS_MAX_PAUSE_MS     (10 * 60000)
#define EVENTS_REFUSED_MS       (10 * 60000)
#define EVENT_MESSAGE_MAX_BYTES 1024 /* the API server's own limit */

struct events;

/* What an Event is about; a cluster-wide object's stands in namespace "default". One that could not be made has no uid. */
struct event_object {
        struct str api_version, kind, ns, name, uid, resource_version;
};

struct events *events_new(struct loop *l, struct kube_client *c, struct str installation);
void events_free(struct events *e);
DEFINE_CLEANUP(struct events *, events_free)

/* `reason` is a word in CamelCase. Everything is copied; a message is cut at its bound. */
void events_tell(struct events *e, const struct event_object *about, bool warning, const char *reason, struct str message);

#endif

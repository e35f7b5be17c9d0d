/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election: of all the processes of an installation, one at a time writes. Who that is stands in a Lease
 * (coordination.k8s.io/v1) that they share; whoever holds it renews it, and the others take it when it is free. (For
 * the leases that people take on a field see agent/lease.h.)
 *
 *   l = leader_new(loop, transport, &options, &hooks, ctx);
 *   … all that may write talks through leader_transport(l) …
 *   leader_release(l, released, ctx);     an orderly end
 *
 * The rules (research: client-go's leaderelection, and what went wrong with it):
 *  - Time is the loop's (CLOCK_BOOTTIME, which suspend does not stop) and our own: a Lease of somebody else is over
 *    when it was not seen to change for as long as it says. What it says of *when* it was renewed is for people; no
 *    clock is compared with another. A process that has just started therefore waits for a whole Lease, unless it is
 *    free.
 *  - The holder renews every 2/15 of the Lease's duration, and counts from the moment it sent what succeeded. It may
 *    write for 2/3 of it; the last third is the margin. Each write must end by then (kube/fence.h): its deadline is
 *    shortened, and the server is told it, too.
 *  - Every change of the Lease carries the resourceVersion that it was decided on. After a 409 or an unknown outcome
 *    it is read first.
 *  - The Lease is watched: a free one is taken within milliseconds, one that a person gave away is lost as soon.
 *    While it cannot be watched it is read every now and then.
 *  - A Lease that is deleted under its holder stays the holder's, for those who have seen it, until it would have
 *    been over; the holder writes nothing until it has made it anew.
 *  - First in each turn the holder looks at the clock: after a SIGSTOP, a suspended machine or a turn that took too
 *    long nothing is sent before that.
 *
 * What is lost is lost: writes under way are aborted, none is begun any more, and lost() is told; whoever wants to
 * lead again starts anew. Without rights, namespace or API server nobody leads, which leader_status() tells, and it
 * is tried again. A namespace that is missing is made, as the first leader would.
 *
 * Thread rule: loop thread only; one a loop, as it takes loop_on_turn(). Life cycle: after whoever uses
 * leader_transport(), before the transport and the loop.
 */
#ifndef TRUCE_AGENT_LEADER_H
#define TRUCE_AGENT_LEADER_H

#include "base/err.h"
#include "base/loop.h"
#include "kube/transport.h"

#define LEADER_LEASE_MS     15000
#define LEADER_MIN_LEASE_MS 5000
#define LEADER_MAX_LEASE_MS (60 * 60 * INT64_C(1000)) /* also of what somebody else's Lease is believed */
#define LEADER_DRAIN_MS     5000                      /* an orderly end waits so long for writes under way */

struct leader;

struct leader_options {
        struct str ns, name; /* of the Lease */
        struct str identity; /* another one for each process */
        int64_t lease_ms;    /* 0: LEADER_LEASE_MS */
};

struct leader_hooks {
        /* From now on it may write. Once, and never after leader_release(). */
        void (*leads)(void *ctx);
        /* It led, and does not any more: the process has to end. First in a turn, at times: must not free the leader.
         */
        void (*lost)(void *ctx, const char *why);
};

/* All is copied. Begins in a later turn. */
struct leader *leader_new(struct loop *l, struct kube_transport *t, const struct leader_options *options,
                          const struct leader_hooks *hooks, void *ctx);
/* Without a word to anybody: the Lease runs out by itself. NULL is fine. */
void leader_free(struct leader *leader);
DEFINE_CLEANUP(struct leader *, leader_free)

/* Refuses writes while it does not lead. Dies with it. */
struct kube_transport *leader_transport(const struct leader *leader);

/*
 * An orderly end: no write is begun any more; when those under way are over the Lease is given away, for others to
 * take at once. released() is called once, in a later turn; err NULL: it is free, or was not ours. Otherwise it runs
 * out by itself: it could not be written, or writes were still under way after LEADER_DRAIN_MS. lost() is not called
 * any more.
 */
void leader_release(struct leader *leader, void (*released)(void *ctx, const struct err *err), void *ctx);

/* Texts are borrowed until the next turn. */
struct leader_status {
        bool leads;
        bool knows; /* the Lease was read, or its absence */
        struct str ns, name, identity;
        struct str holder;     /* empty: nobody */
        int64_t transitions;   /* how often it changed hands */
        int64_t renewed_ms;    /* loop time; 0: never held */
        const struct err *err; /* why it cannot be read or written now; code 0: it can */
        uint64_t slow_paths;   /* writes that met another one's */
        uint64_t refused;      /* writes that were not let through */
};
void leader_status(const struct leader *leader, struct leader_status *ret_status);

#endif

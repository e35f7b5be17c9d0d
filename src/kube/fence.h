/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct kube_fence: a kube_transport in front of another one, through which writes go only for as long as somebody
 * says that they may (agent/leader.h: as long as we hold the Lease). Reads, watches and dry-runs always pass.
 *
 * A write is begun only when it can end in time: its deadline is shortened to what is left, and the server is told
 * the same one (`timeout=`, as kubectl's --request-timeout), so that it gives up as well when nobody here is awake to
 * hang up. With less than KUBE_FENCE_MIN_MS left it is refused: done() gets TIMEOUT, which is worth another try, and
 * nothing was sent.
 *
 * Once open it is closed in one of two ways:
 *  - kube_fence_cut(), when others may be writing already: writes under way are aborted. Their outcome is unknown,
 *    their done() gets TIMEOUT.
 *  - kube_fence_drain(), before others are let in: no write is begun, and those under way run to their end, also when
 *    their owners cancel them meanwhile.
 *
 * Thread rule: loop thread only. Life cycle: after its callers, before the transport behind it, which is not its own.
 */
#ifndef TRUCE_KUBE_FENCE_H
#define TRUCE_KUBE_FENCE_H

#include "base/loop.h"
#include "kube/transport.h"

#define KUBE_FENCE_MIN_MS 500

struct kube_fence;

/* Closed at first. */
struct kube_fence *kube_fence_new(struct kube_transport *behind, struct loop *l);
/* Aborts what is under way without callbacks. */
void kube_fence_free(struct kube_fence *f);
DEFINE_CLEANUP(struct kube_fence *, kube_fence_free)

/* What callers are given; kube_transport_free() of it does nothing. */
struct kube_transport *kube_fence_transport(struct kube_fence *f);

/*
 * Writes may be under way until `until_ms` of the loop's clock; a moment that has passed: none may be begun, those
 * under way go on. Nothing once it was cut or drained.
 */
void kube_fence_open(struct kube_fence *f, int64_t until_ms);
/* For good. `drained` is called once, in a later turn, when no write is under way any more; never after
 * kube_fence_cut(). */
void kube_fence_drain(struct kube_fence *f, void (*drained)(void *ctx), void *ctx);
/* For good. */
void kube_fence_cut(struct kube_fence *f);

/* Writes under way. */
size_t kube_fence_writes(const struct kube_fence *f);
/* Writes that were refused, so far. */
uint64_t kube_fence_refused(const struct kube_fence *f);

#endif

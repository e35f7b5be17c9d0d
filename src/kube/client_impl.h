/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What client.c shares with list.c and watch.c: the client's parts, the things that die with it, and the one rule of
 * when a request is sent again.
 */
#ifndef TRUCE_KUBE_CLIENT_IMPL_H
#define TRUCE_KUBE_CLIENT_IMPL_H

#include "kube/client.h"

/*
 * Something under way on a client. Embedded first in its owner; abort() stops and frees it without callbacks. It is
 * also what keeps memory reachable that must wait for a transport's data() to return (see watch.c).
 */
struct kube_task {
        struct kube_task *prev, *next;
        void (*abort)(struct kube_task *task);
        struct loop_timer *slow; /* tells that it takes long; NULL: nobody asked */
};

struct kube_client {
        struct kube_transport *transport;
        struct loop *loop;
        struct kube_task *tasks, *last_task; /* oldest first: what a task started dies through it */
        struct map *warnings; /* texts seen */
        void (*warn)(void *ctx, struct str text);
        void *warn_ctx;
};

void kube_task_add(struct kube_client *c, struct kube_task *task);
void kube_task_remove(struct kube_client *c, struct kube_task *task);
void kube_task_tell_slow(struct kube_client *c, struct kube_task *task, int64_t after_ms, void (*tell)(void *ctx), void *ctx);

/* Tells the hook what is new in a reply's warnings. */
void kube_client_note_warnings(struct kube_client *c, struct str warnings);

/* GET of something that is no object (discovery): path ready, the reply may be KUBE_MAX_REPLY_BYTES long. */
struct kube_op *kube_client_get_document(struct kube_client *c, struct str path, const char *accept, kube_done_fn done,
                                         void *ctx);

/* Sending again within one deadline. */
struct kube_retry {
        int64_t until_ms; /* loop time; no attempt begins after it */
        unsigned tries;   /* attempts after the first */
        bool reconnected; /* the one more attempt after a broken connection is spent */
};

struct kube_retry kube_retry_make(struct loop *l, int64_t deadline_ms);

/* What is left of the deadline for the next attempt, at least 1 ms. */
int64_t kube_retry_left_ms(const struct kube_retry *r, struct loop *l);

/* Is an exchange that ended so to be tried again, and after how long? `is_read`: repeating it can do no harm. */
bool kube_retry_again(struct kube_retry *r, struct loop *l, bool is_read, const struct kube_reply *reply,
                      const struct err *err, int64_t *ret_delay_ms);

#endif

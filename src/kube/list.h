/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct kube_list: one LIST, in pages, item by item while the bytes come in. No page is ever held whole.
 *
 * An item is the raw bytes of one element of "items". **Items of built-in kinds carry neither apiVersion nor kind**:
 * the caller knows them from what it asked for.
 *
 * All pages show the moment of the first one. When the server has compacted that moment away (410 for a continue token)
 * the whole list starts over once, after restart(); a second 410 ends it with GONE. 429 and 503 with Retry-After are
 * waited for as in kube/client.h, page by page; a page that broke off is an error (its items were handed out already).
 *
 * A page of which no byte comes for KUBE_LIST_SILENCE_MS starts the list over, too, up to KUBE_LIST_MAX_STALLS times: a
 * member of a balanced control plane may hang, and another connection find a better one.
 *
 * Memory: one item. Thread rule: loop thread only.
 */
#ifndef TRUCE_KUBE_LIST_H
#define TRUCE_KUBE_LIST_H

#include "kube/client.h"

#define KUBE_LIST_SILENCE_MS 6000
#define KUBE_LIST_MAX_STALLS 3

struct kube_list_spec {
        struct kube_location at; /* name and subresource empty */
        struct str label_selector;
        struct str field_selector;
        /* Empty: consistent (a quorum read). Otherwise a resourceVersion that the answer must not be older than. */
        struct str not_older_than;
        uint32_t page_items;      /* 0: KUBE_LIST_PAGE_ITEMS */
        int64_t page_deadline_ms; /* 0: KUBE_DEFAULT_DEADLINE_MS, for each page, its retries included */
};

struct kube_list_handler {
        /* One object's bytes, borrowed. Negative ends the list with that error. Must not cancel the list. */
        int (*item)(void *ctx, struct str object, struct err *err);
        /* Forget the items so far: they come again. NULL is allowed. */
        void (*restart)(void *ctx);
        /*
         * The end, once. err NULL: all items were given and `resource_version` is the moment they show: watch from
         * there (empty from the few aggregated APIs that have none). Otherwise status holds the details of a refusal
         * (rv_too_large, not_served …; code 0 when the error is none of the server's).
         */
        void (*done)(void *ctx, struct str resource_version, const struct kube_status *status, const struct err *err);
};

struct kube_list;

/* Starts it; `spec` is copied. Callbacks begin in a later turn. */
struct kube_list *kube_list_start(struct kube_client *c, const struct kube_list_spec *spec,
                                  const struct kube_list_handler *handler, void *ctx);

/* No callback runs after it. Not after done() began. NULL is fine. */
void kube_list_cancel(struct kube_list *l);

/* As kube_op_tell_slow(): of all pages together. */
void kube_list_tell_slow(struct kube_list *l, int64_t after_ms, void (*tell)(void *ctx), void *ctx);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices that the documents of --config, or health rules of --health-dir, are others than before, and reads them anew:
 * every RELOAD_LOOK_MS, on a pool thread, by what stat() says; a mounted ConfigMap is noticed by its links. Documents
 * that are being written are read when two looks in a row find them the same. Documents of the cluster
 * (agent/config_cluster.h) are held in the same way; as long as there was no whole picture of them nothing is read at
 * all.
 *
 * Thread rule: loop thread.
 */
#ifndef TRUCE_CLI_RELOAD_H
#define TRUCE_CLI_RELOAD_H

#include "cli/session.h"

#define RELOAD_LOOK_MS 2000

struct reload;

/*
 * err NULL: `fresh` is the configuration that the documents give now, and the callee's to close; else why they give
 * none.
 */
typedef void (*reload_changed)(void *ctx, struct session *fresh, const struct err *err);

/*
 * NULL where there are no documents and no folder of health rules. The session must have been configured, and stays as
 * it was. With a `cluster`, which outlives the reload, what the session has is not the whole configuration: the first
 * one is told when it can be read.
 */
struct reload *reload_new(const struct session *s, struct config_cluster *cluster, struct loop *l, reload_changed changed,
                          void *ctx);
/* Looks now, not when it is time. NULL is accepted. */
void reload_now(struct reload *r);
/* Not from reload_changed(). A look that is under way ends without a word. NULL is accepted. */
void reload_free(struct reload *r);

#endif

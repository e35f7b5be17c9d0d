/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the agent keeps what must survive a restart: ConfigMaps with the inventory of each application, and one Secret
 * with the installation's key for fingerprints, all in truce's own namespace.
 *
 *   Secret     truce-<installation>                      data.key: 16 random bytes
 *   ConfigMap  truce-inventory-<application>[-<shard>]   data.objects: the text of sync/inventory.h
 *                                                        data.status (shard 0): JSON for `truce status`
 *              labels: truce.dev/inventory=<application>, truce.dev/inventory-of=<installation>
 *
 * Writes (merge patches, so that the rights of an apply suffice) carry the resourceVersion that was read: when somebody else wrote an inventory, store_save() gives CONFLICT and
 * the application must be loaded and decided anew. Inventories never carry the installation label, so they are never
 * taken for applied objects.
 *
 * Thread rule: loop thread only. done() runs in a later turn; one call per application at a time.
 */
#ifndef TRUCE_AGENT_STORE_H
#define TRUCE_AGENT_STORE_H

#include "base/hash.h"
#include "kube/client.h"
#include "sync/inventory.h"

#define STORE_LABEL_INVENTORY "truce.dev/inventory"
#define STORE_LABEL_INSTALLATION "truce.dev/inventory-of"
#define STORE_NAME_PREFIX "truce-inventory-"

struct store;

/* `namespace` is truce's own, `installation` a DNS label; both are copied. */
struct store *store_new(struct loop *l, struct kube_client *c, struct str namespace, struct str installation);
/* Cancels what is under way without callbacks. */
void store_free(struct store *s);
DEFINE_CLEANUP(struct store *, store_free)

/*
 * Reads the key, or draws and writes one; makes the namespace when it is missing and we may. done(err NULL) on success;
 * FORBIDDEN says which right is missing.
 */
void store_open(struct store *s, bool read_only, void (*done)(void *ctx, const struct err *err), void *ctx);
/* After store_open(). With read_only and no stored key, a key of this process: no stored fingerprint exists then. */
const struct hash_key *store_key(const struct store *s);

/* One application's stored inventory, and what is needed to write it again. */
struct store_app;
struct store_app *store_app_new(struct store *s, struct str application);
/* slow() runs for each request, and for each load, that takes longer than `after_ms`. Without it nobody is told. */
void store_on_slow(struct store_app *a, int64_t after_ms, void (*slow)(void *ctx), void *ctx);
void store_app_free(struct store_app *a);
DEFINE_CLEANUP(struct store_app *, store_app_free)

/* Reads all shards. The inventory is given to the caller; empty when none is stored. CORRUPT: do not prune, do not save. */
void store_load(struct store_app *a, void (*done)(void *ctx, struct inventory *inv, const struct err *err), void *ctx);

#define STORE_MAX_STATUS_BYTES (32 * 1024)

/* The status text as loaded or saved last; empty before. Borrowed until the next call. */
struct str store_status(const struct store_app *a);

/*
 * Writes the shards whose text changed since it was loaded or saved (new shards first); without a change done() comes
 * without a request. The inventory is printed at once and may change afterwards.
 */
void store_save(struct store_app *a, const struct inventory *inv, struct str status,
                void (*done)(void *ctx, const struct err *err), void *ctx);
/* The same of the status alone: the stored inventory stays as it is, and an empty one is begun when there is none. */
void store_save_status(struct store_app *a, struct str status, void (*done)(void *ctx, const struct err *err), void *ctx);
bool store_is_busy(const struct store_app *a);

#endif

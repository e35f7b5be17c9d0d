/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inventory: what one application has applied, or is about to. It is what prune works from, and what survives a
 * restart; the agent keeps it in ConfigMaps (agent/store.h), this module knows its content and its text form only.
 *
 * Invariants that make a crash harmless at any point:
 *  - Before the first write of a sync the stored inventory is a superset of everything that sync may create
 *    (INVENTORY_PENDING entries), so nothing that exists is ever unknown.
 *  - An object that left Git stays as a tombstone until the API server says that it is gone.
 *  - An object that existed before us is marked ADOPTED before we touch it; adopted objects are never pruned.
 *
 * An object's id is "group/Kind/namespace/name" with an empty group for the core API and an empty namespace for
 * cluster-scoped objects. The version is not part of it: the same object may be written through another version.
 *
 * Text form: one header line, then one line an object, fields parted by TAB (no Kubernetes name can hold one):
 *   truce-inventory 1 <shards>
 *   id  version  uid  fingerprint  flags  file  [holds: since:path,since:path, in hexadecimal]
 * Absent fields are "-"; the last one stands there only while holds go on. Large inventories are spread over shards by hash of the id; the number of shards is a power of
 * two and never shrinks. Growing writes the new shards first; while both exist an id may be in two of them, which
 * reading accepts: the line in the shard it belongs to wins.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SYNC_INVENTORY_H
#define TRUCE_SYNC_INVENTORY_H

#include "base/hash.h"
#include "base/map.h"
#include "base/value.h"

#define INVENTORY_SHARD_OBJECTS 2500 /* about 600 KB of text; a ConfigMap holds 1 MiB */
#define INVENTORY_MAX_SHARDS 64

enum inventory_flag {
        INVENTORY_PENDING = 1 << 0,   /* may not exist yet, or come again: announced, or an apply of it was given up and may arrive */
        INVENTORY_ADOPTED = 1 << 1,   /* existed before us */
        INVENTORY_TOMBSTONE = 1 << 2, /* left Git, not seen gone yet */
        INVENTORY_KEEP = 1 << 3,      /* Prune=false, Delete=false or helm keep, as last applied */
        INVENTORY_SCALED = 1 << 4,    /* its replicas were an autoscaler's when it was looked at last */
        INVENTORY_ALONG = 1 << 5,     /* never was in Git: made along with the application, and KEEP */
};

struct inventory_hold {
        uint64_t id;      /* of the path */
        int64_t since_ms; /* wall clock */
};

struct inventory_entry {
        char *id;           /* owned */
        char *version;      /* API version it was last written through; owned */
        char *uid;          /* owned; NULL: not known */
        char *file;         /* where it stands, or stood, in Git; owned; NULL: not known */
        struct hash128 fingerprint;
        bool has_fingerprint;
        unsigned flags;     /* enum inventory_flag */
        bool buried;        /* not stored: this process made it a tombstone */
        bool asked;         /* not stored: its deletion was asked for, and not refused */
        int64_t stray_until_ms; /* not stored: an apply of it was given up, and may arrive until then; 0: none was */
        unsigned kept;      /* not stored: why it stayed when it had left Git, enum prune_verdict; 0: it was not judged so */
        struct inventory_hold *holds; /* paths that wait to be taken back; owned */
        size_t hold_count, hold_cap;
};

/* The parts of an id, borrowed from it. */
struct inventory_id {
        struct str group, kind, namespace, name;
};

struct inventory;

struct inventory *inventory_new(void);
void inventory_free(struct inventory *inv);
DEFINE_CLEANUP(struct inventory *, inventory_free)

/* False when `id` does not have four parts with a kind and a name. */
bool inventory_id_split(struct str id, struct inventory_id *ret_parts);

size_t inventory_count(const struct inventory *inv);
struct inventory_entry *inventory_find(const struct inventory *inv, struct str id);
/* Finds, or adds an entry without uid, fingerprint and flags. `id` must be well formed. */
struct inventory_entry *inventory_add(struct inventory *inv, struct str id, struct str version);
bool inventory_remove(struct inventory *inv, struct str id);
/* Setters copy; the empty string clears. */
void inventory_set_uid(struct inventory_entry *e, struct str uid);
void inventory_set_version(struct inventory_entry *e, struct str version);
void inventory_set_file(struct inventory_entry *e, struct str file);
/* Two of one path are one: the earlier stays. Ending what is none is false. */
void inventory_begin_hold(struct inventory_entry *e, uint64_t id, int64_t since_ms);
bool inventory_end_hold(struct inventory_entry *e, uint64_t id);
void inventory_set_fingerprint(struct inventory_entry *e, const struct hash128 *fingerprint); /* NULL clears */

/* All entries sorted by id; free() the array, the entries are borrowed. */
struct inventory_entry **inventory_sorted(const struct inventory *inv, size_t *ret_count);

/* How many shards the inventory takes now: at least `at_least` (a power of two, what is stored already). */
unsigned inventory_shards(const struct inventory *inv, unsigned at_least);

/* The text of shard number `shard` of `shards`. Same content gives the same bytes. */
void inventory_print(const struct inventory *inv, unsigned shard, unsigned shards, struct buf *out);

/*
 * Reads one stored shard into the inventory, which may hold other shards already. ret_shards is the number its header
 * names. CORRUPT with the line for text that inventory_print() did not write; the inventory then keeps the lines before
 * it, and the caller must not prune.
 */
int inventory_parse(struct inventory *inv, unsigned shard, struct str text, unsigned *ret_shards, struct err *err);

#endif

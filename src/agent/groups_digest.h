/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of one object that the group reconciler looks at; of groups_cache.c alone.
 *
 * Texts are in an arena of the digest's own. What is a tree (the data of a ControllerRevision, a selector, a Node's
 * labels) is kept as text, which is a tenth of the size, and read when it is asked for.
 *
 * Thread rule: plain data.
 */
#ifndef TRUCE_AGENT_GROUPS_DIGEST_H
#define TRUCE_AGENT_GROUPS_DIGEST_H

#include "agent/groups_cache.h"
#include "base/hash.h"
#include "group/names.h"

struct digest {
        struct kept kept; /* owner: "namespace/name" of the LeaderWorkerSet that its label names; empty: none */
        struct arena *arena;
        struct str owner_uid; /* of its controller; empty: none */
        struct str text;      /* what is kept as text: canonical JSON; empty: nothing */
        int64_t found_ms;     /* when it was found under a name of the set's; 0: its label says that it belongs there */
        union {
                struct group_pod pod;
                struct group_service service;
                struct group_claim claim;
                struct group_stored_revision revision;
                bool by_lws; /* of a StatefulSet: the manager `lws` wrote it */
                struct {
                        struct group_node is;
                        bool unschedulable;
                        int64_t created_ms;
                        struct hash128 room; /* of what it can hold and of its taints */
                } node;
        };
};

/* NULL for what is no object with a name and a uid. */
struct digest *digest_read(enum groups_table table, struct str bytes);
void digest_free(struct digest *d);

/* Would the scheduler use the Node? */
bool digest_node_is_usable(const struct digest *d);

/* What struct group_observed has of it, whole in the arena. */
struct group_pod digest_pod(const struct digest *d, struct arena *a);
struct group_service digest_service(const struct digest *d, struct arena *a);
struct group_claim digest_claim(const struct digest *d, struct arena *a);
struct group_stored_revision digest_stored_revision(const struct digest *d, struct arena *a);
struct group_node digest_node(const struct digest *d, struct arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that applying a desired object would change nothing, from the live object alone: no request, no history.
 *
 * It holds when our entry's apiVersion is the desired one, every desired leaf is covered by an owned leaf or an owned
 * atomic node, every owned path is desired, values are equal as text, keyed lists and sets have no repeated item and
 * ours stand in Git's relative order. It may fail although nothing would change (a default the schema does not know; a
 * respelled quantity, unless own/respell.h followed it first); it never holds when the server would change the object, our
 * set or its generation. Where the schema is unknown and matters, it fails. tests/cluster/diff_proof holds it against a real server.
 */
#ifndef TRUCE_OWN_PROOF_H
#define TRUCE_OWN_PROOF_H

#include "own/managed.h"

enum proof_reason {
        PROOF_HOLDS,
        PROOF_NOT_OURS,    /* we have no readable Apply entry */
        PROOF_VERSION,     /* entry, desired and live object are not of one apiVersion and kind */
        PROOF_IDENTITY,    /* metadata the server sets stands in Git, or names differ */
        PROOF_NOT_OWNED,   /* Git has a path we do not own */
        PROOF_NOT_DESIRED, /* we own a path that Git no longer has */
        PROOF_VALUE,       /* values differ, or are spelt differently */
        PROOF_ABSENT,      /* owned and desired, yet not in the live object */
        PROOF_ORDER,       /* our items stand in another order */
        PROOF_REPEATED,    /* a list repeats a key or a set item */
        PROOF_SCHEMA,      /* what we know of the type does not decide it */
        PROOF_NULL,        /* Git has an explicit null */
};

struct proof {
        bool holds;
        enum proof_reason reason;
        struct str path; /* of the first obstacle, as people read it; in the arena; empty when it holds */
};

/* `desired` is the object as it would be sent, without uid and resourceVersion. Never fails: it holds or it does not.
 */
struct proof proof_no_op(const struct value *desired, const struct value *live, const struct managed *m,
                         const struct schema *type, struct arena *a);

/* "not owned", "spelt or valued differently" …: for logs and `truce owners`. */
const char *proof_reason_text(enum proof_reason reason);

#endif

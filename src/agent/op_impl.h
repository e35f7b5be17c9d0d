/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of an op share: op.c has its rounds, op_send.c its requests, op_answer.c what comes back, op_end.c its
 * end. Functions that end an op or begin a round are the last thing their caller does: the op may be gone, or its round.
 */
#ifndef TRUCE_AGENT_OP_IMPL_H
#define TRUCE_AGENT_OP_IMPL_H

#include "agent/app_impl.h"
#include "agent/ignore.h"

#define OP_MAX_ROUNDS 12 /* requests of one op; a contested object is given up on and retried later */

enum op_await { OP_NOTHING, OP_GET, OP_DRY_RUN, OP_APPLY, OP_PATCH };

struct op {
        struct item *item;
        struct app *app;
        struct cluster_kind *kind;
        struct kube_op *call;
        char *asked_rv;            /* of the object in the cache when it was asked for; NULL: it was not there */
        struct loop_timer *again;  /* begins a round after a lost race */
        struct arena *arena;       /* of this round */
        struct ignore_search *ignoring; /* jq programs are asked; in the arena */
        void (*go_on)(struct op *op, const struct err *unknown); /* then */
        struct type type;          /* of this round, kept: its CRD may change while an answer is under way */
        struct decide_input in;
        struct decision decision;
        struct managed managed;
        enum op_await await;
        enum decide_mode mode;
        unsigned rounds;
        int64_t noticed_ms;        /* of the change that it is about; one that comes meanwhile is the next op's */
        bool full;                 /* in.live is whole, as the server sent it */
        bool created, wrote, handed_over;
        bool ignores; /* rules found something that may differ, in Git or in what was live then */
        struct arena *removed_arena;         /* of `removed` */
        struct decide_note *removed;         /* what people added and this op takes away, told at its end */
        size_t removed_count;
        bool kept;                           /* the server would not let it go: the keeper has it */
        char *before;              /* live text before our first write; NULL: it did not exist */
        struct arena *met_arena;   /* of `met` */
        const struct decide_cause *met; /* owners that a round took from and lost the race: asked about again at once */
        size_t met_count;
        struct adoption adoption;  /* of this round; env.foretell */
        struct foretold foretold;
};

/* --- op.c -------------------------------------------------------------------------------------------------------- */

/* Reads what is known, decides, sends or ends. `whole`: the object as the server sent it; empty: as the cache has it. */
void op_begin_round(struct op *op, struct str whole);

/* --- op_send.c --------------------------------------------------------------------------------------------------- */

void op_get(struct op *op);
void op_send_decision(struct op *op);
/* Sends decision.patch, after a GET when the object is not known whole. */
void op_send_patch(struct op *op);

/* --- op_answer.c ------------------------------------------------------------------------------------------------- */

void op_got(void *ctx, const struct kube_result *result);
void op_answered(void *ctx, const struct kube_result *result);
/* env.foretell: what comes after the apply that a dry-run answered so; what cannot be told is left open. */
void op_foretell(struct op *op, const struct value *answer);
/* Makes a body the live object of this round. */
int op_take_answer(struct op *op, struct str body, struct err *err);
/*
 * Owners of an earlier round that still are: what will conflict is settled before it is sent. An object whose status
 * changes all the time could hardly be forced otherwise, for each request more is one more race.
 */
void op_settle_known_causes(struct op *op);

/* --- op_end.c ---------------------------------------------------------------------------------------------------- */

/* `outcome` may borrow from the round; what it does not say is filled in. */
void op_finish(struct op *op, enum item_state state, struct outcome outcome, const struct err *err);
void op_fail(struct op *op, const struct err *err);
/* The object is as Git wants it. */
void op_done(struct op *op);
/* A diff's end. What people added would go as well, which no dry-run can show: it is not ours yet. */
void op_tell_difference(struct op *op, const struct value *answer, const struct managed *owners);
/* A patch moved what people added into our entry: by the time it is gone its round's notes are as well. */
void op_remember_removed(struct op *op);
/*
 * Writes down that the object, as it stands in in.live, is what an apply of decision.effective leaves. A fingerprint that
 * cannot be made costs a dry-run next time, nothing else.
 */
void op_note_converged(struct op *op);

/*
 * op_ignore.c: finds out what may differ, and what trusted managers own; then goes on, at once where no jq program is to
 * be asked. `unknown`: it cannot be found out, so the object must be left as it is.
 */
void op_ignore(struct op *op, void (*go_on)(struct op *op, const struct err *unknown));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision for one object: what to send, if anything, and why (design §6).
 *
 * Pure: everything it knows comes in `struct decide_input`, everything it wants is in `struct decision`. Whoever acts
 * on it sends exactly one request, and asks again with the new live object. By verdict:
 *
 *  - NOTHING: done, no request.
 *  - CREATE, APPLY, DRY_RUN: send `body`. 200: store decide_fingerprint() of its response. 409 with causes: decide_conflict(),
 *    and send what that says. Another 409, or 422 on the uid: read live anew.
 *  - PATCH: send `patch`, handover_check() the response, decide() again with the response as live.
 *    The patches of one object, in this order: a hand-over or take-back; what people added and self-heal removes moves
 *    into our entry while leftovers lose what we own too; leftovers lose what Git removed.
 *  - WAIT, REFUSE: show the reason.
 *
 * Everything in a decision lives in the arena given, or is borrowed from the input.
 */
#ifndef TRUCE_OWN_DECIDE_H
#define TRUCE_OWN_DECIDE_H

#include "own/fingerprint.h"
#include "own/handover.h"
#include "own/proof.h"
#include "own/respell.h"
#include "own/tolerate.h"

enum decide_mode {
        DECIDE_AUTO,   /* automated sync: apply for real */
        DECIDE_MANUAL, /* the first look of `truce sync`: a dry-run is shown; then it asks again with AUTO to act */
        DECIDE_DIFF,   /* `truce diff`, detect-only: never anything but a dry-run */
};

enum decide_verdict {
        DECIDE_NOTHING, /* converged; `by_fingerprint` or `by_proof` says how we know */
        DECIDE_CREATE,  /* apply without uid: the object does not exist; `dry_run` says how */
        DECIDE_APPLY,
        DECIDE_DRY_RUN,
        DECIDE_PATCH,  /* a JSON patch on managedFields must go first */
        DECIDE_WAIT,   /* the object is being deleted: look again when it is gone */
        DECIDE_REFUSE, /* never touched: see `reason` */
};

/* Why a path is not in the body, or is worth a word. */
enum decide_note_kind {
        DECIDE_YIELDED,      /* left to its owner by rule or scaler */
        DECIDE_REPORTED,     /* another owner's; differs from Git; left alone */
        DECIDE_TAKEN,        /* forced from its owner */
        DECIDE_LEAVING,      /* we owned it, Git no longer has it: this apply lets it go */
        DECIDE_STAYS,        /* Git removed it, but another owner keeps it */
        DECIDE_HANDOVER_DUE, /* yielded, still ours: a hand-over comes first; diffs mask it */
        DECIDE_HELD,         /* its scaler or rule has gone; taken back when the hold is over */
        DECIDE_EXTRA,        /* a person's tool added it; Git has nothing there; left alone */
        DECIDE_PAUSED,       /* fought over: left to the other one for a while */
        DECIDE_OVERRIDDEN,   /* a person's change that a lease keeps for a while */
        DECIDE_IGNORED,      /* a rule lets it differ: no difference, and no reason to write */
        DECIDE_REMOVED,      /* as EXTRA, and self-heal removes it: moved into our entry first, then dropped by an apply */
        DECIDE_TWO_SCALERS,  /* a remark: several scalers set this number; `rule` names them with file and line */
        DECIDE_OUT_OF_RANGE, /* a remark: Git's number is outside of what the scaler keeps to */
        DECIDE_ZERO,         /* a remark: Git says 0, and a scaler has the number */
};

struct decide_note {
        enum decide_note_kind kind;
        struct field_path path;
        struct str owner; /* manager, or the scaler in words; may be empty */
        struct str subresource;
        const char *rule;  /* never NULL; of a remark: the remark */
        const char *place; /* of a configured rule; NULL: built in */
};

/* A path left out of the body because its owner keeps it: hand it back in with the next decide() of this object. */
struct decide_withheld {
        struct field_path path;
        struct str manager;
        struct str subresource;
};

/* A path that is fought over and not enforced now (own/fight.h). */
struct decide_paused {
        struct field_path path;
        struct str manager; /* the other one */
        const char *rule;   /* until when, and how to settle it */
};

struct decide_input {
        const struct value *desired;   /* tracked, as it would be applied; no uid, no resourceVersion */
        const struct value *live;      /* NULL: it does not exist */
        const struct managed *managed; /* of live; NULL: read from live */
        const struct schema *type;     /* NULL: only the built-in table is used */
        const struct value *crd;       /* of its kind, for the scale subresource and spellings; may be NULL */
        const struct known_field *known_fields; /* of its kind: own/respell.h */
        size_t known_field_count;

        const struct hash_key *key;        /* the installation's */
        const struct hash128 *fingerprint; /* stored for it; NULL: none */

        const struct scaler_index *scalers; /* may be NULL */
        const struct policy *policy;        /* may be NULL */
        struct str application;             /* whose it is, for rules that select by it */
        const struct ignored_path *ignored;
        size_t ignored_count;
        const struct field_path *kept; /* left to nobody, whatever rules say: what tells whose the object is */
        size_t kept_count;
        const struct decide_withheld *withheld;
        size_t withheld_count;
        const struct decide_paused *paused;
        size_t paused_count;
        const char *override; /* until when people's changes are kept; NULL: they are not */

        struct str foreign_tracker; /* who else tracks the live object; empty: nobody */
        /*
         * Its scaler, or the rule that yielded, has been gone for less than the hold: replicas, and what the keeper holds,
         * stay as they are, save for paths that this commit set or changed, and for those in `unheld` (decide_hold_id()), of
         * which it has been longer.
         */
        bool replicas_hold;
        const uint64_t *unheld;
        size_t unheld_count;
        /*
         * What Git wanted before, until all that changed since has been acted on; NULL: the same. A path that was set or changed
         * is not held; what the keeper has of one that Git removed goes.
         */
        const struct value *previous;
        bool lock;          /* the request is to carry the resourceVersion: others of ours may write it at this moment */
        bool remove_extra;  /* self-heal: what people's tools added goes; else it is only told */
        bool adopted;       /* the object was there before us: what client-side apply has in it may be from then, and stays */
        bool adopt_argocd;  /* Argo CD has given its objects up: what it owns is a leftover like client-side apply's */
        enum decide_mode mode;
};

struct decision {
        enum decide_verdict verdict;
        bool by_fingerprint, by_proof;
        bool removes;                /* DIFF: the paths noted as REMOVED would go, whatever a dry-run says */
        bool dry_run;                /* of CREATE and DRY_RUN: send with dryRun=All */
        bool force;                  /* only ever with resourceVersion in the body */
        const struct value *body;    /* CREATE, APPLY, DRY_RUN */
        const struct value *patch;   /* PATCH: JSON patch operations */
        struct managed after;        /* PATCH: for handover_check() */
        enum handover_kind handover; /* PATCH: GIVE, TAKE_BACK, or NOTHING for a take-over */
        bool has_scaler;          /* somebody scales it, or a part of it */
        const uint64_t *held;     /* what `replicas_hold` keeps from being taken back, decide_hold_id() of each path */
        size_t held_count;
        bool omits;               /* CREATE: what the kind refuses at creation is left out; decide again afterwards */
        bool takes_replicas_back; /* this ends what a scaler or rule that is gone had left: a hold begins, see `replicas_hold` */
        /* CREATE: a path that is yielded by rule, or ignored, is in the body; ask again with the response */
        bool seeds;
        const struct value *effective; /* desired without what is left out */
        struct str reason;             /* one line for people; never empty */
        struct proof proof;            /* why it did not hold, when it was tried */
        const struct decide_note *notes;
        size_t note_count;
        const struct decide_withheld *withheld; /* what decide_conflict() left out; keep it for the next decide() */
        size_t withheld_count;
};

/*
 * INVAL when desired lacks apiVersion, kind or name, live lacks a uid, or a patch is due and live comes without
 * managedFields (read it anew and ask again); PARSE when live's managedFields cannot be read.
 */
int decide(const struct decide_input *in, struct arena *a, struct decision *ret_decision, struct err *err);

/*
 * May the object want a patch now that these are its owners: is there an entry of a person or a leftover? After an apply
 * it says whether decide() is to be asked once more with the whole response.
 */
bool decide_may_tidy(const struct decide_input *in, const struct managed *owners);

/*
 * The fingerprint of a live object on which `d` was seen to be done, or to be a no-op; `owners` are its. Errors as
 * fingerprint_of().
 */
int decide_fingerprint(const struct decide_input *in, const struct decision *d, const struct value *live,
                       const struct managed *owners, struct arena *a, struct hash128 *ret_fingerprint, struct err *err);

/* The object as it is when the paths that are noted as REMOVED have gone. Defaults that come back are not known. */
const struct value *decide_without_removed(const struct decision *d, const struct value *object,
                                           const struct schema *type, struct arena *a);

/* One element of `details.causes[]` of a 409. */
struct decide_cause {
        struct str manager;
        struct str subresource; /* empty: the object itself */
        struct str field;       /* as the server prints it */
};

/*
 * Reads a cause: message `conflict with "M" [with subresource "S"] [using V [at T]]`, field `.spec.replicas`. PARSE
 * when it is not of that form. Borrowed.
 */
int decide_cause_parse(struct str message, struct str field, struct decide_cause *ret_cause, struct err *err);

/*
 * After a 409 with causes for `before` (the decision that was sent): take, yield or report each path by policy. The
 * result is an APPLY or DRY_RUN, without what is left out, forced only when something is taken (with uid and
 * resourceVersion of in->live); or NOTHING when what is left is already so; or REFUSE when a cause cannot be matched
 * with a path of the live object's managedFields (read live anew once, then report).
 */
int decide_conflict(const struct decide_input *in, const struct decision *before, const struct decide_cause *causes,
                    size_t count, struct arena *a, struct decision *ret_decision, struct err *err);

const char *decide_verdict_name(enum decide_verdict v);
/* What a path is called in a hold: the same in every process. */
uint64_t decide_hold_id(struct field_path p, struct arena *a);

const char *decide_note_name(enum decide_note_kind k);
/* Does the note only say that somebody should look: nothing is done or left undone because of it? */
bool decide_note_is_remark(enum decide_note_kind k);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the jq engines: evaluation on libjq (jq_program.c, the only file that includes it), the questions that wait
 * (jq.c), and what parent and child say to each other (jq_frame.c).
 *
 * The conversation: frames, a fixed head and `bytes` bytes, in the machine's byte order as both ends are one program.
 * The child says READY once; then it answers each PROGRAM, OBJECT and EVAL with exactly one frame, in order.
 *
 *  - PROGRAM slot, text: compile it into this slot (0, 1, 2 … in this order). DONE or FAILED.
 *  - OBJECT 0, JSON: what is evaluated from now on. DONE, also for an object that jq does not take: then each EVAL fails.
 *  - EVAL slot: PATHS with a JSON list of lists of strings and numbers ≥ 0, or FAILED.
 *
 * FAILED carries one byte, the negated code (INVAL, LIMIT), and the message. Frames of the child tell how much processor
 * time it has used, so that it can be replaced before the limit of its life ends it.
 */
#ifndef TRUCE_AGENT_JQ_IMPL_H
#define TRUCE_AGENT_JQ_IMPL_H

#include "agent/jq.h"
#include "base/buf.h"

/* ---- evaluation ---- */

struct jq_program;
/* INVAL: does not compile; the message is jq's, without its frills. LIMIT: longer than JQ_MAX_PROGRAM_BYTES. */
int jq_program_new(struct str text, struct jq_program **ret_program, struct err *err);
void jq_program_free(struct jq_program *p);
DEFINE_CLEANUP(struct jq_program *, jq_program_free)

struct jq_object;
/* INVAL when jq does not take it. */
int jq_object_new(struct str json, struct jq_object **ret_object, struct err *err);
void jq_object_free(struct jq_object *o);
DEFINE_CLEANUP(struct jq_object *, jq_object_free)

/*
 * Appends the paths as PATHS carries them. INVAL: it failed on this object; LIMIT: more than JQ_MAX_PATHS, or than fits
 * into `out`. On failure `out` holds rubbish.
 */
int jq_program_run(struct jq_program *p, const struct jq_object *o, struct buf *out, struct err *err);
/* libjq calls this, which must not return, when memory is out; otherwise it ends the process with a word on stderr. */
void jq_on_no_memory(void (*out_of_memory)(void *ctx));

/* ---- frames ---- */

enum jq_frame_kind {
        JQ_FRAME_PROGRAM = 0x6a710001,
        JQ_FRAME_OBJECT,
        JQ_FRAME_EVAL,
        JQ_FRAME_READY = 0x6a710011,
        JQ_FRAME_DONE,
        JQ_FRAME_PATHS,
        JQ_FRAME_FAILED,
};

struct jq_frame {
        uint32_t kind;
        uint32_t slot;
        uint32_t bytes; /* that follow */
        uint32_t cpu_ms;
};

/* Exit status of a child whose memory was out. */
#define JQ_EXIT_MEMORY 83

/*
 * The next frame of a child at *at in `heard`: 1, and *at is behind it; 0: not all of it is there; PARSE: no frame of a
 * child, or larger than JQ_MAX_PATHS_BYTES.
 */
int jq_frame_next(struct str heard, size_t *at, struct jq_frame *ret_frame, struct str *ret_payload, struct err *err);
/* What PATHS carries. PARSE for anything else. */
int jq_paths_read(struct str json, struct arena *a, const struct jq_path **ret_paths, size_t *ret_count,
                  struct err *err);
/* What FAILED carries, into *ret_failure. PARSE for anything else. */
int jq_failure_read(struct str payload, struct err *ret_failure, struct err *err);

/* ---- questions that wait ---- */

struct jq_known; /* an engine's own: what it knows about a text */

struct jq_eval {
        struct jq_eval *next;
        struct jq_engine *engine;
        struct arena *arena; /* everything below, and itself */
        struct str object;
        bool is_secret, is_cancelled;
        unsigned object_deaths;
        struct jq_rule *rules;
        struct jq_known **known;
        struct jq_result *results;
        size_t count;
        jq_done_fn done;
        void *ctx;
};

struct jq_engine_ops {
        void (*wake)(struct jq_engine *e); /* a question waits */
        void (*keep)(struct jq_engine *e, const struct jq_rule *rules, size_t count);
        void (*stats)(const struct jq_engine *e, struct jq_stats *ret);
        void (*free)(struct jq_engine *e);
};

/* Embedded first in every engine. */
struct jq_engine {
        const struct jq_engine_ops *ops;
        struct loop *loop;
        struct jq_eval *waiting, **last_waiting;
};

void jq_engine_init(struct jq_engine *e, const struct jq_engine_ops *ops, struct loop *l);
void jq_engine_done(struct jq_engine *e);
/* Takes the first out of the queue; NULL: nothing waits. */
struct jq_eval *jq_engine_next(struct jq_engine *e);
/* Calls done(), unless it was cancelled, and frees it. */
void jq_eval_tell(struct jq_eval *eval);
void jq_eval_free(struct jq_eval *eval);
/* Sets one result; `why` has no place yet. */
void jq_eval_refuse(struct jq_eval *eval, size_t rule, enum jq_verdict verdict, enum err_code code, const char *why);
/* The same for all that have none yet. */
void jq_eval_refuse_rest(struct jq_eval *eval, enum jq_verdict verdict, enum err_code code, const char *why);
/* What the evaluation of a rule that failed on the object said. */
void jq_eval_failed(struct jq_eval *eval, size_t rule, const struct err *failure);
/* JQ_PATHS from what a PATHS frame carries. PARSE when it is none. */
int jq_eval_paths(struct jq_eval *eval, size_t rule, struct str json, struct err *err);
/* Does one of the rules have this text? */
bool jq_rules_have(const struct jq_rule *rules, size_t count, struct str text);

#endif

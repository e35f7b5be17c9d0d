/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jq rules: which paths of an object does an expression select? What `del(EXPRESSION)` would delete, as
 * ignoreDifferences of Argo CD means it (jqPathExpressions). An engine answers with paths only; nothing of the object
 * goes through jq and back, because jq 1.6 keeps numbers as doubles.
 *
 * Two engines stand behind struct jq_engine, and both evaluate with the same code (jq_program.c):
 *
 *  - jq_worker_new(): a child, this program once more, with bounded memory and time and no environment. People write
 *    the expressions, and libjq ends the process when memory is out, runs endless ones, and has crashed on some. The
 *    child starts with the first question, holds each program compiled (22 ms each, as jq parses its own library every
 *    time), and ends when it was idle for JQ_IDLE_MS.
 *  - jq_in_process_new(): for virtual time and tests, on the loop's thread. It is as safe as the expressions are: one
 *    that does not end hangs it.
 *
 * A program that takes the worker down is quarantined: it is not evaluated again before its text changes. Who is to
 * blame is known because the child answers in order, one question at a time. Time (JQ_RULE_CPU_MS of the processor, so
 * that a busy machine blames nobody) is beyond doubt; for memory and crashes the program must also have killed a fresh
 * worker, as one before it may have spoiled the old one. A worker that was killed from outside or did not answer for
 * JQ_RULE_WALL_MS counts as a third of a proof. The others are evaluated as if nothing had happened.
 *
 * Which jq: libjq's own. Absent on purpose: input, inputs, debug and stderr output, halt, halt_error, input_filename,
 * modules (they say so, or do nothing); env and $ENV are empty. Numbers of the object that no double holds are rounded
 * when an expression compares them. Negative indexes and slices become indexes of this object, and vanish where it has
 * no such items; so does an index with a fraction. What is selected need not exist: `.spec.replicas` is an answer on
 * any object.
 *
 * Thread rule: loop thread only. Callbacks come in a later turn than the call, in the order of the questions, and may
 * ask, cancel, or free the engine.
 */
#ifndef TRUCE_AGENT_JQ_H
#define TRUCE_AGENT_JQ_H

#include "base/arena.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"

/* Argo CD's own limit is 1 s (ignore.normalizer.jq.timeout); upstream takes it by the wall. */
#define JQ_RULE_CPU_MS  1000
#define JQ_RULE_WALL_MS 10000
#define JQ_IDLE_MS      (5 * 60 * INT64_C(1000))

/* An expression as users write it, and where it stands ("argocd-cm.yaml:12"), for messages. */
struct jq_rule {
        struct str text, place;
};

struct jq_step {
        bool is_index;
        struct str key; /* empty when is_index */
        int64_t index;  /* ≥ 0 */
};

/* No step at all: the whole object. */
struct jq_path {
        const struct jq_step *steps;
        size_t count;
};

enum jq_verdict {
        JQ_PENDING,     /* never seen by callers */
        JQ_PATHS,       /* evaluated; in a check: it compiles */
        JQ_INVALID,     /* the expression does not compile, or is no path expression at all: wrong on any object */
        JQ_FAILED,      /* it failed on this object, or selects too much of it; upstream leaves such an object as it is */
        JQ_QUARANTINED, /* it took the worker down, now or earlier */
        JQ_UNAVAILABLE, /* not the rule's fault, as far as we know: there is no worker. Later it may work */
};

struct jq_result {
        enum jq_verdict verdict;
        const struct jq_path *paths; /* of JQ_PATHS, in jq's order, with its repetitions */
        size_t count;
        /* NULL for JQ_PATHS. INVAL, LIMIT, TIMEOUT, UNREACHABLE; begins with the rule's place. */
        const struct err *err;
};

struct jq_question {
        struct str object;           /* one JSON value; empty: only check whether the rules compile */
        bool is_secret;              /* messages of jq may quote values: leave them out */
        const struct jq_rule *rules; /* all is copied */
        size_t count;
};

/* One result a rule, in their order; all borrowed during the call. The eval is gone when it returns. */
typedef void (*jq_done_fn)(void *ctx, const struct jq_result *results, size_t count);

struct jq_engine;
struct jq_eval;

struct jq_eval *jq_engine_eval(struct jq_engine *e, const struct jq_question *q, jq_done_fn done, void *ctx);
/* done() is not called any more. NULL is accepted. */
void jq_eval_cancel(struct jq_eval *eval);
/*
 * The configuration has changed: forgets all programs but those of these rules, and with them what is known about them.
 * An engine that knows JQ_MAX_PROGRAMS takes no more (LIMIT).
 */
void jq_engine_keep(struct jq_engine *e, const struct jq_rule *rules, size_t count);

struct jq_stats {
        uint64_t starts, deaths; /* of workers; deaths without those that were ended by us while idle */
        uint64_t evaluations;    /* rules evaluated to the end */
        unsigned programs, quarantined;
};
void jq_engine_stats(const struct jq_engine *e, struct jq_stats *ret);

/* Evals that have not ended are dropped without a word; the worker is killed. */
void jq_engine_free(struct jq_engine *e);
DEFINE_CLEANUP(struct jq_engine *, jq_engine_free)

/* Zeroes are what it is made for; tests say otherwise. `argv` is borrowed. */
struct jq_worker_spec {
        const char *const *argv; /* NULL: this program with the word JQ_WORKER_VERB */
        int64_t wall_ms, idle_ms;
};
/* Needs the real loop. */
struct jq_engine *jq_worker_new(struct loop *l, const struct jq_worker_spec *spec);
struct jq_engine *jq_in_process_new(struct loop *l);

/*
 * Do they compile? Waits for the answer, which comes before it returns, with a loop and a worker of its own: for commands
 * that have nothing else to do meanwhile. Fails as loop_new() does; without a worker all are JQ_UNAVAILABLE.
 */
int jq_check(const struct jq_worker_spec *spec, const struct jq_rule *rules, size_t count, jq_done_fn done, void *ctx,
             struct err *err);

/* What the child does in place of everything else; its streams are the pipes. Returns the exit status. */
#define JQ_WORKER_VERB "jq-worker"
int jq_worker_main(void);

#endif

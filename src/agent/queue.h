/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct queue: which keys a controller has to look at. What is done with a key, and what a key means, is the caller's.
 *
 * The promises (those of client-go's workqueue):
 *  - run() is never called for a key while a run of it is under way; at most `workers` runs are under way at once.
 *  - However often a key is added while a run is under way, exactly one more run follows; however often while it waits,
 * one run. None is lost.
 *  - Of two times at which a key is to come, the earlier one counts. A run forgets the time that was named before it
 * began: it names the next one itself.
 *
 * Order: what was added first is run first. A priority is a head start: 1 stands for QUEUE_STEP_MS of waiting, so a key
 * with a low one is late, but never starves. A higher priority for a key that waits already counts from then on.
 *
 * A run that failed is repeated after 5 ms, 10 ms, 20 ms … at most `max_backoff_ms`, each with up to a tenth of jitter,
 * and not before the time that the caller names; one that did not fail makes the key forget its failures. Adding a key
 * runs it at once, whatever it waits for. A terminal failure is kept until queue_release(): until then nothing runs the
 * key.
 *
 * Thread rule: loop thread only. Life cycle: nothing of a queue is called after queue_free().
 */
#ifndef TRUCE_AGENT_QUEUE_H
#define TRUCE_AGENT_QUEUE_H

#include "base/loop.h"

#define QUEUE_FIRST_BACKOFF_MS 5
#define QUEUE_STEP_MS          10

/* Head starts. */
enum queue_priority { QUEUE_LATER = -100 /* lists and repeated looks */, QUEUE_NOW = 0 /* something happened */ };

struct queue;

struct queue_options {
        unsigned workers;       /* runs at once, at least 1 */
        int64_t max_backoff_ms; /* between two runs of a key that fails */
        /* Begins the run; queue_done() ends it, in here or in a later turn. `key` is borrowed until then. */
        void (*run)(void *ctx, struct str key);
        void *ctx;
};

struct queue *queue_new(struct loop *l, const struct queue_options *options);
void queue_free(struct queue *q);
DEFINE_CLEANUP(struct queue *, queue_free)

/* The key is to be run; never in here. */
void queue_add(struct queue *q, struct str key, int priority);
/* The key is to be run in `delay_ms` at the latest. */
void queue_add_after(struct queue *q, struct str key, int64_t delay_ms);
/* What the key is about was changed: it is run, also after a terminal failure. */
void queue_release(struct queue *q, struct str key);
/* Nobody wants the key any more: whatever waits for it, and its failures, are forgotten. A run under way goes on. */
void queue_forget(struct queue *q, struct str key);

enum queue_end {
        QUEUE_DONE,     /* all is well */
        QUEUE_AGAIN,    /* all is well, and the key is to be looked at again in `after_ms` at the latest */
        QUEUE_FAILED,   /* tried again after its back-off, and not before `after_ms` */
        QUEUE_TERMINAL, /* nothing but another input helps */
};

/* Ends the run of the key. */
void queue_done(struct queue *q, struct str key, enum queue_end end, int64_t after_ms);

/* Runs of the key that failed in a row, the one under way not counted. */
unsigned queue_failures(const struct queue *q, struct str key);
bool queue_is_terminal(const struct queue *q, struct str key);

/* Counters since the start and gauges, as client-go and controller-runtime name them. */
#define QUEUE_BUCKETS 8 /* upper bounds of 0.001, 0.01 … 1000 s; the last is everything */
struct queue_times {
        uint64_t buckets[QUEUE_BUCKETS]; /* not cumulative */
        uint64_t count;
        int64_t sum_ms;
};
void queue_times_add(struct queue_times *t, int64_t ms);

struct queue_stats {
        size_t depth; /* keys that wait to be run now */
        size_t active, workers;
        uint64_t adds, retries;
        uint64_t ends[QUEUE_TERMINAL + 1];
        struct queue_times waited, worked;
        int64_t unfinished_ms; /* of all runs under way, together */
        int64_t longest_ms;    /* of those */
};
void queue_stats(const struct queue *q, struct queue_stats *ret_stats);

#endif

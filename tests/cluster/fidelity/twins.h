/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two servers: a real API server over HTTP, and a sandbox in this process whose clock follows. Each request goes to
 * the real one first, alone, then to the sandbox at the same second.
 */
#ifndef TRUCE_FIDELITY_TWINS_H
#define TRUCE_FIDELITY_TWINS_H

#include "answers.h"
#include "kube/transport.h"

struct twin_request {
        enum kube_method method;
        struct str path;          /* ends in NUL */
        const char *content_type; /* NULL: no body */
        const char *accept;       /* NULL: JSON */
        struct str body;
};

struct twins;
/* From the environment of tests/cluster. Exits with a message when there is no server. */
struct twins *twins_new(uint64_t seed);
void twins_free(struct twins *t);
DEFINE_CLEANUP(struct twins *, twins_free)

/* One request to both; `requests` and `ret_answers` by enum side. Texts of the answers live in the arena. */
void twins_ask(struct twins *t, const struct twin_request requests[SIDE_COUNT], struct arena *a,
               struct twin_answer ret_answers[SIDE_COUNT]);
/* The same to the real one only. */
void twins_ask_real(struct twins *t, const struct twin_request *r, struct arena *a, struct twin_answer *ret_answer);
/*
 * The events of a watch that are due already, as lines. How many that are says the sandbox; the real server gets a
 * moment longer, so that one too many shows as well. A server that has too much to do is asked again; status 0: it did
 * not even begin to answer.
 */
void twins_watch(struct twins *t, const struct twin_request requests[SIDE_COUNT], struct arena *a,
                 struct twin_answer ret_answers[SIDE_COUNT]);

#endif

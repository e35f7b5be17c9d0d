/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and node ports of Services, from 10.96.0.0/16 and 30000–32767, one IPv4 family. What is taken follows from
 * the commits (allocator_tell() in prepare.h), so a dry run or a refused write leaves nothing behind.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_ALLOCATE_H
#define TRUCE_SANDBOX_ALLOCATE_H

#include "sandbox/sandbox_impl.h"

/* The ports that one write took so far. */
struct allotment {
        struct call *c;
        int64_t *ports; /* in the call's arena */
        size_t count, cap;
};

/* A free address; a dry run gets a stand-in. */
struct str allot_ip(struct call *c);
/* An address that was asked for: NULL, or why it cannot be had. */
const char *allot_given_ip(struct call *c, struct str ip);

/* A free node port; a dry run gets stand-ins above the range. */
int64_t allot_port(struct allotment *m);
/* A port that was asked for: NULL, or why it cannot be had. */
const char *allot_given_port(struct allotment *m, int64_t port);

#endif

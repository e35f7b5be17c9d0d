/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to service*.c: a Service on its way into the store. service.c has its addresses and families, service_ports.c
 * its node ports. Each step that may refuse returns 0, or -1 with the refusal in the call's answer.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_SERVICE_H
#define TRUCE_SANDBOX_SERVICE_H

#include "sandbox/allocate.h"
#include "sandbox/prepare.h"

struct service_change {
        struct call *c;
        const struct value *live; /* NULL: a creation */
        const struct value *service;
        struct causes causes;
        struct allotment allotment;
};

const struct value *service_spec(const struct value *service, const char *field);
void service_set(struct service_change *m, const char *field, const struct value *value);
/* Answers with the causes found so far. */
int service_refuse(struct service_change *m);

bool service_may_have_ports(const struct value *service);
bool service_needs_health_port(const struct value *service);

/* Ports that the writer left out stay what they were. */
void service_keep_ports(struct service_change *m);
/* Of a creation, of an update. */
int service_allot_ports(struct service_change *m);
int service_change_ports(struct service_change *m);
/* A type without node ports loses those that it had. */
void service_drop_ports(struct service_change *m);

#endif

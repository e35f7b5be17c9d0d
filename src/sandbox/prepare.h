/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What single kinds need at a write beyond strategy.h: allocated addresses of Services, selectors of Jobs, stored
 * versions of CRDs, templateGeneration, a Pod's QoS class.
 *
 * Source: PrepareForCreate and PrepareForUpdate of the kinds' strategies, service/storage/alloc.go.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_PREPARE_H
#define TRUCE_SANDBOX_PREPARE_H

#include "sandbox/sandbox_impl.h"

struct allocator;
struct allocator *allocator_new(void);
void allocator_free(struct allocator *al);
/* Looks on at every commit of a Service: what is taken, what is free again. */
void allocator_tell(struct allocator *al, const struct value *before, const struct value *after);
/* Fills in clusterIP(s), ipFamilies and nodePorts; drops what the type does not have. -1: refused. */
int service_prepare(struct call *c, const struct value *live, const struct value **object);

/* A claim's dataSource and dataSourceRef say the same; `live` is NULL for a creation. */
int prepare_claim(struct call *c, const struct value *live, const struct value **object);
/* A volume's status tells since when it is in its phase. */
int prepare_new_volume(struct call *c, const struct value **object);
int prepare_volume_status(struct call *c, const struct value *live, const struct value **object);

/* Why an object cannot be converted to the server's internal form, in its words; empty: it can. */
struct str prepare_fault(const struct call *c, const struct value *object);
/* What that conversion makes of a defaulted object, before managedFields are computed. */
const struct value *prepare_default(struct call *c, const struct value *object);

/* 0, or -1 with the refusal in the call's answer. */
int prepare_create(struct call *c, const struct value **object);
/* A new object as the server reads it back from its storage: what was reset is decoded and defaulted. */
const struct value *prepare_read(struct call *c, const struct value *object);
int prepare_update(struct call *c, const struct value *live, const struct value **object);

#endif

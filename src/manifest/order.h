/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order kinds are applied and pruned.
 *
 * Apply: Argo CD's kind order (Namespace first, then quotas, accounts, Secrets, ConfigMaps, storage, CRDs, RBAC, Services,
 * workloads, …), with CRDs pulled up right behind Namespaces since everything else may need them, and admission webhooks
 * and custom resources at the end. Objects of one rank are independent and go in parallel.
 *
 * Prune: custom resources while their operators still run, then webhook configurations (before the backends that answer
 * them), then the reverse of the apply order, then CRDs, Namespaces last.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_MANIFEST_ORDER_H
#define TRUCE_MANIFEST_ORDER_H

#include "manifest/object.h"

/* Lower goes first. Namespaces are 0. */
int manifest_apply_rank(struct str group, struct str kind);
/* Lower goes first; gaps have no meaning. */
int manifest_prune_rank(struct str group, struct str kind);

/* qsort() order: apply rank, group, kind, namespace, name. */
int manifest_apply_cmp(const void *a, const void *b);
/* qsort() order: prune rank, then as above. */
int manifest_prune_cmp(const void *a, const void *b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One case of an ignore-rule suite (`truce test`): a folder that holds
 *
 *   desired.yaml    the object as Git has it
 *   live.yaml       the object as the cluster has it (`kubectl get -o yaml --show-managed-fields`); left out: there is none
 *   rules.yaml      an Application with its ignoreDifferences and syncOptions, argocd-cm, an Agent; left out: no rules
 *   crd.yaml        the definition of a custom kind; left out: built-in kinds are known, of others lists have no keys
 *   expected.yaml   what must come of it, see docs/testing.md
 *
 * It is judged by the very code that the agent decides with, without a server: what an admission plug-in or a default
 * would add is not known. A live object without managedFields is taken for one that truce applied.
 */
#ifndef TRUCE_CLI_SUITE_H
#define TRUCE_CLI_SUITE_H

#include "agent/jq.h"

struct suite_case {
        struct str folder;
        struct arena *arena;
        struct loop *loop;
        struct jq_engine *jq;
};

/* Says what is not as expected, a line each; none: all is. Errors of files and documents are told in the same way. */
void suite_run(const struct suite_case *c, struct buf *complaints);

/* Is it a case? */
bool suite_is_case(struct str folder, struct arena *a);

#endif

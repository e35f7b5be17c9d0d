/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the names that a CustomResourceDefinition asks for it gets: those that no other one of its group has. One that
 * does not get all of them is not served until they are free.
 *
 * Source: k8s.io/apiextensions-apiserver pkg/controller/status/naming_controller.go.
 *
 * Thread rule: loop thread only; reads the store.
 */
#ifndef TRUCE_SANDBOX_CRD_NAMES_H
#define TRUCE_SANDBOX_CRD_NAMES_H

#include "sandbox/store.h"

struct crd_names {
        const struct value *accepted; /* status.acceptedNames; in the arena */
        const char *reason;           /* of the condition NamesAccepted */
        struct str message;
        bool is_accepted; /* all of them */
};

/* `definitions` is the shelf of all CRDs, `crd` one of them as it is stored. */
void crd_names_decide(const struct shelf *definitions, const struct value *crd, struct arena *a, struct crd_names *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do about another owner of a path we want: take it, yield it, or leave it and report.
 *
 * First the manager is classified (a table of names: people's tools, client-side leftovers, controllers, other GitOps
 * tools …), then rules are tried in order; the first that matches decides and names itself. The built-in rules are
 * part 1's policy: take from kubectl, people and `before-first-apply`; yield what a scaler scales; report the rest.
 * More rules may be put in front of them.
 */
#ifndef TRUCE_OWN_POLICY_H
#define TRUCE_OWN_POLICY_H

#include "own/managed.h"
#include "own/scaler.h"

enum policy_class {
        POLICY_OURS,       /* truce */
        POLICY_KEEPER,     /* truce-keeper */
        POLICY_PERSON,     /* a person's editing tool: kubectl edit/patch/scale, k9s, a dashboard */
        POLICY_CLIENT,     /* client-side apply and its leftovers: kubectl-client-side-apply, kubectl-create */
        POLICY_NOBODY,     /* before-first-apply */
        POLICY_ANCIENT,    /* ancient-changes: several forgotten writers */
        POLICY_SCALER,     /* wrote /scale, or scales this object */
        POLICY_CONTROLLER, /* a controller of Kubernetes itself */
        POLICY_GITOPS,     /* another deployer: Argo CD, Flux, Helm */
        POLICY_UNKNOWN,
};

enum policy_action {
        POLICY_REPORT, /* not ours to touch: leave the path and say so */
        POLICY_TAKE,   /* Git wins: force */
        POLICY_YIELD,  /* leave the path to its owner; no drift */
};

/* NULL and zero fields match everything. Plain data so that configuration can make more of them. */
struct policy_rule {
        const char *name;              /* shown to people */
        const char *manager;           /* exact, or with one trailing '*' */
        const char *subresource;       /* "" only the object itself, NULL any */
        unsigned classes;              /* bits 1u << enum policy_class; 0: any */
        unsigned scale;                /* bits 1u << enum scale_verdict of a replicas path; 0: any path */
        const struct field_path *path; /* this path and everything below; NULL: any */
        bool leftover;                 /* only what is left of an earlier deployer */
        enum policy_action action;
};

struct policy {
        const struct policy_rule *rules; /* tried before the built-in ones; may be NULL */
        size_t count;
};

struct policy_question {
        struct str manager;
        struct str subresource;
        enum managed_operation operation;
        struct field_path path;
        bool leftover;                   /* the entry is left of an earlier deployer: nobody writes it any more */
        bool is_replicas;                /* the path is the object's replicas path, or holds it */
        const struct scale_state *scale; /* of the object; NULL: not judged */
};

struct policy_answer {
        enum policy_action action;
        enum policy_class class;
        const char *rule; /* never NULL */
};

enum policy_class policy_classify(struct str manager, enum managed_operation operation, struct str subresource);
/* Is it a person at a keyboard (for scale entries: a manual scale)? */
bool policy_is_person(struct str manager);

/* `p` may be NULL: built-in rules only. Always answers. */
struct policy_answer policy_decide(const struct policy *p, const struct policy_question *q);

const char *policy_class_name(enum policy_class class);
const char *policy_action_name(enum policy_action action);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules in C: kinds that every cluster has, and the standard conditions for kinds that nobody knows.
 * docs/health-rules.md is the table of what they say. Argo CD's built-in checks are where most come from; what differs
 * is named there.
 */
#ifndef TRUCE_HEALTH_BUILTIN_H
#define TRUCE_HEALTH_BUILTIN_H

#include "health/rule_impl.h"

struct builtin {
        const char *group, *kind;
        const char *name; /* "apps/Deployment, built in" */
        void (*judge)(const struct rule *r);
};

/* NULL: there is none. The version does not matter: rules go by what is there. */
const struct builtin *builtin_find(struct str group, struct str kind);

/* "standard conditions, built in" */
extern const struct builtin builtin_standard;

void builtin_deployment(const struct rule *r);
void builtin_stateful_set(const struct rule *r);
void builtin_daemon_set(const struct rule *r);
void builtin_replica_set(const struct rule *r);
void builtin_pod(const struct rule *r);
void builtin_claim(const struct rule *r);
void builtin_volume(const struct rule *r);
void builtin_service(const struct rule *r);
void builtin_ingress(const struct rule *r);
void builtin_namespace(const struct rule *r);
void builtin_disruption_budget(const struct rule *r);
void builtin_job(const struct rule *r);
void builtin_cron_job(const struct rule *r);
void builtin_autoscaler(const struct rule *r);
void builtin_api_service(const struct rule *r);
void builtin_definition(const struct rule *r);
void builtin_lease(const struct rule *r);

#endif

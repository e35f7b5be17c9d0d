/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds and what each file gives to it. */
#ifndef TRUCE_SANDBOX_VALIDATE_KINDS_H
#define TRUCE_SANDBOX_VALIDATE_KINDS_H

#include "sandbox/validate_impl.h"

struct kind_rules {
        const char *group, *kind;
        struct meta_rules meta;
        kind_check check;   /* NULL: metadata only */
        bool merges;        /* the server merges equal findings (kinds with generated rules) */
        bool names_itself;  /* `check` sees to the metadata of a creation */
        bool any_finalizer; /* finalizers without a domain are let through */
};
/* Ends with a NULL kind. */
extern const struct kind_rules kinds_table[];

void check_config_map(struct check *c);
void check_secret(struct check *c);
void check_namespace_kind(struct check *c);
void check_node(struct check *c);
void check_event(struct check *c);
void check_events_event(struct check *c);
void check_limit_range(struct check *c);
void check_resource_quota(struct check *c);
void check_service(struct check *c);
void check_pod(struct check *c);
void check_pod_template_kind(struct check *c);
void check_replication_controller(struct check *c);
void check_deployment(struct check *c);
void check_replica_set(struct check *c);
void check_stateful_set(struct check *c);
void check_daemon_set(struct check *c);
void check_controller_revision(struct check *c);
void check_job(struct check *c);
void check_cron_job(struct check *c);
void check_hpa(struct check *c);
void check_pdb(struct check *c);
void check_ingress(struct check *c);
void check_ingress_class(struct check *c);
void check_network_policy(struct check *c);
void check_role(struct check *c);
void check_cluster_role(struct check *c);
void check_role_binding(struct check *c);
void check_cluster_role_binding(struct check *c);
void check_pvc(struct check *c);
void check_pv(struct check *c);
void check_storage_class(struct check *c);
void check_lease(struct check *c);
void check_priority_class(struct check *c);
void check_endpoint_slice(struct check *c);
void check_crd(struct check *c);
void check_api_service(struct check *c);
void check_webhooks(struct check *c);

/* As the server's Go structs print (validate_go.c): a PodTemplateSpec, a list of PersistentVolumeClaims. */
struct str go_template_text(const struct value *template, struct arena *a);
struct str go_claims_text(const struct value *claims, struct arena *a);
/* … a Job's PodFailurePolicy. */
struct str go_failure_policy_text(const struct value *policy, struct arena *a);

/* A custom resource: its values against the schema, its lists, its scale. */
void check_custom(struct check *c);
/* Of one whose type is another: that, and what is checked all the same. */
void check_custom_odd(struct check *c);
/* … of which only the status was written. */
void check_custom_status(struct check *c);
/* The status of what has one. */
void check_status(struct check *c);
void check_job_status(struct check *c);
void check_pod_status(struct check *c);

#endif

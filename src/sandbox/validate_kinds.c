/* SPDX-License-Identifier: Apache-2.0 */
/* Every built-in kind that has rules of its own, how it is named, and whether it lives in a namespace. */
#include "sandbox/validate_kinds.h"

#define NAMESPACED(rule)                                                                                               \
        { .name = (rule), .namespaced = true }
#define CLUSTER(rule)                                                                                                  \
        { .name = (rule), .namespaced = false }
#define RBAC      "rbac.authorization.k8s.io"
#define ADMISSION "admissionregistration.k8s.io"

const struct kind_rules kinds_table[] = {
        { "", "ConfigMap", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_config_map, true, false, false },
        { "", "Secret", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_secret, true, false, false },
        { "", "Namespace", CLUSTER(TEXT_DNS_LABEL), check_namespace_kind, true, false, false },
        { "", "Node", CLUSTER(TEXT_DNS_SUBDOMAIN), check_node, true, false, false },
        { "", "Event", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_event, true, true, false },
        { "events.k8s.io", "Event", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_events_event, true, true, false },
        { "", "LimitRange", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_limit_range, true, false, false },
        { "", "ResourceQuota", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_resource_quota, true, false, false },
        { "", "ServiceAccount", NAMESPACED(TEXT_DNS_SUBDOMAIN), NULL, true, false, false },
        { "", "Endpoints", NAMESPACED(TEXT_DNS_SUBDOMAIN), NULL, true, false, false },
        { "", "Service", NAMESPACED(TEXT_DNS_LABEL), check_service, true, false, false },
        { "", "Pod", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_pod, true, false, false },
        { "", "PodTemplate", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_pod_template_kind, true, false, false },
        { "", "ReplicationController", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_replication_controller, true, false,
          false },
        { "", "PersistentVolumeClaim", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_pvc, true, false, false },
        { "", "PersistentVolume", CLUSTER(TEXT_DNS_SUBDOMAIN), check_pv, true, false, false },
        { "apps", "Deployment", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_deployment, true, false, false },
        { "apps", "ReplicaSet", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_replica_set, true, false, false },
        { "apps", "StatefulSet", NAMESPACED(TEXT_DNS_LABEL), check_stateful_set, true, false, false },
        { "apps", "DaemonSet", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_daemon_set, true, false, false },
        { "apps", "ControllerRevision", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_controller_revision, true, false, false },
        { "batch", "Job", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_job, true, false, false },
        { "batch", "CronJob", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_cron_job, true, false, false },
        { "autoscaling", "HorizontalPodAutoscaler", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_hpa, true, false, false },
        { "policy", "PodDisruptionBudget", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_pdb, true, true, true },
        { "networking.k8s.io", "Ingress", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_ingress, true, false, false },
        { "networking.k8s.io", "IngressClass", CLUSTER(TEXT_DNS_SUBDOMAIN), check_ingress_class, true, false, false },
        { "networking.k8s.io", "NetworkPolicy", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_network_policy, true, false,
          false },
        { RBAC, "Role", NAMESPACED(TEXT_PATH_SEGMENT), check_role, true, false, false },
        { RBAC, "ClusterRole", CLUSTER(TEXT_PATH_SEGMENT), check_cluster_role, true, false, false },
        { RBAC, "RoleBinding", NAMESPACED(TEXT_PATH_SEGMENT), check_role_binding, true, false, false },
        { RBAC, "ClusterRoleBinding", CLUSTER(TEXT_PATH_SEGMENT), check_cluster_role_binding, true, false, false },
        { "storage.k8s.io", "StorageClass", CLUSTER(TEXT_DNS_SUBDOMAIN), check_storage_class, true, false, false },
        { "coordination.k8s.io", "Lease", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_lease, true, false, true },
        { "scheduling.k8s.io", "PriorityClass", CLUSTER(TEXT_DNS_SUBDOMAIN), check_priority_class, true, false, false },
        { "discovery.k8s.io", "EndpointSlice", NAMESPACED(TEXT_DNS_SUBDOMAIN), check_endpoint_slice, true, false,
          false },
        { "apiextensions.k8s.io", "CustomResourceDefinition", CLUSTER(TEXT_DNS_SUBDOMAIN), check_crd, false, true,
          true },
        { "apiregistration.k8s.io", "APIService", CLUSTER(TEXT_PATH_SEGMENT), check_api_service, false, true, true },
        { ADMISSION, "ValidatingWebhookConfiguration", CLUSTER(TEXT_DNS_SUBDOMAIN), check_webhooks, true, false, true },
        { ADMISSION, "MutatingWebhookConfiguration", CLUSTER(TEXT_DNS_SUBDOMAIN), check_webhooks, true, false, true },
        { NULL, NULL, CLUSTER(TEXT_DNS_SUBDOMAIN), NULL, false, false, false },
};

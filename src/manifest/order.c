/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/order.h"

struct kind {
        const char *group, *kind;
};

/* Apply order of the kinds that have one; a kind that is not here comes after all of them. */
static const struct kind ranks[] = {
        { "", "Namespace" },
        { "apiextensions.k8s.io", "CustomResourceDefinition" },
        { "networking.k8s.io", "NetworkPolicy" },
        { "", "ResourceQuota" },
        { "", "LimitRange" },
        { "scheduling.k8s.io", "PriorityClass" },
        { "policy", "PodDisruptionBudget" },
        { "", "ServiceAccount" },
        { "", "Secret" },
        { "", "ConfigMap" },
        { "storage.k8s.io", "StorageClass" },
        { "", "PersistentVolume" },
        { "", "PersistentVolumeClaim" },
        { "rbac.authorization.k8s.io", "ClusterRole" },
        { "rbac.authorization.k8s.io", "ClusterRoleBinding" },
        { "rbac.authorization.k8s.io", "Role" },
        { "rbac.authorization.k8s.io", "RoleBinding" },
        { "", "Service" },
        { "apps", "DaemonSet" },
        { "", "Pod" },
        { "", "ReplicationController" },
        { "apps", "ReplicaSet" },
        { "apps", "Deployment" },
        { "autoscaling", "HorizontalPodAutoscaler" },
        { "apps", "StatefulSet" },
        { "batch", "Job" },
        { "batch", "CronJob" },
        { "networking.k8s.io", "IngressClass" },
        { "networking.k8s.io", "Ingress" },
        { "apiregistration.k8s.io", "APIService" },
};

/* Behind every named kind: other built-in kinds, custom resources, then webhooks, which could refuse all the others. */
enum { RANK_BUILTIN = ARRAY_LEN(ranks), RANK_CUSTOM, RANK_WEBHOOK, RANK_END };

static bool is_webhook(struct str group) {
        return str_eqc(group, "admissionregistration.k8s.io");
}

int manifest_apply_rank(struct str group, struct str kind) {
        for (size_t i = 0; i < ARRAY_LEN(ranks); i++)
                if (str_eqc(kind, ranks[i].kind) && str_eqc(group, ranks[i].group))
                        return (int)i;
        if (is_webhook(group))
                return RANK_WEBHOOK;
        return manifest_group_is_builtin(group) ? RANK_BUILTIN : RANK_CUSTOM;
}

int manifest_prune_rank(struct str group, struct str kind) {
        if (!manifest_group_is_builtin(group))
                return 0;
        if (is_webhook(group))
                return 1;
        /* Reversed, which leaves CRDs and then Namespaces for the end. */
        return 2 + RANK_END - manifest_apply_rank(group, kind);
}

static int cmp_keys(const struct manifest_object *a, const struct manifest_object *b) {
        int r = str_cmp(a->group, b->group);

        if (r == 0)
                r = str_cmp(a->kind, b->kind);
        if (r == 0)
                r = str_cmp(a->ns, b->ns);
        return r ? r : str_cmp(a->name, b->name);
}

int manifest_apply_cmp(const void *a, const void *b) {
        const struct manifest_object *x = a, *y = b;
        int rx = manifest_apply_rank(x->group, x->kind), ry = manifest_apply_rank(y->group, y->kind);

        return rx != ry ? rx - ry : cmp_keys(x, y);
}

int manifest_prune_cmp(const void *a, const void *b) {
        const struct manifest_object *x = a, *y = b;
        int rx = manifest_prune_rank(x->group, x->kind), ry = manifest_prune_rank(y->group, y->kind);

        return rx != ry ? rx - ry : cmp_keys(x, y);
}

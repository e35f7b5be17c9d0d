/* SPDX-License-Identifier: Apache-2.0 */
#include "health/builtin.h"

#define ROW(group, kind, judge)                                                                                        \
        { group, kind, group "/" kind ", built in", judge }
#define CORE(kind, judge)                                                                                              \
        { "", kind, kind ", built in", judge }

static const struct builtin builtins[] = {
        CORE("Pod", builtin_pod),
        CORE("PersistentVolumeClaim", builtin_claim),
        CORE("PersistentVolume", builtin_volume),
        CORE("Service", builtin_service),
        CORE("Namespace", builtin_namespace),
        CORE("ReplicationController", builtin_replica_set),
        ROW("apps", "Deployment", builtin_deployment),
        ROW("apps", "StatefulSet", builtin_stateful_set),
        ROW("apps", "DaemonSet", builtin_daemon_set),
        ROW("apps", "ReplicaSet", builtin_replica_set),
        ROW("extensions", "Deployment", builtin_deployment),
        ROW("extensions", "DaemonSet", builtin_daemon_set),
        ROW("extensions", "ReplicaSet", builtin_replica_set),
        ROW("extensions", "Ingress", builtin_ingress),
        ROW("networking.k8s.io", "Ingress", builtin_ingress),
        ROW("policy", "PodDisruptionBudget", builtin_disruption_budget),
        ROW("batch", "Job", builtin_job),
        ROW("batch", "CronJob", builtin_cron_job),
        ROW("autoscaling", "HorizontalPodAutoscaler", builtin_autoscaler),
        ROW("apiregistration.k8s.io", "APIService", builtin_api_service),
        ROW("apiextensions.k8s.io", "CustomResourceDefinition", builtin_definition),
        ROW("coordination.k8s.io", "Lease", builtin_lease),
};

const struct builtin *builtin_find(struct str group, struct str kind) {
        for (size_t i = 0; i < ARRAY_LEN(builtins); i++)
                if (str_eqc(kind, builtins[i].kind) && str_eqc(group, builtins[i].group))
                        return &builtins[i];
        return NULL;
}

/* As kstatus reads them (sigs.k8s.io/cli-utils, pkg/kstatus). */
static void standard_conditions(const struct rule *r) {
        const struct value *ready = rule_condition(r, "Ready");
        struct str says;

        if (rule_is_true(r, "Stalled", &says))
                rule_say_text(r, HEALTH_DEGRADED, says);
        else if (rule_is_true(r, "Reconciling", &says))
                rule_say_text(r, HEALTH_PROGRESSING, says);
        else if (rule_condition_is(ready, "True"))
                rule_say_text(r, HEALTH_HEALTHY, rule_text(ready, "message"));
        else if (ready)
                rule_say_text(r, HEALTH_PROGRESSING, rule_says(ready, r->a));
        else
                rule_say_only(r, HEALTH_NONE);
}

const struct builtin builtin_standard = { "", "", "standard conditions, built in", standard_conditions };

/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/title.h"

#include "diff/text.h"

struct word {
        const char *group;
        const char *kind;
        const char *word;
};

/* The short names the API server itself announces in discovery, and plain lower case where there is none. */
static const struct word words[] = {
        { "", "ConfigMap", "configmap" },
        { "", "Endpoints", "endpoints" },
        { "", "Event", "event" },
        { "", "LimitRange", "limits" },
        { "", "Namespace", "ns" },
        { "", "Node", "node" },
        { "", "PersistentVolume", "pv" },
        { "", "PersistentVolumeClaim", "pvc" },
        { "", "Pod", "pod" },
        { "", "PodTemplate", "podtemplate" },
        { "", "ReplicationController", "rc" },
        { "", "ResourceQuota", "quota" },
        { "", "Secret", "secret" },
        { "", "Service", "svc" },
        { "", "ServiceAccount", "sa" },
        { "admissionregistration.k8s.io", "MutatingAdmissionPolicy", "mutatingadmissionpolicy" },
        { "admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybinding" },
        { "admissionregistration.k8s.io", "MutatingWebhookConfiguration", "mutatingwebhook" },
        { "admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "validatingadmissionpolicy" },
        { "admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybinding" },
        { "admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "validatingwebhook" },
        { "apiextensions.k8s.io", "CustomResourceDefinition", "crd" },
        { "apiregistration.k8s.io", "APIService", "apiservice" },
        { "apps", "ControllerRevision", "controllerrevision" },
        { "apps", "DaemonSet", "ds" },
        { "apps", "Deployment", "deploy" },
        { "apps", "ReplicaSet", "rs" },
        { "apps", "StatefulSet", "sts" },
        { "autoscaling", "HorizontalPodAutoscaler", "hpa" },
        { "batch", "CronJob", "cronjob" },
        { "batch", "Job", "job" },
        { "certificates.k8s.io", "CertificateSigningRequest", "csr" },
        { "coordination.k8s.io", "Lease", "lease" },
        { "discovery.k8s.io", "EndpointSlice", "endpointslice" },
        { "flowcontrol.apiserver.k8s.io", "FlowSchema", "flowschema" },
        { "flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "prioritylevel" },
        { "networking.k8s.io", "Ingress", "ingress" },
        { "networking.k8s.io", "IngressClass", "ingressclass" },
        { "networking.k8s.io", "NetworkPolicy", "netpol" },
        { "node.k8s.io", "RuntimeClass", "runtimeclass" },
        { "policy", "PodDisruptionBudget", "pdb" },
        { "rbac.authorization.k8s.io", "ClusterRole", "clusterrole" },
        { "rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebinding" },
        { "rbac.authorization.k8s.io", "Role", "role" },
        { "rbac.authorization.k8s.io", "RoleBinding", "rolebinding" },
        { "scheduling.k8s.io", "PriorityClass", "pc" },
        { "storage.k8s.io", "CSIDriver", "csidriver" },
        { "storage.k8s.io", "CSINode", "csinode" },
        { "storage.k8s.io", "StorageClass", "sc" },
        { "storage.k8s.io", "VolumeAttachment", "volumeattachment" },
};

static const char *builtin_word(struct str group, struct str kind) {
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                if (str_eqc(group, words[i].group) && str_eqc(kind, words[i].kind))
                        return words[i].word;
        return NULL;
}

static void add_lower(struct str kind, struct buf *out) {
        for (size_t i = 0; i < kind.n; i++) {
                char c = kind.p[i];

                if (c >= 'A' && c <= 'Z')
                        buf_addch(out, (char)(c - 'A' + 'a'));
                else
                        text_add(out, str_sub(kind, i, i + 1));
        }
}

void diff_kind_word(struct str group, struct str kind, bool with_group, struct buf *out) {
        const char *word = builtin_word(group, kind);

        if (word) {
                buf_addc(out, word);
                return;
        }
        add_lower(kind, out);
        if (with_group && group.n) {
                buf_addch(out, '.');
                text_add(out, group);
        }
}

void diff_title(struct str group, struct str kind, struct str name, bool with_group, struct buf *out) {
        diff_kind_word(group, kind, with_group, out);
        buf_addch(out, '/');
        text_add(out, name);
}

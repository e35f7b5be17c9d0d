#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes a repository folder of 300 objects of 25 kinds, among them one CRD with resources of it, and every shape known
# to differ from the live object although it changes nothing: fields with their default spelled out, empty values,
# nulls, quantities in other units, lists whose items the server completes.
#
#   many_objects.sh DIR NAMESPACE SUFFIX     SUFFIX keeps names of cluster-scoped objects apart
set -euo pipefail

dir=$1
ns=$2
suffix=$3
group=parts-$suffix.example.io
written=0
wanted=300

# doc FILE: standard input becomes one more document of a file.
doc() {
	{
		printf -- '---\n'
		cat
	} >>"$dir/$1"
	written=$((written + 1))
}

namespaces() {
	doc namespaces.yaml <<-YAML
		apiVersion: v1
		kind: Namespace
		metadata: {name: $ns-more, creationTimestamp: null}
		spec: {}
		status: {}
	YAML
}

custom() {
	local i
	doc crd.yaml <<-YAML
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: parts.$group, creationTimestamp: null}
		spec:
		  group: $group
		  scope: Namespaced
		  names: {kind: Part, plural: parts, singular: part, listKind: PartList}
		  versions:
		    - name: v1
		      served: true
		      storage: true
		      subresources: {status: {}}
		      schema:
		        openAPIV3Schema:
		          type: object
		          properties:
		            spec:
		              type: object
		              properties:
		                size: {type: integer, default: 3}
		                color: {type: string}
		                limits:
		                  type: object
		                  additionalProperties: {type: string}
		                steps:
		                  type: array
		                  x-kubernetes-list-type: map
		                  x-kubernetes-list-map-keys: [name]
		                  items:
		                    type: object
		                    required: [name]
		                    properties:
		                      name: {type: string}
		                      weight: {type: integer, default: 1}
		            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
	YAML
	for i in 1 2 3 4 5 6; do
		doc "parts.yaml" <<-YAML
			apiVersion: $group/v1
			kind: Part
			metadata: {name: part-$i, creationTimestamp: null}
			spec:
			  color: "c$i"
			  limits: {}
			  steps: [{name: cut}, {name: bend, weight: $i}]
			status: {}
		YAML
	done
}

config_maps() {
	local i
	for i in $(seq "$1"); do
		doc configmaps.yaml <<-YAML
			apiVersion: v1
			kind: ConfigMap
			metadata:
			  name: settings-$i
			  creationTimestamp: null
			  labels: {app: "app-$i"}
			  annotations: {}
			data:
			  on: "true"
			  empty: ""
			  number: "$i"
			  file.conf: |
			    line one
			      line two $i
			binaryData: {}
			immutable: null
		YAML
	done
}

secrets() {
	local i
	for i in $(seq "$1"); do
		doc secrets.yaml <<-YAML
			apiVersion: v1
			kind: Secret
			metadata: {name: secret-$i, creationTimestamp: null}
			type: Opaque
			stringData: {password: "pass-$i"}
			data: {token: $(printf 'token-%s' "$i" | base64)}
		YAML
	done
}

accounts() {
	local i
	for i in $(seq "$1"); do
		doc accounts.yaml <<-YAML
			apiVersion: v1
			kind: ServiceAccount
			metadata: {name: account-$i}
			imagePullSecrets: []
			automountServiceAccountToken: false
			---
			apiVersion: rbac.authorization.k8s.io/v1
			kind: Role
			metadata: {name: role-$i, creationTimestamp: null}
			rules:
			  - {apiGroups: [""], resources: [configmaps], verbs: [get, list]}
			  - {apiGroups: [apps], resources: [deployments], resourceNames: [], verbs: [get]}
			---
			apiVersion: rbac.authorization.k8s.io/v1
			kind: RoleBinding
			metadata: {name: binding-$i}
			roleRef: {kind: Role, name: role-$i, apiGroup: rbac.authorization.k8s.io}
			subjects:
			  - {kind: ServiceAccount, name: account-$i, namespace: $ns}
			  - {kind: User, name: someone}
		YAML
		written=$((written + 2))
	done
}

cluster_rights() {
	local i
	for i in $(seq "$1"); do
		doc cluster-rights.yaml <<-YAML
			apiVersion: rbac.authorization.k8s.io/v1
			kind: ClusterRole
			metadata: {name: reader-$i-$suffix}
			aggregationRule: null
			rules:
			  - {apiGroups: [""], resources: [nodes], verbs: [get]}
			  - {nonResourceURLs: [/version], verbs: [get]}
			---
			apiVersion: rbac.authorization.k8s.io/v1
			kind: ClusterRoleBinding
			metadata: {name: reader-$i-$suffix}
			roleRef: {kind: ClusterRole, name: reader-$i-$suffix, apiGroup: rbac.authorization.k8s.io}
			subjects: [{kind: Group, name: readers-$i}]
		YAML
		written=$((written + 1))
	done
	doc cluster-rights.yaml <<-YAML
		apiVersion: scheduling.k8s.io/v1
		kind: PriorityClass
		metadata: {name: low-$suffix, creationTimestamp: null}
		value: 1000
		globalDefault: false
		description: ""
	YAML
	doc cluster-rights.yaml <<-YAML
		apiVersion: storage.k8s.io/v1
		kind: StorageClass
		metadata: {name: disk-$suffix}
		provisioner: example.io/none
		parameters: {}
		allowVolumeExpansion: false
	YAML
}

# pod_template INDENT NAME: a pod template with all that is often written and means nothing.
pod_template() {
	sed "s/^/$1/" <<-YAML
		metadata:
		  creationTimestamp: null
		  labels: {app: $2}
		  annotations: {}
		spec:
		  nodeSelector: {}
		  tolerations: []
		  securityContext: {}
		  restartPolicy: Always
		  terminationGracePeriodSeconds: 30
		  serviceAccountName: account-1
		  initContainers:
		    - {name: prepare, image: "prepare:1", command: [], args: []}
		  containers:
		    - name: main
		      image: main:1
		      command: []
		      ports:
		        - {containerPort: 8080}
		        - {name: metrics, containerPort: 9090, protocol: TCP}
		      env:
		        - {name: EMPTY, value: ""}
		        - {name: LOG, value: info}
		        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
		      envFrom: []
		      resources:
		        requests: {cpu: 1000m, memory: 1024Mi}
		        limits: {cpu: "2", memory: 2Gi, ephemeral-storage: 1000Mi}
		      livenessProbe:
		        initialDelaySeconds: 0
		        httpGet: {path: /healthz, port: metrics, scheme: HTTP}
		      volumeMounts:
		        - {name: settings, mountPath: /etc/settings, readOnly: false}
		    - {name: side, image: "side:1", resources: {}}
		  volumes:
		    - name: settings
		      configMap: {name: settings-1, items: [{key: file.conf, path: file.conf}]}
		    - {name: scratch, emptyDir: {}}
	YAML
}

deployments() {
	local i
	for i in $(seq "$1"); do
		doc "deployments-$((i % 4)).yaml" <<-YAML
			apiVersion: apps/v1
			kind: Deployment
			metadata:
			  name: app-$i
			  creationTimestamp: null
			  labels: {app: app-$i}
			spec:
			  replicas: 0
			  paused: false
			  strategy: {}
			  minReadySeconds: 0
			  selector: {matchLabels: {app: app-$i}}
			  template:
			$(pod_template '    ' "app-$i")
			status: {}
		YAML
	done
}

services() {
	local i
	for i in $(seq "$1"); do
		doc services.yaml <<-YAML
			apiVersion: v1
			kind: Service
			metadata: {name: app-$i, creationTimestamp: null}
			spec:
			  selector: {app: app-$i}
			  type: ClusterIP
			  sessionAffinity: None
			  ports:
			    - {name: http, port: 80, targetPort: 8080}
			    - {name: metrics, port: 9090}
			status: {loadBalancer: {}}
		YAML
	done
}

stateful_sets() {
	local i
	for i in $(seq "$1"); do
		doc stateful.yaml <<-YAML
			apiVersion: apps/v1
			kind: StatefulSet
			metadata: {name: db-$i, creationTimestamp: null}
			spec:
			  replicas: 0
			  serviceName: app-$i
			  updateStrategy: {}
			  selector: {matchLabels: {app: db-$i}}
			  template:
			$(pod_template '    ' "db-$i")
			  volumeClaimTemplates:
			    - metadata: {name: data, creationTimestamp: null}
			      spec:
			        accessModes: [ReadWriteOnce]
			        resources: {requests: {storage: 1024Mi}}
			      status: {}
		YAML
	done
}

daemon_sets() {
	local i
	for i in $(seq "$1"); do
		doc daemons.yaml <<-YAML
			apiVersion: apps/v1
			kind: DaemonSet
			metadata: {name: agent-$i}
			spec:
			  updateStrategy: {type: RollingUpdate}
			  selector: {matchLabels: {app: agent-$i}}
			  template:
			    metadata: {labels: {app: agent-$i}}
			    spec:
			      nodeSelector: {example.io/nowhere: "true"}
			      containers:
			        - {name: main, image: "agent:1", securityContext: {privileged: false}, imagePullPolicy: IfNotPresent}
		YAML
	done
}

jobs() {
	local i
	for i in $(seq "$1"); do
		doc jobs.yaml <<-YAML
			apiVersion: batch/v1
			kind: Job
			metadata: {name: job-$i, creationTimestamp: null}
			spec:
			  suspend: true
			  backoffLimit: 6
			  template:
			    metadata: {creationTimestamp: null}
			    spec: {restartPolicy: Never, containers: [{name: main, image: "job:1", resources: {}}]}
			---
			apiVersion: batch/v1
			kind: CronJob
			metadata: {name: cron-$i, creationTimestamp: null}
			spec:
			  suspend: true
			  schedule: "*/5 * * * *"
			  concurrencyPolicy: Allow
			  jobTemplate:
			    metadata: {creationTimestamp: null}
			    spec:
			      template:
			        metadata: {creationTimestamp: null}
			        spec: {restartPolicy: OnFailure, containers: [{name: main, image: "job:1", command: []}]}
			status: {}
		YAML
		written=$((written + 1))
	done
}

network() {
	local i
	for i in $(seq "$1"); do
		doc network.yaml <<-YAML
			apiVersion: networking.k8s.io/v1
			kind: Ingress
			metadata: {name: app-$i, creationTimestamp: null, annotations: {}}
			spec:
			  rules:
			    - host: app-$i.example.io
			      http:
			        paths:
			          - {path: /, pathType: Prefix, backend: {service: {name: app-$i, port: {number: 80}}}}
			status: {loadBalancer: {}}
			---
			apiVersion: networking.k8s.io/v1
			kind: NetworkPolicy
			metadata: {name: app-$i}
			spec:
			  podSelector: {matchLabels: {app: app-$i}}
			  policyTypes: [Ingress]
			  ingress:
			    - ports: [{port: 8080}, {port: 9090, protocol: TCP}]
			      from: [{podSelector: {}}]
			---
			apiVersion: policy/v1
			kind: PodDisruptionBudget
			metadata: {name: app-$i, creationTimestamp: null}
			spec:
			  minAvailable: 50%
			  selector: {matchLabels: {app: app-$i}}
			status: null
		YAML
		written=$((written + 2))
	done
}

scalers() {
	local i
	for i in $(seq "$1"); do
		doc scalers.yaml <<-YAML
			apiVersion: autoscaling/v2
			kind: HorizontalPodAutoscaler
			metadata: {name: app-$i, creationTimestamp: null}
			spec:
			  minReplicas: 1
			  maxReplicas: 3
			  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app-$i}
			  metrics:
			    - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
		YAML
	done
}

limits() {
	doc limits.yaml <<-YAML
		apiVersion: v1
		kind: LimitRange
		metadata: {name: limits, creationTimestamp: null}
		spec:
		  limits: [{type: Container, default: {cpu: 1000m, memory: 1024Mi}, max: {cpu: "64"}}]
	YAML
	doc limits.yaml <<-YAML
		apiVersion: v1
		kind: ResourceQuota
		metadata: {name: quota}
		spec: {hard: {pods: "1000", requests.cpu: 1000000m}}
		status: {}
	YAML
	doc limits.yaml <<-YAML
		apiVersion: v1
		kind: PersistentVolumeClaim
		metadata: {name: data, creationTimestamp: null}
		spec:
		  accessModes: [ReadWriteOnce]
		  storageClassName: disk-$suffix
		  resources: {requests: {storage: 1024Mi}}
		status: {}
	YAML
}

mkdir -p "$dir"
namespaces
custom
secrets 30
accounts 15
cluster_rights 4
deployments 60
services 40
stateful_sets 8
daemon_sets 3
jobs 5
network 8
scalers 3
limits
config_maps $((wanted - written))

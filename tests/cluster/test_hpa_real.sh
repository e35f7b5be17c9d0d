#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The real HPA controller scales by metrics while truce applies commits: neither undoes the other.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

put_busy() {
	put busy.yaml <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: busy}
		spec:
		  replicas: 1
		  selector: {matchLabels: {app: busy}}
		  template:
		    metadata: {labels: {app: busy}}
		    spec: {containers: [{name: main, image: "$1", resources: {requests: {cpu: 100m}}}]}
		---
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: busy}
		spec:
		  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: busy}
		  minReplicas: 1
		  maxReplicas: 4
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
}

write_metrics() {
	local pod now
	now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	for pod in $(kc operator -n "$NS" get pods -l app=busy -o 'jsonpath={.items[*].metadata.name}'); do
		cat <<-YAML
			---
			apiVersion: metrics.k8s.io/v1beta1
			kind: PodMetrics
			metadata: {name: $pod, namespace: $NS, labels: {app: busy}}
			timestamp: $now
			window: 10s
			containers: [{name: main, usage: {cpu: $1, memory: 1Mi}}]
		YAML
	done | kc operator apply --server-side --force-conflicts -f - >/dev/null
}

replicas_become() {
	write_metrics "$1"
	[ "$(got deployment busy '{.spec.replicas}')" = "$2" ]
}

writes_with_replicas() {
	cluster audit --lines --user truce --verb patch,update --resource deployments --name busy --since "$MARK" |
		grep -c '"replicas":' || true
}

it_scales_up_and_down_under_truce() {
	put_busy main:1
	commit 'busy with an HPA'
	agent_start
	agent_waits 30 'msg="latency"'
	mark
	wait_until 60 replicas_become 90m 4
	agent_mark
	put_busy main:2
	commit 'a new image'
	agent_waits 20 'a new image'
	agent_waits 20 'msg="latency"'
	assert_eq main:2 "$(got deployment busy '{.spec.template.spec.containers[0].image}')"
	assert_eq 4 "$(got deployment busy '{.spec.replicas}')" 'replicas after a commit'
	wait_until 90 replicas_become 1m 1
	assert_eq 0 "$(writes_with_replicas)" 'writes of truce with replicas after creation'
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
	agent_stop
}

cluster_begin --hpa
cluster_needs private
truce_begin hpa-real
run_cases it_scales_up_and_down_under_truce

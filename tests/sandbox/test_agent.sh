#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole agent against `truce sandbox` over HTTP: what tests/cluster shows on a real API server, where there is none.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"

deployment=/apis/apps/v1/namespaces/$NS/deployments/web
config=/api/v1/namespaces/$NS/configmaps/settings

put_deployment() {
	put web.yaml <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web}
		spec:
		  replicas: $1
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata:
		      labels: {app: web}
		      annotations: {sandbox.truce.dev/cpu: 180m}
		    spec:
		      containers:
		      - name: web
		        image: registry.example/web:1
		        resources: {requests: {cpu: 100m}}
	YAML
}

a_first_sync_creates_what_git_says() {
	put_deployment 2
	put settings.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: settings}
		data: {color: blue}
	YAML
	commit first
	truce_ok sync --create-namespace --wait
	assert_eq blue "$(got "$config" data.color)"
	assert_eq 2 "$(got "$deployment" spec.replicas)"
	wait_until 20 is "$deployment" status.readyReplicas 2
}

a_second_sync_finds_nothing_to_do() {
	local before after
	before=$(got "$deployment" metadata.resourceVersion)
	truce_ok sync --wait
	truce_ok diff
	after=$(got "$deployment" metadata.resourceVersion)
	assert_eq "$before" "$after" 'resourceVersion of what was not to be changed'
}

an_edit_is_told_and_healed() {
	agent_start --self-heal --prune
	wait_until 20 grep -F 'msg="synced"' "$LOG"
	api PATCH "$config" '{"data":{"color":"red"}}' application/merge-patch+json
	assert_eq 200 "$CODE"
	wait_until 20 is "$config" data.color blue
	wait_until 20 grep -F 'msg="healed"' "$LOG"
}

an_autoscaler_keeps_what_it_scaled() {
	api POST "/apis/autoscaling/v2/namespaces/$NS/horizontalpodautoscalers" '{"metadata":{"name":"web"},"spec":{"maxReplicas":5,
		"minReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"metrics":[{"type":"Resource",
		"resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":90}}}]}}'
	assert_eq 201 "$CODE"
	wait_until 60 is "$deployment" spec.replicas 4
	put settings.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: settings}
		data: {color: green}
	YAML
	commit 'another colour; replicas: 2 stays in Git'
	wait_until 20 is "$config" data.color green
	[ "$(got "$deployment" spec.replicas)" -ge 4 ] || fail 'truce took the replicas back from the autoscaler'
}

# Another one's rule guards it; where it stood in Git is a file, without a line.
what_may_not_be_deleted_is_told() {
	local event=/api/v1/namespaces/$NS/events
	put kept.yaml <<-YAML
		apiVersion: v1
		kind: ServiceAccount
		metadata: {name: kept}
	YAML
	commit 'one that a rule guards'
	wait_until 20 is "/api/v1/namespaces/$NS/serviceaccounts/kept" metadata.name kept
	git -C "$REPO" rm -q deploy/kept.yaml
	commit 'without it'
	wait_until 20 grep -E 'msg="?failed"? .*at="?deploy/kept.yaml"? .*it stays' "$LOG"
	wait_until 20 has_event "$event" 'SyncFailed kept'
	put kept.yaml <<-YAML
		apiVersion: v1
		kind: ServiceAccount
		metadata: {name: kept}
	YAML
	commit 'and back'
}

has_event() {
	api GET "$1"
	python3 -c 'import json, sys
for e in json.load(open(sys.argv[1]))["items"]:
    print(e["reason"], e["involvedObject"]["name"], e["message"])' "$WORK/body" | grep -F "$2"
}

what_git_no_longer_has_is_pruned() {
	git -C "$REPO" rm -q deploy/settings.yaml
	commit 'no settings'
	wait_until 20 is_gone "$config"
	api GET "$deployment"
	assert_eq 200 "$CODE"
	agent_stop
}

cat >"$WORK/rules.yaml" <<-YAML
	rules:
	- {name: guard, match: {kinds: [ServiceAccount], operations: [DELETE]}, deny: it stays}
YAML
sandbox_start --rules "$WORK/rules.yaml"
run_cases a_first_sync_creates_what_git_says a_second_sync_finds_nothing_to_do an_edit_is_told_and_healed \
	an_autoscaler_keeps_what_it_scaled what_may_not_be_deleted_is_told what_git_no_longer_has_is_pruned
sandbox_end

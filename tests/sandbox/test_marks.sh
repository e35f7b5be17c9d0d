#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No rule takes truce's own marks from an object: what it watches by and what it knows its objects by.
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
MAP=/api/v1/namespaces/shop/configmaps/a
DEPLOYMENT=/apis/apps/v1/namespaces/shop/deployments/web

truce_flags() {
	printf '%s\n' --kubeconfig "$KUBECONFIG" --config "$WORK/etc" --data-dir "$WORK/data"
}

# application SYNC-OPTIONS: rules about all labels and annotations, and about replicas.
application() {
	cat >"$WORK/etc/shop.yaml" <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: shop}
		spec:
		  source: {repoURL: "file://$REPO", path: deploy, targetRevision: main}
		  destination: {namespace: shop}
		  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [$1]}
		  ignoreDifferences:
		  - {kind: ConfigMap, jsonPointers: [/metadata/labels], jqPathExpressions: ['.metadata.annotations', '.metadata[]?']}
		  - {group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}
	YAML
}

begin() {
	sandbox_start
	mkdir -p "$WORK/etc"
	cat >"$WORK/etc/agent.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec: {pollInterval: 1s, allowFileRepositories: true}
	YAML
	put all.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: a, labels: {tier: git}}
		data: {key: git}
		---
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: web}}
		  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}
	YAML
	commit 'a map'
	api POST /api/v1/namespaces '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}'
	api POST '/api/v1/namespaces/shop/configmaps?fieldManager=kubectl-edit' '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"tier":"hers"}},"data":{"key":"hers"}}'
	assert_eq 201 "$CODE" 'the map that was there before'
}

edit() {
	api PATCH "$MAP?fieldManager=kubectl-edit" "$1" application/merge-patch+json
	assert_eq 200 "$CODE" 'the edit'
}

has() {
	api GET "$MAP"
	[[ $BODY == *"$1"* ]]
}

an_object_that_was_there_is_marked_and_healed() {
	application RespectIgnoreDifferences=true
	agent_start
	wait_until 20 is "$MAP" data.key git
	assert_eq hers "$(got "$MAP" metadata.labels.tier)" 'the label that is left to others'
	edit '{"data":{"key":"again"}}'
	wait_until 20 is "$MAP" data.key git
}

a_mark_that_is_taken_away_comes_back() {
	edit '{"metadata":{"labels":{"truce.dev/installation":null}}}'
	wait_until 20 has '"truce.dev/installation":"truce"'
	edit '{"metadata":{"annotations":null}}'
	wait_until 20 has 'shop:/ConfigMap:shop/a'
}

a_number_that_a_rule_leaves_had_no_autoscaler() {
	wait_until 20 is "$DEPLOYMENT" spec.replicas 2
	! grep -q 'stays for now' "$LOG" || fail 'an autoscaler that never was is told to have gone'
	agent_stop
	truce owners deployment/web -n shop
	says 'ignoreDifferences'
}

# Where rules only count in comparisons, too.
and_so_they_do_when_rules_only_compare() {
	application ''
	agent_start
	edit '{"metadata":{"labels":{"truce.dev/installation":null},"annotations":null}}'
	a_mark_that_is_taken_away_comes_back
	edit '{"data":{"key":"again"}}'
	wait_until 20 is "$MAP" data.key git
	agent_stop
	sandbox_end
}

begin
run_cases an_object_that_was_there_is_marked_and_healed a_mark_that_is_taken_away_comes_back \
	a_number_that_a_rule_leaves_had_no_autoscaler and_so_they_do_when_rules_only_compare

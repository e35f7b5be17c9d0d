#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `truce owners` without a cluster: an autoscaler, a person, another deployer, an admission rule and defaults on one
# Deployment, and the rule that it prints. tests/cluster/test_owners.sh has the same on a real API server, and more.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"

deployment=/apis/apps/v1/namespaces/$NS/deployments/web

row_is() {
	local row
	row=$(grep -F -- "$1 " <<<"$OUT" | head -n 1 | tr -s ' ')
	[[ $row == *"$2"* ]] || fail "the row of $1 lacks '$2': $row"
}

edit() {
	api PATCH "$deployment?fieldManager=$1" "$2" "$3"
	assert_eq 200 "$CODE" "answer to the edit of $1"
}

a_shared_deployment_comes_to_be() {
	put web.yaml <<-'YAML'
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web, labels: {team: shop}}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec:
		      containers:
		      - name: web
		        image: registry.example/web:1
		        env: [{name: LOG, value: info}]
	YAML
	put hpa.yaml <<-'YAML'
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: web}
		spec:
		  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
		  minReplicas: 2
		  maxReplicas: 9
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
	commit first
	truce_ok sync --create-namespace
	edit kubectl-edit '{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"LOG","value":"debug"}]}]}}}}' \
		application/strategic-merge-patch+json
	edit 'argocd-controller&force=true' '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"team":"platform"}}}' \
		application/apply-patch+yaml
}

each_owner_is_named_with_what_truce_does() {
	truce_ok owners deploy/web
	row_is spec.replicas "HPA $NS/web (scale)"
	row_is spec.replicas 'yields built-in: a scaler owns replicas'
	row_is 'spec.template.spec.containers[web].image' 'enforces deploy/web.yaml:12'
	row_is 'spec.template.spec.containers[web].env[LOG].value' 'kubectl-edit (a person)'
	row_is 'spec.template.spec.containers[web].env[LOG].value' 'takes back built-in: '
	row_is 'spec.template.spec.containers[proxy]' 'nobody (admission) – ignores built-in: admission'
	row_is metadata.labels.team 'reports built-in: another owner is left alone'
	truce_ok owners deploy/web --all
	row_is spec.strategy.type 'nobody (default) – ignores –'
}

the_printed_rule_settles_it() {
	local rule
	truce_ok owners deploy/web
	rule=$(sed -n 's/^  - \({.*}\)$/\1/p' <<<"$OUT")
	[ -n "$rule" ] || fail 'no rule is printed'
	printf 'apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec: {ownership: {rules: [%s]}}\n' "$rule" \
		>"$WORK/agent.yaml"
	truce_ok sync --config "$WORK/agent.yaml"
	assert_eq platform "$(got "$deployment" metadata.labels.team)"
	truce_ok owners deploy/web --config "$WORK/agent.yaml" -o yaml
	says "place: $WORK/agent.yaml:4"
	says 'reports: []'
}

what_a_rule_leaves_to_whoever_has_it_is_told_by_the_rule() {
	printf 'apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec: {ownership: {rules: [{name: ours to leave, path: %s, action: yield}]}}\n' \
		.spec.selector >"$WORK/agent.yaml"
	truce_ok sync --config "$WORK/agent.yaml"
	says 'spec.selector, by rule ours to leave'
}

what_is_asked_wrongly_is_told() {
	truce owners
	assert_eq 2 "$RC" 'exit status without an object'
	says 'truce owners deploy/web -n shop'
	truce owners deploy/webb
	assert_eq 2 "$RC" 'exit status for an object that nobody wants'
	says 'did you mean web?'
	truce owners wep/web
	says "no kind called 'wep'"
	truce owners deploy/web deploy/api hpa/web
	says "takes one object"
}

cat >"$WORK/rules.yaml" <<-'YAML'
	rules:
	- name: sidecar
	  match: {kinds: [Deployment], operations: [CREATE]}
	  patch: [{op: add, path: /spec/template/spec/containers/-, value: {name: proxy, image: "proxy:1"}}]
YAML
sandbox_start --rules "$WORK/rules.yaml"
run_cases a_shared_deployment_comes_to_be each_owner_is_named_with_what_truce_does the_printed_rule_settles_it \
	what_a_rule_leaves_to_whoever_has_it_is_told_by_the_rule what_is_asked_wrongly_is_told
sandbox_end

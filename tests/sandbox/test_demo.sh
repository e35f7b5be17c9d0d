#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `truce demo` without a cluster: the story in its own sandbox, what it tells afterwards, and what it says when a step does
# not come true.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"

STORY=$LOG

demo() {
	RC=0
	OUT=$(env TMPDIR="$WORK/tmp" "$TRUCE" demo --pause 0s "$@" 2>&1) || RC=$?
}

nothing_is_left() {
	assert_eq '' "$(ls "$WORK/tmp")" 'what it left behind'
}

stop_demo() {
	RC=0
	kill -INT "$AGENT_PID"
	wait "$AGENT_PID" || RC=$?
	AGENT_PID=
	OUT=$(<"$STORY")
}

# The file is empty at once: what is looked for in it stands in the story before, too.
start_demo() {
	: >"$STORY"
	env TMPDIR="$WORK/tmp" "$TRUCE" demo "$@" >"$STORY" 2>&1 &
	AGENT_PID=$!
}

told() {
	grep -qE -- "$1" "$STORY"
}

the_story_holds_and_its_lines_are_plain() {
	start_demo --pause 0s
	wait_until 90 told 'Ctrl-C ends'
	OUT=$(<"$STORY")
	says '1  first sync         12 created'
	says 'HPA shop/web scales deploy/web 2 → 6'
	says '0 writes'
	says 'healed in '
	says 'web.yaml:17: mapping values are not allowed'
	says 'imagee: field not declared in schema'
	says 'HPA shop/web (scale)'
	says 'yields: built-in: a scaler owns replicas'
	says 'enforces: web.yaml:17'
	says 'All of it held'
	! grep -q $'[\033\r]' <<<"$OUT" || fail 'there are control characters in plain output'
}

it_stays_and_tells_what_happens() {
	API=$(sed -n 's/.*"name": "truce-sandbox", "cluster": {"server": "\([^"]*\)".*/\1/p' "$WORK"/tmp/*/kubeconfig)
	api PATCH "/apis/apps/v1/namespaces/$NS/deployments/web/scale?fieldManager=kubectl" '{"spec":{"replicas":9}}' \
		application/merge-patch+json
	assert_eq 200 "$CODE"
	wait_until 10 told 'deploy/web +scaled 6 → 9 by kubectl .*left.*0 writes'
	api PATCH "/api/v1/namespaces/$NS/configmaps/flags?fieldManager=kubectl-edit" '{"data":{"banner":"off"}}' \
		application/merge-patch+json
	wait_until 10 told 'configmap/flags +banner off → on · .*healed in'
	api DELETE "/api/v1/namespaces/$NS/services/web"
	wait_until 10 told 'svc/web +was deleted · made again in'
	git -C "$WORK"/tmp/*/shop commit -q --allow-empty -m 'by hand'
	wait_until 10 told 'commit +main @ [0-9a-f]{7}  "by hand"'
}

its_commands_work() {
	local config
	config=$(echo "$WORK"/tmp/*/truce.yaml)
	"$TRUCE" status --config "$config" | grep -q 'Synced' || fail 'truce status does not say Synced'
	"$TRUCE" diff --config "$config" | grep -q 'not ours: spec.replicas = 9' || fail 'truce diff does not tell of replicas'
	stop_demo
	assert_eq 0 "$RC" 'exit status after Ctrl-C'
	nothing_is_left
}

an_interrupted_story_ends_with_1() {
	start_demo --pause 60s
	wait_until 20 told '^1  first sync'
	stop_demo
	assert_eq 1 "$RC" 'exit status'
	says 'interrupted'
	nothing_is_left
}

another_api_is_used_and_cleaned_up() {
	sandbox_start
	demo --exit --kubeconfig "$KUBECONFIG" --namespace trial
	assert_eq 0 "$RC" 'exit status'
	says 'HPA trial/web scales deploy/web 2 → 6'
	is_gone /api/v1/namespaces/trial || fail 'its namespace is still there'
	is_gone /api/v1/namespaces/trial-truce || fail "the agent's namespace is still there"
	is_gone /apis/apiextensions.k8s.io/v1/customresourcedefinitions/coupons.trial.example.io || fail 'its CRD is still there'
}

a_namespace_that_is_there_is_left_alone() {
	demo --exit --kubeconfig "$KUBECONFIG" --namespace default
	assert_eq 2 "$RC" 'exit status'
	says 'namespace default is there already'
	api GET /api/v1/namespaces/default
	assert_eq 200 "$CODE"
	sandbox_end
}

a_step_that_does_not_come_true_is_named() {
	cat >"$WORK/rules" <<-YAML
		rules:
		- name: frozen
		  match: {kinds: [Deployment], operations: [UPDATE]}
		  unlessSet: /metadata/labels/thawed
		  deny: deployments are frozen
	YAML
	sandbox_start --rules "$WORK/rules"
	demo --exit --kubeconfig "$KUBECONFIG" --namespace trial
	assert_eq 1 "$RC" 'exit status'
	says 'the story does not hold: step '
	says 'deployments are frozen'
	sandbox_end
}

mkdir "$WORK/tmp"
run_cases the_story_holds_and_its_lines_are_plain it_stays_and_tells_what_happens its_commands_work \
	an_interrupted_story_ends_with_1 another_api_is_used_and_cleaned_up a_namespace_that_is_there_is_left_alone \
	a_step_that_does_not_come_true_is_named

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Health in the agent and in `truce sync --wait`, by rules of a folder: they are read anew when a file changes, a broken one is
# told and does not come into force.
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

truce_flags() {
	printf '%s\n' --kubeconfig "$KUBECONFIG" --repo "$REPO" --path deploy --namespace shop --create-namespace --name shop \
		--data-dir "$WORK/data" --health-dir "$WORK/rules"
}

# rule KIND: standard input becomes its rule
rule() {
	mkdir -p "$WORK/rules/$1"
	cat >"$WORK/rules/$1/health.lua"
}

health_is() {
	"$TRUCE" status --kubeconfig "$KUBECONFIG" -o json | grep -F "\"health\": \"$1\""
}

the_rules_are_listed_and_broken_ones_told() {
	rule ConfigMap <<-'LUA'
		return {status = obj.data.health, message = obj.data.says, terminal = obj.data.says == "for good"}
	LUA
	printf 'not a rule\n' >"$WORK/rules/README.md"
	OUT=$("$TRUCE" config check --health-dir "$WORK/rules" 2>&1) || fail "config check ended with $?"
	says 'Health rules'
	says 'ConfigMap  open libraries'
	rule example.com/Widget <<<'return ='
	RC=0
	OUT=$("$TRUCE" config check --health-dir "$WORK/rules" 2>&1) || RC=$?
	assert_eq 2 "$RC"
	says 'example.com/Widget/health.lua:1: this health rule cannot be used'
	truce sync
	assert_eq 2 "$RC" 'exit status with a broken rule'
	rm -r "$WORK/rules/example.com"
}

# map HEALTH SAYS
map() {
	put map.yaml <<<"{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {health: $1, says: $2}}"
	commit "$1 $2"
}

a_sync_waits_and_says_for_whom() {
	map Healthy ''
	truce_ok sync --wait
	says 'synced, healthy'
	map Degraded 'for good'
	truce sync --wait --timeout 60s
	assert_eq 1 "$RC" 'exit status of a wait for what is Degraded for good'
	says 'synced, degraded'
	says 'Degraded: configmap/map: for good'
	truce_ok sync --wait=applied
	truce_ok status
	says 'Degraded'
	says 'health: configmap/map: for good'
	map Progressing 'one of two'
	truce sync --wait --timeout 2s
	assert_eq 3 "$RC" 'exit status of a wait that is over'
	says 'waiting for configmap/map: one of two'
	truce sync --wait=ready
	assert_eq 2 "$RC" 'exit status of a mistake'
	says 'must be one of'
}

a_changed_rule_comes_into_force() {
	agent_start
	agent_waits 20 'msg="synced"'
	wait_until 20 health_is Progressing
	rule ConfigMap <<<'return {status = "Suspended", message = "by another rule"}'
	agent_waits 20 'another configuration is in force'
	wait_until 20 health_is Suspended
	agent_mark
	rule ConfigMap <<<'return {status = '
	agent_waits 20 'the configuration before stays in force'
	wait_until 20 config_is_told
	health_is Suspended || fail 'the rule before is not in force any more'
	rule ConfigMap <<<'return {status = "Healthy"}'
	wait_until 20 health_is Healthy
	agent_stop
}

config_is_told() {
	"$TRUCE" status --kubeconfig "$KUBECONFIG" | grep -F 'ConfigMap/health.lua:'
}

sandbox_start
run_cases the_rules_are_listed_and_broken_ones_told a_sync_waits_and_says_for_whom a_changed_rule_comes_into_force
sandbox_end

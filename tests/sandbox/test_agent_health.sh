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

# One kind each: a script that ran out of time or memory is not run again.
hostile_rules() {
	cat <<-'LUA'
		while true do end
		while true do pcall(function() while true do end end) end
		local all = {} while true do all[#all + 1] = ("x"):rep(1000) .. #all end
		local s = ("a"):rep(100000) while true do s:find((".-"):rep(20) .. "b") end
		while true do (("x"):rep(1000000)):gsub(".", function() return "yy" end) end
		local t = {} for i = 1, 100000 do t[i] = i end while true do table.sort(t, function(a, b) return a > b end) end
		local function f() return 1 + f() end return f()
		local f f = function() return coroutine.wrap(f)() end return f()
		error(setmetatable({}, {__tostring = function() while true do end end}))
		local t = {} t.t = t return t
		return setmetatable({}, {__index = function() while true do end end, __pairs = function() while true do end end})
		return {status = ("x"):rep(4000000), message = {}}
	LUA
}

# kind N: its definition and an object of it
kind() {
	cat <<-YAML
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: bad$1s.example.com}
		spec:
		  group: example.com
		  scope: Namespaced
		  names: {plural: bad$1s, singular: bad$1, kind: Bad$1, listKind: Bad$1List}
		  versions:
		  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
		---
		apiVersion: example.com/v1
		kind: Bad$1
		metadata: {name: one}
		---
	YAML
}

metric() {
	curl -fs "http://127.0.0.1:$PORT/metrics" | awk -v name="$1" 'index($1, name) == 1 { sum += $2 } END { print sum + 0 }'
}

git_is_applied() {
	[ "$(got /api/v1/namespaces/shop/configmaps/map data.says)" = "$1" ]
}

hostile_rules_hold_up_nothing() {
	local n=0 line
	while IFS= read -r line; do
		n=$((n + 1))
		rule "example.com/Bad$n" <<<"$line"
		kind "$n" | put "bad$n.yaml"
	done < <(hostile_rules)
	commit 'hostile'
	PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	agent_start --listen "127.0.0.1:$PORT"
	agent_waits 60 'a health rule failed'
	map Healthy 'while they run'
	wait_until 20 git_is_applied 'while they run'
	wait_until 60 health_is Unknown
	wait_until 60 eight_failed
	printf '# %s hostile rules: longest turn %s s, %s kB of memory, failed by time %s, by memory %s, otherwise %s\n' "$n" \
		"$(metric truce_loop_longest_turn_seconds)" "$(awk '/^VmRSS/ { print $2 }' "/proc/$AGENT_PID/status")" \
		"$(metric 'truce_health_failures_total{reason="timeout"}')" "$(metric 'truce_health_failures_total{reason="memory"}')" \
		"$(metric 'truce_health_failures_total{reason="error"}')"
	agent_stop
}

eight_failed() {
	[ "$(metric truce_health_failures_total)" -ge 8 ]
}

sandbox_start
run_cases the_rules_are_listed_and_broken_ones_told a_sync_waits_and_says_for_whom a_changed_rule_comes_into_force \
	hostile_rules_hold_up_nothing
sandbox_end

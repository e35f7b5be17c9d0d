#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An agent whose rules are a hundred of the hostile scripts of tests/cases/lua/hostile, one a kind: each costs its own object
# its health and nobody anything else. Commits come into force meanwhile, the loop turns, the memory stays small.
# TRUCE_LONG=1: all of them.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"

SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")/../cases/lua/hostile" && pwd)
RULES=$WORK/rules
config=/api/v1/namespaces/$NS/configmaps/settings
EVERY=$([ -n "${TRUCE_LONG-}" ] && echo 1 || echo 2)
MAX_RSS_KIB=$((128 * 1024)) # of the agent at its worst; a script may have 16 MiB

# definition KIND: and an object of it, so that a rule is asked.
definition() {
	local plural=${1,,}s
	cat <<-YAML
		---
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: $plural.hostile.example.io}
		spec:
		  group: hostile.example.io
		  names: {kind: $1, plural: $plural}
		  scope: Namespaced
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
		---
		apiVersion: hostile.example.io/v1
		kind: $1
		metadata: {name: one}
		spec: {replicas: 3}
	YAML
}

make_rules() {
	local script kind number=0
	for script in "$SCRIPTS"/*.lua; do
		number=$((number + 1))
		[ $((number % EVERY)) = 0 ] || continue
		kind=Hostile$number
		mkdir -p "$RULES/hostile.example.io/$kind"
		cp "$script" "$RULES/hostile.example.io/$kind/health.lua"
		definition $kind
	done | put kinds.yaml
	KINDS=$(find "$RULES" -name health.lua | wc -l)
	[ "$KINDS" -ge 100 ] || fail "only $KINDS hostile scripts"
}

settings() {
	put settings.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: settings}
		data: {color: $1}
	YAML
	commit "$1"
}

metric() {
	curl -fs "http://127.0.0.1:$PORT/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

# Failures of rules by now, whatever their reason.
failures() {
	curl -fs "http://127.0.0.1:$PORT/metrics" | awk '/^truce_health_failures_total/ { n += $2 } END { print n + 0 }'
}

at_least() {
	awk -v have="$($1)" -v want="$2" 'BEGIN { exit !(have >= want) }'
}

# A sanitizer keeps what was freed for a while.
is_sanitized() {
	grep -q __asan_init "$TRUCE"
}

peak_rss_kib() {
	awk '/^VmHWM/ { print $2 }' "/proc/$AGENT_PID/status"
}

begin() {
	make_rules
	settings blue
	PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	agent_start --listen "127.0.0.1:$PORT" --create-namespace --health-dir "$RULES"
}

a_commit_comes_into_force_while_they_run() {
	begin
	wait_until 60 at_least failures 1
	settings green
	wait_until 20 is "$config" data.color green
	printf '# %s of %s rules had failed when the commit was in force\n' "$(failures)" "$KINDS"
}

# The agent's time on processors, in ticks of 10 ms.
ticks() {
	awk '{ print $14 + $15 }' "/proc/$AGENT_PID/stat"
}

# A script that runs needs a second of the processor, which may be long on a busy machine.
nothing_is_judged_any_more() {
	local before from
	before=$(metric truce_health_evaluations_total) from=$(ticks)
	sleep 4
	[ "$(metric truce_health_evaluations_total)" = "$before" ] && [ $(($(ticks) - from)) -lt 30 ]
}

# Each kind has a definition, which is judged as well.
all_are_judged() {
	at_least 'metric truce_health_evaluations_total' $((2 * KINDS)) && nothing_is_judged_any_more
}

# Those that do no harm return; the rest end, and are not asked again.
each_is_judged_and_none_again() {
	local judged
	wait_until 240 all_are_judged
	judged=$(metric truce_health_evaluations_total)
	settings red
	wait_until 20 is "$config" data.color red
	wait_until 20 nothing_is_judged_any_more
	[ "$(metric truce_health_evaluations_total)" -le $((judged + 2)) ] || fail 'what did not change was judged again'
}

the_application_says_which() {
	truce status
	case $OUT in *Unknown*) ;; *) fail "the application's health is not Unknown" ;; esac
	case $OUT in *hostile*) ;; *) fail 'no object is named' ;; esac
}

the_agent_is_small_and_its_loop_turns() {
	printf '# %s hostile scripts: agent at most %s MiB, longest turn of the loop %s s\n' "$KINDS" "$(($(peak_rss_kib) / 1024))" \
		"$(metric truce_loop_longest_turn_seconds)"
	is_sanitized || [ "$(peak_rss_kib)" -le $MAX_RSS_KIB ] || fail 'the agent has grown'
	agent_stop
}

sandbox_start
run_cases a_commit_comes_into_force_while_they_run each_is_judged_and_none_again the_application_says_which \
	the_agent_is_small_and_its_loop_turns
sandbox_end

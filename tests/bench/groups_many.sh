#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Many LeaderWorkerSets in Git, made, rolled, kept, and taken away, on a real API server with the pod simulator: what truce asks
# for each (by the audit log, watches left out), and what memory it takes. Counts are the same on every machine; times are not.
#
#   groups_many.sh [SETS] [SIZE] [REPLICAS]     1000 sets of one group of 4 Pods when left out
#   TRUCE_BUILD_DIR=build/release               what is measured
#   GROUPS_IDLE_S=30                            how long nothing happens
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sets=${1:-1000}
size=${2:-4}
replicas=${3:-1}
idle_s=${GROUPS_IDLE_S:-30}
# shellcheck source=tests/cluster/lib.sh
. "$here/../cluster/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$here/../cluster/truce.sh"
# shellcheck source=tests/cluster/groups.sh
. "$here/../cluster/groups.sh"

SAMPLER=

# sets_of IMAGE
sets_of() {
	local i
	for ((i = 0; i < sets; i++)); do
		cat <<-YAML
			---
			apiVersion: leaderworkerset.x-k8s.io/v1
			kind: LeaderWorkerSet
			metadata: {name: set-$i, annotations: {truce.dev/group-controller: embedded}}
			spec:
			  replicas: $replicas
			  leaderWorkerTemplate:
			    size: $size
			    workerTemplate:
			      spec:
			        terminationGracePeriodSeconds: 1
			        containers: [{name: main, image: "registry.example/serve:$1", env: [{name: MODE, value: plain}]}]
		YAML
	done | put sets.yaml
}

kib() {
	awk -v key="$1:" '$1 == key { print $2 }' "/proc/$AGENT_PID/status"
}

mib() {
	awk -v kib="$1" 'BEGIN { printf "%.1f", kib / 1024 }'
}

# The most of what is its own, while a step is under way.
sample() {
	local now most=0
	while now=$(kib RssAnon 2>/dev/null) && [ -n "$now" ]; do
		[ "$now" -le "$most" ] || printf '%s\n' "$((most = now))" >"$WORK/most"
		sleep 0.2
	done
}

cpu_ms() {
	awk -v hz="$(getconf CLK_TCK)" '{ print int(($14 + $15) * 1000 / hz) }' "/proc/$AGENT_PID/stat"
}

# report STEP: requests for each group by verb and resource, then what the agent takes.
report() {
	local cpu
	cpu=$(($(cpu_ms) - cpu_before))
	kill "$SAMPLER" 2>/dev/null || true
	wait "$SAMPLER" 2>/dev/null || true
	printf '\n%s: %s s, CPU %s ms; RssAnon %s MiB at most, %s MiB then, RSS %s MiB\n' "$1" $((SECONDS - began)) "$cpu" \
		"$(mib "$(cat "$WORK/most")")" "$(mib "$(kib RssAnon)")" "$(mib "$(kib VmRSS)")"
	cluster audit --user truce --since "$MARK" --by verb,resource | awk -v groups=$((sets * replicas)) '
		$2 == "watch" { next }
		{ printf "  %-8s %-32s %8d  %6.2f a group\n", $2, $3, $1, $1 / groups; sum += $1 }
		END { printf "  %-41s %8d  %6.2f a group\n", "all", sum, sum / groups }'
}

begin() {
	mark
	began=$SECONDS
	cpu_before=$(cpu_ms)
	rm -f "$WORK/most"
	sample &
	SAMPLER=$!
}

count_available() {
	kc admin get lws -n "$NS" -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Available")].status} {.metadata.generation} {.status.observedGeneration}{"\n"}{end}' |
		awk -v generation="$1" '$1 == "True" && $2 == generation && $3 == generation' | wc -l
}

are_available() {
	[ "$(count_available "$1")" = "$sets" ]
}

are_gone() {
	[ "$(kc admin get lws,pods -n "$NS" -o name | wc -l)" = 0 ]
}

wait_for() {
	until "$@"; do
		kill -0 "$AGENT_PID" || fail 'the agent ended'
		[ $((SECONDS - began)) -lt 3600 ] || fail "not within an hour: $*"
		sleep 1
	done
}

cluster_begin --podsim-delay=200ms
truce_begin groups-many
groups_begin
agent_start --prune-max-count "$((sets + 1))" --prune-max-percent 100
begin
sets_of 1
commit made
wait_for are_available 1
report "$sets sets of $replicas × $size Pods made"
begin
sleep "$idle_s"
report "nothing for $idle_s s"
begin
sets_of 2
commit rolled
wait_for are_available 2
report 'rolled'
agent_stop
agent_start --prune-max-count "$((sets + 1))" --prune-max-percent 100
begin
agent_waits 120 'msg="synced"'
sleep 3
report 'restarted'
begin
rm "$REPO/deploy/sets.yaml"
put keep.yaml <<<'{apiVersion: v1, kind: ConfigMap, metadata: {name: keep}}'
commit gone
wait_for are_gone
report 'taken away'

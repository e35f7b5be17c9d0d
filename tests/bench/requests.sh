#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How many requests an object costs, by the audit log of a real API server: truce beside kubectl, each in a namespace of
# its own with the same ConfigMaps, Deployments and Services. No times: these are counts, the same on every machine.
#
#   requests.sh [OBJECTS]     of each kind, 30 when left out
#
# Whatever does not grow with the number of objects (discovery, inventory, one list per kind) is told apart, as "fixed": all
# is counted with twice the objects as well.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
count=${1:-30}
# shellcheck source=tests/cluster/lib.sh
. "$here/../cluster/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$here/../cluster/truce.sh"

# objects COUNT VALUE: of each kind.
objects() {
	local i
	for ((i = 0; i < $1; i++)); do
		cat <<-YAML
			---
			apiVersion: v1
			kind: ConfigMap
			metadata: {name: c$i}
			data: {key: "$2"}
			---
			apiVersion: v1
			kind: Service
			metadata: {name: s$i, labels: {value: "$2"}}
			spec: {selector: {app: a$i}, ports: [{port: 80}]}
			---
			apiVersion: apps/v1
			kind: Deployment
			metadata: {name: d$i, labels: {value: "$2"}}
			spec:
			  replicas: 0
			  selector: {matchLabels: {app: a$i}}
			  template: {metadata: {labels: {app: a$i}}, spec: {containers: [{name: main, image: "main:1"}]}}
		YAML
	done
}

# requests USER: since the mark, in the namespace at hand or of none; watches are left out.
requests() {
	local all watches
	all=$(audit_count --user "$1" --since "$MARK")
	watches=$(audit_count --user "$1" --since "$MARK" --verb watch)
	printf '%s\n' $((all - watches))
}

# note NAME USER COMMAND…
note() {
	local name=$1 user=$2
	shift 2
	mark
	"$@" >"$WORK/out" 2>&1 || [ $? -eq 1 ] || {
		cat "$WORK/out" >&2
		fail "$*"
	}
	printf '%s\n' "$(requests "$user")" >"$WORK/n.$name.$n"
}

with_truce() {
	objects "$n" "$1" | put all.yaml
	commit "$1"
	truce "$2" --data-dir "$WORK/data.$n"
	printf '%s\n' "$OUT"
	return "$RC"
}

edit_all() {
	local i
	for ((i = 0; i < n; i++)); do
		kc operator patch configmap "c$i" -n "$NS" --type merge -p '{"data":{"key":"edited"}}' --field-manager=kubectl-edit
	done >/dev/null
}

with_kubectl() {
	objects "$n" "$1" >"$WORK/all.yaml"
	shift
	kc person "$@" -n "$NS" -f "$WORK/all.yaml"
}

measure_truce() {
	note truce.create truce with_truce 1 sync
	note truce.again truce with_truce 1 sync
	note truce.diff truce with_truce 2 diff
	note truce.change truce with_truce 3 sync
	edit_all
	note truce.heal truce with_truce 3 sync
}

put_commit() {
	agent_mark
	objects "$n" "$1" | put all.yaml
	commit "$1"
	agent_waits 60 'msg="latency"'
}

are_healed() {
	[ "$(kc admin get configmap -n "$NS" -o 'jsonpath={range .items[*]}{.data.key}{"\n"}{end}' | grep -c edited)" = 0 ]
}

edit_and_wait() {
	edit_all
	wait_until 60 are_healed
	sleep 2
}

measure_agent() {
	objects "$n" 1 | put all.yaml
	commit 1
	agent_start --data-dir "$WORK/data.agent.$n"
	agent_waits 60 'msg="latency"'
	sleep 2
	note agent.change truce put_commit 2
	note agent.idle truce sleep 5
	note agent.heal truce edit_and_wait
	agent_stop
}

measure_kubectl() {
	note ssa.create person with_kubectl 1 apply --server-side
	note ssa.again person with_kubectl 1 apply --server-side
	note ssa.diff person with_kubectl 2 diff --server-side
	note ssa.change person with_kubectl 3 apply --server-side
}

measure_client_side() {
	note csa.create person with_kubectl 1 apply
	note csa.again person with_kubectl 1 apply
	note csa.diff person with_kubectl 2 diff
	note csa.change person with_kubectl 3 apply
}

# row NAME TITLE OBJECTS-PER-COUNT: requests per object, and what is fixed.
row() {
	python3 - "$2" "$(cat "$WORK/n.$1.$count")" "$(cat "$WORK/n.$1.$((2 * count))")" $((count * $3)) <<-'PY'
		import sys
		title, once, twice, objects = sys.argv[1], *map(int, sys.argv[2:])
		each = (twice - once) / objects
		print(f"| {title} | {each:.2f} | {once - each * objects:.0f} |")
	PY
}

cluster_begin --no-podsim
truce_begin requests
for n in "$count" $((2 * count)); do
	for what in truce agent kubectl client_side; do
		new_namespace "requests-${what//_/-}-$n"
		cluster_namespaces+=("$NS-truce")
		"measure_$what"
	done
done
printf '| | requests per object | fixed |\n|---|---|---|\n'
row truce.create 'truce sync, new objects' 3
row truce.change 'truce sync, changed in Git' 3
row truce.again 'truce sync, nothing changed' 3
row truce.heal 'truce sync, edited by a person' 1
row truce.diff 'truce diff, changed in Git' 3
row agent.change 'truce run, changed in Git' 3
row agent.idle 'truce run, nothing changed' 3
row agent.heal 'truce run, edited by a person' 1
row ssa.create 'kubectl apply --server-side, new' 3
row ssa.change 'kubectl apply --server-side, changed' 3
row ssa.again 'kubectl apply --server-side, nothing changed' 3
row ssa.diff 'kubectl diff --server-side, changed' 3
row csa.create 'kubectl apply, new' 3
row csa.change 'kubectl apply, changed' 3
row csa.again 'kubectl apply, nothing changed' 3
row csa.diff 'kubectl diff, changed' 3

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Git drops `replicas`, which truce owns alone, together with another one, or not at all, with and without an autoscaler.
# With one nothing ever moves, without one the default returns unless another owner keeps the value; the diff says so first.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"
# shellcheck source=tests/cluster/replicas.sh
. "$(dirname "${BASH_SOURCE[0]}")/replicas.sh"

ALONE=(sole shared shared-person foreign)
SCALED=(sole-scaled shared-scaled foreign-scaled)

# workload NAME [REPLICAS]
workload() {
	cat <<-YAML
		---
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: $1}
		spec:
		  ${2:+replicas: $2}
		  selector: {matchLabels: {app: $1}}
		  template:
		    metadata: {labels: {app: $1}, annotations: {podsim.truce.dev/hold: pending}}
		    spec: {containers: [{name: main, image: "main:1"}]}
	YAML
}

put_all() {
	local name
	for name in "${ALONE[@]}" "${SCALED[@]}"; do
		workload "$name" "$@"
	done | put all.yaml
}

hpa() {
	cat <<-YAML
		---
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: $1}
		spec:
		  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
		  minReplicas: 1
		  maxReplicas: 9
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
}

# owned_by MANAGER NAME REPLICAS: that manager applies the number, by force.
owned_by() {
	kc operator apply --server-side --force-conflicts --field-manager="$1" -n "$NS" -f - >/dev/null <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: $2}
		spec: {replicas: $3}
	YAML
}

owners_are() {
	[ "$(owners deployment "$1" | sort | paste -sd ' ')" = "$2" ]
}

assert_owners() {
	wait_until 20 owners_are "$1" "$2"
}

# The lines of $OUT about one Deployment, on one line.
about() {
	awk -v name="deploy/$1" '$1 ~ /^deploy\// { on = $1 == name } on' <<<"$OUT" | tr -s ' \n' '  '
}

everybody_has_an_owner() {
	local name
	put_all 3
	commit 'three'
	agent_start --replicas-hold 3s
	agent_waits 30 'msg="latency"'
	owned_by region-operator shared 3
	owned_by kubectl shared-person 3
	owned_by region-operator foreign 5
	owned_by region-operator shared-scaled 3
	owned_by region-operator foreign-scaled 5
	assert_owners sole truce
	assert_owners shared 'region-operator truce'
	assert_owners shared-person 'kubectl truce'
	assert_owners foreign region-operator
	for name in "${SCALED[@]}"; do
		hpa "$name"
	done | kc operator apply -n "$NS" -f - >/dev/null
	assert_owners sole-scaled truce-keeper
	assert_owners shared-scaled region-operator
	assert_owners foreign-scaled region-operator
	sleep 1
	agent_stop
}

# In a branch, looked at before it is merged.
the_diff_says_what_will_be() {
	git -C "$REPO" checkout -q -b without
	put_all
	commit 'replicas are gone'
	truce diff --revision without
	assert_eq 1 "$RC" 'exit status of diff'
	[[ $(about sole) == *'spec.replicas :5 - 3 + 1'* ]] || fail "sole: $(about sole)"
	[[ $(about shared) == *'stays: spec.replicas = 3 kept by region-operator'* ]] || fail "shared: $(about shared)"
	[[ $(about shared-person) == *'spec.replicas'*' - 3 '* ]] || fail "shared with a person: $(about shared-person)"
	git -C "$REPO" checkout -q main
}

all_of_them_leave() {
	local name
	for name in "${ALONE[@]}" "${SCALED[@]}"; do
		watch_values deployment "$name"
	done
	agent_start --replicas-hold 3s
	agent_waits 30 'msg="synced"'
	mark
	agent_mark
	git -C "$REPO" merge -q without
	agent_waits 20 'subject="replicas are gone"'
	agent_waits 30 'msg="latency"'
	sleep 5
}

alone_the_default_returns() {
	assert_values sole '3 1'
	assert_owners sole ''
	assert_values shared-person '3 1'
}

what_another_one_keeps_stays() {
	assert_values shared 3
	assert_owners shared region-operator
	assert_values foreign 5
	assert_owners foreign region-operator
}

under_an_autoscaler_nothing_moves() {
	assert_values sole-scaled 3
	assert_values shared-scaled 3
	assert_values foreign-scaled 5
	for name in "${SCALED[@]}"; do
		assert_eq '' "$(written deployments "$name")" "replicas in truce's writes to $name"
	done
}

nothing_is_left_to_do() {
	end_watches
	agent_stop
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
	mark
	truce_ok sync
	assert_eq 0 "$(truce_object_writes)" 'writes of another sync'
}

cluster_begin
cluster_needs own
truce_begin leave
run_cases everybody_has_an_owner the_diff_says_what_will_be all_of_them_leave alone_the_default_returns \
	what_another_one_keeps_stays under_an_autoscaler_nothing_moves nothing_is_left_to_do

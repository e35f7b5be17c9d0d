#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The runtime of the reconcilers (agent/informer.h, gates.h, queue.h, leader.h) on a real API server, by a second and much
# smaller reconciler than that of groups: tests/bench/modelcache.c.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WRITES=create,update,patch,delete
declare -A PIDS=() CONFIGS=()

one_starts() {
	"$TRUCE_BUILD_DIR/tests/bench/bench_modelcache" "${CONFIGS[$1]}" "$NS" "$1" >"$WORK/$1.log" 2>&1 &
	PIDS[$1]=$!
}

leads() {
	grep -qx leads "$WORK/$1.log"
}

is() {
	[ "$(kc admin get "$1" "$2" -n "$NS" -o "jsonpath=$3" 2>/dev/null)" = "$4" ]
}

uid() {
	kc admin get "$1" "$2" -n "$NS" -o 'jsonpath={.metadata.uid}'
}

is_new() {
	local now
	now=$(uid configmap "$1" 2>/dev/null) && [ -n "$now" ] && [ "$now" != "$2" ]
}

is_gone() {
	! kc admin get "$1" "$2" -n "$NS" >/dev/null 2>&1
}

model() {
	kc admin apply -n "$NS" -f - >/dev/null <<-YAML
		apiVersion: lab.truce.dev/v1
		kind: ModelCache
		metadata: {name: $1}
		spec: {model: $2, replicas: 2}
	YAML
}

writes_of() {
	local all leases
	all=$(audit_count --user "$1" --verb "$WRITES" --since "$MARK" --namespace "$NS")
	leases=$(audit_count --user "$1" --verb "$WRITES" --resource leases --since "$MARK" --namespace "$NS")
	printf '%s\n' "$((all - leases))"
}

has_written() {
	[ "$(writes_of "$1")" -ge "$2" ]
}

# wrote USER COUNT WHAT: so many since the mark, and then no more. The log has a write when its answer was sent.
wrote() {
	wait_until 20 has_written "$1" "$2"
	sleep 1
	assert_eq "$2" "$(writes_of "$1")" "$3"
}

mark() {
	MARK=$(cluster audit --mark)
}

one_that_is_created_gets_its_child_and_is_ready() {
	one_starts operator
	wait_until 30 leads operator
	mark
	model one models/llama
	wait_until 10 is modelcache one '{.status.phase}' Ready
	assert_eq models/llama,2 "$(kc admin get configmap one-cache -n "$NS" -o 'jsonpath={.data.model},{.data.replicas}')" child
	assert_eq "$(uid modelcache one)" \
		"$(kc admin get configmap one-cache -n "$NS" -o 'jsonpath={.metadata.ownerReferences[0].uid}')" owner
	wrote operator 2 'writes: a child and a status'
}

a_child_that_is_deleted_is_made_again() {
	local i old
	mark
	for ((i = 0; i < 5; i++)); do
		old=$(uid configmap one-cache)
		kc person delete configmap one-cache -n "$NS" >/dev/null
		wait_until 10 is_new one-cache "$old"
	done
	wrote operator 5 'writes: one a deletion'
}

one_that_is_changed_is_followed() {
	model one models/qwen
	wait_until 10 is configmap one-cache '{.data.model}' models/qwen
	kc person patch configmap one-cache -n "$NS" --type merge -p '{"data":{"model":"mine"}}' >/dev/null
	wait_until 10 is configmap one-cache '{.data.model}' models/qwen
	wait_until 10 is modelcache one '{.status.observedGeneration}' 2
}

a_configmap_of_somebody_else_is_left_alone() {
	kc person create configmap two-cache -n "$NS" --from-literal=mine=yes >/dev/null
	model two models/llama
	wait_until 10 is modelcache two '{.status.phase}' Blocked
	assert_eq yes "$(kc admin get configmap two-cache -n "$NS" -o 'jsonpath={.data.mine}')" 'what is in it'
	kc admin delete modelcache two -n "$NS" >/dev/null
}

the_second_does_nothing_while_the_first_leads() {
	one_starts person
	wait_until 20 is lease modelcache '{.spec.holderIdentity}' operator
	mark
	model three models/llama
	wait_until 10 is modelcache three '{.status.phase}' Ready
	kc admin delete configmap three-cache -n "$NS" >/dev/null
	wait_until 10 is configmap three-cache '{.data.model}' models/llama
	sleep 2
	assert_eq 0 "$(audit_count --user person --verb "$WRITES" --since "$MARK" --namespace "$NS")" 'writes of the second'
	kill -TERM "${PIDS[operator]}"
	wait "${PIDS[operator]}" || fail 'exit status after SIGTERM'
	unset 'PIDS[operator]'
	wait_until 20 leads person
	mark
	model four models/llama
	wait_until 10 is modelcache four '{.status.phase}' Ready
	wrote person 2 'writes of the second, now that it leads: what is converged is left alone'
}

# No finalizer: it needs nobody that is there.
one_that_is_deleted_takes_its_child_along() {
	kc admin delete modelcache four -n "$NS" --timeout=30s >/dev/null
	wait_until 40 is_gone configmap four-cache
	kill -TERM "${PIDS[person]}"
	wait "${PIDS[person]}" || fail 'exit status after SIGTERM'
	unset 'PIDS[person]'
	kc admin delete modelcache three -n "$NS" --timeout=30s >/dev/null
	wait_until 40 is_gone configmap three-cache
}

all_end() {
	local status=$? user
	for user in "${!PIDS[@]}"; do
		kill -KILL "${PIDS[$user]}" 2>/dev/null || true
	done
	if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
		tail -n 20 "$WORK"/*.log >&2 || true
	fi
	rm -rf "$WORK"
	cluster_end "$status"
}

cluster_begin
cluster_needs own
WORK=$(mktemp -d)
trap all_end EXIT
new_namespace modelcache
CONFIGS=([operator]=$TRUCE_TEST_KUBECONFIG_OPERATOR [person]=$TRUCE_TEST_KUBECONFIG_PERSON)
kc admin apply -f "$TOP/tests/bench/modelcache.yaml" >/dev/null
kc admin wait --for=condition=Established crd/modelcaches.lab.truce.dev --timeout=60s >/dev/null
run_cases one_that_is_created_gets_its_child_and_is_ready a_child_that_is_deleted_is_made_again one_that_is_changed_is_followed \
	a_configmap_of_somebody_else_is_left_alone the_second_does_nothing_while_the_first_leads \
	one_that_is_deleted_takes_its_child_along

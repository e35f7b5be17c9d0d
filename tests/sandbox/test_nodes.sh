#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nodes of a size, by flags: what fits and what does not. The rest of it is tests/unit/sandbox/test_controllers_pods.c.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"
pods=/api/v1/namespaces/default/pods

gpu_pod() {
	api POST "$pods" '{"metadata":{"name":"'"$1"'"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"nvidia.com/gpu":"'"$2"'"}}}]}}'
	assert_eq 201 "$CODE" "$1"
}

nodes_are_as_the_flags_say() {
	got /api/v1/nodes/node-2 metadata.labels | grep '"topology.kubernetes.io/zone": "zone-2"' >/dev/null || fail "$BODY"
	assert_eq '{"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "8", "pods": "10k"}' "$(got /api/v1/nodes/node-1 status.allocatable)"
	api GET /api/v1/nodes/node-3
	assert_eq 404 "$CODE" node-3
}

what_does_not_fit_waits() {
	gpu_pod a 8
	gpu_pod b 5
	wait_until 20 is "$pods/b" status.phase Running
	gpu_pod c 4
	wait_until 20 is "$pods/c" status.conditions.0.reason Unschedulable
	assert_eq '0/2 nodes are available: 2 Insufficient nvidia.com/gpu.' "$(got "$pods/c" status.conditions.0.message)"
	api DELETE "$pods/b"
	wait_until 20 is "$pods/c" status.phase Running
}

flags_that_say_nothing_are_refused() {
	local status flags
	for flags in --zones=2 --node-gpu=1 '--nodes=1 --node-cpu=lots' '--nodes=1 --node-memory=-1Gi' --nodes=-1; do
		status=0
		# shellcheck disable=SC2086 # words
		"$TRUCE" sandbox --kubeconfig "$WORK/none" $flags >"$WORK/refused" 2>&1 || status=$?
		assert_eq 2 "$status" "$flags"
	done
	assert_eq 'truce: --node-memory -1Gi: not a quantity' "$("$TRUCE" sandbox --kubeconfig "$WORK/none" --nodes=1 --node-memory=-1Gi 2>&1 | head -n 1)"
}

sandbox_start --nodes 2 --zones 2 --node-cpu 4 --node-memory 16Gi --node-gpu 8
run_cases nodes_are_as_the_flags_say what_does_not_fit_waits flags_that_say_nothing_are_refused
sandbox_end

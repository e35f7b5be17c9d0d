#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo on a real API server: it checks each of its steps, and what it made there is gone afterwards.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

: "${TRUCE_BUILD_DIR:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/debug}"
export TRUCE_BUILD_DIR

shop_objects() {
	kc admin get namespaces,customresourcedefinitions -o name | grep -E "/(coupons\\.)?$shop(-truce|\\.example\\.io)?\$" || true
}

the_demo_runs_through() {
	shop=demo-$RANDOM
	KUBECONFIG=$TRUCE_TEST_KUBECONFIG "$cluster_source/../../examples/demo.sh" --exit --pause 0s --namespace "$shop"
}

nothing_of_it_is_left() {
	assert_eq '' "$(shop_objects)" 'what the demo left'
}

a_namespace_that_is_there_is_left_alone() {
	local status=0
	new_namespace demo
	KUBECONFIG=$TRUCE_TEST_KUBECONFIG "$cluster_source/../../examples/demo.sh" --exit --pause 0s --namespace "$NS" || status=$?
	assert_eq 2 "$status" 'exit status of the demo'
	kc admin get namespace "$NS" >/dev/null
}

cluster_begin "$@"
run_cases the_demo_runs_through nothing_of_it_is_left a_namespace_that_is_there_is_left_alone

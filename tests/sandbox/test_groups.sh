#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A LeaderWorkerSet that Git has, run by `truce run`, and what `truce groups` and `truce owners` say of it.
# tests/cluster/test_groups.sh has the same on a real API server, and more.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/cluster/groups.sh
. "$(dirname "$0")/../cluster/groups.sh"

TOP=$(cd "$(dirname "$0")/../.." && pwd)
lws=/apis/leaderworkerset.x-k8s.io/v1/namespaces/$NS/leaderworkersets/demo
definition=/apis/apiextensions.k8s.io/v1/customresourcedefinitions/leaderworkersets.leaderworkerset.x-k8s.io

is_served() {
	[ "$(got /apis/leaderworkerset.x-k8s.io/v1 groupVersion)" = leaderworkerset.x-k8s.io/v1 ]
}

without_its_definition_there_is_nothing_to_show() {
	truce groups
	assert_eq 2 "$RC" 'exit status'
	says 'does not serve LeaderWorkerSet'
}

a_set_of_git_becomes_groups() {
	api PATCH "$definition?fieldManager=admin" "$(<"$TOP/deploy/lws/crd.yaml")" application/apply-patch+yaml
	assert_eq 201 "$CODE" 'answer to the definition'
	wait_until 10 is_served
	set_of demo 2 3 | put demo.yaml
	scaler_of demo | put hpa.yaml
	commit demo
	agent_start --create-namespace
	wait_until 20 is "$lws" status.readyReplicas 2
}

people_see_them() {
	truce_ok groups
	says "$NS/demo"
	says 'All replicas are ready'
	says "replicas 2 are set by HPA $NS/demo"
	assert_eq 2 "$(grep -c ' yes .* 3/3 .* Ready' <<<"$OUT")" 'groups that are Ready'
	truce_ok groups demo -o yaml
	says 'embedded: true'
	truce groups nobody
	assert_eq 2 "$RC" 'exit status for a set that does not exist'
}

owners_name_all_three() {
	truce_ok owners lws/demo
	says "HPA $NS/demo"
	says 'truce-groups'
}

sandbox_start
run_cases without_its_definition_there_is_nothing_to_show a_set_of_git_becomes_groups people_see_them owners_name_all_three
sandbox_end

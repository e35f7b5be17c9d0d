#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A LeaderWorkerSet that Git has and truce runs, on a real API server: made, scaled, repaired, rolled, and what people see of
# it. What it looks like on the way, and other ways to roll, are test_group_events.sh's.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"
# shellcheck source=tests/cluster/replicas.sh
. "$(dirname "${BASH_SOURCE[0]}")/replicas.sh"
# shellcheck source=tests/cluster/groups.sh
. "$(dirname "${BASH_SOURCE[0]}")/groups.sh"

# in_git NAME …: set_of, into Git.
in_git() {
	set_of "$@" | put "$1.yaml"
}

a_set_of_git_becomes_groups() {
	in_git demo 2 3
	scaler_of demo | put demo-hpa.yaml
	commit demo
	agent_start
	wait_until 30 pods_are demo 6
	wait_until 20 condition_is demo Available
	assert_eq 2 "$(got lws demo '{.status.readyReplicas}')" readyReplicas
	assert_eq "$NAME_LABEL=demo,leaderworkerset.sigs.k8s.io/worker-index=0" "$(got lws demo '{.status.hpaPodSelector}')" \
		'what the autoscaler counts'
	assert_eq None "$(got service demo '{.spec.clusterIP}')" 'the Service is headless'
}

the_scale_subresource_says_how_many() {
	local first
	first=$(uids demo 0)
	mark
	kc operator scale lws/demo -n "$NS" --replicas=3 >/dev/null
	wait_until 30 pods_are demo 9
	kc operator scale lws/demo -n "$NS" --replicas=1 >/dev/null
	wait_until 30 pods_are demo 3
	assert_eq "$first" "$(uids demo 0)" 'group 0 stays as it is'
	commit 'nothing' # Git still says 2
	kc operator scale lws/demo -n "$NS" --replicas=2 >/dev/null
	wait_until 30 pods_are demo 6
	assert_eq '' "$(written leaderworkersets demo)" 'replicas that truce wrote'
}

a_killed_worker_takes_its_group_with_it_and_no_other() {
	local group other
	group=$(uids demo 0)
	other=$(uids demo 1)
	kc person delete pod demo-0-1 -n "$NS" --wait=false >/dev/null
	wait_until 30 is_remade demo 0 "$group"
	wait_until 30 pods_are demo 6
	assert_eq "$other" "$(uids demo 1)" 'group 1 stays as it is'
}

a_new_template_rolls_from_the_highest_group_down() {
	mark
	in_git demo 2 3 main:2
	commit 'roll'
	wait_until 60 images_are demo '0=main:2 1=main:2'
	wait_until 30 pods_are demo 6
	assert_eq '1 0 ' "$(leaders_deleted demo)" 'order of groups'
	wait_until 20 condition_is demo Available
	assert_eq 2 "$(got lws demo '{.status.updatedReplicas}')" updatedReplicas
}

a_restart_of_the_agent_deletes_and_makes_nothing() {
	local before
	before=$(uids demo)
	health_rests
	agent_stop
	mark
	agent_start
	agent_waits 30 'msg="synced"'
	health_rests
	assert_eq "$before" "$(uids demo)" 'Pods'
	assert_eq 0 "$(truce_requests --verb create --resource pods)" 'Pods made'
	assert_eq 0 "$(truce_requests --verb delete --resource pods)" 'Pods deleted'
	assert_eq 0 "$(truce_requests --verb patch --resource leaderworkersets/status)" 'statuses written'
}

# seen STATUS: applied by the manager "dash", which has a condition of its own.
seen() {
	printf '{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"name":"demo","namespace":"%s"},
		"status":%s}' "$NS" "$1" |
		kc operator apply --server-side --subresource=status --field-manager=dash -f - >/dev/null
}

# Managers that own the condition.
owners_of_seen() {
	kc admin get lws demo -n "$NS" --show-managed-fields -o json | python3 -c '
import json, sys
for e in json.load(sys.stdin)["metadata"]["managedFields"]:
    if "k:{\"type\":\"example.org/Seen\"}" in e["fieldsV1"].get("f:status", {}).get("f:conditions", {}):
        print(e["manager"], e["operation"])'
}

has_ready() {
	[ "$(got lws demo '{.status.readyReplicas}')" = "$1" ]
}

a_condition_of_another_stays_its_own() {
	seen '{"conditions":[{"type":"example.org/Seen","status":"True","reason":"Looked","message":"","lastTransitionTime":
		"2026-01-01T00:00:00Z"}]}'
	kc operator scale lws/demo -n "$NS" --replicas=1 >/dev/null
	wait_until 30 has_ready 1
	wait_until 30 pods_are demo 3
	assert_eq Looked "$(condition demo example.org/Seen reason)" 'the condition of another'
	assert_eq 'dash Apply' "$(owners_of_seen)" 'who owns it'
	seen '{}'
	assert_eq '' "$(condition demo example.org/Seen reason)" 'the condition that its owner took back'
	kc operator scale lws/demo -n "$NS" --replicas=2 >/dev/null
	wait_until 30 has_ready 2
	assert_eq '' "$(condition demo example.org/Seen reason)" 'the condition that its owner took back, later'
}

people_see_group_by_group() {
	truce_ok groups
	says "$NS/demo"
	says 'replicas 2 are set by HPA'
	truce_ok groups demo -o json
	assert_eq '2 2 2 []' "$(python3 -c '
import json, sys
v = json.loads(sys.argv[1])[0]
print(v["replicas"], v["ready"], len(v["groups"]), v["next"])' "$OUT")" 'what the agent would do next'
	truce groups nobody
	assert_eq 2 "$RC" 'exit status for a set that does not exist'
	truce_ok owners lws/demo
	says 'HPA'
}

cluster_begin
cluster_needs own
truce_begin groups
groups_begin
run_cases a_set_of_git_becomes_groups the_scale_subresource_says_how_many a_killed_worker_takes_its_group_with_it_and_no_other \
	a_new_template_rolls_from_the_highest_group_down a_restart_of_the_agent_deletes_and_makes_nothing \
	a_condition_of_another_stays_its_own people_see_group_by_group

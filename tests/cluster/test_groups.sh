#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LeaderWorkerSets that Git has and truce runs, on a real API server: made, scaled, repaired, rolled. Right values only; how
# long it takes is printed.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"
# shellcheck source=tests/cluster/replicas.sh
. "$(dirname "${BASH_SOURCE[0]}")/replicas.sh"
# shellcheck source=tests/cluster/groups.sh
. "$(dirname "${BASH_SOURCE[0]}")/groups.sh"

times=

# set NAME REPLICAS SIZE [IMAGE] [MORE OF SPEC] [MORE OF THE TEMPLATE]: into Git.
set_of() {
	put "$1.yaml" <<-YAML
		apiVersion: leaderworkerset.x-k8s.io/v1
		kind: LeaderWorkerSet
		metadata: {name: $1, annotations: {truce.dev/group-controller: embedded}}
		spec:
		  replicas: $2
		  ${5-}
		  leaderWorkerTemplate:
		    size: $3
		    ${6-}
		    workerTemplate:
		      spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: "${4:-main:1}"}]}
	YAML
}

# An autoscaler that has nothing to measure: who is the word on replicas from now on.
scaler_of() {
	put "$1-hpa.yaml" <<-YAML
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: $1}
		spec:
		  scaleTargetRef: {apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: $1}
		  minReplicas: 1
		  maxReplicas: 9
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
}

# begins: a clock for what is printed.
begins() {
	began=$(date +%s%N)
}

took() {
	times+="$1: $((($(date +%s%N) - began) / 1000000)) ms"$'\n'
}

a_set_of_git_becomes_groups() {
	set_of demo 2 3
	scaler_of demo
	begins
	commit demo
	agent_start
	wait_until 30 pods_are demo 6
	took 'two groups of three, from the start of the agent'
	wait_until 20 is_available demo
	assert_eq 2 "$(got lws demo '{.status.readyReplicas}')" readyReplicas
	assert_eq "$NAME_LABEL=demo,leaderworkerset.sigs.k8s.io/worker-index=0" "$(got lws demo '{.status.hpaPodSelector}')" \
		'what the autoscaler counts'
	assert_eq None "$(got service demo '{.spec.clusterIP}')" 'the Service is headless'
}

the_scale_subresource_says_how_many() {
	local first
	first=$(uids demo 0)
	mark
	begins
	kc operator scale lws/demo -n "$NS" --replicas=3 >/dev/null
	wait_until 30 pods_are demo 9
	took 'scale 2 to 3, nine Pods Ready'
	kc operator scale lws/demo -n "$NS" --replicas=1 >/dev/null
	wait_until 30 pods_are demo 3
	assert_eq "$first" "$(uids demo 0)" 'group 0 stays as it is'
	commit 'nothing' # Git still says 2
	kc operator scale lws/demo -n "$NS" --replicas=2 >/dev/null
	wait_until 30 pods_are demo 6
	assert_eq '' "$(written leaderworkersets demo)" 'replicas that truce wrote'
}

a_killed_worker_takes_its_group_with_it_and_no_other() {
	local group other old
	group=$(uids demo 0)
	other=$(uids demo 1)
	begins
	kc person delete pod demo-0-1 -n "$NS" --wait=false >/dev/null
	wait_until 30 is_remade demo 0 "$group"
	wait_until 30 pods_are demo 6
	took 'worker killed, all three Pods of the group new and Ready'
	for old in $group; do
		! uids demo 0 | grep -qF "$old" || fail "$old is still there"
	done
	assert_eq "$other" "$(uids demo 1)" 'group 1 stays as it is'
}

# is_remade NAME GROUP OLD: as many Pods, none of the old ones.
is_remade() {
	local now
	now=$(uids "$1" "$2")
	[ "$(wc -l <<<"$now")" = "$(wc -l <<<"$3")" ] && ! grep -qFf <(printf '%s\n' "$3") <<<"$now"
}

a_new_template_rolls_from_the_highest_group_down() {
	mark
	set_of demo 2 3 main:2
	begins
	commit 'roll'
	wait_until 60 images_are demo '0=main:2 1=main:2'
	wait_until 30 pods_are demo 6
	took 'roll of two groups'
	assert_eq '1 0 ' "$(leaders_deleted demo)" 'order of groups'
	wait_until 20 is_available demo
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

policy_none_replaces_one_pod() {
	local before after
	set_of alone 1 3 main:1 '' 'restartPolicy: None'
	commit 'policy None'
	wait_until 30 pods_are alone 3
	before=$(uids alone)
	kc person delete pod alone-0-1 -n "$NS" --wait=false >/dev/null
	wait_until 30 is_replaced "$before"
	wait_until 30 pods_are alone 3
	after=$(uids alone)
	assert_eq "$(grep -v '^alone-0-1=' <<<"$before")" "$(grep -v '^alone-0-1=' <<<"$after")" 'the other two Pods'
}

is_replaced() {
	local now
	now=$(uids alone | grep '^alone-0-1=') && ! grep -qF "$now" <<<"$1"
}

a_partition_holds_the_roll() {
	set_of parts 4 1
	commit 'four groups'
	wait_until 30 pods_are parts 4
	mark
	set_of parts 4 1 main:2 'rolloutStrategy: {rollingUpdateConfiguration: {partition: 2}}'
	begins
	commit 'half of them'
	wait_until 60 images_are parts '0=main:1 1=main:1 2=main:2 3=main:2'
	took 'partition 2 of four groups'
	wait_until 30 is_available parts
	assert_eq '3 2 ' "$(leaders_deleted parts)" 'order of groups'
	mark
	set_of parts 4 1 main:2 'rolloutStrategy: {rollingUpdateConfiguration: {partition: 0}}'
	begins
	commit 'the rest'
	wait_until 60 images_are parts '0=main:2 1=main:2 2=main:2 3=main:2'
	took 'then 0'
	assert_eq '1 0 ' "$(leaders_deleted parts)" 'order of groups'
}

# Every state of the set that is ever live, from a watch: replicas (surge included) and ready ones.
with_surge_no_group_is_missing() {
	set_of surge 4 2 main:1 'rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 1, maxUnavailable: 0}}'
	commit 'four groups of two'
	wait_until 30 pods_are surge 8
	wait_until 30 is_available surge
	kc admin get lws surge -n "$NS" --watch -o 'jsonpath={.status.replicas} {.status.readyReplicas}{"\n"}' >"$WORK/surge" 2>/dev/null &
	WATCHES+=($!)
	wait_until 10 test -s "$WORK/surge"
	set_of surge 4 2 main:2 'rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 1, maxUnavailable: 0}}'
	begins
	commit 'roll with surge'
	wait_until 90 images_are surge '0=main:2 1=main:2 2=main:2 3=main:2'
	wait_until 30 pods_are surge 8
	took 'surge 8, 10, 8 Pods'
	wait_until 30 is_available surge
	end_watches
	assert_eq 5 "$(cut -d ' ' -f 1 "$WORK/surge" | sort -n | tail -n 1)" 'groups at most'
	assert_eq 4 "$(cut -d ' ' -f 2 "$WORK/surge" | sort -n | head -n 1)" 'ready groups at least'
}

both_budgets_zero_is_a_condition() {
	set_of both 2 2 main:1 'rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 0, maxUnavailable: 0}}'
	commit 'no budget at all'
	wait_until 30 is_stalled both
	assert_eq InvalidSpec "$(condition both Stalled reason)" reason
	case $(condition both Stalled message) in
	*'must not be 0 when `maxSurge` is 0'*) ;;
	*) fail "the condition says: $(condition both Stalled message)" ;;
	esac
	assert_eq '' "$(uids both)" 'Pods'
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

is_stalled() {
	[ "$(condition "$1" Stalled status)" = True ]
}

people_see_group_by_group() {
	truce_ok groups
	says "$NS/demo"
	says 'replicas 2 are set by HPA'
	says 'must not be 0 when `maxSurge` is 0'
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

print_group_times() {
	printf '%s' "$times" | sed 's/^/# /'
}

cluster_begin
cluster_needs own
truce_begin groups
groups_begin
run_cases a_set_of_git_becomes_groups the_scale_subresource_says_how_many a_killed_worker_takes_its_group_with_it_and_no_other \
	a_new_template_rolls_from_the_highest_group_down a_restart_of_the_agent_deletes_and_makes_nothing policy_none_replaces_one_pod \
	a_partition_holds_the_roll with_surge_no_group_is_missing both_budgets_zero_is_a_condition \
	a_condition_of_another_stays_its_own people_see_group_by_group \
	print_group_times

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What LeaderWorkerSets look like at every event of a watch, on a real API server with its controller manager and Nodes of
# a size: who is replaced, in which order, what runs meanwhile, what half a group holds. A recorder (group_events.py) writes
# all events down; what must hold in each state is checked over all of them. TRUCE_LONG=1: 50 killed workers instead of 3.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"
# shellcheck source=tests/cluster/groups.sh
. "$(dirname "${BASH_SOURCE[0]}")/groups.sh"

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
KILLS=$([ -n "${TRUCE_LONG-}" ] && echo 50 || echo 3)
NO_BUDGET='spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable: Invalid value: 0: must not be 0 when `maxSurge` is 0'

# template SELECTOR CPU IMAGE: a flow mapping.
template() {
	printf '{metadata: {annotations: {%s}}, spec: {nodeSelector: {%s}, containers: [{name: main, image: "%s", resources: {requests: {%s}}}]}}' \
		"${notes-}" "$1" "$3" "${2:+cpu: $2}"
}

# make NAME REPLICAS SIZE [IMAGE]: a person applies a set. What else it has is in variables: annotations=; rolling=, restart=;
# of its Pods notes= (annotations), and of leaders and of workers leader=, worker= (nodeSelectors), leader_cpu=, worker_cpu=.
make() {
	kc person apply --server-side --force-conflicts -n "$NS" -f - >/dev/null <<-YAML
		apiVersion: leaderworkerset.x-k8s.io/v1
		kind: LeaderWorkerSet
		metadata: {name: $1, annotations: {truce.dev/group-controller: embedded, ${annotations-}}}
		spec:
		  replicas: $2
		  rolloutStrategy: {type: RollingUpdate, rollingUpdateConfiguration: {${rolling-maxUnavailable: 1}}}
		  leaderWorkerTemplate:
		    size: $3
		    restartPolicy: ${restart-RecreateGroupOnPodRestart}
		    leaderTemplate: $(template "${leader-}" "${leader_cpu-}" "${4:-main:1}")
		    workerTemplate: $(template "${worker-}" "${worker_cpu-}" "${4:-main:1}")
	YAML
}

drop() {
	kc person delete lws "$1" -n "$NS" --wait=false >/dev/null
}

events() {
	python3 "$TOP/tests/cluster/group_events.py" "$1" "$WORK/events" "${@:2}"
}

# states NAME [FROM]: in a line, from the first one of that text on.
states() {
	events trace "$1" | sed -n "/^${2:-.*}\$/,\$p" | tr '\n' ' '
}

state_is() {
	[ "$(events trace "$1" | tail -n 1)" = "$2" ]
}

becomes() {
	(wait_until "${3:-60}" state_is "$1" "$2") || fail "$1: want $2, saw $(events trace "$1" | tail -n 20 | tr '\n' ' ')"
}

# holds NAME [FLAG…]: in each state that it was ever in.
holds() {
	local out
	out=$(events check "$@") || fail "$1: $out"
}

# deletions [FILTER…]: of Pods by truce since the mark, without those that came too late for what is there by now (409).
deletions() {
	truce_requests --verb delete --resource pods --namespace "$NS" --code 200 "$@"
}

kill_pod() {
	kc person delete pod "$1" -n "$NS" --force --grace-period=0 --wait=false >/dev/null 2>&1
}

# seen KIND NAME GROUP LIFE SIZE LEAVING NODE READY: an event of the set "made-up".
seen() {
	printf '{"at": 1, "kind": "%s", "pod": {"set": "made-up", "name": "%s", "uid": "%s", "group": %s, "worker": 0, "life": "%s", ' "$1" "$2" "$4" "$3" "$4"
	printf '"revision": "r", "size": %s, "leaving": %s, "gated": false, "node": "%s", "ready": %s, "restarts": 0}}\n' "$5" "$6" "$7" "$8"
}

# refuted WHAT FLAG…: standard input is not as it must be.
refuted() {
	local out
	cat >"$WORK/events"
	! out=$(events check made-up "${@:2}") || fail "nobody saw: $1"
	[ "${out%%:*}" = "$1" ] || fail "want '$1', got '$out'"
}

# Else all below would be content with anything.
the_checker_sees_what_is_wrong() {
	refuted 'group 0 has Pods of more than one life' < <(
		seen ADDED a 0 one 1 true '' false
		seen ADDED b 0 two 1 false '' false
	)
	refuted 'a is on a node, and its group was never complete' < <(seen ADDED a 0 one 2 false n1 false)
	refuted '2 groups' --groups 1 < <(
		seen ADDED a 0 one 1 false '' false
		seen ADDED b 1 two 1 true '' false
	)
	refuted '0 groups run' --running 1 < <(
		seen ADDED a 0 one 1 false n1 true
		seen MODIFIED a 0 one 1 true n1 true
	)
	refuted 'no event of made-up' </dev/null
	{
		seen ADDED a 0 one 1 false n1 true
		seen DELETED a 0 one 1 true n1 true
		seen ADDED a 0 two 1 false n1 true
	} >"$WORK/events"
	holds made-up --groups 1
	assert_eq 'A+ none A+ ' "$(states made-up)" 'the states'
}

the_agent_and_a_recorder_run() {
	groups_agent
	python3 "$TOP/tests/cluster/group_events.py" record "$NS" >"$WORK/events" &
	wait_until 20 grep -F SYNCED "$WORK/events"
}

a_killed_worker_takes_its_group_with_it_and_no_other() {
	local i group other now
	make demo 2 3
	becomes demo A+A+
	other=$(uids demo 1)
	for ((i = 1; i <= KILLS; i++)); do
		group=$(uids demo 0)
		kill_pod demo-0-1
		wait_until 30 is_remade demo 0 "$group"
		becomes demo A+A+
		now=$(uids demo 0)
		all_are_new "$group" "$now" || fail "kill $i: '$group', then '$now'"
		assert_eq "$other" "$(uids demo 1)" 'group 1 stays as it is'
		kc person annotate lws demo -n "$NS" --overwrite "truce.dev/reset-restarts=$i" >/dev/null
	done
	holds demo --running 1 --groups 2
	assert_eq $((KILLS + 2)) "$(events lives demo | wc -l)" 'lives of groups'
	drop demo
}

policy_none_replaces_the_worker_alone_and_a_leader_with_its_workers() {
	local before after
	restart=None make alone 2 3
	becomes alone A+A+
	before=$(uids alone)
	kill_pod alone-0-1
	wait_until 30 is_another alone alone-0-1 "$before"
	becomes alone A+A+
	after=$(uids alone)
	assert_eq "$(grep -v '^alone-0-1=' <<<"$before")" "$(grep -v '^alone-0-1=' <<<"$after")" 'all others'
	kill_pod alone-1
	wait_until 30 is_remade alone 1 "$(grep '^alone-1' <<<"$after")"
	becomes alone A+A+
	assert_eq "$(grep '^alone-0' <<<"$after")" "$(uids alone 0)" 'group 0'
	holds alone --running 1 --groups 2
	drop alone
}

scale_goes_up_at_the_top_and_down_from_the_top() {
	local first
	make scaled 1 3
	becomes scaled A+
	first=$(uids scaled)
	kc operator scale lws/scaled -n "$NS" --replicas=3 >/dev/null
	becomes scaled A+A+A+
	assert_eq 9 "$(uids scaled | wc -l)" Pods
	assert_eq "$first" "$(uids scaled 0)" 'group 0 stays as it is'
	mark
	kc operator scale lws/scaled -n "$NS" --replicas=1 >/dev/null
	becomes scaled A+
	assert_eq "$first" "$(uids scaled)" 'what is left'
	assert_eq 6 "$(deletions)" 'Pods deleted'
	assert_eq 0 "$(truce_requests --verb create --resource pods --namespace "$NS")" 'Pods made'
	holds scaled --running 1 --groups 3
	drop scaled
}

a_roll_goes_from_the_highest_group_down_one_at_a_time() {
	make roll 2 3
	becomes roll A+A+
	make roll 2 3 main:2
	becomes roll B+B+
	assert_eq 'A+A+ A+A- A+ A+B- A+B+ A-B+ --B+ B-B+ B+B+ ' "$(states roll A+A+)" 'the roll'
	holds roll --running 1 --groups 2
	drop roll
}

a_partition_keeps_the_groups_below_it() {
	local below
	make parts 4 2
	becomes parts A+A+A+A+
	below=$(uids parts | grep '^parts-[01]')
	rolling='maxUnavailable: 1, partition: 2' make parts 4 2 main:2
	becomes parts A+A+B+B+
	wait_until 30 condition_is parts Available
	condition_is parts UpdateInProgress False || fail 'it says that it is being updated'
	assert_eq 'A+A+A+A+ A+A+A+A- A+A+A+ A+A+A+B- A+A+A+B+ A+A+A-B+ A+A+--B+ A+A+B-B+ A+A+B+B+ ' "$(states parts A+A+A+A+)" 'to the partition'
	assert_eq "$below" "$(uids parts | grep '^parts-[01]')" 'groups 0 and 1'
	rolling='maxUnavailable: 1, partition: 0' make parts 4 2 main:2
	becomes parts B+B+B+B+
	assert_eq 'A+A+B+B+ A+A-B+B+ A+--B+B+ A+B-B+B+ A+B+B+B+ A-B+B+B+ --B+B+B+ B-B+B+B+ B+B+B+B+ ' "$(states parts A+A+B+B+)" 'the rest'
	holds parts --running 3 --groups 4
	drop parts
}

with_surge_as_many_run_as_ever() {
	rolling='maxUnavailable: 0, maxSurge: 1' make surge 4 2
	becomes surge A+A+A+A+
	rolling='maxUnavailable: 0, maxSurge: 1' make surge 4 2 main:2
	becomes surge B+B+B+B+ 120
	assert_eq "A+A+A+A+ A+A+A+A+B- A+A+A+A+B+ A+A+A+A-B+ A+A+A+--B+ A+A+A+B-B+ A+A+A+B+B+ A+A+A-B+B+ A+A+--B+B+ A+A+B-B+B+ \
A+A+B+B+B+ A+A-B+B+B+ A+--B+B+B+ A+B-B+B+B+ A+B+B+B+B+ A-B+B+B+B+ --B+B+B+B+ B-B+B+B+B+ B+B+B+B+B+ B+B+B+B+B- B+B+B+B+ " \
		"$(states surge A+A+A+A+)" 'the roll'
	holds surge --running 4 --groups 5
	assert_eq '4 5 8 10' "$(events counts surge)" 'groups that run, and Pods, at least and at most'
	drop surge
}

# The one that may be missing goes while the one that stands in for it is on its way: that is the difference to the case above.
with_surge_and_a_budget_two_groups_are_on_their_way() {
	rolling='maxUnavailable: 1, maxSurge: 1' make both 4 2
	becomes both A+A+A+A+
	rolling='maxUnavailable: 1, maxSurge: 1' make both 4 2 main:2
	becomes both B+B+B+B+ 120
	wait_until 30 condition_is both Available
	events trace both | grep -E '^A\+A\+A\+(A-|--|B-)B-$' >/dev/null || fail "groups 3 and 4 one after the other: $(states both)"
	holds both --running 3 --groups 5
	drop both
}

no_budget_at_all_is_a_condition_and_changes_nothing() {
	local before
	make none 2 2
	becomes none A+A+
	wait_until 30 condition_is none Available
	before=$(uids none)
	mark
	rolling='maxUnavailable: 0, maxSurge: 0' make none 2 2 main:2
	wait_until 30 condition_is none Stalled
	assert_eq "InvalidSpec $NO_BUDGET" "$(condition none Stalled reason) $(condition none Stalled message)" 'what the condition says'
	truce_ok groups none
	says "$NO_BUDGET"
	assert_eq "$before" "$(uids none)" Pods
	assert_eq 0 "$(truce_requests --verb delete --resource pods --namespace "$NS")" 'Pods deleted'
	assert_eq 0 "$(truce_requests --verb create --resource pods --namespace "$NS")" 'Pods made'
	make none 2 2 main:2
	becomes none B+B+
	wait_until 30 condition_is none Stalled False
	drop none
}

# node NAME CPU
node() {
	kc person apply --server-side -f - >/dev/null <<-YAML
		apiVersion: v1
		kind: Node
		metadata: {name: $1, annotations: {podsim.truce.dev/node: "true"}, labels: {rig: $1}}
	YAML
	kc person patch node "$1" --subresource=status --type=merge -p \
		"{\"status\":{\"capacity\":{\"cpu\":\"$2\",\"memory\":\"8Gi\",\"pods\":\"99\"},\"allocatable\":{\"cpu\":\"$2\",\"memory\":\"8Gi\",\"pods\":\"99\"}}}" \
		>/dev/null
}

holds_nothing() {
	[ "$(events gated "$1")" = 8 ] && condition_is "$1" WaitingForCapacity
}

# said JSON TYPE FIELD: of a condition.
said() {
	python3 -c '
import json, sys
print(*[c[sys.argv[3]] for c in json.loads(sys.argv[1])["status"]["conditions"] if c["type"] == sys.argv[2]])' "$@"
}

# A Node with room for one Pod of two groups of four. Groups are tried again and again, so capacity comes at once when both are
# back behind their gates, and what was said then is looked at later.
half_a_group_holds_nothing_and_capacity_starts_exactly_one() {
	local seen
	node small 1
	annotations='truce.dev/gang-timeout: 3s' leader='rig: small' worker='rig: small' leader_cpu=1 worker_cpu=1 make tight 2 4
	wait_until 60 holds_nothing tight
	seen=$(got lws tight '{}')
	node small 4
	assert_eq 'True GroupNotSchedulable' "$(said "$seen" WaitingForCapacity status) $(said "$seen" WaitingForCapacity reason)" condition
	assert_eq 'group 0 found no nodes for all of its 4 pods; group 1 found no nodes for all of its 4 pods' \
		"$(said "$seen" WaitingForCapacity message)" 'what the condition says'
	becomes tight A+A-
	assert_eq '0,0 1,0 2,0 3,0 4,0 ' "$(events nodes tight | tac | sed '/^0,0$/q' | tac | head -n 5 | tr '\n' ' ')" 'Pods on nodes, by group'
	wait_until 60 condition_is tight WaitingForCapacity
	holds tight --groups 2
	node small 8
	becomes tight A+A+ 120
	wait_until 30 condition_is tight WaitingForCapacity False
	drop tight
	kc person delete node small >/dev/null
}

node_of() {
	kc admin get pod "$1" -n "$NS" -o 'jsonpath={.spec.nodeName}'
}

nobody_lives() {
	[ -z "$(uids "$1" "$2")" ]
}

row_says() {
	truce_ok groups "$1"
	says "$2"
}

# Leaders on node-1, each worker on a node of its own, of which there is one to spare.
a_lost_node_takes_the_rest_of_its_group_and_holds_back_its_successor() {
	local lost other before
	kc person label node node-1 rig=leaders >/dev/null
	kc person label node node-2 node-3 node-4 rig=workers >/dev/null
	annotations='truce.dev/unreachable-timeout: 3s' leader='rig: leaders' worker='rig: workers' worker_cpu=3 make lost 2 2
	becomes lost A+A+
	before=$(uids lost 1)
	other=$(uids lost 0)
	lost=$(node_of lost-1-1)
	[ "$lost" != "$(node_of lost-0-1)" ] || fail 'both workers are on one node'
	mark
	kc person annotate node "$lost" podsim.truce.dev/down=true >/dev/null
	wait_until 30 nobody_lives lost 1
	wait_until 30 is_gone pod lost-1
	assert_eq 1 "$(deletions --name lost-1-1)" 'deletions of the lost Pod'
	got pod lost-1-1 '{.metadata.deletionTimestamp}' | grep . >/dev/null || fail 'the lost Pod is not being deleted'
	wait_until 10 row_says lost "worker lost-1-1 to end on node $lost"
	assert_eq "$other" "$(uids lost)" 'what lives'
	kc person taint node "$lost" node.kubernetes.io/out-of-service=nodeshutdown:NoExecute >/dev/null
	becomes lost A+A+ 90
	# Without grace it is deleted by truce, or by the cluster, whichever comes first.
	[ "$(deletions --name lost-1-1)" -le 2 ] || fail 'the lost Pod was deleted more than once with grace, and once without'
	assert_eq '0 2 1 2 1 2 ' "$(events lives lost | cut -d ' ' -f 1,2 | sort | tr '\n' ' ')" 'lives: group and Pods'
	all_are_new "$before" "$(uids lost 1)" || fail "group 1: '$before', then '$(uids lost 1)'"
	assert_eq "$other" "$(uids lost 0)" 'group 0'
	[ "$(node_of lost-1-1)" != "$lost" ] || fail 'it is on the lost node again'
	holds lost --running 1 --groups 2
	kc person taint node "$lost" node.kubernetes.io/out-of-service- >/dev/null
	kc person annotate node "$lost" podsim.truce.dev/down- >/dev/null
	drop lost
}

# Each life of the group ends as soon as it is up: the first restart is made at once, the second after 10 s (counted from whole
# seconds), a third is not allowed.
a_crash_loop_backs_off_and_ends_with_its_budget() {
	local lives
	annotations='truce.dev/max-group-restarts: "2"' notes='podsim.truce.dev/crashes: "1"' make loop 1 2
	wait_until 90 condition_is loop Degraded
	assert_eq ReplicaRestartBudgetExceeded "$(condition loop Degraded reason)" reason
	wait_until 30 state_is loop none
	lives=$(events lives loop)
	assert_eq '0 2 0 2 0 2 ' "$(cut -d ' ' -f 1,2 <<<"$lives" | tr '\n' ' ')" 'lives: group and Pods'
	awk 'NR == 3 && $3 < 9 { exit 1 }' <<<"$lives" || fail "too soon: $lives"
	row_says loop 'a reset of its restart budget'
	kc person annotate lws loop -n "$NS" truce.dev/reset-restarts=now >/dev/null
	wait_until 30 lived loop 4
	holds loop --groups 1
	drop loop
}

lived() {
	[ "$(events lives "$1" | wc -l)" -ge "$2" ]
}

if [ -n "$(cluster_external_kubeconfig)" ]; then
	skip "a kubeconfig is given: nodes of a size are our own control plane's"
fi
cluster_begin --podsim-arg=--nodes=4 --podsim-arg=--node-cpu=4
truce_begin events
run_cases the_checker_sees_what_is_wrong the_agent_and_a_recorder_run a_killed_worker_takes_its_group_with_it_and_no_other \
	policy_none_replaces_the_worker_alone_and_a_leader_with_its_workers scale_goes_up_at_the_top_and_down_from_the_top \
	a_roll_goes_from_the_highest_group_down_one_at_a_time a_partition_keeps_the_groups_below_it with_surge_as_many_run_as_ever \
	with_surge_and_a_budget_two_groups_are_on_their_way no_budget_at_all_is_a_condition_and_changes_nothing \
	half_a_group_holds_nothing_and_capacity_starts_exactly_one a_lost_node_takes_the_rest_of_its_group_and_holds_back_its_successor \
	a_crash_loop_backs_off_and_ends_with_its_budget

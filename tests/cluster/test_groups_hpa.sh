#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One LeaderWorkerSet: Git says what, the real HPA controller how many, truce's reconciler makes it so, all in one `truce run`
# that is restarted and killed in between. Git's replicas are a seed, written once with the object and never again; no group
# is made anew but for a new template or another number. The HPA's least is 3, so that a 2 can only be Git's; half of its
# commits change Git's replicas. A minute; TRUCE_LONG=1: ten minutes of both at once.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"
# shellcheck source=tests/cluster/replicas.sh
. "$(dirname "${BASH_SOURCE[0]}")/replicas.sh"
# shellcheck source=tests/cluster/groups.sh
. "$(dirname "${BASH_SOURCE[0]}")/groups.sh"

LONG_S=600
COMMIT_EVERY_S=4
CROWD=90m # of 100m requested, at a target of half: as many as the HPA allows
LULL=10m  # as few
SET_STATE='{.metadata.resourceVersion} {.spec.replicas} {.status.readyReplicas} {.status.updatedReplicas}'
SET_IMAGE='{.spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].image}'
POD_STATE='{.metadata.resourceVersion} {.metadata.name} {.metadata.uid} {.metadata.labels.leaderworkerset\.sigs\.k8s\.io/group-index}'
POD_MORE='{.metadata.labels.truce\.dev/incarnation} {.spec.containers[0].image} {.metadata.deletionTimestamp}'
COMMITS=0
SEED=2
IMAGE=1
MOST=5
LOAD_TIME=0s
RESTARTS=0
LIVES=

# ---- what Git says ----

put_set() {
	put demo.yaml <<-YAML
		apiVersion: leaderworkerset.x-k8s.io/v1
		kind: LeaderWorkerSet
		metadata: {name: demo, labels: {commit: "$COMMITS"}, annotations: {truce.dev/group-controller: embedded}}
		spec:
		  replicas: $SEED
		  rolloutStrategy: {rollingUpdateConfiguration: {maxUnavailable: 25%}}
		  leaderWorkerTemplate:
		    size: 2
		    workerTemplate:
		      metadata: {annotations: {podsim.truce.dev/load: $LOAD_TIME}}
		      spec:
		        terminationGracePeriodSeconds: 1
		        containers: [{name: main, image: "main:$IMAGE", resources: {requests: {cpu: 100m}}}]
	YAML
}

put_hpa() {
	put demo-hpa.yaml <<-YAML
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: demo}
		spec:
		  scaleTargetRef: {apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: demo}
		  minReplicas: 3
		  maxReplicas: $MOST
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
}

next_commit() {
	COMMITS=$((COMMITS + 1))
	put_set
	put_hpa
	commit "number $COMMITS"
}

is_applied() {
	[ "$(got lws demo '{.metadata.labels.commit}')" = "$COMMITS" ]
}

commit_and_wait() {
	next_commit
	wait_until 30 is_applied
}

# ---- load: each leader's; what is written for groups that are not there counts for nobody ----

load() {
	printf '%s\n' "$1" >"$WORK/load"
	metrics_once
}

metrics_once() {
	local i
	for i in 0 1 2 3 4 5 6; do
		cat <<-YAML
			---
			apiVersion: metrics.k8s.io/v1beta1
			kind: PodMetrics
			metadata: {name: demo-$i, namespace: $NS, labels: {$NAME_LABEL: demo, leaderworkerset.sigs.k8s.io/worker-index: "0"}}
			timestamp: $(date -u +%Y-%m-%dT%H:%M:%SZ)
			window: 10s
			containers: [{name: main, usage: {cpu: $(cat "$WORK/load"), memory: 1Mi}}]
		YAML
	done | kc operator apply --server-side --force-conflicts -f - >/dev/null
}

metrics_forever() {
	while true; do
		sleep 10
		metrics_once 2>/dev/null || true
	done
}

# ---- looks ----

# Every state that there ever is, from watches.
watch_all() {
	kc admin get lws -n "$NS" --watch -o "jsonpath=$SET_STATE $SET_IMAGE{\"\\n\"}" >"$WORK/sets" 2>/dev/null &
	WATCHES+=($!)
	kc admin get pods -n "$NS" -l "$NAME_LABEL=demo" --watch -o "jsonpath=$POD_STATE $POD_MORE{\"\\n\"}" >"$WORK/pods" \
		2>/dev/null &
	WATCHES+=($!)
}

# Each number that spec.replicas ever was, in turn.
numbers() {
	awk 'NF && $2 != last { printf "%s%s", sep, last = $2; sep = " " }' "$WORK/sets"
}

are() {
	replicas_are lws demo "$1" && pods_are demo $(($1 * 2)) && condition_is demo Available
}

# all_run N: so many groups, and each runs what Git says.
all_run() {
	local i want=
	for ((i = 0; i < $1; i++)); do
		want+="${want:+ }$i=main:$IMAGE"
	done
	images_are demo "$want" && are "$1"
}

nothing_ended() {
	assert_eq "$LIVES" "$(uids demo)" "Pods after $1"
}

restart() {
	RESTARTS=$((RESTARTS + 1))
	if [ $((RESTARTS % 2)) -eq 1 ]; then agent_stop; else agent_kill; fi
	agent_start
}

# ---- cases ----

git_says_two_and_the_hpa_five() {
	mark
	load "$CROWD"
	watch_all
	next_commit
	agent_start
	metrics_forever &
	wait_until 60 are 5
	assert_eq kube-controller-manager/scale "$(owners lws demo)" 'owner of replicas'
	LIVES=$(uids demo)
}

what_git_says_of_replicas_changes_nothing() {
	for SEED in 7 1 2; do
		commit_and_wait
	done
	restart
	commit_and_wait
	restart
	SEED=4
	commit_and_wait
	agent_waits 30 'msg="synced"'
	nothing_ended 'six commits and two restarts'
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
	assert_eq 5 "$(numbers | awk '{ print $NF }')" 'the newest number'
}

each_of_the_three_is_named() {
	local line
	line=$(grep -n replicas: "$REPO/deploy/demo.yaml" | cut -d : -f 1)
	truce_ok owners lws/demo
	says "spec.replicas: Git's 4 (deploy/demo.yaml:$line) is the seed of a new object; HPA $NS/demo (scale) says 5"
	says "Pods and status are the group reconciler's (truce-groups), which takes spec.replicas as it is: truce groups demo"
	grep -q "^spec.replicas  *HPA $NS/demo (scale) .* yields  *built-in: a scaler owns replicas" <<<"$OUT" || fail 'whose replicas are'
	grep -q '^spec.leaderWorkerTemplate.workerTemplate  *truce .* enforces  *deploy/demo.yaml' <<<"$OUT" || fail 'whose the template is'
	truce_ok groups demo
	grep -q "^$NS/demo  *5/5  *5  *5/5  *0  *All replicas are ready" <<<"$OUT" || fail 'what groups there are'
	assert_eq 5 "$(grep -c '^  [0-4]  *yes  *2/2  *new [0-9a-f]\{6\}  *0  *Ready' <<<"$OUT")" 'lines of groups'
	says "replicas 5 are set by HPA $NS/demo"
	wait_until 30 status_has 'Synced  *Healthy  *2 '
}

status_has() {
	truce status
	grep -q "$1" <<<"$OUT"
}

a_new_template_rolls_at_the_hpas_number() {
	local from
	from=$(wc -l <"$WORK/sets")
	mark
	IMAGE=2
	next_commit
	wait_until 60 all_run 5
	assert_eq '4 3 2 1 0 ' "$(leaders_deleted demo)" 'order of groups'
	assert_eq 4 "$(tail -n "+$((from + 1))" "$WORK/sets" | cut -d ' ' -f 3 | sort -n | head -n 1)" 'ready groups at least'
	assert_eq 5 "$(numbers | awk '{ print $NF }')" 'the newest number'
}

ten_minutes_of_both() {
	local until=$((SECONDS + LONG_S)) turn=0
	[ -n "${TRUCE_LONG-}" ] || return 0
	while [ "$SECONDS" -lt "$until" ]; do
		turn=$((turn + 1))
		SEED=$((turn % 7 + 1))
		[ $((turn % 3)) -ne 0 ] || IMAGE=$((IMAGE + 1))
		[ $((turn % 4)) -ne 0 ] || MOST=$((turn % 3 + 4))
		next_commit
		[ $((turn % 5)) -ne 0 ] || load "$LULL"
		[ $((turn % 5)) -ne 3 ] || load "$CROWD"
		[ $((turn % 4)) -ne 2 ] || restart
		sleep "$COMMIT_EVERY_S"
	done
	MOST=5
	load "$CROWD"
	commit_and_wait
	wait_until 120 all_run 5
}

# In the middle of a roll, while nobody acts, four become three, of which a quarter is no group at all. Groups load so long that
# the roll is still under way when its health has been stored, which takes seconds.
a_shrink_under_a_share_holds_up_no_roll() {
	MOST=4
	commit_and_wait
	wait_until 60 are 4
	mark
	IMAGE=$((IMAGE + 1)) LOAD_TIME=8s
	next_commit
	wait_until 60 is_first_of_roll
	wait_until 30 status_has 'health: .*demo: rolling out: [0-3] of 4 groups updated'
	agent_kill
	load "$LULL"
	wait_until 60 replicas_are lws demo 3
	RESTARTS=$((RESTARTS + 1))
	agent_start
	wait_until 60 all_run 3
	mark
	IMAGE=$((IMAGE + 1)) LOAD_TIME=0s
	next_commit
	wait_until 60 all_run 3
	assert_eq '2 1 0 ' "$(leaders_deleted demo)" 'order of groups'
	wait_until 40 was_told demo 'MaxUnavailableRaised maxUnavailable and maxSurge both come to 0 of 3 replicas, 1 is used for maxUnavailable'
}

is_first_of_roll() {
	case $(images demo) in
	*"3=main:$IMAGE"*) ;;
	*) return 1 ;;
	esac
}

# What is looked for is found where it is: group 1 ends for a new image, 2 for another number, 0 for nothing.
the_checker_tells_causes_apart() {
	printf '%s\n' '10 3 0 0 main:1' '30 2 3 3 main:1' '50 2 2 2 main:2' >"$WORK/sets.made"
	printf '%s\n' '11 demo-0 a 0 x main:1' '12 demo-1 b 1 y main:1' '13 demo-2 c 2 z main:1' \
		'31 demo-2 c 2 z main:1 2026-01-01T00:00:00Z' '40 demo-0 d 0 v main:1' '51 demo-1 b 1 y main:1 2026-01-01T00:00:01Z' \
		>"$WORK/pods.made"
	assert_eq 'demo-0 uid a image main:1: from 11 to 40 GROUPS roll 1 scale 1 none 1' \
		"$("$cluster_source/group_causes.py" "$WORK/sets.made" "$WORK/pods.made" | tr '\n' ' ' | sed 's/ $//')"
}

replicas_were_the_hpas_alone() {
	MARK=$BEGAN
	assert_eq 2 "$(written leaderworkersets demo)" "replicas in truce's writes: with the object, and never again"
	assert_eq 0 "$(truce_requests --resource leaderworkersets/scale)" "truce's requests for the number"
	assert_eq kube-controller-manager/scale "$(owners lws demo)" 'owner of replicas'
	case " $(numbers | cut -d ' ' -f 2-) " in
	*' 2 '*) fail "Git's number came back: $(numbers)" ;;
	esac
}

no_group_was_made_anew_without_cause() {
	local why
	why=$("$cluster_source/group_causes.py" "$WORK/sets" "$WORK/pods")
	end_watches
	printf '# replicas %s; %s commits, %s restarts; %s\n' "$(numbers)" "$COMMITS" "$RESTARTS" "${why##*$'\n'}"
	assert_eq '' "$(grep -v ^GROUPS <<<"$why")" 'Pods that ended without cause'
	case $why in
	*' none 0') ;;
	*) fail "groups made anew: $why" ;;
	esac
}

cluster_begin --hpa
cluster_needs private
truce_begin groups-hpa
groups_begin
mark
BEGAN=$MARK
run_cases git_says_two_and_the_hpa_five what_git_says_of_replicas_changes_nothing each_of_the_three_is_named \
	a_new_template_rolls_at_the_hpas_number ten_minutes_of_both a_shrink_under_a_share_holds_up_no_roll \
	replicas_were_the_hpas_alone the_checker_tells_causes_apart no_group_was_made_anew_without_cause

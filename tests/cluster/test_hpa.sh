#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Git says `replicas: 2`, an autoscaler says otherwise: truce writes replicas when it creates an object and never again,
# until the autoscaler is gone and a hold is over.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"
# shellcheck source=tests/cluster/replicas.sh
. "$(dirname "${BASH_SOURCE[0]}")/replicas.sh"

HOLD=3

# workload KIND NAME [REPLICAS]
workload() {
	cat <<-YAML
		apiVersion: apps/v1
		kind: $1
		metadata: {name: $2}
		spec:
		  ${3:+replicas: $3}
		  selector: {matchLabels: {app: $2}}
		  template:
		    metadata: {labels: {app: $2}, annotations: {podsim.truce.dev/hold: pending}}
		    spec: {containers: [{name: main, image: "main:1", resources: {requests: {cpu: 100m}}}]}
	YAML
}

# hpa KIND NAME
hpa() {
	cat <<-YAML
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: $2}
		spec:
		  scaleTargetRef: {apiVersion: apps/v1, kind: $1, name: $2}
		  minReplicas: 1
		  maxReplicas: 9
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
}

# autoscale KIND NAME N: what the HPA controller does.
autoscale() {
	kc operator patch "$1" "$2" -n "$NS" --subresource=scale --type=merge -p "{\"spec\":{\"replicas\":$3}}" \
		--field-manager=kube-controller-manager >/dev/null
}

no_replicas_written() {
	assert_eq '' "$(written "${1}s" "$2")" "replicas in truce's writes to $1 $2"
}

settles() {
	agent_waits 30 'msg="synced"'
}

# commit_applied SUBJECT: commits and waits until it is in force and all is done.
commit_applied() {
	agent_mark
	commit "$1"
	agent_waits 20 "subject=\"$1\""
	agent_waits 30 'msg="latency"'
}

# The HPA is there before its target: the only value ever seen is Git's.
an_hpa_from_before_its_deployment() {
	hpa Deployment early | kc operator apply -n "$NS" -f - >/dev/null
	workload Deployment early 2 | put early.yaml
	commit 'early'
	mark
	agent_start --replicas-hold "${HOLD}s"
	agent_waits 30 'msg="latency"'
	assert_eq 2 "$(written deployments early)" 'replicas written at creation'
	mark
	watch_values deployment early
	autoscale deployment early 5
	autoscale deployment early 0
	autoscale deployment early 4
	wait_until 10 replicas_are deployment early 4
	sed -i s/main:1/main:2/ "$REPO/deploy/early.yaml"
	commit_applied 'early: 2'
	no_replicas_written deployment early
	assert_values early '2 5 0 4'
	assert_eq main:2 "$(got deployment early '{.spec.template.spec.containers[0].image}')"
}

# Both in one commit.
an_hpa_with_its_deployment() {
	{
		workload Deployment both 2
		echo ---
		hpa Deployment both
	} | put both.yaml
	mark
	commit_applied 'a new both'
	exists hpa both
	assert_eq 2 "$(written deployments both)" 'replicas written at creation'
	mark
	watch_values deployment both
	autoscale deployment both 0
	autoscale deployment both 7
	sed -i s/main:1/main:2/ "$REPO/deploy/both.yaml"
	commit_applied 'both: 2'
	no_replicas_written deployment both
	assert_values both '2 0 7'
}

# By hand, long after; truce owns replicas at that time.
an_hpa_after_its_deployment() {
	local kind
	for kind in Deployment StatefulSet; do
		workload "$kind" "late-${kind,,}" 2
		echo ---
	done | put late.yaml
	commit_applied 'a new late'
	for kind in deployment statefulset; do
		assert_eq truce "$(owners $kind late-$kind)"
		watch_values $kind late-$kind
	done
	mark
	for kind in Deployment StatefulSet; do
		hpa "$kind" "late-${kind,,}" | kc operator apply -n "$NS" -f - >/dev/null
	done
	for kind in deployment statefulset; do
		wait_until 10 owner_is $kind late-$kind truce-keeper
	done
	autoscale deployment late-deployment 6
	autoscale statefulset late-statefulset 6
	autoscale statefulset late-statefulset 0
	autoscale statefulset late-statefulset 3
	sed -i s/main:1/main:2/ "$REPO/deploy/late.yaml"
	commit_applied 'late: 2'
	for kind in deployment statefulset; do
		no_replicas_written $kind late-$kind
		assert_eq main:2 "$(got $kind late-$kind '{.spec.template.spec.containers[0].image}')"
	done
	assert_values late-deployment '2 6'
	assert_values late-statefulset '2 6 0 3'
}

diff_says_whose_it_is() {
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
	says 'not ours'
	says 'spec.replicas = 6'
	says "HPA $NS/late-deployment"
}

git_removes_replicas_while_an_hpa_exists() {
	mark
	sed -i '/replicas: 2/d' "$REPO/deploy/both.yaml" "$REPO/deploy/early.yaml"
	commit_applied 'no replicas'
	no_replicas_written deployment both
	assert_values both '2 0 7'
	# Its autoscaler goes too: nobody asked for a value, so it stays.
	kc operator delete hpa early -n "$NS" >/dev/null
	sleep $((HOLD + 1))
	assert_values early '2 5 0 4'
}

# The same commit hands over and leaves: the HPA has never written.
git_removes_replicas_and_brings_an_hpa() {
	workload Deployment swap 2 | put swap.yaml
	commit_applied 'a new swap'
	watch_values deployment swap
	{
		workload Deployment swap
		echo ---
		hpa Deployment swap
	} | put swap.yaml
	mark
	commit_applied 'swap: an HPA instead'
	no_replicas_written deployment swap
	assert_eq truce-keeper "$(owners deployment swap)"
	autoscale deployment swap 3
	assert_values swap '2 3'
	assert_eq kube-controller-manager/scale "$(owners deployment swap)"
}

a_deleted_hpa_is_waited_for() {
	local begin=$SECONDS
	mark
	agent_mark
	kc operator delete hpa late-deployment late-statefulset -n "$NS" >/dev/null
	agent_waits 10 'its value stays for now'
	sleep 1
	assert_eq 6 "$(got deployment late-deployment '{.spec.replicas}')" 'replicas during the hold'
	assert_eq 3 "$(got statefulset late-statefulset '{.spec.replicas}')" 'replicas during the hold, no owner left'
	wait_until 20 replicas_are deployment late-deployment 2
	wait_until 20 replicas_are statefulset late-statefulset 2
	[ $((SECONDS - begin)) -ge $((HOLD - 1)) ] || fail 'taken back before the hold was over'
	assert_eq truce "$(owners deployment late-deployment)"
	assert_values late-deployment '2 6 2'
}

# Back within the hold: nothing happens.
an_hpa_that_comes_back_keeps_its_value() {
	hpa Deployment late-deployment | kc operator apply -n "$NS" -f - >/dev/null
	wait_until 10 owner_is deployment late-deployment truce-keeper
	autoscale deployment late-deployment 8
	mark
	kc operator delete hpa late-deployment -n "$NS" >/dev/null
	hpa Deployment late-deployment | kc operator apply -n "$NS" -f - >/dev/null
	sleep $((HOLD + 2))
	no_replicas_written deployment late-deployment
	assert_eq 8 "$(got deployment late-deployment '{.spec.replicas}')"
}

a_commit_ends_the_hold() {
	agent_stop
	agent_start --replicas-hold 10m
	settles
	kc operator delete hpa late-deployment -n "$NS" >/dev/null
	agent_waits 10 'its value stays for now'
	sed -i s/main:2/main:3/ "$REPO/deploy/late.yaml"
	commit_applied 'late: 3'
	assert_eq 8 "$(got deployment late-deployment '{.spec.replicas}')" 'replicas after a commit about something else'
	sed -i 's/replicas: 2/replicas: 4/' "$REPO/deploy/late.yaml"
	commit_applied 'late: 4 replicas'
	assert_eq 4 "$(got deployment late-deployment '{.spec.replicas}')" 'replicas after a commit that changed them'
	assert_eq truce "$(owners deployment late-deployment)"
}

# Git removes the HPA and says what replicas are to be, in one commit.
a_commit_replaces_an_hpa_by_a_number() {
	workload Deployment both 3 | put both.yaml
	commit_applied 'both: 3 replicas'
	is_gone hpa both || fail 'the HPA was not pruned'
	wait_until 10 replicas_are deployment both 3
	assert_values both '2 0 7 3'
}

# kubectl scale without an autoscaler is drift.
a_scale_by_hand_is_healed() {
	kc person scale deployment both -n "$NS" --replicas=6 >/dev/null
	wait_until 10 replicas_are deployment both 3
	assert_values both '2 0 7 3 6 3'
	kc person scale deployment both -n "$NS" --replicas=0 >/dev/null
	wait_until 10 replicas_are deployment both 3
}

# Scaled to 0 and back, nobody owns replicas; the autoscaler goes while truce does not run.
an_hpa_that_went_unseen_is_waited_for() {
	workload Deployment unseen 2 | put unseen.yaml
	hpa Deployment unseen | kc operator apply -n "$NS" -f - >/dev/null
	commit_applied 'a new unseen'
	autoscale deployment unseen 0
	autoscale deployment unseen 5
	wait_until 10 replicas_are deployment unseen 5
	assert_eq '' "$(owners deployment unseen)" 'owners of replicas after a scale to 0'
	agent_stop
	kc operator delete hpa unseen -n "$NS" >/dev/null
	agent_start --replicas-hold "${HOLD}s"
	agent_waits 20 'its value stays for now'
	assert_eq 5 "$(got deployment unseen '{.spec.replicas}')" 'replicas during the hold'
	wait_until 20 replicas_are deployment unseen 2
}

# All of it is remembered: the next run writes no object.
a_restart_leaves_everything() {
	end_watches
	agent_stop
	mark
	agent_start --replicas-hold "${HOLD}s"
	settles
	assert_eq 0 "$(truce_object_writes)" 'writes of a restart'
	agent_stop
}

# Single runs, no daemon: the hold that the first one begins goes on in the next one, and ends.
single_runs_carry_a_hold_on() {
	local hold=8
	hpa Deployment unseen | kc operator apply -n "$NS" -f - >/dev/null
	truce_ok sync
	autoscale deployment unseen 5
	kc operator delete hpa unseen -n "$NS" >/dev/null
	truce_ok sync --replicas-hold ${hold}s
	assert_eq 5 "$(got deployment unseen '{.spec.replicas}')" 'replicas when the hold begins'
	mark
	truce_ok sync --replicas-hold ${hold}s
	assert_eq 5 "$(got deployment unseen '{.spec.replicas}')" 'replicas during the hold'
	assert_eq 0 "$(truce_object_writes)" 'writes of a run during the hold'
	sleep $((hold + 1))
	truce_ok sync --replicas-hold ${hold}s
	assert_eq 2 "$(got deployment unseen '{.spec.replicas}')" 'replicas after the hold'
	mark
	truce_ok sync
	assert_eq 0 "$(truce_object_writes)" 'writes when all is over'
}

cluster_begin
cluster_needs own
truce_begin hpa
run_cases an_hpa_from_before_its_deployment an_hpa_with_its_deployment an_hpa_after_its_deployment diff_says_whose_it_is \
	git_removes_replicas_while_an_hpa_exists git_removes_replicas_and_brings_an_hpa a_deleted_hpa_is_waited_for \
	an_hpa_that_comes_back_keeps_its_value a_commit_ends_the_hold a_commit_replaces_an_hpa_by_a_number \
	a_scale_by_hand_is_healed an_hpa_that_went_unseen_is_waited_for a_restart_leaves_everything \
	single_runs_carry_a_hold_on

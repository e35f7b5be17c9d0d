#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A LeaderWorkerSet goes from upstream's controller to truce and back, by the steps of docs/groups.md. What upstream's
# controller makes is imitated by hand: a leader StatefulSet that the object controls, for each leader Pod a StatefulSet of
# its workers, the Service, a ControllerRevision and the status. Pods and their end are real.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"
# shellcheck source=tests/cluster/groups.sh
. "$(dirname "${BASH_SOURCE[0]}")/groups.sh"

# set_in_git REPLICAS [ANNOTATIONS]
set_in_git() {
	put demo.yaml <<-YAML
		apiVersion: leaderworkerset.x-k8s.io/v1
		kind: LeaderWorkerSet
		metadata: {name: demo, annotations: {${2-}}}
		spec:
		  replicas: $1
		  leaderWorkerTemplate:
		    size: 3
		    workerTemplate:
		      spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: "main:1"}]}
	YAML
}

EMBEDDED='truce.dev/group-controller: embedded'

# stateful_set NAME REPLICAS START OWNER-API OWNER-KIND OWNER-NAME OWNER-UID: as upstream's controller makes it.
stateful_set() {
	cat <<-YAML
		apiVersion: apps/v1
		kind: StatefulSet
		metadata:
		  name: $1
		  namespace: $NS
		  labels: {$NAME_LABEL: demo}
		  ownerReferences: [{apiVersion: $4, kind: $5, name: $6, uid: $7, controller: true, blockOwnerDeletion: true}]
		spec:
		  replicas: $2
		  serviceName: demo
		  podManagementPolicy: Parallel
		  ordinals: {start: $3}
		  selector: {matchLabels: {$NAME_LABEL: demo, of: $1}}
		  template:
		    metadata: {labels: {$NAME_LABEL: demo, of: $1, leaderworkerset.sigs.k8s.io/template-revision-hash: upstream}}
		    spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: "main:1"}]}
	YAML
}

uid_of() {
	got "$1" "$2" '{.metadata.uid}'
}

# The object is run by upstream's controller from now on: one group of three.
upstream_runs_it() {
	local lws
	lws=$(uid_of lws demo)
	stateful_set demo 1 0 leaderworkerset.x-k8s.io/v1 LeaderWorkerSet demo "$lws" |
		kc operator apply --server-side --field-manager=lws --force-conflicts -f - >/dev/null
	wait_until 30 exists pod demo-0
	stateful_set demo-0 2 1 v1 Pod demo-0 "$(uid_of pod demo-0)" |
		kc operator apply --server-side --field-manager=lws --force-conflicts -f - >/dev/null
	wait_until 60 pods_are demo 3
}

# What it has besides; the Service and the revision stay when the StatefulSets go.
upstream_made_more() {
	local lws
	lws=$(uid_of lws demo)
	kc operator create -n "$NS" -f - >/dev/null <<-YAML
		apiVersion: v1
		kind: List
		items:
		- apiVersion: v1
		  kind: Service
		  metadata:
		    name: demo
		    ownerReferences: [{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: demo, uid: $lws, controller: true}]
		  spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {$NAME_LABEL: demo}}
		- apiVersion: apps/v1
		  kind: ControllerRevision
		  metadata:
		    name: demo-upstream-1
		    labels: {$NAME_LABEL: demo, leaderworkerset.sigs.k8s.io/template-revision-hash: upstream}
		    ownerReferences: [{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: demo, uid: $lws, controller: true}]
		  revision: 1
		  data:
		    spec:
		      networkConfig: {subdomainPolicy: Shared, \$patch: replace}
		      leaderWorkerTemplate:
		        \$patch: replace
		        size: 3
		        restartPolicy: RecreateGroupOnPodRestart
		        workerTemplate:
		          spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: "main:1", resources: {}}]}
	YAML
	kc operator patch lws demo -n "$NS" --subresource=status --type=merge --field-manager=lws -p '{"status":{"replicas":1,
		"readyReplicas":1,"updatedReplicas":1,"hpaPodSelector":"upstream","conditions":[{"type":"Available","status":"True",
		"reason":"AllGroupsReady","message":"All replicas are ready","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}' >/dev/null
}

# owner_of POD: the kind of its controller.
owner_of() {
	got pod "$1" '{.metadata.ownerReferences[?(@.controller==true)].kind}'
}

without_the_annotation_it_is_upstreams() {
	set_in_git 1
	commit 'as upstream runs it'
	agent_start
	wait_until 30 exists lws demo
	upstream_runs_it
	upstream_made_more
	wait_until 60 pods_are demo 3
	sleep 1
	assert_eq 0 "$(truce_requests --verb create --resource pods)" 'Pods that truce made'
	assert_eq 'Available ' "$(got lws demo '{range .status.conditions[*]}{.type} {end}')" 'conditions'
}

# The first mistake that people make.
annotated_while_upstream_runs_it_truce_refuses() {
	local before
	before=$(uids demo)
	mark
	set_in_git 1 "$EMBEDDED"
	commit 'annotated'
	wait_until 30 condition_is demo Stalled
	assert_eq ForeignController "$(condition demo Stalled reason)" reason
	case $(condition demo Stalled message) in
	*'StatefulSet demo'*) ;;
	*) fail "the message does not name who runs it: $(condition demo Stalled message)" ;;
	esac
	assert_eq True "$(condition demo Available status)" "upstream's condition"
	assert_eq upstream "$(got lws demo '{.status.hpaPodSelector}')" "upstream's selector"
	kc operator patch lws demo -n "$NS" --subresource=status --type=merge --field-manager=lws \
		-p '{"status":{"readyReplicas":0}}' >/dev/null
	sleep 2
	assert_eq 0 "$(got lws demo '{.status.readyReplicas}')" 'what upstream counts now'
	assert_eq "$before" "$(uids demo)" 'Pods'
	assert_eq 0 "$(truce_requests --verb create --resource pods)" 'Pods that truce made'
	assert_eq 0 "$(truce_requests --verb delete --resource pods)" 'Pods that truce deleted'
}

without_its_stateful_sets_the_set_is_truces() {
	local service before
	service=$(uid_of service demo)
	before=$(uids demo)
	kc person delete statefulset -n "$NS" -l "$NAME_LABEL=demo" --wait=false >/dev/null
	wait_until 60 is_remade demo '' "$before"
	wait_until 60 pods_are demo 3
	wait_until 60 condition_is demo Available
	wait_until 30 condition_is demo Stalled False
	assert_eq LeaderWorkerSet "$(owner_of demo-0-2)" 'who owns the Pods'
	assert_eq "$service" "$(uid_of service demo)" 'the Service stays the same one'
	assert_eq "$NAME_LABEL=demo,leaderworkerset.sigs.k8s.io/worker-index=0" "$(got lws demo '{.status.hpaPodSelector}')" \
		'what an autoscaler counts'
}

# Back: scaled to 0 in Git, then without the annotation, then upstream's controller has it.
scaled_to_zero_nothing_is_left_for_upstream_to_trip_over() {
	set_in_git 0 "$EMBEDDED"
	commit 'to 0'
	wait_until 60 pods_are demo 0
	assert_eq '' "$(kc admin get statefulset -n "$NS" -o name)" StatefulSets
	set_in_git 0
	commit 'not truce any more'
	wait_until 30 not_annotated
}

not_annotated() {
	[ -z "$(got lws demo '{.metadata.annotations.truce\.dev/group-controller}')" ]
}

upstream_has_it_and_truce_does_nothing_to_it() {
	local before
	set_in_git 1
	commit 'up again'
	mark
	upstream_runs_it
	wait_until 60 pods_are demo 3
	before=$(uids demo)
	kc operator patch lws demo -n "$NS" --subresource=status --type=merge --field-manager=lws \
		-p '{"status":{"replicas":1,"readyReplicas":1}}' >/dev/null
	kc person delete pod demo-0-1 -n "$NS" --wait=false >/dev/null
	wait_until 60 is_another demo demo-0-1 "$before"
	wait_until 60 pods_are demo 3
	assert_eq 2 "$(comm -12 <(printf '%s\n' "$before") <(uids demo) | wc -l)" "Pods that stayed: what becomes of a group is upstream's"
	assert_eq StatefulSet "$(owner_of demo-0-1)" 'who owns the Pods'
	assert_eq 0 "$(truce_requests --verb create --resource pods)" 'Pods that truce made'
	assert_eq 0 "$(truce_requests --verb delete --resource pods)" 'Pods that truce deleted'
	assert_eq 0 "$(truce_requests --verb patch --resource leaderworkersets/status)" 'statuses that truce wrote'
	assert_eq 1 "$(got lws demo '{.status.readyReplicas}')" 'what upstream counts'
}

# Who takes the annotation away first has Pods that nobody looks after, but has them.
without_the_annotation_pods_keep_serving() {
	kc person delete statefulset -n "$NS" -l "$NAME_LABEL=demo" --wait=false >/dev/null
	wait_until 60 pods_are demo 0
	set_in_git 1 "$EMBEDDED"
	commit 'truce again'
	wait_until 60 pods_are demo 3
	set_in_git 1
	commit 'and not any more'
	wait_until 30 not_annotated
	mark
	kc person delete pod demo-0-2 -n "$NS" --wait=false >/dev/null
	wait_until 30 pods_are demo 2
	sleep 2
	assert_eq '2 2' "$(count_pods demo)" 'Pods, and those that serve'
	assert_eq 0 "$(truce_requests --verb create --resource pods)" 'Pods that truce made'
	assert_eq 0 "$(truce_requests --verb delete --resource pods)" 'Pods that truce deleted'
}

cluster_begin
cluster_needs own
truce_begin migrate
groups_begin
mark
run_cases without_the_annotation_it_is_upstreams annotated_while_upstream_runs_it_truce_refuses \
	without_its_stateful_sets_the_set_is_truces scaled_to_zero_nothing_is_left_for_upstream_to_trip_over \
	upstream_has_it_and_truce_does_nothing_to_it without_the_annotation_pods_keep_serving

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A new commit does not wait for what the old one waits for: CRDs that never become Established, objects that admission
# refuses, kinds that nobody serves. And what failed for reasons that pass is tried again without a new commit
# (TRUCE_LONG=1 waits for that minute).
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

GROUP=cogs-$$.example.io

maps() {
	local name
	for name in "$@"; do
		put "map-$name.yaml" <<-YAML
			apiVersion: v1
			kind: ConfigMap
			metadata: {name: $name}
		YAML
	done
}

# crd FILE PLURAL KIND
crd() {
	put "$1" <<-YAML
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: $2.$GROUP}
		spec:
		  group: $GROUP
		  names: {kind: $3, listKind: $3List, plural: $2, singular: ${2%s}}
		  scope: Namespaced
		  versions:
		    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
	YAML
}

# Two CRDs of one group want the same kind: the second is never Established.
a_crd_that_never_is_established_holds_nothing_up() {
	local began
	crd first.yaml cogs Cog
	commit 'the first'
	agent_start
	agent_waits 30 'msg="synced"'
	agent_mark
	crd second.yaml wheels Cog
	maps behind
	commit 'the second wants the same kind'
	agent_waits 30 "msg=\"waiting\" for=apiextensions.k8s.io/CustomResourceDefinition//wheels.$GROUP"
	is_gone configmap behind || fail 'it did not wait for the CRD'
	agent_mark
	began=$SECONDS
	rm "$REPO/deploy/second.yaml"
	maps after
	commit 'without the second'
	wait_until 20 exists configmap after
	agent_waits 20 'msg="synced"'
	exists configmap behind || fail 'what waited for the CRD was not applied'
	! kc admin get crd "wheels.$GROUP" >/dev/null 2>&1 || fail 'the CRD that waited was not pruned'
	printf '# the new commit was in the cluster %s s after it was made\n' $((SECONDS - began))
}

a_corrected_crd_is_waited_for_no_longer() {
	crd second.yaml wheels Cog
	maps behind2
	commit 'again'
	agent_mark
	agent_waits 30 "msg=\"waiting\" for=apiextensions.k8s.io/CustomResourceDefinition//wheels.$GROUP"
	crd second.yaml wheels Wheel
	commit 'corrected'
	wait_until 20 exists configmap behind2
	agent_waits 20 'msg="synced"'
}

quota_refuses() {
	{ kc admin create configmap probe -n "$NS" --dry-run=server 2>&1 || true; } | grep 'exceeded quota' >/dev/null
}

its_event_says_why() {
	kc admin get events -n "$NS" --field-selector reason=SyncFailed,involvedObject.name=refused \
		-o jsonpath='{.items[*].message}' | grep -F 'exceeded quota' | grep -F '(Git: deploy/map-refused.yaml:1)'
}

# 403 from admission: the object is tried again later, its neighbours are not concerned, a new commit goes ahead.
an_object_that_is_refused_holds_nothing_up() {
	local used
	used=$(kc admin get configmaps -n "$NS" -o name | wc -l)
	kc admin create quota tight -n "$NS" --hard="count/configmaps=$used" >/dev/null
	wait_until 20 quota_refuses
	agent_mark
	maps refused
	put account.yaml <<-'YAML'
		apiVersion: v1
		kind: ServiceAccount
		metadata: {name: neighbour}
	YAML
	commit 'one too many'
	agent_waits 30 "msg=\"failed\" obj=/ConfigMap/$NS/refused"
	wait_until 10 its_event_says_why
	agent_waits 5 'exceeded quota'
	wait_until 10 exists serviceaccount neighbour
	agent_mark
	sed -i s/neighbour/neighbour2/ "$REPO/deploy/account.yaml"
	commit 'another'
	wait_until 10 exists serviceaccount neighbour2
	wait_until 10 is_gone serviceaccount neighbour
}

# Admission's refusals are tried again after a minute; a new commit tries all that failed at once.
what_was_refused_is_tried_again() {
	kc admin delete quota tight -n "$NS" >/dev/null
	agent_mark
	[ -n "${TRUCE_LONG-}" ] || commit 'try again'
	wait_until 100 exists configmap refused
	agent_waits 20 'msg="synced"'
}

a_kind_that_comes_later_is_noticed() {
	agent_mark
	put tooth.yaml <<-YAML
		apiVersion: $GROUP/v1
		kind: Tooth
		metadata: {name: one}
	YAML
	maps beside
	commit 'a kind that nobody serves'
	wait_until 20 exists configmap beside
	agent_waits 20 'parked=1'
	sed "s/metadata: {name: .*/metadata: {name: teeth.$GROUP}/; s/Cog/Tooth/g; s/plural: cogs, singular: cog/plural: teeth, singular: tooth/" \
		"$REPO/deploy/first.yaml" | kc admin apply -f - >/dev/null
	wait_until 60 exists "teeth.$GROUP" one
	agent_waits 20 'msg="synced"'
	kc admin delete crd "teeth.$GROUP" >/dev/null
}

# A namespace that somebody makes later.
a_missing_namespace_is_waited_for() {
	local ns=$NS-later
	cluster_namespaces+=("$ns")
	rm "$REPO/deploy/tooth.yaml"
	put later.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: later, namespace: $ns}
	YAML
	agent_mark
	commit 'in a namespace to come'
	agent_waits 30 "namespaces \\\"$ns\\\" not found"
	kc admin create namespace "$ns" >/dev/null
	wait_until 60 kc admin get configmap later -n "$ns"
	agent_waits 20 'msg="synced"'
}

all_of_it_goes() {
	rm "$REPO"/deploy/first.yaml "$REPO"/deploy/second.yaml "$REPO"/deploy/later.yaml
	agent_mark
	commit 'no CRDs'
	agent_waits 30 "msg=\"pruned\" obj=apiextensions.k8s.io/CustomResourceDefinition//cogs.$GROUP"
	agent_waits 30 'msg="synced"'
	agent_stop
}

cluster_begin
truce_begin preempt
run_cases a_crd_that_never_is_established_holds_nothing_up a_corrected_crd_is_waited_for_no_longer \
	an_object_that_is_refused_holds_nothing_up what_was_refused_is_tried_again \
	a_kind_that_comes_later_is_noticed a_missing_namespace_is_waited_for all_of_it_goes

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What annotations hold that the configuration masks stands in nothing that truce prints or writes of an object: not when it
# is new, changes, is somebody else's, or goes.
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
MAP=/api/v1/namespaces/shop/configmaps/a
SEEN=$WORK/seen

truce_flags() {
	printf '%s\n' --config "$WORK/etc"
	[ "$VERB" = render ] || printf '%s\n' --kubeconfig "$KUBECONFIG"
	printf '%s\n' --data-dir "$WORK/data"
}

# map VALUE [NAME]: one in Git.
map() {
	put "${2:-a}.yaml" <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: ${2:-a}, annotations: {example.com/token: "$1"}}
		data: {key: "1"}
	YAML
}

begin() {
	sandbox_start
	mkdir -p "$WORK/etc"
	cat >"$WORK/etc/all.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec: {pollInterval: 1s, allowFileRepositories: true}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: argocd-cm}
		data: {resource.sensitive.mask.annotations: "example.com/other, example.com/token"}
		---
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: shop}
		spec:
		  source: {repoURL: "file://$REPO", path: deploy, targetRevision: main}
		  destination: {namespace: shop}
		  syncPolicy: {automated: {prune: true, selfHeal: true}}
	YAML
	api POST /api/v1/namespaces '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}'
}

# look STATUS VERB [FLAG…]: what is printed is kept.
look() {
	local want=$1
	VERB=$2
	shift
	truce "$@"
	assert_eq "$want" "$RC" "exit status of truce $*"
	printf '%s\n' "$OUT" >>"$SEEN"
}

look_at_all() {
	look 1 diff
	look 1 diff -o json
	look 1 diff -o markdown
	look 0 owners configmap/a -n shop --all
	look 0 owners configmap/a -n shop -o json
	look "$1" adopt --all
	look "$1" adopt -o json
}

nothing_is_seen() {
	grep -q 'example.com/token' "$SEEN" || fail 'the annotation is not spoken of'
	! grep -n 'top-secret' "$SEEN" || fail 'a masked value is seen'
	: >"$SEEN"
}

an_object_that_is_new() {
	map top-secret-1
	commit 'a map'
	look 0 render
	look 0 render -o json
	look_at_all 0
	look 0 sync
	nothing_is_seen
}

one_that_changes() {
	map top-secret-2
	commit 'another value'
	look_at_all 0
	look 0 sync
	nothing_is_seen
}

one_whose_value_is_somebody_else_s() {
	api PATCH "$MAP?fieldManager=janitor" '{"metadata":{"annotations":{"example.com/token":"top-secret-3"}}}' \
		application/merge-patch+json
	assert_eq 200 "$CODE" 'the write of another'
	map top-secret-4
	commit 'a third value'
	look 0 diff
	look 0 diff -o json
	look 0 diff -o markdown
	look 0 owners configmap/a -n shop --all
	look 1 adopt --all
	look 1 adopt -o json
	look 0 sync
	nothing_is_seen
}

one_that_goes() {
	map top-secret-5 b
	rm "$REPO/deploy/a.yaml"
	commit 'another map'
	look 1 diff
	look 1 diff -o json
	look 1 diff -o markdown
	look 0 sync
	nothing_is_seen
}

an_agent_that_heals_it() {
	map top-secret-6
	commit 'the map again'
	agent_start
	wait_until 20 is "$MAP" data.key 1
	api PATCH "$MAP?fieldManager=kubectl-edit" '{"metadata":{"annotations":{"example.com/token":"top-secret-7"}}}' \
		application/merge-patch+json
	agent_waits 20 healed
	agent_stop
	cat "$LOG" >>"$SEEN"
	look 0 status
	look 0 status -o json
	for path in /api/v1/namespaces/truce/configmaps /api/v1/events; do
		api GET "$path"
		assert_eq 200 "$CODE" "$path"
		printf '%s\n' "$BODY" >>"$SEEN"
	done
	nothing_is_seen
	sandbox_end
}

begin
run_cases an_object_that_is_new one_that_changes one_whose_value_is_somebody_else_s one_that_goes an_agent_that_heals_it

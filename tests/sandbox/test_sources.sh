#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One application of two sources: what was in force stands in only for the sources that it is of, a repository that cannot be
# asked for --revision is told, and each that falls silent is. And a namespace that is made without the metadata that its
# project denies.
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

truce_flags() {
	printf '%s\n' --kubeconfig "$KUBECONFIG" --config "$WORK/etc" --agent-namespace truce --data-dir "$WORK/data"
}

# application NAME SOURCE…
application() {
	local name=$1
	shift
	cat >"$WORK/etc/$name.yaml" <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: $name}
		spec:
		  sources: [$(printf '{repoURL: "%s", path: %s, targetRevision: "%s"}, ' "$@")]
		  destination: {namespace: $name}
		  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true]}
	YAML
}

# map FOLDER VALUE: a ConfigMap of the folder's name
map() {
	mkdir -p "$REPO/$1"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {from: %s}\n' "$1" "$2" >"$REPO/$1/map.yaml"
}

is() {
	[ "$(got "/api/v1/namespaces/shop/configmaps/$1" data.from)" = "$2" ]
}

two_revisions_of_one_repository_are_joined() {
	mkdir -p "$WORK/etc"
	cat >"$WORK/etc/agent.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec: {pollInterval: 1s, allowFileRepositories: true}
	YAML
	map base old
	map app old
	commit '1.0.0'
	git -C "$REPO" tag v1.0.0
	map base new
	map app new
	commit 'new'
	application shop "file://$REPO" base '1.*' "file://$REPO" app main
	agent_start
	wait_until 20 is base old
	wait_until 20 is app new
	agent_waits 20 'msg="synced'
}

# Commits in another order would be a combination that never was: base as of main, app as of the tag.
sources_in_another_order_are_no_stand_in() {
	printf 'kind: ConfigMap\n' >"$REPO/app/broken.yaml"
	commit 'a document that cannot be read'
	agent_waits 20 'commit not applied'
	agent_mark
	application shop "file://$REPO" app main "file://$REPO" base '1.*'
	agent_waits 20 'msg="another configuration is in force"'
	agent_waits 20 'commit not applied'
	rm "$REPO/app/broken.yaml"
	map more new
	mv "$REPO/more/map.yaml" "$REPO/app/more.yaml"
	commit 'it can be read'
	wait_until 20 is more new
	is base old || fail 'base is not what its tag says'
	is app new || fail 'app is not what main says'
	! log_has 'stands in' || fail 'commits of other sources stand in'
	agent_stop
}

a_repository_that_cannot_be_asked_for_a_revision_is_told() {
	git -C "$REPO" branch feature
	git clone -q "$REPO" "$WORK/infra"
	git clone -q "$REPO" "$WORK/more"
	application infra "file://$WORK/infra" base main "file://$WORK/more" app main
	rm -rf "$WORK/infra" "$WORK/more"
	truce diff --revision feature
	assert_eq 2 "$RC" 'exit status with repositories that are gone'
	[[ $OUT != *'left out'* ]] || fail 'an application whose repositories cannot be asked is left out'
	git clone -q --single-branch --branch main "file://$REPO" "$WORK/infra"
	git clone -q --single-branch --branch main "file://$REPO" "$WORK/more"
	truce diff --revision feature
	says 'infra is left out'
	[ "$RC" != 2 ] || fail "exit status 2: $OUT"
}

# What is logged at most once a minute is so for each of them.
every_source_that_falls_silent_is_logged() {
	rm -rf "$WORK/etc/shop.yaml" "$WORK/infra" "$WORK/more"
	git clone -q "$REPO" "$WORK/infra"
	git clone -q "$REPO" "$WORK/more"
	application infra "file://$WORK/infra" base main "file://$WORK/more" app main
	agent_start
	agent_waits 20 'msg="synced" app=infra'
	mv "$WORK/infra" "$WORK/infra.away"
	agent_waits 20 'err="source infra: '
	mv "$WORK/more" "$WORK/more.away"
	agent_waits 20 'err="source more: '
	agent_stop
}

# The project permits no object of the cluster: CreateNamespace is none.
a_namespace_is_made_where_its_metadata_are_denied() {
	rm "$WORK/etc/infra.yaml"
	cat >"$WORK/etc/tight.yaml" <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: AppProject
		metadata: {name: tight}
		spec: {sourceRepos: ['*'], destinations: [{namespace: '*', server: '*'}]}
		---
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: tight}
		spec:
		  project: tight
		  source: {repoURL: "file://$REPO", path: base, targetRevision: main}
		  destination: {name: in-cluster, namespace: tight}
		  syncPolicy:
		    syncOptions: [CreateNamespace=true]
		    managedNamespaceMetadata: {labels: {team: a}}
	YAML
	truce sync
	says 'Namespace tight: the project does not permit the cluster-scoped kind Namespace'
	assert_eq new "$(got /api/v1/namespaces/tight/configmaps/base data.from)" 'what is in the namespace'
	assert_eq '' "$(got /api/v1/namespaces/tight metadata.labels.team)" 'a label of the namespace'
}

sandbox_start
run_cases two_revisions_of_one_repository_are_joined sources_in_another_order_are_no_stand_in \
	a_repository_that_cannot_be_asked_for_a_revision_is_told every_source_that_falls_silent_is_logged \
	a_namespace_is_made_where_its_metadata_are_denied
sandbox_end

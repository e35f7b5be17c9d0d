#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One application of two repositories: what they share, what the later one wins, a tag that moves on, a server that falls
# silent, and the namespace that goes with it.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

truce_flags() {
	printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --config "$WORK/etc" --data-dir "$WORK/data"
}

# app METADATA: the application; its namespace is not there yet.
app() {
	mkdir -p "$WORK/etc"
	cat >"$WORK/etc/all.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec: {namespace: $NS-truce, pollInterval: 1s, gitTimeout: 5s}
		---
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: shop}
		spec:
		  sources:
		  - {repoURL: "$INFRA_URL", name: infra, path: base, targetRevision: "1.*"}
		  - {repoURL: "$SHOP_URL", name: shop, path: app, targetRevision: main}
		  destination: {server: "https://kubernetes.default.svc", namespace: $SHOP}
		  syncPolicy:
		    automated: {prune: true, selfHeal: true}
		    syncOptions: [CreateNamespace=true]
		    $1
	YAML
}

# map REPOSITORY PATH NAME VALUE
map() {
	mkdir -p "$WORK/$1/$2"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {from: %s}\n' "$3" "$4" >"$WORK/$1/$2/$3.yaml"
}

commit_in() {
	git -C "$WORK/$1" add -A
	git -C "$WORK/$1" commit -q --allow-empty -m "$2"
}

value() {
	kc admin get configmap "$1" -n "$SHOP" -o 'jsonpath={.data.from}'
}

value_is() {
	[ "$(value "$1")" = "$2" ]
}

gone() {
	! kc admin get configmap "$1" -n "$SHOP" >/dev/null 2>&1
}

label() {
	kc admin get namespace "$SHOP" -o "jsonpath={.metadata.labels.$1}"
}

label_is() {
	[ "$(label "$1")" = "$2" ]
}

status_is() {
	"$TRUCE" status --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --config "$WORK/etc" -o json >"$WORK/status.json"
	python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))[0]["sync"] != sys.argv[2])' "$WORK/status.json" "$1"
}

short() {
	git -C "$WORK/$1" rev-parse --short=7 "$2^{commit}"
}

two_repositories_make_one_application() {
	map infra base common v1.0.0
	map infra base both infra
	commit_in infra 'base 1.0.0'
	git -C "$WORK/infra" tag -a -m 1.0.0 v1.0.0
	map infra base common v2.0.0
	commit_in infra 'base 2.0.0'
	git -C "$WORK/infra" tag v2.0.0
	map repo app web one
	map repo app both shop
	map repo app old one
	commit_in repo 'the shop'
	agent_start
	wait_until 30 status_is Synced
	assert_eq v1.0.0 "$(value common)" 'the highest version in 1.*'
	assert_eq one "$(value web)"
}

the_later_source_wins() {
	assert_eq shop "$(value both)"
	log_has 'shop:app/both.yaml:1: ConfigMap both: an earlier source has it, too, at infra:base/both.yaml:1'
}

# Nothing of truce's is on it: it never goes with the application.
the_namespace_has_its_metadata() {
	assert_eq shop "$(label team)"
	assert_eq '' "$(label 'truce\.dev/installation')" 'our mark on the namespace'
	kc person label namespace "$SHOP" added=by-hand team=nobody --overwrite >/dev/null
	wait_until 20 label_is team shop
	assert_eq by-hand "$(label added)"
}

the_status_names_every_commit() {
	truce_ok status
	says "$(short infra v1.0.0)+$(short repo main)"
	python3 - "$WORK/status.json" <<-'PY'
		import json, sys
		row = json.load(open(sys.argv[1]))[0]
		assert [r["source"] for r in row["revisions"]] == ["infra", "shop"], row
		assert [r["ref"] for r in row["revisions"]] == ["refs/tags/v1.0.0", "refs/heads/main"], row
		assert row["commit"] == "+".join(r["commit"] for r in row["revisions"]), row
	PY
}

a_tag_moves_on() {
	git -C "$WORK/infra" checkout -q v1.0.0
	map infra base common v1.1.0
	commit_in infra 'base 1.1.0'
	git -C "$WORK/infra" tag v1.1.0
	git -C "$WORK/infra" checkout -q main
	wait_until 20 value_is common v1.1.0
	log_has 'ref="refs/tags/v1.1.0 + refs/heads/main"'
}

# What is pushed to the other one waits; nothing goes; drift is healed. All of it also for an agent that has just begun.
a_silent_server_prunes_nothing() {
	kill -STOP "$INFRA_PID"
	agent_mark
	agent_waits 20 'source infra: '
	rm "$WORK/repo/app/old.yaml"
	map repo app web two
	commit_in repo 'old goes'
	wait_until 20 status_is Unknown
	kc person patch configmap web -n "$SHOP" -p '{"data":{"from":"drift"}}' >/dev/null
	wait_until 20 value_is web one
	assert_eq one "$(value old)" 'what left one source while the other is silent'
	agent_stop
	agent_start
	agent_waits 30 'the commit that was applied last stands in'
	kc person patch configmap common -n "$SHOP" -p '{"data":{"from":"drift"}}' >/dev/null
	wait_until 20 value_is common v1.1.0
	assert_eq one "$(value old)" 'what left one source while the other is silent'
	assert_eq one "$(value web)"
	truce diff
	assert_eq 2 "$RC" 'exit status of a diff with a silent source'
	says 'source infra: '
	kill -CONT "$INFRA_PID"
	wait_until 60 gone old
	wait_until 20 value_is web two
	wait_until 20 status_is Synced
}

one_shots_take_all_sources() {
	truce_ok diff
	truce_ok render
	says '# infra:base/common.yaml:1'
	says '# shop:app/both.yaml:1'
	git -C "$WORK/repo" checkout -q -b proposal
	map repo app web proposed
	commit_in repo 'a proposal'
	git -C "$WORK/repo" checkout -q main
	truce diff --revision proposal
	assert_eq 1 "$RC" 'exit status of a diff of a branch of one source'
	says 'infra v1.1.0 @ '
	says 'shop proposal @ '
	says proposed
	truce diff --revision nowhere
	assert_eq 2 "$RC" 'exit status of a diff of a branch that no source has'
	says 'no repository has it'
}

# As in Argo CD: what was set stays, it is only no longer looked at.
metadata_that_are_no_longer_said_stay() {
	agent_mark
	app ''
	agent_waits 20 'msg="another configuration is in force"'
	map repo app web three
	commit_in repo 'three'
	wait_until 30 value_is web three
	wait_until 20 status_is Synced
	assert_eq shop "$(label team)"
	kc person label namespace "$SHOP" team- >/dev/null
	map repo app web four
	commit_in repo 'four'
	wait_until 30 value_is web four
	assert_eq '' "$(label team)" 'a label that is not said any more'
	agent_stop
	truce_ok sync
	kc admin get namespace "$SHOP" >/dev/null
}

cluster_begin
cluster_needs own
truce_begin sources
SHOP=$NS-shop
cluster_namespaces+=("$SHOP")
git init -q -b main "$WORK/infra"
git -C "$WORK/infra" config user.name test
git -C "$WORK/infra" config user.email test@example.invalid
commit 'nothing yet'
serve_repo
SHOP_URL=$URL
serve_repo
INFRA_PID=$!
INFRA_URL=${URL/\/repo\//\/infra\/}
app 'managedNamespaceMetadata: {labels: {team: shop}, annotations: {example.com/contact: ann}}'
run_cases two_repositories_make_one_application the_later_source_wins the_namespace_has_its_metadata \
	the_status_names_every_commit a_tag_moves_on a_silent_server_prunes_nothing one_shots_take_all_sources \
	metadata_that_are_no_longer_said_stay

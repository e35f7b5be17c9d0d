#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `truce diff --revision`: what a branch, a tag or a commit would do, before it is merged: for one application from flags, and
# for those of documents whose repository has it. tests/cluster/test_adopt.sh has the same on a real API server.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"

# Every write moves the resourceVersion that a LIST shows.
moment() {
	api GET /api/v1/namespaces
	field metadata.resourceVersion
}

map() {
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: "%s"}\n' "$1" "$2" | put "$1.yaml"
}

# A pull request: one file changed, one new, one gone.
a_branch_differs_from_what_is_synced() {
	map flags 1
	map old 1
	commit first
	git -C "$REPO" tag v1
	truce_ok sync --create-namespace
	git -C "$REPO" checkout -q -b feature/flags
	map flags 2
	map new 1
	git -C "$REPO" rm -q deploy/old.yaml
	commit 'other flags'
	FEATURE=$(git -C "$REPO" rev-parse HEAD)
	git -C "$REPO" checkout -q main
}

# plan REV: the three lines of it, and nothing was written.
plan() {
	local before
	before=$(moment)
	truce diff --revision "$1"
	assert_eq 1 "$RC" "exit status of the plan of $1"
	says '"other flags"'
	says '+ "2"'
	says 'configmap/new'
	says 'left Git; it would be pruned'
	says '1 object differs · 1 to create · 1 to prune'
	assert_eq "$before" "$(moment)" 'the moment of the cluster'
}

branch_tag_and_commit_are_planned() {
	plan feature/flags
	plan "refs/heads/feature/flags"
	plan "$FEATURE"
	plan "${FEATURE:0:9}"
	truce diff --revision v1
	assert_eq 0 "$RC" 'exit status of the plan of what is in force'
	truce diff
	assert_eq 0 "$RC" 'exit status without --revision'
}

the_plan_fits_a_pull_request() {
	truce diff --revision feature/flags -o markdown
	assert_eq 1 "$RC"
	says '## `shop` at `feature/flags`'
	says '### `configmap/flags` in `shop`'
	says '### `configmap/old` in `shop`'
	says '**extra**: left Git; it would be pruned · `deploy/old.yaml`'
	says '**will be created**'
	truce diff --revision feature/flags -o json
	assert_eq 1 "$RC"
	printf '%s' "$OUT" | python3 -c '
import json, sys
kinds = {(e["object"]["name"], e["kind"]) for e in json.load(sys.stdin)}
assert kinds == {("flags", "changed"), ("new", "added"), ("old", "extra")}, kinds'
}

what_keeps_it_from_being_applied_stands_in_the_plan() {
	git -C "$REPO" checkout -q -b broken
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: {a: 1}\n' | put bad.yaml
	commit 'a number'
	git -C "$REPO" checkout -q main
	truce diff --revision broken -o markdown
	assert_eq 2 "$RC" 'exit status of a plan that the server refuses'
	says '### Not as it stands'
	says 'not applied: configmap/bad: '
}

an_unknown_revision_is_told() {
	truce diff --revision feature/flag
	assert_eq 2 "$RC" 'exit status for an unknown branch'
	says 'revision "feature/flag" not found among'
	says 'near it: "feature/flags"'
	truce diff --revision 0123456789012345678901234567890123456789
	assert_eq 2 "$RC" 'exit status for an unknown commit'
	truce diff --revision --all
	assert_eq 2 "$RC" 'exit status for an option'
}

app() {
	cat <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: $1, namespace: argocd}
		spec:
		  project: default
		  source: {repoURL: "file://$2", path: deploy, targetRevision: $3}
		  destination: {name: in-cluster, namespace: $4}
		  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true]}
	YAML
}

documents() {
	RC=0
	OUT=$("$TRUCE" "$1" --kubeconfig "$KUBECONFIG" --config "$WORK/apps" --agent-namespace truce --allow-file-repositories \
		--data-dir "$WORK/data" "${@:2}" 2>&1) || RC=$?
}

# Of two repositories one has the branch.
documents_give_way_where_their_repository_has_it() {
	mkdir -p "$WORK/apps"
	git clone -q --branch v1 --single-branch "$REPO" "$WORK/infra" 2>/dev/null
	git -C "$WORK/infra" checkout -q -B main
	app shop "$REPO" v1 "$NS" >"$WORK/apps/shop.yaml"
	app infra "$WORK/infra" main infra >"$WORK/apps/infra.yaml"
	documents diff --revision feature/flags
	assert_eq 1 "$RC" 'exit status of the plan with documents'
	says 'shop  feature/flags @ '
	says 'infra is left out: '
	says '1 object differs · 1 to create · 1 to prune'
	documents diff --revision nowhere
	assert_eq 2 "$RC" 'exit status when no repository has it'
	says '--revision nowhere: '
	documents sync --revision feature/flags
	assert_eq 2 "$RC" 'exit status of a sync of another revision'
	says '--revision is for an application that --repo makes'
}

a_repository_that_cannot_be_read_is_not_left_out() {
	rm -rf "$WORK/infra"
	documents diff --revision feature/flags
	assert_eq 2 "$RC" 'exit status with a repository that is gone'
	[[ $OUT != *'left out'* ]] || fail 'a repository that is gone is left out'
}

sandbox_start
run_cases a_branch_differs_from_what_is_synced branch_tag_and_commit_are_planned the_plan_fits_a_pull_request \
	what_keeps_it_from_being_applied_stands_in_the_plan an_unknown_revision_is_told \
	documents_give_way_where_their_repository_has_it a_repository_that_cannot_be_read_is_not_left_out
sandbox_end

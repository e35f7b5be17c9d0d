#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What happens to who uses truce for the first time and does not get everything right at once.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"
web=/apis/apps/v1/namespaces/$NS/deployments/web

# No name and no data folder, as on a first day.
truce_flags() {
	printf '%s\n' --kubeconfig "$KUBECONFIG" --repo "$REPO" --namespace "$NS"
}

put_config() {
	put "$1/config.yaml" <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: $1}
		data: {color: blue}
	YAML
}

put_web() {
	put web/web.yaml <<-YAML
		apiVersion: apps/v1
		kind: $1
		metadata: {name: web}
		spec:
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec: {containers: [{name: web, $2: "registry.example/web:1"}]}
	YAML
}

is_there() {
	api GET "$1"
	[ "$CODE" = 200 ]
}

a_missing_namespace_is_told_with_its_cure() {
	put_config one
	commit one
	truce diff --path deploy/one
	assert_eq 1 "$RC"
	says "namespace $NS does not exist, and nothing can be created in it: --create-namespace"
	truce diff --path deploy/one --create-namespace
	[[ $OUT != *'does not exist'* ]] || fail 'it will be made'
	truce sync --path deploy/one
	assert_eq 1 "$RC"
	says "namespace $NS does not exist: --create-namespace"
	[[ $OUT != *'tried again'* ]] || fail 'who does not wait is told of attempts that will not be'
	truce_ok status
	says 'not applied: 1 of 1'
}

what_is_waited_for_is_told_and_seen_when_it_comes() {
	mapfile -t flags < <(truce_flags)
	"$TRUCE" sync "${flags[@]}" --path deploy/one --wait --timeout 60s >"$WORK/wait.log" 2>&1 &
	wait_until 30 grep -F 'deploy/one/config.yaml:1 · tried again' "$WORK/wait.log"
	api POST /api/v1/namespaces '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"'"$NS"'"}}'
	RC=0
	wait $! || RC=$?
	OUT=$(<"$WORK/wait.log")
	assert_eq 0 "$RC" 'exit status of a sync that was done after a retry'
	says 'created     configmap/one'
}

a_repository_here_is_named_by_its_folder() {
	OUT=$(cd "$REPO" && "$TRUCE" status --kubeconfig "$KUBECONFIG")
	says 'repo  '
	RC=0
	cd "$REPO/deploy"
	OUT=$("$TRUCE" sync --kubeconfig "$KUBECONFIG" --repo .. --namespace "$NS" --path deploy/one 2>&1) || RC=$?
	cd "$WORK"
	assert_eq 0 "$RC" 'exit status of the same sync by another path'
	says 'repo  main @'
}

another_folder_is_not_taken_for_the_same_application() {
	put_config two
	commit two
	truce sync --path deploy/two
	assert_eq 2 "$RC"
	says 'give it a --name of its own'
	is_there "/api/v1/namespaces/$NS/configmaps/one" || fail 'the other folder was pruned'
	truce diff --path deploy/two
	assert_eq 2 "$RC"
	truce_ok sync --path deploy/two --name two
	is_there "/api/v1/namespaces/$NS/configmaps/one" || fail 'the other application was pruned'
	truce_ok sync --path deploy --recurse --name repo --exclude 'two/*'
	truce_ok sync --path deploy --recurse --exclude 'two/*'
}

a_mistyped_kind_deletes_nothing() {
	put_web Deployment image
	commit web
	truce_ok sync --path deploy/web --name web
	put_web Deploymnet image
	commit 'a typing error'
	truce sync --path deploy/web --name web
	assert_eq 1 "$RC"
	says 'kept        deploy/web'
	says 'the cluster does not serve its kind yet; did you mean Deployment?'
	is_there "$web" || fail 'it was pruned'
	truce diff --path deploy/web --name web
	says '1 parked'
	sed -i 's,kind: Deploymnet,kind: Deployment,; s,apps/v1,extensions/v1beta1,' "$REPO/deploy/web/web.yaml"
	commit 'an apiVersion of long ago'
	truce diff --path deploy/web --name web
	says 'the cluster does not serve its kind yet; Deployment is served as apps/v1'
	put_web Deployment image
	commit 'mended'
	truce_ok sync --path deploy/web --name web
}

what_no_retry_mends_is_not_waited_for() {
	put_web Deployment imagee
	commit 'a field that is none'
	truce sync --path deploy/web --name web --wait --timeout 10m
	assert_eq 1 "$RC" 'exit status of a sync that cannot be done'
	says 'imagee'
}

a_document_prunes_only_when_it_says_so() {
	local config=$WORK/app.yaml
	cat >"$config" <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: by-document}
		spec:
		  source: {repoURL: "$REPO", path: deploy/three}
		  destination: {namespace: $NS}
	YAML
	truce_flags() {
		printf '%s\n' --kubeconfig "$KUBECONFIG" --config "$WORK/app.yaml" --allow-file-repositories
	}
	put_config three
	put three/four.yaml <<<'{apiVersion: v1, kind: ConfigMap, metadata: {name: four}}'
	commit three
	truce_ok sync
	rm "$REPO/deploy/three/four.yaml"
	commit 'four left'
	truce sync
	assert_eq 1 "$RC"
	says 'left Git; it would be pruned if prune were on'
	truce_ok sync --prune
	says 'pruned      configmap/four'
}

a_folder_without_manifests_is_told() {
	put_config one
	commit 'nothing at the top'
	for verb in render diff sync; do
		truce "$verb" --path . --name nothing
		assert_eq 0 "$RC" "exit status of $verb"
		says 'nothing: there is no manifest in the folder "."; the folders below it are not read (--recurse'
	done
	truce render --path . --recurse --exclude '*'
	says 'there is no manifest in the folder "." that the globs let through'
	truce render --path deploy/one
	[[ $OUT != *'there is no manifest'* ]] || fail 'there is one'
}

output_that_is_cut_short_is_no_success() {
	mapfile -t flags < <(truce_flags)
	flags+=(--path deploy/two --name two)
	for verb in render diff status; do
		RC=0
		OUT=$("$TRUCE" "$verb" "${flags[@]}" 2>&1 >/dev/full) || RC=$?
		assert_eq 2 "$RC" "exit status of $verb on a full disk"
		says 'not all of the output could be written'
	done
	exec 5> >(true)
	wait $!
	OUT=$("$TRUCE" diff "${flags[@]}" 2>&1 >&5) || fail 'a reader that has seen enough made it fail'
	exec 5>&-
	assert_eq '' "$OUT" 'what is said when the reader has left'
}

colour_is_for_terminals_that_know_it() {
	local escape=$'\033'
	on_terminal() {
		OUT=$(TERM=$1 NO_COLOR=$2 python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$TRUCE" diff "${flags[@]}" \
			--path deploy/two --name new --namespace new </dev/null)
	}
	mapfile -t flags < <(truce_flags)
	on_terminal xterm ''
	says "$escape"
	on_terminal dumb ''
	[[ $OUT != *"$escape"* ]] || fail 'escapes for TERM=dumb'
	on_terminal xterm 1
	[[ $OUT != *"$escape"* ]] || fail 'escapes with NO_COLOR'
}

flags_that_would_do_nothing_are_refused() {
	truce sync --path elsewhere
	assert_eq 2 "$RC"
	says '--path is for an application that --repo makes'
}

copies_are_kept_in_the_cache_of_the_user() {
	RC=0
	OUT=$(env -u XDG_CACHE_HOME HOME="$WORK/home" "$TRUCE" render --repo http://127.0.0.1:1/x.git 2>&1) || RC=$?
	assert_eq 2 "$RC"
	says 'no connection'
	[ -d "$WORK/home/.cache/truce/git" ] || fail 'they are elsewhere'
}

every_verb_says_what_it_is_for() {
	for verb in run sync diff status render; do
		OUT=$("$TRUCE" help "$verb")
		says "$verb: "
		says '[default true; --no-prune]'
	done
}

sandbox_start
run_cases a_missing_namespace_is_told_with_its_cure what_is_waited_for_is_told_and_seen_when_it_comes \
	a_repository_here_is_named_by_its_folder another_folder_is_not_taken_for_the_same_application \
	a_mistyped_kind_deletes_nothing what_no_retry_mends_is_not_waited_for \
	a_folder_without_manifests_is_told output_that_is_cut_short_is_no_success colour_is_for_terminals_that_know_it \
	a_document_prunes_only_when_it_says_so \
	flags_that_would_do_nothing_are_refused copies_are_kept_in_the_cache_of_the_user every_verb_says_what_it_is_for
sandbox_end

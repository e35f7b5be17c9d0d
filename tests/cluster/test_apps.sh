#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several applications in one agent, and two agents in one cluster: what they share, and that no object has two masters.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

# app NAME PATH [REVISION]
app() {
	cat <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: $1}
		spec:
		  source: {repoURL: "$URL", path: $2, targetRevision: ${3:-main}}
		  destination: {server: "https://kubernetes.default.svc", namespace: $NS}
		  syncPolicy: {automated: {prune: true, selfHeal: true}}
	YAML
}

configure() {
	mkdir -p "$WORK/etc"
	cat >"$WORK/etc/agent.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec: {namespace: $NS-truce, pollInterval: 1s}
	YAML
}

truce_flags() {
	printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --config "$WORK/etc" --data-dir "$WORK/data"
}

# map PATH NAME VALUE
map() {
	mkdir -p "$REPO/$1"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {from: %s}\n' "$2" "$3" >"$REPO/$1/$2.yaml"
}

from_is() {
	[ "$(got configmap "$1" '{.data.from}')" = "$2" ]
}

metric() {
	curl -fs "http://127.0.0.1:$PORT/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

all_are_synced() {
	[ "$(curl -fs "http://127.0.0.1:$PORT/metrics" | grep -c '^truce_app_sync_status{.*status="Synced"} 1$')" = "$1" ]
}

applications_share_what_they_can() {
	local name before looks
	for name in one two three; do
		map "$name" "$name" "$name"
		app "$name" "$name" >"$WORK/etc/$name.yaml"
	done
	commit 'three folders'
	mark
	agent_start --listen "127.0.0.1:$PORT"
	wait_until 30 all_are_synced 3
	for name in one two three; do
		assert_eq "$name" "$(got configmap "$name" '{.data.from}')"
		assert_eq "$name:/ConfigMap:$NS/$name" "$(got configmap "$name" '{.metadata.annotations.argocd\.argoproj\.io/tracking-id}')"
	done
	assert_eq 1 "$(find "$WORK/data" -name HEAD | wc -l)" 'object stores of one remote'
	before=$(metric truce_git_polls_total)
	sleep 4
	looks=$(($(metric truce_git_polls_total) - before))
	[ "$looks" -le 6 ] || fail "$looks looks at one remote in 4 s, one a second was asked for"
	# ConfigMaps, and the inventory of each application by its label.
	assert_eq 1 "$(audit_count --user truce --since "$MARK" --verb list --resource horizontalpodautoscalers)" 'lists of HPAs'
	assert_eq 4 "$(audit_count --user truce --since "$MARK" --verb list --resource configmaps)" 'lists of ConfigMaps'
	assert_eq 1 "$(metric truce_git_fetches_total)" 'fetches of one remote'
}

# Only the application it concerns applies anything; the others look at nothing.
a_commit_concerns_whom_it_concerns() {
	mark
	map two two changed
	commit 'two changes'
	wait_until 20 from_is two changed
	wait_until 20 all_are_synced 3
	# The apply, and the inventories that now name the new commit.
	assert_eq 1 "$(audit_count --user truce --since "$MARK" --verb patch --namespace "$NS")" 'writes to objects'
}

an_application_that_fails_holds_up_no_other() {
	mkdir -p "$REPO/two"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: broken\n' >"$REPO/two/broken.yaml"
	map one one again
	commit 'two is broken'
	wait_until 20 from_is one again
	agent_waits 10 'two/broken.yaml:'
	rm "$REPO/two/broken.yaml"
	commit 'two is whole'
	wait_until 20 all_are_synced 3
}

writes_to() {
	audit_count --user truce --since "$MARK" --verb patch --namespace "$NS" --name "$1" --code "${2:-200,201}"
}

# Wanted by two from the first moment on: one has it, whichever was quicker, and the other says so.
an_object_wanted_twice_has_one_master() {
	local winner
	mark
	agent_mark
	map one race one
	map two race two
	commit 'a race'
	agent_waits 20 '/race app='
	wait_until 20 exists configmap race
	winner=$(got configmap race '{.data.from}')
	agent_waits 20 "it belongs to application \\\"$winner\\\""
	sleep 2
	assert_eq 1 "$(writes_to race)" 'writes to an object that two want'
	assert_eq "$winner:/ConfigMap:$NS/race" "$(got configmap race '{.metadata.annotations.argocd\.argoproj\.io/tracking-id}')"
	git -C "$REPO" rm -q one/race.yaml two/race.yaml
	commit 'no race'
	wait_until 20 is_gone configmap race
}

two_applications_never_share_an_object() {
	map one shared one
	commit 'one has it'
	wait_until 20 from_is shared one
	mark
	agent_mark
	map two shared two
	commit 'two wants what one has'
	agent_waits 20 'application \"one\"'
	sleep 2
	assert_eq 0 "$(writes_to shared)" 'writes to an object that two want'
	assert_eq one "$(got configmap shared '{.data.from}')"
	# One that is there already stays where it is, though the other comes first in the configuration.
	agent_mark
	map one two one
	commit 'one wants what two has'
	agent_waits 20 'application \"two\"'
	assert_eq changed "$(got configmap two '{.data.from}')"
	# Drift does not change hands either.
	mark
	kc person patch configmap shared -n "$NS" -p '{"data":{"from":"drift"}}' >/dev/null
	wait_until 10 from_is shared one
	sleep 1
	assert_eq 1 "$(writes_to shared)" 'writes that heal'
}

# Over a restart too.
a_restart_leaves_it_so() {
	agent_stop
	mark
	agent_start --listen "127.0.0.1:$PORT"
	agent_waits 30 'application \"one\"'
	agent_waits 30 'application \"two\"'
	sleep 2
	assert_eq 0 "$(audit_count --user truce --since "$MARK" --verb patch,create --namespace "$NS")" 'writes of a restart'
}

# The one that has it lets it go; then it is the other's, and the same object.
an_object_may_move() {
	local uid
	uid=$(got configmap shared '{.metadata.uid}')
	git -C "$REPO" rm -q one/shared.yaml one/two.yaml
	agent_mark
	commit 'one wants nothing of it'
	wait_until 30 from_is shared two
	assert_eq "two:/ConfigMap:$NS/shared" "$(got configmap shared '{.metadata.annotations.argocd\.argoproj\.io/tracking-id}')"
	assert_eq "$uid" "$(got configmap shared '{.metadata.uid}')" 'uid of what moved'
	wait_until 30 all_are_synced 3
	! log_has "msg=\"kept\" obj=/ConfigMap/$NS/two" || fail 'what one application never had it says to keep'
}

two_installations_never_share_an_object() {
	mkdir "$WORK/other"
	kc admin create namespace "$NS-other" >/dev/null
	cluster_namespaces+=("$NS-other")
	sed "s/$NS-truce/$NS-other/" "$WORK/etc/agent.yaml" >"$WORK/other/agent.yaml"
	map two fresh two
	map other shared other
	map other own other
	commit 'another installation'
	wait_until 20 from_is fresh two
	app three other >"$WORK/other/three.yaml"
	mark
	RC=0
	OUT=$("$TRUCE" sync --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --config "$WORK/other" --data-dir "$WORK/other-data" 2>&1) || RC=$?
	assert_eq 1 "$RC" 'exit status of a sync of what belongs to another installation'
	says "application \"two\" of truce installation \"$NS-truce\""
	assert_eq two "$(got configmap shared '{.data.from}')"
	assert_eq other "$(got configmap own '{.data.from}')"
	# Nor does it prune what is not its own: the other's application has the same name.
	exists configmap three
	exists configmap fresh
	agent_stop
}

cluster_begin
cluster_needs own
truce_begin apps
PORT=$(free_port)
serve_repo
configure
run_cases applications_share_what_they_can a_commit_concerns_whom_it_concerns an_application_that_fails_holds_up_no_other \
	an_object_wanted_twice_has_one_master two_applications_never_share_an_object a_restart_leaves_it_so an_object_may_move two_installations_never_share_an_object

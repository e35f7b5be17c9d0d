#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A changed configuration comes into force without a restart; one that cannot be used does not, and is told in log, status
# and metric.
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

truce_flags() {
	printf '%s\n' --kubeconfig "$KUBECONFIG" --config "$WORK/etc" --data-dir "$WORK/data"
}

# application NAME [RULES]
application() {
	cat <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: $1}
		spec:
		  source: {repoURL: "file://$REPO", path: $1, targetRevision: main}
		  destination: {namespace: shop}
		  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [RespectIgnoreDifferences=true]}
		  ignoreDifferences: ${2-[]}
	YAML
}

map() {
	mkdir -p "$REPO/$1"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {key: git, tuned: git}\n' "$1" >"$REPO/$1/map.yaml"
}

path_of() {
	printf '/api/v1/namespaces/shop/configmaps/%s' "$1"
}

is() {
	[ "$(got "$(path_of "$1")" "data.$2")" = "$3" ]
}

edit() {
	api PATCH "$(path_of "$1")?fieldManager=kubectl-edit" "{\"data\":{\"$2\":\"$3\"}}" application/merge-patch+json
	assert_eq 200 "$CODE" 'the edit'
}

metric() {
	curl -fs "http://127.0.0.1:$PORT/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

metric_is() {
	[ "$(metric "$1")" = "$2" ]
}

it_begins_with_one_application() {
	sandbox_start
	mkdir -p "$WORK/etc"
	cat >"$WORK/etc/agent.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec: {pollInterval: 1s, allowFileRepositories: true}
	YAML
	application one >"$WORK/etc/one.yaml"
	map one
	map two
	commit 'two maps'
	api POST /api/v1/namespaces '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}'
	PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	agent_start --listen "127.0.0.1:$PORT"
	wait_until 20 is one key git
	wait_until 10 metric_is truce_config_stale 0
}

a_new_application_is_run() {
	application two >"$WORK/etc/two.yaml"
	agent_waits 20 'msg="another configuration is in force"'
	wait_until 20 is two key git
}

a_new_rule_counts() {
	agent_mark
	application one '[{kind: ConfigMap, jsonPointers: [/data/tuned]}]' >"$WORK/etc/one.yaml"
	agent_waits 20 'msg="another configuration is in force"'
	wait_until 20 log_has 'app=one'
	edit one tuned hers
	edit one key hers
	wait_until 20 is one key git
	is one tuned hers || fail 'what is ignored was written over'
}

a_bad_one_is_not_taken_and_told() {
	agent_mark
	application one '[{kind: ConfigMap, jsonPointer: [/data/key]}]' >"$WORK/etc/one.yaml"
	agent_waits 20 'did you mean jsonPointers?'
	agent_waits 20 'msg="the configuration before stays in force"'
	wait_until 10 metric_is truce_config_stale 1
	wait_until 20 status_is_told
	edit one tuned again
	edit one key again
	wait_until 20 is one key git
	is one tuned again || fail 'the rule before is not in force'
}

status_is_told() {
	OUT=$("$TRUCE" status --kubeconfig "$KUBECONFIG" 2>&1)
	[[ $OUT == *'configuration: the one before is in force'*'one.yaml:'*'did you mean jsonPointers?'* ]]
}

a_good_one_after_it_is_taken() {
	agent_mark
	application one >"$WORK/etc/one.yaml"
	agent_waits 20 'msg="another configuration is in force"'
	wait_until 10 metric_is truce_config_stale 0
	wait_until 20 status_is_silent
}

status_is_silent() {
	OUT=$("$TRUCE" status --kubeconfig "$KUBECONFIG" 2>&1)
	[[ $OUT != *'configuration:'* ]]
}

what_needs_a_restart_is_told() {
	agent_mark
	sed -i 's/pollInterval: 1s/pollInterval: 1s, workers: 3/' "$WORK/etc/agent.yaml"
	agent_waits 20 'workers cannot change while truce runs: restart it'
	wait_until 10 metric_is truce_config_stale 1
	sed -i 's/, workers: 3//' "$WORK/etc/agent.yaml"
	wait_until 20 metric_is truce_config_stale 0
}

an_application_that_goes_leaves_its_objects() {
	agent_mark
	rm "$WORK/etc/two.yaml"
	agent_waits 20 'msg="another configuration is in force"'
	sleep 2
	is two key git || fail 'the objects of an application that left the configuration have gone'
	agent_stop
}

# At a commit that was applied already. Deleting what the old folder had, and no more, would be half of it.
another_folder_is_applied_without_self_heal() {
	map three
	map four
	sed 's/name: three/name: both/' "$REPO/three/map.yaml" >"$REPO/three/both.yaml"
	sed 's/name: three/name: both/; s/key: git/key: four/' "$REPO/three/map.yaml" >"$REPO/four/both.yaml"
	commit 'two folders more'
	application three | sed 's/, selfHeal: true//' >"$WORK/etc/three.yaml"
	agent_start
	wait_until 20 is three key git
	agent_waits 20 'msg="synced" app=three'
	agent_mark
	sed -i 's/path: three/path: four/' "$WORK/etc/three.yaml"
	agent_waits 20 'msg="another configuration is in force"'
	wait_until 20 is_gone "$(path_of three)"
	wait_until 20 is four key git
	wait_until 20 is both key four
	edit four key hers
	agent_waits 20 'msg="out of sync" app=three'
	agent_mark
	sed -i 's/prune: true/prune: false/' "$WORK/etc/three.yaml"
	agent_waits 20 'msg="out of sync" app=three'
	is four key hers || fail 'an edit was undone without self-heal'
	rm "$WORK/etc/three.yaml"
	agent_stop
}

# Also by commands that look once.
a_rule_that_does_nothing_is_told() {
	application one '[{kind: Secret, jsonPointers: [/data]}]' >"$WORK/etc/one.yaml"
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
	says 'one.yaml:8: this ignore rule has no effect: the application has no object that it speaks of'
	truce sync
	assert_eq 0 "$RC" 'exit status of sync'
	says 'one.yaml:8: this ignore rule has no effect'
	application one '[{kind: ConfigMap, jsonPointers: [/data/tuned]}, {kind: ConfigMap, jsonPointers: [/data/none]}]' >"$WORK/etc/one.yaml"
	truce diff
	says 'this ignore rule has no effect so far: no object that it speaks of has such a path'
	assert_eq 1 "$(grep -c 'has no effect' <<<"$OUT")" 'rules that do nothing'
}

# Its kind may come yet.
a_rule_of_an_object_that_waits_is_not_judged() {
	printf 'apiVersion: example.io/v1\nkind: Widget\nmetadata: {name: w}\nspec: {x: 1}\n' >"$REPO/one/widget.yaml"
	commit 'a widget'
	application one '[{group: example.io, kind: Widget, jsonPointers: [/spec/y]}]' >"$WORK/etc/one.yaml"
	truce sync
	[[ $OUT != *'has no effect'* ]] || fail 'a rule is said to do nothing before its object could be looked at'
	sandbox_end
}

run_cases it_begins_with_one_application a_new_application_is_run a_new_rule_counts a_bad_one_is_not_taken_and_told \
	a_good_one_after_it_is_taken what_needs_a_restart_is_told an_application_that_goes_leaves_its_objects \
	another_folder_is_applied_without_self_heal a_rule_that_does_nothing_is_told a_rule_of_an_object_that_waits_is_not_judged

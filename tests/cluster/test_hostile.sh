#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Broken and hostile input: documents, repositories, configurations. Each is told by file, line and object, nothing of a
# Secret is shown, nothing raw reaches the terminal, and what is in order goes on.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

ESC=$'\033'
MARKER=hunter22-very-secret

good_map() {
	put "$1.yaml" <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: $1}
		data: {a: "${2:-1}"}
	YAML
}

start_again() {
	git -C "$REPO" rm -rq --ignore-unmatch deploy
	rm -rf "$REPO/deploy"
	mkdir "$REPO/deploy"
	touch "$REPO/deploy/keep"
}

says_not() {
	case $OUT in
	*"$1"*) fail "the output holds: $1" ;;
	esac
}

is_fit_for_a_terminal() {
	! printf '%s' "$OUT" | LC_ALL=C grep -q $'[\001-\010\013-\037\177]' || fail 'a control character was printed'
}

broken_documents_are_told_and_nothing_is_applied() {
	good_map fine
	printf '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cut"' >"$REPO/deploy/cut.yaml"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: deep}\nx: %s\n' "$(printf '[%.0s' {1..3000})" >"$REPO/deploy/deep.yaml"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: circle, labels: *m}\n' >"$REPO/deploy/circle.yaml"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "a\\e[31m\\nb"}\n' >"$REPO/deploy/name.yaml"
	commit "${ESC}[31mred${ESC}]0;title"$'\a'
	truce sync
	assert_eq 2 "$RC" 'exit status'
	says deploy/cut.yaml:
	says deploy/deep.yaml:4
	says deploy/circle.yaml:3
	says deploy/name.yaml:3
	is_fit_for_a_terminal
	is_gone configmap fine || fail 'a part of a broken commit was applied'
	start_again
}

a_file_that_is_cut_off_prunes_nothing() {
	good_map one
	good_map two
	good_map three
	commit 'three maps'
	truce_ok sync
	printf '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"' >"$REPO/deploy/two.yaml"
	commit 'one is cut off'
	truce sync --no-prune-budget
	assert_eq 2 "$RC" 'exit status'
	exists configmap two || fail 'what a broken file held was pruned'
	start_again
	commit nothing
	truce_ok sync --allow-empty --no-prune-budget
}

no_value_of_a_secret_is_shown() {
	put secrets.yaml <<-YAML
		apiVersion: v1
		kind: Secret
		metadata: {name: typo}
		stringdata: {a: $MARKER}
		---
		apiVersion: v1
		kind: Secret
		metadata: {name: number}
		stringData: {a: [$MARKER]}
		---
		apiVersion: v1
		kind: Secret
		metadata: {name: raw}
		data: {a: "$MARKER!"}
		---
		apiVersion: v1
		kind: Secret
		metadata: {name: type}
		type: [$MARKER]
		---
		apiVersion: v1
		kind: Secret
		metadata: {name: docker}
		type: kubernetes.io/dockerconfigjson
		stringData: {.dockerconfigjson: $MARKER}
		---
		apiVersion: v1
		kind: Secret
		metadata: {name: good}
		stringData: {a: $MARKER}
	YAML
	commit secrets
	local verb all=
	for verb in render diff sync sync status; do
		truce "$verb"
		says_not "$MARKER"
		says_not "$(printf %s "$MARKER" | base64)"
		all+=$OUT
	done
	OUT=$all
	says 'a Secret has no field "stringdata"'
	exists secret good || fail 'the good Secret was not applied'
	OUT=$(kc admin get configmaps,events -A -o yaml; grep -E '"resource":"(configmaps|events)"' "$TRUCE_TEST_AUDIT_LOG")
	says_not "$MARKER"
	printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: star}\nstringData: {a: *%s}\n' "$MARKER" >"$REPO/deploy/star.yaml"
	commit star
	truce sync
	says deploy/star.yaml:4
	says_not "$MARKER"
	start_again
	commit nothing
	truce_ok sync --allow-empty --no-prune-budget
}

nothing_raw_reaches_the_terminal() {
	put escape.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: escape, annotations: {note: "\e]0;title\a"}}
		data: {a: "\e[2J", b: "one\ntwo\e[31m"}
	YAML
	commit "${ESC}[2J subject"
	local verb
	for verb in render diff sync status; do
		truce "$verb"
		is_fit_for_a_terminal
	done
	truce sync --revision "a${ESC}[31m"
	is_fit_for_a_terminal
	OUT=$("$TRUCE" sync "--${ESC}[31m" 2>&1) && fail 'a flag that is none was taken'
	is_fit_for_a_terminal
	OUT=$("$TRUCE" sync --repo "$REPO" --namespace "a${ESC}[31m" 2>&1) && fail 'a namespace that is none was taken'
	is_fit_for_a_terminal
	says 'no legal name of a namespace'
}

# tells_in_json VERB KIND OBJECT FILE:LINE REASON: in what it prints with -o json is an element like that.
tells_in_json() {
	local flags
	mapfile -t flags < <(truce_flags)
	OUT=$("$TRUCE" "$1" "${flags[@]}" -o json 2>/dev/null) || true
	has_element "${@:2}"
}

has_element() {
	printf '%s' "$OUT" | python3 -c '
import json, sys
kind, what, place, reason = sys.argv[1:]
for e in json.load(sys.stdin):
    o = e.get("object", "")
    name = o.get("kind") if isinstance(o, dict) else o
    if e["kind"] == kind and name == what and reason in e["reason"] and e["application"] and \
       (not place or "%s:%s" % (e["file"], e["line"]) == place):
        sys.exit(0)
sys.exit("no such element")' "$@" || fail "no element: $*"
}

kinds_that_nobody_serves_are_told() {
	start_again
	good_map fine
	put odd.yaml <<-'YAML'
		apiVersion: odd.example.io/v1
		kind: Odd
		metadata: {name: odd}
		---
		apiVersion: v1
		kind: Binding
		metadata: {name: bound}
		target: {name: x}
	YAML
	commit odd
	truce diff
	assert_eq 2 "$RC" 'exit status of the diff'
	says 'parked'
	says deploy/odd.yaml:1
	says 'binding/bound'
	tells_in_json diff parked Odd deploy/odd.yaml:1 'does not serve its kind'
	tells_in_json diff failed Binding deploy/odd.yaml:5 'nobody list and watch'
	mark
	truce sync
	assert_eq 1 "$RC" 'exit status of the sync'
	says 'parked'
	tells_in_json sync parked Odd deploy/odd.yaml:1 'does not serve its kind'
	tells_in_json sync failed Binding deploy/odd.yaml:5 'nobody list and watch'
	exists configmap fine || fail 'the good object was not applied'
	[ "$(truce_requests)" -lt 60 ] || fail 'the server is asked again and again'
}

put_app() {
	cat <<-YAML
		---
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: $1, namespace: argocd}
		spec:
		  project: default
		  source: {repoURL: "$2", path: deploy, targetRevision: HEAD}
		  destination: {server: https://kubernetes.default.svc, namespace: $NS}
		  syncPolicy: {automated: {prune: true, selfHeal: true}}
	YAML
}

with_config() {
	RC=0
	OUT=$("$TRUCE" "$1" --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --agent-namespace "$NS-truce" --data-dir "$WORK/data" \
		--config "$WORK/apps.yaml" --allow-file-repositories "${@:2}" 2>&1) || RC=$?
}

a_broken_application_holds_up_no_other() {
	start_again
	good_map mine 2
	commit mine
	git clone -q "$REPO" "$WORK/other"
	printf 'a: [\nkind: x\n' >"$WORK/other/deploy/broken.yaml"
	git -C "$WORK/other" add -A
	git -C "$WORK/other" -c user.name=t -c user.email=t@example.invalid commit -qm broken
	{
		put_app away "$WORK/nowhere"
		put_app unreadable "$WORK/other"
		put_app refused https://127.0.0.1:1/x.git
		put_app shop "$REPO"
	} >"$WORK/apps.yaml"
	with_config render
	assert_eq 2 "$RC" 'exit status of render'
	says 'name: mine'
	with_config diff
	assert_eq 2 "$RC" 'exit status of diff'
	says configmap/mine
	says 'exit 2'
	with_config sync
	assert_eq 2 "$RC" 'exit status of sync'
	exists configmap mine || fail 'the good application was not synced'
	says nowhere
	says 127.0.0.1:1
	says deploy/broken.yaml
	OUT=$("$TRUCE" diff --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --agent-namespace "$NS-truce" --data-dir "$WORK/data" \
		--config "$WORK/apps.yaml" --allow-file-repositories -o json 2>/dev/null) || true
	has_element 'not rendered' '' '' 'could be read'
	has_element problem '' deploy/broken.yaml:3 ''
	has_element failed '' '' nowhere
	has_element failed '' '' 127.0.0.1:1
}

of_two_applications_of_one_name_neither_runs() {
	start_again
	good_map mine 7
	commit mine
	{
		put_app twin https://127.0.0.1:1/x.git
		put_app shop "$REPO"
		put_app twin https://127.0.0.1:1/y.git
	} >"$WORK/apps.yaml"
	with_config sync
	assert_eq 7 "$(got configmap mine '{.data.a}')" 'of the application that is in order'
	says "apps.yaml:2: application argocd/twin is not run: another application has its name, at $WORK/apps.yaml:20"
	says "apps.yaml:20: application argocd/twin is not run: another application has its name, at $WORK/apps.yaml:2"
	printf 'spek: {}\n' >>"$WORK/apps.yaml"
	with_config sync
	assert_eq 2 "$RC" 'exit status of a configuration with an error'
	assert_eq 1 "$(grep -c spek <<<"$OUT")" 'lines about one error'
}

status_has() {
	truce status
	case $OUT in
	*"$1"*) ;;
	*) return 1 ;;
	esac
}

# "The last good revision stays in force until the next one renders", also when the agent is started anew.
a_restart_with_a_broken_head_heals_by_the_last_good_commit() {
	local good
	start_again
	good_map mine 8
	commit 'in order'
	good=$(git -C "$REPO" rev-parse --short=7 HEAD)
	serve_repo
	truce_flags() {
		printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --repo "$URL" --path deploy --namespace "$NS" --name shop \
			--agent-namespace "$NS-truce" --data-dir "$WORK/${STORE:-data}"
	}
	truce_ok sync
	rm "$REPO/deploy/mine.yaml"
	printf '{"apiVersion": "v1", "kind": "ConfigMap"' >"$REPO/deploy/cut.yaml"
	commit 'cut off'
	STORE=fresh agent_start # as after a new Pod: the store is empty, the commit is fetched by its id
	agent_waits 20 'stands in'
	agent_waits 20 'msg="synced"'
	kc admin patch configmap mine -n "$NS" --type=merge -p '{"data":{"a":"drift"}}' >/dev/null
	agent_waits 10 'msg="healed"'
	assert_eq 8 "$(got configmap mine '{.data.a}')" 'a healed value'
	wait_until 10 status_has 'Unknown'
	says "main @ $good"
	says 'error: not every document could be read'
	agent_stop

	git -C "$REPO" checkout -q --orphan other
	commit 'cut off, in another history'
	git -C "$REPO" branch -q -M main
	git -C "$REPO" reflog expire --expire=now --all
	git -C "$REPO" gc -q --prune=now
	STORE=fresher agent_start
	agent_waits 20 'not in the repository any more'
	kc admin patch configmap mine -n "$NS" --type=merge -p '{"data":{"a":"drift"}}' >/dev/null
	sleep 2
	assert_eq drift "$(got configmap mine '{.data.a}')" 'a value that nothing is known of'
	agent_mark
	rm "$REPO/deploy/cut.yaml"
	good_map mine 9
	commit 'in order again'
	agent_waits 20 'msg="synced"'
	assert_eq 9 "$(got configmap mine '{.data.a}')" 'a value of the next commit that renders'
	wait_until 10 status_has 'Synced'
	agent_stop
	truce_flags() {
		printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --repo "$REPO" --path deploy --namespace "$NS" --name shop \
			--agent-namespace "$NS-truce" --data-dir "$WORK/data"
	}
}

a_repository_that_is_moved_away_is_told_by_its_path() {
	agent_start
	agent_waits 20 'msg="commit in force"'
	agent_mark
	mv "$REPO" "$WORK/moved"
	agent_waits 20 "$REPO"
	! log_has empty || fail 'a repository that is away was called empty'
	exists configmap mine || fail 'something was pruned'
	mv "$WORK/moved" "$REPO"
	good_map mine 10
	commit 'back again'
	agent_mark
	agent_waits 30 'msg="synced"'
	assert_eq 10 "$(got configmap mine '{.data.a}')"
	agent_stop
}

detect_only_is_seen_in_the_status() {
	good_map mine 11
	commit 'to be looked at'
	mark
	agent_start --detect-only
	wait_until 20 status_has OutOfSync
	assert_eq 10 "$(got configmap mine '{.data.a}')"
	assert_eq 0 "$(truce_object_writes)" 'objects written by an agent that only looks'
	health_rests
	mark
	sleep 3
	assert_eq 0 "$(truce_writes)" 'writes when nothing changed'
	truce_ok sync
	wait_until 20 status_has Synced
	agent_stop
	assert_eq 11 "$(got configmap mine '{.data.a}')"
	kc admin get configmap truce-inventory-shop -n "$NS-truce" -o 'jsonpath={.data.objects}' | grep /ConfigMap/ >/dev/null ||
		fail 'the inventory of the sync was lost'
}

# The signal is there before the first line of main(): it waits until it can be followed.
a_signal_at_the_very_start_is_an_orderly_end() {
	local flags status=0
	mapfile -t flags < <(truce_flags)
	timeout --signal=KILL 20 env --block-signal=TERM sh -c 'kill -TERM $$; exec "$@"' sh "$TRUCE" run "${flags[@]}" \
		>"$LOG" 2>&1 || status=$?
	assert_eq 0 "$status" 'exit status of an early SIGTERM'
	log_has 'signal=SIGTERM'
}

the_agent_outlives_its_repository_and_its_inventory() {
	start_again
	good_map mine 3
	commit mine
	agent_start
	agent_waits 20 'msg="synced"'
	agent_mark
	printf '{"apiVersion": "v1", "kind": "ConfigMap"' >"$REPO/deploy/mine.yaml"
	commit 'cut off'
	agent_waits 20 'msg="commit not applied"'
	exists configmap mine || fail 'a broken commit pruned'
	agent_mark
	kc admin delete configmap -n "$NS-truce" -l truce.dev/inventory >/dev/null
	good_map mine 4
	good_map more 1
	commit 'in order'
	agent_waits 30 'msg="synced"'
	kc admin get configmap truce-inventory-shop -n "$NS-truce" -o 'jsonpath={.data.objects}' | grep /ConfigMap/ >/dev/null ||
		fail 'the inventory was not written again'
	agent_mark
	rm -rf "$REPO"
	git init -q -b main "$REPO"
	git -C "$REPO" config user.name test
	git -C "$REPO" config user.email test@example.invalid
	mkdir "$REPO/deploy"
	good_map mine 5
	good_map more 1
	commit 'another history'
	agent_waits 30 'msg="synced"'
	assert_eq 5 "$(got configmap mine '{.data.a}')"
	agent_stop
	OUT=$(cat "$LOG")
	is_fit_for_a_terminal
}

cluster_begin
truce_begin hostile
run_cases broken_documents_are_told_and_nothing_is_applied a_file_that_is_cut_off_prunes_nothing \
	no_value_of_a_secret_is_shown nothing_raw_reaches_the_terminal kinds_that_nobody_serves_are_told \
	a_broken_application_holds_up_no_other of_two_applications_of_one_name_neither_runs \
	the_agent_outlives_its_repository_and_its_inventory a_restart_with_a_broken_head_heals_by_the_last_good_commit \
	a_repository_that_is_moved_away_is_told_by_its_path detect_only_is_seen_in_the_status \
	a_signal_at_the_very_start_is_an_orderly_end

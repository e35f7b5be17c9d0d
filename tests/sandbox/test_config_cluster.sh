#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configuration that is objects of the cluster: read at start, watched, put in force without a restart; what cannot be used
# or cannot be seen changes nothing.
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

CRDS=$(cd "$(dirname "${BASH_SOURCE[0]}")/../cluster/manifests" && pwd)/argocd-crds.yaml
APPS=/apis/argoproj.io/v1alpha1/namespaces/argocd/applications
MAPS=/api/v1/namespaces/argocd/configmaps
MERGE=application/merge-patch+json

truce_flags() {
	printf '%s\n' --kubeconfig "$KUBECONFIG" --config-namespace argocd --config-selector deployer=truce \
		--allow-file-repositories --data-dir "$WORK/data"
}

# sends METHOD PATH BODY [TYPE]: which must work.
sends() {
	api "$@"
	case $CODE in 20[01]) ;; *) fail "$1 $2 was answered with $CODE" ;; esac
}

# application NAME [LABELS]
application() {
	local labels=${2-\"deployer\":\"truce\"}
	sends POST "$APPS" '{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"'"$1"'",
		"labels":{'"$labels"'},"finalizers":["resources-finalizer.argocd.argoproj.io"]},
		"spec":{"project":"default","source":{"repoURL":"file://'"$REPO"'","path":"'"$1"'","targetRevision":"main"},
		"destination":{"server":"https://kubernetes.default.svc","namespace":"shop"},
		"syncPolicy":{"automated":{"prune":true,"selfHeal":true},"syncOptions":["RespectIgnoreDifferences=true"]}},
		"status":{"sync":{"status":"OutOfSync"}}}'
}

map() {
	mkdir -p "$REPO/$1"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {key: git, tuned: git}\n' "$1" >"$REPO/$1/map.yaml"
}

has() {
	is "/api/v1/namespaces/shop/configmaps/$1" "data.$2" "$3"
}

edit() {
	sends PATCH "/api/v1/namespaces/shop/configmaps/$1?fieldManager=kubectl-edit" "{\"data\":{\"$2\":\"$3\"}}" "$MERGE"
}

# rules TEXT: of argocd-cm, for ConfigMaps.
rules() {
	sends PATCH "$MAPS/argocd-cm" '{"data":{"resource.customizations.ignoreDifferences.ConfigMap":"'"$1"'"}}' "$MERGE"
}

page() {
	curl -s --max-time 5 -o "$WORK/page" -w '%{http_code}' "http://127.0.0.1:$PORT$1"
}

metric_is() {
	[ "$(page /metrics)" = 200 ] && [ "$(awk -v name="$1" '$1 == name { print $2 }' "$WORK/page")" = "$2" ]
}

answers() {
	[ "$(page "$1")" = "$2" ]
}

times_in_force() {
	grep -c 'configuration is in force' "$LOG"
}

without_a_server_it_waits() {
	map one
	map two
	map other
	commit 'three maps'
	PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	export KUBECONFIG=$WORK/nowhere
	cat >"$KUBECONFIG" <<-YAML
		apiVersion: v1
		kind: Config
		current-context: c
		contexts: [{name: c, context: {cluster: c}}]
		clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
	YAML
	agent_start --listen "127.0.0.1:$PORT"
	agent_waits 20 'documents cannot be read now; what is in force stays'
	answers /healthz 200 || fail 'it is not alive'
	answers /readyz 503 || fail 'it says that it is ready'
	metric_is truce_config_stale 1 || fail 'the metric does not say so'
	agent_stop
	truce diff
	assert_eq 2 "$RC" 'exit status of diff'
	says 'the configuration of namespace argocd: '
}

without_applications_it_is_ready() {
	sandbox_start --load "$CRDS"
	sends POST /api/v1/namespaces '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"argocd"}}'
	sends POST /api/v1/namespaces '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}'
	sends POST "$MAPS" '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"argocd-cm","labels":{"deployer":"truce"}},
		"data":{"url":"https://argocd.example.com"}}'
	sends POST "$MAPS" '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"somebodys","labels":{"deployer":"truce"}}}'
	truce diff
	assert_eq 2 "$RC" 'exit status of diff'
	says 'Namespace argocd holds no Application that is read'
	agent_start --listen "127.0.0.1:$PORT"
	agent_waits 20 'msg="a configuration is in force"'
	wait_until 10 metric_is truce_config_stale 0
}

an_application_is_run() {
	application one
	agent_waits 20 'msg="another configuration is in force"'
	wait_until 20 has one key git
	wait_until 20 answers /readyz 200
}

one_without_the_labels_is_not() {
	agent_mark
	application other '"deployer":"argocd"'
	application two
	wait_until 20 has two key git
	api GET /api/v1/namespaces/shop/configmaps/other
	assert_eq 404 "$CODE" 'an Application without the labels'
}

a_new_rule_counts() {
	agent_mark
	rules 'jsonPointers: [/data/tuned]'
	agent_waits 20 'msg="another configuration is in force"'
	edit one tuned hers
	edit one key hers
	wait_until 20 has one key git
	has one tuned hers || fail 'what is ignored was written over'
}

a_bad_edit_keeps_what_was() {
	agent_mark
	rules 'jsonPointer: [/data/key]'
	agent_waits 20 'ConfigMap argocd/argocd-cm'
	agent_waits 20 'did you mean jsonPointers?'
	agent_waits 20 'msg="the configuration before stays in force"'
	wait_until 10 metric_is truce_config_stale 1
	wait_until 20 status_tells 'ConfigMap argocd/argocd-cm'
	edit one tuned again
	edit one key again
	wait_until 20 has one key git
	has one tuned again || fail 'the rule before is not in force'
	agent_mark
	rules 'jsonPointers: [/data/tuned]'
	agent_waits 20 'msg="another configuration is in force"'
	wait_until 10 metric_is truce_config_stale 0
}

status_tells() {
	OUT=$("$TRUCE" status --kubeconfig "$KUBECONFIG" 2>&1)
	[[ $OUT == *'configuration: the one before is in force'*"$1"* ]]
}

a_secret_is_never_shown() {
	agent_mark
	sends POST /api/v1/namespaces/argocd/secrets '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"repo",
		"labels":{"deployer":"truce","argocd.argoproj.io/secret-type":"repository"}},
		"stringData":{"url":"https://git.example.com/x","tlsClientCertData":"hunter2","tlsClientCertKey":"hunter2"}}'
	agent_waits 20 'Secret argocd/repo: tlsClientCertData: no certificate in PEM form'
	! grep -q -e hunter2 -e aHVudGVyMg "$LOG" || fail 'a Secret is in the log'
	agent_mark
	sends DELETE /api/v1/namespaces/argocd/secrets/repo ''
	agent_waits 20 'msg="another configuration is in force"'
}

what_controllers_note_is_no_news() {
	local before
	before=$(times_in_force)
	sends PATCH "$APPS/one" '{"status":{"sync":{"status":"Synced"}},"metadata":{"annotations":{
		"argocd.argoproj.io/refresh":"hard","notified.notifications.example.com":"1"}}}' "$MERGE"
	sends POST "$MAPS" '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"more","labels":{"deployer":"truce"}}}'
	sleep 5
	assert_eq "$before" "$(times_in_force)" 'configurations that came into force'
}

# checks FLAG-OR-FILE…
checks() {
	RC=0
	OUT=$("$TRUCE" config check --kubeconfig "$KUBECONFIG" --config-namespace argocd "$@" 2>&1) || RC=$?
	OUT=$(tr -s ' ' <<<"$OUT") # whatever the columns' width
}

check_says_what_the_cluster_has() {
	cat >"$WORK/agent.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec: {allowFileRepositories: true}
	YAML
	checks "$WORK/agent.yaml"
	assert_eq 0 "$RC" 'exit status of check'
	says 'argocd/other file://'
	says 'Application argocd/other'
	says 'all applications ConfigMap /data/tuned ConfigMap argocd/argocd-cm'
	says 'url ConfigMap argocd/argocd-cm'
	checks --config-selector deployer=argocd
	assert_eq 1 "$RC" 'exit status of check'
	says 'refused Application argocd/other: argocd/other: repositories of this machine need'
	[[ $OUT != *argocd/one* ]] || fail 'what does not carry the selector was read'
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
}

# It is on its way out from the moment its deletion is asked for: a finalizer of its own deployer may take its objects away.
a_deleted_application_leaves_its_objects() {
	agent_mark
	api DELETE "$APPS/two"
	agent_waits 20 'msg="another configuration is in force"'
	edit two key hers
	sleep 3
	has two key hers || fail 'an application that is being deleted is still run'
}

a_definition_that_goes_takes_nothing_along() {
	agent_mark
	sends PATCH "$APPS/one" '{"metadata":{"finalizers":null}}' "$MERGE"
	sends PATCH "$APPS/two" '{"metadata":{"finalizers":null}}' "$MERGE"
	sends PATCH "$APPS/other" '{"metadata":{"finalizers":null}}' "$MERGE"
	sends DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/applications.argoproj.io ''
	agent_waits 20 'documents cannot be read now; what is in force stays'
	wait_until 20 metric_is truce_config_stale 1
	edit one key hers
	wait_until 20 has one key git
	agent_stop
	sandbox_end
}

run_cases without_a_server_it_waits without_applications_it_is_ready an_application_is_run one_without_the_labels_is_not \
	a_new_rule_counts a_bad_edit_keeps_what_was a_secret_is_never_shown what_controllers_note_is_no_news \
	check_says_what_the_cluster_has a_deleted_application_leaves_its_objects a_definition_that_goes_takes_nothing_along

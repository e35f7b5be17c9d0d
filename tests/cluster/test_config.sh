#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configuration out of a namespace as Argo CD has one, on a real API server, with no more rights than deploy/ gives for it:
# it is read at start, an edit counts without a restart, a bad one does not, and nothing is lost when the server is away, the
# rights are taken away, or the definition of Applications is.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROLE=$HERE/../../deploy/argocd/rbac.yaml

truce_flags() {
	printf '%s\n' --kubeconfig "$WORK/kubeconfig" --config-namespace "$NS-argocd" --allow-file-repositories \
		--agent-namespace "$NS-truce" --control-namespace "$NS-argocd" --data-dir "$WORK/data"
}

# application NAME
application() {
	kc admin apply -f - >/dev/null <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: $1, namespace: $NS-argocd}
		spec:
		  project: default
		  source: {repoURL: "file://$REPO", path: $1, targetRevision: main}
		  destination: {server: "https://kubernetes.default.svc", namespace: $NS}
		  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [RespectIgnoreDifferences=true]}
	YAML
}

map() {
	mkdir -p "$REPO/$1"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {key: git, tuned: git}\n' "$1" >"$REPO/$1/map.yaml"
}

has() {
	[ "$(got configmap "$1" "{.data.$2}")" = "$3" ]
}

edit() {
	kc admin patch configmap "$1" -n "$NS" --field-manager=kubectl-edit --type merge -p "{\"data\":{\"$2\":\"$3\"}}" >/dev/null
}

rules() {
	kc admin patch configmap argocd-cm -n "$NS-argocd" --type merge \
		-p "{\"data\":{\"resource.customizations.ignoreDifferences.ConfigMap\":\"$1\"}}" >/dev/null
}

page() {
	curl -s --max-time 5 -o "$WORK/page" -w '%{http_code}' "http://127.0.0.1:$PORT$1"
}

is_stale() {
	[ "$(page /metrics)" = 200 ] && [ "$(awk '$1 == "truce_config_stale" { print $2 }' "$WORK/page")" = "$1" ]
}

# An account that may do everything but what concerns the documents, and that by deploy/'s Role.
account() {
	local token
	kc admin create namespace "$NS-truce" >/dev/null
	kc admin create serviceaccount truce -n "$NS-truce" >/dev/null
	kc admin create clusterrole "$NS" --verb='*' --resource=configmaps >/dev/null
	kc admin create clusterrolebinding "$NS" --clusterrole="$NS" --serviceaccount="$NS-truce:truce" >/dev/null
	kc admin create role truce -n "$NS-truce" --verb='*' --resource=configmaps,secrets >/dev/null
	kc admin create rolebinding truce -n "$NS-truce" --role=truce --serviceaccount="$NS-truce:truce" >/dev/null
	kc admin create clusterrole "$NS-look" --verb=get,list,watch --resource=namespaces,horizontalpodautoscalers >/dev/null
	kc admin create clusterrolebinding "$NS-look" --clusterrole="$NS-look" --serviceaccount="$NS-truce:truce" >/dev/null
	kc admin create clusterrole "$NS-tell" --verb=create,patch --resource=events >/dev/null
	kc admin create clusterrolebinding "$NS-tell" --clusterrole="$NS-tell" --serviceaccount="$NS-truce:truce" >/dev/null
	token=$(kc admin create token truce -n "$NS-truce" --duration=2h)
	sed -e '/client-certificate/d' -e '/client-key/d' "$TRUCE_TEST_KUBECONFIG" >"$WORK/kubeconfig"
	kubectl_of "$WORK/kubeconfig" config set-credentials account --token="$token" >/dev/null
	kubectl_of "$WORK/kubeconfig" config set-context --current --user=account >/dev/null
}

kubectl_of() {
	local file=$1
	shift
	"$TRUCE_TEST_KUBECTL" --kubeconfig "$file" "$@"
}

give_rights() {
	sed -e "s/namespace: argocd/namespace: $NS-argocd/" -e "s/namespace: truce/namespace: $NS-truce/" "$ROLE" |
		kc admin apply -f - >/dev/null
}

without_rights_it_waits() {
	kc admin apply -f "$HERE/manifests/argocd-crds.yaml" >/dev/null
	kc admin wait --for=condition=Established crd/applications.argoproj.io crd/appprojects.argoproj.io --timeout=60s >/dev/null
	kc admin create namespace "$NS-argocd" >/dev/null
	cluster_namespaces+=("$NS-argocd")
	kc admin create configmap argocd-cm -n "$NS-argocd" --from-literal=url=https://argocd.example.com >/dev/null
	kc admin create secret generic repo -n "$NS-argocd" --from-literal=url=https://git.example.com/x \
		--from-literal=password=hunter2 >/dev/null
	kc admin label secret repo -n "$NS-argocd" argocd.argoproj.io/secret-type=repository >/dev/null
	map one
	map two
	commit 'two maps'
	account
	application one
	application two
	PORT=$(free_port)
	agent_start --listen "127.0.0.1:$PORT"
	agent_waits 30 'documents cannot be read now; what is in force stays'
	[ "$(page /readyz)" = 503 ] || fail 'it says that it is ready'
	is_stale 1 || fail 'the metric does not say so'
	! log_has 'is in force"' || fail 'it began without having seen the Applications'
}

the_namespace_is_the_configuration() {
	give_rights
	agent_waits 60 'msg="a configuration is in force"'
	wait_until 30 has one key git
	wait_until 30 has two key git
	wait_until 10 is_stale 0
}

an_edit_counts_without_a_restart() {
	agent_mark
	rules 'jsonPointers: [/data/tuned]'
	agent_waits 30 'msg="another configuration is in force"'
	edit one tuned hers
	edit one key hers
	wait_until 30 has one key git
	has one tuned hers || fail 'what is ignored was written over'
}

a_bad_edit_keeps_what_was() {
	agent_mark
	rules 'jsonPointer: [/data/key]'
	agent_waits 30 'did you mean jsonPointers?'
	agent_waits 30 'msg="the configuration before stays in force"'
	wait_until 10 is_stale 1
	edit one tuned again
	edit one key again
	wait_until 30 has one key git
	has one tuned again || fail 'the rule before is not in force'
	agent_mark
	rules 'jsonPointers: [/data/tuned]'
	agent_waits 30 'msg="another configuration is in force"'
	wait_until 10 is_stale 0
}

rights_that_are_taken_away_lose_nothing() {
	agent_mark
	kc admin delete rolebinding truce-config -n "$NS-argocd" >/dev/null
	# A watch that is open stays so; the next one is refused.
	cluster stop apiserver
	cluster start apiserver
	agent_waits 90 'documents cannot be read now; what is in force stays'
	wait_until 90 is_stale 1
	edit two key hers
	wait_until 60 has two key git
	! log_has 'configuration is in force"' || fail 'another configuration came into force'
	give_rights
	wait_until 90 is_stale 0
	! log_has 'configuration is in force"' || fail 'another configuration came into force'
}

a_server_that_is_away_loses_nothing() {
	agent_mark
	cluster stop apiserver
	sleep 5
	cluster start apiserver
	edit two key hers
	wait_until 90 has two key git
	! log_has 'configuration is in force"' || fail 'another configuration came into force'
}

an_application_that_is_deleted_leaves_its_objects() {
	agent_mark
	kc admin delete application two -n "$NS-argocd" >/dev/null
	agent_waits 30 'msg="another configuration is in force"'
	edit two key hers
	edit one key hers
	wait_until 30 has one key git
	has two key hers || fail 'an application that is gone is still run'
}

a_definition_that_goes_takes_nothing_along() {
	agent_mark
	kc admin delete crd applications.argoproj.io >/dev/null
	wait_until 90 is_stale 1
	edit one key hers
	wait_until 30 has one key git
	! log_has 'configuration is in force"' || fail 'another configuration came into force'
	! grep -q -e hunter2 -e aHVudGVyMg "$LOG" || fail 'a Secret is in the log'
	kc admin get --raw "/apis/argoproj.io/v1alpha1/namespaces/$NS-argocd/appprojects" >/dev/null
	agent_stop
}

clean_up() {
	kc admin delete crd appprojects.argoproj.io applications.argoproj.io --ignore-not-found >/dev/null
	kc admin delete clusterrole,clusterrolebinding "$NS" "$NS-look" "$NS-tell" --ignore-not-found >/dev/null
}

# The server is stopped and started here.
cluster_begin --podsim-delay=200ms
cluster_needs private
truce_begin config
run_cases without_rights_it_waits the_namespace_is_the_configuration an_edit_counts_without_a_restart \
	a_bad_edit_keeps_what_was rights_that_are_taken_away_lose_nothing a_server_that_is_away_loses_nothing \
	an_application_that_is_deleted_leaves_its_objects a_definition_that_goes_takes_nothing_along clean_up

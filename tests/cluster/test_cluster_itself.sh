#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that the test cluster is what the other tests take it for.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# processes_of DIR: ids of processes that name DIR in their command line.
processes_of() {
	local file
	for file in /proc/[0-9]*/cmdline; do
		if [ "$file" != "/proc/$BASHPID/cmdline" ] && { tr '\0' ' ' <"$file"; } 2>/dev/null | grep -F -- "$1/" >/dev/null; then
			file=${file#/proc/}
			printf '%s\n' "${file%/cmdline}"
		fi
	done
}

has_no_process() {
	[ -z "$(processes_of "$1")" ]
}

port_is_open() {
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

server_port() {
	"$cluster_source/cluster" env "$1" | sed -n "s/^export TRUCE_TEST_SERVER='.*:\([0-9]*\)'$/\1/p"
}

kubectl_and_server_are_the_same_version() {
	local client server
	client=$(kc person version -o json | sed -n '/clientVersion/,/}/s/.*"gitVersion": "\(.*\)".*/\1/p')
	server=$(kc person version -o json | sed -n '/serverVersion/,/}/s/.*"gitVersion": "\(.*\)".*/\1/p')
	[ -n "$client" ] || fail "no client version"
	assert_eq "$client" "$server" "server version"
}

identities_are_who_they_say() {
	local user
	for user in admin truce person operator; do
		assert_eq "$user" "$(kc "$user" auth whoami -o 'jsonpath={.status.userInfo.username}')"
	done
	assert_eq '["system:authenticated"]' "$(kc person auth whoami -o 'jsonpath={.status.userInfo.groups}')" \
		"a person's groups"
	assert_eq yes "$(kc person auth can-i '*' '*')"
}

deployment() {
	cat <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: $1, namespace: $NS}
		spec:
		  replicas: $2
		  selector: {matchLabels: {app: $1}}
		  template:
		    metadata: {labels: {app: $1}}
		    spec:
		      containers:
		      - name: main
		        image: example/$1:1
		        resources: {requests: {cpu: 100m}}
	YAML
}

pod_count_is() {
	[ "$(kc admin -n "$NS" get pods -l "app=$1" -o name | wc -l)" -eq "$2" ]
}

deployment_gets_ready_pods_and_loses_them() {
	deployment web 3 | kc truce apply --server-side --field-manager=truce -f -
	wait_until 20 kc person -n "$NS" rollout status deployment/web --timeout=1s
	assert_eq 3 "$(kc person -n "$NS" get deployment web -o 'jsonpath={.status.readyReplicas}')" "ready replicas"
	assert_eq 3 "$(kc person -n "$NS" get pods -o 'jsonpath={range .items[*]}{.status.podIP}{"\n"}{end}' | sort -u | wc -l)" \
		"different pod IPs"
	kc person -n "$NS" delete deployment web
	wait_until 20 pod_count_is web 0
}

pods_settle_without_further_writes() {
	local mark
	deployment still 2 | kc truce apply --server-side --field-manager=truce -f -
	wait_until 20 kc person -n "$NS" rollout status deployment/still --timeout=1s
	sleep 1
	mark=$(cluster audit --mark)
	sleep 3
	assert_eq 0 "$(audit_count --since "$mark" --user podsim --resource pods/status)" "status writes"
	kc person -n "$NS" delete deployment still
}

job_succeeds_when_its_annotation_asks() {
	kc person apply -f - <<-YAML
		apiVersion: batch/v1
		kind: Job
		metadata: {name: once, namespace: $NS}
		spec:
		  template:
		    metadata: {annotations: {podsim.truce.dev/exit: "0"}}
		    spec:
		      restartPolicy: Never
		      containers: [{name: main, image: example/once:1}]
	YAML
	wait_until 20 kc person -n "$NS" wait --for=condition=complete job/once --timeout=1s
}

held_pod_is_not_ready_until_released() {
	kc person apply -f - <<-YAML
		apiVersion: v1
		kind: Pod
		metadata: {name: held, namespace: $NS, annotations: {podsim.truce.dev/hold: unready}}
		spec: {containers: [{name: main, image: example/held:1}]}
	YAML
	wait_until 20 kc person -n "$NS" wait --for=jsonpath='{.status.phase}'=Running pod/held --timeout=1s
	assert_eq False "$(kc person -n "$NS" get pod held -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')"
	kc person -n "$NS" annotate pod held podsim.truce.dev/hold-
	wait_until 20 kc person -n "$NS" wait --for=condition=Ready pod/held --timeout=1s
}

manual_edit_is_owned_by_its_tool() {
	kc truce -n "$NS" apply --server-side --field-manager=truce -f - <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: owned}
		data: {a: "1"}
	YAML
	KUBE_EDITOR='sed -i s/\"1\"/\"2\"/' kc person -n "$NS" edit configmap owned
	assert_eq 2 "$(kc person -n "$NS" get configmap owned -o 'jsonpath={.data.a}')"
	assert_eq Update "$(kc person -n "$NS" get configmap owned --show-managed-fields \
		-o 'jsonpath={.metadata.managedFields[?(@.manager=="kubectl-edit")].operation}')"
}

audit_counts_each_request_once_and_shows_the_agents_bodies() {
	local mark
	mark=$(cluster audit --mark)
	kc truce -n "$NS" create configmap audited --from-literal=word=xyzzy
	kc person -n "$NS" create configmap unread --from-literal=word=plugh
	kc truce get --raw "/api/v1/namespaces/$NS/configmaps?watch=1&timeoutSeconds=1" >/dev/null
	assert_eq 1 "$(audit_count --since "$mark" --user truce --verb create --resource configmaps --code 201)" "creations"
	assert_eq 1 "$(audit_count --since "$mark" --user truce --verb watch --resource configmaps)" "watches"
	cluster audit --lines --since "$mark" --user truce --verb create | grep xyzzy >/dev/null || fail "no body of the agent's request"
	if cluster audit --lines --since "$mark" | grep plugh >/dev/null; then
		fail "a person's body is in the log"
	fi
}

service_account_token_is_valid() {
	local kubeconfig
	kc admin create namespace truce-system
	kc admin -n truce-system create serviceaccount agent
	kubeconfig=$(cluster kubeconfig truce-system/agent)
	assert_eq system:serviceaccount:truce-system:agent \
		"$("$TRUCE_TEST_KUBECTL" --kubeconfig="$kubeconfig" auth whoami -o 'jsonpath={.status.userInfo.username}')"
	if cluster kubeconfig truce-system/nobody 2>/dev/null; then
		fail "a token for a service account that does not exist"
	fi
}

apiserver_comes_back_with_the_same_port() {
	local before
	before=$(server_port "$TRUCE_CLUSTER_DIR")
	cluster stop apiserver
	! port_is_open "$before" || fail "the port is still open"
	cluster start apiserver
	assert_eq "$before" "$(server_port "$TRUCE_CLUSTER_DIR")" "port"
	kc person -n "$NS" get configmap owned
	cluster stop podsim
	cluster start podsim
	cluster stop controller-manager --kill
	cluster start controller-manager
	deployment again 1 | kc truce apply --server-side --field-manager=truce -f -
	wait_until 30 kc person -n "$NS" rollout status deployment/again --timeout=1s
	cluster status
}

# A server that lost its etcd does not end by itself and keeps its port.
apiserver_without_etcd_can_be_stopped() {
	local port
	port=$(server_port "$TRUCE_CLUSTER_DIR")
	cluster stop etcd --kill
	cluster stop apiserver
	! port_is_open "$port" || fail "the port is still open"
	cluster start etcd
	cluster start apiserver
	kc person -n "$NS" get configmap owned
}

watch_old() {
	kc truce get --raw "/api/v1/namespaces/$NS/configmaps?watch=1&timeoutSeconds=1&resourceVersion=$1" 2>&1 || true
}

watch_from_before_a_compaction_is_gone() {
	local old value
	# A version from this server's life: its watch cache begins at its start.
	kc person -n "$NS" patch configmap owned -p '{"data":{"a":"new"}}'
	old=$(kc person -n "$NS" get configmap owned -o 'jsonpath={.metadata.resourceVersion}')
	for value in 3 4 5; do
		kc person -n "$NS" patch configmap owned -p "{\"data\":{\"a\":\"$value\"}}"
	done
	watch_old "$old" | grep '"type":"MODIFIED"' >/dev/null || fail "the old watch does not work before"
	cluster compact
	watch_old "$old" | grep '"type":"MODIFIED"' >/dev/null || fail "the watch cache does not hide a compaction any more: see README.md"
	cluster compact --restart
	watch_old "$old" | grep -E '"code":410|too old resource version' >/dev/null || fail "no 410 after: $(watch_old "$old")"
}

write_metrics() {
	local pod now
	now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	for pod in $(kc operator -n "$NS" get pods -l app=busy -o 'jsonpath={.items[*].metadata.name}'); do
		printf -- '---\n'
		cat <<-YAML
			apiVersion: metrics.k8s.io/v1beta1
			kind: PodMetrics
			metadata: {name: $pod, namespace: $NS, labels: {app: busy}}
			timestamp: $now
			window: 10s
			containers: [{name: main, usage: {cpu: $1, memory: 1Mi}}]
		YAML
	done | kc operator apply --server-side --force-conflicts -f - >/dev/null
}

replicas_become() {
	write_metrics "$1"
	[ "$(kc person -n "$NS" get deployment busy -o 'jsonpath={.spec.replicas}')" = "$2" ]
}

hpa_scales_by_written_metrics() {
	deployment busy 1 | kc person apply --server-side -f -
	kc person -n "$NS" autoscale deployment busy --min=1 --max=4 --cpu=50%
	wait_until 60 kc person -n "$NS" rollout status deployment/busy --timeout=1s
	wait_until 60 replicas_become 90m 4
	kc person -n "$NS" get deployment busy --show-managed-fields \
		-o 'jsonpath={range .metadata.managedFields[*]}{.manager}/{.subresource}{"\n"}{end}' |
		grep -x kube-controller-manager/scale >/dev/null || fail "no scale entry of the autoscaler"
	wait_until 60 replicas_become 1m 1
}

has_no_namespace() {
	! kc admin get namespace "$1"
}

# Also one that has set a trap of its own, as truce.sh does.
a_test_that_fails_leaves_nothing() {
	local status=0 left
	# shellcheck disable=SC2016 # expands where it runs
	left=$(TRUCE=$(type -P true) bash -c '. "$1/lib.sh"
		cluster_begin
		. "$1/truce.sh"
		truce_begin left
		printf "%s %s\n" "$NS" "$WORK"
		exit 3' - "$cluster_source") || status=$?
	assert_eq 3 "$status" 'exit status'
	wait_until 60 has_no_namespace "${left% *}"
	[ ! -e "${left#* }" ] || fail 'the folder is still there'
}

# The three below have clusters of their own.
two_clusters_run_at_once_and_leave_nothing() {
	local second=$TRUCE_CLUSTER_DIR/extra/second port
	"$cluster_source/cluster" up "$second" --no-podsim --owner $$
	port=$(server_port "$second")
	[ "$port" != "$(server_port "$TRUCE_CLUSTER_DIR")" ] || fail "both have port $port"
	port_is_open "$port" || fail "port $port is not open"
	[ -n "$(processes_of "$second")" ] || fail "no processes seen"
	"$TRUCE_TEST_KUBECTL" --kubeconfig="$second/kubeconfig/truce.kubeconfig" create namespace only-here
	! kc person get namespace only-here 2>/dev/null || fail "the clusters are one"
	"$cluster_source/cluster" down "$second"
	assert_eq "" "$(processes_of "$second")" "processes left"
	! port_is_open "$port" || fail "port $port is still open"
	[ ! -e "$second" ] || fail "the folder is still there"
	kc person get namespace default
}

failed_start_leaves_no_process() {
	local broken=$TRUCE_CLUSTER_DIR/extra/broken
	if "$cluster_source/cluster" up "$broken" --owner $$ --apiserver-arg=--no-such-flag 2>/dev/null; then
		fail "it started"
	fi
	assert_eq "" "$(processes_of "$broken")" "processes left"
}

cluster_ends_with_its_owner() {
	local orphan=$TRUCE_CLUSTER_DIR/extra/orphan owner
	sleep 600 &
	owner=$!
	"$cluster_source/cluster" up "$orphan" --no-podsim --owner "$owner"
	disown "$owner"
	kill -9 "$owner"
	wait_until 20 test ! -e "$orphan"
	wait_until 5 has_no_process "$orphan"
}

if [ -n "$(cluster_external_kubeconfig)" ]; then
	skip "a kubeconfig is given: the test of our own control plane has nothing to do"
fi
unset TRUCE_CLUSTER_DIR
cluster_begin --hpa
new_namespace itself
run_cases \
	kubectl_and_server_are_the_same_version \
	identities_are_who_they_say \
	deployment_gets_ready_pods_and_loses_them \
	pods_settle_without_further_writes \
	job_succeeds_when_its_annotation_asks \
	held_pod_is_not_ready_until_released \
	manual_edit_is_owned_by_its_tool \
	audit_counts_each_request_once_and_shows_the_agents_bodies \
	service_account_token_is_valid \
	apiserver_comes_back_with_the_same_port \
	apiserver_without_etcd_can_be_stopped \
	watch_from_before_a_compaction_is_gone \
	hpa_scales_by_written_metrics \
	a_test_that_fails_leaves_nothing \
	two_clusters_run_at_once_and_leave_nothing \
	failed_start_leaves_no_process \
	cluster_ends_with_its_owner

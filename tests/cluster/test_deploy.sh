#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# deploy/ on a real API server: it is admitted, and an agent with just what a Pod of it has (the account's token, CA file
# and rights, the mounted configuration, any uid, nothing writable but its data) does its work.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
ACCOUNT=system:serviceaccount:truce:truce
NS=shop

# mounted DIR: the files of standard input ("NAME<TAB>BASE64" a line) as kubelet mounts them: links to a folder that is
# swapped as a whole.
mounted() {
	local dir=$1 version name text
	version=..$(date +%s%N)
	mkdir -p "$dir/$version"
	while IFS=$'\t' read -r name text; do
		base64 -d <<<"$text" >"$dir/$version/$name"
		[ -L "$dir/$name" ] || ln -s "..data/$name" "$dir/$name"
	done
	ln -s "$version" "$dir/..data_tmp"
	mv -T "$dir/..data_tmp" "$dir/..data"
	chmod -R a+rX "$dir"
}

as_line() {
	printf '%s\t%s\n' "$1" "$(base64 -w0)"
}

# account SECRET: a token that lives as long as that Secret, and the rest of a Pod's account folder.
account() {
	kc admin create secret generic "$1" -n truce >/dev/null
	{
		kc admin create token truce -n truce --bound-object-kind Secret --bound-object-name "$1" | tr -d '\n' | as_line token
		as_line ca.crt <"$TRUCE_TEST_CA"
		printf truce | as_line namespace
	} | mounted "$WORK/account"
}

configuration() {
	kc admin get configmap truce-config -n truce -o json | URL=$URL python3 -c '
import base64, json, os, sys
for name, text in json.load(sys.stdin)["data"].items():
    text = text.replace("https://git.example/shop.git", os.environ["URL"]).replace("pollInterval: 30s", "pollInterval: 1s")
    print(name, base64.b64encode(text.encode()).decode(), sep="\t")' | mounted "$WORK/etc"
}

# In a Pod: another uid, a root that cannot be written to. What this machine does not let us do is left out, and said.
confined() {
	local ids=(setpriv --reuid 12345 --regid 12345 --clear-groups --no-new-privs --inh-caps=-all)
	if [ "$(id -u)" != 0 ]; then
		exec "$@"
	elif unshare --mount true 2>/dev/null; then
		# shellcheck disable=SC2016
		exec unshare --mount --propagation private bash -c '
			mount --bind "$0/data" "$0/data"
			mount -o remount,bind,ro / 2>/dev/null
			mount -o remount,bind,ro /tmp 2>/dev/null
			exec "$@"' "$WORK" "${ids[@]}" "$@"
	else
		exec "${ids[@]}" "$@"
	fi
}

# The container's own arguments, with the paths of this machine.
arguments() {
	kc admin get deployment truce -n truce -o json | WORK=$WORK PORT=$PORT python3 -c '
import json, os, sys
here = {"/etc/truce": os.environ["WORK"] + "/etc", "/var/lib/truce": os.environ["WORK"] + "/data",
        ":8080": "127.0.0.1:" + os.environ["PORT"]}
for arg in json.load(sys.stdin)["spec"]["template"]["spec"]["containers"][0]["args"]:
    print(here.get(arg, arg))'
}

pod_starts() {
	local args address=${TRUCE_TEST_SERVER#https://}
	mapfile -t args < <(arguments)
	: >"$LOG"
	LOG_FROM=1
	(
		confined env -i PATH=/usr/bin:/bin KUBERNETES_SERVICE_HOST="${address%:*}" KUBERNETES_SERVICE_PORT="${address##*:}" \
			TRUCE_SERVICE_ACCOUNT_DIR="$WORK/account" "$WORK/truce" "${args[@]}"
	) >"$LOG" 2>&1 &
	AGENT_PID=$!
}

page() {
	curl -s --max-time 5 -o "$WORK/page" -w '%{http_code}' "http://127.0.0.1:$PORT$1" || true
}

page_is() {
	[ "$(page "$1")" = "$2" ]
}

deploy_is_admitted_without_a_warning() {
	# The namespace first: the files stand in the order of their names.
	kc admin apply --server-side -f "$TOP/deploy/namespace.yaml" 2>"$WORK/warnings" >/dev/null
	kc admin apply --server-side -f "$TOP/deploy" 2>>"$WORK/warnings" >/dev/null
	assert_eq '' "$(cat "$WORK/warnings")" 'warnings of kubectl apply'
	kc admin rollout status deployment truce -n truce --timeout=60s >/dev/null
	kc admin apply --server-side --dry-run=server -f "$TOP/deploy" >/dev/null
}

a_pod_syncs_with_just_its_rights() {
	mkdir -m 777 "$WORK/data"
	cp "$TRUCE" "$WORK/truce"
	account first
	configuration
	put flags.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: flags}
		data: {dark: "on"}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: Role
		metadata: {name: reader}
		rules: [{apiGroups: [""], resources: [pods], verbs: [get, list, deletecollection]}]
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: RoleBinding
		metadata: {name: reader}
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
		subjects: [{kind: ServiceAccount, name: default}]
	YAML
	commit 'some flags'
	mark
	pod_starts
	agent_waits 30 '"msg":"latency"'
	assert_eq on "$(got configmap flags '{.data.dark}')"
	exists role reader
	assert_eq 0 "$(audit_count --user "$ACCOUNT" --code 403 --since "$MARK")" 'requests that were forbidden'
	[ "$(audit_count --user "$ACCOUNT" --since "$MARK")" -gt 5 ] || fail 'these were not the requests of the account'
}

it_is_confined() {
	[ "$(id -u)" = 0 ] || return 0
	assert_eq 12345 "$(stat -c %u "/proc/$AGENT_PID")" 'uid of truce'
	assert_eq 12345 "$(stat -c %u "$WORK"/data/* | sort -u)" 'owner of its data'
	if [ "$(readlink "/proc/$AGENT_PID/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]; then
		printf '# root mounted %s\n' "$(awk '$5 == "/" { print substr($6, 1, 2) }' "/proc/$AGENT_PID/mountinfo" | tail -n 1)"
	fi
}

probes_and_metrics_answer() {
	assert_eq 200 "$(page /healthz)" /healthz
	assert_eq 200 "$(page /readyz)" /readyz
	assert_eq 200 "$(page /metrics)" /metrics
	grep -q '^truce_commits_applied_total 1$' "$WORK/page" || fail 'no commit in /metrics'
	assert_eq 404 "$(page /nothing)" 'another page'
}

drift_is_healed() {
	kc person patch configmap flags -n shop -p '{"data":{"dark":"off"}}' >/dev/null
	wait_until 10 is_dark on
}

is_dark() {
	[ "$(got configmap flags '{.data.dark}')" = "$1" ]
}

what_is_truce_s_own_is_refused() {
	local before after
	before=$(kc admin get clusterrole truce -o 'jsonpath={.metadata.resourceVersion}')
	cp "$TOP/deploy/rbac.yaml" "$REPO/deploy/rbac.yaml"
	put own.yaml <<-'YAML'
		apiVersion: v1
		kind: Namespace
		metadata: {name: truce, labels: {mine: "yes"}}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: truce-config, namespace: truce}
		data: {agent.yaml: ""}
	YAML
	put more.yaml <<<'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}}'
	agent_mark
	commit 'takes truce over'
	wait_until 20 exists configmap more
	agent_waits 10 'deploy/own.yaml:1'
	agent_waits 10 'deploy/rbac.yaml:'
	after=$(kc admin get clusterrole truce -o 'jsonpath={.metadata.resourceVersion}')
	assert_eq "$before" "$after" 'resourceVersion of the ClusterRole'
	assert_eq '' "$(kc admin get namespace truce -o 'jsonpath={.metadata.labels.mine}')"
	[ -n "$(kc admin get configmap truce-config -n truce -o 'jsonpath={.data.apps\.yaml}')" ] || fail 'the configuration changed'
	git -C "$REPO" rm -q deploy/own.yaml deploy/rbac.yaml
	commit 'leaves truce alone'
	wait_until 20 log_has 'leaves truce alone'
}

# The token's Secret goes, and with it the token; kubelet has put another one in its place before.
tokens_are_rotated() {
	local old_id new_id
	old_id=$(credential)
	account second
	kc admin delete secret first -n truce >/dev/null
	# The API server remembers a good token for 10 s.
	sleep 11
	agent_mark
	sed -i 's/"on"/"dimmed"/' "$REPO/deploy/flags.yaml"
	commit 'dimmed flags'
	wait_until 20 is_dark dimmed
	new_id=$(credential)
	[ "$old_id" != "$new_id" ] || fail "still the token $old_id"
	wait_until 30 page_is /readyz 200
}

# The id of the token that the newest write was made with.
credential() {
	cluster audit --lines --user "$ACCOUNT" --verb patch | tail -n 1 | python3 -c '
import json, sys
print(*json.loads(sys.stdin.read())["user"]["extra"]["authentication.kubernetes.io/credential-id"])'
}

it_ends_at_once() {
	local begin=$SECONDS
	agent_stop
	[ $((SECONDS - begin)) -le 10 ] || fail "it took $((SECONDS - begin)) s to end"
}

# A restart of the Pod finds its data and writes nothing.
a_restart_writes_nothing() {
	mark
	pod_starts
	agent_waits 30 '"msg":"latency"'
	local writes leases
	writes=$(audit_count --user "$ACCOUNT" --verb patch,create,update,delete --since "$MARK")
	leases=$(audit_count --user "$ACCOUNT" --verb patch,create,update,delete --resource leases --since "$MARK")
	assert_eq 0 "$((writes - leases))" 'writes of a restart'
	agent_stop
}

if [ -n "$(cluster_external_kubeconfig)" ]; then
	skip "a kubeconfig is given: this test takes the namespace truce for itself"
fi
unset TRUCE_CLUSTER_DIR
cluster_begin
PORT=$(free_port)
truce_begin deploy
NS=shop
serve_repo
run_cases deploy_is_admitted_without_a_warning a_pod_syncs_with_just_its_rights it_is_confined probes_and_metrics_answer \
	drift_is_healed what_is_truce_s_own_is_refused tokens_are_rotated it_ends_at_once a_restart_writes_nothing

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The API server goes away, comes back without its history, or dies in the middle of a sync: truce converges without a
# restart, lists each kind at most once, and keeps calm meanwhile. TRUCE_LONG=1: outages of 30 s.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

OUTAGE_S=5
[ "${TRUCE_LONG-}" != 1 ] || OUTAGE_S=30
# Back-offs after OUTAGE_S, and some. On a busy machine a server takes its time to start, and that is outage too.
BACK_S=$((OUTAGE_S * 3 + 20))

# away_since SECONDS: BACK_S for an outage that began then and ends now.
away_since() {
	local away=$((SECONDS - $1))
	BACK_S=$(((away > OUTAGE_S ? away : OUTAGE_S) * 3 + 20))
}
KINDS='configmaps deployments horizontalpodautoscalers secrets services'

put_shop() {
	put shop.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: settings}
		data: {size: "$1"}
		---
		apiVersion: v1
		kind: Secret
		metadata: {name: db}
		stringData: {password: "secret-$1"}
		---
		apiVersion: v1
		kind: Service
		metadata: {name: web}
		spec: {selector: {app: web}, ports: [{port: 80}]}
		---
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web}
		spec:
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec: {containers: [{name: main, image: "main:$1"}]}
	YAML
}

has_size() {
	[ "$(got configmap settings '{.data.size}')" = "$1" ] &&
		[ "$(got deployment web '{.spec.template.spec.containers[0].image}')" = "main:$1" ]
}

url() {
	curl -s --max-time 5 -o "$WORK/page" -w '%{http_code}' "http://127.0.0.1:$PORT$1"
}

is_ready() {
	[ "$(url /readyz)" = 200 ]
}

is_not_ready() {
	[ "$(url /readyz)" = 503 ]
}

# Requests that truce began, also those that nobody answered.
requests_tried() {
	url /metrics >/dev/null
	awk '/^rest_client_requests_total/ { n += $2 } END { print n }' "$WORK/page"
}

lines() {
	wc -l <"$LOG"
}

lists_at_most_one() {
	local kind count
	for kind in $KINDS; do
		count=$(audit_count --user truce --since "$MARK" --verb list --resource "$kind")
		# The inventory is a ConfigMap: it is listed by its label when it has to be read again.
		[ "$count" -le 1 ] || { [ "$kind" = configmaps ] && [ "$count" -le 2 ]; } || fail "$count lists of $kind"
	done
}

# stays_calm REQUESTS LINES: what there was before the outage.
stays_calm() {
	local requests=$(($(requests_tried) - $1)) log=$(($(lines) - $2))
	printf '# %s requests, %s log lines in %s s\n' "$requests" "$log" "$OUTAGE_S"
	# Five watches with their back-offs, the objects of the commit, and what they try again.
	[ "$requests" -le $((20 + OUTAGE_S * 6)) ] || fail "$requests requests in an outage of $OUTAGE_S s"
	[ "$log" -le $((20 + OUTAGE_S)) ] || fail "$log log lines in an outage of $OUTAGE_S s"
}

# outage STOP START SIZE: with a commit in the middle of it.
outage() {
	local stop=$1 start=$2 size=$3 requests log begin=$SECONDS
	mark
	agent_mark
	requests=$(requests_tried)
	log=$(lines)
	$stop
	put_shop "$size"
	commit "size $size"
	# Without etcd the API server goes on serving watches, and answers writes late or never.
	if [ "$stop" = stop_apiserver ]; then
		wait_until 10 is_not_ready
		grep -q 'API server' "$WORK/page" || fail "/readyz does not say what is wrong: $(cat "$WORK/page")"
		agent_waits 5 'msg="does not work now, tried again"'
	else
		agent_waits 15 'for="the API server to answer"'
	fi
	assert_eq 200 "$(url /healthz)" '/healthz during the outage'
	sleep "$OUTAGE_S"
	stays_calm "$requests" "$log"
	$start
	away_since "$begin"
	wait_until "$BACK_S" has_size "$size"
	wait_until "$BACK_S" is_ready
	lists_at_most_one
	# What is drift afterwards is healed: the watches are back.
	kc person patch configmap settings -n "$NS" -p '{"data":{"size":"drift"}}' >/dev/null
	wait_until "$BACK_S" has_size "$size"
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
}

stop_apiserver() { cluster stop apiserver; }
start_apiserver() { cluster start apiserver; }
kill_etcd() { cluster stop etcd --kill; }
start_etcd() { cluster start etcd; }

it_begins_converged() {
	put_shop 1
	commit 'size 1'
	agent_start --listen "127.0.0.1:$PORT"
	agent_waits 30 'msg="latency"'
	wait_until 10 is_ready
}

the_api_server_is_away() {
	outage stop_apiserver start_apiserver 2
}

etcd_is_away() {
	outage kill_etcd start_etcd 3
}

history_is_gone() {
	local begin=$SECONDS
	mark
	agent_mark
	cluster compact --restart >/dev/null
	away_since "$begin"
	put_shop 4
	commit 'size 4'
	wait_until "$BACK_S" has_size 4
	wait_until "$BACK_S" is_ready
	lists_at_most_one
	kc person delete service web -n "$NS" >/dev/null
	wait_until "$BACK_S" exists service web
}

COUNT=200

put_many() {
	local i
	for i in $(seq "$COUNT"); do
		printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: many-%s}\ndata: {a: "%s"}\n---\n' "$i" "$1"
	done | put many.yaml
}

created_some() {
	[ "$(grep -c 'msg="created".*many-' "$LOG")" -ge 20 ]
}

many_are() {
	[ "$(kc admin get configmap -n "$NS" -o 'jsonpath={range .items[*]}{.metadata.name}={.data.a}{"\n"}{end}' | grep -c "^many-.*=$1$")" = "$COUNT" ]
}

created_twice() {
	cluster audit --lines --user truce --verb patch,create --resource configmaps --namespace "$NS" --code 201 --since "$MARK" |
		python3 -c '
import collections, json, sys
seen = collections.Counter(json.loads(line)["objectRef"]["name"] for line in sys.stdin)
print(*[name for name, n in seen.items() if n > 1])'
}

in_inventory() {
	kc admin get configmap -n "$NS-truce" -l truce.dev/inventory=shop -o json | grep -o "/ConfigMap/$NS/many-[0-9]*" | sort -u | wc -l
}

# In the middle of a sync: what was sent may have been done or not.
it_dies_in_the_middle_of_a_sync() {
	local begin
	mark
	agent_mark
	put_many 1
	commit 'many'
	wait_until 20 created_some
	begin=$SECONDS
	cluster stop apiserver --kill
	sleep 1
	cluster start apiserver
	away_since "$begin"
	wait_until "$BACK_S" many_are 1
	assert_eq '' "$(created_twice)" 'created twice'
	assert_eq "$COUNT" "$(in_inventory)" 'objects in the inventory'
	wait_until "$BACK_S" log_has "synced=$((COUNT + 4)) failed=0"
	lists_at_most_one
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
	agent_stop
}

cluster_begin --controller-manager-arg=--v=0
cluster_needs private
truce_begin outage
PORT=$(free_port)
run_cases it_begins_converged the_api_server_is_away history_is_gone etcd_is_away it_dies_in_the_middle_of_a_sync

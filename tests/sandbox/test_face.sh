#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The program itself: its HTTP face (face.py), its files, its flags.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"

maps=/api/v1/namespaces/default/configmaps

clients_get_what_http_promises() {
	python3 "$(dirname "$0")/face.py" "$API" "$SANDBOX_PID"
}

the_kubeconfig_is_for_its_owner_only() {
	assert_eq 600 "$(stat -c %a "$KUBECONFIG")" 'mode of the kubeconfig'
}

it_ends_with_watches_open() {
	local reader
	curl -sN "$API/api/v1/namespaces?watch=true" >"$WORK/events" &
	reader=$!
	wait_until 10 grep -q ADDED "$WORK/events"
	sandbox_end
	wait "$reader" || true # ends, in the middle of the stream
}

state_is_kept_in_a_file() {
	sandbox_start --state "$WORK/state" --user jane
	api POST "$maps" '{"metadata":{"name":"kept"},"data":{"k":"v"}}'
	assert_eq 201 "$CODE"
	wait_until 5 grep -q '"kept"' "$WORK/state"
	api POST "$maps" '{"metadata":{"name":"late"}}'
	sandbox_end
	sandbox_start --state "$WORK/state"
	assert_eq v "$(got "$maps/kept" data.k)"
	assert_eq late "$(got "$maps/late" metadata.name)"
	sandbox_end
}

# refused FLAG…: it does not start.
refused() {
	RC=0
	OUT=$(timeout 20 "$TRUCE" sandbox --kubeconfig "$WORK/other" "$@" 2>&1) || RC=$?
	[ ! -e "$WORK/other" ] || fail 'a kubeconfig was written all the same'
}

a_state_belongs_to_one_process() {
	sandbox_start --state "$WORK/state"
	refused --state "$WORK/state"
	assert_eq 2 "$RC"
	[[ $OUT == *'is in use by another truce sandbox'* ]] || fail "the reason is missing: $OUT"
	kill -KILL "$SANDBOX_PID"
	wait "$SANDBOX_PID" || true
	sandbox_start --state "$WORK/state" # a sudden end leaves nothing that has to be taken away by hand
	sandbox_end
	[ ! -e "$WORK/state.lock" ] || fail 'the lock is still there'
}

a_bad_state_is_named_and_left_alone() {
	head -c 3000 "$WORK/state" >"$WORK/short"
	cp "$WORK/short" "$WORK/before"
	refused --state "$WORK/short"
	assert_eq 2 "$RC"
	[[ $OUT == *"$WORK/short"*damaged* ]] || fail "the reason is missing: $OUT"
	cmp "$WORK/short" "$WORK/before"
	refused --state "$WORK"
	[[ $OUT == *"$WORK"* ]] || fail "the reason is missing: $OUT"
	refused --state "$WORK/none/state"
	[[ $OUT == *"$WORK/none/state"* ]] || fail "the reason is missing: $OUT"
}

another_kubeconfig_is_not_replaced() {
	printf 'apiVersion: v1\nkind: Config\n' >"$WORK/mine"
	RC=0
	OUT=$("$TRUCE" sandbox --kubeconfig "$WORK/mine" 2>&1) || RC=$?
	assert_eq 2 "$RC"
	[[ $OUT == *'was not written by truce sandbox'* ]] || fail "the reason is missing: $OUT"
	assert_eq 'apiVersion: v1' "$(head -n 1 "$WORK/mine")"
}

only_loopback_is_served() {
	RC=0
	OUT=$("$TRUCE" sandbox --kubeconfig "$WORK/other" --listen 0.0.0.0:0 2>&1) || RC=$?
	assert_eq 2 "$RC"
	[[ $OUT == *'only on loopback'* ]] || fail "the reason is missing: $OUT"
	[ ! -e "$WORK/other" ] || fail 'a kubeconfig was written all the same'
}

manifests_and_rules_are_there_from_the_start() {
	mkdir "$WORK/load"
	cat >"$WORK/load/a.yaml" <<-YAML
		apiVersion: shop.example/v1
		kind: Till
		metadata: {name: first, namespace: shop}
		spec: {open: true}
		---
		apiVersion: v1
		kind: List
		items:
		- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}}
	YAML
	cat >"$WORK/load/b.yaml" <<-YAML
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: tills.shop.example}
		spec:
		  group: shop.example
		  scope: Namespaced
		  names: {kind: Till, plural: tills, singular: till, listKind: TillList}
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {open: {type: boolean}}}}}}
		---
		apiVersion: v1
		kind: Namespace
		metadata: {name: shop}
	YAML
	cat >"$WORK/rules" <<-YAML
		rules:
		- name: owner
		  match: {kinds: [ConfigMap], operations: [CREATE], namespaces: [shop]}
		  unlessSet: /metadata/labels/owner
		  deny: missing label owner
	YAML
	sandbox_start --load "$WORK/load" --rules "$WORK/rules"
	assert_eq true "$(got /apis/shop.example/v1/namespaces/shop/tills/first spec.open)"
	assert_eq listed "$(got "$maps/listed" metadata.name)"
	api POST "/api/v1/namespaces/shop/configmaps" '{"metadata":{"name":"nobodys"}}'
	assert_eq 403 "$CODE"
	[[ $BODY == *'missing label owner'* ]] || fail "the rule's text is missing"
	sandbox_end
}

what_cannot_be_loaded_is_named() {
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad_name}\n' >"$WORK/bad.yaml"
	RC=0
	OUT=$("$TRUCE" sandbox --kubeconfig "$WORK/other" --load "$WORK/bad.yaml" 2>&1) || RC=$?
	assert_eq 2 "$RC"
	[[ $OUT == *"bad.yaml: ConfigMap 'bad_name': "*'lowercase RFC 1123'* ]] || fail "the place is missing: $OUT"
}

sandbox_start
run_cases clients_get_what_http_promises the_kubeconfig_is_for_its_owner_only it_ends_with_watches_open \
	state_is_kept_in_a_file a_state_belongs_to_one_process \
	a_bad_state_is_named_and_left_alone another_kubeconfig_is_not_replaced only_loopback_is_served \
	manifests_and_rules_are_there_from_the_start what_cannot_be_loaded_is_named

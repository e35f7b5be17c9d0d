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

# Nothing that it opens becomes a descriptor that is printed to.
it_works_without_standard_descriptors() {
	local pid
	RC=0
	"$TRUCE" sandbox --kubeconfig "$WORK/closed" --state "$WORK/closed.state" <&- >&- 2>&- &
	pid=$!
	wait_until 20 test -s "$WORK/closed"
	kill -TERM "$pid"
	wait "$pid" || RC=$?
	assert_eq 2 "$RC" # what it had to say could not be said
	assert_eq '{"format":1,' "$(head -c 12 "$WORK/closed.state")"
	RC=0
	"$TRUCE" --version >&- 2>&- || RC=$?
	assert_eq 2 "$RC"
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
	it_works_without_standard_descriptors another_kubeconfig_is_not_replaced only_loopback_is_served \
	manifests_and_rules_are_there_from_the_start what_cannot_be_loaded_is_named

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A fight on a real API server, dumped by kubectl and replayed in `truce sandbox --from`: kubectl prints the same objects
# there, to the letter, and `truce owners` and `truce diff` say of both the same.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

SANDBOX=

put_all() {
	put web.yaml <<-'YAML'
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web, labels: {team: shop}}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec:
		      containers:
		      - name: web
		        image: registry.example/web:2.4
		        env:
		        - {name: LOG, value: info}
		        - {name: REGION, value: eu-central}
	YAML
	put rest.yaml <<-YAML
		apiVersion: v1
		kind: Service
		metadata: {name: web}
		spec: {selector: {app: web}, ports: [{port: 80}]}
		---
		apiVersion: v1
		kind: Secret
		metadata: {name: key}
		stringData: {password: hunter2}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: held}
		data: {a: "1", b: "2"}
		---
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: web}
		spec:
		  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
		  minReplicas: 2
		  maxReplicas: 2
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
		---
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: gadgets.$NS.example.com}
		spec:
		  group: $NS.example.com
		  scope: Namespaced
		  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    subresources: {status: {}}
		    schema:
		      openAPIV3Schema:
		        type: object
		        properties:
		          spec:
		            type: object
		            properties:
		              size: {type: integer, default: 3}
		              parts:
		                type: array
		                x-kubernetes-list-type: map
		                x-kubernetes-list-map-keys: [name]
		                items: {type: object, required: [name], properties: {name: {type: string}, weight: {type: integer}}}
		          status: {type: object, properties: {ready: {type: boolean}}}
		---
		apiVersion: $NS.example.com/v1
		kind: Gadget
		metadata: {name: one}
		spec: {parts: [{name: a, weight: 1}, {name: b, weight: 2}]}
	YAML
}

a_fight_is_going_on() {
	put_all
	commit first
	truce_ok sync --wait=applied
	kc operator -n "$NS" patch deployment web --field-manager region-operator --type strategic -p \
		'{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"REGION","value":"eu-west"}]}]}}}}' >/dev/null
	as_edited s/info/debug/ deployment web
	kc operator -n "$NS" patch "gadgets.$NS.example.com" one --field-manager gadgets --type merge -p \
		'{"spec":{"parts":[{"name":"a","weight":7},{"name":"b","weight":2},{"name":"c"}]}}' >/dev/null
	kc operator -n "$NS" patch "gadgets.$NS.example.com" one --field-manager gadgets --subresource status --type merge -p \
		'{"status":{"ready":true}}' >/dev/null
	kc person -n "$NS" patch configmap held --type merge -p '{"metadata":{"finalizers":["example.com/hold"]},"data":{"a":"9"}}' >/dev/null
	kc person -n "$NS" delete configmap held --wait=false >/dev/null
	cat >"$WORK/agent.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec: {ownership: {rules: [{manager: region-operator, kind: Deployment, action: take}]}}
	YAML
}

# dump USER-OR-KUBECONFIG FILE: what there is of it, one list after the other.
dump() {
	local what
	{
		"$TRUCE_TEST_KUBECTL" --kubeconfig "$1" get crd "gadgets.$NS.example.com" -o yaml --show-managed-fields
		echo ---
		"$TRUCE_TEST_KUBECTL" --kubeconfig "$1" get namespaces "$NS" "$NS-truce" -o yaml --show-managed-fields
		for what in "$NS" "$NS-truce"; do
			echo ---
			"$TRUCE_TEST_KUBECTL" --kubeconfig "$1" get -n "$what" -o yaml --show-managed-fields \
				"deployments,replicasets,services,secrets,configmaps,horizontalpodautoscalers,serviceaccounts,gadgets.$NS.example.com"
		done
	} >"$2"
}

# Controllers may still be writing a status: what two looks see alike is a state.
two_dumps_are_alike() {
	dump "$TRUCE_TEST_KUBECONFIG" "$WORK/dump.yaml"
	dump "$TRUCE_TEST_KUBECONFIG" "$WORK/again.yaml"
	cmp -s "$WORK/dump.yaml" "$WORK/again.yaml"
}

the_sandbox_has_what_the_dump_has() {
	wait_until 60 two_dumps_are_alike
	"$TRUCE" sandbox --kubeconfig "$WORK/sandbox.kubeconfig" --from "$WORK/dump.yaml" >"$WORK/sandbox.log" 2>&1 &
	wait_until 20 grep -q 'Ctrl-C' "$WORK/sandbox.log"
	SANDBOX=$WORK/sandbox.kubeconfig
	dump "$SANDBOX" "$WORK/sandbox.yaml"
	diff "$WORK/dump.yaml" "$WORK/sandbox.yaml" >&2 || fail 'the sandbox (>) has something else than the dump (<)'
	[ "$(grep -c '^truce:' "$WORK/sandbox.log" || true)" = 0 ] || fail "something is told: $(<"$WORK/sandbox.log")"
	grep -q 'deletionTimestamp' "$WORK/dump.yaml"
}

# of_both VERB [FLAG…]: what it says of the cluster and of the sandbox is the same, and so is how it ends.
of_both() {
	local here there status
	truce "$@" --config "$WORK/agent.yaml"
	here=$OUT status=$RC
	truce "$@" --config "$WORK/agent.yaml" --kubeconfig "$SANDBOX"
	there=$OUT
	assert_eq "$status" "$RC" "exit status of truce $*: $here $there"
	diff <(printf '%s\n' "$here") <(printf '%s\n' "$there") >&2 || fail "truce $* says something else of the sandbox (>)"
}

owners_are_the_same() {
	of_both owners deployment/web -o json
	says region-operator
	says '"truce": "takes"'
	of_both owners deployment/web -o json --all
	of_both owners gadget/one -o json
	of_both owners configmap/held -o json
	of_both owners secret/key -o json
}

the_diff_is_the_same() {
	of_both diff -o json
	assert_eq 1 "$RC"
	says eu-west
	of_both diff
	of_both diff -o markdown
}

# What was seen there is done here, and the cluster is as it was.
a_sync_in_the_sandbox_ends_it_there() {
	truce sync --config "$WORK/agent.yaml" --kubeconfig "$SANDBOX"
	dump "$TRUCE_TEST_KUBECONFIG" "$WORK/again.yaml"
	cmp "$WORK/dump.yaml" "$WORK/again.yaml" || fail 'the cluster changed'
	assert_eq eu-central "$("$TRUCE_TEST_KUBECTL" --kubeconfig "$SANDBOX" -n "$NS" get deployment web \
		-o 'jsonpath={.spec.template.spec.containers[0].env[1].value}')"
}

all_is_cleared_away() {
	kc admin -n "$NS" patch configmap held --type merge -p '{"metadata":{"finalizers":null}}' >/dev/null
	kc admin delete crd "gadgets.$NS.example.com" --wait=false >/dev/null
}

cluster_begin
truce_begin from
run_cases a_fight_is_going_on the_sandbox_has_what_the_dump_has owners_are_the_same the_diff_is_the_same \
	a_sync_in_the_sandbox_ends_it_there all_is_cleared_away

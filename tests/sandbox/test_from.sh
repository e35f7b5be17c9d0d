#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `truce sandbox --from`: what a dump holds is there as it was, stays as it is, and what cannot be taken is told by file and
# line. Then examples/replay, as docs/testing.md shows it.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"
example=$(cd "$(dirname "$0")/../../examples/replay" && pwd)

# dump FILE: standard input becomes a dump in $WORK.
dump() {
	cat >"$WORK/$1"
}

# refused FLAG…: it does not start, says why, and has made nothing.
refused() {
	RC=0
	OUT=$(timeout 60 "$TRUCE" sandbox --kubeconfig "$WORK/other" "$@" 2>&1) || RC=$?
	assert_eq 2 "$RC" "exit status: $OUT"
	[ ! -e "$WORK/other" ] || fail 'a kubeconfig was written all the same'
}

# same FILE: each object of the dump is in the sandbox as it is there.
same() {
	python3 - "$API" "$1" <<-'PY'
		import json, sys, urllib.request, yaml
		api, path = sys.argv[1:]
		plurals = {"CustomResourceDefinition": "customresourcedefinitions", "Deployment": "deployments",
		           "ReplicaSet": "replicasets", "ConfigMap": "configmaps", "Secret": "secrets", "Gadget": "gadgets",
		           "Namespace": "namespaces", "HorizontalPodAutoscaler": "horizontalpodautoscalers"}
		def objects():
		    with open(path) as file:
		        for document in yaml.safe_load_all(file):
		            yield from document["items"] if document["kind"] == "List" else [document]
		for o in objects():
		    version, meta = o["apiVersion"], o["metadata"]
		    url = api + ("/apis/" if "/" in version else "/api/") + version
		    url += "/namespaces/" + meta["namespace"] if "namespace" in meta else ""
		    with urllib.request.urlopen(url + "/" + plurals[o["kind"]] + "/" + meta["name"]) as reply:
		        live = json.load(reply)
		    if live != o:
		        keys = [k for k in set(live) | set(o) if live.get(k) != o.get(k)]
		        sys.exit(f"{o['kind']} {meta['name']} differs: " + ", ".join(f"{k}: {o.get(k)} {live.get(k)}" for k in keys))
	PY
}

all_is_as_it_was() {
	dump all.yaml <<-'YAML'
		apiVersion: v1
		kind: List
		metadata: {resourceVersion: ""}
		items:
		- apiVersion: example.com/v1
		  kind: Gadget
		  metadata:
		    name: one
		    namespace: tools
		    uid: 00000000-0000-4000-8000-000000000001
		    resourceVersion: "7001"
		    creationTimestamp: "2026-01-02T03:04:05Z"
		    generation: 12
		    finalizers: [example.com/hold]
		    deletionTimestamp: "2026-01-03T00:00:00Z"
		    deletionGracePeriodSeconds: 0
		    managedFields:
		    - {manager: gadgets, operation: Update, subresource: status, apiVersion: example.com/v1, fieldsType: FieldsV1, time: "2026-01-02T03:04:06Z", fieldsV1: {"f:status": {"f:ready": {}}}}
		  spec: {size: 3, parts: [{name: a, weight: 1}]}
		  status: {ready: true}
		- apiVersion: apps/v1
		  kind: ReplicaSet
		  metadata:
		    name: web-1
		    namespace: shop
		    uid: 00000000-0000-4000-8000-000000000002
		    resourceVersion: "7002"
		    creationTimestamp: "2026-01-02T03:04:05Z"
		    generation: 1
		    ownerReferences:
		    - {apiVersion: apps/v1, kind: Deployment, name: web, uid: 00000000-0000-4000-8000-0000000000ff, controller: true, blockOwnerDeletion: true}
		    managedFields:
		    - {manager: x, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1, time: "2026-01-02T03:04:05Z", fieldsV1: {"f:spec": {"f:replicas": {}}}}
		  spec:
		    replicas: 3
		    selector: {matchLabels: {app: web}}
		    template:
		      metadata: {labels: {app: web}}
		      spec:
		        containers:
		        - {name: web, image: "web:1", imagePullPolicy: IfNotPresent, resources: {}, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}
		        dnsPolicy: ClusterFirst
		        restartPolicy: Always
		        schedulerName: default-scheduler
		        securityContext: {}
		        terminationGracePeriodSeconds: 30
		  status: {replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 1, observedGeneration: 1}
		- apiVersion: v1
		  kind: Secret
		  metadata:
		    name: key
		    namespace: ending
		    uid: 00000000-0000-4000-8000-000000000003
		    resourceVersion: "6000"
		    creationTimestamp: "2026-01-02T03:04:05Z"
		    managedFields:
		    - {manager: x, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, time: "2026-01-02T03:04:05Z", fieldsV1: {"f:data": {"f:p": {}}}}
		  data: {p: c2VjcmV0}
		  type: Opaque
		- apiVersion: v1
		  kind: Namespace
		  metadata:
		    name: ending
		    uid: 00000000-0000-4000-8000-000000000004
		    resourceVersion: "7004"
		    creationTimestamp: "2026-01-02T03:04:05Z"
		    deletionTimestamp: "2026-01-03T00:00:00Z"
		    labels: {kubernetes.io/metadata.name: ending}
		    managedFields:
		    - {manager: x, operation: Update, apiVersion: v1, fieldsType: FieldsV1, time: "2026-01-02T03:04:05Z", fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}}}
		  spec: {finalizers: [kubernetes]}
		  status: {phase: Terminating}
		- apiVersion: v1
		  kind: Namespace
		  metadata:
		    name: default
		    uid: 00000000-0000-4000-8000-000000000005
		    resourceVersion: "40"
		    creationTimestamp: "2025-01-02T03:04:05Z"
		    labels: {kubernetes.io/metadata.name: default}
		    managedFields:
		    - {manager: kube-apiserver, operation: Update, apiVersion: v1, fieldsType: FieldsV1, time: "2025-01-02T03:04:05Z", fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}}}
		  spec: {finalizers: [kubernetes]}
		  status: {phase: Active}
	YAML
	dump crd.yaml <<-'YAML'
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata:
		  name: gadgets.example.com
		  uid: 00000000-0000-4000-8000-0000000000a0
		  resourceVersion: "30"
		  creationTimestamp: "2025-01-02T03:04:05Z"
		  generation: 2
		  managedFields:
		  - {manager: helm, operation: Update, apiVersion: apiextensions.k8s.io/v1, fieldsType: FieldsV1, time: "2025-01-02T03:04:05Z", fieldsV1: {"f:spec": {"f:group": {}}}}
		spec:
		  conversion: {strategy: None}
		  group: example.com
		  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
		  scope: Namespaced
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
		              size: {type: integer, maximum: 5}
		              parts:
		                type: array
		                x-kubernetes-list-type: map
		                x-kubernetes-list-map-keys: [name]
		                items: {type: object, required: [name], properties: {name: {type: string}, weight: {type: integer, default: 1}}}
		          status: {type: object, properties: {ready: {type: boolean}}}
		status:
		  acceptedNames: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
		  conditions:
		  - {type: NamesAccepted, status: "True", reason: NoConflicts, message: no conflicts found, lastTransitionTime: "2025-01-02T03:04:05Z"}
		  - {type: Established, status: "True", reason: InitialNamesAccepted, message: the initial names have been accepted, lastTransitionTime: "2025-01-02T03:04:05Z"}
		  storedVersions: [v1]
	YAML
	sandbox_start --from "$WORK/all.yaml" --from "$WORK/crd.yaml"
	same "$WORK/all.yaml"
	same "$WORK/crd.yaml"
	grep -q '^6 objects as the dump has them' "$WORK/sandbox.log"
	[ "$(grep -c '^truce:' "$WORK/sandbox.log" || true)" = 0 ] || fail "something is told: $(<"$WORK/sandbox.log")"
}

namespaces_that_are_missing_are_made() {
	assert_eq Active "$(got /api/v1/namespaces/shop status.phase)"
	assert_eq Active "$(got /api/v1/namespaces/tools status.phase)"
}

# Another namespace, with something in it, has come to its end by then.
nobody_goes_on_with_it() {
	api POST /api/v1/namespaces '{"metadata":{"name":"later"}}'
	api POST /api/v1/namespaces/later/configmaps '{"metadata":{"name":"content"}}'
	assert_eq 201 "$CODE"
	api DELETE /api/v1/namespaces/later
	wait_until 20 is_gone /api/v1/namespaces/later
	same "$WORK/all.yaml"
	same "$WORK/crd.yaml"
	api GET /api/v1/namespaces/shop/pods
	assert_eq '[]' "$(field items)"
}

what_is_written_next_is_newer() {
	api PATCH '/apis/example.com/v1/namespaces/tools/gadgets/one?fieldManager=me' '{"spec":{"parts":[{"name":"a","weight":2}]}}' \
		application/merge-patch+json
	assert_eq 200 "$CODE"
	assert_eq 13 "$(field metadata.generation)"
	[ "$(field metadata.resourceVersion)" -gt 7004 ] || fail 'its resourceVersion is older than what was loaded'
	assert_eq '["gadgets", "me"]' "$(python3 -c '
import json, sys
print(json.dumps([e["manager"] for e in json.load(sys.stdin)["metadata"]["managedFields"]]))' <<<"$BODY")"
	api PATCH /apis/example.com/v1/namespaces/tools/gadgets/one '{"metadata":{"finalizers":null}}' application/merge-patch+json
	assert_eq 200 "$CODE"
	is_gone /apis/example.com/v1/namespaces/tools/gadgets/one
	sandbox_end
}

any_form_of_it_is_read() {
	printf '%s\n' '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"99"},"items":[' \
		'{"metadata":{"name":"raw","namespace":"default","resourceVersion":"98"},"data":{"a":"1"}}]}' >"$WORK/raw.json"
	mkdir -p "$WORK/folder"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: three}\n' \
		>"$WORK/folder/maps.yaml"
	"$TRUCE" sandbox --kubeconfig "$WORK/kubeconfig" --from "$WORK/folder" --from - --from "$WORK/raw.json" \
		>"$WORK/sandbox.log" 2>&1 <<<'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"stdin"}}' &
	SANDBOX_PID=$!
	wait_until 20 grep -q 'Ctrl-C' "$WORK/sandbox.log"
	API=$(sed -n 's/.*"name": "truce-sandbox", "cluster": {"server": "\([^"]*\)".*/\1/p' "$WORK/kubeconfig")
	for name in raw two three stdin; do
		assert_eq "$name" "$(got /api/v1/namespaces/default/configmaps/$name metadata.name)"
	done
	assert_eq 98 "$(got /api/v1/namespaces/default/configmaps/raw metadata.resourceVersion)"
	assert_eq 99 "$(got /api/v1/namespaces/default/configmaps/two metadata.resourceVersion)"
	sandbox_end
	grep -q 'maps.yaml: no object in it has managedFields.*--show-managed-fields' "$WORK/sandbox.log"
	assert_eq 1 "$(grep -c 'managedFields' "$WORK/sandbox.log")"
}

what_it_does_not_know_of_an_object_is_told() {
	dump new.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: tomorrow, namespace: default, managedFields: [{manager: x, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {}}}]}
		data: {a: b}
		tomorrows: 1
	YAML
	sandbox_start --from "$WORK/new.yaml"
	assert_eq b "$(got /api/v1/namespaces/default/configmaps/tomorrow data.a)"
	sandbox_end
	grep -q "new.yaml:1: ConfigMap 'tomorrow': unknown field \"tomorrows\", which is left out" "$WORK/sandbox.log"
}

# wrong TEXT: the dump of standard input is refused with these words, and with it a good object before it.
wrong() {
	{
		printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n---\n'
		cat
	} >"$WORK/wrong.yaml"
	refused --from "$WORK/wrong.yaml" --state "$WORK/wrong.state"
	says "$1"
	[ ! -e "$WORK/wrong.state" ] || fail 'a state was written'
}

what_cannot_be_taken_is_told_by_file_and_line() {
	wrong "wrong.yaml:6: Deployment 'web': Deployment.apps \"web\" is invalid" <<-'YAML'
		# A comment.
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web}
		spec: {replicas: -1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: i}]}}}
	YAML
	wrong "wrong.yaml:5: Deployment 'web': json: cannot unmarshal" <<-'YAML'
		{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: many}}
	YAML
	wrong "wrong.yaml:5: PodDance 'x': the sandbox knows no such kind in v1" <<-'YAML'
		{apiVersion: v1, kind: PodDance, metadata: {name: x}}
	YAML
	wrong "wrong.yaml:5: HorizontalPodAutoscaler 'x': version autoscaling/v2beta2 is not served, only autoscaling/v2, autoscaling/v1" <<-'YAML'
		{apiVersion: autoscaling/v2beta2, kind: HorizontalPodAutoscaler, metadata: {name: x}}
	YAML
	wrong "wrong.yaml:5: ConfigMap 'x': metadata.resourceVersion is no number" <<-'YAML'
		{apiVersion: v1, kind: ConfigMap, metadata: {name: x, resourceVersion: newest}}
	YAML
	wrong "wrong.yaml:5: ConfigMap 'a/b': no object can have that name" <<-'YAML'
		{apiVersion: v1, kind: ConfigMap, metadata: {name: a/b}}
	YAML
	wrong "wrong.yaml:5: no object with apiVersion, kind and metadata.name" <<-'YAML'
		{apiVersion: v1, kind: ConfigMap}
	YAML
	wrong "wrong.yaml:5: ConfigMap 'x': " <<-'YAML'
		{apiVersion: v1, kind: ConfigMap, metadata: {name: x, managedFields: [{manager: x, operation: Dance, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {}}]}}
	YAML
	wrong "wrong.yaml:5: ConfigMap 'good': is there twice, and otherwise at $WORK/wrong.yaml:1" <<-'YAML'
		{apiVersion: v1, kind: ConfigMap, metadata: {name: good, resourceVersion: "5"}}
	YAML
	wrong 'wrong.yaml:6: ' <<-'YAML'
		{apiVersion: v1,
		kind: [}
	YAML
	printf '# nothing\n' >"$WORK/nothing.yaml"
	refused --from "$WORK/nothing.yaml"
	says 'there is no object in it'
	refused --from "$WORK/nowhere.yaml"
	says 'cannot read'
}

a_definition_that_is_missing_is_named() {
	wrong "wrong.yaml:5: Gadget 'one': the dump has no CustomResourceDefinition of Gadget (example.com/v1), Gizmo (example.com/v2); add them" <<-'YAML'
		{apiVersion: example.com/v1, kind: Gadget, metadata: {name: one}}
		---
		{apiVersion: example.com/v1, kind: Gadget, metadata: {name: two}}
		---
		{apiVersion: example.com/v2, kind: Gizmo, metadata: {name: one}}
	YAML
	says 'kubectl get crd -o yaml --show-managed-fields'
}

# It was allowed once: the definition became stricter.
what_could_only_not_be_created_again_is_taken() {
	sed 's/size: 3/size: 30/' "$WORK/all.yaml" >"$WORK/old.yaml"
	sandbox_start --from "$WORK/old.yaml" --from "$WORK/crd.yaml"
	assert_eq 30 "$(got /apis/example.com/v1/namespaces/tools/gadgets/one spec.size)"
	sandbox_end
	grep -q "old.yaml:5: Gadget 'one': it could not be created again, and is taken as it is: .*less than or equal to 5" \
		"$WORK/sandbox.log"
}

a_secret_is_never_printed() {
	wrong "wrong.yaml:5: Secret 'key': the API server would not take it" <<-'YAML'
		{apiVersion: v1, kind: Secret, metadata: {name: key}, data: {p: hunter2-is-no-base64}}
	YAML
	[[ $OUT != *hunter2* ]] || fail 'the value is printed'
	wrong "wrong.yaml:5: Secret 'key': the API server would not take it" <<-'YAML'
		{apiVersion: v1, kind: Secret, metadata: {name: key}, type: kubernetes.io/tls, data: {hunter2: aHVudGVyMg==}}
	YAML
	[[ $OUT != *hunter2* ]] || fail 'a key is printed'
}

one_object_may_be_there_twice() {
	cat "$WORK/all.yaml" <(echo ---) "$WORK/all.yaml" >"$WORK/twice.yaml"
	sandbox_start --from "$WORK/twice.yaml" --from "$WORK/crd.yaml"
	same "$WORK/all.yaml"
	sandbox_end
}

a_state_begins_with_it() {
	sandbox_start --from "$WORK/all.yaml" --from "$WORK/crd.yaml" --state "$WORK/state"
	sandbox_end
	sandbox_start --state "$WORK/state" --no-controllers
	assert_eq 7002 "$(got /apis/apps/v1/namespaces/shop/replicasets/web-1 metadata.resourceVersion)"
	sandbox_end
	refused --from "$WORK/all.yaml" --state "$WORK/state"
	says 'has objects already; go on with them without --from'
}

controllers_go_on_when_they_are_asked_for() {
	sandbox_start --from "$example/dump.yaml" --controllers
	wait_until 20 is /api/v1/namespaces/shop/pods items.2.metadata.namespace shop
	sandbox_end
}

# replay CONFIG
replay() {
	RC=0
	OUT=$(TRUCE=$TRUCE CONFIG=$1 "$example/replay.sh" 2>&1) || RC=$?
}

the_example_replays_a_fight() {
	replay "$example/agent.yaml"
	assert_eq 1 "$RC"
	[[ $(tr -s ' ' <<<"$OUT") == *"env[REGION].value region-operator "*" takes the region is Git's"* ]] || fail "$OUT"
	says '- eu-west        set by region-operator → will be taken'
	says '- debug          set by kubectl-edit → will be taken back'
	sed 's/action: take/action: yield/' "$example/agent.yaml" >"$WORK/agent.yaml"
	replay "$WORK/agent.yaml"
	assert_eq 1 "$RC"
	[[ $(tr -s ' ' <<<"$OUT") == *"env[REGION].value region-operator "*" yields the region is Git's"* ]] || fail "$OUT"
	says "Git's eu-central is left out"
	assert_eq 2 "$(TRUCE=$TRUCE "$example/replay.sh" "$WORK/nowhere.yaml" >/dev/null 2>&1 || echo $?)"
}

# With both sides acted out: what truce does, and what the operator does then.
a_sync_goes_on_from_there() {
	local web=/apis/apps/v1/namespaces/shop/deployments/web
	cp "$example/deploy/web.yaml" "$REPO/deploy/web.yaml"
	commit first
	sandbox_start --from "$example/dump.yaml"
	truce_ok sync --config "$example/agent.yaml"
	assert_eq eu-central "$(got $web spec.template.spec.containers.0.env.1.value)"
	assert_eq 42 "$(got $web metadata.generation)"
	truce_ok diff --config "$example/agent.yaml"
	api PATCH "$web?fieldManager=region-operator" \
		'{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"REGION","value":"eu-west"}]}]}}}}' \
		application/strategic-merge-patch+json
	truce diff --config "$example/agent.yaml"
	assert_eq 1 "$RC"
	says 'set by region-operator'
	sandbox_end
}

run_cases all_is_as_it_was namespaces_that_are_missing_are_made nobody_goes_on_with_it what_is_written_next_is_newer \
	any_form_of_it_is_read what_it_does_not_know_of_an_object_is_told what_cannot_be_taken_is_told_by_file_and_line \
	a_definition_that_is_missing_is_named what_could_only_not_be_created_again_is_taken a_secret_is_never_printed \
	one_object_may_be_there_twice a_state_begins_with_it controllers_go_on_when_they_are_asked_for \
	the_example_replays_a_fight a_sync_goes_on_from_there

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ignore rules, Argo CD's and our own, on a real API server: for each kind of rule an operator that goes on writing what is ignored. truce
# writes nothing, the application is Synced, and everything else of the object is Git's.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

if [ -n "${TRUCE_LONG-}" ]; then DURATION_S=120; else DURATION_S=15; fi
OPERATOR=

truce_flags() {
	printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --config "$WORK/etc" --data-dir "$WORK/data"
}

# app NAME RULES [SYNC-OPTION]: of the folder NAME.
app() {
	cat >"$WORK/etc/$1.yaml" <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: $1}
		spec:
		  source: {repoURL: "$URL", path: $1, targetRevision: main}
		  destination: {server: "https://kubernetes.default.svc", namespace: $NS}
		  ignoreDifferences: $2
		  syncPolicy:
		    automated: {prune: true, selfHeal: true}
		    syncOptions: [${3-}]
	YAML
}

configure() {
	mkdir -p "$WORK/etc"
	cat >"$WORK/etc/agent.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec:
		  namespace: $NS-truce
		  pollInterval: 1s
		  ignore:
		    rules:
		    - kind: Deployment
		      name: mesh
		      paths:
		      - '.spec.template.spec.containers[name="istio-proxy"]'
		      - '.spec.template.spec.tolerations[key="injected"]'
		    - {kind: Deployment, paths: ['.spec.template.spec.containers[name="web"].env[name="REGION"]'], managers: ["region-*"]}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: argocd-cm}
		data:
		  resource.customizations.ignoreDifferences.apps_Deployment: |
		    jsonPointers: [/spec/template/spec/containers/1/image]
		  resource.customizations.ignoreDifferences.apps_StatefulSet: |
		    jqPathExpressions:
		    - '.spec.template.spec.containers[] | select(.name == "proxy") | .image'
		  resource.customizations: |
		    "*.k8s.io/Ingress":
		      ignoreDifferences: |
		        managedFieldsManagers: [class-tuner]
		  resource.compareoptions: |
		    ignoreAggregatedRoles: true
	YAML
	app compared '[{kind: ConfigMap, name: "tun*", jsonPointers: [/data/tuned]}]'
	app respected '[{kind: ConfigMap, jsonPointers: [/data/tuned, /metadata/annotations/example.com~1note]}]' \
		RespectIgnoreDifferences=true
}

config_map() {
	mkdir -p "$REPO/$1"
	cat >"$REPO/$1/map.yaml" <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: $2, annotations: {example.com/note: git}}
		data: {key: "$3", tuned: "0"}
	YAML
}

# noted NUMBER: a map that says itself what may differ, and whose fields are theirs.
noted() {
	cat >"$REPO/compared/noted.yaml" <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata:
		  name: noted
		  annotations:
		    truce.dev/ignore: .data.tuned
		    truce.dev/ignore-managers: map-owner
		data: {key: "$1", tuned: "0", owned: "0"}
	YAML
}

# mesh NUMBER: one container, toleration and variable each are somebody else's; a quantity that the server spells anew.
mesh() {
	cat >"$REPO/compared/mesh.yaml" <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: mesh, labels: {number: "$1"}}
		spec:
		  replicas: 0
		  selector: {matchLabels: {app: mesh}}
		  template:
		    metadata: {labels: {app: mesh}}
		    spec:
		      tolerations: [{key: gpu, operator: Exists}]
		      containers:
		      - name: web
		        image: "example/web:1"
		        resources: {limits: {cpu: 1000m, memory: 1024Mi}}
		        env: [{name: A, value: "1"}, {name: REGION, value: eu}]
	YAML
}

# objects NUMBER: what all of them have beside what is ignored.
objects() {
	config_map compared tuned "$1"
	config_map respected respected "$1"
	noted "$1"
	mesh "$1"
	cat >"$REPO/compared/rest.yaml" <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web, labels: {number: "$1"}}
		spec:
		  replicas: 1
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec:
		      containers:
		      - {name: web, image: "example/web:1"}
		      - {name: proxy, image: "example/proxy:1"}
		---
		apiVersion: apps/v1
		kind: StatefulSet
		metadata: {name: store, labels: {number: "$1"}}
		spec:
		  replicas: 0
		  serviceName: store
		  selector: {matchLabels: {app: store}}
		  template:
		    metadata: {labels: {app: store}}
		    spec:
		      containers:
		      - {name: proxy, image: "example/proxy:1"}
		      - {name: store, image: "example/store:1"}
		---
		apiVersion: networking.k8s.io/v1
		kind: Ingress
		metadata: {name: web, labels: {number: "$1"}}
		spec:
		  ingressClassName: first
		  defaultBackend: {service: {name: web, port: {number: 80}}}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: ClusterRole
		metadata: {name: "$NS-gathers", labels: {number: "$1"}}
		aggregationRule: {clusterRoleSelectors: [{matchLabels: {gather: "$NS"}}]}
		rules: []
	YAML
}

# The n-th turn of everybody who writes what is ignored.
tune() {
	kc operator patch configmap tuned -n "$NS" --field-manager=tuner --type merge -p "{\"data\":{\"tuned\":\"$1\"}}"
	kc operator patch configmap respected -n "$NS" --field-manager=tuner --type merge \
		-p "{\"data\":{\"tuned\":\"$1\"},\"metadata\":{\"annotations\":{\"example.com/note\":\"$1\"}}}"
	kc operator patch deployment web -n "$NS" --field-manager=tuner \
		-p "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"proxy\",\"image\":\"example/proxy:1.$1\"}]}}}}"
	kc operator patch statefulset store -n "$NS" --field-manager=tuner \
		-p "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"proxy\",\"image\":\"example/proxy:1.$1\"}]}}}}"
	kc operator patch ingress web -n "$NS" --field-manager=class-tuner --type merge \
		-p "{\"spec\":{\"ingressClassName\":\"class-$1\"}}"
	kc operator patch configmap noted -n "$NS" --field-manager=tuner --type merge -p "{\"data\":{\"tuned\":\"$1\"}}"
	kc operator patch configmap noted -n "$NS" --field-manager=map-owner --type merge -p "{\"data\":{\"owned\":\"$1\"}}"
	kc operator patch deployment mesh -n "$NS" --field-manager=injector -p "$(printf '%s' \
		"{\"spec\":{\"template\":{\"spec\":{\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Exists\"}," \
		"{\"key\":\"injected\",\"operator\":\"Equal\",\"value\":\"$1\"}]," \
		"\"containers\":[{\"name\":\"istio-proxy\",\"image\":\"example/proxy:$1\"}]}}}}")"
	kc operator patch deployment mesh -n "$NS" --field-manager=region-operator -p "$(printf '%s' \
		"{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"web\"," \
		"\"env\":[{\"name\":\"REGION\",\"value\":\"region-$1\"}]}]}}}}")"
}

tune_every_second() {
	local n=0
	while true; do
		n=$((n + 1))
		tune "$n" >/dev/null 2>&1 || true
		printf '%s\n' "$n" >"$WORK/turns"
		sleep 1
	done
}

has_turned() {
	[ "$(cat "$WORK/turns" 2>/dev/null || echo 0)" -ge "$1" ]
}

# number RESOURCE NAME: the label that only Git sets.
numbers_are() {
	local resource
	for resource in deployment/web deployment/mesh statefulset/store ingress/web; do
		[ "$(got "${resource%/*}" "${resource#*/}" '{.metadata.labels.number}')" = "$1" ] || return 1
	done
	[ "$(got configmap tuned '{.data.key}')$(got configmap respected '{.data.key}')$(got configmap noted '{.data.key}')" = "$1$1$1" ]
}

tuned_is_the_operators() {
	local map
	for map in tuned respected noted; do
		[ "$(got configmap "$map" '{.data.tuned}')" -ge 1 ] || fail "data.tuned of $map is Git's"
	done
	[[ $(got deployment web '{.spec.template.spec.containers[1].image}') == example/proxy:1.* ]] || fail 'the image of proxy is not the operator'"'"'s'
	[[ $(got statefulset store '{.spec.template.spec.containers[0].image}') == example/proxy:1.* ]] || fail 'the image of proxy is not the operator'"'"'s'
	[[ $(got ingress web '{.spec.ingressClassName}') == class-* ]] || fail 'ingressClassName is not the operator'"'"'s'
	[ "$(got configmap noted '{.data.owned}')" -ge 1 ] || fail 'data.owned is Git'"'"'s'
	injected_stays
	[[ $(got configmap respected '{.metadata.annotations.example\.com/note}') != git ]] || fail 'the note is Git'"'"'s'
}

# What Git does not have at all, in a list with keys and in one of one piece; and one variable of the others.
injected_stays() {
	local pod='{.spec.template.spec.'

	[[ $(got deployment mesh "${pod}containers[?(@.name==\"istio-proxy\")].image}") == example/proxy:* ]] || fail 'the injected container has gone'
	[[ $(got deployment mesh "${pod}tolerations[1].value}") =~ ^[0-9]+$ ]] || fail 'the injected toleration has gone'
	[[ $(got deployment mesh "${pod}containers[?(@.name==\"web\")].env[?(@.name==\"REGION\")].value}") == region-* ]] || fail 'REGION is Git'"'"'s'
	assert_eq 1 "$(got deployment mesh "${pod}containers[?(@.name==\"web\")].env[?(@.name==\"A\")].value}")" 'the variable of Git'
}

all_are_synced() {
	truce status
	[ "$(grep -c ' Synced ' <<<"$OUT")" = 2 ]
}

git_comes_first() {
	serve_repo
	configure
	kc admin create clusterrole "$NS-part" --verb=get --resource=nodes >/dev/null
	kc admin label clusterrole "$NS-part" "gather=$NS" >/dev/null
	objects 1
	commit 'number 1'
	agent_start
	wait_until 30 numbers_are 1
	assert_eq '00' "$(got configmap tuned '{.data.tuned}')$(got configmap respected '{.data.tuned}')" 'first values'
	wait_until 30 all_are_synced
}

# Also the controller that gathers roles.
nothing_is_written_for_what_is_ignored() {
	local turns
	wait_until 20 role_gathers
	tune_every_second &
	OPERATOR=$!
	wait_until 40 has_turned 2 # what an operator takes from truce for the first time may cost a write: that is over then
	mark
	turns=$(cat "$WORK/turns")
	sleep "$DURATION_S"
	printf '# turns of the operators: %s in %s s\n' "$(($(cat "$WORK/turns") - turns))" "$DURATION_S"
	assert_eq 0 "$(truce_object_writes)" 'writes of truce'
	all_are_synced || fail "not all are Synced: $OUT"
	tuned_is_the_operators
}

role_gathers() {
	[ "$(kc admin get clusterrole "$NS-gathers" -o 'jsonpath={.rules[0].resources[0]}')" = nodes ]
}

the_rest_is_healed() {
	kc person patch configmap tuned -n "$NS" --type merge -p '{"data":{"key":"hers"}}' >/dev/null
	kc person patch configmap respected -n "$NS" --type merge -p '{"data":{"key":"hers"}}' >/dev/null
	kc person label deployment web -n "$NS" --overwrite number=hers >/dev/null
	kc person patch configmap noted -n "$NS" --type merge -p '{"data":{"key":"hers"}}' >/dev/null
	kc person label deployment mesh -n "$NS" --overwrite number=hers >/dev/null
	kc person set env deployment/mesh -n "$NS" -c web A=hers >/dev/null
	kc person label statefulset store -n "$NS" --overwrite number=hers >/dev/null
	kc person label ingress web -n "$NS" --overwrite number=hers >/dev/null
	wait_until 20 numbers_are 1
	tuned_is_the_operators
}

commits_leave_it_alone() {
	objects 2
	commit 'number 2'
	wait_until 20 numbers_are 2
	tuned_is_the_operators
	role_gathers || fail 'the gathered rules have gone'
	kill "$OPERATOR"
	wait "$OPERATOR" 2>/dev/null || true
	wait_until 20 all_are_synced
	agent_stop
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
	kc admin delete clusterrole "$NS-part" "$NS-gathers" >/dev/null
}

cluster_begin
truce_begin ignore
run_cases git_comes_first nothing_is_written_for_what_is_ignored the_rest_is_healed commits_leave_it_alone

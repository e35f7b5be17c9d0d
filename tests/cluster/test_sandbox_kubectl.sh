#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubectl against `truce sandbox` and against a real API server: the same commands in the same order, and what they print
# must be equal, save ages, times, uids, resourceVersions, addresses, nodes and random names.
#
#   test_sandbox_kubectl.sh [STEP…]      STEP: only tell the differences of these
#
# Known differences are in sandbox_kubectl_known.txt: each line a step and its reason, the first one a cap on their number.
# Neither a new difference nor a line for a step that is equal by now passes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/cluster/lib.sh
. "$here/lib.sh"

: "${TRUCE_BUILD_DIR:=$here/../../build/debug}"
TRUCE=${TRUCE:-$TRUCE_BUILD_DIR/src/truce}
known=$here/sandbox_kubectl_known.txt
# Asking for a flag makes the cluster our own: what other tests define would be a difference.
cluster_begin --podsim-delay=200ms
cluster_needs own
[ -x "$TRUCE" ] || fail "there is no $TRUCE: build first"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/truce-kubectl.XXXXXX")
NS=fidelity-$$
cluster_namespaces+=("$NS")
SANDBOX_PID=

finish() {
	local status=$?
	[ -z "$SANDBOX_PID" ] || kill -TERM "$SANDBOX_PID" 2>/dev/null || true
	wait
	"$TRUCE_TEST_KUBECTL" --kubeconfig "$TRUCE_TEST_KUBECONFIG" delete crd tills.shop.example --ignore-not-found >/dev/null 2>&1 ||
		true
	[ -n "${KEEP-}" ] || rm -rf "$WORK"
	cluster_end "$status"
}
trap finish EXIT

"$TRUCE" sandbox --kubeconfig "$WORK/sandbox.kubeconfig" >"$WORK/sandbox.log" 2>&1 &
SANDBOX_PID=$!
wait_until 20 test -s "$WORK/sandbox.kubeconfig"

# ---- what the commands work on ----

write_files() {
	cat >"$WORK/web.yaml" <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web, labels: {app: web}}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec:
		      containers:
		      - name: web
		        image: registry.example/web:1
		        ports: [{containerPort: 8080}]
		        env: [{name: COLOR, value: blue}]
		        resources: {requests: {cpu: 100m, memory: 64Mi}}
	YAML
	sed 's/replicas: 2/replicas: 5/; s/web:1/web:2/' "$WORK/web.yaml" >"$WORK/web5.yaml"
	cat >"$WORK/settings.yaml" <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: settings, labels: {part: settings}}
		data: {color: blue, size: "1"}
	YAML
	sed 's/blue/green/; /size/s/, size: "1"//' "$WORK/settings.yaml" >"$WORK/settings2.yaml"
	printf '#!/bin/sh\nsed -i "s/^data:/data:\\n  edited: yes-it-is/" "$1"\n' >"$WORK/editor"
	chmod +x "$WORK/editor"
	printf 'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}\n' \
		>"$WORK/service.yaml"
	sed 's/replicas: 2/replicas: two/' "$WORK/web.yaml" >"$WORK/wrong-type.yaml"
	sed 's/replicas: 2/replikas: 2/' "$WORK/web.yaml" >"$WORK/unknown-field.yaml"
	sed 's/name: web, /name: Web_, /' "$WORK/web.yaml" >"$WORK/bad-name.yaml"
	cat >"$WORK/crd.yaml" <<-YAML
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: tills.shop.example}
		spec:
		  group: shop.example
		  scope: Namespaced
		  names: {kind: Till, plural: tills, singular: till, listKind: TillList, shortNames: [tl]}
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    additionalPrinterColumns: [{name: Coins, type: integer, jsonPath: .spec.coins}]
		    subresources: {status: {}, scale: {specReplicasPath: .spec.coins, statusReplicasPath: .status.coins}}
		    schema:
		      openAPIV3Schema:
		        type: object
		        properties:
		          spec: {type: object, properties: {coins: {type: integer, minimum: 0, description: What is in it}}}
		          status: {type: object, properties: {coins: {type: integer}}}
	YAML
	printf 'apiVersion: shop.example/v1\nkind: Till\nmetadata: {name: first}\nspec: {coins: 7}\n' >"$WORK/till.yaml"
	printf 'apiVersion: shop.example/v1\nkind: Till\nmetadata: {name: first}\nspec: {coins: -7}\n' >"$WORK/bad-till.yaml"
}
write_files

# ---- running on both ----

SIDE=
kubectl() {
	local file=$TRUCE_TEST_KUBECONFIG
	[ "$SIDE" = real ] || file=$WORK/sandbox.kubeconfig
	KUBECACHEDIR=$WORK/cache-$SIDE timeout 180 "$TRUCE_TEST_KUBECTL" --kubeconfig "$file" -n "$NS" "$@"
}

# Ages stand for themselves or in front of nothing but blanks; widths follow the widest cell, so blanks are one blank.
normalise() {
	sed -E \
		-e 's/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/UID/g' \
		-e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}Z/TIME/g' \
		-e 's/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} [+-][0-9]{4}/TIME/g' \
		-e 's/([rR]esourceVersion"?: *)"[0-9]+"/\1"RV"/g' \
		-e 's/Resource Version: +[0-9]+/Resource Version: RV/' \
		-e 's/\b10\.[0-9]+\.[0-9]+\.[0-9]+(\/[0-9]+)?/IP/g' -e 's/\b127\.[0-9]+\.[0-9]+\.[0-9]+:?[0-9]*/IP/g' \
		-e 's/\b(web|solo|job|moved)-[0-9a-f]{8,10}-[a-z0-9]{5}\b/\1-HASH-RANDOM/g' \
		-e 's/\b(web|moved)-[0-9a-f]{8,10}\b/\1-HASH/g' -e 's/(pod-template-hash["=:]+ ?"?)[0-9a-f]{8,10}/\1HASH/g' \
		-e 's/kube-api-access-[a-z0-9]{5}/kube-api-access-RANDOM/g' \
		-e 's/\b(truce-test-node|podsim|sandbox)\b/NODE/g' \
		-e 's/\b([0-9]+[smhd])+( ago)?([ )]|$)/AGE\3/g' \
		-e 's/ +/ /g' -e 's/ $//' -e 's/-{3,}/---/g'
}

count=0
differing=()
only=("$@")

# step NAME COMMAND…: COMMAND is a line of shell with `kubectl` in it.
step() {
	local name=$1 command=$2 status from
	for SIDE in real sandbox; do
		status=0 from=$SECONDS
		(eval "$command") >"$WORK/$name.$SIDE.raw" 2>&1 </dev/null || status=$?
		[ $((SECONDS - from)) -lt 15 ] || printf '%s took %s s on %s\n' "$name" $((SECONDS - from)) "$SIDE"
		{
			sed "s|$WORK|WORK|g" "$WORK/$name.$SIDE.raw" | normalise
			printf 'exit %s\n' "$status"
		} >"$WORK/$name.$SIDE"
	done
	count=$((count + 1))
	if cmp -s "$WORK/$name.real" "$WORK/$name.sandbox"; then
		return
	fi
	differing+=("$name")
	if ! grep -q "^$name:" "$known" || [[ " ${only[*]-} " == *" $name "* ]]; then
		printf -- '--- %s: %s\n' "$name" "$command"
		diff -u --label real --label sandbox "$WORK/$name.real" "$WORK/$name.sandbox" | head -n "${DIFF_LINES:-40}" || true
	fi
}

# The object with its managedFields in the order of managers: entries are kept in the order of their seconds, and
# controllers write within the second of what they react to.
owners() {
	kubectl get "$@" -o json --show-managed-fields | python3 -c '
import json, sys
o = json.load(sys.stdin)
o["metadata"]["managedFields"].sort(key=lambda m: (m["manager"], m["operation"], m.get("subresource", "")))
print(json.dumps(o, indent=1))'
}

# ---- waiting: a slow machine's controllers come later, and what they have yet to write would be a difference ----

# Nothing of the workload ends or has changed for a second.
quiet() {
	local before now tries
	for tries in $(seq 60); do
		now=$(kubectl get deployment,replicaset,pod -o jsonpath='{range .items[*]}{.metadata.uid} {.metadata.resourceVersion} {.metadata.deletionTimestamp}{"\n"}{end}')
		if [ "$tries" -gt 1 ] && [ "$now" = "$before" ] && [[ $now != *Z* ]]; then
			return
		fi
		before=$now
		sleep 1
	done
	echo 'the workload does not come to rest'
}

settled() {
	kubectl rollout status deployment/web --timeout=120s >/dev/null
	quiet
}

# What is written twice in a row a controller may see once.
observed() {
	kubectl wait deployment/web --timeout=120s >/dev/null \
		--for=jsonpath='{.status.observedGeneration}'="$(kubectl get deployment web -o jsonpath='{.metadata.generation}')"
}

on_real() {
	[ "$SIDE" != real ] || "$@"
}

tills_are_known() {
	[ "$(kubectl api-resources --api-group=shop.example -o name)" = tills.shop.example ] &&
		kubectl get --raw "/apis/shop.example/v1/namespaces/$NS/tills" &&
		kubectl get --raw /openapi/v3/apis/shop.example/v1
}

tills_are_unknown() {
	[ -z "$(kubectl api-resources --api-group=shop.example -o name)" ]
}

# ---- an Event of the real server alone ----

# Its controller of addresses looks for the IPAddress of a Service, and where its cache is behind it does not find it: "not
# allocated; repairing". Such Events are refused, so no command can show one. All others are let in.
repair_event_is_taken() {
	kc admin create --dry-run=server -f - <<-YAML
		apiVersion: events.k8s.io/v1
		kind: Event
		metadata: {name: x, namespace: default}
		eventTime: "2026-01-01T00:00:00.000000Z"
		reportingController: ipallocator-repair-controller
		reportingInstance: x
		action: ClusterIPAllocation
		type: Warning
		reason: ${1:-ClusterIPNotAllocated}
		regarding: {apiVersion: v1, kind: Service, namespace: default, name: x}
	YAML
}

repair_event_is_refused() {
	! repair_event_is_taken
}

refuse_repair_events() {
	kc admin apply -f - >/dev/null <<-YAML
		apiVersion: admissionregistration.k8s.io/v1
		kind: ValidatingAdmissionPolicy
		metadata: {name: no-repair-events.truce.test}
		spec:
		  failurePolicy: Fail
		  matchConstraints:
		    resourceRules:
		    - {apiGroups: [events.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [events]}
		  validations:
		  - expression: >-
		      !(object.reportingController == 'ipallocator-repair-controller' && object.reason == 'ClusterIPNotAllocated')
		---
		apiVersion: admissionregistration.k8s.io/v1
		kind: ValidatingAdmissionPolicyBinding
		metadata: {name: no-repair-events.truce.test}
		spec: {policyName: no-repair-events.truce.test, validationActions: [Deny]}
	YAML
	repair_event_is_taken ClusterIPOutOfRange >/dev/null
	wait_until 60 repair_event_is_refused
	repair_event_is_taken ClusterIPOutOfRange >/dev/null
}

# Makes that controller do it: it looks at a Service that is written.
repair_address() {
	local address tries
	address=$(kubectl get service web -o jsonpath='{.spec.clusterIP}')
	kubectl delete ipaddress "$address" >/dev/null 2>&1
	for tries in $(seq 60); do
		kubectl annotate --overwrite service web "try=$tries" >/dev/null
		sleep 0.5
		if kubectl get ipaddress "$address" >/dev/null 2>&1; then
			kubectl annotate service web try- >/dev/null
			return
		fi
	done
	echo 'the address is not repaired'
}

refuse_repair_events

step create-namespace "kubectl create namespace $NS"
step create-namespace-twice "kubectl create namespace $NS"
step get-namespace "kubectl get namespace $NS; kubectl get namespace $NS -o yaml"
step describe-namespace "kubectl describe namespace $NS"
step api-versions 'kubectl api-versions | grep -v -e flowcontrol -e resource.k8s.io -e storagemigration -e shop.example -e metrics.k8s.io'
step api-resources 'kubectl api-resources --sort-by=name | grep -v -e flowcontrol -e resource.k8s.io -e storagemigration -e metrics.k8s.io'
step api-resources-wide 'kubectl api-resources -o wide --api-group=apps; kubectl api-resources --verbs=list --namespaced=false --api-group=rbac.authorization.k8s.io'
step apply-server-side "kubectl apply --server-side -f $WORK/web.yaml"
step apply-server-side-again "kubectl apply --server-side -f $WORK/web.yaml"
step wait-available 'kubectl wait --for=condition=Available deployment/web --timeout=120s'
step wait-jsonpath "kubectl wait --for=jsonpath='{.status.readyReplicas}'=2 deployment/web --timeout=120s; settled"
step rollout-status 'kubectl rollout status deployment/web'
step get-wide 'kubectl get deployment,replicaset -o wide'
step get-pods-wide 'kubectl get pods -o wide'
step get-yaml 'kubectl get deployment web -o yaml'
step get-json 'kubectl get deployment web -o json'
step get-managed-fields 'owners deployment web'
step get-replicaset-yaml 'kubectl get replicaset -o yaml'
step get-pod-yaml 'kubectl get pods -o yaml'
step get-name 'kubectl get deployment,replicaset,pod -o name'
step get-label-selector "kubectl get pods -l app=web,app!=other -o name; kubectl get pods -l 'app in (other)'"
step get-field-selector 'kubectl get pods --field-selector status.phase=Running,metadata.name!=x --no-headers; kubectl get pods --field-selector nonsense=1'
step get-show-labels 'kubectl get pods --show-labels -L app'
step get-jsonpath "kubectl get deployment web -o jsonpath='{.spec.template.spec.containers[*].image}'"
step get-custom-columns 'kubectl get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,IMAGE:.spec.containers[0].image'
step get-missing 'kubectl get deployment nothing; kubectl get nonsense; kubectl get deployment nothing --ignore-not-found'
step get-chunked 'kubectl get pods --chunk-size=1 --no-headers | wc -l'
step get-raw "kubectl get --raw /healthz; kubectl get --raw /api/v1/namespaces/$NS/pods/nothing"
step conflict "kubectl apply --server-side --field-manager=other -f $WORK/web5.yaml"
step force-conflicts "kubectl apply --server-side --field-manager=other --force-conflicts -f $WORK/web5.yaml; settled"
step owners-after-force 'owners deployment web'
step apply-client-side "kubectl apply -f $WORK/settings.yaml"
step apply-client-side-again "kubectl apply -f $WORK/settings.yaml"
step diff "kubectl diff -f $WORK/settings2.yaml | grep '^[-+ ]' | grep -v -e ^--- -e ^+++"
step diff-server-side "kubectl diff --server-side --field-manager=kubectl --force-conflicts -f $WORK/web.yaml | grep '^[-+ ]' | grep -v -e ^--- -e ^+++"
step apply-client-side-change "kubectl apply -f $WORK/settings2.yaml; kubectl get configmap settings -o yaml --show-managed-fields"
step apply-dry-run "kubectl apply --server-side --dry-run=server --force-conflicts -f $WORK/web.yaml -o yaml"
step apply-migrated "kubectl apply --server-side -f $WORK/settings.yaml; kubectl get configmap settings -o yaml --show-managed-fields"
step wrong-type "kubectl apply --server-side -f $WORK/wrong-type.yaml; kubectl apply -f $WORK/wrong-type.yaml"
step unknown-field "kubectl apply --server-side -f $WORK/unknown-field.yaml; kubectl create -f $WORK/unknown-field.yaml"
step bad-name "kubectl apply --server-side -f $WORK/bad-name.yaml"
step create-file "kubectl create -f $WORK/service.yaml; kubectl create -f $WORK/service.yaml"
step get-service 'kubectl get service web -o wide; kubectl get service web -o yaml'
step describe-service 'on_real repair_address; kubectl describe service web | grep -v ^Endpoints'
step get-events 'kubectl get events --field-selector involvedObject.kind=Service'
step create-configmap 'kubectl create configmap literal --from-literal=a=b -o yaml; kubectl create configmap literal --from-literal=a=b'
step create-secret 'kubectl create secret generic hidden --from-literal=a=b; kubectl describe secret hidden'
step replace "kubectl create configmap literal --from-literal=a=c --dry-run=client -o yaml | kubectl replace -f -; kubectl get configmap literal -o yaml"
step scale 'kubectl scale deployment web --replicas=3; settled; kubectl get deployment web --no-headers'
step scale-condition 'kubectl scale deployment web --current-replicas=9 --replicas=1'
step patch-strategic "kubectl patch deployment web -p '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"web\",\"env\":[{\"name\":\"SIZE\",\"value\":\"1\"}]}]}}}}'; settled; owners deployment web"
step patch-merge "kubectl patch configmap settings --type=merge -p '{\"data\":{\"color\":null,\"new\":\"x\"}}' -o yaml"
step patch-json "kubectl patch configmap settings --type=json -p '[{\"op\":\"test\",\"path\":\"/data/new\",\"value\":\"x\"},{\"op\":\"remove\",\"path\":\"/data/new\"}]' -o yaml"
step patch-json-fails "kubectl patch configmap settings --type=json -p '[{\"op\":\"remove\",\"path\":\"/data/none\"}]'"
step patch-scale "kubectl patch deployment web --subresource=scale --type=merge -p '{\"spec\":{\"replicas\":2}}'; settled"
step patch-invalid "kubectl patch deployment web -p '{\"spec\":{\"replicas\":-1}}'; kubectl patch deployment web -p '{\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"x\"}}}}'"
step label 'kubectl label deployment web tier=front; kubectl label deployment web tier=back; kubectl label deployment web tier=back --overwrite; kubectl label deployment web tier-; kubectl label deployment web bad/label/x=1'
step annotate 'kubectl annotate deployment web note=hello; kubectl get deployment web -o jsonpath="{.metadata.annotations}"'
step edit "KUBE_EDITOR=$WORK/editor kubectl edit configmap settings; kubectl get configmap settings -o yaml --show-managed-fields"
step edit-unchanged 'KUBE_EDITOR=true kubectl edit configmap settings'
step set-image 'kubectl set image deployment/web web=registry.example/web:3; settled'
step set-env 'kubectl set env deployment/web COLOR=red; settled; kubectl set env deployment/web --list'
step set-resources 'kubectl set resources deployment/web --limits=cpu=200m; settled; kubectl get deployment web -o jsonpath="{.spec.template.spec.containers[0].resources}"'
step rollout-restart 'kubectl rollout restart deployment/web; settled; kubectl rollout status deployment/web'
step rollout-history 'kubectl rollout history deployment/web; kubectl rollout history deployment/web --revision=1'
step rollout-undo 'kubectl rollout undo deployment/web --to-revision=1; settled; kubectl get deployment web -o jsonpath="{.spec.template.spec.containers[0].image}"'
step rollout-pause 'kubectl rollout pause deployment/web; observed; kubectl rollout pause deployment/web; kubectl rollout resume deployment/web; settled'
step describe-deployment 'kubectl describe deployment web | sed "/^Events:/,\$d"'
step describe-events 'kubectl describe deployment web | sed -n "/^Events:/,\$p" | head -n 4'
step describe-configmap 'kubectl describe configmap settings'
step describe-pod 'kubectl describe pods -l app=web | sed "/^Events:/,/^\$/d"'
step explain 'kubectl explain deployment.spec.replicas; kubectl explain pod.spec --recursive | head -n 20'
step can-i 'kubectl auth can-i get pods; kubectl auth can-i create deployments --all-namespaces'
step run 'kubectl run solo --image=registry.example/solo:1; kubectl wait --for=condition=Ready pod/solo --timeout=120s; kubectl get pod solo --no-headers'
step expose 'kubectl expose pod solo --port=80 --name=solo; kubectl get service solo -o jsonpath="{.spec.ports} {.spec.selector}"'
step autoscale 'kubectl autoscale deployment web --min=1 --max=5 --cpu=80%; kubectl get hpa web -o jsonpath="{.spec}"'
step create-others 'kubectl create cronjob tick --image=registry.example/tick:1 --schedule="0 0 1 1 *"; kubectl create role reader --verb=get,list --resource=pods; kubectl create rolebinding readers --role=reader --user=jane; kubectl create quota limits --hard=pods=20; kubectl create poddisruptionbudget web --selector=app=web --min-available=1; kubectl create ingress web --rule=shop.example/*=web:80'
step get-others 'kubectl get cronjob,role,rolebinding,ingress; kubectl describe cronjob tick | head -n 12; kubectl describe role reader'
step get-disruption-budget 'on_real kubectl wait --for=jsonpath="{.status.disruptionsAllowed}"=1 poddisruptionbudget/web --timeout=120s >/dev/null; kubectl get poddisruptionbudget'
step get-all 'kubectl wait --for=jsonpath="{.status.currentReplicas}"=2 hpa/web --timeout=120s >/dev/null; kubectl get all | sed -E "s/web-[0-9a-f]+(-[a-z0-9]{5})?/web-HASH/; s/ +/ /g" | LC_ALL=C sort'
step delete-pod "kubectl delete pod -l app=web --wait=true | sed 's/$NS/NS/'; settled; kubectl get pods -l app=web --no-headers | wc -l"
step delete-missing 'kubectl delete configmap nothing; kubectl delete configmap nothing --ignore-not-found'
step delete-dry-run 'kubectl delete configmap settings --dry-run=server; kubectl get configmap settings -o name'
step delete-selector 'kubectl delete configmap -l part=settings; kubectl get configmap'
step crd "kubectl apply --server-side -f $WORK/crd.yaml; kubectl wait --for=condition=Established crd/tills.shop.example --timeout=120s; wait_until 120 tills_are_known"
step crd-get 'kubectl get crd tills.shop.example -o yaml'
step custom "kubectl apply --server-side -f $WORK/till.yaml; kubectl get tl; kubectl get till first -o yaml --show-managed-fields"
step custom-invalid "kubectl apply --server-side -f $WORK/bad-till.yaml; kubectl scale till first --replicas=9; kubectl get till"
step custom-explain 'kubectl explain till.spec.coins'
step custom-describe 'kubectl describe till first'
step cascade-orphan 'kubectl delete deployment web --cascade=orphan; sleep 1; kubectl get replicaset --no-headers | wc -l'
step delete-foreground 'kubectl delete replicaset -l app=web --cascade=foreground --timeout=120s; sleep 1; kubectl get pods -l app=web'
step delete-crd 'kubectl delete crd tills.shop.example; wait_until 120 tills_are_unknown; kubectl get till'
step delete-namespace "kubectl delete namespace $NS --timeout=120s; kubectl get namespace $NS"

# ---- the verdict ----

status=0
cap=$(sed -n 's/^cap \([0-9]*\)$/\1/p' "$known")
listed=$(grep -c '^[a-z-]*:' "$known" || true)
printf '%s steps, %s commands, %s equal, %s differ (known: %s, cap: %s)\n' "$count" \
	"$(grep '^step ' "$0" | grep -o 'kubectl [a-z]' | wc -l)" $((count - ${#differing[@]})) "${#differing[@]}" "$listed" "$cap"
[ "$listed" -le "$cap" ] || {
	printf 'FAILED: more known differences than the cap\n'
	status=1
}
for name in "${differing[@]+"${differing[@]}"}"; do
	grep -q "^$name:" "$known" || {
		printf 'FAILED: %s differs\n' "$name"
		status=1
	}
done
while IFS=: read -r name _; do
	[[ " ${differing[*]-} " == *" $name "* ]] || {
		printf 'FAILED: %s is equal by now: take it out of %s, and lower the cap\n' "$name" "${known##*/}"
		status=1
	}
done < <(grep '^[a-z-]*:' "$known")
exit "$status"

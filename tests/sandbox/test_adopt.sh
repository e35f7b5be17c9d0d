#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `truce adopt` without a cluster: a namespace that Argo CD, Flux, Helm, kubectl and an operator of its own have made. What it
# says, that it writes nothing, and that a sync then does what was foretold. tests/cluster/test_adopt.sh has the same on a real
# API server.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"

tests=$(cd "$(dirname "$0")/.." && pwd)

# Every write moves the resourceVersion that a LIST shows.
moment() {
	api GET /api/v1/namespaces
	field metadata.resourceVersion
}

made() {
	[[ $CODE == 20[01] ]] || fail "it could not be made: $CODE $BODY"
}

# applied MANAGER PATH BODY: a server-side apply by force, as Argo CD and Flux do it.
applied() {
	api PATCH "$2?fieldManager=$1&force=true" "$3" application/apply-patch+yaml
	made
}

# One folder: five objects that others have made, two that only Git has.
git_has_its_say() {
	put argo.yaml <<-'YAML'
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: argo, labels: {team: shop}}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: argo}}
		  template:
		    metadata: {labels: {app: argo}}
		    spec:
		      containers: [{name: web, image: "registry.example/web:2"}]
	YAML
	put hpa.yaml <<-'YAML'
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: kube}
		spec:
		  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: kube}
		  minReplicas: 2
		  maxReplicas: 9
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
	put flux.yaml <<-'YAML'
		apiVersion: v1
		kind: Service
		metadata: {name: flux}
		spec:
		  selector: {app: argo}
		  ports: [{name: http, port: 80, targetPort: 8080}]
	YAML
	put helm.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: helm}
		data: {color: blue, size: "2"}
	YAML
	put kube.yaml <<-'YAML'
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: kube}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: kube}}
		  template:
		    metadata: {labels: {app: kube}}
		    spec:
		      containers:
		      - name: web
		        image: registry.example/web:2
		        env: [{name: LOG, value: info}]
	YAML
	put regions.yaml <<-'YAML'
		apiVersion: v1
		kind: Service
		metadata: {name: regions}
		spec:
		  selector: {app: kube}
		  ports: [{port: 80}]
	YAML
	put fresh.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: fresh}
		data: {a: "1"}
	YAML
	commit first
}

custom_kind() {
	applied setup "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/$2.$1" "$(
		cat <<-YAML
			apiVersion: apiextensions.k8s.io/v1
			kind: CustomResourceDefinition
			metadata: {name: $2.$1}
			spec:
			  group: $1
			  scope: Namespaced
			  names: {kind: $3, plural: $2}
			  versions:
			  - {name: $4, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
		YAML
	)"
}

deployers_are_there() {
	custom_kind argoproj.io applications Application v1alpha1
	custom_kind kustomize.toolkit.fluxcd.io kustomizations Kustomization v1
	wait_until 10 is_served /apis/argoproj.io/v1alpha1/applications
	wait_until 10 is_served /apis/kustomize.toolkit.fluxcd.io/v1/kustomizations
	for ns in shop argocd flux-system; do
		applied setup "/api/v1/namespaces/$ns" "{apiVersion: v1, kind: Namespace, metadata: {name: $ns}}"
	done
	applied argocd-server /apis/argoproj.io/v1alpha1/namespaces/argocd/applications/shop '
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec: {syncPolicy: {automated: {prune: true, selfHeal: true}}}
status:
  resources:
  - {group: apps, kind: Deployment, namespace: shop, name: argo}
  - {kind: ConfigMap, namespace: shop, name: left}'
	applied flux /apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/apps '
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps}
spec: {prune: true}
status: {inventory: {entries: [{id: shop_flux__Service, v: v1}, {id: shop_old__ConfigMap, v: v1}]}}'
}

is_served() {
	api GET "$1"
	[ "$CODE" = 200 ]
}

argo_cd_made_one() {
	applied argocd-controller /apis/apps/v1/namespaces/shop/deployments/argo '
apiVersion: apps/v1
kind: Deployment
metadata:
  name: argo
  labels: {team: shop}
  annotations: {argocd.argoproj.io/tracking-id: "shop:apps/Deployment:shop/argo"}
spec:
  replicas: 2
  selector: {matchLabels: {app: argo}}
  template:
    metadata: {labels: {app: argo}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}'
	applied argocd-controller /api/v1/namespaces/shop/configmaps/left '
apiVersion: v1
kind: ConfigMap
metadata: {name: left, annotations: {argocd.argoproj.io/tracking-id: "shop:/ConfigMap:shop/left"}}'
}

flux_made_one() {
	applied kustomize-controller /api/v1/namespaces/shop/services/flux '
apiVersion: v1
kind: Service
metadata:
  name: flux
  labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}
spec:
  selector: {app: argo}
  ports: [{name: http, port: 80, targetPort: 8080}]'
}

helm_made_one() {
	api POST '/api/v1/namespaces/shop/configmaps?fieldManager=helm' '{"apiVersion":"v1","kind":"ConfigMap","metadata":
{"name":"helm","labels":{"app.kubernetes.io/managed-by":"Helm"},"annotations":{"meta.helm.sh/release-name":"colors",
"meta.helm.sh/release-namespace":"shop"}},"data":{"color":"red","size":"2","extra":"helm"}}'
	made
}

# Client-side apply: the whole object, with its copy in an annotation; then an edit, and an autoscaler.
kubectl_made_one() {
	local object
	object='{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube","namespace":"shop","annotations":{}},"spec":{"replicas":2,
"selector":{"matchLabels":{"app":"kube"}},"template":{"metadata":{"labels":{"app":"kube"}},"spec":{"containers":[{"name":"web",
"image":"registry.example/web:2","env":[{"name":"LOG","value":"info"}]}]}}}}'
	object=$(python3 -c '
import json, sys
o = json.loads(sys.argv[1])
text = json.dumps(o, separators=(",", ":"))
o["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = text
print(json.dumps(o))' "$object")
	api POST '/apis/apps/v1/namespaces/shop/deployments?fieldManager=kubectl-client-side-apply' "$object"
	made
	sleep 1.1 # what is written in the second of the creation counts as created with the object
	api PATCH '/apis/apps/v1/namespaces/shop/deployments/kube?fieldManager=kubectl-edit' \
		'{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"LOG","value":"debug"},{"name":"X","value":"1"}]}]}}}}' \
		application/strategic-merge-patch+json
	made
	api PATCH '/apis/apps/v1/namespaces/shop/deployments/kube/scale?fieldManager=kube-controller-manager' \
		'{"spec":{"replicas":5}}' application/merge-patch+json
	made
}

# The selector of a Service is atomic: one owner for all of it.
an_operator_made_one() {
	applied region-operator /api/v1/namespaces/shop/services/regions '
{apiVersion: v1, kind: Service, metadata: {name: regions}, spec: {selector: {app: kube, region: north}, ports: [{port: 80}]}}'
}

row_is() {
	local row
	row=$(grep -F -- "$1 " <<<"$OUT" | head -n 1 | tr -s ' ')
	[[ $row == *"$2"* ]] || fail "the row of $1 lacks '$2': $row"
}

it_says_who_has_what_and_writes_nothing() {
	local before
	before=$(moment)
	truce adopt
	assert_eq 1 "$RC" 'exit status when something is to be decided'
	assert_eq "$before" "$(moment)" 'the moment of the cluster'
	row_is deploy/argo 'Argo CD application "shop"'
	row_is deploy/argo 'argocd-controller'
	row_is deploy/argo 'refused'
	row_is svc/flux 'Flux Kustomization "flux-system/apps"'
	row_is svc/flux 'kustomize-controller'
	row_is configmap/helm 'Helm release "shop/colors"'
	row_is deploy/kube 'kubectl apply'
	row_is deploy/kube 'kubectl-client-side-apply'
	row_is svc/regions 'region-operator'
	row_is configmap/fresh 'not there'
	row_is configmap/fresh 'created'
}

values_and_what_stays_are_named() {
	says 'registry.example/web:1 → registry.example/web:2   takes from argocd-controller   deploy/argo.yaml:10'
	says 'debug → info   takes back from kubectl-edit   deploy/kube.yaml:13'
	says 'red → blue   takes from helm'
	says 'yields 5   HPA shop/kube (scale) · built-in: a scaler owns replicas'
	says 'goes, it is {"name":"X","value":"1"}   kubectl-edit · built-in: what people add to Git'"'"'s objects is removed'
	says '(atomic: one owner for all of it)'
	says "{manager: region-operator, group: '', kind: Service, namespace: shop, objectName: regions, path: '.spec.selector', action: yield}"
	says "kubectl's copy of the object (annotation last-applied-configuration) goes from 1 object"
}

the_steps_are_those_of_each_deployer() {
	says 'Argo CD application "shop" · 1 object of Git'"'"'s · there, syncs by itself and heals'
	says 'has 1 object that Git does not: configmap/left'
	says "kubectl patch application.argoproj.io shop -n argocd --type=merge -p '{\"spec\":{\"syncPolicy\":{\"automated\":null}}}'"
	says 'spec: {adoptArgoCD: true}'
	says "kubectl patch application.argoproj.io shop -n argocd --type=merge -p '{\"metadata\":{\"finalizers\":null}}'"
	says 'Flux Kustomization "flux-system/apps" · 1 object of Git'"'"'s · there, applies by force at each interval'
	says 'has 1 object that Git does not: configmap/old'
	says "- {manager: 'kustomize-controller', action: take}"
	says 'kubectl label svc/flux -n shop kustomize.toolkit.fluxcd.io/name- kustomize.toolkit.fluxcd.io/namespace-'
	says 'kubectl annotate configmap/helm -n shop meta.helm.sh/release-name- meta.helm.sh/release-namespace-'
	says 'kubectl delete secret -n shop -l owner=helm,name=colors'
}

foretold_is_kept() {
	truce adopt --all -o json
	assert_eq 1 "$RC"
	printf '%s' "$OUT" >"$WORK/foretold.json"
	for object in deployments/argo services/flux configmaps/helm deployments/kube services/regions; do
		look "$object" before
	done
}

look() {
	local group=/api/v1
	[ "${1%/*}" != deployments ] || group=/apis/apps/v1
	api GET "$group/namespaces/shop/$1"
	printf '%s' "$BODY" >"$WORK/$2-${1#*/}.json"
}

as_foretold() {
	look "$1" after
	python3 "$tests/adopt.py" "$WORK/foretold.json" "$WORK/before-${1#*/}.json" "$WORK/after-${1#*/}.json" "$2"
}

# Before anybody lets go, a sync takes on what kubectl and the operator made, and refuses the rest.
without_the_steps_nothing_held_is_written() {
	truce sync
	assert_eq 1 "$RC" 'exit status of a sync that is refused objects'
	says 'refused: deploy/argo: it belongs to Argo CD application "shop"'
	as_foretold deployments/kube Deployment/kube
	as_foretold services/regions Service/regions
	assert_eq registry.example/web:1 "$(got /apis/apps/v1/namespaces/shop/deployments/argo spec.template.spec.containers.0.image)"
	assert_eq 5 "$(got /apis/apps/v1/namespaces/shop/deployments/kube spec.replicas)" 'what the autoscaler set'
}

with_the_steps_it_is_as_foretold() {
	api PATCH '/api/v1/namespaces/shop/services/flux?fieldManager=kubectl-label' \
		'{"metadata":{"labels":{"kustomize.toolkit.fluxcd.io/name":null,"kustomize.toolkit.fluxcd.io/namespace":null}}}' \
		application/merge-patch+json
	api PATCH '/api/v1/namespaces/shop/configmaps/helm?fieldManager=kubectl-annotate' \
		'{"metadata":{"annotations":{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null}}}' \
		application/merge-patch+json
	truce_ok sync --adopt-argocd
	as_foretold deployments/argo Deployment/argo
	as_foretold services/flux Service/flux
	as_foretold configmaps/helm ConfigMap/helm
}

then_there_is_nothing_to_hand_over() {
	truce adopt --adopt-argocd
	row_is deploy/argo "truce's"
	row_is svc/flux "truce's"
	[[ $OUT != *'Argo CD application'* ]] || fail 'what is taken on is still told as held'
}

# That Argo CD lets go says nothing of the other one.
each_of_two_masters_has_to_let_go() {
	put both.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: both}
		data: {a: "2"}
	YAML
	commit 'two masters'
	applied argocd-controller /api/v1/namespaces/shop/configmaps/both '
apiVersion: v1
kind: ConfigMap
metadata:
  name: both
  labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}
  annotations: {argocd.argoproj.io/tracking-id: "shop:/ConfigMap:shop/both"}
data: {a: "1"}'
	truce adopt --adopt-argocd
	row_is configmap/both 'Argo CD application "shop", Flux'
	row_is configmap/both refused
	says 'Flux Kustomization "flux-system/apps" holds 1 object'
	[[ $OUT != *'Argo CD application "shop" holds'* ]] || fail 'what lets go by configuration is told to hold'
	says 'kubectl label configmap/both -n shop kustomize.toolkit.fluxcd.io/name- kustomize.toolkit.fluxcd.io/namespace-'
	truce sync --adopt-argocd
	assert_eq 1 "$RC" 'exit status while Flux has it'
	says 'refused: configmap/both: it belongs to Flux Kustomization "flux-system/apps"'
	assert_eq 1 "$(got /api/v1/namespaces/shop/configmaps/both data.a)"
	api PATCH '/api/v1/namespaces/shop/configmaps/both?fieldManager=kubectl-label' \
		'{"metadata":{"labels":{"kustomize.toolkit.fluxcd.io/name":null,"kustomize.toolkit.fluxcd.io/namespace":null}}}' \
		application/merge-patch+json
	truce_ok sync --adopt-argocd
	assert_eq 2 "$(got /api/v1/namespaces/shop/configmaps/both data.a)"
}

# Of an application that cannot be read it is not known whether it takes its objects along.
what_cannot_be_read_is_expected_to_have_finalizers() {
	put odd.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: odd}
	YAML
	commit 'a mark without a name'
	applied argocd-controller /api/v1/namespaces/shop/configmaps/odd '
apiVersion: v1
kind: ConfigMap
metadata: {name: odd, annotations: {argocd.argoproj.io/tracking-id: "argocd_:/ConfigMap:shop/odd"}}'
	truce adopt --adopt-argocd
	says 'Argo CD application "argocd_" · 1 object of Git'"'"'s · cannot be looked up: its mark names no name'
	says '1  make sure that it does not sync by itself'
	says '4  take its finalizers away, or deleting it would delete the objects'
	git -C "$REPO" rm -q deploy/odd.yaml
	commit 'without it'
}

# Adopted objects are never pruned.
what_was_adopted_stays_when_git_drops_it() {
	git -C "$REPO" rm -q deploy/helm.yaml deploy/fresh.yaml
	commit 'less'
	truce_ok sync --adopt-argocd
	says 'kept'
	assert_eq blue "$(got /api/v1/namespaces/shop/configmaps/helm data.color)"
	is_gone /api/v1/namespaces/shop/configmaps/fresh || fail 'what truce made was not pruned'
}

what_cannot_be_found_out_is_told() {
	truce adopt --revision nowhere
	assert_eq 2 "$RC" 'exit status for an unknown revision'
	printf 'kind: ConfigMap\n' | put bad.yaml
	commit broken
	truce adopt
	assert_eq 2 "$RC" 'exit status of a commit that cannot be read'
	says 'deploy/bad.yaml:1'
}

# No controllers: they write, too.
sandbox_start --no-controllers
run_cases git_has_its_say deployers_are_there argo_cd_made_one flux_made_one helm_made_one kubectl_made_one an_operator_made_one \
	it_says_who_has_what_and_writes_nothing values_and_what_stays_are_named the_steps_are_those_of_each_deployer \
	foretold_is_kept without_the_steps_nothing_held_is_written with_the_steps_it_is_as_foretold \
	then_there_is_nothing_to_hand_over each_of_two_masters_has_to_let_go \
	what_cannot_be_read_is_expected_to_have_finalizers what_was_adopted_stays_when_git_drops_it what_cannot_be_found_out_is_told
sandbox_end

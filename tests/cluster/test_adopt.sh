#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `truce adopt` and `truce diff --revision` on a real API server: Deployments and ConfigMaps that Argo CD, Flux, Helm, kubectl
# and an operator have made. Neither writes anything (audit log). The printed commands are run as they stand, and what a sync
# then makes of each object, value by value and owner by owner, is what was foretold.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# deployment NAME IMAGE: as Git has it, or as another deployer applied it.
deployment() {
	cat <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: $1, namespace: $NS$3}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: $1}}
		  template:
		    metadata: {labels: {app: $1}}
		    spec:
		      containers:
		      - name: web
		        image: $2
		        env: [{name: LOG, value: info}]
	YAML
}

git_has_its_say() {
	local name
	for name in argo flux kube; do
		deployment $name web:2 '' | put $name.yaml
	done
	put hpa.yaml <<-YAML
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: kube}
		spec:
		  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: kube}
		  minReplicas: 1
		  maxReplicas: 9
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
	put helm.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: helm}
		data: {color: blue, size: "2"}
	YAML
	put regions.yaml <<-YAML
		apiVersion: v1
		kind: Service
		metadata: {name: regions}
		spec:
		  selector: {app: kube}
		  ports: [{port: 80}]
	YAML
	commit first
}

custom_kind() {
	kc admin apply -f - >/dev/null <<-YAML
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
	kc admin wait --for=condition=Established "crd/$2.$1" --timeout=20s >/dev/null
}

deployers_are_there() {
	custom_kind argoproj.io applications Application v1alpha1
	custom_kind kustomize.toolkit.fluxcd.io kustomizations Kustomization v1
	kc admin create namespace argocd >/dev/null
	kc admin create namespace flux-system >/dev/null
	kc admin apply -f - >/dev/null <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: shop, namespace: argocd, finalizers: [resources-finalizer.argocd.argoproj.io]}
		spec: {syncPolicy: {automated: {selfHeal: true}}}
		status: {resources: [{kind: ConfigMap, namespace: $NS, name: left}]}
		---
		apiVersion: kustomize.toolkit.fluxcd.io/v1
		kind: Kustomization
		metadata: {name: apps, namespace: flux-system}
		spec: {prune: true}
	YAML
}

five_deployers_made_something() {
	deployment argo web:1 ", annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/Deployment:$NS/argo'}" |
		kc operator apply --server-side --field-manager=argocd-controller -f - >/dev/null
	deployment flux web:2 ", labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}" |
		kc operator apply --server-side --field-manager=kustomize-controller -f - >/dev/null
	kc operator create --field-manager=helm -f - >/dev/null <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata:
		  name: helm
		  namespace: $NS
		  annotations: {meta.helm.sh/release-name: colors, meta.helm.sh/release-namespace: $NS}
		data: {color: red, size: "2", extra: helm}
	YAML
	kc operator create secret generic sh.helm.release.v1.colors.v1 -n "$NS" >/dev/null
	kc operator label secret sh.helm.release.v1.colors.v1 -n "$NS" owner=helm name=colors >/dev/null
	deployment kube web:2 '' | kc person apply -f - >/dev/null
	kc operator apply --server-side --field-manager=region-operator -f - >/dev/null <<-YAML
		apiVersion: v1
		kind: Service
		metadata: {name: regions, namespace: $NS}
		spec: {selector: {app: kube, region: north}, ports: [{port: 80}]}
	YAML
	sleep 1.1
	kc person set env deployment kube -n "$NS" LOG=debug X=1 >/dev/null
	kc operator patch deployment kube -n "$NS" --subresource=scale --type=merge -p '{"spec":{"replicas":5}}' \
		--field-manager=kube-controller-manager >/dev/null
	kc admin rollout status deployment -n "$NS" --timeout=60s >/dev/null
}

row_is() {
	local row
	row=$(grep -F -- "$1 " <<<"$OUT" | head -n 1 | tr -s ' ')
	[[ $row == *"$2"* ]] || fail "the row of $1 lacks '$2': $row"
}

it_says_who_has_what_and_writes_nothing() {
	mark
	truce adopt
	assert_eq 1 "$RC" 'exit status when something is to be decided'
	assert_eq 0 "$(truce_writes)" 'writes of truce adopt'
	[ "$(truce_dry_runs)" -ge 5 ] || fail 'the server was not asked'
	row_is deploy/argo 'Argo CD application "shop"'
	row_is deploy/flux 'Flux Kustomization "flux-system/apps"'
	row_is configmap/helm "Helm release \"$NS/colors\""
	row_is deploy/kube 'kubectl apply'
	row_is svc/regions 'region-operator'
	says 'web:1 → web:2   takes from argocd-controller   deploy/argo.yaml'
	says 'takes back from kubectl-set'
	says "yields 5   HPA $NS/kube (scale)"
	says '(atomic: one owner for all of it)'
	says 'there, syncs by itself and heals'
	says 'configmap/left'
	says 'nothing was written'
}

objects() {
	printf '%s\n' deployment/argo deployment/flux configmap/helm deployment/kube service/regions
}

look() {
	local object
	for object in $(objects); do
		kc admin get "$object" -n "$NS" --show-managed-fields -o json >"$WORK/$1-${object#*/}.json"
	done
}

as_foretold() {
	local name
	kc admin get "${1,,}" -n "$NS" --show-managed-fields -o json >"$WORK/after-${1#*/}.json"
	python3 "$tests/adopt.py" "$WORK/foretold.json" "$WORK/before-${1#*/}.json" "$WORK/after-${1#*/}.json" "$1"
}

foretold_is_kept() {
	mark
	truce adopt --all -o json
	assert_eq 1 "$RC"
	assert_eq 0 "$(truce_writes)" 'writes of truce adopt -o json'
	printf '%s' "$OUT" >"$WORK/foretold.json"
	look before
}

without_the_steps_nothing_held_is_written() {
	truce sync
	assert_eq 1 "$RC" 'exit status of a sync that is refused objects'
	says 'refused: deploy/argo: it belongs to Argo CD application "shop"'
	as_foretold Deployment/kube
	as_foretold Service/regions
	assert_eq 5 "$(got deployment kube '{.spec.replicas}')" 'what the autoscaler set'
	assert_eq web:1 "$(got deployment argo '{.spec.template.spec.containers[0].image}')"
}

# steps before|after: the printed commands of all deployers, up to the sync or from it on.
steps() {
	python3 - "$WORK/foretold.json" "$1" <<-'PY'
		import json, sys
		for t in json.load(open(sys.argv[1]))["trackers"]:
		    commands = [s.get("command", "") for s in t["steps"]]
		    sync = next(i for i, c in enumerate(commands) if "truce sync" in c)
		    for c in commands[:sync] if sys.argv[2] == "before" else commands[sync + 1:]:
		        print(c)
	PY
}

kubectl() {
	kc person "$@"
}

run_steps() {
	local line
	while IFS= read -r line; do
		case $line in
		'kubectl '*) eval "$line" >/dev/null ;;
		'- '*) printf 'apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec:\n  adoptArgoCD: true\n  ownership:\n    rules:\n    %s\n' \
			"$line" >"$WORK/agent.yaml" ;;
		esac
	done < <(steps "$1")
}

with_the_steps_it_is_as_foretold() {
	run_steps before
	[ -s "$WORK/agent.yaml" ] || fail 'no rule was printed'
	assert_eq true "$(kc admin get kustomization.kustomize.toolkit.fluxcd.io apps -n flux-system -o jsonpath='{.spec.suspend}')"
	truce_ok sync --config "$WORK/agent.yaml"
	as_foretold Deployment/argo
	as_foretold Deployment/flux
	as_foretold ConfigMap/helm
	assert_eq 1 "$(got deployment flux '{.metadata.annotations.deployment\.kubernetes\.io/revision}')" \
		'rollouts of a Deployment of which no value changed'
}

# What Flux applied it goes on owning; with the printed rule a removal from Git still has its effect.
what_git_drops_goes_though_flux_had_it() {
	deployment flux web:2 '' | sed 's/^ *env:.*//' | put flux.yaml
	commit 'no LOG'
	truce_ok sync --config "$WORK/agent.yaml"
	assert_eq '' "$(got deployment flux '{.spec.template.spec.containers[0].env}')"
}

the_deployers_go_and_leave_everything() {
	run_steps after
	! kc admin get application.argoproj.io shop -n argocd >/dev/null 2>&1 || fail 'the Application is still there'
	! kc admin get kustomization.kustomize.toolkit.fluxcd.io apps -n flux-system >/dev/null 2>&1 || fail 'the Kustomization is still there'
	! kc admin get secret sh.helm.release.v1.colors.v1 -n "$NS" >/dev/null 2>&1 || fail 'the release is still there'
	mark
	truce_ok sync --config "$WORK/agent.yaml"
	assert_eq 0 "$(cluster audit --lines --user truce --verb patch --since "$MARK" --namespace "$NS" | grep -vc 'dryRun=All' || true)" \
		'writes of objects by a sync after it'
	truce adopt --config "$WORK/agent.yaml"
	row_is deploy/argo "truce's"
	[[ $OUT != *'holds'* ]] || fail 'something is still held'
}

# The plan for a pull request, on this server.
a_branch_is_planned_and_nothing_is_written() {
	git -C "$REPO" checkout -q -b feature
	deployment argo web:3 '' | put argo.yaml
	commit 'web 3'
	git -C "$REPO" checkout -q main
	mark
	truce diff --config "$WORK/agent.yaml" --revision feature -o markdown
	assert_eq 1 "$RC" 'exit status of the plan'
	says '## `shop` at `feature`'
	says '`web:3`'
	truce diff --config "$WORK/agent.yaml" --revision "$(git -C "$REPO" rev-parse --short=8 feature)"
	assert_eq 1 "$RC" 'exit status of the plan of a commit'
	truce diff --config "$WORK/agent.yaml" --revision featur
	assert_eq 2 "$RC" 'exit status for an unknown branch'
	says 'near it: "feature"'
	assert_eq 0 "$(truce_writes)" 'writes of truce diff --revision'
	assert_eq web:2 "$(got deployment argo '{.spec.template.spec.containers[0].image}')"
}

cluster_begin --podsim-delay=200ms # asking for a flag makes it private: it brings definitions that others may have
cluster_needs private
truce_begin adopt
run_cases git_has_its_say deployers_are_there five_deployers_made_something it_says_who_has_what_and_writes_nothing \
	foretold_is_kept without_the_steps_nothing_held_is_written with_the_steps_it_is_as_foretold \
	what_git_drops_goes_though_flux_had_it the_deployers_go_and_leave_everything a_branch_is_planned_and_nothing_is_written

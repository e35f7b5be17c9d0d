#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One-shot sync and diff on a real API server: what they write, what they say, what they refuse.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

put_shop() {
	put web.yaml <<-'YAML'
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web}
		spec:
		  replicas: 1
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec:
		      containers:
		        - name: web
		          image: web:1.4
		          ports: [{containerPort: 80}]
	YAML
	put flags.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: flags}
		data: {dark: "on", size: "3"}
		---
		apiVersion: v1
		kind: Secret
		metadata: {name: db}
		stringData: {password: hunter22-very-secret}
	YAML
}

a_first_sync_creates_everything() {
	put_shop
	commit 'shop: first'
	truce diff
	assert_eq 1 "$RC" 'exit status of diff before the first sync'
	assert_eq '' "$(kc admin get configmap,secret,deployment -n "$NS" -o name | grep -v kube-root-ca || true)" 'diff wrote something'
	truce_ok sync
	says 'created     deploy/web'
	assert_eq on "$(got configmap flags '{.data.dark}')"
	assert_eq "shop:apps/Deployment:$NS/web" "$(got deployment web '{.metadata.annotations.argocd\.argoproj\.io/tracking-id}')"
}

a_second_sync_asks_only_what_it_must() {
	cluster_needs own
	truce_ok sync --wait
	mark
	truce_ok sync
	assert_eq 0 "$(truce_writes)" 'writes of a sync with nothing to do'
	# Discovery, key, inventory, and one LIST a kind: ConfigMap, Secret, Deployment, HorizontalPodAutoscaler.
	assert_eq 5 "$(truce_lists)" 'lists (four kinds and the inventory)'
	assert_eq 3 "$(truce_requests --verb get)" 'reads (two of discovery, the key)'
}

a_change_is_shown_then_made() {
	sed -i s/web:1.4/web:1.5/ "$REPO/deploy/web.yaml"
	commit 'bump web'
	truce diff
	assert_eq 1 "$RC" 'exit status of diff with a change'
	says 'spec.template.spec.containers[web].image   :12'
	says '- web:1.4'
	says '+ web:1.5'
	truce_ok sync
	says 'image web:1.4 → web:1.5'
	assert_eq web:1.5 "$(got deployment web '{.spec.template.spec.containers[0].image}')"
	truce diff
	assert_eq 0 "$RC" 'exit status of diff without a change'
}

secrets_are_never_shown() {
	sed -i s/hunter22-very-secret/correct-horse-battery/ "$REPO/deploy/flags.yaml"
	commit 'new password'
	truce diff
	for word in hunter22 correct-horse "$(printf correct-horse-battery | base64)"; do
		case $OUT in *"$word"*) fail "diff shows the Secret: $word" ;; esac
	done
	says 'data.password'
	truce_ok sync
	case $OUT in *correct-horse*) fail 'sync shows the Secret' ;; esac
}

a_broken_commit_changes_nothing() {
	cluster_needs own
	put broken.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: fine}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: broken
	YAML
	commit 'broken'
	mark
	truce sync
	assert_eq 2 "$RC" 'exit status of sync with a broken document'
	says 'deploy/broken.yaml:'
	assert_eq 0 "$(truce_writes)" 'writes of a sync with a broken document'
	rm "$REPO/deploy/broken.yaml"
}

an_unknown_field_is_the_user_s_error() {
	put bad.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: bad}
		dta: {a: b}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: good}
	YAML
	commit 'unknown field'
	truce sync
	assert_eq 1 "$RC" 'exit status of sync with a bad object'
	says 'dta'
	says 'deploy/bad.yaml:1'
	says 'not tried again until Git changes'
	exists configmap good || fail 'a bad object held up a good one'
	rm "$REPO/deploy/bad.yaml"
}

objects_of_others_are_refused_by_name() {
	kc admin create configmap argo -n "$NS" >/dev/null
	kc admin annotate configmap argo -n "$NS" "argocd.argoproj.io/tracking-id=other:/ConfigMap:$NS/argo" >/dev/null
	kc admin apply -n "$NS" -f - >/dev/null <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata:
		  name: controlled
		  ownerReferences:
		    - {apiVersion: apps/v1, kind: Deployment, name: web, uid: "$(got deployment web '{.metadata.uid}')", controller: true}
	YAML
	put others.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: argo}
		data: {mine: "yes"}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: controlled}
		data: {mine: "yes"}
	YAML
	commit 'objects of others'
	truce sync
	assert_eq 1 "$RC" 'exit status of sync with refused objects'
	says 'Argo CD application "other"'
	says 'controlled by Deployment web'
	assert_eq '' "$(got configmap argo '{.data.mine}')"
	assert_eq '' "$(got configmap controlled '{.data.mine}')"
	rm "$REPO/deploy/others.yaml"
	kc admin delete configmap argo controlled -n "$NS" >/dev/null
}

what_truce_cannot_do_is_refused() {
	put job.yaml <<-'YAML'
		apiVersion: batch/v1
		kind: Job
		metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync}}
		spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
	YAML
	commit 'a hook'
	truce sync
	assert_eq 1 "$RC" 'exit status of sync with a hook'
	says 'deploy/job.yaml:3'
	is_gone job migrate || fail 'a hook was applied as an ordinary object'
	rm "$REPO/deploy/job.yaml"
	put kustomization.yaml <<<'resources: [web.yaml]'
	commit 'kustomize'
	truce sync
	assert_eq 2 "$RC" 'exit status of sync with a kustomization'
	says 'kustomization.yaml'
	rm "$REPO/deploy/kustomization.yaml"
	commit 'back to normal'
	truce_ok sync
}

a_custom_resource_comes_with_its_definition() {
	local group=widgets-$$.example.io
	put crd.yaml <<-YAML
		apiVersion: $group/v1
		kind: Widget
		metadata: {name: first}
		spec: {size: 3}
		---
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: widgets.$group}
		spec:
		  group: $group
		  names: {kind: Widget, plural: widgets}
		  scope: Namespaced
		  versions:
		    - name: v1
		      served: true
		      storage: true
		      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
	YAML
	commit 'widgets'
	truce_ok sync
	assert_eq 3 "$(got "widgets.$group" first '{.spec.size}')"
	git -C "$REPO" rm -q deploy/crd.yaml
	commit 'no widgets'
	truce_ok sync
	says 'pruned      widget/first'
	says "pruned      crd/widgets.$group"
	! kc admin get crd "widgets.$group" >/dev/null 2>&1 || fail 'the CRD was not pruned'
}

usage_errors_say_what_to_do() {
	truce sync --repoo x
	assert_eq 2 "$RC" 'exit status of a wrong flag'
	says "did you mean"
	OUT=$("$TRUCE" sync 2>&1) && fail 'sync without a repository succeeded'
	says '--repo'
	OUT=$("$TRUCE" sync --repo "$REPO" --kubeconfig /nonexistent 2>&1) && fail 'sync without a cluster succeeded'
	says /nonexistent
}

cluster_begin
truce_begin sync
run_cases a_first_sync_creates_everything a_second_sync_asks_only_what_it_must a_change_is_shown_then_made \
	secrets_are_never_shown a_broken_commit_changes_nothing an_unknown_field_is_the_user_s_error \
	objects_of_others_are_refused_by_name what_truce_cannot_do_is_refused a_custom_resource_comes_with_its_definition \
	usage_errors_say_what_to_do

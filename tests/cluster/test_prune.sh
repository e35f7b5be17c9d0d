#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What leaves Git goes, in the right order, and nothing else does: operators outlive their resources, finalizers are
# respected, an empty folder and a large deletion are not believed, and a killed agent leaves nothing behind.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

GROUP=gears-$$.example.io

# maps NAME…: a file with one ConfigMap each.
maps() {
	local name
	for name in "$@"; do
		put "map-$name.yaml" <<-YAML
			apiVersion: v1
			kind: ConfigMap
			metadata: {name: $name}
			data: {name: $name}
		YAML
	done
}

put_crd() {
	put crd.yaml <<-YAML
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: gears.$GROUP}
		spec:
		  group: $GROUP
		  names: {kind: Gear, plural: gears}
		  scope: Namespaced
		  versions:
		    - name: v1
		      served: true
		      storage: true
		      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {teeth: {type: integer}}}}}}
	YAML
}

# gear NAME [FINALIZER]
gear() {
	put "gear-$1.yaml" <<-YAML
		apiVersion: $GROUP/v1
		kind: Gear
		metadata: {name: $1${2:+, finalizers: [$2]}}
		spec: {teeth: 12}
	YAML
}

put_operator() {
	put operator.yaml <<-'YAML'
		apiVersion: v1
		kind: ServiceAccount
		metadata: {name: operator}
		---
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: operator}
		spec:
		  replicas: 0
		  selector: {matchLabels: {app: operator}}
		  template:
		    metadata: {labels: {app: operator}}
		    spec:
		      serviceAccountName: operator
		      containers: [{name: operator, image: operator:1}]
	YAML
}

remove() {
	local file
	for file in "$@"; do
		rm "$REPO/deploy/$file"
	done
}

# Deletions since the mark in the order of the audit log: "gears/one configmaps/two …".
deletions() {
	cluster audit --user truce --since "$MARK" --verb delete --lines |
		sed 's/.*"objectRef":{"resource":"\([^"]*\)".*"name":"\([^"]*\)".*/\1\/\2/' | tr '\n' ' '
}

crd_is_gone() {
	! kc admin get crd "gears.$GROUP" >/dev/null 2>&1
}

# The objects that the stored inventory names, without the namespace.
inventory() {
	kc admin get configmap -n "$NS-truce" -l truce.dev/inventory -o "jsonpath={.items[*].data.objects}" |
		grep -v '^truce-inventory' | cut -f 1 | sed "s,/$NS/,/," | sort | tr '\n' ' '
}

# What of ours lives in the cluster, in the same form: by label, of the kinds that the test uses.
alive() {
	local kinds=configmaps,secrets,services,serviceaccounts,deployments.apps,horizontalpodautoscalers.autoscaling
	crd_is_gone || kinds+=,gears.$GROUP
	kc admin get "$kinds" -n "$NS" -l truce.dev/installation \
		-o 'jsonpath={range .items[*]}{.apiVersion}/{.kind}/{.metadata.name}{"\n"}{end}' |
		sed -E 's,^v1/,/,; s,^([^/]+)/v[^/]+/,\1/,' | sort | tr '\n' ' '
}

five_objects_go_in_order() {
	maps keep one
	put_crd
	gear one
	put_operator
	commit 'gears and their operator'
	truce_ok sync
	remove map-one.yaml crd.yaml gear-one.yaml operator.yaml
	commit 'no gears'
	mark
	truce_ok sync
	says 'pruned      gear/one'
	is_gone deployment operator || fail 'the operator was not pruned'
	crd_is_gone || fail 'the CRD was not pruned'
	exists configmap keep || fail 'an object that Git has was pruned'
	assert_eq '/ConfigMap/keep ' "$(inventory)" inventory
	[ "$CLUSTER_KIND" != external ] || return 0
	assert_eq 5 "$(truce_requests --verb delete)" 'deletions'
	assert_eq 1 "$(truce_requests --verb update,patch --resource configmaps --namespace "$NS-truce")" 'writes of the inventory'
	case $(deletions) in
	"gears/one "*" customresourcedefinitions/gears.$GROUP ") ;;
	*) fail "the order: $(deletions)" ;;
	esac
}

# The operator is needed for what its resources' finalizers ask; both wait for it, and so does a person, by name.
a_finalizer_is_waited_for_and_named() {
	put_crd
	gear one "$GROUP/drain"
	put_operator
	commit 'gears with a finalizer'
	truce_ok sync
	remove crd.yaml gear-one.yaml operator.yaml
	commit 'no gears'
	truce sync --timeout 6s
	[ "$RC" -ne 0 ] || fail 'sync ended well although a finalizer blocks'
	says "Gear/$NS/one to be gone: held by finalizer $GROUP/drain"
	exists deployment operator || fail 'the operator went before its resource'
	! crd_is_gone || fail 'the CRD went before its resource'
	assert_eq "$GROUP/drain" "$(got "gears.$GROUP" one '{.metadata.finalizers[*]}')" 'a finalizer was stripped'

	agent_start
	agent_waits 30 "finalizer $GROUP/drain"
	exists deployment operator || fail 'the operator went before its resource'
	# A new commit does not wait for the old one's deletions.
	maps two
	commit 'something else'
	wait_until 20 exists configmap two
	exists deployment operator || fail 'the operator went before its resource'
	kc operator patch "gears.$GROUP" one -n "$NS" --type json -p '[{"op":"remove","path":"/metadata/finalizers"}]' >/dev/null
	wait_until 30 is_gone deployment operator
	wait_until 30 crd_is_gone
	agent_waits 20 'msg="synced"'
	agent_stop
	assert_eq '/ConfigMap/keep /ConfigMap/two ' "$(inventory)" inventory
}

an_empty_folder_prunes_nothing() {
	mark
	mv "$REPO/deploy" "$WORK/saved"
	put README.md <<<'nothing here'
	commit 'oops'
	truce sync
	assert_eq 1 "$RC" 'exit status of sync with an empty folder'
	says 'the folder holds no objects at this revision, and an empty folder never prunes'
	says 'allow-empty'
	truce diff
	assert_eq 1 "$RC" 'exit status of diff with an empty folder'
	says 'extra       configmap/keep'
	exists configmap keep || fail 'an empty folder pruned'
	agent_start
	agent_waits 30 'an empty folder never prunes'
	agent_stop
	exists configmap keep || fail 'an empty folder pruned'
	[ "$CLUSTER_KIND" = external ] || assert_eq 0 "$(truce_requests --verb delete)" 'deletions'
	rm -r "$REPO/deploy"
	commit 'no folder at all'
	truce sync
	assert_eq 2 "$RC" 'exit status of sync without the folder'
	says deploy
	exists configmap keep || fail 'a missing folder pruned'
	mv "$WORK/saved" "$REPO/deploy"
	commit 'back again'
	truce_ok sync
}

a_large_deletion_needs_a_word() {
	local names
	mapfile -t names < <(printf 'm%02d\n' {1..24})
	maps "${names[@]}"
	commit 'many maps'
	truce_ok sync
	rm "$REPO"/deploy/map-m*.yaml
	commit 'hardly any maps'
	truce sync
	assert_eq 1 "$RC" 'exit status of sync over budget'
	says '24 of 26 objects would go (limit 20 or 25 %)'
	says '--prune-limit 24'
	exists configmap m01 || fail 'pruned over budget'
	truce sync --prune-limit 23
	assert_eq 1 "$RC" 'exit status of sync one over the limit'
	exists configmap m24 || fail 'pruned over budget'
	truce diff
	assert_eq 1 "$RC" 'exit status of diff with objects to prune'
	says 'extra       configmap/m01'
	truce_ok sync --prune-limit 24
	is_gone configmap m01 || fail 'not pruned'
	assert_eq '/ConfigMap/keep /ConfigMap/two ' "$(inventory)" inventory
}

what_is_protected_stays_and_is_named() {
	local name
	kc admin create configmap adopted -n "$NS" >/dev/null
	maps adopted plain
	put protected.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: no-prune, annotations: {argocd.argoproj.io/sync-options: Prune=false}}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: no-delete, annotations: {argocd.argoproj.io/sync-options: Delete=false}}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: helm-keep, annotations: {helm.sh/resource-policy: keep}}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: live-only}
	YAML
	commit 'protected ones'
	truce_ok sync
	assert_eq adopted "$(got configmap adopted '{.data.name}')"
	kc person annotate configmap live-only -n "$NS" argocd.argoproj.io/sync-options=Prune=false >/dev/null
	remove map-adopted.yaml map-plain.yaml protected.yaml
	commit 'they leave'
	truce_ok sync
	for name in adopted no-prune no-delete helm-keep live-only; do
		says "kept        configmap/$name"
		exists configmap "$name" || fail "$name was pruned"
	done
	says 'adopted: it existed before truce'
	is_gone configmap plain || fail 'plain was not pruned'
	truce_ok sync
	says 'kept        configmap/adopted'
	kc admin delete configmap adopted no-prune no-delete helm-keep live-only -n "$NS" >/dev/null
	truce_ok sync
	assert_eq '/ConfigMap/keep /ConfigMap/two ' "$(inventory)" 'what somebody else deleted is forgotten'
}

a_namespace_in_use_stays() {
	local ns=$NS-own
	cluster_namespaces+=("$ns")
	put ns.yaml <<-YAML
		apiVersion: v1
		kind: Namespace
		metadata: {name: $ns}
	YAML
	put inside.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: inside, namespace: $ns}
	YAML
	commit 'a namespace with something in it'
	truce_ok sync
	remove ns.yaml
	commit 'the namespace leaves, its content stays'
	truce_ok sync
	says "kept        ns/$ns"
	says 'the Namespace still holds objects that Git wants'
	kc admin get configmap inside -n "$ns" >/dev/null || fail 'the content went'
	remove inside.yaml
	commit 'the content leaves as well'
	kc admin create configmap theirs -n "$ns" >/dev/null
	truce diff
	says 'it would be pruned, with it at least 1 object of others: 1 ConfigMap'
	truce sync --dry-run
	says 'it would be pruned, with it at least 1 object of others: 1 ConfigMap'
	truce_ok sync --timeout 60s
	says "pruned      ns/$ns"
	says 'with it at least 1 object of others: 1 ConfigMap'
	! kc admin get namespace "$ns" >/dev/null 2>&1 || fail 'the namespace stays'
	assert_eq '/ConfigMap/keep /ConfigMap/two ' "$(inventory)" inventory
}

# killed_at POINT: a sync that a kill -9 ends there.
killed_at() {
	export TRUCE_FAILPOINT=$1
	truce sync
	unset TRUCE_FAILPOINT
	assert_eq 137 "$RC" "exit status of a sync killed at $1"
}

# Git goes on without what the killed sync was about: nothing of it may be left.
nothing_is_left() {
	rm -f "$REPO"/deploy/map-k[0-9].yaml "$REPO"/deploy/k*.yaml "$REPO"/deploy/gear-k*.yaml "$REPO/deploy/crd.yaml"
	commit "after $1"
	truce_ok sync --timeout 60s
	assert_eq '/ConfigMap/keep /ConfigMap/two ' "$(alive)" "alive after a kill at $1"
	truce_ok sync # what was announced and is not there might have been on its way: it is forgotten by the next one
	assert_eq "$(alive)" "$(inventory)" "inventory after a kill at $1"
	crd_is_gone || fail "the CRD is left after a kill at $1"
	mark
	truce_ok sync
	[ "$CLUSTER_KIND" = external ] || assert_eq 0 "$(truce_object_writes)" "writes of a sync with nothing to do, after a kill at $1"
}

put_scaled() {
	put kscaled.yaml <<-'YAML'
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: kscaled}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: kscaled}}
		  template:
		    metadata: {labels: {app: kscaled}}
		    spec: {containers: [{name: c, image: i}]}
	YAML
}

put_scaler() {
	put kscaler.yaml <<-'YAML'
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: kscaler}
		spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: kscaled}}
	YAML
}

a_kill_leaves_nothing_behind() {
	maps k1 k2 k3
	put_crd
	gear k1
	commit 'to be killed'
	killed_at after-superset
	assert_eq '/ConfigMap/keep /ConfigMap/two ' "$(alive)" 'alive after the superset only'
	nothing_is_left after-superset

	maps k1 k2 k3
	put_crd
	gear k1
	commit 'to be killed'
	killed_at after-apply
	nothing_is_left after-apply

	put_scaled
	maps k1
	commit 'to be scaled'
	truce_ok sync
	put_scaler
	commit 'its scaler'
	killed_at after-hand-over
	assert_eq 2 "$(got deployment kscaled '{.spec.replicas}')" 'replicas after a kill in a hand-over'
	nothing_is_left after-hand-over

	maps k1 k2 k3
	commit 'to be pruned'
	truce_ok sync
	remove map-k1.yaml map-k2.yaml
	commit 'prune two'
	killed_at mid-prune
	nothing_is_left mid-prune

	maps k1 k2 k3
	put_crd
	gear k1
	commit 'to be killed'
	killed_at before-last-save
	nothing_is_left before-last-save
}

# The same kill, and then Git stays as it is: the next sync ends what the first began.
a_killed_sync_is_taken_up_again() {
	local point
	for point in after-superset after-apply before-last-save; do
		maps k1 k2 k3
		put_crd
		gear k1
		commit 'to be killed'
		killed_at "$point"
		truce_ok sync
		if ! exists configmap k3 || ! exists "gears.$GROUP" k1; then
			fail "not everything exists after a kill at $point"
		fi
		assert_eq "$(alive | wc -w)" "$(($(inventory | wc -w) - 1))" 'inventory, which also has the CRD'
		nothing_is_left "$point"
	done
}

application_with() {
	cat >"$WORK/shop.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec: {namespace: $NS-truce}
		---
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: shop}
		spec:
		  project: default
		  source: {repoURL: "file://$REPO", path: deploy, targetRevision: main}
		  destination: {server: "https://kubernetes.default.svc", namespace: $NS}
		  syncPolicy: {automated: {prune: true}, syncOptions: [$1]}
	YAML
}

what_a_pruned_object_owns_goes_as_asked() {
	local option
	for option in Background Foreground Orphan; do
		maps owner
		commit 'an owner'
		truce_ok sync
		remove map-owner.yaml
		commit 'no owner'
		application_with "PrunePropagationPolicy=${option,,}"
		mark
		"$TRUCE" sync --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --config "$WORK/shop.yaml" --allow-file-repositories \
			--data-dir "$WORK/data" >"$WORK/out" 2>&1 || fail "$(cat "$WORK/out")"
		is_gone configmap owner || fail "it stayed with ${option,,}"
		[ "$CLUSTER_KIND" != external ] || continue
		assert_eq "\"propagationPolicy\":\"$option\"" \
			"$(cluster audit --user truce --since "$MARK" --verb delete --lines | grep -o '"propagationPolicy":"[A-Za-z]*"')"
	done
}

cluster_begin
truce_begin prune
run_cases five_objects_go_in_order a_finalizer_is_waited_for_and_named an_empty_folder_prunes_nothing \
	a_large_deletion_needs_a_word what_is_protected_stays_and_is_named a_namespace_in_use_stays \
	a_kill_leaves_nothing_behind a_killed_sync_is_taken_up_again what_a_pruned_object_owns_goes_as_asked

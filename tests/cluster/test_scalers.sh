#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Scalers beyond an HPA on a Deployment: a custom resource with a scale subresource, KEDA's objects, two scalers at once;
# changes of CRDs that would lose data; fields that cannot be changed.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

HOLD=3

# The definition is the cluster's, so each run has a group of its own.
crd() {
	cat <<-YAML
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: engines.$GROUP}
		spec:
		  group: $GROUP
		  scope: Namespaced
		  names: {plural: engines, singular: engine, kind: Engine, listKind: EngineList}
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    schema:
		      openAPIV3Schema:
		        type: object
		        properties:
		          spec: {type: object, properties: {workers: {type: integer}, model: {type: string}}}
		          status: {type: object, properties: {workers: {type: integer}}}
		    subresources:
		      status: {}
		      scale: {specReplicasPath: .spec.workers, statusReplicasPath: .status.workers}
	YAML
}

# engine NAME WORKERS MODEL
engine() {
	printf 'apiVersion: %s/v1\nkind: Engine\nmetadata: {name: %s}\nspec: {workers: %s, model: %s}\n' "$GROUP" "$1" "$2" "$3"
}

# hpa NAME API-VERSION KIND TARGET [MAX]
hpa() {
	cat <<-YAML
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: $1}
		spec:
		  scaleTargetRef: {apiVersion: $2, kind: $3, name: $4}
		  minReplicas: 1
		  maxReplicas: ${5:-9}
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
}

# deployment NAME REPLICAS
deployment() {
	cat <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: $1}
		spec:
		  replicas: $2
		  selector: {matchLabels: {app: $1}}
		  template:
		    metadata: {labels: {app: $1}, annotations: {podsim.truce.dev/hold: pending}}
		    spec: {containers: [{name: main, image: "main:1"}]}
	YAML
}

# autoscale RESOURCE NAME N [MANAGER]
autoscale() {
	kc operator patch "$1" "$2" -n "$NS" --subresource=scale --type=merge -p "{\"spec\":{\"replicas\":$3}}" \
		--field-manager="${4:-kube-controller-manager}" >/dev/null
}

# written RESOURCE NAME FIELD: the values of a field of spec in the bodies of truce's writes since the mark. One that is
# refused (409: the autoscaler's leftover has an owner) writes nothing.
written() {
	cluster audit --lines --user truce --verb patch,update,create --resource "$1" --namespace "$NS" --name "$2" \
		--since "$MARK" | FIELD=$3 python3 -c '
import json, os, sys
for line in sys.stdin:
    event = json.loads(line)
    body = event.get("requestObject")
    if event["responseStatus"]["code"] < 300 and isinstance(body, dict) and "dryRun=All" not in line and os.environ["FIELD"] in (body.get("spec") or {}):
        print(body["spec"][os.environ["FIELD"]])'
}

workers_are() {
	[ "$(got "engines.$GROUP" "$1" '{.spec.workers}')" = "$2" ]
}

replicas_are() {
	[ "$(got deployment "$1" '{.spec.replicas}')" = "$2" ]
}

# commit_applied SUBJECT: commits and waits until it is in force and all is done.
commit_applied() {
	agent_mark
	commit "$1"
	agent_waits 20 "subject=\"$1\""
	agent_waits 30 'msg="latency"'
}

a_custom_resource_is_left_to_its_hpa() {
	crd | put crd.yaml
	engine one 2 a | put one.yaml
	hpa one "$GROUP/v1" Engine one | put hpa.yaml
	commit 'an engine'
	mark
	agent_start --replicas-hold "${HOLD}s"
	agent_waits 60 'msg="latency"'
	assert_eq 2 "$(written engines one workers)" 'workers written at creation'
	mark
	autoscale "engines.$GROUP" one 6
	sed -i 's/model: a/model: b/' "$REPO/deploy/one.yaml"
	commit_applied 'model b'
	assert_eq '' "$(written engines one workers)" 'workers written under an HPA'
	assert_eq '6 b' "$(got "engines.$GROUP" one '{.spec.workers} {.spec.model}')"
}

a_renamed_hpa_changes_nothing() {
	mark
	agent_mark
	hpa another "$GROUP/v1" Engine one | put hpa.yaml
	commit_applied 'a renamed HPA'
	wait_until 10 is_gone hpa one
	autoscale "engines.$GROUP" one 7
	sleep $((HOLD + 1))
	! log_has 'set it in turns' || fail 'an HPA that is about to be pruned is told as a second scaler'
	assert_eq '' "$(written engines one workers)" 'workers written after the renaming'
	workers_are one 7 || fail 'the value moved'
}

# Deleted and made anew by hand, under another name, within the hold.
a_replaced_hpa_changes_nothing() {
	engine two 3 a | put two.yaml
	hpa two "$GROUP/v1" Engine two | kc operator apply -n "$NS" -f - >/dev/null
	commit_applied 'another engine'
	autoscale "engines.$GROUP" two 5
	mark
	kc operator delete hpa two -n "$NS" >/dev/null
	agent_waits 10 'its value stays for now'
	hpa three "$GROUP/v1" Engine two | kc operator apply -n "$NS" -f - >/dev/null
	sleep $((HOLD + 2))
	assert_eq '' "$(written engines two workers)" 'workers written after the replacement'
	workers_are two 5 || fail 'the value moved'
}

a_removed_hpa_gives_the_number_back_once() {
	mark
	agent_mark
	kc operator delete hpa three -n "$NS" >/dev/null
	agent_waits 10 'its value stays for now'
	wait_until 20 workers_are two 3
	assert_eq 3 "$(written engines two workers)" 'workers written after the hold'
}

two_scalers_are_told_with_their_places() {
	deployment pair 20 | put pair.yaml
	hpa pair-a apps/v1 Deployment pair | put pair-a.yaml
	hpa pair-b apps/v1 Deployment pair 12 | put pair-b.yaml
	agent_mark
	commit 'two scalers'
	agent_waits 20 'pair-a (deploy/pair-a.yaml:1) and HorizontalPodAutoscaler'
	agent_waits 20 'is outside of 1 to 9'
	truce diff
	says 'look: spec.replicas, line 5: '
	says "HorizontalPodAutoscaler $NS/pair-a (deploy/pair-a.yaml:1) and HorizontalPodAutoscaler $NS/pair-b (deploy/pair-b.yaml:1)"
	rm "$REPO/deploy/pair-b.yaml"
	sed -i 's/replicas: 20/replicas: 0/' "$REPO/deploy/pair.yaml"
	agent_mark
	commit 'one scaler, and a zero'
	agent_waits 20 "Git's 0 is not applied"
	wait_until 10 is_gone hpa pair-b
	truce diff
	says "Git's 0 is not applied"
	case $OUT in *pair-b*) fail 'a scaler that has gone is still told' ;; esac
	rm "$REPO/deploy/pair.yaml" "$REPO/deploy/pair-a.yaml"
	commit_applied 'no pair'
}

scaled_object() {
	cat <<-YAML
		apiVersion: keda.sh/v1alpha1
		kind: ScaledObject
		metadata: {name: sleeper}
		spec: {scaleTargetRef: {name: sleeper}, maxReplicaCount: 9, triggers: []}
	YAML
}

# KEDA's definition comes while the agent runs; its HPA is no second scaler, and 0 is a number like any other.
kedas_zero_and_one_are_left_alone() {
	local uid
	deployment sleeper 2 | put sleeper.yaml
	commit_applied 'a sleeper'
	kc admin apply -f - >/dev/null <<-YAML
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: scaledobjects.keda.sh}
		spec:
		  group: keda.sh
		  scope: Namespaced
		  names: {plural: scaledobjects, singular: scaledobject, kind: ScaledObject, listKind: ScaledObjectList}
		  versions:
		  - name: v1alpha1
		    served: true
		    storage: true
		    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
	YAML
	KEDA_IS_OURS=1
	kc admin wait --for=condition=Established crd/scaledobjects.keda.sh --timeout=20s >/dev/null
	wait_until 20 scaled_object_is_made
	wait_until 20 owner_is_keeper
	mark
	autoscale deployment sleeper 0 keda
	autoscale deployment sleeper 1 keda
	uid=$(got scaledobject.keda.sh sleeper '{.metadata.uid}')
	hpa keda-hpa-sleeper apps/v1 Deployment sleeper |
		sed "s/^metadata: .*/metadata: {name: keda-hpa-sleeper, ownerReferences: [{apiVersion: keda.sh\/v1alpha1, kind: ScaledObject, name: sleeper, uid: $uid, controller: true}]}/" |
		kc operator apply -n "$NS" -f - >/dev/null
	autoscale deployment sleeper 4
	sed -i s/main:1/main:2/ "$REPO/deploy/sleeper.yaml"
	commit_applied 'sleeper: 2'
	assert_eq '' "$(written deployments sleeper replicas)" 'replicas written under KEDA'
	replicas_are sleeper 4 || fail 'the value moved'
	truce diff
	says "ScaledObject $NS/sleeper"
	case $OUT in *'set it in turns'*) fail "KEDA's own HPA is told as a second scaler" ;; esac
}

scaled_object_is_made() {
	scaled_object | kc operator apply -n "$NS" -f - >/dev/null 2>&1
}

owner_is_keeper() {
	kc admin get deployment sleeper -n "$NS" --show-managed-fields -o json | python3 -c '
import json, sys
sys.exit(not any(e["manager"] == "truce-keeper" for e in json.load(sys.stdin)["metadata"]["managedFields"]))'
}

a_lossy_crd_is_refused_with_steps() {
	agent_stop
	truce_ok sync
	crd | sed '/subresources:/,$d' >"$WORK/crd.yaml"
	{
		cat "$WORK/crd.yaml"
		cat <<-YAML
			  - name: v2
			    served: true
			    storage: false
			    schema:
			      openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {workers: {type: integer}}}}}
		YAML
	} | put crd.yaml
	commit 'a version of fewer fields'
	mark
	truce diff
	says 'would lose .spec.model, .status by passing through v2'
	says 'crd.yaml:1'
	truce sync
	[ "$RC" -ne 0 ] || fail 'a lossy definition was applied'
	says 'refused: crd/engines'
	assert_eq 0 "$(truce_requests --verb patch --resource customresourcedefinitions)" 'patches of the definition'
	crd | sed 's/name: v1$/name: v9/' | put crd.yaml
	commit 'the stored version is dropped'
	truce diff
	says 'version v1 cannot be dropped'
	says "kubectl get engines.$GROUP -A -o json | kubectl replace -f -"
	says '{"status":{"storedVersions":["v9"]}}'
	crd | put crd.yaml
	commit 'as it was'
	truce_ok sync
}

# expect_refusal TEXT…: a sync fails, once, and says all of them.
expect_refusal() {
	local part
	commit 'a change that cannot be'
	truce diff
	for part; do says "$part"; done
	truce sync
	[ "$RC" -ne 0 ] || fail 'what cannot be changed was changed'
	for part; do says "$part"; done
}

fields_that_cannot_be_changed_are_explained() {
	deployment fixed 1 | put fixed.yaml
	{
		printf 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec:\n  suspend: true\n  template:\n'
		printf '    spec: {restartPolicy: Never, containers: [{name: c, image: "c:1"}]}\n'
	} | put job.yaml
	{
		printf 'apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: set}\nspec:\n  replicas: 0\n  serviceName: old\n'
		printf '  selector: {matchLabels: {app: set}}\n  template:\n    metadata: {labels: {app: set}}\n'
		printf '    spec: {containers: [{name: c, image: "c:1"}]}\n'
	} | put set.yaml
	printf 'apiVersion: v1\nkind: Service\nmetadata: {name: svc}\nspec: {ports: [{port: 80}]}\n' | put svc.yaml
	{
		printf 'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: claim}\nspec:\n  storageClassName: slow\n'
		printf '  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n'
	} | put claim.yaml
	printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: sec}\nimmutable: true\nstringData: {k: before-it}\n' | put sec.yaml
	commit 'what is fixed'
	truce_ok sync

	sed -i 's/app: fixed/app: other/g' "$REPO/deploy/fixed.yaml"
	expect_refusal 'spec.selector.matchLabels.app cannot be changed: Git wants "other", live is "fixed"' 'fixed.yaml:1'
	deployment fixed 1 | put fixed.yaml
	sed -i 's/c:1/c:2/' "$REPO/deploy/job.yaml"
	expect_refusal 'spec.template.spec.containers[c].image cannot be changed: Git wants "c:2", live is "c:1"' 'a Job runs once'
	sed -i 's/c:2/c:1/' "$REPO/deploy/job.yaml"
	sed -i 's/serviceName: old/serviceName: new/; s/c:1/c:2/' "$REPO/deploy/set.yaml"
	expect_refusal 'spec.serviceName cannot be changed: Git wants "new", live is "old"' \
		"kubectl delete statefulset set -n $NS --cascade=orphan"
	sed -i 's/serviceName: new/serviceName: old/' "$REPO/deploy/set.yaml"
	sed -i 's/spec: {/spec: {clusterIP: None, /' "$REPO/deploy/svc.yaml"
	expect_refusal 'spec.clusterIP cannot be changed: Git wants "None"' 'leave clusterIP and clusterIPs out of Git'
	sed -i 's/clusterIP: None, //' "$REPO/deploy/svc.yaml"
	sed -i 's/slow/fast/' "$REPO/deploy/claim.yaml"
	expect_refusal 'spec.storageClassName cannot be changed: Git wants "fast", live is "slow"'
	sed -i 's/fast/slow/' "$REPO/deploy/claim.yaml"
	sed -i 's/before-it/after-it/' "$REPO/deploy/sec.yaml"
	expect_refusal 'data.k cannot be changed: Git wants (hidden), live is (hidden)'
	case $OUT in *before-it* | *after-it* | *"$(printf after-it | base64)"*) fail 'the value of a Secret is told' ;; esac
	sed -i 's/after-it/before-it/' "$REPO/deploy/sec.yaml"
	commit 'all taken back'
	truce_ok sync
}

# A refused object is left alone until Git or the object changes; its status is no change of it.
a_refused_change_is_not_tried_again_for_a_status() {
	local i
	sed -i 's/c:1/c:2/' "$REPO/deploy/job.yaml"
	commit 'a Job that cannot be'
	agent_start --replicas-hold "${HOLD}s"
	agent_waits 30 'cannot be changed'
	sleep 1
	mark
	for i in 1 2 3 4; do
		kc operator patch job once -n "$NS" --subresource=status --type=merge \
			-p "{\"status\":{\"conditions\":[{\"type\":\"Test$i\",\"status\":\"True\"}]}}" >/dev/null
		sleep 2
	done
	assert_eq 0 "$(truce_requests --resource jobs)" 'requests for a Job whose status changes'
	agent_mark
	kc operator delete job once -n "$NS" >/dev/null
	agent_waits 20 'msg="healed"'
	assert_eq c:2 "$(got job once '{.spec.template.spec.containers[0].image}')"
}

# Spellings that the server changes, on an object whose status is written all the time.
spellings_cost_no_request() {
	{
		deployment spelled 1 | sed 's/image: "main:1"/image: "main:1", resources: {requests: {cpu: 1000m, memory: 1024Mi}, limits: {cpu: 1, memory: 2048Mi}}/'
		printf -- '---\n'
		engine spelled 2.0 a
	} | put spelled.yaml
	commit_applied 'the spellings'
	mark
	for i in 1 2 3; do
		kc operator patch "engines.$GROUP" spelled -n "$NS" --subresource=status --type=merge \
			-p "{\"status\":{\"workers\":$i}}" >/dev/null
		sleep 1
	done
	assert_eq 0 "$(truce_object_writes)" 'writes for spellings'
	agent_stop
	mark
	agent_start
	agent_waits 30 'msg="synced"'
	assert_eq 0 "$(truce_object_writes)" 'writes of a restart'
	agent_stop
}

scalers_end() {
	local status=$?
	[ -z "$AGENT_PID" ] || kill -KILL "$AGENT_PID" 2>/dev/null || true
	kc admin delete crd "engines.$GROUP" --ignore-not-found --wait=false >/dev/null 2>&1 || true
	[ -z "$KEDA_IS_OURS" ] || kc admin delete crd scaledobjects.keda.sh --ignore-not-found --wait=false >/dev/null 2>&1 || true
	truce_end "$status"
}

cluster_begin
cluster_needs own
KEDA_IS_OURS=
truce_begin scalers
GROUP=$NS.example.io
trap scalers_end EXIT
run_cases a_custom_resource_is_left_to_its_hpa a_renamed_hpa_changes_nothing a_replaced_hpa_changes_nothing \
	a_removed_hpa_gives_the_number_back_once two_scalers_are_told_with_their_places kedas_zero_and_one_are_left_alone \
	a_lossy_crd_is_refused_with_steps fields_that_cannot_be_changed_are_explained \
	a_refused_change_is_not_tried_again_for_a_status spellings_cost_no_request

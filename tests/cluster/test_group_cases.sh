#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rows of tests/cases/group/table.tsv about what people see on the API server: names, Services, /scale, claims, deletions. The
# sets are made by hand but for one, which Git and an autoscaler share.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"
# shellcheck source=tests/cluster/groups.sh
. "$(dirname "${BASH_SOURCE[0]}")/groups.sh"

DISK='volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: mine}}]
    persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Delete}'

by_hand() {
	set_of "$@" | kc person apply -n "$NS" -f - >/dev/null
}

# names RESOURCE NAME: of what belongs to the set, in order.
names() {
	kc admin get "$1" -n "$NS" -l "$NAME_LABEL=$2" -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}' | sort | tr '\n' ' '
}

names_are() {
	[ "$(names "$1" "$2")" = "$3" ]
}

owner_of() {
	got "$1" "$2" '{.metadata.ownerReferences[?(@.controller)].uid}'
}

an_agent_and_sets_begin() {
	groups_agent
	by_hand demo 2 4
	by_hand alone 1 3 main:1 '' 'restartPolicy: None'
	by_hand own 2 2
	by_hand old 3 2
	by_hand disk 2 2 main:1 '' "$DISK"
	wait_until 60 pods_are demo 8
	wait_until 30 condition_is demo Available
}

pods_and_service_have_their_names() {
	assert_eq 'demo-0 demo-0-1 demo-0-2 demo-0-3 demo-1 demo-1-1 demo-1-2 demo-1-3 ' "$(names pods demo)" Pods
	assert_eq 'demo ' "$(names services demo)" Services
	assert_eq "None true {\"$NAME_LABEL\":\"demo\"}" \
		"$(got service demo '{.spec.clusterIP} {.spec.publishNotReadyAddresses} {.spec.selector}')" 'the Service'
	wait_until 20 was_told demo 'CreatingRevision Creating revision with key '
	wait_until 20 was_told demo 'GroupsProgressing Replicas are progressing, with 0 groups ready of total 2 groups'
	wait_until 20 was_told demo 'AllGroupsReady All replicas are ready, with 2 groups ready of total 2 groups'
	assert_eq 'All replicas are ready' "$(condition demo Available message)"
	assert_eq False "$(condition demo Progressing status)" Progressing
}

scale_can_be_read_and_put() {
	local path=/apis/leaderworkerset.x-k8s.io/v1/namespaces/$NS/leaderworkersets/demo/scale before
	before=$(uids demo)
	kc person get --raw "$path" >"$WORK/scale.json"
	python3 - "$WORK/scale.json" "$NAME_LABEL=demo,leaderworkerset.sigs.k8s.io/worker-index=0" <<-'PY'
		import json, sys
		s = json.load(open(sys.argv[1]))
		assert (s["spec"]["replicas"], s["status"]["replicas"], s["status"]["selector"]) == (2, 2, sys.argv[2]), s
		s["spec"]["replicas"] = 3
		json.dump(s, open(sys.argv[1], "w"))
	PY
	kc person replace --raw "$path" -f "$WORK/scale.json" >/dev/null
	assert_eq 3 "$(got lws demo '{.spec.replicas}')" 'replicas'
	wait_until 30 was_told demo 'GroupsProgressing Replicas are progressing, with 2 groups ready of total 3 groups'
	wait_until 30 pods_are demo 12
	assert_eq "$before" "$(uids demo | grep -v '^demo-2')" 'the Pods of before'
}

a_service_that_somebody_deletes_comes_back() {
	local before pods
	before=$(got service demo '{.metadata.uid}')
	pods=$(uids demo)
	kc person delete service demo -n "$NS" >/dev/null
	wait_until 20 exists service demo
	[ "$(got service demo '{.metadata.uid}')" != "$before" ] || fail 'it was never gone'
	assert_eq "$(got lws demo '{.metadata.uid}')" "$(owner_of service demo)" 'its owner'
	assert_eq "$pods" "$(uids demo)" 'Pods'
}

# Everything of the worker's spec but where it runs.
worker_spec() {
	kc admin get pod alone-0-1 -n "$NS" -o json | python3 -c '
import json, sys
spec = json.load(sys.stdin)["spec"]
spec.pop("nodeName", None)
print("/".join(sorted(v["name"] for v in spec.pop("volumes", []) if "kube-api-access" not in v["name"])))
for c in spec["containers"]:
    c.pop("volumeMounts", None)
print(json.dumps(spec, sort_keys=True))' | sed 's/"schedulingGates": \[[^]]*\], //'
}

all_workers_are_others() {
	[ -z "$(comm -12 <(grep -v '^alone-0=' <<<"$1") <(uids alone))" ] && pods_are alone 3
}

workers_of_policy_none_come_back_as_they_were() {
	local before spec
	wait_until 30 pods_are alone 3
	before=$(uids alone)
	spec=$(worker_spec)
	kc admin get pod alone-0 -n "$NS" --watch -o 'jsonpath={.metadata.deletionTimestamp}{"\n"}' >"$WORK/leader" 2>/dev/null &
	wait_until 10 test -s "$WORK/leader"
	kc person delete pods alone-0-1 alone-0-2 -n "$NS" --wait=false >/dev/null
	wait_until 30 all_workers_are_others "$before"
	kill %% && wait %% 2>/dev/null || true
	assert_eq '' "$(tr -d '\n' <"$WORK/leader")" 'deletions of the leader'
	assert_eq "$(grep '^alone-0=' <<<"$before")" "$(uids alone | grep '^alone-0=')" 'the leader'
	assert_eq "$spec" "$(worker_spec)" 'the spec of a worker'
}

each_group_can_have_a_service_of_its_own() {
	local name
	wait_until 30 pods_are own 4
	assert_eq 'own ' "$(names services own)" Services
	by_hand own 2 2 main:1 'networkConfig: {subdomainPolicy: UniquePerReplica}'
	wait_until 60 names_are services own 'own-0 own-1 '
	wait_until 30 pods_are own 4
	for name in own-0 own-1; do
		assert_eq "$(got lws own '{.metadata.uid}')" "$(owner_of service "$name")" "the owner of $name"
		assert_eq "$name $name.$name.$NS" \
			"$(got pod "$name-1" '{.spec.subdomain} {.spec.containers[0].env[?(@.name=="LWS_LEADER_ADDRESS")].value}')" \
			"where $name-1 finds its leader"
	done
	kc person delete service own-1 -n "$NS" >/dev/null
	wait_until 20 exists service own-1
}

# The new revision never gets ready, so the roll stays where it is.
a_group_of_before_comes_back_as_it_was_in_a_roll() {
	local before
	wait_until 30 pods_are old 6
	by_hand old 3 2 main:2 '' '' 'podsim.truce.dev/hold: unready'
	wait_until 30 images_are old '0=main:1 1=main:1 2=main:2'
	before=$(uids old 0)
	kc person delete pod old-0-1 -n "$NS" --wait=false >/dev/null
	wait_until 30 is_remade old 0 "$before"
	assert_eq '0=main:1 1=main:1 2=main:2' "$(images old)" 'images'
	assert_eq True "$(condition old UpdateInProgress status)" UpdateInProgress
}

claims_come_with_pods_and_go_with_groups() {
	wait_until 30 names_are pvc disk 'data-disk-0 data-disk-0-1 data-disk-1 data-disk-1-1 '
	assert_eq '["ReadWriteOnce"] 1Gi ' "$(got pvc data-disk-1-1 '{.spec.accessModes} {.spec.resources.requests.storage} {.spec.volumeName}')" \
		'what is taken of the template'
	assert_eq data-disk-1-1 "$(got pod disk-1-1 '{.spec.volumes[?(@.name=="data")].persistentVolumeClaim.claimName}')" 'the volume'
	wait_until 30 pods_are disk 4
	kc person scale lws/disk -n "$NS" --replicas=1 >/dev/null
	wait_until 30 names_are pods disk 'disk-0 disk-0-1 '
	wait_until 30 names_are pvc disk 'data-disk-0 data-disk-0-1 '
}

nothing_is_left_of() {
	local resource
	for resource in pods services controllerrevisions pvc; do
		[ -z "$(names "$resource" "$1")" ] || return 1
	done
}

deleted_in_the_foreground_all_of_it_goes() {
	assert_eq '' "$(got lws disk '{.metadata.finalizers}')" 'finalizers'
	[ -n "$(names controllerrevisions disk)" ] || fail 'it has no revision'
	kc person delete lws disk -n "$NS" --cascade=foreground --timeout=180s >/dev/null
	assert_eq '' "$(names pods disk)$(names services disk)$(names controllerrevisions disk)" 'what is left when the object is gone'
	wait_until 30 nothing_is_left_of disk
}

# Shares of 4 groups that are none of 3.
an_autoscaler_that_shrinks_a_set_stops_no_roll() {
	local rolling='rolloutStrategy: {rollingUpdateConfiguration: {maxUnavailable: "25%"}}'
	set_of shares 4 1 main:1 "$rolling" | put shares.yaml
	scaler_of shares | put shares-hpa.yaml
	commit 'a quarter may be missing'
	wait_until 30 pods_are shares 4
	kc operator scale lws/shares -n "$NS" --replicas=3 >/dev/null
	wait_until 30 pods_are shares 3
	set_of shares 4 1 main:2 "$rolling" | put shares.yaml
	commit 'and a new image'
	wait_until 60 images_are shares '0=main:2 1=main:2 2=main:2'
	wait_until 30 condition_is shares Available
	wait_until 20 was_told shares 'both come to 0 of 3 replicas, 1 is used for maxUnavailable'
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
}

cache_definition() {
	put definition.yaml <<-'YAML'
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: caches.cases.example}
		spec:
		  group: cases.example
		  scope: Namespaced
		  names: {plural: caches, singular: cache, kind: Cache, listKind: CacheList}
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    schema:
		      openAPIV3Schema:
		        type: object
		        properties:
		          spec:
		            type: object
		            properties: {model: {type: string}, replicas: {type: integer}}
		            x-kubernetes-validations:
		            - {rule: "size(self.model) > 0", message: a cache is of a model}
		            - {rule: "self.replicas >= 0 && self.replicas <= 8", message: 0 to 8 replicas}
	YAML
}

a_value_that_a_rule_of_the_definition_refuses_is_told_by_diff() {
	cache_definition
	commit 'a kind with rules'
	wait_until 30 kc admin wait --for=condition=Established crd/caches.cases.example --timeout=1s
	printf 'apiVersion: cases.example/v1\nkind: Cache\nmetadata: {name: one}\nspec: {model: "", replicas: 9}\n' | put cache.yaml
	commit 'no model, and too many'
	truce diff
	assert_eq 2 "$RC" 'exit status of diff'
	says 'a cache is of a model'
	says '0 to 8 replicas'
	is_gone caches.cases.example one || fail 'it was made'
	printf 'apiVersion: cases.example/v1\nkind: Cache\nmetadata: {name: one}\nspec: {model: m, replicas: 8}\n' | put cache.yaml
	commit 'as it should be'
	wait_until 30 exists caches.cases.example one
}

job_has_failed() {
	[ "$(got job failing '{.status.conditions[?(@.type=="Failed")].status}')" = True ]
}

a_cron_job_that_failed_holds_up_no_commit() {
	put cron.yaml <<-'YAML'
		apiVersion: batch/v1
		kind: CronJob
		metadata: {name: nightly}
		spec:
		  schedule: "0 4 * * *"
		  jobTemplate:
		    spec:
		      backoffLimit: 0
		      template:
		        metadata: {annotations: {podsim.truce.dev/exit: "1"}}
		        spec: {restartPolicy: Never, containers: [{name: main, image: "main:1"}]}
	YAML
	commit 'a nightly job'
	wait_until 30 exists cronjob nightly
	kc person create job failing -n "$NS" --from=cronjob/nightly >/dev/null
	wait_until 60 job_has_failed
	put after.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: after}
	YAML
	commit 'goes on'
	wait_until 30 exists configmap after
}

no_set_is_left() {
	[ -z "$(kc admin get lws -n "$NS" -o name)" ]
}

# Nobody has to do anything: owner references are enough.
deleted_while_nobody_runs_them_they_go_as_well() {
	local name
	agent_stop
	kc person delete lws --all -n "$NS" --wait=false >/dev/null
	wait_until 30 no_set_is_left
	for name in demo alone own old shares; do
		wait_until 60 nothing_is_left_of "$name"
	done
}

cluster_begin
cluster_needs own
truce_begin group-cases
run_cases an_agent_and_sets_begin pods_and_service_have_their_names scale_can_be_read_and_put \
	a_service_that_somebody_deletes_comes_back workers_of_policy_none_come_back_as_they_were \
	each_group_can_have_a_service_of_its_own a_group_of_before_comes_back_as_it_was_in_a_roll \
	claims_come_with_pods_and_go_with_groups deleted_in_the_foreground_all_of_it_goes \
	an_autoscaler_that_shrinks_a_set_stops_no_roll a_value_that_a_rule_of_the_definition_refuses_is_told_by_diff \
	a_cron_job_that_failed_holds_up_no_commit deleted_while_nobody_runs_them_they_go_as_well

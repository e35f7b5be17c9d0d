#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The accidents that podsim plays, each by annotations and on a real API server; before that its pure part, by go test.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

pure_part_passes() {
	local go
	go=$("$cluster_source/toolchain.sh")
	(cd "$cluster_source/controlplane" && GOTOOLCHAIN=local GOFLAGS='-mod=readonly -buildvcs=false' nice "$go" test -trimpath ./sim)
}

# pod NAME ANNOTATIONS [SPEC-LINE…]: YAML flow mappings and lines of the spec. $limits: of its container.
pod() {
	local name=$1 annotations=$2
	shift 2
	{
		cat <<-YAML
			apiVersion: v1
			kind: Pod
			metadata: {name: $name, namespace: $NS, labels: {name: $name}, annotations: {$annotations}}
			spec:
			  containers: [{name: main, image: "example/main:1", resources: {limits: {${limits-}}}}]
		YAML
		[ $# -eq 0 ] || printf '  %s\n' "$@"
	} | kc person apply -f -
}

gpu_pod() {
	limits='nvidia.com/gpu: 8' pod "$1" ''
}

# field POD PATH: what is true for a moment only is asked for at once, as "PATH}{' '}{PATH".
field() {
	kc person -n "$NS" get pod "$1" -o "jsonpath={$2}"
}

field_is() {
	[ "$(field "$1" "$2")" = "$3" ]
}

becomes() {
	(wait_until 20 field_is "$@") || fail "$1: $2 is '$(field "$1" "$2")', want '$3'"
}

READY='.status.conditions[?(@.type=="Ready")].status'
SCHEDULED='.status.conditions[?(@.type=="PodScheduled")]'
MAIN='.status.containerStatuses[0]'
PREPARE='.status.initContainerStatuses[0]'

annotate() {
	kc person -n "$NS" annotate --overwrite pod "$@"
}

is_gone() {
	! kc person -n "$NS" get pod "$1" 2>/dev/null
}

crash_is_counted_with_its_exit_code() {
	pod crash ''
	becomes crash "$READY" True
	annotate crash podsim.truce.dev/crashes=1 podsim.truce.dev/crash-code=137 podsim.truce.dev/crash-reason=OOMKilled
	becomes crash "$MAIN.restartCount" 1
	assert_eq '137 OOMKilled' "$(field crash "$MAIN.lastState.terminated.exitCode}{' '}{$MAIN.lastState.terminated.reason")"
	becomes crash "$READY" True
	assert_eq 'Running 1' "$(field crash ".status.phase}{' '}{$MAIN.restartCount")" 'afterwards'
}

init_container_crashes_while_its_pod_is_pending() {
	pod init 'podsim.truce.dev/crashes: "1", podsim.truce.dev/crash-container: prepare, podsim.truce.dev/delay: 5s' \
		'initContainers: [{name: prepare, image: "example/prepare:1"}]'
	becomes init "$PREPARE.restartCount}{' '}{$PREPARE.lastState.terminated.exitCode}{' '}{.status.phase" '1 1 Pending'
	becomes init "$READY" True
}

pod_that_is_not_restarted_fails() {
	pod once 'podsim.truce.dev/crashes: "1", podsim.truce.dev/crash-code: "3"' 'restartPolicy: Never'
	becomes once .status.phase Failed
	assert_eq '3 0' "$(field once "$MAIN.state.terminated.exitCode}{' '}{$MAIN.restartCount")"
}

slow_load_is_running_and_not_ready() {
	pod slow 'podsim.truce.dev/load: 5s'
	becomes slow ".status.phase}{' '}{$READY" 'Running False'
	becomes slow "$READY" True
}

readiness_flaps() {
	pod flap 'podsim.truce.dev/flap: 1s'
	becomes flap "$READY" True
	becomes flap "$READY" False
	becomes flap "$READY" True
	assert_eq 0 "$(field flap "$MAIN.restartCount")" restarts
}

evicted_pod_fails_with_the_reason() {
	pod evicted ''
	becomes evicted "$READY" True
	annotate evicted podsim.truce.dev/evict=true
	becomes evicted .status.phase Failed
	assert_eq 'Evicted 137' "$(field evicted ".status.reason}{' '}{$MAIN.state.terminated.exitCode")"
}

image_that_cannot_be_had_waits() {
	pod image 'podsim.truce.dev/waiting: ErrImagePull'
	becomes image "$MAIN.state.waiting.reason" ErrImagePull
	assert_eq Pending "$(field image .status.phase)"
	annotate image podsim.truce.dev/waiting-
	becomes image "$READY" True
}

termination_takes_its_time_and_no_more_than_the_grace_period() {
	pod leisurely 'podsim.truce.dev/stop: 1h'
	becomes leisurely "$READY" True
	kc person -n "$NS" delete pod leisurely --grace-period=600 --wait=false
	sleep 2
	field leisurely .metadata.deletionTimestamp | grep . >/dev/null || fail 'it is not being deleted'
	kc person -n "$NS" delete pod leisurely --grace-period=1 --wait=false
	wait_until 20 is_gone leisurely
}

gated_pod_is_not_scheduled() {
	pod gated '' 'schedulingGates: [{name: truce.dev/group}]'
	sleep 1
	assert_eq 'False SchedulingGated' "$(field gated "$SCHEDULED.status}{' '}{$SCHEDULED.reason")"
	kc person -n "$NS" patch pod gated --type=json -p '[{"op":"remove","path":"/spec/schedulingGates"}]'
	becomes gated "$READY" True
}

pod_that_does_not_fit_waits_for_room() {
	local name
	for name in big-1 big-2 big-3; do
		gpu_pod "$name"
		becomes "$name" "$READY" True
	done
	assert_eq 3 "$(kc person -n "$NS" get pods -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{.spec.nodeName}{"\n"}{end}' |
		grep ^big- | cut -d' ' -f2 | sort -u | wc -l)" Nodes
	gpu_pod big-4
	becomes big-4 "$SCHEDULED.reason" Unschedulable
	assert_eq '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.' "$(field big-4 "$SCHEDULED.message")"
	kc person -n "$NS" delete pod big-2
	becomes big-4 "$READY" True
	gpu_pod big-5
	becomes big-5 "$SCHEDULED.reason" Unschedulable
	kc person apply -f - <<-YAML
		apiVersion: v1
		kind: Node
		metadata: {name: later, annotations: {podsim.truce.dev/node: "true"}, labels: {topology.kubernetes.io/zone: zone-4}}
		status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110", nvidia.com/gpu: "8"}}
	YAML
	becomes big-5 "$READY" True
	assert_eq later "$(field big-5 .spec.nodeName)"
	assert_eq 8 "$(kc person get node later -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}')" 'what it was made with'
	kc person -n "$NS" delete pods big-1 big-3 big-4 big-5
	kc person delete node later
}

placement_follows_selectors_and_affinity() {
	local anti="requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {name: here}}}]"
	pod here '' 'nodeSelector: {topology.kubernetes.io/zone: zone-2}'
	becomes here "$READY" True
	assert_eq node-2 "$(field here .spec.nodeName)"
	pod nowhere '' 'nodeSelector: {topology.kubernetes.io/zone: zone-9}'
	becomes nowhere "$SCHEDULED.message" "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
	pod near '' "affinity: {podAffinity: {$anti}}"
	becomes near .spec.nodeName node-2
	pod far '' "affinity: {podAntiAffinity: {$anti}}" 'nodeSelector: {topology.kubernetes.io/zone: zone-2}'
	becomes far "$SCHEDULED.message" \
		"0/3 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 2 node(s) didn't match Pod's node affinity/selector."
}

node_condition_is() {
	[ "$(kc person get node "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = "$2" ]
}

has_taint() {
	kc person get node "$1" -o 'jsonpath={.spec.taints[*].key}' | grep -F "$2"
}

has_no_taints() {
	[ -z "$(kc person get node "$1" -o 'jsonpath={.spec.taints}')" ]
}

node_that_is_lost_answers_no_more() {
	pod lost '' 'nodeSelector: {kubernetes.io/hostname: node-1}'
	pod kept '' 'nodeSelector: {kubernetes.io/hostname: node-1}'
	becomes lost "$READY" True
	becomes kept "$READY" True
	kc person annotate node node-1 podsim.truce.dev/down=true
	wait_until 20 node_condition_is node-1 Unknown
	becomes lost "$READY" False
	assert_eq 'Running True' "$(field lost ".status.phase}{' '}{.status.conditions[?(@.type==\"ContainersReady\")].status")"
	wait_until 20 has_taint node-1 node.kubernetes.io/unreachable
	kc person -n "$NS" delete pod lost --grace-period=1 --wait=false
	pod more '' 'nodeSelector: {kubernetes.io/hostname: node-1}'
	becomes more "$SCHEDULED.reason" Unschedulable
	sleep 3
	field lost .metadata.deletionTimestamp | grep . >/dev/null || fail 'somebody answered'
	kc person annotate node node-1 podsim.truce.dev/down-
	wait_until 20 node_condition_is node-1 True
	wait_until 20 is_gone lost
	becomes kept "$READY" True
	becomes more "$READY" True
	wait_until 20 has_no_taints node-1
}

pods_of_a_node_out_of_service_are_removed() {
	pod stuck '' 'nodeSelector: {kubernetes.io/hostname: node-3}'
	becomes stuck "$READY" True
	kc person annotate node node-3 podsim.truce.dev/down=true
	becomes stuck "$READY" False
	kc person -n "$NS" delete pod stuck --wait=false
	kc person taint node node-3 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute
	wait_until 60 is_gone stuck
	kc person taint node node-3 node.kubernetes.io/out-of-service-
	kc person annotate node node-3 podsim.truce.dev/down-
	wait_until 20 node_condition_is node-3 True
}

# Where nobody ever says that it is gone, one has to force a deletion.
node_that_was_lost_and_deleted_stays_away() {
	pod orphan '' 'nodeSelector: {kubernetes.io/hostname: node-2}'
	becomes orphan "$READY" True
	kc person annotate node node-2 podsim.truce.dev/down=true
	becomes orphan "$READY" False
	kc person delete node node-2
	kc person -n "$NS" delete pod orphan --wait=false
	sleep 11 # podsim looks after its Nodes every 10 s
	! kc person get node node-2 2>/dev/null || fail 'it is back'
	kc person -n "$NS" delete pod orphan --force --grace-period=0 --ignore-not-found
	wait_until 20 is_gone orphan
}

if [ -n "$(cluster_external_kubeconfig)" ]; then
	skip "a kubeconfig is given: these are tests of our own control plane"
fi
cluster_begin --podsim-arg=--nodes=3 --podsim-arg=--zones=3 --podsim-arg=--node-cpu=4 --podsim-arg=--node-gpu=8
new_namespace podsim
run_cases \
	pure_part_passes \
	crash_is_counted_with_its_exit_code \
	init_container_crashes_while_its_pod_is_pending \
	pod_that_is_not_restarted_fails \
	slow_load_is_running_and_not_ready \
	readiness_flaps \
	evicted_pod_fails_with_the_reason \
	image_that_cannot_be_had_waits \
	termination_takes_its_time_and_no_more_than_the_grace_period \
	gated_pod_is_not_scheduled \
	pod_that_does_not_fit_waits_for_room \
	placement_follows_selectors_and_affinity \
	node_that_is_lost_answers_no_more \
	pods_of_a_node_out_of_service_are_removed \
	node_that_was_lost_and_deleted_stays_away

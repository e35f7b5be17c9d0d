# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For tests of LeaderWorkerSets in $NS: source it after truce.sh. (Those in the sandbox take set_of and scaler_of.)
#
#   groups_begin               the definition is there
#   groups_agent               and an agent runs, for sets that are made by hand: Git has something else
#   set_of NAME REPLICAS SIZE [IMAGE] [MORE OF SPEC] [MORE OF THE TEMPLATE] [ANNOTATIONS OF PODS]
#                              prints a set that truce runs; scaler_of NAME an HPA for it that has nothing to measure
#   uids NAME [GROUP]          of its Pods that are not being deleted, "name=uid" a line
#   all_are_new OLD NEW        two such lists: the same names, none of the uids; is_remade NAME GROUP OLD
#   is_another NAME POD OLD    the Pod is there, and none of such a list
#   count_pods NAME            "ALL READY"; pods_are NAME N: so many there are, and all are Ready
#   condition NAME TYPE FIELD  of a condition; condition_is NAME TYPE [STATUS]
#   was_told NAME TEXT         by an Event, as "REASON MESSAGE"
#   images NAME                of groups by index, "0=main:1 1=main:2"; images_are NAME WANT
#   leaders_deleted NAME       groups in the order in which truce deleted their leaders since the mark: "1 0 "

NAME_LABEL=leaderworkerset.sigs.k8s.io/name
GROUP_LABEL=leaderworkerset.sigs.k8s.io/group-index

groups_begin() {
	kc admin apply --server-side -f "$(dirname "${BASH_SOURCE[0]}")/../../deploy/lws/crd.yaml" >/dev/null
	kc admin wait --for=condition=Established crd/leaderworkersets.leaderworkerset.x-k8s.io --timeout=60s >/dev/null
}

groups_agent() {
	groups_begin
	put beside.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: beside}
	YAML
	commit 'something else'
	agent_start
	agent_waits 30 'msg="synced"'
}

set_of() {
	cat <<-YAML
		apiVersion: leaderworkerset.x-k8s.io/v1
		kind: LeaderWorkerSet
		metadata: {name: $1, annotations: {truce.dev/group-controller: embedded}}
		spec:
		  replicas: $2
		  ${5-}
		  leaderWorkerTemplate:
		    size: $3
		    ${6-}
		    workerTemplate:
		      metadata: {annotations: {${7-}}}
		      spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: "${4:-main:1}"}]}
	YAML
}

scaler_of() {
	cat <<-YAML
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: $1}
		spec:
		  scaleTargetRef: {apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: $1}
		  minReplicas: 1
		  maxReplicas: 9
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
}

uids() {
	kc admin get pods -n "$NS" -l "$NAME_LABEL=$1${2:+,$GROUP_LABEL=$2}" -o json | python3 -c '
import json, sys
for p in json.load(sys.stdin)["items"]:
    if "deletionTimestamp" not in p["metadata"]:
        print(p["metadata"]["name"] + "=" + p["metadata"]["uid"])' | sort
}

all_are_new() {
	[ "$(cut -d= -f1 <<<"$1")" = "$(cut -d= -f1 <<<"$2")" ] && ! grep -qFf <(cut -d= -f2 <<<"$1") <<<"$2"
}

is_remade() {
	all_are_new "$3" "$(uids "$1" "$2")"
}

is_another() {
	local now
	now=$(uids "$1" | grep "^$2=") && ! grep -qF "$now" <<<"$3"
}

count_pods() {
	kc admin get pods -n "$NS" -l "$NAME_LABEL=$1" -o json | python3 -c '
import json, sys
pods = json.load(sys.stdin)["items"]
print(len(pods), sum(any(c["type"] == "Ready" and c["status"] == "True" for c in p["status"].get("conditions", []))
                     and "deletionTimestamp" not in p["metadata"] for p in pods))'
}

pods_are() {
	[ "$(count_pods "$1")" = "$2 $2" ]
}

condition() {
	got lws "$1" "{.status.conditions[?(@.type=='$2')].$3}"
}

condition_is() {
	[ "$(condition "$1" "$2" status)" = "${3:-True}" ]
}

was_told() {
	kc admin get events -n "$NS" --field-selector "involvedObject.name=$1" -o 'jsonpath={range .items[*]}{.reason} {.message}{"\n"}{end}' |
		grep -F -- "$2"
}

images() {
	kc admin get pods -n "$NS" -l "$NAME_LABEL=$1" -o json | python3 -c '
import json, sys
groups = {}
for p in json.load(sys.stdin)["items"]:
    groups.setdefault(int(p["metadata"]["labels"]["'$GROUP_LABEL'"]), set()).add(p["spec"]["containers"][0]["image"])
print(" ".join(f"{g}={chr(43).join(sorted(groups[g]))}" for g in sorted(groups)))'
}

images_are() {
	[ "$(images "$1")" = "$2" ]
}

leaders_deleted() {
	cluster audit --lines --user truce --verb delete --resource pods --namespace "$NS" --since "$MARK" | python3 -c '
import json, re, sys
for line in sys.stdin:
    e = json.loads(line)
    m = re.fullmatch(re.escape(sys.argv[1]) + r"-(\d+)", e["objectRef"]["name"])
    if m and e["responseStatus"]["code"] < 300:
        print(m.group(1), end=" ")' "$1"
}

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For tests of LeaderWorkerSets in $NS: source it after truce.sh.
#
#   groups_begin               the definition is there
#   uids NAME [GROUP]          of its Pods that are not being deleted, "name=uid" a line
#   pods_are NAME N            there are so many Pods, and all are Ready
#   condition NAME TYPE FIELD  of a condition; is_available NAME
#   images NAME                of groups by index, "0=main:1 1=main:2"; images_are NAME WANT
#   leaders_deleted NAME       groups in the order in which truce deleted their leaders since the mark: "1 0 "

NAME_LABEL=leaderworkerset.sigs.k8s.io/name
GROUP_LABEL=leaderworkerset.sigs.k8s.io/group-index

groups_begin() {
	kc admin apply --server-side -f "$(dirname "${BASH_SOURCE[0]}")/../../deploy/lws/crd.yaml" >/dev/null
	kc admin wait --for=condition=Established crd/leaderworkersets.leaderworkerset.x-k8s.io --timeout=60s >/dev/null
}

uids() {
	kc admin get pods -n "$NS" -l "$NAME_LABEL=$1${2:+,$GROUP_LABEL=$2}" -o json | python3 -c '
import json, sys
for p in json.load(sys.stdin)["items"]:
    if "deletionTimestamp" not in p["metadata"]:
        print(p["metadata"]["name"] + "=" + p["metadata"]["uid"])' | sort
}

# All there are, and those that are Ready.
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

is_available() {
	[ "$(condition "$1" Available status)" = True ]
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

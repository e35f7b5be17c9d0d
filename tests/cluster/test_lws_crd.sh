#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The definition of deploy/lws on a real API server: established without a complaint, takes what people write, keeps all of
# it, has a scale subresource that works, and refuses what is of the wrong type.
#
# Upstream's samples are no part of this tree: the folder is that of TRUCE_LWS_SAMPLES, or ../shared beside the tree;
# without one only ours count.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CRD=leaderworkersets.leaderworkerset.x-k8s.io
SAMPLES=${TRUCE_LWS_SAMPLES:-$TOP/../shared/data/lws/samples}

# sets FILE…: the LeaderWorkerSets of files, those of cases among them, one a file in $WORK/sets, for this namespace.
sets() {
	rm -rf "$WORK/sets"
	mkdir "$WORK/sets"
	python3 - "$WORK/sets" "$NS" "$@" <<'PY'
import json, os, sys, yaml
folder, ns, count = sys.argv[1], sys.argv[2], 0
for path in sys.argv[3:]:
    for doc in yaml.safe_load_all(open(path)):
        if isinstance(doc, dict) and "set" in doc:
            doc = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", **doc["set"]}
        if not doc or doc.get("kind") != "LeaderWorkerSet":
            continue
        meta = doc.setdefault("metadata", {})
        for key in ("uid", "resourceVersion", "generation", "deletionTimestamp", "creationTimestamp"):
            meta.pop(key, None)
        meta["namespace"] = ns
        doc.pop("status", None)
        count += 1
        meta["name"] = f"set-{count}"
        name = os.path.basename(path).removesuffix(".yaml")
        json.dump(doc, open(f"{folder}/{count:03}-{name}.json", "w"))
PY
}

# Every field that was sent to make the sets of $WORK/sets is there, with its value: standard input is a list of them as read.
keeps_all() {
	python3 -c '
import glob, json, sys
def lost(sent, got, path):
    if isinstance(sent, dict):
        if not isinstance(got, dict):
            return path
        return next((x for k in sent if sent[k] is not None and (x := lost(sent[k], got.get(k), path + "." + k))), None)
    return None if sent == got else path
got = {o["metadata"]["name"]: o["spec"] for o in json.load(sys.stdin)["items"]}
for file in sorted(glob.glob(sys.argv[1] + "/*.json")):
    sent = json.load(open(file))
    path = lost(sent["spec"], got.get(sent["metadata"]["name"]), "spec")
    if path:
        print(file.rpartition("/")[2], path)' "$WORK/sets"
}

# accepts LEAST FILE…: applied with --dry-run=server, made, and read back.
accepts() {
	local least=$1 count
	shift
	sets "$@"
	count=$(find "$WORK/sets" -name '*.json' | wc -l)
	[ "$count" -ge "$least" ] || fail "only $count sets were found"
	kc person apply --dry-run=server --validate=strict -f "$WORK/sets" >"$WORK/said" 2>&1 || fail "$(cat "$WORK/said")"
	assert_eq "$count" "$(grep -c 'created (server dry run)' "$WORK/said")" 'sets that a dry-run accepts'
	kc person create --validate=strict -f "$WORK/sets" >>"$WORK/said" 2>&1 || fail "$(cat "$WORK/said")"
	! grep Warning "$WORK/said" || fail 'the server warns'
	assert_eq '' "$(kc person get lws -n "$NS" -o json | keeps_all)" 'what is lost'
	kc person delete -f "$WORK/sets" >/dev/null
	printf '# %s sets of %s files\n' "$count" $#
}

it_is_established_without_a_complaint() {
	kc admin apply --server-side -f "$TOP/deploy/lws/crd.yaml" >"$WORK/said" 2>&1
	! grep -i warning "$WORK/said" || fail 'the server warns'
	kc admin wait --for=condition=Established "crd/$CRD" --timeout=60s >/dev/null
	assert_eq '' "$(kc admin get crd "$CRD" -o 'jsonpath={.status.conditions[?(@.type=="NonStructuralSchema")].message}')" \
		'what is not structural'
	wait_until 30 kc person get lws -n "$NS"
}

our_own_sets_are_accepted_and_kept() {
	accepts 8 "$TOP"/tests/cases/group/build/*.yaml
}

upstreams_samples_are_accepted_and_kept() {
	if [ ! -d "$SAMPLES" ]; then
		printf '# there is no %s\n' "$SAMPLES"
		return
	fi
	accepts 15 "$SAMPLES"/*.yaml
}

# set NAME SPEC: a set whose spec is that, as JSON.
set_of() {
	printf '{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"name":"%s","namespace":"%s"},"spec":%s}' \
		"$1" "$NS" "$2"
}

WORKER='"workerTemplate":{"spec":{"containers":[{"name":"main","image":"main"}]}}'

scale_has_the_numbers_and_the_selector() {
	set_of scaled "{\"leaderWorkerTemplate\":{\"size\":2,$WORKER}}" | kc person create -f - >/dev/null
	kc person scale lws/scaled -n "$NS" --replicas=3 >/dev/null
	assert_eq 3 "$(kc person get lws scaled -n "$NS" -o 'jsonpath={.spec.replicas}')" spec.replicas
	assert_eq 2 "$(kc person get lws scaled -n "$NS" -o 'jsonpath={.metadata.generation}')" generation
	kc person patch lws scaled -n "$NS" --subresource=status --type=merge \
		-p '{"status":{"replicas":2,"hpaPodSelector":"a=b"}}' >/dev/null
	assert_eq '3 2 a=b' \
		"$(kc person get lws scaled -n "$NS" --subresource=scale -o 'jsonpath={.spec.replicas} {.status.replicas} {.status.selector}')" \
		'the scale subresource'
	assert_eq 2 "$(kc person get lws scaled -n "$NS" -o 'jsonpath={.metadata.generation}')" 'generation after a write of the status'
	kc person patch lws scaled -n "$NS" --type=merge -p '{"status":{"replicas":9}}' >/dev/null
	assert_eq 2 "$(kc person get lws scaled -n "$NS" -o 'jsonpath={.status.replicas}')" 'a status is not written with the object'
}

# refused PATH SPEC: with a message that names the path.
refused() {
	if set_of wrong "$2" | kc person create --dry-run=server -f - >"$WORK/said" 2>&1; then
		fail "accepted: $2"
	fi
	grep -qF -- "$1" "$WORK/said" || fail "$2: the message lacks $1: $(cat "$WORK/said")"
}

wrong_types_and_words_are_refused() {
	local rolling='"rolloutStrategy":{"type":"RollingUpdate","rollingUpdateConfiguration"'
	refused spec.leaderWorkerTemplate '{"replicas":1}'
	refused spec.leaderWorkerTemplate.workerTemplate '{"leaderWorkerTemplate":{"size":1}}'
	refused spec.replicas "{\"replicas\":\"three\",\"leaderWorkerTemplate\":{$WORKER}}"
	refused spec.replicas "{\"replicas\":-1,\"leaderWorkerTemplate\":{$WORKER}}"
	refused spec.replicas "{\"replicas\":1.5,\"leaderWorkerTemplate\":{$WORKER}}"
	refused spec.leaderWorkerTemplate.size "{\"leaderWorkerTemplate\":{\"size\":0,$WORKER}}"
	refused spec.leaderWorkerTemplate.size "{\"leaderWorkerTemplate\":{\"size\":\"2\",$WORKER}}"
	refused spec.leaderWorkerTemplate.restartPolicy "{\"leaderWorkerTemplate\":{\"restartPolicy\":\"Sometimes\",$WORKER}}"
	refused spec.leaderWorkerTemplate.workerTemplate '{"leaderWorkerTemplate":{"workerTemplate":"pod"}}'
	refused spec.leaderWorkerTemplate.volumeClaimTemplates "{\"leaderWorkerTemplate\":{\"volumeClaimTemplates\":{},$WORKER}}"
	refused spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize \
		"{\"leaderWorkerTemplate\":{\"subGroupPolicy\":{\"subGroupSize\":0},$WORKER}}"
	refused spec.startupPolicy "{\"startupPolicy\":\"Whenever\",\"leaderWorkerTemplate\":{$WORKER}}"
	refused spec.networkConfig.subdomainPolicy \
		"{\"networkConfig\":{\"subdomainPolicy\":\"Own\"},\"leaderWorkerTemplate\":{$WORKER}}"
	refused spec.rolloutStrategy.type "{\"rolloutStrategy\":{\"type\":\"Recreate\"},\"leaderWorkerTemplate\":{$WORKER}}"
	refused spec.rolloutStrategy.rollingUpdateConfiguration.partition \
		"{$rolling:{\"partition\":-1}},\"leaderWorkerTemplate\":{$WORKER}}"
	refused spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable \
		"{$rolling:{\"maxUnavailable\":true}},\"leaderWorkerTemplate\":{$WORKER}}"
	! kc person patch lws scaled -n "$NS" --subresource=status --type=merge \
		-p '{"status":{"conditions":[{"type":"A","status":"Maybe"}]}}' >"$WORK/said" 2>&1 || fail 'a condition that is none'
}

columns_and_short_name_are_there() {
	assert_eq 'NAME READY DESIRED UP-TO-DATE AGE' "$(kc person get lws -n "$NS" | head -n 1 | tr -s ' ' | sed 's/ $//')" columns
}

cluster_begin
cluster_needs own
WORK=$(mktemp -d)
trap 'status=$?; rm -rf "$WORK"; cluster_end "$status"' EXIT
new_namespace lws-crd
run_cases it_is_established_without_a_complaint our_own_sets_are_accepted_and_kept upstreams_samples_are_accepted_and_kept \
	scale_has_the_numbers_and_the_selector wrong_types_and_words_are_refused columns_and_short_name_are_there

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What truce makes for a LeaderWorkerSet, on a real API server: it is accepted as it is, each case of
# tests/cases/group/build, and looks like what the StatefulSet controller makes from the same templates.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CASES=$TOP/tests/cases/group/build

objects() {
	"$TRUCE_BUILD_DIR/tests/cluster/group_objects" "$NS" "$@"
}

# One request an object; kubectl asks for strict validation, so a field that the server does not know is an error.
every_object_is_accepted() {
	local file answer refused=0
	for file in "$CASES"/*.yaml; do
		objects "$file" >"$WORK/list.json"
		if ! answer=$(kc admin create --dry-run=server --validate=strict -f "$WORK/list.json" -o name 2>&1); then
			printf '# %s: %s\n' "${file##*/}" "$answer"
			refused=1
		fi
		printf '%s\n' "$answer" >>"$WORK/answers"
	done
	assert_eq 0 "$refused" 'cases with an object that was refused'
	printf '# %s objects of %s cases\n' "$(grep -c -v ' ' "$WORK/answers")" "$(find "$CASES" -name '*.yaml' | wc -l)"
}

# The controller's Pod for the claims' case, and ours: what both decide must be the same.
stateful_set() {
	python3 - "$CASES/claims.yaml" <<'EOF'
import json, sys, yaml
t = yaml.safe_load(open(sys.argv[1]))["set"]["spec"]["leaderWorkerTemplate"]
labels = {"app": "demo"}
template = t["workerTemplate"]
template["metadata"] = {"labels": labels}
print(json.dumps({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "demo"}, "spec": {
    "serviceName": "demo", "replicas": 1, "selector": {"matchLabels": labels}, "template": template,
    "volumeClaimTemplates": [{**c, "status": {}} for c in t["volumeClaimTemplates"]]}}))
EOF
}

decided() {
	python3 -c '
import json, sys
v = json.load(sys.stdin)
pod = next(o for o in v.get("items", [v]) if o["kind"] == "Pod" and o["metadata"]["name"] == "demo-0")
s, labels = pod["spec"], pod["metadata"]["labels"]
own = [x for x in s["volumes"] if not x["name"].startswith("kube-api-access")]
print(json.dumps([s["hostname"], s["subdomain"], sorted(own, key=lambda x: x["name"]),
                  labels["statefulset.kubernetes.io/pod-name"], labels["apps.kubernetes.io/pod-index"]], sort_keys=True))'
}

there() {
	kc admin -n "$NS" get "$@" >/dev/null 2>&1
}

names_volumes_and_claims_are_those_of_a_stateful_set() {
	stateful_set | kc admin -n "$NS" create -f - >/dev/null
	wait_until 60 there pod demo-0
	kc admin -n "$NS" get pod demo-0 -o json | decided >"$WORK/controller"
	objects "$CASES/claims.yaml" | decided >"$WORK/ours"
	assert_eq "$(cat "$WORK/controller")" "$(cat "$WORK/ours")" 'what a StatefulSet decides'
	assert_eq "$(kc admin -n "$NS" get pvc -o name | sort)" \
		"$(objects "$CASES/claims.yaml" | python3 -c '
import json, sys
names = [o["metadata"]["name"] for o in json.load(sys.stdin)["items"] if o["kind"] == "PersistentVolumeClaim"]
print("\n".join("persistentvolumeclaim/" + n for n in sorted(names) if n.endswith("-demo-0")))')" 'claims'
}

cluster_begin
WORK=$(mktemp -d)
trap 'status=$?; rm -rf "$WORK"; cluster_end "$status"' EXIT
new_namespace group-objects
wait_until 20 there serviceaccount default
run_cases every_object_is_accepted names_volumes_and_claims_are_those_of_a_stateful_set

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The real HPA controller scales Deployments and a custom resource to 10 and back to 3 by metrics, while Git says 2, commits
# arrive every 10 s and the agent is restarted: neither undoes the other. The HPA's least is 3, so that a 2 can only be
# Git's. The pods of the custom resource are the pod simulator's. A minute; TRUCE_LONG=1: five.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"
# shellcheck source=tests/cluster/replicas.sh
. "$(dirname "${BASH_SOURCE[0]}")/replicas.sh"

DURATION_S=$([ -n "${TRUCE_LONG-}" ] && echo 300 || echo 60)
COMMIT_EVERY_S=10
HOLD_S=8
CROWD=600m # for 12 pods at the target of 50m each: all that the HPA allows
LULL=150m  # for three
COMMITS=0
IMAGES=1
STORY=

# ---- what Git says ----

# deployment NAME
deployment() {
	cat <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: $1, labels: {commit: "$COMMITS"}}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: $1}}
		  template:
		    metadata: {labels: {app: $1}}
		    spec: {containers: [{name: main, image: "main:$IMAGES", resources: {requests: {cpu: 100m}}}]}
	YAML
}

# hpa NAME TARGET API-VERSION KIND
hpa() {
	cat <<-YAML
		---
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: $1}
		spec:
		  scaleTargetRef: {apiVersion: $3, kind: $4, name: $2}
		  minReplicas: 3
		  maxReplicas: 10
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
}

engine_definition() {
	cat <<-'YAML'
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: engines.real.example, labels: {podsim.truce.dev/workload: "true"}}
		spec:
		  group: real.example
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
		          spec: {type: object, properties: {workers: {type: integer, default: 1}, model: {type: string}}}
		          status: {type: object, properties: {workers: {type: integer}, selector: {type: string}}}
		    subresources:
		      status: {}
		      scale: {specReplicasPath: .spec.workers, statusReplicasPath: .status.workers, labelSelectorPath: .status.selector}
	YAML
}

engine() {
	printf 'apiVersion: real.example/v1\nkind: Engine\nmetadata: {name: engine}\nspec: {workers: 2, model: "m%s"}\n' "$COMMITS"
}

put_all() {
	deployment web | put web.yaml
	deployment early | put early.yaml
	deployment late | put late.yaml
	engine | put engine.yaml
}

# Every second commit changes images, which is a rollout; the others change labels and the engine's model.
next_commit() {
	COMMITS=$((COMMITS + 1))
	IMAGES=$((IMAGES + COMMITS % 2))
	put_all
	commit "number $COMMITS"
}

# ---- load ----

load() {
	printf '%s\n' "$1" >"$WORK/load"
}

# Each application's load is spread over its pods.
metrics_once() {
	kc operator -n "$NS" get pods -o json | python3 -c '
import datetime, json, sys
load, ns = int(sys.argv[1].rstrip("m")), sys.argv[2]
now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
apps = {}
for pod in json.load(sys.stdin)["items"]:
    if "deletionTimestamp" not in pod["metadata"]:
        apps.setdefault(pod["metadata"]["labels"]["app"], []).append(pod["metadata"]["name"])
for app, pods in apps.items():
    for pod in pods:
        print("---")
        print(json.dumps({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
                          "metadata": {"name": pod, "namespace": ns, "labels": {"app": app}},
                          "timestamp": now, "window": "10s",
                          "containers": [{"name": "main", "usage": {"cpu": "%dm" % (load // len(pods)), "memory": "1Mi"}}]}))
' "$(cat "$WORK/load")" "$NS" | kc operator apply --server-side --force-conflicts -f - >/dev/null
}

metrics_forever() {
	while true; do
		metrics_once 2>/dev/null || true
		sleep 1
	done
}

# ---- looks ----

are_all() {
	replicas_are deployment web "$1" && replicas_are deployment early "$1" && replicas_are deployment late "$1" &&
		replicas_are engine engine "$1" workers
}

is_given_up() {
	! owner_is "$1" "$2" truce
}

nothing_of_replicas_is_written() {
	local name
	for name in web early late; do
		assert_eq '' "$(written deployments "$name")" "replicas in truce's writes to $name"
	done
	assert_eq '' "$(written engines engine workers)" "workers in truce's writes to the engine"
}

# Up to ten, down to three, up again …: each step is the HPA's, Git's 2 comes only before the first.
assert_went_up_and_down() {
	python3 - "$1" "$WORK/values.$1" <<-'PY' || fail "the values of $1: $(values "$1")"
		import sys
		seen = [int(v) for v in open(sys.argv[2]).read().split()]
		up = next(i for i, v in enumerate(seen) if v != 2)
		ok = 2 not in seen[up:] and max(seen) == 10 and min(seen[up:]) >= 3 and seen[-1] == 3
		sys.exit(0 if ok else 1)
	PY
}

# ---- the story, which goes on in the background: load comes and goes ----

load_comes_and_goes() {
	while true; do
		load "$CROWD"
		wait_until 120 are_all 10
		load "$LULL"
		wait_until 180 are_all 3
		printf 'round\n' >>"$WORK/rounds"
	done
}

restart_agent() {
	if [ "$1" = kill ]; then agent_kill; else agent_stop; fi
	agent_start --replicas-hold "${HOLD_S}s"
}

story() {
	local until=$((SECONDS + DURATION_S)) restarts=(kill stop)
	while [ "$SECONDS" -lt "$until" ] || [ ! -s "$WORK/rounds" ]; do
		next_commit
		sleep "$COMMIT_EVERY_S"
		kill -0 "$STORY" 2>/dev/null || fail 'the load did not come through; see above'
		if [ "${#restarts[@]}" -gt 0 ] && [ $((COMMITS % 2)) -eq 0 ]; then
			restart_agent "${restarts[0]}"
			restarts=("${restarts[@]:1}")
		fi
	done
	assert_eq 0 "${#restarts[@]}" 'restarts left'
}

# ---- cases ----

hpas_of_every_order_are_in_charge() {
	engine_definition | put definition.yaml
	hpa early early apps/v1 Deployment | kc operator apply -n "$NS" -f - >/dev/null
	put_all
	hpa web web apps/v1 Deployment | put web-hpa.yaml
	hpa engine engine real.example/v1 Engine | put engine-hpa.yaml
	load "$LULL"
	commit 'number 0'
	agent_start --replicas-hold "${HOLD_S}s"
	agent_waits 60 'msg="latency"'
	wait_until 30 exists engine engine
	hpa late late apps/v1 Deployment | kc operator apply -n "$NS" -f - >/dev/null
	wait_until 20 is_given_up deployment late
	watch_values deployment web
	watch_values deployment early
	watch_values deployment late
	watch_values engine engine workers
	mark
	metrics_forever &
}

they_scale_and_git_applies_the_rest() {
	load_comes_and_goes &
	STORY=$!
	story
	kill "$STORY" 2>/dev/null || true
	wait "$STORY" 2>/dev/null || true
	load "$LULL"
	next_commit
	agent_waits 30 "subject=\"number $COMMITS\""
	agent_waits 30 'msg="latency"'
	wait_until 180 are_all 3
}

replicas_were_the_hpas_alone() {
	local name
	nothing_of_replicas_is_written
	for name in web early late engine; do
		assert_went_up_and_down "$name"
	done
	printf '# %s commits, %s times from 10 to 3; web: %s\n' "$COMMITS" "$(wc -l <"$WORK/rounds")" "$(values web)"
}

everything_else_is_gits() {
	local name
	for name in web early late; do
		assert_eq "main:$IMAGES" "$(got deployment "$name" '{.spec.template.spec.containers[0].image}')" "image of $name"
		assert_eq "$COMMITS" "$(got deployment "$name" '{.metadata.labels.commit}')" "label of $name"
		assert_eq "$IMAGES" "$(got deployment "$name" '{.metadata.annotations.deployment\.kubernetes\.io/revision}')" \
			"rollouts of $name"
	done
	assert_eq "m$COMMITS" "$(got engine engine '{.spec.model}')"
	truce diff
	assert_eq 0 "$RC" 'exit status of diff'
}

# Under another name the HPA is another object: the old one is pruned, the new one comes in the same commit.
a_renamed_hpa_takes_over() {
	mark
	hpa web-next web apps/v1 Deployment | put web-hpa.yaml
	next_commit
	wait_until 40 exists hpa web-next
	wait_until 40 is_gone hpa web
	sleep $((HOLD_S + 2))
	nothing_of_replicas_is_written
	load "$CROWD"
	wait_until 120 replicas_are deployment web 10
	nothing_of_replicas_is_written
}

a_removed_hpa_is_waited_for_and_then_written_once() {
	mark
	agent_mark
	rm "$REPO/deploy/web-hpa.yaml"
	next_commit
	wait_until 40 is_gone hpa web-next
	agent_waits 20 'its value stays for now'
	sleep $((HOLD_S / 2))
	assert_eq '' "$(written deployments web)" 'replicas written during the hold'
	assert_eq 10 "$(got deployment web '{.spec.replicas}')" 'replicas during the hold'
	wait_until 30 replicas_are deployment web 2
	sleep 2
	assert_eq 2 "$(taken deployments web)" 'replicas written after the hold'
	agent_stop
}

cluster_begin --hpa
cluster_needs private
truce_begin hpa-real
run_cases hpas_of_every_order_are_in_charge they_scale_and_git_applies_the_rest replicas_were_the_hpas_alone \
	everything_else_is_gits a_renamed_hpa_takes_over a_removed_hpa_is_waited_for_and_then_written_once

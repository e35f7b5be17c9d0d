#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Health on a real API server with its controllers: what one agent publishes of several applications, each recorded by a watcher,
# while rollouts go well and badly, and what `truce sync --wait` waits for. Pods are the pod simulator's.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

RECORD= # "APP STATUS", a line whenever a published health has changed
RECORD_FROM=1

# ---- what Git says ----

# app NAME: of the folder of its name
app() {
	cat >"$WORK/etc/$1.yaml" <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: $1}
		spec:
		  source: {repoURL: "file://$REPO", path: $1, targetRevision: main}
		  destination: {server: "https://kubernetes.default.svc", namespace: $NS}
		  syncPolicy: {automated: {prune: true, selfHeal: true}}
	YAML
}

# file PATH: standard input becomes a file of the repository
file() {
	mkdir -p "$(dirname "$REPO/$1")"
	cat >"$REPO/$1"
}

# workload KIND NAME REPLICAS IMAGE ANNOTATIONS [MORE]: MORE are lines of its spec
workload() {
	cat <<-YAML
		apiVersion: apps/v1
		kind: $1
		metadata: {name: $2}
		spec:
		  replicas: $3
		  ${6:-minReadySeconds: 0}
		  selector: {matchLabels: {app: $2}}
		  template:
		    metadata: {labels: {app: $2}, annotations: {$5}}
		    spec: {containers: [{name: main, image: "main:$4"}]}
	YAML
}

# job NAME SPEC ANNOTATIONS: the latter of its pods
job() {
	cat <<-YAML
		apiVersion: batch/v1
		kind: Job
		metadata: {name: $1${4:+, annotations: {$4\}}}
		spec:
		  $2
		  template:
		    metadata: {annotations: {$3}}
		    spec: {restartPolicy: Never, containers: [{name: main, image: "main:1"}]}
	YAML
}

widget_definition() {
	cat <<-YAML
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: widgets.$NS.example.com}
		spec:
		  group: $NS.example.com
		  scope: Namespaced
		  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    schema:
		      openAPIV3Schema:
		        type: object
		        properties:
		          spec: {type: object, properties: {size: {type: integer}}}
		          status:
		            type: object
		            properties:
		              observedGeneration: {type: integer, format: int64}
		              conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
		    subresources: {status: {}}
	YAML
}

# widget SIZE
widget() {
	printf 'apiVersion: %s.example.com/v1\nkind: Widget\nmetadata: {name: one}\nspec: {size: %s}\n' "$NS" "$1"
}

# What its controller would write: observed GENERATION READY
widget_observed() {
	kc operator -n "$NS" patch "widgets.$NS.example.com" one --subresource status --type merge -p \
		'{"status":{"observedGeneration":'"$1"',"conditions":[{"type":"Ready","status":"'"$2"'"}]}}' >/dev/null
}

# ---- what is published ----

truce_flags() {
	printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --config "$WORK/etc" --data-dir "$WORK/data"
}

metrics() {
	curl -fs "http://127.0.0.1:$PORT/metrics"
}

published() {
	metrics | sed -n 's/^truce_application_health{application="\(.*\)",status="\(.*\)"} 1$/\1 \2/p'
}

# Looks without a pause, as fast as a scrape is.
watch_health() {
	local now before=
	while now=$(published); do
		[ "$now" = "$before" ] || comm -13 <(sort <<<"$before") <(sort <<<"$now") >>"$RECORD"
		before=$now
	done
}

record_mark() {
	RECORD_FROM=$(($(wc -l <"$RECORD") + 1))
}

# recorded APP: its words since the mark, in one line
recorded() {
	tail -n "+$RECORD_FROM" "$RECORD" | awk -v app="$1" '$1 == app { printf "%s%s", sep, $2; sep = " " }'
}

is_published() {
	published | grep -qxF "$1 $2"
}

# becomes SECONDS APP STATUS, also in the record
becomes() {
	wait_until "$1" is_published "$2" "$3"
	wait_until 5 record_ends "$2" "$3"
}

record_ends() {
	[ "$(awk -v app="$1" '$1 == app { word = $2 } END { print word }' "$RECORD")" = "$2" ]
}

# stored APP: what `truce status` prints of it
stored() {
	kc admin get configmap "truce-inventory-$1" -n "$NS-truce" -o 'jsonpath={.data.status}'
}

stored_is() {
	stored "$1" | grep -F "\"health\":\"$2\"" | grep -F -- "${3-}"
}

# commit_of APP SUBJECT: until it is applied
commit_of() {
	commit "$2"
	wait_until 30 stored_subject "$1" "$2"
}

stored_subject() {
	stored "$1" | grep -F "\"subject\":\"$2\""
}

# only APP WORDS…: nothing else was published of it since the mark
only() {
	local app=$1 word
	shift
	for word in $(recorded "$app"); do
		case " $* " in
		*" $word "*) ;;
		*) fail "$app was published as: $(recorded "$app")" ;;
		esac
	done
}

# ---- the cases ----

an_agent_begins() {
	mkdir -p "$WORK/etc"
	printf 'apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec: {namespace: %s, pollInterval: 1s, %s}\n' \
		"$NS-truce" 'allowFileRepositories: true' >"$WORK/etc/agent.yaml"
	for name in web stuck set lag cold jobs paused stay; do
		app "$name"
		file "$name/README.md" </dev/null
	done
	workload Deployment web 2 1 'podsim.truce.dev/delay: 2s' | file web/all.yaml
	commit first
	PORT=$(free_port)
	agent_start --listen "127.0.0.1:$PORT"
	for name in web stuck set lag cold jobs paused stay; do
		wait_until 30 is_published "$name" Healthy
	done
	RECORD=$WORK/record
	: >"$RECORD"
	watch_health &
	wait_until 10 test -s "$RECORD"
}

a_rollout_is_progressing_until_its_pods_are_there() {
	becomes 30 web Healthy
	assert_eq 2 "$(got deployment web '{.status.availableReplicas}')"
	record_mark
	workload Deployment web 2 2 'podsim.truce.dev/delay: 2s' | file web/all.yaml
	commit_of web second
	becomes 30 web Healthy
	assert_eq 'Progressing Healthy' "$(recorded web)"
	assert_eq 2 "$(got deployment web '{.status.updatedReplicas}')"
	wait_until 20 stored_is web Healthy second
	truce_ok status
	says 'Healthy'
}

a_failing_rollout_is_degraded_at_its_deadline() {
	workload Deployment stuck 1 1 'podsim.truce.dev/hold: unready' 'progressDeadlineSeconds: 3' | file stuck/all.yaml
	agent_mark
	record_mark
	commit_of stuck 'stuck'
	becomes 60 stuck Degraded
	only stuck Missing Progressing Degraded
	agent_waits 10 'msg="degraded" app=stuck'
	wait_until 20 stored_is stuck Degraded deploy/stuck
	wait_until 20 has_event HealthDegraded
	workload Deployment stuck 1 2 '' 'progressDeadlineSeconds: 3' | file stuck/all.yaml
	commit_of stuck 'not stuck'
	becomes 60 stuck Healthy
	agent_waits 10 'msg="healthy again" app=stuck'
	wait_until 20 has_event HealthRecovered
	assert_eq 1 "$(tail -n "+$LOG_FROM" "$LOG" | grep -cF 'msg="degraded" app=stuck')" 'lines that say degraded'
}

has_event() {
	kc admin get events -n "$NS" -o "jsonpath={.items[?(@.reason==\"$1\")].involvedObject.name}" | grep -x stuck
}

a_partition_is_as_far_as_it_should_be() {
	workload StatefulSet set 3 1 '' 'updateStrategy: {rollingUpdate: {partition: 2}}' | file set/all.yaml
	commit_of set 'set'
	becomes 60 set Healthy
	record_mark
	workload StatefulSet set 3 2 'podsim.truce.dev/delay: 2s' 'updateStrategy: {rollingUpdate: {partition: 2}}' | file set/all.yaml
	commit_of set 'set anew'
	becomes 60 set Healthy
	assert_eq 1 "$(got statefulset set '{.status.updatedReplicas}')" 'pods of the new revision'
	assert_eq 'Progressing Healthy' "$(recorded set)"
}

# Published from the commit on until the controller has seen the generation.
a_status_that_lags_is_never_healthy() {
	widget_definition | file lag/a.yaml
	widget 1 | file lag/b.yaml
	commit_of lag 'lag'
	wait_until 60 exists "widgets.$NS.example.com" one
	widget_observed 1 True
	becomes 30 lag Healthy
	record_mark
	agent_mark
	widget 2 | file lag/b.yaml
	commit 'lag 2'
	agent_waits 30 'msg="configured" obj='"$NS.example.com/Widget"
	kc operator -n "$NS" patch "widgets.$NS.example.com" one --type merge -p '{"metadata":{"labels":{"touched":"1"}}}' >/dev/null
	# An old answer of the controller: it has not seen the new generation.
	widget_observed 1 Unknown
	widget_observed 1 True
	wait_until 30 stored_subject lag 'lag 2'
	wait_until 20 stored_is lag Progressing
	only lag Progressing
	widget_observed 2 False
	kc operator -n "$NS" patch "widgets.$NS.example.com" one --type merge -p '{"metadata":{"labels":{"touched":"2"}}}' >/dev/null
	wait_until 20 stored_is lag Progressing
	only lag Progressing
	widget_observed 2 True
	becomes 30 lag Healthy
	only lag Progressing Healthy
	wait_until 20 stored_is lag Healthy 'lag 2'
}

# What is not well ends with 1.
health_says() {
	OUT=$("$TRUCE" health --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" "widgets.$NS.example.com/one" -n "$NS" 2>&1) || true
	says "$1"
}

a_person_asks_for_the_health_of_one_object() {
	health_says Healthy
	widget_observed 2 False
	health_says Progressing
	"$TRUCE" health --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" "widgets.$NS.example.com/one" -n "$NS" --watch >"$WORK/one" 2>&1 &
	wait_until 20 grep -q Progressing "$WORK/one"
	widget_observed 2 True
	wait_until 20 grep -q Healthy "$WORK/one"
	kill $!
	wait $! || true
}

metrics_that_are_cold_are_no_failure() {
	file cold/all.yaml <<-YAML
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: web}
		spec:
		  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
		  minReplicas: 2
		  maxReplicas: 4
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
	record_mark
	commit_of cold 'cold'
	wait_until 60 stored_is cold Progressing FailedGetResourceMetric
	only cold Missing Progressing
}

a_job_that_has_failed_is_degraded_and_a_suspended_one_suspended() {
	job fails 'backoffLimit: 0' 'podsim.truce.dev/exit: "1"' | file jobs/all.yaml
	job rests 'suspend: true' '' | file paused/all.yaml
	record_mark
	commit_of jobs 'jobs'
	becomes 60 jobs Degraded
	only jobs Missing Progressing Degraded
	becomes 60 paused Suspended
	wait_until 20 stored_is jobs Degraded job/fails
	job rests 'suspend: true' '' 'truce.dev/suspended-is-healthy: "true"' | file paused/all.yaml
	commit_of paused 'paused is well'
	becomes 30 paused Healthy
}

a_namespace_that_does_not_go_is_named_with_its_finalizer() {
	printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: %s-stay}\n' "$NS" | file stay/all.yaml
	commit_of stay 'stay'
	becomes 60 stay Healthy
	kc person create configmap held -n "$NS-stay" >/dev/null
	kc person patch configmap held -n "$NS-stay" --type merge -p '{"metadata":{"finalizers":["example.com/hold"]}}' >/dev/null
	record_mark
	kc person delete namespace "$NS-stay" --wait=false >/dev/null
	wait_until 60 stored_is stay Progressing example.com/hold
	only stay Progressing
	kc person patch configmap held -n "$NS-stay" --type merge -p '{"metadata":{"finalizers":null}}' >/dev/null
	becomes 60 stay Healthy
}

a_script_of_argocd_cm_judges_and_one_that_fails_concerns_its_objects_alone() {
	record_mark
	cat >"$WORK/etc/argocd-cm.yaml" <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: argocd-cm}
		data:
		  resource.customizations.health.$NS.example.com_Widget: |
		    if obj.spec.size == 2 then
		      error("no size for me")
		    end
		    return {status = "Healthy"}
	YAML
	agent_waits 20 'another configuration is in force'
	becomes 30 lag Unknown
	agent_waits 10 'no size for me'
	wait_until 20 stored_is lag Unknown 'no size for me'
	only web Healthy Unknown
	wait_until 20 is_published web Healthy
	sed -i 's/error("no size for me")/return {status = "Healthy"}/' "$WORK/etc/argocd-cm.yaml"
	becomes 30 lag Healthy
	sed -i 's/error("no size for me")/}/; s/return {status = "Healthy"}/return {/' "$WORK/etc/argocd-cm.yaml"
	agent_waits 20 'the configuration before stays in force'
	wait_until 20 stored_is web Healthy argocd-cm.yaml:8:
	is_published lag Healthy || fail 'a broken script has taken the place of a good one'
	rm "$WORK/etc/argocd-cm.yaml"
	agent_stop
}

# ---- one-shot ----

one_shot() {
	printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --repo "$REPO" --path "$1" --namespace "$NS" --name "$1" \
		--agent-namespace "$NS-truce" --data-dir "$WORK/data"
}

# sync_of APP FLAG…: $OUT and $RC
sync_of() {
	local flags
	mapfile -t flags < <(one_shot "$1")
	shift
	RC=0
	OUT=$("$TRUCE" sync "${flags[@]}" "$@" 2>&1) || RC=$?
}

a_sync_waits_for_health() {
	workload Deployment once 2 1 'podsim.truce.dev/delay: 3s' | file once/all.yaml
	commit once
	sync_of once --wait=applied
	assert_eq 0 "$RC"
	says 'synced, progressing'
	sync_of once --wait
	assert_eq 0 "$RC"
	says 'synced, healthy'
	says 'waiting for deploy/once'
	assert_eq 2 "$(got deployment once '{.status.availableReplicas}')"
	stored_is once Healthy || fail 'the end is not stored'
}

a_sync_gives_up_on_what_has_failed_for_good() {
	sync_of jobs --wait --timeout 5m
	assert_eq 1 "$RC" 'exit status'
	says 'synced, degraded'
	says 'job/fails'
	job rests 'suspend: true' '' | file paused/all.yaml
	commit 'paused'
	sync_of paused --wait --timeout 4s
	assert_eq 3 "$RC" 'exit status of a wait for what is suspended'
	says 'Suspended: job/rests'
}

a_newer_commit_ends_the_wait_for_an_older_one() {
	local flags status=0
	workload Deployment once 2 2 'podsim.truce.dev/hold: unready' | file once/all.yaml
	commit 'never ready'
	mapfile -t flags < <(one_shot once)
	"$TRUCE" sync "${flags[@]}" --wait --poll-interval 1s --timeout 5m >"$WORK/wait.log" 2>&1 &
	wait_until 30 grep -F 'waiting for deploy/once' "$WORK/wait.log"
	workload Deployment once 2 3 '' | file once/all.yaml
	commit 'ready'
	wait $! || status=$?
	OUT=$(<"$WORK/wait.log")
	assert_eq 0 "$status" 'exit status'
	says '"ready"'
	says 'synced, healthy'
}

cluster_begin
cluster_needs own
truce_begin health
run_cases an_agent_begins a_rollout_is_progressing_until_its_pods_are_there a_failing_rollout_is_degraded_at_its_deadline \
	a_partition_is_as_far_as_it_should_be a_status_that_lags_is_never_healthy a_person_asks_for_the_health_of_one_object metrics_that_are_cold_are_no_failure \
	a_job_that_has_failed_is_degraded_and_a_suspended_one_suspended a_namespace_that_does_not_go_is_named_with_its_finalizer \
	a_script_of_argocd_cm_judges_and_one_that_fails_concerns_its_objects_alone a_sync_waits_for_health \
	a_sync_gives_up_on_what_has_failed_for_good a_newer_commit_ends_the_wait_for_an_older_one

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `truce health`: an object of the cluster or of a file, how it is, which rule says so, and what becomes of it.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
WATCH_PID=

health() {
	RC=0
	OUT=$("$TRUCE" health --kubeconfig "$KUBECONFIG" "$@" 2>&1) || RC=$?
}

ends_with() {
	assert_eq "$1" "$RC" "exit status of $test_case"
}

is_health() {
	health deploy/web -n shop
	case $OUT in
	*"deploy/web  shop       $1 "*) ;;
	*) return 1 ;;
	esac
}

deployment() { # IMAGE
	api PATCH "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=test&force=true" '{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
		"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
			"template": {"metadata": {"labels": {"app": "web"}},
				"spec": {"containers": [{"name": "web", "image": "'"$1"'"}]}}}}' application/apply-patch+yaml
}

begin() {
	sandbox_start
	api POST /api/v1/namespaces '{"metadata": {"name": "shop"}}'
	deployment registry.example/web:1
	assert_eq 201 "$CODE"
	wait_until 20 is_health Healthy
}

an_object_of_the_cluster_is_judged() {
	local kind
	health deploy/web -n shop
	ends_with 0
	says 'OBJECT      NAMESPACE  HEALTH   BY'
	says 'apps/Deployment'
	for kind in deployment Deployments deployments.apps; do
		health "$kind" web -n shop
		ends_with 0
	done
	health ns/shop
	ends_with 0
	says 'ns/shop'
}

what_is_not_well_ends_with_1() {
	deployment registry.example/web:bad
	wait_until 20 is_health Progressing
	health deploy/web -n shop
	ends_with 1
	health deploy/web -n shop -o json
	ends_with 1
	assert_eq Progressing "$(BODY=$OUT field status)"
	assert_eq Deployment "$(BODY=$OUT field kind)"
	assert_eq false "$(BODY=$OUT field guard)"
	health deploy/web -n shop -o yaml
	says 'status: Progressing'
	deployment registry.example/web:1
	wait_until 20 is_health Healthy
}

what_is_not_there_cannot_be_judged() {
	health deploy/nowhere -n shop
	ends_with 2
	says 'deployments shop/nowhere'
	health nokind/web
	ends_with 2
	says "the cluster has no kind called 'nokind'"
	health web
	ends_with 2
	says 'say which object'
	health deploy/web -n shop --kubeconfig "$WORK/nowhere"
	ends_with 2
}

# A rule of ours, an object without a cluster.
begin_files() {
	mkdir -p "$WORK/rules/shop.example.io/Queue"
	printf 'local s = obj.status\nreturn { status = s.health, message = s.text }\n' >"$WORK/rules/shop.example.io/Queue/health.lua"
	cat >"$WORK/queues.yaml" <<-'END'
		---
		apiVersion: shop.example.io/v1
		kind: Queue
		metadata: {name: a, namespace: shop, generation: 2}
		status: {health: Healthy, text: fine, observedGeneration: 2}
		---
		apiVersion: v1
		kind: List
		items:
		- apiVersion: shop.example.io/v1
		  kind: Queue
		  metadata: {name: b, namespace: shop, generation: 2}
		  status: {health: Healthy, text: "late\nand more", observedGeneration: 1}
		- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
	END
}

# Without a cluster: KUBECONFIG leads nowhere.
offline() {
	RC=0
	OUT=$(KUBECONFIG=$WORK/nowhere "$TRUCE" health "$@" 2>&1) || RC=$?
}

objects_of_files_are_judged_without_a_cluster() {
	begin_files
	offline -f "$WORK/queues.yaml"
	ends_with 1 # the guard knows every kind
	says 'configmap/c  -'
	offline -f "$WORK/queues.yaml" --health-dir "$WORK/rules"
	ends_with 1
	says "queue/a      shop       Healthy      $WORK/rules/shop.example.io/Queue/health.lua"
	says 'queue/b      shop       Progressing  the freshness guard'
	offline -f "$WORK/queues.yaml" --health-dir "$WORK/rules" --no-guard
	ends_with 0
	says 'late\nand more'
	offline -f - --health-dir "$WORK/rules" -o json <"$WORK/queues.yaml"
	ends_with 1
	assert_eq a "$(BODY=$OUT field 0.name)"
	assert_eq 2 "$(BODY=$OUT field 0.line)"
	assert_eq true "$(BODY=$OUT field 1.guard)"
	assert_eq ConfigMap "$(BODY=$OUT field 2.kind)"
}

claim() { # ANNOTATIONS SPEC
	cat <<-END
		{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "annotations": {$1}},
		"spec": {$2, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}}
	END
}

storage_class() {
	echo '{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"},
		"provisioner": "disks.example.com", "volumeBindingMode": "WaitForFirstConsumer"}'
}

# The StorageClass says so: of the cluster, or of the files.
a_claim_that_waits_for_its_first_pod_is_healthy() {
	claim '' '"storageClassName": "late"' >"$WORK/claim.yaml"
	offline -f "$WORK/claim.yaml"
	ends_with 1
	says 'storage class late has no volume for it'
	storage_class >"$WORK/class.yaml"
	offline -f "$WORK/claim.yaml" -f "$WORK/class.yaml"
	ends_with 0
	says 'waits for the first pod that uses it'
	api POST /api/v1/namespaces/shop/persistentvolumeclaims \
		"$(claim '"volume.beta.kubernetes.io/storage-class": "late"' '"storageClassName": ""')"
	assert_eq 201 "$CODE"
	health pvc/data -n shop
	ends_with 1
	api POST /apis/storage.k8s.io/v1/storageclasses "$(storage_class)"
	assert_eq 201 "$CODE"
	health pvc/data -n shop
	ends_with 0
	says 'waits for the first pod that uses it'
	"$TRUCE" health pvc/data -n shop --watch --kubeconfig "$KUBECONFIG" >"$WORK/watch" 2>&1 &
	WATCH_PID=$!
	wait_until 20 seen '  Healthy  .*waits for the first pod'
	kill -INT "$WATCH_PID"
	wait "$WATCH_PID" || fail 'exit status after what was seen last'
}

# The folder of a group for that of the rules.
a_rule_without_its_group_is_told() {
	offline -f "$WORK/queues.yaml" --health-dir "$WORK/rules/shop.example.io"
	says "$WORK/rules/shop.example.io/Queue/health.lua:1: there is no kind Queue in the core group"
	mkdir -p "$WORK/core/ConfigMap"
	echo 'return { status = "Healthy", message = "is there" }' >"$WORK/core/ConfigMap/health.lua"
	offline -f "$WORK/queues.yaml" --health-dir "$WORK/core"
	says 'is there'
	case $OUT in
	*'core group'*) fail 'a ConfigMap is of the core group' ;;
	esac
}

what_a_rule_prints_goes_to_standard_error() {
	sed -i '1i print(obj.metadata.name)' "$WORK/rules/shop.example.io/Queue/health.lua"
	offline -f "$WORK/queues.yaml" --health-dir "$WORK/rules" --no-guard
	says 'truce: print: a'
	RC=0
	OUT=$("$TRUCE" health -f "$WORK/queues.yaml" --health-dir "$WORK/rules" --no-guard -o json 2>/dev/null) || RC=$?
	assert_eq a "$(BODY=$OUT field 0.name)"
}

# Neither a NUL nor a control character cuts it, or does anything to a terminal.
what_a_rule_says_is_escaped() {
	mkdir -p "$WORK/loud/ConfigMap"
	cat >"$WORK/loud/ConfigMap/health.lua" <<-'END'
		print("one\0two\27[31m")
		return { status = "Degraded", message = "a\0b\27[31m \226\128\174c" }
	END
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n' >"$WORK/loud.yaml"
	local output
	for output in table json yaml; do
		offline -f "$WORK/loud.yaml" --health-dir "$WORK/loud" -o "$output"
		says 'print: one\x00two\x1b[31m'
		says 'a b [31m \u202ec'
		case $OUT in
		*$'\e'* | *$'\u202e'*) fail "something stands there as it is, as $output" ;;
		esac
	done
}

rules_of_argocd_cm_are_honoured() {
	cat >"$WORK/argocd-cm.yaml" <<-'END'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: argocd-cm, namespace: argocd}
		data:
		  resource.customizations.health.shop.example.io_Queue: |
		    return { status = "Suspended", message = "says argocd-cm" }
	END
	offline -f "$WORK/queues.yaml" --config "$WORK/argocd-cm.yaml" --no-guard
	ends_with 0
	says 'Suspended'
	says "argocd-cm.yaml:"
	says 'says argocd-cm'
}

a_rule_that_fails_is_named_with_its_line() {
	printf 'local s = obj.status\nlocal x = s.none.more\n' >"$WORK/rules/shop.example.io/Queue/health.lua"
	offline -f "$WORK/queues.yaml" --health-dir "$WORK/rules" --no-guard
	ends_with 1
	says 'Unknown'
	says "$WORK/rules/shop.example.io/Queue/health.lua:2:"
	offline -f "$WORK/queues.yaml" --health-dir "$WORK/rules" --no-guard -o json
	assert_eq INVAL "$(BODY=$OUT field 0.failure)"
	printf 'local s = = 1\n' >"$WORK/rules/shop.example.io/Queue/health.lua"
	offline -f "$WORK/queues.yaml" --health-dir "$WORK/rules"
	ends_with 2
	says "health.lua:1:"
}

nothing_of_a_secret_is_shown() {
	mkdir -p "$WORK/secret-rules/Secret"
	printf '%s\n' 'print(obj.data.password)' 'return {status = "Degraded", message = "it is " .. obj.data.password}' \
		>"$WORK/secret-rules/Secret/health.lua"
	printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {password: aHVudGVyMg==}\n' >"$WORK/secret.yaml"
	offline -f "$WORK/secret.yaml" --health-dir "$WORK/secret-rules"
	ends_with 1
	says 'it is ••••••'
	case $OUT in
	*aHVudGVyMg*) fail 'the value of a Secret is shown' ;;
	esac
}

what_is_no_object_is_told() {
	printf 'a: 1\n' >"$WORK/none.yaml"
	offline -f "$WORK/none.yaml"
	ends_with 2
	says 'none.yaml:1: it is no object'
	printf -- '---\n' >"$WORK/none.yaml"
	offline -f "$WORK/none.yaml"
	ends_with 2
	says 'there is no object in it'
	offline -f "$WORK/none.yaml" deploy/web
	ends_with 2
	says 'either an object of the cluster, or --filename'
	offline -f "$WORK/none.yaml" --watch
	ends_with 2
	says '--watch is for an object of the cluster'
}

seen() {
	grep -qE "$1" "$WORK/watch"
}

each_change_is_printed_until_interrupted() {
	local status=0
	"$TRUCE" health deploy/web -n shop --watch --kubeconfig "$KUBECONFIG" >"$WORK/watch" 2>&1 &
	WATCH_PID=$!
	wait_until 20 seen '^[0-9][0-9]:[0-9][0-9]:[0-9][0-9]  Healthy '
	deployment registry.example/web:2
	wait_until 20 seen '  Progressing .* \('
	api DELETE /apis/apps/v1/namespaces/shop/deployments/web
	wait_until 20 seen '  Missing      it is not there'
	kill -INT "$WATCH_PID"
	wait "$WATCH_PID" || status=$?
	assert_eq 1 "$status" 'exit status after what was seen last'
	[ "$(head -n 1 "$WORK/watch")" = 'deploy/web  shop' ] || fail 'the object is not named'
	[ -z "$(uniq -d "$WORK/watch")" ] || fail 'something was printed twice'
}

a_watch_begins_with_what_is_missing() {
	local status=0
	"$TRUCE" health deploy/later -n shop -w -o json --kubeconfig "$KUBECONFIG" >"$WORK/watch" 2>&1 &
	WATCH_PID=$!
	wait_until 20 seen '^\{.*"status":"Missing".*"time":"2'
	kill -TERM "$WATCH_PID"
	wait "$WATCH_PID" || status=$?
	assert_eq 1 "$status"
}

begin
run_cases an_object_of_the_cluster_is_judged what_is_not_well_ends_with_1 what_is_not_there_cannot_be_judged \
	objects_of_files_are_judged_without_a_cluster a_claim_that_waits_for_its_first_pod_is_healthy \
	a_rule_without_its_group_is_told what_a_rule_prints_goes_to_standard_error \
	what_a_rule_says_is_escaped nothing_of_a_secret_is_shown rules_of_argocd_cm_are_honoured a_rule_that_fails_is_named_with_its_line \
	what_is_no_object_is_told each_change_is_printed_until_interrupted a_watch_begins_with_what_is_missing
sandbox_end

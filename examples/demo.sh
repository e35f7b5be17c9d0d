#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first minute with truce: a small shop in a Git repository, a real API server, and what happens when an autoscaler,
# a person and a typing error get in its way. Each step is checked; the first one that does not hold ends it with 1.
#
#   demo.sh [--keep | --end]
#
# Installs what building needs and builds, unless TRUCE_BUILD_DIR names a build. Works on $KUBECONFIG when that is set
# (in two namespaces of its own), otherwise on the tests' control plane, which is built once (tests/cluster/README.md).
# Afterwards it stays until Ctrl-C when it runs on a terminal (--keep: always, --end: never), and removes everything.
# shellcheck disable=SC2119 # functions of lib.sh and truce.sh that take further flags, and need none here
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

stay=false
[ ! -t 0 ] || [ ! -t 1 ] || stay=true
case ${1-} in
'') ;;
--keep) stay=true ;;
--end) stay=false ;;
*)
	printf 'usage: demo.sh [--keep | --end]\n' >&2
	exit 2
	;;
esac

prepare() {
	if [ -n "${KUBECONFIG-}" ] && ! command -v "${TRUCE_TEST_KUBECTL:-kubectl}" >/dev/null; then
		printf 'KUBECONFIG is set, but there is no kubectl (TRUCE_TEST_KUBECTL names one)\n' >&2
		exit 1
	fi
	if [ -n "${KUBECONFIG-}" ]; then tests/install-packages.sh build; else tests/install-packages.sh cluster; fi
	printf 'building %s\n' "$TRUCE_BUILD_DIR"
	if ! { cmake --preset release -B "$TRUCE_BUILD_DIR" && ninja -C "$TRUCE_BUILD_DIR" truce; } >build/demo.log 2>&1; then
		cat build/demo.log
		exit 1
	fi
	[ -n "${KUBECONFIG-}" ] || [ -x "$(tests/cluster/build.sh --path controlplane)" ] ||
		printf 'building the control plane, once (about 9 minutes on 2 processors)\n'
}

if [ -z "${TRUCE_BUILD_DIR-}" ]; then
	export TRUCE_BUILD_DIR=$root/build/release
	mkdir -p build
	prepare
fi

# shellcheck source=tests/cluster/lib.sh
. tests/cluster/lib.sh
# shellcheck source=tests/cluster/truce.sh
. tests/cluster/truce.sh

# A test may be skipped, the demo may not.
skip() {
	fail "$1"
}

# ---- what it prints ----

TEXT_COLUMNS=64

# columns TEXT: how many characters, whatever the locale.
columns() {
	printf %s "$1" | LC_ALL=C tr -d '\200-\277' | wc -c
}

# step NUMBER TITLE TEXT [MILLISECONDS]
step() {
	printf '%-2s %-20s %s' "$1" "$2" "$3"
	[ -z "${4-}" ] || printf '%*s%6d ms' $((TEXT_COLUMNS - $(columns "$3"))) '' "$4"
	printf '\n'
}

# What belongs to the step, below it.
also() {
	step '' '' "$*"
}

indent() {
	sed 's/^\(.\)/     \1/'
}

now_ms() {
	printf '%s\n' $((${EPOCHREALTIME/[.,]/} / 1000))
}

# field NAME LINE: of a log line, without its quotes.
field() {
	sed -n "s/.* $1=\(\"\([^\"]*\)\"\|\([^ ]*\)\).*/\2\3/p" <<<"$2"
}

# since_mark TEXT: the log lines with TEXT since the last agent_mark.
since_mark() {
	tail -n "+$LOG_FROM" "$LOG" | grep -F -- "$1" || true
}

head_commit() {
	git -C "$REPO" rev-parse HEAD
}

# ---- the shop ----

put_shop() {
	put web.yaml <<-'YAML'
		apiVersion: apps/v1
		kind: Deployment
		metadata:
		  name: web
		spec:
		  replicas: 2
		  selector:
		    matchLabels: {app: web}
		  template:
		    metadata:
		      labels: {app: web}
		    spec:
		      containers:
		        - name: web
		          image: web:1.4
		          env:
		            - {name: LOG, value: info}
		          resources:
		            requests: {cpu: 10m}
		---
		apiVersion: v1
		kind: Service
		metadata: {name: web}
		spec:
		  selector: {app: web}
		  ports: [{name: http, port: 80, targetPort: 8080}]
	YAML
	put hpa.yaml <<-'YAML'
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: web}
		spec:
		  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
		  minReplicas: 2
		  maxReplicas: 9
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]
	YAML
	put config.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: flags}
		data: {banner: "on"}
		---
		apiVersion: v1
		kind: Secret
		metadata: {name: db}
		stringData: {password: not-shown-anywhere}
	YAML
	put coupon.yaml <<-YAML
		apiVersion: $CRD_GROUP/v1
		kind: Coupon
		metadata: {name: welcome}
		spec: {percent: 10}
		---
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: coupons.$CRD_GROUP}
		spec:
		  group: $CRD_GROUP
		  scope: Namespaced
		  names: {kind: Coupon, plural: coupons}
		  versions:
		    - name: v1
		      served: true
		      storage: true
		      schema:
		        openAPIV3Schema:
		          type: object
		          properties:
		            spec: {type: object, properties: {percent: {type: integer}}}
	YAML
}

begin() {
	cluster_begin >/dev/null
	truce_begin shop
	CRD_GROUP=$NS.example.io
	trap demo_end EXIT
	put_shop
	commit 'shop: two replicas'
	printf '%s · %s\n' "$("$TRUCE" version | head -n 1)" "$(where)"
	printf 'repository %s  main @ %.7s  "shop: two replicas"  namespace %s\n\n' "$REPO" "$(head_commit)" "$NS"
}

# The definition belongs to the whole cluster: it is not gone with the namespaces when a step failed.
demo_end() {
	local status=$?
	set +e
	[ "$CLUSTER_KIND" = private ] || kc admin delete crd "coupons.$CRD_GROUP" --ignore-not-found --wait=false >/dev/null
	truce_end "$status"
}

where() {
	if [ "$CLUSTER_KIND" = external ]; then
		printf 'the cluster of %s' "$TRUCE_TEST_KUBECONFIG"
	else
		printf 'API server of the tests, %s' "$TRUCE_TEST_SERVER"
	fi
}

# ---- the story ----

first_sync() {
	local begin created crd coupon
	begin=$(now_ms)
	agent_start
	agent_waits 60 'msg="latency"'
	created=$(since_mark 'msg="created"')
	assert_eq 7 "$(wc -l <<<"$created")" 'objects created'
	crd=$(grep -nF 'CustomResourceDefinition' <<<"$created" | cut -d : -f 1)
	coupon=$(grep -nF '/Coupon/' <<<"$created" | cut -d : -f 1)
	[ "$crd" -lt "$coupon" ] || fail 'the coupon was created before its definition'
	step 1 'first sync' '7 created, the CRD before its object' $(($(now_ms) - begin))
}

# As the autoscaler's controller does it when load rises: through /scale, under its name.
load_rises() {
	local generation
	[ "$CLUSTER_KIND" = external ] || mark
	kc operator patch deployment web -n "$NS" --subresource=scale --type=merge -p '{"spec":{"replicas":6}}' \
		--field-manager=kube-controller-manager >/dev/null
	generation=$(got deployment web '{.metadata.generation}')
	sleep 2
	assert_eq 6 "$(got deployment web '{.spec.replicas}')" 'replicas'
	assert_eq "$generation" "$(got deployment web '{.metadata.generation}')" 'generation of the Deployment'
	step 2 'load rises' 'HPA web scales 2 → 6'
	if [ "$CLUSTER_KIND" = external ]; then
		also 'Git still says replicas: 2  →  left to the HPA'
	else
		assert_eq 0 "$(truce_writes)" 'writes of truce'
		also 'Git still says replicas: 2  →  left to the HPA, 0 writes'
	fi
}

a_person_edits() {
	local line
	agent_mark
	KUBE_EDITOR='sed -i s/web:1.4/web:debug/' kc person edit deployment web -n "$NS" >/dev/null
	agent_waits 20 "msg=\"healed\" obj=apps/Deployment/$NS/web"
	line=$(since_mark 'msg="healed"' | head -n 1)
	assert_eq web:1.4 "$(got deployment web '{.spec.template.spec.containers[0].image}')" 'image'
	assert_eq 6 "$(got deployment web '{.spec.replicas}')" 'replicas'
	step 3 'a person edits' 'image web:1.4 → web:debug; healed, replicas still 6' "$(field after_ms "$line")"
}

a_bad_commit() {
	local good line
	good=$(head_commit)
	sed -i 's/banner: "on"/banner: "off"/' "$REPO/deploy/config.yaml"
	sed -i 's/image: web:1.4/image: web:1.5: fast/' "$REPO/deploy/web.yaml"
	agent_mark
	commit 'shop: faster'
	agent_waits 20 'msg="commit not applied"'
	line=$(since_mark 'web.yaml:' | head -n 1)
	assert_eq "$good" "$(field in_force "$(since_mark 'msg="commit not applied"')")" 'commit in force'
	assert_eq on "$(got configmap flags '{.data.banner}')" 'what the other file of that commit holds'
	step 4 'a bad commit' "$(field msg "$line")"
	also "nothing of it applied, $(printf %.7s "$good") stays in force"
	agent_mark
	git -C "$REPO" revert --no-edit HEAD >/dev/null
	agent_waits 20 'msg="commit in force"'
}

what_would_it_do() {
	git -C "$REPO" switch -q -c next
	sed -i 's/image: web:1.4/image: web:1.5/' "$REPO/deploy/web.yaml"
	commit 'shop: 1.5'
	git -C "$REPO" switch -q main
	truce diff --revision next
	assert_eq 1 "$RC" 'exit status of truce diff'
	says '+ web:1.5'
	says 'spec.replicas = 6'
	step 5 'what would it do?' 'truce diff --revision next'
	indent <<<"$OUT"
	truce_ok status
	says Synced
	also 'truce status'
	indent <<<"$OUT"
}

objects_leave() {
	local begin pruned order
	git -C "$REPO" rm -q deploy/coupon.yaml deploy/config.yaml
	begin=$(now_ms)
	agent_mark
	commit 'shop: no coupons, no flags'
	agent_waits 60 'msg="latency"'
	pruned=$(since_mark 'msg="pruned"')
	assert_eq 4 "$(wc -l <<<"$pruned")" 'objects pruned'
	order=$(sed 's/.* obj=[^/]*\/\([^/]*\)\/.*/\1/' <<<"$pruned" | paste -sd ' ')
	case $order in
	'Coupon '*' CustomResourceDefinition') ;;
	*) fail "pruned in the order $order" ;;
	esac
	is_gone configmap flags || fail 'the ConfigMap is still there'
	exists service web || fail 'the Service is gone'
	step 6 'objects leave Git' "pruned: ${order// / → }" $(($(now_ms) - begin))
}

then_quiet() {
	[ "$CLUSTER_KIND" != external ] || return 0
	sleep 1
	mark
	sleep 4
	assert_eq 0 "$(truce_requests --verb get,list,create,update,patch,delete)" 'requests of a converged agent'
	step 7 'converged' '0 requests to the API server in 4 s, beside the open watches'
}

# Stays until Ctrl-C; what was begun is removed on the way out.
wait_for_the_end() {
	local truce_line kubectl_line
	truce_line="$TRUCE status --kubeconfig $TRUCE_TEST_KUBECONFIG_TRUCE --agent-namespace $NS-truce"
	kubectl_line="$TRUCE_TEST_KUBECTL --kubeconfig $TRUCE_TEST_KUBECONFIG -n $NS"
	printf '\nStill running. Try:\n  %s\n  %s\n  tail -f %s\n' "$kubectl_line set image deploy/web web=web:debug" \
		"$truce_line" "$LOG"
	printf 'Ctrl-C ends and removes everything.\n'
	trap 'printf "\n"; exit 0' INT
	wait "$AGENT_PID" || true
}

begin
first_sync
load_rises
a_person_edits
a_bad_commit
what_would_it_do
objects_leave
then_quiet
if $stay; then
	wait_for_the_end
fi
agent_stop

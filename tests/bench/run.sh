#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures truce beside its peers in one run on one API server, and prints ratios: times alone say little on a shared
# machine. Needs a release build (build/release) and the control plane of tests/cluster.
#
#   run.sh [OBJECTS] [ROUNDS]     1000 objects, 3 rounds: of each number the median is shown
#   BENCH_IDLE_S=60               how long the CPU of a converged daemon is looked at
#   BENCH_CONTROLLERS=0           the controller manager stands still while times are taken: on a machine of few cores its
#                                 work on new Deployments and Services is a large part of what is waited for
#
# What is measured, each contender in a namespace of its own:
#   floor      the objects as plain server-side-apply requests, as many in flight as the transport allows (bench_floor)
#   kubectl    kubectl apply --server-side of one file
#   truce      truce sync: discovery, lists, inventory, applies
#   cold       from an empty namespace; again: once more, with nothing to do
#   restart    a converged daemon: start to "synced"; then its memory and CPU over a minute without changes
#   commit     git commit to "synced", with a poll interval of one second
#
# All use the same user. Who begins changes from round to round, round 0 only warms the server up. A contender begins
# when the control plane is quiet, and its namespace is gone before the next one begins, so that nobody pays for work that
# another left behind, or for more objects: a Service costs the more the more Services there are.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
objects=${1:-1000}
rounds=${2:-3}
idle_s=${BENCH_IDLE_S:-60}
controllers=${BENCH_CONTROLLERS:-1}
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

kubectl() { "$TRUCE_TEST_KUBECTL" --kubeconfig="$TRUCE_TEST_KUBECONFIG" "$@"; }

note() { printf '%s\n' "$2" >>"$work/$1"; }
value() { median <"$work/$1"; }
# server_ms: the CPU time of the control plane.
server_ms() {
	local pid files=()
	for pid in $("$root/tests/cluster/cluster" status "$work/cluster" | awk '$2 == "running" { print $3 }'); do
		files+=("/proc/$pid/stat")
	done
	awk -v hz="$(getconf CLK_TCK)" '{ t += $14 + $15 } END { print int(t * 1000 / hz) }' "${files[@]}"
}
settle() {
	local before until=$((SECONDS + 120))
	while before=$(server_ms) && sleep 1 && [ $(($(server_ms) - before)) -gt 150 ]; do
		[ "$SECONDS" -lt "$until" ] || break
	done
}
# measure NAME COMMAND…: notes the time it takes, its own CPU time and the control plane's until that is quiet again.
measure() {
	local name=$1 before from own
	shift
	[ "$controllers" = 1 ] || cluster stop controller-manager
	settle
	before=$(server_ms)
	from=$(now_ms)
	own=$(
		TIMEFORMAT='%3U %3S'
		{ time "$@" >"$work/out" 2>"$work/err"; } 2>&1
	) || {
		cat "$work/err" >&2
		exit 1
	}
	note "$name" $(($(now_ms) - from))
	note "$name-own" "$(awk '{ print int(($1 + $2) * 1000) }' <<<"$own")"
	settle
	note "$name-server" $(($(server_ms) - before))
	[ "$controllers" = 1 ] || cluster start controller-manager
}
ratio() { awk -v a="$(value "$1")" -v b="$(value "$2")" 'BEGIN { printf "%.2f", a / b }'; }

repository() {
	git init -q -b main "$work/repo-$1"
	git -C "$work/repo-$1" config user.name bench
	git -C "$work/repo-$1" config user.email bench@example.invalid
	mkdir "$work/repo-$1/deploy"
	"$here/objects.sh" "$objects" "$1" yaml >"$work/repo-$1/deploy/all.yaml"
	git -C "$work/repo-$1" add -A
	git -C "$work/repo-$1" commit -q -m objects
}
flags() {
	printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --repo "$work/repo-$1" --path deploy --namespace "$1" \
		--name bench --agent-namespace "$1-truce" --data-dir "$work/data"
}
run_truce() {
	local verb=$1 list
	mapfile -t list < <(flags "$2")
	"$truce" "$verb" "${list[@]}"
}

run_floor() { "$floor" "$TRUCE_TEST_KUBECONFIG_TRUCE" 32 <"$work/floor.jsonl"; }
run_kubectl() { "$TRUCE_TEST_KUBECTL" --kubeconfig="$TRUCE_TEST_KUBECONFIG_TRUCE" apply --server-side -f "$work/kubectl.yaml"; }

# turn CONTENDER NAMESPACE
turn() {
	local command=("run_$1")
	kubectl create namespace "$2" >/dev/null
	case $1 in
	floor) "$here/objects.sh" "$objects" "$2" json >"$work/floor.jsonl" ;;
	kubectl) "$here/objects.sh" "$objects" "$2" yaml >"$work/kubectl.yaml" ;;
	truce)
		repository "$2"
		command+=(sync "$2")
		;;
	esac
	measure "cold-$1" "${command[@]}"
	measure "again-$1" "${command[@]}"
	kubectl delete namespace "$2" "$2-truce" --ignore-not-found >/dev/null
}
all_rounds() {
	local r i contenders=(floor kubectl truce)
	for ((r = 0; r <= rounds; r++)); do
		for i in 0 1 2; do
			turn "${contenders[(r + i) % 3]}" "round-$r"
		done
		[ "$r" -gt 0 ] || rm "$work"/cold-* "$work"/again-*
	done
}
# row TITLE WHICH: a line of the table, of the notes "WHICH-CONTENDER" with the ending $3
row() {
	printf '%-28s %8s %8s %8s %13s %15s\n' "$1" "$(value "$2-floor$3")" "$(value "$2-kubectl$3")" "$(value "$2-truce$3")" \
		"$(ratio "$2-truce$3" "$2-floor$3")" "$(ratio "$2-truce$3" "$2-kubectl$3")"
}
table() {
	local which
	printf '%s objects, median of %s rounds, ms\n' "$objects" "$rounds"
	printf '%-28s %8s %8s %8s %13s %15s\n' '' floor kubectl truce truce/floor truce/kubectl
	for which in cold again; do
		row "$which" "$which" ''
		row "  its own CPU" "$which" -own
		row "  control plane CPU" "$which" -server
	done
}

wait_log() {
	local until=$((SECONDS + 120))
	until [ "$(grep -c 'msg="synced"' "$work/run.log" || true)" -ge "$1" ]; do
		[ "$SECONDS" -lt "$until" ] || {
			cat "$work/run.log" >&2
			exit 1
		}
		sleep 0.02
	done
}
# In nanoseconds: a converged minute is too little for clock ticks.
cpu_ns() { awk '{ ns += $1 } END { printf "%d", ns }' "/proc/$started/task"/*/schedstat; }
memory() { awk -v key="$1:" '$1 == key { printf "%.1f", $2 / 1024 }' "/proc/$started/status"; }

# daemon NAMESPACE: starts it and waits until it is synced.
daemon() {
	local list
	mapfile -t list < <(flags "$1")
	"$truce" run "${list[@]}" --poll-interval "$2" >"$work/run.log" 2>&1 &
	started=$!
	wait_log 1
}
stop_daemon() {
	kill -TERM "$started"
	wait "$started" || true
	started=
}

daemon_figures() {
	local from before ms
	kubectl create namespace daemon >/dev/null
	repository daemon
	run_truce sync daemon >/dev/null
	settle
	from=$(now_ms)
	daemon daemon 30s
	note restart $(($(now_ms) - from))
	sleep 5
	before=$(cpu_ns)
	sleep "$idle_s"
	printf 'converged daemon, %s objects: RssAnon %s MiB, RSS %s MiB, CPU %.3f %% over %s s\n' "$objects" "$(memory RssAnon)" \
		"$(memory VmRSS)" "$(awk -v ns=$(($(cpu_ns) - before)) -v s="$idle_s" 'BEGIN { print ns / 1e9 / s * 100 }')" "$idle_s"
	stop_daemon
	daemon daemon 1s
	for ms in 1 2 3 4 5; do
		sed -i "0,/plain/s//plain$ms/" "$work/repo-daemon/deploy/all.yaml"
		git -C "$work/repo-daemon" commit -q -a -m "change $ms"
		from=$(now_ms)
		wait_log $((ms + 1))
		note commit $(($(now_ms) - from))
	done
	stop_daemon
}

idle_figures() {
	git init -q -b main "$work/repo-idle"
	mkdir "$work/repo-idle/deploy"
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n' >"$work/repo-idle/deploy/one.yaml"
	git -C "$work/repo-idle" add -A
	git -C "$work/repo-idle" -c user.name=b -c user.email=b@example.invalid commit -q -m one
	kubectl create namespace idle >/dev/null
	daemon idle 30s
	sleep 5
	printf 'idle daemon, 1 object: RssAnon %s MiB, RSS %s MiB\n' "$(memory RssAnon)" "$(memory VmRSS)"
	stop_daemon
}

all_rounds
table
daemon_figures
idle_figures
printf 'restart to synced: %s ms; commit to synced with a poll interval of 1 s: %s ms\n' "$(value restart)" "$(value commit)"

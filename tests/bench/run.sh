#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures truce beside its peers in one run on one API server, and prints ratios: times alone say little on a shared
# machine. Needs a release build (build/release) and the control plane of tests/cluster.
#
#   run.sh [OBJECTS] [ROUNDS]     1000 objects, 3 rounds: of each number the median is shown
#
# What is measured, each round in namespaces of its own, in turns:
#   floor      the objects as plain server-side-apply requests, 32 in flight over HTTP/2 (bench_floor)
#   kubectl    kubectl apply --server-side of one file
#   cold       truce sync from an empty namespace: discovery, lists, inventory, applies
#   again      truce sync with nothing to do; kubectl again
#   restart    a converged daemon: start to "synced"; then its memory and CPU over a minute without changes
#   commit     git commit to "synced", with a poll interval of one second
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
objects=${1:-1000}
rounds=${2:-3}
idle_s=${BENCH_IDLE_S:-60}
build=${TRUCE_BUILD_DIR:-$root/build/release}
truce=$build/src/truce
floor=$build/tests/bench/bench_floor
work=$(mktemp -d "${TMPDIR:-/tmp}/truce-bench.XXXXXX")
agent=

end() {
	[ -z "$agent" ] || kill -KILL "$agent" 2>/dev/null || true
	"$root/tests/cluster/cluster" down "$work/cluster" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap end EXIT

for program in "$truce" "$floor"; do
	[ -x "$program" ] || {
		printf 'there is no %s: cmake --preset release && ninja -C build/release\n' "$program" >&2
		exit 1
	}
done
"$root/tests/cluster/cluster" up "$work/cluster" --no-podsim >/dev/null
environment=$("$root/tests/cluster/cluster" env "$work/cluster")
eval "$environment"
kubectl() { "$TRUCE_TEST_KUBECTL" --kubeconfig="$TRUCE_TEST_KUBECONFIG" "$@"; }

now_ms() { date +%s%3N; }
took() {
	local from
	from=$(now_ms)
	"$@" >/dev/null
	printf '%s\n' $(($(now_ms) - from))
}
median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
note() { printf '%s\n' "$2" >>"$work/$1"; }
value() { median <"$work/$1"; }
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

one_round() {
	local r=$1
	for name in floor kubectl truce; do
		kubectl create namespace "$name-$r" >/dev/null
	done
	"$here/objects.sh" "$objects" "floor-$r" json >"$work/floor.jsonl"
	"$here/objects.sh" "$objects" "kubectl-$r" yaml >"$work/kubectl.yaml"
	repository "truce-$r"
	note floor "$("$floor" "$TRUCE_TEST_KUBECONFIG_TRUCE" 32 <"$work/floor.jsonl")"
	note kubectl "$(took kubectl apply --server-side -f "$work/kubectl.yaml")"
	note cold "$(took run_truce sync "truce-$r")"
	note floor-again "$("$floor" "$TRUCE_TEST_KUBECONFIG_TRUCE" 32 <"$work/floor.jsonl")"
	note kubectl-again "$(took kubectl apply --server-side -f "$work/kubectl.yaml")"
	note again "$(took run_truce sync "truce-$r")"
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
ticks() { awk '{ print $14 + $15 }' "/proc/$agent/stat"; }
memory() { awk -v key="$1:" '$1 == key { printf "%.1f", $2 / 1024 }' "/proc/$agent/status"; }

# daemon NAMESPACE: starts it and waits until it is synced.
daemon() {
	local list
	mapfile -t list < <(flags "$1")
	"$truce" run "${list[@]}" --poll-interval "$2" >"$work/run.log" 2>&1 &
	agent=$!
	wait_log 1
}
stop_daemon() {
	kill -TERM "$agent"
	wait "$agent" || true
	agent=
}

daemon_figures() {
	local from before ms
	from=$(now_ms)
	daemon "truce-1" 30s
	note restart $(($(now_ms) - from))
	sleep 5
	before=$(ticks)
	sleep "$idle_s"
	printf 'converged daemon, %s objects: RssAnon %s MiB, RSS %s MiB, CPU %.3f %% over %s s\n' "$objects" "$(memory RssAnon)" \
		"$(memory VmRSS)" "$(awk -v t=$(($(ticks) - before)) -v s="$idle_s" -v hz="$(getconf CLK_TCK)" 'BEGIN { print t / hz / s * 100 }')" \
		"$idle_s"
	stop_daemon
	daemon "truce-1" 1s
	for ms in 1 2 3 4 5; do
		sed -i "0,/plain/s//plain$ms/" "$work/repo-truce-1/deploy/all.yaml"
		git -C "$work/repo-truce-1" commit -q -a -m "change $ms"
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

for ((r = 1; r <= rounds; r++)); do
	one_round "$r"
done
printf '%s objects, median of %s rounds, times in ms\n' "$objects" "$rounds"
printf '%-10s %8s %8s %8s   %s\n' '' floor kubectl truce 'truce/floor truce/kubectl'
printf '%-10s %8s %8s %8s   %11s %13s\n' cold "$(value floor)" "$(value kubectl)" "$(value cold)" "$(ratio cold floor)" "$(ratio cold kubectl)"
printf '%-10s %8s %8s %8s   %11s %13s\n' again "$(value floor-again)" "$(value kubectl-again)" "$(value again)" \
	"$(ratio again floor-again)" "$(ratio again kubectl-again)"
daemon_figures
idle_figures
printf 'restart to synced: %s ms; commit to synced with a poll interval of 1 s: %s ms\n' "$(value restart)" "$(value commit)"

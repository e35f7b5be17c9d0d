# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What benchmarks share: source it. Then there are a release build ($truce, $floor, or what $programs names instead), a
# control plane of their own without pod simulator (environment of tests/cluster), a work folder ($work), and median and
# now_ms. At the end all is gone, and the processes in $started with it.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${TRUCE_BUILD_DIR:-$root/build/release}
truce=$build/src/truce
floor=$build/tests/bench/bench_floor
work=$(mktemp -d "${TMPDIR:-/tmp}/truce-bench.XXXXXX")
started=
[ -n "${programs+set}" ] || programs=("$truce" "$floor")

bench_end() {
	local pid
	for pid in $started; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	"$root/tests/cluster/cluster" down "$work/cluster" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap bench_end EXIT

for program in ${programs[@]+"${programs[@]}"}; do
	[ -x "$program" ] || {
		printf 'there is no %s: cmake --preset release && ninja -C build/release\n' "$program" >&2
		exit 1
	}
done

# cluster COMMAND ARG…: the cluster tool, on this cluster, silently.
cluster() {
	local command=$1
	shift
	"$root/tests/cluster/cluster" "$command" "$work/cluster" "$@" >/dev/null
}

now_ms() { date +%s%3N; }
median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

cluster up --no-podsim
environment=$("$root/tests/cluster/cluster" env "$work/cluster")
eval "$environment"

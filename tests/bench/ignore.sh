#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What 50 ignore rules cost when a converged application is looked at again, beside none: decisions alone (bench_ignore),
# and `truce diff` on `truce sandbox`, its jq worker included. Needs a release build, and no cluster.
#
#   ignore.sh [OBJECTS] [ROUNDS]      1000 objects, 5 rounds: the median is shown, and its ratio to none
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TRUCE_BUILD_DIR=$(realpath "${TRUCE_BUILD_DIR:-$here/../../build/release}")
objects=${1:-1000}
rounds=${2:-5}
# shellcheck source-path=SCRIPTDIR source=../sandbox/lib.sh
. "$here/../sandbox/lib.sh"
bench=$TRUCE_BUILD_DIR/tests/bench/bench_ignore
contenders=(none pointers managers jq mixed)

median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

# The Application has the rules of bench_ignore's contender of that name.
configure() {
	mkdir -p "$WORK/$1"
	cat >"$WORK/$1/app.yaml" <<-YAML
		apiVersion: truce.dev/v1alpha1
		kind: Agent
		metadata: {name: truce}
		spec: {allowFileRepositories: true}
		---
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: bench}
		spec:
		  source: {repoURL: "file://$REPO", path: deploy}
		  destination: {namespace: bench}
		  syncPolicy: {automated: {selfHeal: true}, syncOptions: [CreateNamespace=true]}
	YAML
	"$bench" rules "$1" >>"$WORK/$1/app.yaml"
}

truce_flags() { printf '%s\n' --config "$WORK/none" --data-dir "$WORK/data"; }

# look CONTENDER: notes the time, and the CPU time with that of its worker.
look() {
	local from cpu
	from=$(date +%s%3N)
	cpu=$(
		TIMEFORMAT='%3U %3S'
		{ time "$TRUCE" diff --config "$WORK/$1" --data-dir "$WORK/data" >"$WORK/out" 2>"$WORK/err"; } 2>&1
	) || fail "truce diff with rules \"$1\": $(cat "$WORK/out" "$WORK/err")"
	printf '%s\n' $(($(date +%s%3N) - from)) >>"$WORK/clock.$1"
	awk '{ print int(($1 + $2) * 1000) }' <<<"$cpu" >>"$WORK/cpu.$1"
}

"$here/objects.sh" "$objects" bench json >"$WORK/objects"
"$bench" "$TRUCE" "$rounds" <"$WORK/objects"

sandbox_start --no-controllers
"$here/objects.sh" "$objects" bench yaml | put all.yaml
commit 'objects'
for contender in "${contenders[@]}"; do configure "$contender"; done
truce_ok sync
for ((round = 0; round <= rounds; round++)); do
	for contender in "${contenders[@]}"; do look "$contender"; done
	[ "$round" -gt 0 ] || rm "$WORK"/clock.* "$WORK"/cpu.*
done
printf '\ntruce diff of the same, nothing changed; ms\n%-20s %10s %8s %10s %8s\n' rules clock ratio 'CPU' ratio
for contender in "${contenders[@]}"; do
	clock=$(median <"$WORK/clock.$contender") cpu=$(median <"$WORK/cpu.$contender")
	printf '%-20s %10s %8s %10s %8s\n' "$contender" "$clock" \
		"$(awk -v a="$clock" -v b="$(median <"$WORK/clock.none")" 'BEGIN { printf "%.2f", a / b }')" "$cpu" \
		"$(awk -v a="$cpu" -v b="$(median <"$WORK/cpu.none")" 'BEGIN { printf "%.2f", a / b }')"
done
sandbox_end

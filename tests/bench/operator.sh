#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures a small operator on truce's reconciler runtime (modelcache.c) beside the same operator on kopf, in one run on one
# API server, and prints one table with ratios. Needs a release build and the control plane of tests/cluster; kopf comes from
# the Python package index, in the versions of kopf_plain.txt and kopf_best.txt, into the cache folder.
#
#   operator.sh [SMALL] [LARGE]   300 and 3000 ModelCaches
#   BENCH_BURST=1000              as many at once, on top of SMALL
#   BENCH_RECOVER=100             ConfigMaps that are deleted, at random moments of BENCH_WINDOW_S=40 seconds
#   BENCH_IDLE_S=60               how long an operator with nothing to do is looked at
#   BENCH_PAUSE_S=75              how long the leader stands still
#   BENCH_LEASE_S=15              truce's Lease; a longer one where the machine is too busy to renew it in time
#   BENCH_CONTENDERS='plain best truce'
#   BENCH_PARTS='work failover'   what is measured
#
# The contenders do the same: each ModelCache has a ConfigMap with what its spec says, which is made again when it goes and
# changed back when it differs, and a status.
#   plain   kopf as its documentation shows it: handlers for create, update and resume, a timer of 30 s, the Kubernetes client
#   best    kopf without a timer: asynchronous, an index, handlers for the ConfigMaps' events, uvloop, no Events, quiet
#   truce   modelcache.c; it looks at everything again every 30 s, too, and holds a Lease in all parts
#
# One operator runs at a time (failover: two), each in a namespace of its own, as user operator (and person); the load
# comes from admin. Times are bench_recorder's, from its own watches; writes are counted in the audit log, without those of
# leases, peerings and Events; CPU is what the kernel accounts to the process.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
small=${1:-300}
large=${2:-3000}
burst=${BENCH_BURST:-1000}
recover=${BENCH_RECOVER:-100}
window_s=${BENCH_WINDOW_S:-40}
idle_s=${BENCH_IDLE_S:-60}
pause_s=${BENCH_PAUSE_S:-75}
lease_s=${BENCH_LEASE_S:-15}
changes=create,update,patch,delete
read -ra contenders <<<"${BENCH_CONTENDERS:-plain best truce}"
read -ra parts <<<"${BENCH_PARTS:-work failover}"
[ "$recover" -le "$small" ] || recover=$small
benches=${TRUCE_BUILD_DIR:-$here/../../build/release}/tests/bench
programs=("$benches/bench_modelcache" "$benches/bench_recorder")
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

A=$TRUCE_TEST_KUBECONFIG_OPERATOR
B=$TRUCE_TEST_KUBECONFIG_PERSON
kubectl() { "$TRUCE_TEST_KUBECTL" --kubeconfig="$TRUCE_TEST_KUBECONFIG" "$@"; }
recorder() { "$benches/bench_recorder" "$TRUCE_TEST_KUBECONFIG" "$NS" "$@" 2>>"$work/recorder.err"; }
note() { printf '%s\n' "$2" >"$work/note.$1.$who"; }
say() { printf '# %s %s: %s\n' "$(date +%T)" "$who" "$*" >&2; }

# --- the contenders -------------------------------------------------------------------------------------------------

# kopf_folder FLAVOUR: prints the folder of a Python that has kopf, which is made when it is not there.
kopf_folder() {
	local wanted=$here/kopf_$1.txt folder
	folder=${TRUCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/truce}/kopf-$1-$(sha256sum "$wanted" | cut -c 1-12)
	if [ ! -x "$folder/bin/kopf" ]; then
		rm -rf "$folder"
		if ! { python3 -m venv "$folder" && "$folder/bin/pip" install -q -r "$wanted"; }; then
			rm -rf "$folder"
			return 1
		fi
	fi >&2
	printf '%s\n' "$folder"
}

declare -A kopfs=()
find_contenders() {
	local all=("${contenders[@]}")
	contenders=()
	for who in "${all[@]}"; do
		if [ "$who" != truce ]; then
			kopfs[$who]=$(kopf_folder "$who") || {
				printf 'MISSING: %s cannot be measured: kopf, in the versions of tests/bench/kopf_%s.txt, could not be installed\n' \
					"$who" "$who"
				continue
			}
		fi
		contenders+=("$who")
	done
}

# operator KUBECONFIG IDENTITY PRIORITY: starts one in the background, its process is $!; priority 0: nobody stands by.
operator() {
	local flags=(--standalone)
	if [ "$who" = truce ]; then
		"$benches/bench_modelcache" "$1" "$NS" "$2" "$lease_s" >>"$work/$who.$2.log" 2>&1 &
		return
	fi
	[ "$3" = 0 ] || flags=(--peering=lab --priority="$3")
	[ "$who" != best ] || flags+=(--quiet)
	KUBECONFIG=$1 "${kopfs[$who]}/bin/kopf" run -n "$NS" "${flags[@]}" "$here/kopf_$who.py" >>"$work/$who.$2.log" 2>&1 &
}

# serves NAME: until a ModelCache of this name is Ready.
serves() {
	recorder create "$1" 1 0 300 >/dev/null || {
		tail -n 20 "$work/$who."*.log >&2
		exit 1
	}
}

begin() {
	operator "$A" a 0
	started=$!
	serves "$1"
}

stop() {
	kill -TERM "$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
}

namespace() {
	NS=$1
	kubectl create namespace "$NS" >/dev/null
	kubectl create -f - >/dev/null <<-YAML
		{apiVersion: kopf.dev/v1, kind: KopfPeering, metadata: {name: lab, namespace: $NS}}
	YAML
}

# --- figures of a process -------------------------------------------------------------------------------------------

cpu_ns() { awk '{ ns += $1 } END { printf "%.0f", ns }' "/proc/$started/task"/*/schedstat; }
# memory NAME: all that is resident, and of that what no file backs, which no other process shares.
memory() {
	note "rss-$1" "$(awk '$1 == "VmRSS:" { printf "%.1f", $2 / 1024 }' "/proc/$started/status")"
	note "anon-$1" "$(awk '$1 == "RssAnon:" { printf "%.1f", $2 / 1024 }' "/proc/$started/status")"
}
mark() { "$root/tests/cluster/cluster" audit "$work/cluster" --mark; }
# writes USER MARK: requests that change something.
writes() {
	local all resource without=0 filter=(--user "$1" --verb "$changes" --since "$2" --count)
	all=$("$root/tests/cluster/cluster" audit "$work/cluster" "${filter[@]}")
	for resource in leases kopfpeerings events; do
		without=$((without + $("$root/tests/cluster/cluster" audit "$work/cluster" "${filter[@]}" --resource "$resource")))
	done
	printf '%s\n' $((all - without))
}
# took NAME COMMAND…: notes what the recorder says.
took() {
	local name=$1 line ready of p50 p99 max total
	shift
	line=$(recorder "$@") || true
	read -r ready of p50 p99 max total <<<"$line"
	[ "$ready" = "$of" ] || max="$max ($ready of $of)"
	note "$name-p50" "$p50"
	note "$name-p99" "$p99"
	note "$name-max" "$max"
	note "$name-total" "$total"
	note "$name-done" "$ready"
	say "$* → $line"
}
# busy COUNT NAME COMMAND…: as took, the CPU time of each of COUNT, and how much of a core it took meanwhile.
busy() {
	local count=$1 from began
	shift
	from=$(cpu_ns)
	began=$(now_ms)
	took "$@"
	note "$1-share" "$(awk -v ns=$(($(cpu_ns) - from)) -v ms=$(($(now_ms) - began)) 'BEGIN { printf "%.1f", ns / 1e4 / ms }')"
	sleep 3
	note "$1-cpu" "$(awk -v ns=$(($(cpu_ns) - from)) -v n="$count" 'BEGIN { printf "%.3f", ns / 1e6 / n }')"
}

# --- work: one operator ---------------------------------------------------------------------------------------------

idle() {
	local from before
	sleep 5
	before=$(mark)
	from=$(cpu_ns)
	sleep "$idle_s"
	note "$1-cpu" "$(awk -v ns=$(($(cpu_ns) - from)) -v s="$idle_s" 'BEGIN { printf "%.3f", ns / 1e7 / s }')"
	note "$1-writes" "$(writes operator "$before")"
}

# A restart is over when the process has nothing to do any more: no more than a twentieth of a core for two seconds.
restart() {
	local before from now last quiet=0 seconds=0
	stop "$started"
	before=$(mark)
	from=$(now_ms)
	begin probe-restart
	note restart-first $(($(now_ms) - from))
	last=$(cpu_ns)
	while [ "$quiet" -lt 2 ] && [ "$seconds" -lt 180 ]; do
		sleep 1
		seconds=$((seconds + 1))
		now=$(cpu_ns)
		quiet=$((now - last < 50000000 ? quiet + 1 : 0))
		last=$now
	done
	note restart-quiet $(($(now_ms) - from - quiet * 1000))
	note restart-cpu "$(awk -v ns="$(cpu_ns)" 'BEGIN { printf "%.2f", ns / 1e9 }')"
	note restart-writes "$(writes operator "$before")"
}

# ModelCaches that are deleted while nobody is there: how many went, and how long the others took when it came back.
away() {
	stop "$started"
	took away delete 10 15
	operator "$A" a 0
	started=$!
	sleep 20
	note away-left "$(kubectl get modelcaches -n "$NS" -o 'jsonpath={range .items[*]}{.metadata.deletionTimestamp}{"\n"}{end}' |
		grep -c . || true)"
}

work() {
	namespace "work-$who"
	begin warm-up
	sleep 5
	memory 0
	busy "$small" paced create small "$small" 100 120
	memory small
	took recover recover "$recover" "$window_s" 120
	idle idle
	busy "$burst" burst create burst "$burst" 0 300
	if [ $((large - small - burst)) -gt 0 ]; then
		busy $((large - small - burst)) large create large $((large - small - burst)) 0 600
	fi
	sleep 5
	memory large
	restart
	away
	stop "$started"
	started=
}

# --- failover: two operators ----------------------------------------------------------------------------------------

# overlap MARK: for how long both wrote since then, in ms, and the writes of the one that stood still.
overlap() {
	"$root/tests/cluster/cluster" audit "$work/cluster" --lines --since "$1" --verb "$changes" |
		NS=$NS python3 -c '
import datetime, json, os, sys
seen = {"operator": [], "person": []}
for line in sys.stdin:
    e = json.loads(line)
    ref, user = e.get("objectRef") or {}, e["user"]["username"]
    if ref.get("namespace") == os.environ["NS"] and ref.get("resource") in ("configmaps", "modelcaches") and user in seen:
        at = datetime.datetime.fromisoformat(e["requestReceivedTimestamp"].replace("Z", "+00:00"))
        seen[user].append(at.timestamp())
a, b = seen["operator"], seen["person"]
print(len(a), round(max(0, min(max(a), max(b)) - max(min(a), min(b))) * 1000) if a and b else 0)'
}

# signal NAME PID: one that has ended by itself is told; what is measured then is worth nothing.
signal() {
	kill -"$1" "$2" 2>/dev/null || say "the leader had ended before SIG$1"
}

# failover HOW: ModelCaches are created all the time; the longest that one waited is how long nobody was there.
failover() {
	local how=$1 first second created before line lasted
	namespace "failover-$who-$how"
	operator "$A" a 100
	first=$!
	started=$first
	serves warm-up-a
	operator "$B" b 50
	second=$!
	started="$first $second"
	sleep 8
	took "failover-$how" create drift $((5 * 30)) 5 $((pause_s + 60)) &
	created=$!
	sleep 3
	case $how in
	clean) signal TERM "$first" ;;
	killed) signal KILL "$first" ;;
	paused)
		signal STOP "$first"
		sleep "$pause_s"
		before=$(mark)
		signal CONT "$first"
		recorder create after 75 5 60 >/dev/null || true
		read -r line lasted < <(overlap "$before")
		note failover-paused-writes "$line"
		note failover-paused-overlap "$lasted"
		;;
	esac
	wait "$created"
	{
		kill -KILL "$first" "$second"
		wait "$first" "$second"
	} 2>/dev/null || true
	started=
}

failovers() {
	local how
	for how in clean killed paused; do
		failover "$how"
	done
}

# --- the table --------------------------------------------------------------------------------------------------------

value() { cat "$work/note.$1.$2" 2>/dev/null || printf '%s' -; }
ratio() {
	awk -v a="$(value "$1" "$2")" -v b="$(value "$1" truce)" 'BEGIN {
		if (a + 0 > 0 && b + 0 > 0) printf "%.1f", a / b; else printf "-" }'
}
row() {
	[ -n "$(find "$work" -name "note.$2.*" -print -quit)" ] || return 0
	printf '| %s | %s | %s | %s | %s | %s |\n' "$1" "$(value "$2" plain)" "$(value "$2" best)" "$(value "$2" truce)" \
		"$(ratio "$2" plain)" "$(ratio "$2" best)"
}
table() {
	local which
	printf '| | kopf | best kopf | truce | kopf ÷ truce | best ÷ truce |\n|---|---|---|---|---|---|\n'
	for which in p50 p99 max; do
		row "CR → Ready, $small at 100/s, $which, ms" "paced-$which"
	done
	row "CPU per CR, ms" paced-cpu
	row "CPU while they come, % of a core" paced-share
	for which in p50 p99 max; do
		row "child deleted → there again, $which, ms" "recover-$which"
	done
	row 'RSS at 0, MiB' rss-0
	row "RSS at $small, MiB" rss-small
	row "RSS at $large, MiB" rss-large
	row 'of that its own (RssAnon), at 0, MiB' anon-0
	row "of that its own, at $small, MiB" anon-small
	row "of that its own, at $large, MiB" anon-large
	row "idle with $small: CPU, % of a core" idle-cpu
	row "idle with $small: writes in $idle_s s" idle-writes
	row "burst of $burst: CR → Ready, p50, ms" burst-p50
	row "burst of $burst: p99, ms" burst-p99
	row "burst of $burst: first request → last Ready, ms" burst-total
	row "burst of $burst: CPU per CR, ms" burst-cpu
	row "up to $large: first request → last Ready, ms" large-total
	row "up to $large: CPU per CR, ms" large-cpu
	row "restart with $large: a new CR is Ready after, ms" restart-first
	row "restart with $large: at rest after, ms" restart-quiet
	row "restart with $large: CPU, s" restart-cpu
	row "restart with $large: writes, 2 or more of them for the new CR" restart-writes
	row '10 CRs deleted while the operator is away: gone within 15 s' away-done
	row '10 CRs deleted while the operator is away: left 20 s after it came back' away-left
	row 'hand-over, clean end: longest CR → Ready, ms' failover-clean-max
	row 'hand-over, SIGKILL: longest CR → Ready, ms' failover-killed-max
	row "hand-over, stood still for $pause_s s: longest CR → Ready, ms" failover-paused-max
	row 'writes of the one that stood still, after it went on' failover-paused-writes
	row 'both wrote at once for, ms' failover-paused-overlap
}

# What is known is printed, however it ends.
finish() {
	table
	bench_end
}
trap finish EXIT
trap 'exit 143' TERM INT
kubectl apply -f "$here/modelcache.yaml" >/dev/null
kubectl wait --for=condition=Established crd/modelcaches.lab.truce.dev crd/kopfpeerings.kopf.dev --timeout=60s >/dev/null
find_contenders
for who in "${contenders[@]}"; do
	for part in "${parts[@]}"; do
		case $part in
		work) work ;;
		failover) failovers ;;
		esac
	done
done

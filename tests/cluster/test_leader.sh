#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two agents on a real API server, of which one leads: a clean end, SIGKILL, and a leader that stood still for 20 s. While all
# of it goes on a person deletes an object that Git has again and again, so that whoever may write has something to write.
# The agents are two users, so the audit log tells them apart. Times are printed; only writes are judged.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

WRITES=create,update,patch,delete
declare -A PIDS=() PORTS=() LOGS=() CONFIGS=()
DRIFT_PID=
times=

# one_starts USER: an agent as that user, with a store and a port of its own.
one_starts() {
	local flags user=$1
	mapfile -t flags < <(truce_flags)
	: >"${LOGS[$user]}"
	"$TRUCE" run "${flags[@]}" --kubeconfig "${CONFIGS[$user]}" --data-dir "$WORK/data-$user" --listen "127.0.0.1:${PORTS[$user]}" \
		--leader-elect --poll-interval 1s >"${LOGS[$user]}" 2>&1 &
	PIDS[$user]=$!
}

one_says() {
	grep -F -- "$2" "${LOGS[$1]}" >/dev/null
}

page() {
	curl -s --max-time 5 "http://127.0.0.1:${PORTS[$1]}$2"
}

page_has() {
	page "$1" "$2" | grep -F -- "$3" >/dev/null
}

stands_by() {
	page_has "$1" /readyz 'ok: standing by'
}

# Writes of a user since the mark that are not about the Lease.
writes_of() {
	local all leases
	all=$(audit_count --user "$1" --verb "$WRITES" --since "$MARK")
	leases=$(audit_count --user "$1" --verb "$WRITES" --resource leases --since "$MARK")
	printf '%s\n' "$((all - leases))"
}

# LISTs of a user since the mark, but for those of inventories.
lists_of() {
	cluster audit --lines --user "$1" --verb list --since "$MARK" | grep -cv 'inventory' || true
}

has_written() {
	[ "$(writes_of "$1")" -gt 0 ]
}

drift() {
	while :; do
		kc person delete configmap flags -n "$NS" --ignore-not-found >/dev/null 2>&1 || sleep 0.2
	done
}

# took WHAT USER FROM: how long after FROM (date +%s.%N) the user's first write of the Lease and of anything else came.
took() {
	local line
	line=$(cluster audit --lines --user "$2" --verb "$WRITES" --since "$MARK" | FROM=$3 python3 -c '
import datetime, json, os, sys
first, since = {}, float(os.environ["FROM"])
for line in sys.stdin:
    e = json.loads(line)
    at = datetime.datetime.fromisoformat(e["requestReceivedTimestamp"].replace("Z", "+00:00")).timestamp()
    what = "lease" if e["objectRef"].get("resource") == "leases" else "write"
    first[what] = min(at, first.get(what, at))
print("  ".join(f"{k} after {first[k] - since:.3f} s" for k in ("lease", "write") if k in first))')
	times+="$1: $line"$'\n'
}

one_leads_and_the_other_is_ready() {
	one_starts truce
	wait_until 30 one_says truce 'this truce leads'
	wait_until 60 one_says truce 'msg="latency"'
	one_starts operator
	wait_until 30 stands_by operator
	wait_until 10 one_says operator 'another one leads'
	wait_until 10 page_has truce /metrics "leader_election_master_status{name=\"truce-$NS-truce\"} 1"
	wait_until 10 page_has operator /metrics "leader_election_master_status{name=\"truce-$NS-truce\"} 0"
	wait_until 10 page_has truce /readyz ok
	case $(kc admin get lease "truce-$NS-truce" -n "$NS-truce" -o 'jsonpath={.spec.holderIdentity}') in
	"$(uname -n)"_*) ;;
	*) fail 'the Lease does not say who holds it' ;;
	esac
}

only_the_leader_writes() {
	mark
	drift &
	DRIFT_PID=$!
	wait_until 20 has_written truce
	sleep 3
	assert_eq 0 "$(audit_count --user operator --verb "$WRITES" --since "$MARK")" 'writes of the one that stands by'
}

a_clean_end_hands_over() {
	local from status=0
	mark
	from=$(date +%s.%N)
	kill -TERM "${PIDS[truce]}"
	wait_until 60 has_written operator
	took 'SIGTERM' operator "$from"
	assert_eq 0 "$(lists_of operator)" 'LISTs of kinds that it had watched already'
	wait "${PIDS[truce]}" || status=$?
	assert_eq 0 "$status" 'exit status after SIGTERM'
	one_says truce 'the Lease is free for others' || fail 'it did not give the Lease away'
	mark
	one_starts truce
	wait_until 30 stands_by truce
	sleep 2
	assert_eq 0 "$(audit_count --user truce --verb "$WRITES" --since "$MARK")" 'writes of the one that came back'
}

one_that_was_killed_is_followed() {
	local from
	mark
	from=$(date +%s.%N)
	kill -KILL "${PIDS[operator]}"
	wait "${PIDS[operator]}" 2>/dev/null || true
	wait_until 60 has_written truce
	took 'SIGKILL' truce "$from"
	one_starts operator
	wait_until 30 stands_by operator
}

# is_quiet USER: what it had under way has been answered; the mark is behind it.
is_quiet() {
	mark
	sleep 1
	[ "$(audit_count --user "$1" --verb "$WRITES" --since "$MARK")" = 0 ]
}

# What it has read of the API server and not looked at yet, and what it had under way, is all there when it goes on.
one_that_stood_still_writes_nothing() {
	local from status=0
	wait_until 20 has_written truce
	from=$(date +%s.%N)
	kill -STOP "${PIDS[truce]}"
	wait_until 10 is_quiet truce
	wait_until 60 has_written operator
	took 'SIGSTOP' operator "$from"
	while [ "$(python3 -c "import time; print(int(time.time() - $from))")" -lt 20 ]; do
		sleep 0.5
	done
	kill -CONT "${PIDS[truce]}"
	wait "${PIDS[truce]}" || status=$?
	assert_eq 2 "$status" 'exit status of one that lost its Lease'
	one_says truce 'this truce does not lead any more and ends' || fail 'it does not say why it ended'
	sleep 1
	assert_eq 0 "$(audit_count --user truce --verb "$WRITES" --since "$MARK")" 'writes of the one that stood still'
	times+="  $(grep -o 'why=.*' "${LOGS[truce]}")"$'\n'
}

print_hand_overs() {
	printf 'hand-over, from the signal:\n%s' "$times"
}

all_end() {
	local status=$? user
	[ -z "$DRIFT_PID" ] || kill "$DRIFT_PID" 2>/dev/null || true
	for user in "${!PIDS[@]}"; do
		kill -KILL "${PIDS[$user]}" 2>/dev/null || true
		wait "${PIDS[$user]}" 2>/dev/null || true
		if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
			printf -- '--- %s\n' "$user" >&2
			tail -n 20 "${LOGS[$user]}" >&2
		fi
	done
	truce_end "$status"
}

cluster_begin
cluster_needs own
truce_begin leader
trap all_end EXIT
LOGS=([truce]=$WORK/truce.log [operator]=$WORK/operator.log)
PORTS=([truce]=$(free_port) [operator]=$(free_port))
CONFIGS=([truce]=$TRUCE_TEST_KUBECONFIG_TRUCE [operator]=$TRUCE_TEST_KUBECONFIG_OPERATOR)
put flags.yaml <<-'YAML'
	apiVersion: v1
	kind: ConfigMap
	metadata: {name: flags}
	data: {dark: "on"}
YAML
commit 'some flags'
run_cases one_leads_and_the_other_is_ready only_the_leader_writes a_clean_end_hands_over one_that_was_killed_is_followed \
	one_that_stood_still_writes_nothing print_hand_overs

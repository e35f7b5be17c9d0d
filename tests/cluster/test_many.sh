#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 300 objects of 25 kinds, with every shape that differs from the live object and changes nothing (many_objects.sh): what
# a converged agent costs, running, restarted and as a single sync. TRUCE_LONG=1: 70 s of silence instead of 20.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

QUIET=$([ -n "${TRUCE_LONG-}" ] && echo 70 || echo 20)
OBJECTS=300
KINDS=25

# The value of a figure in the newest "synced" line of the log.
figure() {
	grep 'msg="synced"' "$LOG" | tail -n 1 | sed "s/.* $1=\([0-9]*\).*/\1/"
}

requests_table() {
	cluster audit --user truce --since "$MARK" --by verb,resource
}

# What may be asked when there is nothing to do: discovery, key, inventory, one LIST a kind, and the watches.
asked_only_what_it_must() {
	local lists=$((KINDS + 1))
	# Where sets of groups are served the agent looks whether one of them is its own.
	kc admin get crd leaderworkersets.leaderworkerset.x-k8s.io >/dev/null 2>&1 && lists=$((lists + 1))
	assert_eq 0 "$(truce_writes)" "writes of $1"
	assert_eq 0 "$(truce_dry_runs)" "dry-runs of $1"
	assert_eq "$lists" "$(truce_requests --verb list)" "lists of $1 (each kind and the inventory)"
	assert_eq 0 "$(requests_table | grep -c 'list.*[2-9]$' || true)" "kinds listed more than once by $1"
	assert_eq 3 "$(truce_requests --verb get)" "reads of $1 (two of discovery, the key)"
	printf '# %s: %s lists, 3 reads, %s watches, 0 writes, 0 dry-runs\n' "$1" "$lists" "$(truce_requests --verb watch)"
}

everything_converges() {
	local kinds
	"$cluster_source/many_objects.sh" "$REPO/deploy" "$NS" $$
	cluster_namespaces+=("$NS-more")
	kinds=$(cat "$REPO"/deploy/*.yaml | grep '^kind:' | sort -u | wc -l)
	assert_eq "$KINDS" "$kinds" 'kinds in the repository'
	commit '300 objects'
	agent_start
	agent_waits 120 'msg="synced"'
	assert_eq "$OBJECTS" "$(figure synced)" 'objects synced'
	printf '# %s objects of %s kinds, first sync: %s requests\n' "$OBJECTS" "$kinds" "$(figure requests)"
	truce diff
	assert_eq 0 "$RC" 'exit status of diff when converged'
	says "$OBJECTS same"
}

a_converged_daemon_asks_nothing() {
	# Controllers still write status for a while.
	health_rests
	mark
	sleep "$QUIET"
	assert_eq 0 "$(truce_requests --verb get,list,create,update,patch,delete)" "requests of a converged daemon in $QUIET s"
	printf '# %s s converged: 0 requests\n' "$QUIET"
}

a_restart_costs_lists_and_watches() {
	agent_stop
	mark
	agent_start
	agent_waits 60 'msg="synced"'
	sleep 1
	asked_only_what_it_must 'a restarted daemon'
	assert_eq "$OBJECTS" "$(figure by_fingerprint)" 'objects known by their fingerprint'
	agent_stop
}

a_sync_again_costs_the_same() {
	mark
	truce_ok sync
	says '0 changed, 0 writes, 0 requests'
	asked_only_what_it_must 'a second sync'
}

# The stored fingerprints taken away: what is left to decide without a request is the proof.
the_proof_decides_what_it_can() {
	local name proven
	name=$(kc admin get configmap -n "$NS-truce" -l truce.dev/inventory -o name)
	kc admin get "$name" -n "$NS-truce" -o 'jsonpath={.data.objects}' |
		awk 'BEGIN { FS = OFS = "\t" } NR > 1 { $4 = "-" } { print }' >"$WORK/objects"
	kc admin create configmap x --from-file=objects="$WORK/objects" --dry-run=client -o json |
		sed -n '/"data"/,/^    }/p' | sed '1s/^/{/; $s/,\{0,1\}$/}/' >"$WORK/patch.json"
	kc admin patch "$name" -n "$NS-truce" --type merge --patch-file "$WORK/patch.json" >/dev/null
	mark
	agent_start --log-level debug
	agent_waits 60 'msg="synced"'
	agent_stop
	proven=$(figure by_proof)
	printf '# without fingerprints: the proof decides %s of %s objects (%s %%), %s cost a request\n' "$proven" "$OBJECTS" \
		$((proven * 100 / OBJECTS)) $((OBJECTS - proven))
	printf '# why the others are asked for:\n'
	grep 'msg="apply"' "$LOG" | sed 's/.*obj=\([^/]*\)\/\([^/]*\)\/.*because="\{0,1\}/# \2 /; s/"$//' | sort | uniq -c | sort -rn
	# Hardly an object here is without a shape made to defeat it.
	[ $((proven * 100 / OBJECTS)) -ge 30 ] || fail "the proof decides only $proven of $OBJECTS objects"
	assert_eq 0 "$(kc admin get deployment -n "$NS" -o 'jsonpath={range .items[*]}{.metadata.generation}{"\n"}{end}' |
		grep -vc '^1$' || true)" 'Deployments that changed'
	mark
	agent_start
	agent_waits 60 'msg="synced"'
	agent_stop
	assert_eq "$OBJECTS" "$(figure by_fingerprint)" 'objects known by their fingerprint again'
	assert_eq 0 "$(truce_writes)" 'writes with fingerprints again'
}

all_of_it_can_go() {
	rm -r "$REPO/deploy"
	put README.md <<<'nothing'
	commit 'nothing'
	truce sync --allow-empty
	assert_eq 1 "$RC" 'exit status of a sync over budget'
	says "$OBJECTS of $OBJECTS objects would go"
	truce_ok sync --allow-empty --prune-limit "$OBJECTS" --timeout 120s
	assert_eq '' "$(kc admin get deployments,statefulsets,services,roles,ingresses -n "$NS" -o name)" 'what is left'
}

cluster_begin
cluster_needs own
truce_begin many
run_cases everything_converges a_converged_daemon_asks_nothing a_restart_costs_lists_and_watches \
	a_sync_again_costs_the_same the_proof_decides_what_it_can all_of_it_can_go

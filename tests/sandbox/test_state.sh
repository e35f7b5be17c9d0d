#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The file of `truce sandbox --state`: what is in it after a change, after a sudden end, and when it cannot be written.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"

maps=/api/v1/namespaces/default/configmaps

# refused FLAG…: it does not start.
refused() {
	RC=0
	OUT=$(timeout 20 "$TRUCE" sandbox --kubeconfig "$WORK/other" "$@" 2>&1) || RC=$?
	[ ! -e "$WORK/other" ] || fail 'a kubeconfig was written all the same'
}

post() {
	api POST "$maps" "{\"metadata\":{\"name\":\"$1\"}}"
	assert_eq 201 "$CODE"
}

# A sudden end, as by a machine that is switched off.
sandbox_kill() {
	kill -KILL "$SANDBOX_PID"
	wait "$SANDBOX_PID" 2>/dev/null || true
	SANDBOX_PID=
}

state_is_kept_in_a_file() {
	sandbox_start --state "$WORK/state" --user jane
	api POST "$maps" '{"metadata":{"name":"kept"},"data":{"k":"v"}}'
	assert_eq 201 "$CODE"
	wait_until 20 grep -q '"kept"' "$WORK/state"
	api POST "$maps" '{"metadata":{"name":"late"}}'
	sandbox_end
	sandbox_start --state "$WORK/state"
	assert_eq v "$(got "$maps/kept" data.k)"
	assert_eq late "$(got "$maps/late" metadata.name)"
	sandbox_end
}

a_state_belongs_to_one_process() {
	sandbox_start --state "$WORK/state"
	refused --state "$WORK/state"
	assert_eq 2 "$RC"
	[[ $OUT == *'is in use by another truce sandbox'* ]] || fail "the reason is missing: $OUT"
	sandbox_kill
	sandbox_start --state "$WORK/state" # a sudden end leaves nothing that has to be taken away by hand
	sandbox_end
	[ ! -e "$WORK/state.lock" ] || fail 'the lock is still there'
}

a_bad_state_is_named_and_left_alone() {
	head -c 3000 "$WORK/state" >"$WORK/short"
	cp "$WORK/short" "$WORK/before"
	refused --state "$WORK/short"
	assert_eq 2 "$RC"
	[[ $OUT == *"$WORK/short"*damaged* ]] || fail "the reason is missing: $OUT"
	cmp "$WORK/short" "$WORK/before"
	refused --state "$WORK"
	[[ $OUT == *"$WORK"* ]] || fail "the reason is missing: $OUT"
	mkfifo "$WORK/pipe"
	refused --state "$WORK/pipe"
	[[ $OUT == *'is no plain file'* ]] || fail "the reason is missing: $OUT"
	refused --state /dev/zero
	[[ $OUT == *'is no plain file'* ]] || fail "the reason is missing: $OUT"
	printf '{"format":2,"more":[]}\n' >"$WORK/newer"
	refused --state "$WORK/newer"
	[[ $OUT == *'has format 2'* ]] || fail "the reason is missing: $OUT"
	assert_eq '{"format":2,"more":[]}' "$(<"$WORK/newer")"
	refused --state "$WORK/none/state"
	[[ $OUT == *"$WORK/none/state"* ]] || fail "the reason is missing: $OUT"
}

a_state_is_for_its_owner_only() {
	install -m 666 /dev/null "$WORK/mode.new" # left behind by a sudden end
	sandbox_start --state "$WORK/mode"
	assert_eq 600 "$(stat -c %a "$WORK/mode")"
	sandbox_end
}

a_state_behind_a_link_stays_there() {
	mkdir "$WORK/there"
	sandbox_start --state "$WORK/there/state"
	post linked
	sandbox_end
	ln -s there/state "$WORK/link"
	sandbox_start --state "$WORK/link"
	refused --state "$WORK/there/state"
	[[ $OUT == *'is in use by another truce sandbox'* ]] || fail "the reason is missing: $OUT"
	post more
	sandbox_end
	[ -L "$WORK/link" ] || fail 'the link was replaced'
	grep -q '"more"' "$WORK/there/state"
}

# A folder where the new file is to be stands for a full disk.
what_cannot_be_written_is_told_and_tried_again() {
	sandbox_start --state "$WORK/full"
	mkdir "$WORK/full.new"
	post first
	wait_until 20 grep -q 'tried again until it works: cannot write' "$WORK/sandbox.log"
	post second
	assert_eq first "$(got "$maps/first" metadata.name)"
	rmdir "$WORK/full.new"
	wait_until 20 grep -q '"second"' "$WORK/full" # without another change
	wait_until 20 grep -q 'is written again' "$WORK/sandbox.log"
	assert_eq 1 "$(grep -c 'cannot write' "$WORK/sandbox.log")"
	sandbox_end
}

what_is_lost_at_the_end_is_told() {
	local status=0
	sandbox_start --state "$WORK/full"
	mkdir "$WORK/full.new"
	post third
	wait_until 20 grep -q 'cannot write' "$WORK/sandbox.log"
	kill -TERM "$SANDBOX_PID"
	wait "$SANDBOX_PID" || status=$?
	SANDBOX_PID=
	rmdir "$WORK/full.new"
	assert_eq 2 "$status"
	grep -q 'the last changes are lost: cannot write' "$WORK/sandbox.log"
	grep -q '"second"' "$WORK/full"
}

# How many of the objects n1, n2 … are in standard input.
count_of() {
	grep -o '"name":"n[0-9]*"' | sort -u | wc -l
}

# What was written before a change is there in full, and nothing that came after one that is missing.
after_any_sudden_end_there_is_a_state() {
	local round i n before found
	rm -f "$WORK/killed"
	for round in $(seq 12); do
		sandbox_start --state "$WORK/killed"
		api GET "$maps?labelSelector=round"
		found=$(count_of <<<"$BODY" || true)
		[ "$found" -ge "${before:-0}" ] || fail "round $round: $before were in the file, $found came back"
		for i in $(seq "$found"); do
			[[ $BODY == *"\"n$i\""* ]] || fail "round $round: n$i is missing, and later ones are there"
		done
		for n in $(seq $((found + 1)) $((found + 5 * round))); do
			api POST "$maps" "{\"metadata\":{\"name\":\"n$n\",\"labels\":{\"round\":\"$round\"}}}"
			assert_eq 201 "$CODE"
		done
		[ $((round % 3)) -ne 0 ] || wait_until 20 grep -q "\"n$n\"" "$WORK/killed"
		before=$(count_of <"$WORK/killed" || true)
		sandbox_kill
	done
	[ "$before" -gt 0 ] || fail 'nothing was ever written'
}

who_ends_it_while_it_loads_is_heard() {
	printf 'apiVersion: none.example/v1\nkind: None\nmetadata: {name: waits}\n' >"$WORK/none.yaml"
	RC=0
	"$TRUCE" sandbox --kubeconfig "$WORK/other" --state "$WORK/loading" --load "$WORK/none.yaml" >"$WORK/out" 2>&1 &
	SANDBOX_PID=$!
	wait_until 20 test -s "$WORK/loading"
	kill -TERM "$SANDBOX_PID"
	wait "$SANDBOX_PID" || RC=$?
	SANDBOX_PID=
	assert_eq 2 "$RC"
	grep -q 'interrupted' "$WORK/out"
}

run_cases state_is_kept_in_a_file a_state_belongs_to_one_process a_bad_state_is_named_and_left_alone \
	a_state_is_for_its_owner_only a_state_behind_a_link_stays_there what_cannot_be_written_is_told_and_tried_again \
	what_is_lost_at_the_end_is_told after_any_sudden_end_there_is_a_state who_ends_it_while_it_loads_is_heard

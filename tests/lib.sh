# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What shell tests share, whatever they run against: cluster/lib.sh and sandbox/lib.sh source it.
#
#   fail TEXT…                 ends the test
#   assert_eq WANT GOT [WHAT]  compares two strings
#   wait_until SECONDS CMD…    until CMD succeeds; fails after PATIENCE times as long with a line that says what
#   run_cases FUNCTION…        runs each, prints one line for each; $test_case is the one that runs
#   says TEXT                  $OUT holds it
#
# The program on a repository ($REPO, made by repo_begin in $WORK); whoever sources this has truce_flags print the flags
# that every call gets, one a line:
#   put FILE                   standard input becomes $REPO/deploy/FILE
#   commit SUBJECT             commits all of $REPO
#   truce VERB [FLAG…]         $OUT gets what it prints, $RC the exit status; truce_ok: which must be 0
#   agent_start [FLAG…]        `truce run` in the background, $LOG is its log; agent_stop ends it, agent_kill kills it
#   agent_waits SECONDS TEXT   until the log has a line with TEXT after the last agent_mark
#   agent_mark                 remembers where the log ends

: "${TRUCE_BUILD_DIR:=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/debug}"
TRUCE=${TRUCE:-$TRUCE_BUILD_DIR/src/truce}
PATIENCE=3 # a wait says what an idle machine needs; a busy one takes longer
AGENT_PID=
LOG_FROM=1
OUT=
RC=0
test_case=

fail() {
	printf 'FAILED: %s\n' "$*" >&2
	exit 1
}

assert_eq() {
	[ "$1" = "$2" ] || fail "${3:-values differ}: want '$1', got '$2'"
}

wait_until() {
	local seconds=$(($1 * PATIENCE)) end
	shift
	end=$((SECONDS + seconds))
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || fail "not within $seconds s: $*"
		sleep 0.1
	done
}

run_cases() {
	for test_case in "$@"; do
		"$test_case"
		printf 'ok - %s\n' "$test_case"
	done
	test_case=
}

says() {
	case $OUT in
	*"$1"*) ;;
	*) fail "the output lacks: $1" ;;
	esac
}

# repo_begin PREFIX: $WORK, a new folder, with an empty repository in it.
repo_begin() {
	[ -x "$TRUCE" ] || fail "there is no $TRUCE: build first"
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/truce-$1.XXXXXX")
	REPO=$WORK/repo
	LOG=$WORK/run.log
	git init -q -b main "$REPO"
	git -C "$REPO" config user.name test
	git -C "$REPO" config user.email test@example.invalid
	mkdir "$REPO/deploy"
}

put() {
	mkdir -p "$(dirname "$REPO/deploy/$1")"
	cat >"$REPO/deploy/$1"
}

commit() {
	git -C "$REPO" add -A
	git -C "$REPO" commit -q --allow-empty -m "$1"
}

truce() {
	local verb=$1 flags
	shift
	mapfile -t flags < <(truce_flags)
	RC=0
	OUT=$("$TRUCE" "$verb" "${flags[@]}" "$@" 2>&1) || RC=$?
}

truce_ok() {
	truce "$@"
	[ "$RC" -eq 0 ] || fail "truce $* ended with $RC"
}

agent_start() {
	local flags
	mapfile -t flags < <(truce_flags)
	: >"$LOG"
	LOG_FROM=1
	"$TRUCE" run "${flags[@]}" --poll-interval 1s "$@" >"$LOG" 2>&1 &
	AGENT_PID=$!
}

agent_stop() {
	local status=0
	kill -TERM "$AGENT_PID"
	wait "$AGENT_PID" || status=$?
	AGENT_PID=
	assert_eq 0 "$status" 'exit status of truce run after SIGTERM'
}

agent_kill() {
	kill -KILL "$AGENT_PID"
	wait "$AGENT_PID" 2>/dev/null || true
	AGENT_PID=
}

agent_mark() {
	LOG_FROM=$(($(wc -l <"$LOG") + 1))
}

log_has() {
	tail -n "+$LOG_FROM" "$LOG" | grep -F -- "$1" >/dev/null
}

agent_waits() {
	wait_until "$1" log_has "$2"
}

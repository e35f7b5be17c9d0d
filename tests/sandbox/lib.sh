# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For shell tests against `truce sandbox`: no cluster, no kubectl. Source it, call sandbox_begin, then work.
#
#   sandbox_begin [FLAG…]      starts a sandbox ($KUBECONFIG, $API its URL with the token); it ends with the script
#   sandbox_end                ends it with SIGTERM; it must end with 0
#   sandbox_start [FLAG…]      again, with other flags
#   api METHOD PATH [BODY [TYPE]]   one request; $BODY gets the answer, $CODE the status
#   field PATH                 a value of $BODY: metadata.labels.app, items.0.kind
#   got PATH FIELD             the same of a GET
#   put FILE, commit SUBJECT   standard input becomes $REPO/deploy/FILE; commits all of $REPO
#   truce VERB [FLAG…]         on that repository; $OUT gets what it prints, $RC the exit status
#   agent_start [FLAG…]        `truce run` in the background, its log is $LOG
#   wait_until SECONDS CMD…, assert_eq WANT GOT [WHAT], run_cases FUNCTION…
set -euo pipefail

: "${TRUCE_BUILD_DIR:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/debug}"
TRUCE=${TRUCE:-$TRUCE_BUILD_DIR/src/truce}
WORK=$(mktemp -d "${TMPDIR:-/tmp}/truce-sandbox.XXXXXX")
REPO=$WORK/repo
LOG=$WORK/run.log
NS=shop
SANDBOX_PID=
AGENT_PID=
BODY=
CODE=
OUT=
RC=0
sandbox_case=
trap sandbox_cleanup EXIT

fail() {
	printf 'FAILED: %s\n' "$*" >&2
	exit 1
}

assert_eq() {
	[ "$1" = "$2" ] || fail "${3:-values differ}: want '$1', got '$2'"
}

wait_until() {
	local seconds=$1 end
	shift
	end=$((SECONDS + seconds))
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || fail "not within $seconds s: $*"
		sleep 0.1
	done
}

run_cases() {
	for sandbox_case in "$@"; do
		"$sandbox_case"
		printf 'ok - %s\n' "$sandbox_case"
	done
	sandbox_case=
}

sandbox_cleanup() {
	local status=$?
	if [ "$status" -ne 0 ]; then
		[ -z "$sandbox_case" ] || printf 'not ok - %s\n' "$sandbox_case"
		printf '%s\n' "$CODE $BODY" "$OUT" >&2
		[ ! -s "$LOG" ] || tail -n 40 "$LOG" >&2
		[ ! -s "$WORK/sandbox.log" ] || tail -n 20 "$WORK/sandbox.log" >&2
	fi
	[ -z "$AGENT_PID" ] || kill -KILL "$AGENT_PID" 2>/dev/null || true
	[ -z "$SANDBOX_PID" ] || kill -KILL "$SANDBOX_PID" 2>/dev/null || true
	wait 2>/dev/null
	rm -rf "$WORK"
	exit "$status"
}

sandbox_start() {
	export KUBECONFIG=$WORK/kubeconfig
	rm -f "$KUBECONFIG"
	"$TRUCE" sandbox --kubeconfig "$KUBECONFIG" "$@" >"$WORK/sandbox.log" 2>&1 &
	SANDBOX_PID=$!
	wait_until 20 test -s "$KUBECONFIG"
	API=$(sed -n 's/.*"name": "truce-sandbox", "cluster": {"server": "\([^"]*\)".*/\1/p' "$KUBECONFIG")
}

sandbox_begin() {
	[ -x "$TRUCE" ] || fail "there is no $TRUCE: build first"
	git init -q -b main "$REPO"
	git -C "$REPO" config user.name test
	git -C "$REPO" config user.email test@example.invalid
	mkdir "$REPO/deploy"
	sandbox_start "$@"
}

sandbox_end() {
	local status=0
	kill -TERM "$SANDBOX_PID"
	wait "$SANDBOX_PID" || status=$?
	SANDBOX_PID=
	assert_eq 0 "$status" 'exit status of truce sandbox after SIGTERM'
}

api() {
	local method=$1 path=$2 body=${3-} type=${4:-application/json}
	local flags=(-s -X "$method" -o "$WORK/body" -w '%{http_code}')
	[ -z "$body" ] || flags+=(-H "Content-Type: $type" --data-binary "$body")
	CODE=$(curl "${flags[@]}" "$API$path")
	BODY=$(<"$WORK/body")
}

field() {
	printf '%s' "$BODY" | python3 -c '
import json, sys
v = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    v = v[int(key)] if isinstance(v, list) else v.get(key) if isinstance(v, dict) else None
    if v is None:
        sys.exit()
print(v if isinstance(v, str) else json.dumps(v))' "$1"
}

got() {
	api GET "$1"
	field "$2"
}

is() {
	[ "$(got "$1" "$2")" = "$3" ]
}

is_gone() {
	api GET "$1"
	[ "$CODE" = 404 ]
}

put() {
	mkdir -p "$(dirname "$REPO/deploy/$1")"
	cat >"$REPO/deploy/$1"
}

commit() {
	git -C "$REPO" add -A
	git -C "$REPO" commit -q --allow-empty -m "$1"
}

truce_flags() {
	printf '%s\n' --kubeconfig "$KUBECONFIG" --repo "$REPO" --path deploy --namespace "$NS" --name shop \
		--agent-namespace truce --data-dir "$WORK/data"
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

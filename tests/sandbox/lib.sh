# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For shell tests against `truce sandbox`: no cluster, no kubectl. Source it, call sandbox_start, then work.
#
#   sandbox_start [FLAG…]      starts a sandbox ($KUBECONFIG, $API its URL with the token); it ends with the script
#   sandbox_end                ends it with SIGTERM; it must end with 0
#   api METHOD PATH [BODY [TYPE]]   one request; $BODY gets the answer, $CODE the status
#   field PATH                 a value of $BODY: metadata.labels.app, items.0.kind
#   got PATH FIELD             the same of a GET
# ../lib.sh comes with it: put, commit, truce, agent_start … on that sandbox.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
repo_begin sandbox
NS=shop
SANDBOX_PID=
BODY=
CODE=
trap sandbox_cleanup EXIT

sandbox_cleanup() {
	local status=$?
	if [ "$status" -ne 0 ]; then
		[ -z "$test_case" ] || printf 'not ok - %s\n' "$test_case"
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

truce_flags() {
	printf '%s\n' --kubeconfig "$KUBECONFIG" --repo "$REPO" --path deploy --namespace "$NS" --name shop \
		--agent-namespace truce --data-dir "$WORK/data"
}

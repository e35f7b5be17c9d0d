# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For tests of the program itself on a real API server: source it after lib.sh and cluster_begin.
#
#   truce_begin NAME           a work folder, a repository ($REPO) and a namespace ($NS); truce's own namespace is
#                              $NS-truce, so tests on one cluster do not meet
#   put FILE                   standard input becomes $REPO/deploy/FILE
#   commit SUBJECT             commits all of $REPO
#   truce VERB [FLAG…]         as user truce, on that repository, $OUT gets what it prints; the exit status is $RC
#   agent_start [FLAG…]        `truce run` in the background, $LOG is its log; agent_stop ends it, agent_kill kills it
#   agent_waits SECONDS TEXT   until the log has a line with TEXT after the last agent_mark
#   agent_mark                 remembers where the log ends
#   truce_requests FILTER…     requests of user truce since the last mark, watches and reads of the mark not counted
#   truce_writes               of those, what is neither read nor dry-run; truce_dry_runs
#   mark                       remembers where the audit log ends
#   truce_lists                LISTs of user truce since the last mark, whatever their pages
#   serve_repo                 $REPO over HTTP at $URL, until the test ends; free_port prints a port
#   got RESOURCE NAME PATH     a jsonpath of a live object in $NS

: "${TRUCE_BUILD_DIR:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/debug}"
TRUCE=${TRUCE:-$TRUCE_BUILD_DIR/src/truce}
AGENT_PID=
LOG_FROM=1
MARK=
OUT=
RC=0

truce_begin() {
	[ -x "$TRUCE" ] || fail "there is no $TRUCE: build first"
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/truce-test.XXXXXX")
	REPO=$WORK/repo
	LOG=$WORK/run.log
	trap truce_end EXIT
	git init -q -b main "$REPO"
	git -C "$REPO" config user.name test
	git -C "$REPO" config user.email test@example.invalid
	mkdir "$REPO/deploy"
	new_namespace "$1"
	cluster_namespaces+=("$NS-truce")
}

# truce_end [STATUS]: ends what this library began, then what lib.sh did, as cluster_end does.
truce_end() {
	local status=${1-$?}
	if [ -n "$AGENT_PID" ]; then
		kill -KILL "$AGENT_PID" 2>/dev/null || true
		wait "$AGENT_PID" 2>/dev/null || true
	fi
	if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
		[ ! -s "$LOG" ] || tail -n 40 "$LOG" >&2
		[ -z "$OUT" ] || printf '%s\n' "$OUT" >&2
	fi
	jobs -p | xargs -r kill 2>/dev/null || true
	rm -rf "$WORK"
	cluster_end "$status"
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
	printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --repo "$REPO" --path deploy --namespace "$NS" --name shop \
		--agent-namespace "$NS-truce" --data-dir "$WORK/data"
}

truce() {
	local verb=$1 flags
	shift
	mapfile -t flags < <(truce_flags)
	RC=0
	OUT=$("$TRUCE" "$verb" "${flags[@]}" "$@" 2>&1) || RC=$?
}

# truce_ok VERB…: as truce, and it must end with 0.
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

mark() {
	MARK=$(cluster audit --mark)
}

truce_requests() {
	audit_count --user truce --since "$MARK" "$@"
}

truce_dry_runs() {
	cluster audit --user truce --since "$MARK" --verb patch --lines | grep -c 'dryRun=All' || true
}

# Everything that is neither a watch nor a read nor a dry-run.
truce_writes() {
	local verb sum=0
	for verb in create update patch delete; do
		sum=$((sum + $(truce_requests --verb "$verb")))
	done
	printf '%s\n' "$((sum - $(truce_dry_runs)))"
}

# Lists begun since the mark: later pages are not counted.
truce_lists() {
	cluster audit --lines --user truce --verb list --since "$MARK" | grep -cv 'continue=' || true
}

got() {
	kc admin get "$1" "$2" -n "$NS" -o "jsonpath=$3"
}

exists() {
	kc admin get "$1" "$2" -n "$NS" >/dev/null 2>&1
}

is_gone() {
	! exists "$1" "$2"
}

says() {
	case $OUT in
	*"$1"*) ;;
	*) fail "the output lacks: $1" ;;
	esac
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

repo_is_served() {
	curl -fs "$URL/info/refs?service=git-upload-pack" | grep -a 'service=git-upload-pack'
}

# $REPO over HTTP, from a real Git server: $URL. When root runs it, Python runs its scripts as nobody, who cannot stay in
# a folder below /root.
serve_repo() {
	local port
	mkdir -p "$WORK/web/cgi-bin"
	cat >"$WORK/web/cgi-bin/git" <<-SH
		#!/bin/sh
		cd '$WORK' || exit 1
		export GIT_PROJECT_ROOT='$WORK' GIT_HTTP_EXPORT_ALL=1
		export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
		exec git http-backend
	SH
	chmod 755 "$WORK" "$WORK/web/cgi-bin/git"
	port=$(free_port)
	python3 -m http.server --cgi --bind 127.0.0.1 --directory "$WORK/web" "$port" >"$WORK/web.log" 2>&1 &
	URL=http://127.0.0.1:$port/cgi-bin/git/repo/.git
	wait_until 10 repo_is_served
}

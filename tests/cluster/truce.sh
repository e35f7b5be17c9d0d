# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For tests of the program itself on a real API server: source it after lib.sh and cluster_begin.
#
#   truce_begin NAME           a work folder, a repository ($REPO) and a namespace ($NS); truce's own namespace is
#                              $NS-truce, so tests on one cluster do not meet
#                              (put, commit, truce, agent_start … are in ../lib.sh; here as user truce)
#   truce_requests FILTER…     requests of user truce since the last mark, watches and reads of the mark not counted
#   truce_writes               of those, what is neither read nor dry-run; truce_dry_runs
#   truce_object_writes        of those, what is not about truce's own inventory and status
#   mark                       remembers where the audit log ends
#   truce_lists                LISTs of user truce since the last mark, whatever their pages
#   serve_repo                 $REPO over HTTP at $URL, until the test ends; free_port prints a port
#   health_rests               waits until what is stored of health stays: an agent stores it seconds after it has changed
#   got RESOURCE NAME PATH     a jsonpath of a live object in $NS
#   as_edited SED-SCRIPT RESOURCE NAME
#                              `kubectl edit` of a person whose editor is sed
#   healed WHAT ID             waits until the log says so, and keeps the time; print_times, a last case, prints them

MARK=
heal_times=

truce_begin() {
	repo_begin test
	trap truce_end EXIT
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

truce_flags() {
	printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --repo "$REPO" --path deploy --namespace "$NS" --name shop \
		--agent-namespace "$NS-truce" --data-dir "$WORK/data"
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
	cluster audit --user truce --since "$MARK" --verb create,update,patch,delete --lines | grep -cv 'dryRun=All' || true
}

# In one look: between two a status may be stored.
truce_object_writes() {
	cluster audit --user truce --since "$MARK" --verb create,update,patch,delete --lines |
		grep -cv -e 'dryRun=All' -e "\"objectRef\":{[^}]*\"namespace\":\"$NS-truce\"" || true
}

# Lists begun since the mark: later pages are not counted.
truce_lists() {
	cluster audit --lines --user truce --verb list --since "$MARK" | grep -cv 'continue=' || true
}

stored_statuses() {
	kc admin get configmap -n "$NS-truce" -l truce.dev/inventory -o 'jsonpath={.items[*].data.status}'
}

health_rests() {
	local before now end=$((SECONDS + 60 * PATIENCE))
	now=$(stored_statuses)
	until [ "$now" = "${before-}" ]; do
		[ "$SECONDS" -lt "$end" ] || fail 'what is stored of health changes all the time'
		before=$now
		sleep 6
		now=$(stored_statuses)
	done
}

got() {
	kc admin get "$1" "$2" -n "$NS" -o "jsonpath=$3"
}

as_edited() {
	KUBE_EDITOR="sed -i $1" kc person edit "$2" "$3" -n "$NS" >/dev/null
}

healed() {
	local line
	agent_waits 30 "msg=\"healed\" obj=$2"
	line=$(tail -n "+$LOG_FROM" "$LOG" | grep -F "msg=\"healed\" obj=$2" | tail -n 1)
	line=${line##*after_ms=}
	heal_times+="$1: ${line%% *}"$'\n'
}

print_times() {
	printf 'from watch event to the end of the last write, ms:\n%s' "$heal_times"
}

exists() {
	kc admin get "$1" "$2" -n "$NS" >/dev/null 2>&1
}

is_gone() {
	! exists "$1" "$2"
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

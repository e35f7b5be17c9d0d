#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configurations as people write them (tests/cases/config, a folder each): `truce config check` says of each what its file
# `expected` holds, with the exit status in the last line. It needs no sandbox and no cluster.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
CASES=$(cd "$(dirname "${BASH_SOURCE[0]}")/../cases/config" && pwd)
AT_LEAST=12

# says_of FOLDER: what is printed, and how it ends.
says_of() {
	local status=0
	cd "$1"
	"$TRUCE" config check ./*.yaml 2>&1 || status=$?
	printf 'exit %s\n' "$status"
}

every_configuration_is_understood_as_expected() {
	local folder failed=0 count=0
	for folder in "$CASES"/*/; do
		count=$((count + 1))
		diff -u "$folder/expected" <(says_of "$folder") || failed=$((failed + 1))
	done
	printf '# %s configurations\n' "$count"
	[ "$count" -ge "$AT_LEAST" ] || fail "$count configurations, not $AT_LEAST"
	assert_eq 0 "$failed" 'configurations that are not understood as expected'
}

no_secret_is_in_any_of_it() {
	! grep -r 'not-a-real-one' "$CASES"/*/expected || fail 'an expected output holds a secret'
	grep -rq 'not-a-real-one' "$CASES"/*/*.yaml || fail 'no configuration holds a secret'
}

json_says_the_same() {
	local problems
	problems=$(cd "$CASES/private-repositories" && "$TRUCE" config check -o json ./*.yaml |
		python3 -c 'import json, sys; print(*sorted(p["severity"] for p in json.load(sys.stdin)["problems"]))') || true
	assert_eq 'notice refused refused' "$problems" 'problems in JSON'
}

what_is_no_file_is_told() {
	local status=0
	OUT=$("$TRUCE" config check /nowhere/at/all.yaml 2>&1) || status=$?
	assert_eq 2 "$status" 'exit status'
	says '/nowhere/at/all.yaml: No such file or directory'
	status=0
	OUT=$("$TRUCE" config chek x.yaml 2>&1) || status=$?
	assert_eq 2 "$status" 'exit status'
	says 'usage: truce config check FILE…'
}

# A pipeline that checks the wrong folder is told so.
where_there_is_no_document_is_told() {
	local status folder what
	folder=$(mktemp -d "${TMPDIR:-/tmp}/truce-config-XXXXXX")
	printf '# nothing\n---\n' >"$folder/comment.yaml"
	: >"$folder/empty.yaml"
	for what in "$folder" "$folder/comment.yaml" "$folder/empty.yaml"; do
		status=0
		OUT=$("$TRUCE" config check "$what" 2>&1) || status=$?
		assert_eq 2 "$status" "exit status of $what"
		says 'no document is there'
	done
	rm -r "$folder"
}

run_cases every_configuration_is_understood_as_expected no_secret_is_in_any_of_it json_says_the_same what_is_no_file_is_told \
	where_there_is_no_document_is_told

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The cases of tests/cases/ignore that have a sync.yaml, on a real API server: all at once, an application and a namespace
# each. ignore_cases.py is the runner; docs/testing.md says what a case is. IGNORE_CASES_DIR: another folder of cases;
# IGNORE_CASE: one of them alone.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

CASES=${IGNORE_CASES_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../cases/ignore" && pwd)}
RUNNER=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/ignore_cases.py
AT_LEAST=44

truce_flags() {
	printf '%s\n' --kubeconfig "$TRUCE_TEST_KUBECONFIG_TRUCE" --config "$WORK/etc" --data-dir "$WORK/data"
}

# runner STEP: of all cases, or of the one.
runner() {
	"$RUNNER" "$1" --cases "$CASES" --work "$WORK" --namespace "$NS" --url "$URL" \
		--yaml "$TRUCE_BUILD_DIR/tests/cluster/yaml_json" ${IGNORE_CASE:+--only "$IGNORE_CASE"}
}

make_namespaces() {
	local namespace
	runner namespaces >"$WORK/namespaces"
	[ -n "${IGNORE_CASES_DIR-}${IGNORE_CASE-}" ] || [ "$(wc -l <"$WORK/namespaces")" -ge "$AT_LEAST" ] ||
		fail "fewer than $AT_LEAST cases"
	while read -r namespace; do
		cluster_namespaces+=("$namespace")
		printf '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%s"}}\n' "$namespace"
	done <"$WORK/namespaces" | kc admin create -f - >/dev/null
}

git_made_them_and_others_wrote_to_them() {
	serve_repo
	make_namespaces
	runner definitions | kc admin apply -f - >/dev/null
	runner before
	commit 'before'
	truce_ok sync --wait=applied
	runner writes | while read -r user args; do
		eval "kc $user $args" >/dev/null
	done
}

# $WORK/diff
look() {
	local flags
	mapfile -t flags < <(truce_flags)
	RC=0
	"$TRUCE" diff "${flags[@]}" -o json >"$WORK/diff" 2>"$LOG" || RC=$?
	[ "$RC" -le 1 ] || fail "truce diff ended with $RC"
}

the_diff_is_as_the_cases_say() {
	runner desired
	commit 'desired'
	look
	runner check-diff
}

the_sync_leaves_what_the_cases_say() {
	mark
	truce_ok sync --wait=applied
	cluster audit --lines --user truce --since "$MARK" >"$WORK/audit"
	# shellcheck disable=SC2046
	kc admin get $(runner kinds) -A -o json --show-managed-fields >"$WORK/live"
	runner check-live
}

# Whatever is still Git's and not the cluster's stays so without a word and without a write.
then_nothing_is_left_to_do() {
	look
	runner check-no-diff
	mark
	truce_ok sync --wait=applied
	assert_eq 0 "$(truce_object_writes)" 'writes of a second sync'
}

cluster_begin
cluster_needs own
truce_begin ignore-cases
run_cases git_made_them_and_others_wrote_to_them the_diff_is_as_the_cases_say the_sync_leaves_what_the_cases_say \
	then_nothing_is_left_to_do

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/testing, as docs/testing.md shows it: it passes, and it fails for what a policy refuses and what is no field.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"
example=$(cd "$(dirname "$0")/../../examples/testing" && pwd)
export TRUCE

check() {
	RC=0
	OUT=$("$example/check.sh" "$@" 2>&1) || RC=$?
}

the_example_is_accepted_and_at_rest() {
	check
	assert_eq 0 "$RC"
	[[ $OUT == *'accepted, and at rest'* ]] || fail 'it does not say so'
}

what_a_policy_refuses_fails_the_check() {
	cp -R "$example/deploy" "$WORK/unowned"
	sed -i 's/labels: {owner: shop-team}/labels: {}/' "$WORK/unowned/web.yaml"
	check "$WORK/unowned"
	assert_eq 1 "$RC"
	[[ $OUT == *'says in its label owner whom to call'* ]] || fail 'the reason is missing'
}

what_the_server_refuses_fails_the_check() {
	cp -R "$example/deploy" "$WORK/wrong"
	sed -i 's/containerPort: 8080/containerPort: 80800/' "$WORK/wrong/web.yaml"
	check "$WORK/wrong"
	assert_eq 1 "$RC"
	[[ $OUT == *'must be between 1 and 65535'* ]] || fail 'the reason is missing'
}

what_cannot_be_checked_is_no_refusal() {
	check "$WORK/nowhere"
	assert_eq 2 "$RC"
	mkdir "$WORK/empty"
	check "$WORK/empty"
	assert_eq 2 "$RC"
	TRUCE=$WORK/no-truce check
	assert_eq 2 "$RC"
}

run_cases the_example_is_accepted_and_at_rest what_a_policy_refuses_fails_the_check \
	what_the_server_refuses_fails_the_check what_cannot_be_checked_is_no_refusal

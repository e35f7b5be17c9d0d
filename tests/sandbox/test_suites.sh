#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Suites of ignore rules: all of tests/cases/ignore are as they say, and `truce test` tells what is not. It needs no sandbox.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
CASES=$(cd "$(dirname "${BASH_SOURCE[0]}")/../cases/ignore" && pwd)
AT_LEAST=283
WORK=$(mktemp -d "${TMPDIR:-/tmp}/truce-suites-XXXXXX")
trap 'rm -rf "$WORK"' EXIT

every_case_is_as_it_says() {
	truce test "$CASES"
	grep -v '^ok - ' <<<"$OUT" || true
	assert_eq 0 "$RC" 'exit status'
	[ "$(grep -c '^ok - ' <<<"$OUT")" -ge "$AT_LEAST" ] || fail "fewer than $AT_LEAST cases"
}

# A copy of a case, to be spoilt.
copy() {
	rm -rf "$WORK/case"
	cp -r "$CASES/pointer-hides-only-its-field" "$WORK/case"
}

# spoilt FILE SED-SCRIPT TEXT: the case fails and says so.
spoilt() {
	copy
	sed -i "$2" "$WORK/case/$1"
	truce test "$WORK/case"
	assert_eq 1 "$RC" "exit status of a case with a spoilt $1"
	says "not ok - $WORK/case"
	says "$3"
	says '1 case, 1 failed'
}

what_is_not_as_expected_is_told() {
	spoilt expected.yaml 's/^differences:.*/differences: [.spec.paused]/' 'differences lacks .spec.paused'
	spoilt expected.yaml 's/^differences:.*/differences: []/' 'differences has .spec.template.spec.containers[name="web"].image'
	spoilt expected.yaml 's/^verdict:.*/verdict: nothing/' 'the verdict is apply, not nothing'
	spoilt expected.yaml 's/^sent:.*/sent: {spec: {replicas: 3}}/' 'sent is {'
	spoilt expected.yaml 's/^sent:.*/notSent: [\/spec\/replicas]/' '/spec/replicas is sent'
	spoilt expected.yaml 's/^verdict:.*/differs: false/' 'it differs: '
	spoilt expected.yaml 's/^verdict:.*/ignored: []/' 'ignored has .spec.replicas'
	spoilt expected.yaml 's/^verdict:.*/reported: [.spec.replicas]/' 'reported lacks .spec.replicas'
	spoilt expected.yaml 's/^verdict:.*/told: [something]/' 'nothing is told that holds "something"'
	spoilt rules.yaml 's/jsonPointers/jqPathExpressions/; s|/spec/replicas|.spec.paused|' 'differences has .spec.replicas'
}

what_cannot_be_read_is_told() {
	spoilt expected.yaml 's/^verdict:/verdikt:/' 'expected.yaml:4: unknown key verdikt'
	spoilt desired.yaml 's/^kind:.*//' 'desired.yaml: '
	spoilt live.yaml 's/^spec:/spec: [/' 'live.yaml: line '
	spoilt rules.yaml 's/jsonPointers/jsonPointer/' 'unknown key jsonPointer, did you mean jsonPointers?'
	spoilt rules.yaml 's|jsonPointers: .*\]|jqPathExpressions: [".["]|' 'does not compile'
	spoilt expected.yaml '$a\verdict: nothing' "the key 'verdict' is there twice, in lines "
	spoilt live.yaml '$a\kind: Other' "the key 'kind' is there twice, in lines "
	spoilt desired.yaml '$a\---\nkind: [' 'desired.yaml: '
	spoilt expected.yaml 's/^verdict:.*/verdict: "\\e[31mred"/' '\x1b[31mred'
	copy
	rm "$WORK/case/live.yaml"
	ln -s nowhere "$WORK/case/live.yaml"
	truce test "$WORK/case"
	assert_eq 1 "$RC" 'exit status of a case whose live object leads nowhere'
	says 'live.yaml: '
	copy
	rm "$WORK/case/expected.yaml"
	truce test "$WORK/case"
	assert_eq 1 "$RC" 'exit status of a case without expectations'
	says 'expected.yaml: there is none'
}

# A case must be able to fail.
what_expects_nothing_is_told() {
	local what
	for what in '' '# nothing' '{}' '[verdict]' 'verdict' 'about: this and that'; do
		copy
		printf '%s\n' "$what" >"$WORK/case/expected.yaml"
		truce test "$WORK/case"
		assert_eq 1 "$RC" "exit status of a case that expects '$what'"
		says 'expected.yaml: it '
	done
	for what in 'told: something' 'told: [null]' 'notSent: /spec/replicas' 'notSent: [1]' 'differences: .spec' 'differences: [1]' 'ignored: {}'; do
		copy
		printf '%s\n' "$what" >"$WORK/case/expected.yaml"
		truce test "$WORK/case"
		assert_eq 1 "$RC" "exit status of a case that expects '$what'"
		says 'must be a list of strings'
	done
}

what_is_called_otherwise_is_missed() {
	copy
	mv "$WORK/case/desired.yaml" "$WORK/case/desired.yml"
	truce test "$WORK"
	assert_eq 1 "$RC" 'exit status of a case without desired.yaml'
	says 'desired.yaml cannot be opened'
	copy
	(echo ---; sed 's/name: shop}/name: two}/' "$WORK/case/rules.yaml") >"$WORK/two.yaml"
	cat "$WORK/two.yaml" >>"$WORK/case/rules.yaml"
	truce test "$WORK/case"
	assert_eq 1 "$RC" 'exit status of a case with two Applications'
	says 'it holds more than one Application'
}

where_there_is_no_case_is_told() {
	mkdir "$WORK/empty"
	truce test "$WORK/empty"
	assert_eq 2 "$RC" 'exit status'
	says 'no case there'
	truce test "$WORK/nowhere"
	assert_eq 2 "$RC" 'exit status'
	truce test
	assert_eq 2 "$RC" 'exit status'
	says 'usage: truce test DIR…'
}

truce_flags() { :; }
run_cases every_case_is_as_it_says what_is_not_as_expected_is_told what_cannot_be_read_is_told \
	what_expects_nothing_is_told what_is_called_otherwise_is_missed where_there_is_no_case_is_told

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Suites of health rules: `truce test` reads Argo CD's format to the letter, says what is not as wanted, and what cannot be
# run. It needs no sandbox.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/truce-health-XXXXXX")
trap 'rm -rf "$WORK"' EXIT
RULES=$WORK/rules

truce_flags() { :; }

# file PATH: standard input becomes $RULES/PATH.
file() {
	mkdir -p "$(dirname "$RULES/$1")"
	cat >"$RULES/$1"
}

# A rule that says what the object's status says, and a suite that holds.
begin() {
	rm -rf "$RULES"
	file shop.example.io/Queue/health.lua <<-'END'
		local hs = {}
		if obj.status == nil then
		  return nil
		end
		hs.status = obj.status.health
		hs.message = obj.status.message
		return hs
	END
	file shop.example.io/Queue/health_test.yaml <<-'END'
		tests:
		- healthStatus:
		    status: Progressing
		    message: 1 of 3
		  inputPath: testdata/queue.yaml
	END
	file shop.example.io/Queue/testdata/queue.yaml <<-'END'
		apiVersion: shop.example.io/v1
		kind: Queue
		metadata: {name: orders}
		status: {health: Progressing, message: 1 of 3}
	END
}

# judged STATUS [FLAG…]: all of $RULES.
judged() {
	local want=$1
	shift
	truce test "$RULES" "$@"
	assert_eq "$want" "$RC" "exit status of $test_case"
}

# spoilt FILE SED-SCRIPT STATUS TEXT
spoilt() {
	begin
	sed -i "$2" "$RULES/shop.example.io/Queue/$1"
	judged "$3"
	says "$4"
}

a_suite_that_holds_is_ok() {
	begin
	judged 0
	assert_eq "$(printf '%s\n' "ok - $RULES/shop.example.io/Queue: testdata/queue.yaml" '1 rule, 1 suite, 1 case, 0 failed')" "$OUT"
}

what_is_not_as_wanted_is_told() {
	spoilt health_test.yaml 's/1 of 3/2 of 3/' 1 'wanted Progressing: "2 of 3"'
	says 'got    Progressing: "1 of 3"'
	says "$RULES/shop.example.io/Queue/health_test.yaml:2, judged by $RULES/shop.example.io/Queue/health.lua"
	says '1 case, 1 failed'
	spoilt health_test.yaml 's/status: Progressing/status: Healthy/' 1 'wanted Healthy: "1 of 3"'
	spoilt health_test.yaml 's/status: Progressing/status: ""/' 1 'wanted no health: "1 of 3"'
	spoilt health_test.yaml '/message:/d' 1 'wanted Progressing: ""'
	spoilt health.lua 's/obj.status.message/obj.status.message .. "\\n"/' 1 'got    Progressing: "1 of 3\n"'
}

what_cannot_be_run_is_told() {
	local suite=$RULES/shop.example.io/Queue/health_test.yaml
	spoilt health_test.yaml 's/queue.yaml/none.yaml/' 2 "$suite:2: $RULES/shop.example.io/Queue/testdata/none.yaml cannot be opened"
	says '1 could not be run'
	spoilt health_test.yaml 's/inputPath/inputPahts/' 2 "$suite:5: unknown key 'inputPahts'; did you mean 'inputPath'?"
	spoilt health_test.yaml 's/message:/mesage:/' 2 "$suite:4: unknown key 'mesage'; did you mean 'message'?"
	spoilt health_test.yaml 's/tests:/test:/' 2 "$suite:1: unknown key 'test'; did you mean 'tests'?"
	spoilt health_test.yaml 's/Progressing/progressing/' 2 "$suite:3: unknown status 'progressing'; did you mean 'Progressing'?"
	spoilt health_test.yaml 's/1 of 3/[13]/' 2 "$suite:4: message must be a text"
	spoilt health_test.yaml 's/inputPath:.*/guard: yes please/' 2 "$suite:5: guard must be true or false"
	spoilt health_test.yaml 's/inputPath:.*/now: tomorrow/' 2 "$suite:5: now must be a time"
	spoilt health_test.yaml '/inputPath/d' 2 "$suite:2: inputPath is missing"
	spoilt health_test.yaml 's/^tests:/tests: [/' 2 "$suite:2: "
	spoilt health_test.yaml '1!d' 2 "$suite:1: it holds no cases"
	spoilt health_test.yaml d 2 "$suite:1: it is empty"
	spoilt testdata/queue.yaml 's/^kind/kin/' 2 "$RULES/shop.example.io/Queue/testdata/queue.yaml:1: it is no object"
	spoilt testdata/queue.yaml 's/{name/[name/' 2 "$RULES/shop.example.io/Queue/testdata/queue.yaml:"
	spoilt health.lua '3s/return/retrun/' 2 "$RULES/shop.example.io/Queue/health.lua:3:"
	says "health_test.yaml is not run: the rule beside it cannot be"
	spoilt health.lua d 2 "$RULES/shop.example.io/Queue/health.lua:1: it is empty"
}

# A case that is not run is no success, wherever it stands.
what_would_not_be_run_is_told() {
	local suite=$RULES/shop.example.io/Queue/health_test.yaml
	local other='- {inputPath: testdata/queue.yaml, healthStatus: {status: Healthy}}'
	begin
	printf -- '---\n# nothing\n---\n' >>"$suite"
	judged 0
	printf 'tests: [\n' >>"$suite"
	judged 2
	says "$suite:10: "
	begin
	printf -- '---\ntests:\n%s\n' "$other" >>"$suite"
	judged 2
	says "$suite:7: a suite is one document, this is another"
	begin
	sed -i "1i tests:\n$other" "$suite"
	judged 2
	says "$suite:3: the key 'tests' is there twice, first in line 1"
	sed -i '1s/t/T/' "$suite"
	judged 2
	says "$suite:3: the key 'tests' is there twice, first in line 1"
	spoilt health_test.yaml '$a\  healthStatus: {status: Healthy}' 2 "$suite:6: the key 'healthStatus' is there twice, first in line 2"
	spoilt health_test.yaml '$a\  HealthStatus: {status: Healthy}' 2 "$suite:6: the key 'healthStatus' is there twice, first in line 2"
	spoilt health_test.yaml '/message:/a\    Message: 2 of 3' 2 "$suite:5: the key 'message' is there twice, first in line 4"
}

# What is wrong with one case keeps no other one from being run.
the_others_are_run_all_the_same() {
	begin
	cat >>"$RULES/shop.example.io/Queue/health_test.yaml" <<-'END'
		- inputPath: testdata/none.yaml
		- inputPath: testdata/queue.yaml
		  healthStatus: {status: Healthy}
	END
	judged 2
	says '3 cases, 1 failed, 1 could not be run'
}

a_second_rule_for_a_kind_is_told() {
	begin
	cp -R "$RULES/shop.example.io" "$WORK/again"
	mkdir "$RULES/team"
	mv "$WORK/again" "$RULES/team/shop.example.io"
	judged 2
	says "$RULES/team/shop.example.io/Queue/health.lua:1: a second rule for shop.example.io/Queue, beside $RULES/shop.example.io/Queue/health.lua"
	# Named one by one, they are about different folders.
	truce test "$RULES/team" "$RULES/shop.example.io"
	assert_eq 0 "$RC" 'exit status of two folders'
	says '2 rules, 2 suites, 2 cases, 0 failed'
}

keys_are_known_in_any_case() {
	begin
	sed -i 's/inputPath/inputpath/; s/healthStatus/HealthStatus/; s/^tests/Tests/; s/message/MESSAGE/' "$RULES/shop.example.io/Queue/health_test.yaml"
	judged 0
	# Somebody else's are let be.
	sed -i 's/^- /- ticket: "1234"\n  /' "$RULES/shop.example.io/Queue/health_test.yaml"
	judged 0
	says "health_test.yaml:2: the key 'ticket' is passed over"
}

# As Argo CD reads them: where a text is wanted, what YAML takes for something else is one.
a_message_without_quotes_is_its_text() {
	local text
	begin
	for text in 3 -7 2.5 12.50 true 18446744073709551615; do
		sed -i "s/message: .*/message: $text/" "$RULES/shop.example.io/Queue/health_test.yaml"
		sed -i "s/message: [^}]*/message: \"${text%0}\"/" "$RULES/shop.example.io/Queue/testdata/queue.yaml"
		judged 0
	done
	spoilt health_test.yaml '/message:/s/:.*/: null/' 1 'wanted Progressing: ""'
	spoilt health_test.yaml 's/Progressing/3/' 2 "unknown status '3'"
}

no_answer_is_no_health() {
	begin
	file shop.example.io/Queue/testdata/new.yaml <<-'END'
		apiVersion: shop.example.io/v1
		kind: Queue
		metadata: {name: orders}
	END
	cat >>"$RULES/shop.example.io/Queue/health_test.yaml" <<-'END'
		- {inputPath: testdata/new.yaml, healthStatus: {status: "", message: ""}}
		- {inputPath: testdata/new.yaml, healthStatus: {}}
		- {inputPath: testdata/new.yaml, healthStatus: null}
		- {inputPath: testdata/new.yaml}
	END
	judged 0
	says '5 cases, 0 failed'
}

# The first document that is not empty counts; times stay texts; line feeds and CRLF.
samples_are_read_as_they_are() {
	begin
	sed -i '1i ---\n# nothing\n---' "$RULES/shop.example.io/Queue/testdata/queue.yaml"
	printf -- '---\nthis: [is not read\n' >>"$RULES/shop.example.io/Queue/testdata/queue.yaml"
	file shop.example.io/Queue/testdata/time.yaml <<-'END'
		apiVersion: shop.example.io/v1
		kind: Queue
		metadata: {name: orders, creationTimestamp: 2020-01-02T03:04:05Z}
		status: {health: Healthy, message: 2020-01-02T03:04:05Z}
	END
	file shop.example.io/Queue/testdata/lines.yaml <<-'END'
		apiVersion: shop.example.io/v1
		kind: Queue
		metadata: {name: orders}
		status:
		  health: Degraded
		  message: |
		    one
		    two

		    three
	END
	cat >>"$RULES/shop.example.io/Queue/health_test.yaml" <<-'END'
		- inputPath: testdata/time.yaml
		  healthStatus: {status: Healthy, message: "2020-01-02T03:04:05Z"}
		- inputPath: testdata/lines.yaml
		  healthStatus: {status: Degraded, message: "one\ntwo\n\nthree\n"}
		- inputPath: testdata/lines.yaml
		  healthStatus:
		    status: Degraded
		    message: |
		      one
		      two

		      three
	END
	judged 0
	says '4 cases, 0 failed'
	sed -i 's/$/\r/' "$RULES"/shop.example.io/Queue/*.* "$RULES"/shop.example.io/Queue/testdata/*
	judged 0
	says '4 cases, 0 failed'
}

# "_" is "*"; the rule follows from the object; an exact one comes before a glob, wherever the suite is.
globs_and_exact_rules_live_side_by_side() {
	begin
	file _.example.org/_/health.lua <<<'return { status = "Healthy", message = "by the glob" }'
	file _.example.org/_/health_test.yaml <<-'END'
		tests:
		- {inputPath: testdata/any.yaml, healthStatus: {status: Healthy, message: by the glob}}
		- {inputPath: testdata/provider.yaml, healthStatus: {status: Healthy, message: by its own}}
	END
	file _.example.org/_/testdata/any.yaml <<<'{apiVersion: db.example.org/v1, kind: Table, metadata: {name: x}}'
	file _.example.org/_/testdata/provider.yaml <<<'{apiVersion: pkg.example.org/v1, kind: Provider, metadata: {name: x}}'
	file pkg.example.org/Provider/health.lua <<<'return { status = "Healthy", message = "by its own" }'
	judged 0
	says '3 rules, 2 suites, 3 cases, 0 failed'
	says "$RULES/pkg.example.org/Provider/health.lua has no suite"
}

# Of the core group there is no folder; a suite without a rule is about truce's own.
core_kinds_and_rules_of_truce_are_tested() {
	rm -rf "$RULES"
	file ConfigMap/health.lua <<<'return { status = "Healthy", message = obj.data.key }'
	file ConfigMap/health_test.yaml <<<'tests: [{inputPath: testdata/a.yaml, healthStatus: {status: Healthy, message: v}}]'
	file ConfigMap/testdata/a.yaml <<<'{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: v}}'
	file batch/Job/health_test.yaml <<<'tests: [{inputPath: testdata/a.yaml, healthStatus: {status: Degraded, message: wrong}}]'
	file batch/Job/testdata/a.yaml <<<'{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {active: 1}}'
	judged 1
	says "ok - $RULES/ConfigMap: testdata/a.yaml"
	says "not ok - $RULES/batch/Job: testdata/a.yaml"
	says 'judged by batch/Job, built in'
	says '1 rule, 2 suites, 2 cases, 1 failed'
	cd "$RULES/batch/Job"
	truce test .
	cd - >/dev/null
	says 'judged by batch/Job, built in'
}

suites_of_actions_are_passed_over() {
	begin
	file shop.example.io/Queue/actions/action_test.yaml <<<'discoveryTests: []'
	file shop.example.io/Queue/actions/testdata/expected.yaml <<<'{}'
	judged 0
	says '1 suite of actions passed over'
	says '1 rule, 1 suite, 1 case, 0 failed'
}

both_kinds_of_suites_are_found_together() {
	begin
	mkdir -p "$RULES/deep/down"
	cp -R "$(dirname "${BASH_SOURCE[0]}")/../cases/ignore/pointer-hides-only-its-field" "$RULES/deep/down/case"
	judged 0
	says "ok - $RULES/deep/down/case"
	says '1 rule, 1 suite, 2 cases, 0 failed'
}

# The guard is asked where a case says so, and the time is what it says.
the_guard_and_the_time_are_the_case_s() {
	begin
	file shop.example.io/Queue/health.lua <<<'return { status = "Healthy", message = tostring(require("os").time()) }'
	sed -i 's/{name: orders}/{name: orders, generation: 3}/; s/{health/{observedGeneration: 2, health/' \
		"$RULES/shop.example.io/Queue/testdata/queue.yaml"
	cat >"$RULES/shop.example.io/Queue/health_test.yaml" <<-'END'
		tests:
		- {inputPath: testdata/queue.yaml, now: "2001-09-09T01:46:40Z", healthStatus: {status: Healthy, message: "1000000000"}}
		- {inputPath: testdata/queue.yaml, guard: true, name: with the guard, healthStatus: {status: Healthy}}
	END
	judged 1
	says "ok - $RULES/shop.example.io/Queue: testdata/queue.yaml"
	says "not ok - $RULES/shop.example.io/Queue: with the guard"
	says 'got    Progressing: '
	says 'judged by the freshness guard'
}

what_a_rule_prints_is_shown_with_a_case_that_failed() {
	begin
	sed -i '1i print("the object is", obj.metadata.name)' "$RULES/shop.example.io/Queue/health.lua"
	judged 0
	case $OUT in
	*print*) fail 'it is shown with a case that passed' ;;
	esac
	sed -i 's/1 of 3/2 of 3/' "$RULES/shop.example.io/Queue/health_test.yaml"
	judged 1
	says 'print: the object is\torders'
}

# All of it is about text that a machine has to read.
odd() {
	begin
	sed -i 's|message: 1 of 3|message: "<a> \&amp; \\"b\\" # \\\\ \\u0007\\u202e\\uffff ]]> é"|' "$RULES/shop.example.io/Queue/health_test.yaml"
	sed -i 's|  inputPath|  name: "# odd <name> \\\\ \\u0001"\n  inputPath|' "$RULES/shop.example.io/Queue/health_test.yaml"
	cat >>"$RULES/shop.example.io/Queue/health_test.yaml" <<-'END'
		- inputPath: testdata/none.yaml
		- {inputPath: testdata/queue.yaml, healthStatus: {status: Progressing, message: 1 of 3}}
	END
}

tap_is_tap() {
	odd
	judged 2 -o tap
	says 'TAP version 14'
	says "not ok 1 - $RULES/shop.example.io/Queue: "'\# odd <name> \\ \\x01'
	says '  severity: fail'
	says '  severity: error'
	says "ok 3 - $RULES/shop.example.io/Queue: testdata/queue.yaml"
	says '1..3'
	python3 - "$OUT" <<-'END'
		import re, sys, yaml
		blocks = [yaml.safe_load(b) for b in re.findall(r"^  ---\n(.*?)^  \.\.\.$", sys.argv[1], re.S | re.M)]
		assert len(blocks) == 2, blocks
		assert blocks[0]["wanted"]["message"].startswith('<a> &amp; "b" # \\ '), blocks[0]
		assert blocks[0]["got"] == {"status": "Progressing", "message": "1 of 3"}, blocks[0]
		assert blocks[1]["line"] == 7, blocks[1]
	END
}

junit_is_junit() {
	odd
	judged 2 -o junit --output-file "$WORK/junit.xml"
	says '1 rule, 1 suite, 3 cases, 1 failed, 1 could not be run'
	python3 - "$WORK/junit.xml" <<-'END'
		import sys, xml.etree.ElementTree as tree
		top = tree.parse(sys.argv[1]).getroot()
		assert top.tag == "testsuites" and (top.get("tests"), top.get("failures"), top.get("errors")) == ("3", "1", "1")
		suite, = top
		assert suite.get("name") == "shop.example.io/Queue" and suite.get("tests") == "3"
		failed, error, ok = suite
		assert failed.get("name").startswith("# odd <name> ") and failed.get("classname") == "shop.example.io/Queue"
		assert failed.get("file").endswith("/health_test.yaml") and failed.get("line") == "2"
		assert failed[0].tag == "failure" and '<a> &amp; ' in failed[0].get("message"), failed[0].get("message")
		assert "got Progressing" in failed[0].get("message") and "judged by" in failed[0].text
		assert error[0].tag == "error" and "cannot be opened" in error[0].text
		assert len(ok) == 0
	END
	judged 2 -o junit
	python3 -c 'import sys, xml.dom.minidom as m; m.parseString(sys.argv[1])' "${OUT#*$'\n'}"
}

json_is_json() {
	odd
	judged 2 -o json
	python3 - "$OUT" <<-'END'
		import json, sys
		r = json.loads(sys.argv[1])
		assert (r["rules"], r["suites"], r["failed"], r["errors"]) == (1, 1, 1, 1), r
		assert [c["result"] for c in r["cases"]] == ["failed", "error", "passed"], r
		assert r["cases"][0]["wanted"]["message"].startswith('<a> &amp; "b" # \\ '), r
		assert r["cases"][0]["got"] == {"status": "Progressing", "message": "1 of 3"}, r
	END
}

coverage_names_the_lines_that_were_run() {
	begin
	judged 0 --coverage "$WORK/coverage.json"
	python3 - "$WORK/coverage.json" "$RULES/shop.example.io/Queue/health.lua" <<-'END'
		import json, sys
		script, = json.load(open(sys.argv[1]))["scripts"]
		assert script == {"file": sys.argv[2], "lines": 7, "run": [1, 2, 5, 6, 7]}, script
	END
	judged 2 --coverage "$WORK/no/such/folder"
	says 'cannot write'
}

# What holds truce's own pack.
a_return_that_no_case_reaches_is_found() {
	local lint
	lint=$(dirname "${BASH_SOURCE[0]}")/../lint/health_coverage
	begin
	file shop.example.io/Queue/health.lua <<-'END'
		local t = require("truce") -- return nothing here
		if obj.spec then return t.degraded("return") end
		return obj.status and t.progressing(obj.status.message) or t.healthy()
	END
	RC=0
	OUT=$("$lint" "$TRUCE_BUILD_DIR" "$RULES" 2>&1) || RC=$?
	assert_eq 1 "$RC" 'exit status of health_coverage'
	says 'health.lua:2: no case reaches: if obj.spec then return'
	says 'health.lua:3: no case reaches: return obj.status'
	says '4 returns and results, 2 not reached'
	file shop.example.io/Queue/testdata/two.yaml <<<'{apiVersion: shop.example.io/v1, kind: Queue, metadata: {name: x}, spec: {}}'
	file shop.example.io/Queue/testdata/three.yaml <<<'{apiVersion: shop.example.io/v1, kind: Queue, metadata: {name: x}}'
	cat >>"$RULES/shop.example.io/Queue/health_test.yaml" <<-'END'
		- {inputPath: testdata/two.yaml, healthStatus: {status: Degraded, message: return}}
		- {inputPath: testdata/three.yaml, healthStatus: {status: Healthy}}
	END
	RC=0
	OUT=$("$lint" "$TRUCE_BUILD_DIR" "$RULES" 2>&1) || RC=$?
	says '4 returns and results, 0 not reached'
	assert_eq 0 "$RC" 'exit status of health_coverage'
}

the_example_is_as_docs_say() {
	local example
	example=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../examples/health" && pwd)
	export TRUCE
	RC=0
	OUT=$(JUNIT=$WORK/example.xml "$example/check.sh" 2>&1) || RC=$?
	assert_eq 0 "$RC" 'exit status of check.sh'
	says '1 rule, 1 suite, 6 cases, 0 failed'
	grep -q '<testsuite name="shop.example.io/Queue" tests="6" failures="0"' "$WORK/example.xml" || fail 'no report'
	RC=0
	OUT=$("$example/check.sh" "$WORK/nowhere" 2>&1) || RC=$?
	assert_eq 2 "$RC" 'exit status of check.sh without a folder'
}

run_cases a_suite_that_holds_is_ok what_is_not_as_wanted_is_told what_cannot_be_run_is_told \
	what_would_not_be_run_is_told the_others_are_run_all_the_same a_second_rule_for_a_kind_is_told keys_are_known_in_any_case no_answer_is_no_health \
	a_message_without_quotes_is_its_text \
	samples_are_read_as_they_are globs_and_exact_rules_live_side_by_side core_kinds_and_rules_of_truce_are_tested \
	suites_of_actions_are_passed_over both_kinds_of_suites_are_found_together the_guard_and_the_time_are_the_case_s \
	what_a_rule_prints_is_shown_with_a_case_that_failed tap_is_tap junit_is_junit json_is_json coverage_names_the_lines_that_were_run \
	a_return_that_no_case_reaches_is_found the_example_is_as_docs_say

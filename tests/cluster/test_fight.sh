#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An operator rewrites a field every second that truce is told to take: a few turns, then it is left alone, with both
# names, the rate and a rule; that rule, pasted, ends it. What truce writes in a minute is counted before and after.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

PAUSE_S=25
OPERATOR=

# settings RULE…: tried in this order.
settings() {
	{
		printf 'apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec:\n  ownership:\n'
		printf '    fights: {pause: %ss}\n    rules:\n' "$PAUSE_S"
		printf '    - %s\n' "$@" '{manager: region-operator, action: take}'
	} >"$WORK/agent.yaml"
}

rewrite() {
	kc operator apply --server-side --force-conflicts --field-manager=region-operator -f - >/dev/null <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: flags, namespace: $NS}
		data: {region: "mars-$1"}
	YAML
}

rewrite_every_second() {
	local n=0
	while true; do
		n=$((n + 1))
		rewrite "$n" 2>/dev/null || true
		sleep 1
	done
}

status_line() {
	truce status
	grep 'truce ⇄ region-operator' <<<"$OUT"
}

fights_counted() {
	curl -fs "http://127.0.0.1:$PORT/metrics" | sed -n 's/^truce_field_fights_total{.*manager="region-operator",kind="ConfigMap"} //p'
}

events_of() {
	kc person get events -n "$NS" --field-selector involvedObject.name=flags,reason=FieldFight,type=Warning \
		-o 'jsonpath={range .items[*]}{.count} {.message}{"\n"}{end}'
}

event_says() {
	[[ $(events_of) == *"$1"*'action: yield}'* ]]
}

# writes_in SECONDS: of truce to the object, from now on.
writes_in() {
	mark
	sleep "$1"
	truce_requests --verb patch --resource configmaps --name flags
}

an_operator_takes_a_field_again_and_again() {
	put flags.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: flags}
		data: {region: earth, size: "3"}
	YAML
	commit 'flags'
	settings
	PORT=$(free_port)
	agent_start --config "$WORK/agent.yaml" --listen "127.0.0.1:$PORT"
	agent_waits 30 'msg="latency"'
	mark
	STARTED=$SECONDS
	rewrite_every_second &
	OPERATOR=$!
	wait_until 60 status_line
	BEFORE=$(truce_requests --verb patch --resource configmaps --name flags)
	BEFORE_S=$((SECONDS - STARTED > 0 ? SECONDS - STARTED : 1))
	[ "$BEFORE" -ge 3 ] || fail "$BEFORE writes before the field was left alone"
}

both_are_named_with_a_rate_and_a_rule() {
	local line
	line=$(status_line)
	[[ $line == */ConfigMap/$NS/flags\ data.region* ]] || fail "the line names another field: $line"
	[[ $line == *'truce ⇄ region-operator, '*' turns a minute, left alone until '* ]] || fail "the line lacks something: $line"
	agent_waits 10 'region-operator'
	assert_eq 1 "$(fights_counted)" 'fights in the metric'
	wait_until 10 event_says region-operator
	assert_eq 1 "$(events_of | wc -l)" 'Events about the fight'
}

size_is() {
	[ "$(got configmap flags '{.data.size}')" = "$1" ]
}

the_rest_of_the_object_is_still_gits() {
	kc person patch configmap flags -n "$NS" --type merge -p '{"data":{"size":"9"}}' >/dev/null
	wait_until 10 size_is 3
	[[ $(got configmap flags '{.data.region}') == mars-* ]] || fail 'the contested field went along'
}

while_it_is_left_alone_nothing_is_written() {
	local after
	after=$(writes_in 10)
	assert_eq 0 "$after" 'writes while the field is left alone'
	printf '# writes of truce a minute: %s before (%s in %s s), %s after (%s in 10 s)\n' $((BEFORE * 60 / BEFORE_S)) "$BEFORE" "$BEFORE_S" \
		$((after * 6)) "$after"
}

two_fights() {
	[ "$(fights_counted)" = 2 ]
}

# Once more after the pause, then for twice as long.
the_next_pause_is_longer() {
	wait_until $((3 * PAUSE_S)) two_fights
	assert_eq 0 "$(writes_in $((PAUSE_S + PAUSE_S / 4)))" 'writes in the second pause'
}

the_printed_rule_ends_it() {
	local rule
	rule=$(status_line | sed 's/.*to settle it: //')
	[[ $rule == '{'*'}' ]] || fail "no rule in: $rule"
	agent_stop
	settings "$rule"
	agent_start --config "$WORK/agent.yaml" --listen "127.0.0.1:$PORT"
	agent_waits 30 'msg="synced"'
	assert_eq 0 "$(writes_in $((PAUSE_S + 5)))" 'writes with the rule'
	! status_line || fail 'there is a fight still'
	kill "$OPERATOR"
	wait "$OPERATOR" 2>/dev/null || true
	sleep 1
	truce diff --config "$WORK/agent.yaml"
	assert_eq 0 "$RC" 'exit status of diff'
	agent_stop
}

cluster_begin
cluster_needs own
truce_begin fight
run_cases an_operator_takes_a_field_again_and_again both_are_named_with_a_rate_and_a_rule \
	the_rest_of_the_object_is_still_gits while_it_is_left_alone_nothing_is_written the_next_pause_is_longer \
	the_printed_rule_ends_it

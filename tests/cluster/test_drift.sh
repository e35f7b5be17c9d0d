#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drift on a real API server: what people do to live objects, and what the daemon does about it. Healed is what Git has;
# what Git does not have is told and left alone here, by --extra-paths report (else see test_extra.sh).
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

INSTALLATION=truce.dev/installation

put_shop() {
	put web.yaml <<-'YAML'
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web, labels: {tier: front}, annotations: {team: blue}}
		spec:
		  replicas: 1
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec:
		      containers:
		        - name: web
		          image: web:1.4
		          env: [{name: LOG, value: info}]
	YAML
	put flags.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: flags}
		data: {dark: "on", size: "3"}
		---
		apiVersion: v1
		kind: Secret
		metadata: {name: db}
		stringData: {password: hunter22-very-secret}
		---
		apiVersion: v1
		kind: Service
		metadata: {name: web}
		spec:
		  selector: {app: web}
		  ports: [{name: http, port: 80, targetPort: 8080}]
	YAML
}

live_is() {
	[ "$(got "$1" "$2" "$3")" = "$4" ]
}

an_edited_value_goes_back() {
	agent_mark
	as_edited s/web:1.4/web:6.6.6/ deployment web
	healed 'kubectl edit of a value' "apps/Deployment/$NS/web"
	assert_eq web:1.4 "$(got deployment web '{.spec.template.spec.containers[0].image}')"
	agent_mark
	kc person patch configmap flags -n "$NS" --type merge -p '{"data":{"dark":"off"}}' >/dev/null
	healed 'kubectl patch of a value' "/ConfigMap/$NS/flags"
	assert_eq on "$(got configmap flags '{.data.dark}')"
}

a_removed_value_comes_back() {
	agent_mark
	kc person patch configmap flags -n "$NS" --type json -p '[{"op":"remove","path":"/data/size"}]' >/dev/null
	healed 'a value removed' "/ConfigMap/$NS/flags"
	assert_eq 3 "$(got configmap flags '{.data.size}')"
}

a_deleted_object_comes_back() {
	local uid
	uid=$(got configmap flags '{.metadata.uid}')
	agent_mark
	kc person delete configmap flags -n "$NS" >/dev/null
	healed 'kubectl delete' "/ConfigMap/$NS/flags"
	[ "$uid" != "$(got configmap flags '{.metadata.uid}')" ] || fail 'it is the old object'
	agent_mark
	kc person delete deployment web -n "$NS" >/dev/null
	healed 'kubectl delete of a Deployment' "apps/Deployment/$NS/web"
	assert_eq web:1.4 "$(got deployment web '{.spec.template.spec.containers[0].image}')"
}

removed_marks_come_back() {
	local label
	label=$(got configmap flags "{.metadata.labels.truce\.dev/installation}")
	[ -n "$label" ] || fail 'there is no label of ours'
	agent_mark
	kc person label configmap flags -n "$NS" "$INSTALLATION-" >/dev/null
	healed 'our label removed' "/ConfigMap/$NS/flags"
	assert_eq "$label" "$(got configmap flags "{.metadata.labels.truce\.dev/installation}")"
	agent_mark
	kc person annotate configmap flags -n "$NS" argocd.argoproj.io/tracking-id- >/dev/null
	healed 'the tracking annotation removed' "/ConfigMap/$NS/flags"
	agent_mark
	kc person label deployment web -n "$NS" tier- >/dev/null
	healed "a label of Git's removed" "apps/Deployment/$NS/web"
	assert_eq front "$(got deployment web '{.metadata.labels.tier}')"
	agent_mark
	kc person annotate deployment web -n "$NS" team- >/dev/null
	healed "an annotation of Git's removed" "apps/Deployment/$NS/web"
	assert_eq blue "$(got deployment web '{.metadata.annotations.team}')"
}

# Both marks at once: it is known by what the inventory says of its uid.
an_object_without_any_mark_is_still_known() {
	agent_mark
	kc person patch configmap flags -n "$NS" --type json -p '[{"op":"remove","path":"/metadata/labels"},
		{"op":"remove","path":"/metadata/annotations"},{"op":"replace","path":"/data/dark","value":"off"}]' >/dev/null
	healed 'all marks removed' "/ConfigMap/$NS/flags"
	assert_eq on "$(got configmap flags '{.data.dark}')"
}

a_secret_is_healed_without_a_word_of_it() {
	agent_mark
	kc person patch secret db -n "$NS" --type merge -p '{"stringData":{"password":"my-own-password"}}' >/dev/null
	healed 'a Secret patched' "/Secret/$NS/db"
	assert_eq hunter22-very-secret "$(got secret db '{.data.password}' | base64 -d)"
	for word in hunter22 my-own-password "$(printf my-own-password | base64)"; do
		! grep -qF "$word" "$LOG" || fail "the log shows the Secret: $word"
	done
}

# What a person added is nobody's wish but the person's: told once a change, in the log and by diff, and left.
what_was_added_is_told_and_left_alone() {
	agent_mark
	kc person patch configmap flags -n "$NS" --type merge -p '{"data":{"zz":"mine"}}' >/dev/null
	agent_waits 20 '.data.zz (kubectl-patch)'
	kc person label deployment web -n "$NS" mine=yes >/dev/null
	agent_waits 20 '.metadata.labels.mine (kubectl-label)'
	kc person set env deployment web -n "$NS" EXTRA=1 >/dev/null
	agent_waits 20 '.env[name=\"EXTRA\"] (kubectl-set)'
	assert_eq mine "$(got configmap flags '{.data.zz}')"
	assert_eq yes "$(got deployment web '{.metadata.labels.mine}')"
	assert_eq EXTRA "$(got deployment web '{.spec.template.spec.containers[0].env[*].name}' | grep -o EXTRA)"
	assert_eq 1 "$(grep -c 'paths=".*data.zz' "$LOG")" 'lines about the added key'
	truce diff --extra-paths report
	assert_eq 0 "$RC" 'exit status of diff with only extra paths'
	says 'not in Git: data.zz = mine   added by kubectl-patch'
	says 'metadata.labels.mine'
	says 'env[EXTRA]'
	truce_ok sync --extra-paths report
	says 'data.zz, not in Git, added by kubectl-patch'
	kc person patch configmap flags -n "$NS" --type json -p '[{"op":"remove","path":"/data/zz"}]' >/dev/null
	kc person label deployment web -n "$NS" mine- >/dev/null
	kc person set env deployment web -n "$NS" EXTRA- >/dev/null
	truce diff --extra-paths report
	assert_eq 0 "$RC" 'exit status of diff when all is gone again'
	case $OUT in *'not in Git'*) fail 'diff still tells what is gone' ;; esac
}

# A port edited to another number is an item removed and an item added, and the two names collide: Git's cannot come
# back before the person's has gone. The server's word is shown; when the person has gone, it heals.
an_edited_port_is_told_by_name() {
	agent_mark
	as_edited 's/port:\ 80$/port:\ 83/' service web
	assert_eq 83 "$(got service web '{.spec.ports[0].port}')"
	agent_waits 20 'obj=/Service'
	agent_waits 20 'Duplicate value'
	agent_waits 20 '.spec.ports[port=83,protocol=\"TCP\"] (kubectl-edit)'
	assert_eq 83 "$(got service web '{.spec.ports[*].port}')"
	truce sync --extra-paths report
	assert_eq 1 "$RC" 'exit status of sync with a port that cannot come back'
	says 'spec.ports[1].name'
	says 'spec.ports[83,TCP], not in Git, added by kubectl-edit'
	agent_mark
	kc person patch service web -n "$NS" --type json -p '[{"op":"replace","path":"/spec/ports/0/name","value":"other"}]' >/dev/null
	wait_until 20 live_is service web '{.spec.ports[?(@.name=="http")].port}' 80
	kc person patch service web -n "$NS" --type strategic -p '{"spec":{"ports":[{"port":83,"$patch":"delete"}]}}' >/dev/null
	assert_eq 80 "$(got service web '{.spec.ports[*].port}')"
}

healing_costs_two_requests() {
	cluster_needs own
	sleep 1
	mark
	agent_mark
	kc person patch configmap flags -n "$NS" --type merge -p '{"data":{"dark":"off"}}' >/dev/null
	healed 'the counted one' "/ConfigMap/$NS/flags"
	sleep 1
	# The apply, the answer that names the person, and the apply that takes the field from them.
	assert_eq 2 "$(truce_requests --verb patch --resource configmaps --namespace "$NS")" 'patches of one heal'
	assert_eq 0 "$(truce_requests --verb list)" 'lists of one heal'
	assert_eq 0 "$(truce_requests --verb get)" 'reads of one heal'
}

a_daemon_that_only_looks_writes_nothing() {
	agent_stop
	agent_start --detect-only
	agent_waits 30 'msg="synced"'
	mark
	agent_mark
	kc person patch configmap flags -n "$NS" --type merge -p '{"data":{"dark":"off"}}' >/dev/null
	agent_waits 20 "msg=\"differs\" obj=/ConfigMap/$NS/flags"
	kc person delete secret db -n "$NS" >/dev/null
	agent_waits 20 "msg=\"missing\" obj=/Secret/$NS/db"
	sed -i s/web:1.4/web:1.5/ "$REPO/deploy/web.yaml"
	commit 'bump web'
	agent_waits 30 "msg=\"differs\" obj=apps/Deployment/$NS/web"
	sleep 1
	assert_eq off "$(got configmap flags '{.data.dark}')"
	is_gone secret db || fail 'a daemon that only looks created a Secret'
	assert_eq web:1.4 "$(got deployment web '{.spec.template.spec.containers[0].image}')"
	agent_waits 10 'msg="out of sync"'
	if [ "$CLUSTER_KIND" != external ]; then
		# Its own status, once a verdict and when health has changed, and nothing else.
		assert_eq 0 "$(truce_object_writes)" 'objects written by a daemon that only looks'
		[ "$(truce_requests --verb patch --resource configmaps --namespace "$NS-truce")" -ge 3 ] || fail 'a verdict was not stored'
	fi
	agent_stop
}

# As in Argo CD: without self-heal a new commit is applied, drift is only told; also when the agent starts afresh.
without_self_heal_only_commits_are_applied() {
	agent_start --no-self-heal
	agent_waits 30 'msg="synced"'
	assert_eq web:1.5 "$(got deployment web '{.spec.template.spec.containers[0].image}')"
	assert_eq on "$(got configmap flags '{.data.dark}')"
	agent_mark
	kc person patch configmap flags -n "$NS" --type merge -p '{"data":{"dark":"off"}}' >/dev/null
	agent_waits 20 "msg=\"differs\" obj=/ConfigMap/$NS/flags"
	assert_eq off "$(got configmap flags '{.data.dark}')"
	agent_stop
	agent_start --no-self-heal
	agent_waits 30 "msg=\"differs\" obj=/ConfigMap/$NS/flags"
	sleep 1
	assert_eq off "$(got configmap flags '{.data.dark}')" 'a restart healed what it must not'
	agent_mark
	sed -i s/web:1.5/web:1.6/ "$REPO/deploy/web.yaml"
	commit 'bump web again'
	agent_waits 30 'msg="synced"'
	assert_eq web:1.6 "$(got deployment web '{.spec.template.spec.containers[0].image}')"
	assert_eq on "$(got configmap flags '{.data.dark}')" 'a new commit applies everything'
	agent_stop
}

cluster_begin
truce_begin drift
put_shop
commit 'shop'
agent_start --extra-paths report
agent_waits 60 'msg="synced"'
run_cases an_edited_value_goes_back a_removed_value_comes_back a_deleted_object_comes_back removed_marks_come_back \
	an_object_without_any_mark_is_still_known a_secret_is_healed_without_a_word_of_it \
	what_was_added_is_told_and_left_alone an_edited_port_is_told_by_name healing_costs_two_requests \
	a_daemon_that_only_looks_writes_nothing without_self_heal_only_commits_are_applied print_times

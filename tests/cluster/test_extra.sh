#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What people add by hand, on a real API server: self-heal removes exactly that, in one sync, and no patch of truce
# touches anything but managedFields. Leftovers of kubectl apply and of wiped managedFields hold nothing back.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

put_shop() {
	put web.yaml <<-'YAML'
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web}
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
		---
		apiVersion: v1
		kind: Service
		metadata: {name: web}
		spec:
		  selector: {app: web}
		  ports: [{name: http, port: 80, targetPort: 8080}]
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: flags}
		data: {dark: "on", size: "3"}
	YAML
}

owners_of() {
	kc admin get "$1" "$2" -n "$NS" --show-managed-fields -o jsonpath='{range .metadata.managedFields[*]}{.manager}/{.operation} {end}'
}

an_edited_port_is_gits_again_in_one_sync() {
	agent_mark
	mark
	as_edited 's/port:\ 80$/port:\ 83/' service web
	healed 'kubectl edit of a port, 80 to 83' "/Service/$NS/web"
	assert_eq 80 "$(got service web '{.spec.ports[*].port}')"
	assert_eq http "$(got service web '{.spec.ports[*].name}')"
	agent_waits 5 'msg="not in Git, removed"'
	agent_waits 5 '.spec.ports[port=83,protocol=\"TCP\"] (kubectl-edit)'
	if [ "$CLUSTER_KIND" != external ]; then
		# The patch that moves the item, and the apply; a read before them for the patch needs the object whole.
		assert_eq 2 "$(truce_requests --verb patch --resource services --namespace "$NS")" 'patches of one healed port'
		assert_eq 1 "$(truce_requests --verb get --resource services --namespace "$NS")" 'reads of one healed port'
	fi
}

a_variable_goes_by_every_tool() {
	agent_mark
	kc person set env deployment web -n "$NS" EXTRA=1 >/dev/null
	healed 'kubectl set env' "apps/Deployment/$NS/web"
	assert_eq LOG "$(got deployment web '{.spec.template.spec.containers[0].env[*].name}')"
	agent_mark
	kc person patch deployment web -n "$NS" --type strategic \
		-p '{"spec":{"minReadySeconds":7,"template":{"spec":{"containers":[{"name":"dbg","image":"dbg:1"}],"tolerations":[{"operator":"Exists"}]}}}}' >/dev/null
	healed 'kubectl patch: a container, tolerations, a field' "apps/Deployment/$NS/web"
	assert_eq web "$(got deployment web '{.spec.template.spec.containers[*].name}')"
	assert_eq '' "$(got deployment web '{.spec.template.spec.tolerations}{.spec.minReadySeconds}')"
}

a_replaced_object_keeps_only_gits_fields() {
	agent_mark
	kc person get configmap flags -n "$NS" -o json |
		python3 -c 'import json,sys; o=json.load(sys.stdin); o["data"]["zz"]="mine"; o["metadata"]["labels"]["mine"]="yes"; json.dump(o,sys.stdout)' |
		kc person replace -f - >/dev/null
	healed 'kubectl replace: a key' "/ConfigMap/$NS/flags"
	assert_eq '' "$(got configmap flags '{.data.zz}')"
	assert_eq yes "$(got configmap flags '{.metadata.labels.mine}')" 'a label that a person added'
}

labels_and_restarts_stay() {
	agent_mark
	kc person label deployment web -n "$NS" mine=yes >/dev/null
	agent_waits 20 '.metadata.labels.mine (kubectl-label)'
	kc person rollout restart deployment web -n "$NS" >/dev/null
	agent_waits 20 'restartedAt (kubectl-rollout)'
	sleep 1
	assert_eq yes "$(got deployment web '{.metadata.labels.mine}')"
	[ -n "$(got deployment web '{.spec.template.metadata.annotations.kubectl\.kubernetes\.io/restartedAt}')" ] ||
		fail 'the restart was reverted'
	! log_has 'msg="healed"' || fail 'something was healed'
}

what_an_operator_adds_stays() {
	agent_mark
	kc operator patch configmap flags -n "$NS" --field-manager my-operator --type merge -p '{"data":{"theirs":"x"}}' >/dev/null
	kc person patch configmap flags -n "$NS" --type merge -p '{"data":{"zz":"mine"}}' >/dev/null
	healed 'kubectl patch beside an operator' "/ConfigMap/$NS/flags"
	assert_eq x "$(got configmap flags '{.data.theirs}')"
	assert_eq '' "$(got configmap flags '{.data.zz}')"
}

diff_says_what_will_go() {
	agent_stop
	kc person patch configmap flags -n "$NS" --type merge -p '{"data":{"zz":"mine"}}' >/dev/null
	as_edited 's/port:\ 80$/port:\ 83/' service web
	mark
	truce diff
	assert_eq 1 "$RC" 'exit status of diff'
	says 'zz'
	says 'will be removed'
	says '83'
	[ "$CLUSTER_KIND" = external ] || assert_eq 0 "$(truce_writes)" 'writes of a diff'
	assert_eq 83 "$(got service web '{.spec.ports[*].port}')"
	truce_ok sync
	says 'removed'
	assert_eq 80 "$(got service web '{.spec.ports[*].port}')"
	assert_eq '' "$(got configmap flags '{.data.zz}')"
	truce diff
	assert_eq 0 "$RC" 'exit status of diff afterwards'
}

with_extra_paths_reported_nothing_goes() {
	agent_start --extra-paths report
	agent_waits 30 'msg="synced"'
	agent_mark
	kc person patch configmap flags -n "$NS" --type merge -p '{"data":{"zz":"mine"}}' >/dev/null
	agent_waits 20 'msg="not in Git, left alone"'
	sleep 1
	assert_eq mine "$(got configmap flags '{.data.zz}')"
	agent_stop
	agent_start
	agent_waits 30 'msg="synced"'
	wait_until 20 zz_is_gone
}

zz_is_gone() {
	[ -z "$(got configmap flags '{.data.zz}')" ]
}

# An object that kubectl apply made, and keeps owning: after the first sync Git's later removal takes effect at once.
leftovers_of_kubectl_apply_hold_nothing() {
	agent_stop
	kc person apply -n "$NS" -f - >/dev/null <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: old, annotations: {note: mine}}
		data: {a: "1", b: "2", mine: x}
	YAML
	put old.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: old}
		data: {a: "1", b: "2"}
	YAML
	commit 'adopt old'
	agent_start
	agent_waits 30 'msg="synced"'
	wait_until 20 last_applied_is_gone
	assert_eq x "$(got configmap old '{.data.mine}')" 'what an adopted object had'
	assert_eq mine "$(got configmap old '{.metadata.annotations.note}')"
	put old.yaml <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: old}
		data: {a: "1"}
	YAML
	commit 'b goes'
	wait_until 30 b_is_gone
	assert_eq 1 "$(got configmap old '{.data.a}')"
	owners_of configmap old
	printf '\n'
}

last_applied_is_gone() {
	[ -z "$(got configmap old '{.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}')" ]
}

b_is_gone() {
	[ -z "$(got configmap old '{.data.b}')" ]
}

# managedFields wiped as `kubectl` scripts do, and a value changed by nobody: Git's comes back.
wiped_managed_fields_are_nobodys() {
	agent_stop
	kc person patch configmap old -n "$NS" --type merge -p '{"data":{"a":"9"},"metadata":{"managedFields":[{}]}}' >/dev/null
	agent_mark
	agent_start
	wait_until 30 a_is_gits
	case $(owners_of configmap old) in
	*truce/Apply*) ;;
	*) fail 'truce owns nothing' ;;
	esac
}

a_is_gits() {
	[ "$(got configmap old '{.data.a}')" = 1 ]
}

# Every JSON patch that truce sent replaces resourceVersion and managedFields and nothing else.
patches_touch_managed_fields_only() {
	cluster_needs own
	cluster audit --lines --user truce --verb patch --namespace "$NS" | python3 -c '
import json, sys
count = 0
for line in sys.stdin:
    body = json.loads(line).get("requestObject")
    if not isinstance(body, list):
        continue
    count += 1
    paths = [op["path"] for op in body]
    if paths != ["/metadata/resourceVersion", "/metadata/managedFields"]:
        sys.exit("a patch of " + ", ".join(paths))
print(f"{count} JSON patches, all of managedFields")
sys.exit(0 if count >= 6 else "only so few")
'
}

cluster_begin
truce_begin extra
put_shop
commit 'shop'
agent_start
agent_waits 60 'msg="synced"'
run_cases an_edited_port_is_gits_again_in_one_sync a_variable_goes_by_every_tool a_replaced_object_keeps_only_gits_fields \
	labels_and_restarts_stay what_an_operator_adds_stays diff_says_what_will_go with_extra_paths_reported_nothing_goes \
	leftovers_of_kubectl_apply_hold_nothing wiped_managed_fields_are_nobodys patches_touch_managed_fields_only print_times

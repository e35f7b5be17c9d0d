#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `truce owners` on a real API server: a Deployment that an autoscaler, a person, another deployer, an admission webhook and
# the server's defaults share with Git. What it says is held against managedFields, against what a sync then does, and the
# rule that it prints is pasted. Then ownership rules: hand-over, hold, take-back.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$(dirname "${BASH_SOURCE[0]}")/truce.sh"

HOLD=4
RULES=()

put_web() {
	put web.yaml <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web, labels: {team: shop}}
		spec:
		  replicas: 2
		  minReadySeconds: ${2:-1}
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}, annotations: {podsim.truce.dev/hold: pending}}
		    spec:
		      containers:
		      - name: web
		        image: $1
		        env:
		        - {name: LOG, value: info}
	YAML
}

put_hpa() {
	put hpa.yaml <<-YAML
		apiVersion: autoscaling/v2
		kind: HorizontalPodAutoscaler
		metadata: {name: web}
		spec:
		  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
		  minReplicas: 1
		  maxReplicas: 9
		  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
	YAML
}

# A webhook that adds a container to Deployments of this namespace which have the label sidecar.
serve_webhook() {
	local port
	port=$(free_port)
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$WORK/hook.key" -out "$WORK/hook.pem" -days 2 -subj /CN=hook \
		-addext 'subjectAltName=IP:127.0.0.1' 2>/dev/null
	cat >"$WORK/hook.py" <<-'PY'
		import base64, http.server, json, ssl, sys
		class Hook(http.server.BaseHTTPRequestHandler):
		    def do_POST(self):
		        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
		        request = review["request"]
		        containers = request["object"]["spec"]["template"]["spec"]["containers"]
		        reply = {"uid": request["uid"], "allowed": True}
		        if not any(c["name"] == "proxy" for c in containers):
		            patch = [{"op": "add", "path": "/spec/template/spec/containers/-",
		                      "value": {"name": "proxy", "image": "proxy:1"}}]
		            reply.update(patchType="JSONPatch", patch=base64.b64encode(json.dumps(patch).encode()).decode())
		        body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": reply}).encode()
		        self.send_response(200)
		        self.send_header("Content-Type", "application/json")
		        self.send_header("Content-Length", str(len(body)))
		        self.end_headers()
		        self.wfile.write(body)
		    def log_message(self, *args):
		        pass
		server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Hook)
		context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
		context.load_cert_chain(sys.argv[2], sys.argv[3])
		server.socket = context.wrap_socket(server.socket, server_side=True)
		server.serve_forever()
	PY
	python3 "$WORK/hook.py" "$port" "$WORK/hook.pem" "$WORK/hook.key" &
	wait_until 10 curl -sk -o "$WORK/hook.out" "https://127.0.0.1:$port/"
	kc admin apply -f - >/dev/null <<-YAML
		apiVersion: admissionregistration.k8s.io/v1
		kind: MutatingWebhookConfiguration
		metadata: {name: $NS}
		webhooks:
		- name: sidecar.example.test
		  clientConfig: {url: "https://127.0.0.1:$port/", caBundle: $(base64 -w0 "$WORK/hook.pem")}
		  failurePolicy: Fail
		  sideEffects: None
		  admissionReviewVersions: [v1]
		  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $NS}}
		  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
	YAML
}

end_webhook() {
	kc admin delete mutatingwebhookconfiguration "$NS" --ignore-not-found >/dev/null
}

# The webhook must not outlive the test: nothing else of the cluster asks it, but it would be there.
end_all() {
	local status=$?
	end_webhook || true
	truce_end "$status"
}

rules() {
	{
		printf 'apiVersion: truce.dev/v1alpha1\nkind: Agent\nmetadata: {name: truce}\nspec:\n  ownership:\n    rules:\n'
		printf '    - %s\n' "$@"
	} >"$WORK/agent.yaml"
	RULES=(--config "$WORK/agent.yaml")
}

no_rules() {
	RULES=()
}

owners() {
	truce_ok owners deploy/web ${RULES[@]+"${RULES[@]}"} "$@"
}

# row PATH: its line, blanks as one.
row() {
	grep -F -- "$1 " <<<"$OUT" | head -n 1 | tr -s ' '
}

row_is() {
	[[ $(row "$1") == *"$2"* ]] || fail "the row of $1 lacks '$2': $(row "$1")"
}

managers_of() {
	kc admin get deployment web -n "$NS" --show-managed-fields -o json | python3 -c '
import json, sys
want = sys.argv[1]
for e in json.load(sys.stdin)["metadata"]["managedFields"]:
    if want in json.dumps(e["fieldsV1"]):
        print(e["manager"])' "$1"
}

a_shared_deployment_comes_to_be() {
	put_web web:1
	put_hpa
	commit first
	serve_webhook
	truce_ok sync --create-namespace
	kc operator patch deployment web -n "$NS" --subresource=scale --type=merge -p '{"spec":{"replicas":6}}' \
		--field-manager=kube-controller-manager >/dev/null
	kc person patch deployment web -n "$NS" --field-manager=kubectl-edit -p \
		'{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"LOG","value":"debug"},{"name":"X","value":"1"}]}]}}}}' \
		>/dev/null
	kc operator apply --server-side --force-conflicts --field-manager=argocd-controller -f - >/dev/null <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web, namespace: $NS, labels: {team: platform}}
	YAML
}

each_owner_is_named_with_what_truce_does() {
	mark
	owners
	assert_eq 0 "$(truce_writes)" 'writes of truce owners'
	assert_eq 0 "$(truce_dry_runs)" 'dry-runs of truce owners'
	row_is spec.replicas "HPA $NS/web (scale)"
	row_is spec.replicas 'yields built-in: a scaler owns replicas'
	row_is 'spec.template.spec.containers[web].image' 'enforces deploy/web.yaml:13'
	row_is 'spec.template.spec.containers[web].env[LOG].value' 'kubectl-edit (a person)'
	row_is 'spec.template.spec.containers[web].env[LOG].value' 'takes back built-in: '
	row_is 'spec.template.spec.containers[web].env[X]' 'kubectl-edit (a person)'
	row_is 'spec.template.spec.containers[proxy]' 'nobody (admission) – ignores built-in: admission'
	row_is metadata.labels.team 'argocd-controller (a deployer)'
	row_is metadata.labels.team 'reports built-in: another owner is left alone'
	says "more paths are the API server's defaults"
	says "path: '.metadata.labels.team', action: yield}"
	owners --all
	row_is spec.strategy.type 'nobody (default) – ignores –'
	row_is spec.progressDeadlineSeconds 'nobody (default)'
}

kinds_are_called_as_in_kubectl() {
	local word
	for word in deployment/web Deployments.apps/web deployments.v1.apps/web; do
		truce_ok owners "$word"
		says 'spec.replicas'
	done
	truce owners deploy/wbe
	assert_eq 2 "$RC" 'exit status for an object that nobody wants'
	says 'did you mean web?'
	truce owners deploi/web
	says "no kind called 'deploi'"
}

# Each path's owners as JSON has them, against a reading of managedFields of this script's own.
json_agrees_with_managed_fields() {
	owners --all -o json
	printf '%s' "$OUT" >"$WORK/owners.json"
	kc admin get deployment web -n "$NS" --show-managed-fields -o json >"$WORK/live.json"
	python3 - "$WORK/owners.json" "$WORK/live.json" <<-'PY'
		import json, sys
		said, live = (json.load(open(f)) for f in sys.argv[1:])
		def paths(fields, at):
		    for key, below in fields.items():
		        if key == ".":
		            yield at
		            continue
		        kind, text = key.split(":", 1)
		        if kind == "f":
		            step = '["%s"]' % text if any(c in text for c in '.["]') else "." + text
		        elif kind == "k":
		            step = "[" + ",".join("%s=%s" % (k, json.dumps(v)) for k, v in sorted(json.loads(text).items())) + "]"
		        else:
		            step = "[=%s]" % text
		        if below:
		            yield from paths(below, at + step)
		        else:
		            yield at + step
		owners = {}
		for entry in live["metadata"]["managedFields"]:
		    for path in paths(entry["fieldsV1"], ""):
		        owners.setdefault(path, set()).add((entry["manager"], entry["operation"], entry.get("subresource", "")))
		rows = {r["path"]: {(o["manager"], o["operation"], o.get("subresource", "")) for o in r["owners"]} for r in said["paths"]}
		leaves = {p for p in owners if not p.startswith(".status") and not any(q != p and q.startswith(p) and q[len(p)] in ".[" for q in owners)}
		missing = leaves - rows.keys()
		wrong = {p: (owners.get(p, set()), rows[p]) for p in rows if owners.get(p, set()) != rows[p]}
		assert not missing, missing
		assert not wrong, wrong
		assert len(rows) > 20
	PY
}

status_and_metrics_tell_it() {
	local port
	port=$(free_port)
	agent_start --no-self-heal --listen "127.0.0.1:$port"
	agent_waits 30 'msg="latency"'
	wait_until 20 status_says "report: deploy/web -n $NS metadata.labels.team, owned by argocd-controller"
	curl -fs "http://127.0.0.1:$port/metrics" >"$WORK/metrics"
	grep -qx 'truce_yielded_paths{application="shop"} 1' "$WORK/metrics" || fail "$(grep truce_yielded "$WORK/metrics")"
	grep -qx 'truce_reported_paths{application="shop"} 1' "$WORK/metrics" || fail "$(grep truce_reported "$WORK/metrics")"
	grep -q '^truce_handover_total{result="done"} ' "$WORK/metrics"
	agent_stop
}

status_says() {
	truce status
	[[ $OUT == *"$1"* ]]
}

the_printed_rules_are_pasted_and_settle_it() {
	local printed
	owners
	mapfile -t printed < <(sed -n 's/^  - \({.*}\)$/\1/p' <<<"$OUT")
	assert_eq 1 "${#printed[@]}" 'printed rules'
	rules "${printed[@]}"
	owners
	row_is metadata.labels.team "yields $WORK/agent.yaml:7"
	! grep -q 'paste to settle' <<<"$OUT" || fail 'there is something to settle'
	truce_ok sync "${RULES[@]}"
	assert_eq platform "$(got deployment web '{.metadata.labels.team}')"
	truce diff "${RULES[@]}"
	assert_eq 0 "$RC" 'exit status of diff'
	says "$WORK/agent.yaml:7"
}

what_it_said_came_true() {
	assert_eq info "$(got deployment web '{.spec.template.spec.containers[?(@.name=="web")].env[?(@.name=="LOG")].value}')"
	assert_eq 6 "$(got deployment web '{.spec.replicas}')"
	assert_eq '' "$(got deployment web '{.spec.template.spec.containers[?(@.name=="web")].env[?(@.name=="X")].value}')"
	assert_eq 'web proxy' "$(got deployment web '{.spec.template.spec.containers[*].name}')"
	owners
	row_is 'spec.template.spec.containers[web].env' 'truce'
	! grep -q 'env\[X\]' <<<"$OUT" || fail 'what was removed is still told'
}

a_newly_yielded_path_is_handed_over() {
	rules '{kind: Deployment, path: .spec.minReadySeconds, action: yield}'
	owners
	row_is spec.minReadySeconds "hands over $WORK/agent.yaml:7"
	truce_ok sync "${RULES[@]}"
	assert_eq truce-keeper "$(managers_of '"f:minReadySeconds"')" 'owner of minReadySeconds'
	assert_eq 1 "$(got deployment web '{.spec.minReadySeconds}')"
	put_web web:2 5
	commit 'another number, and an image'
	truce_ok sync "${RULES[@]}"
	assert_eq 1 "$(got deployment web '{.spec.minReadySeconds}')" 'what is yielded'
	assert_eq web:2 "$(got deployment web '{.spec.template.spec.containers[?(@.name=="web")].image}')"
	owners
	row_is spec.minReadySeconds 'truce-keeper (kept)'
	row_is spec.minReadySeconds "yields $WORK/agent.yaml:7"
}

when_the_rule_goes_the_path_comes_back_after_the_hold() {
	no_rules
	truce_ok sync --replicas-hold "${HOLD}s"
	assert_eq 1 "$(got deployment web '{.spec.minReadySeconds}')" 'under the hold'
	owners --replicas-hold "${HOLD}s"
	row_is spec.minReadySeconds 'holds built-in: the rule that left it'
	sleep "$HOLD"
	truce_ok sync --replicas-hold "${HOLD}s"
	assert_eq 5 "$(got deployment web '{.spec.minReadySeconds}')" 'after the hold'
	assert_eq truce "$(managers_of '"f:minReadySeconds"')" 'owner of minReadySeconds'
}

# A rule of the repository's own is nobody's rule.
the_synced_repository_makes_no_rules() {
	sed -i 's/^metadata: {name: web, /metadata: {name: web, annotations: {truce.dev\/ownership: "[{path: .spec.minReadySeconds, action: yield}]"}, /' \
		"$REPO/deploy/web.yaml"
	put agent.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: rules, annotations: {truce.dev/ownership: "[{action: yield}]"}}
	YAML
	commit 'rules in Git'
	truce_ok sync
	owners
	row_is spec.minReadySeconds 'enforces deploy/web.yaml:6'
}

cluster_begin --podsim-delay=200ms # asking for a flag makes it private: a webhook concerns everybody on a cluster
cluster_needs private
truce_begin owners
trap end_all EXIT
run_cases a_shared_deployment_comes_to_be each_owner_is_named_with_what_truce_does kinds_are_called_as_in_kubectl \
	json_agrees_with_managed_fields status_and_metrics_tell_it the_printed_rules_are_pasted_and_settle_it what_it_said_came_true \
	a_newly_yielded_path_is_handed_over when_the_rule_goes_the_path_comes_back_after_the_hold \
	the_synced_repository_makes_no_rules

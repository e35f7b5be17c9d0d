#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From documents to a Git server: authorities of argocd-tls-certs-cm, a client certificate and a token of a repository Secret.
# No sandbox and no cluster is needed: `truce render` reads Git alone.
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

FRONT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../unit/git" && pwd)/tls_front.py

truce_flags() {
	printf '%s\n' --config "$WORK/etc" --data-dir "$WORK/data"
}

end_servers() {
	local status=$?
	[ -z "${SERVERS-}" ] || kill $SERVERS 2>/dev/null || true
	[ "$status" -eq 0 ] || { printf 'not ok - %s\n' "$test_case"; printf '%s\n' "$OUT" >&2; }
	rm -rf "$WORK"
	exit "$status"
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

is_served() {
	curl -fs "http://127.0.0.1:$1/cgi-bin/git/repo/.git/info/refs?service=git-upload-pack" | grep -aq service=git-upload-pack
}

it_is_served() {
	local port
	trap end_servers EXIT
	put map.yaml <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: served}
	YAML
	commit first
	mkdir -p "$WORK/web/cgi-bin" "$WORK/tls" "$WORK/etc"
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
	SERVERS=$!
	wait_until 10 is_served "$port"
	python3 "$FRONT" "$WORK/tls" "$port" &
	SERVERS="$SERVERS $!"
	wait_until 20 test -s "$WORK/tls/ports"
	read -r STRICT LENIENT <"$WORK/tls/ports"
}

# application PORT
application() {
	URL=https://localhost:$1/cgi-bin/git/repo/.git
	cat >"$WORK/etc/app.yaml" <<-YAML
		apiVersion: argoproj.io/v1alpha1
		kind: Application
		metadata: {name: served}
		spec:
		  source: {repoURL: "$URL", path: deploy, targetRevision: main}
		  destination: {namespace: shop}
	YAML
}

# authority FILE
authority() {
	cat >"$WORK/etc/certs.yaml" <<-YAML
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: argocd-tls-certs-cm}
		data:
		  localhost: |
		$(sed 's/^/    /' "$1")
	YAML
}

# secret LINE…: beside its url, indented by two.
secret() {
	cat >"$WORK/etc/secret.yaml" <<-YAML
		apiVersion: v1
		kind: Secret
		metadata: {name: served, labels: {argocd.argoproj.io/secret-type: repository}}
		stringData:
		  url: $URL
		$(printf '%s\n' "$@")
	YAML
}

renders() {
	truce_ok render
	says 'name: served'
}

a_server_is_trusted_by_the_config_map() {
	application "$LENIENT"
	truce render
	assert_eq 2 "$RC" 'exit status'
	says 'its TLS certificate cannot be trusted'
	authority "$WORK/tls/ca.pem"
	renders
	authority "$WORK/tls/other.pem"
	truce render --git-ca "$WORK/tls/ca.pem"
	assert_eq 2 "$RC" 'exit status with another authority'
}

an_insecure_one_is_read_and_warned_of() {
	secret '  insecure: "true"'
	renders
	says 'secret.yaml:6: insecure: the certificate of localhost is not checked'
}

a_client_certificate_opens_the_door() {
	application "$STRICT"
	authority "$WORK/tls/ca.pem"
	secret '  username: me'
	truce render
	assert_eq 2 "$RC" 'exit status without one'
	secret '  tlsClientCertData: |' "$(sed 's/^/    /' "$WORK/tls/client.pem")" \
		'  tlsClientCertKey: |' "$(sed 's/^/    /' "$WORK/tls/client.key")"
	renders
}

run_cases it_is_served a_server_is_trusted_by_the_config_map an_insecure_one_is_read_and_warned_of \
	a_client_certificate_opens_the_door

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# objects.sh COUNT NAMESPACE json|yaml: the mix that is measured with: of ten objects four ConfigMaps, two Deployments
# (no replicas), two Services, a ServiceAccount and a Role.
set -euo pipefail
count=$1 namespace=$2 form=$3

awk -v count="$count" -v ns="$namespace" -v form="$form" '
	function emit(text) { printf form == "yaml" ? "---\n%s\n" : "%s\n", text }
	function meta(name) { return "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"" ns "\",\"labels\":{\"app\":\"" name "\"}}" }
	BEGIN {
		for (i = 0; i < count; i++) {
			k = i % 10; name = "o" i
			if (k < 4)
				emit("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," meta(name) ",\"data\":{\"index\":\"" i \
					"\",\"text\":\"some words that stand in a configuration file, more or less\"}}")
			else if (k < 6)
				emit("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"," meta(name) ",\"spec\":{\"replicas\":0," \
					"\"selector\":{\"matchLabels\":{\"app\":\"" name "\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"" name \
					"\"}},\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"registry.example/app:1." i "\"," \
					"\"env\":[{\"name\":\"INDEX\",\"value\":\"" i "\"},{\"name\":\"MODE\",\"value\":\"plain\"}]," \
					"\"ports\":[{\"containerPort\":8080}],\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"}}}]}}}}")
			else if (k < 8)
				emit("{\"apiVersion\":\"v1\",\"kind\":\"Service\"," meta(name) ",\"spec\":{\"selector\":{\"app\":\"" name \
					"\"},\"ports\":[{\"port\":80,\"targetPort\":8080}]}}")
			else if (k < 9)
				emit("{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\"," meta(name) "}")
			else
				emit("{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"Role\"," meta(name) \
					",\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\",\"list\"]}]}")
		}
	}'

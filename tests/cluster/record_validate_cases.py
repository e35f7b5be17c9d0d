# SPDX-License-Identifier: Apache-2.0
"""The faults for record_validate.py: SPECS maps a file's stem to a base object and changes (pointer: value)."""
import random

SPECS = {}
A64 = "a" * 64
A254 = "a" * 254


def spec(stem, plural, namespaced, base, cases, **more):
    SPECS[stem] = dict(plural=plural, namespaced=namespaced, base=base, cases=cases, **more)


def obj(api, kind, name, namespaced=True, **rest):
    meta = {"name": name}
    if namespaced:
        meta["namespace"] = "default"
    return dict(apiVersion=api, kind=kind, metadata=meta, **rest)


def template(labels=None, **spec_fields):
    spec_ = {"containers": [{"name": "main", "image": "registry.test/app:1"}]}
    spec_.update(spec_fields)
    return {"metadata": {"labels": labels or {"app": "web"}}, "spec": spec_}


META = [
    ("a_name_with_capitals", {"/metadata/name": "Web"}),
    ("a_name_with_an_underscore_and_a_dot", {"/metadata/name": "web_1.x"}),
    ("a_name_too_long", {"/metadata/name": A254}),
    ("a_name_ends_in_a_dash", {"/metadata/name": "web-"}),
    ("a_name_with_a_slash", {"/metadata/name": "a/b"}),
    ("a_generate_name_that_is_bad", {"/metadata/generateName": "Bad_"}),
    ("a_label_key_with_two_slashes", {"/metadata/labels": {"a/b/c": "x"}}),
    ("a_label_key_without_name", {"/metadata/labels": {"example.com/": "x"}}),
    ("a_label_key_with_empty_prefix", {"/metadata/labels": {"/x": "x"}}),
    ("a_label_key_with_bad_prefix", {"/metadata/labels": {"Example_/x": "x"}}),
    ("a_label_key_too_long", {"/metadata/labels": {A64: "x"}}),
    ("a_label_value_with_a_blank", {"/metadata/labels": {"a": "b c"}}),
    ("a_label_value_too_long", {"/metadata/labels": {"a": A64}}),
    ("two_bad_labels", {"/metadata/labels": {"a b": "c d"}}),
    ("an_annotation_key_that_is_bad", {"/metadata/annotations": {"Bad Key": "x"}}),
    ("an_annotation_key_with_capitals_is_fine", {"/metadata/annotations": {"Example.COM/Key": "x"}}),
    ("annotations_too_long", {"/metadata/annotations": {"a": {"$repeat": ["x", 262144]}}}),
    ("an_owner_without_anything", {"/metadata/ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}),
    ("an_owner_with_a_bad_version", {"/metadata/ownerReferences": [{"apiVersion": "apps/", "kind": "A", "name": "a",
                                                                    "uid": "u"}]}),
    ("an_owner_that_is_an_event", {"/metadata/ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a",
                                                                  "uid": "u"}]}),
    ("two_controllers", {"/metadata/ownerReferences": [
        {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u", "controller": True},
        {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "v", "controller": True, "blockOwnerDeletion": True}]}),
    ("a_finalizer_without_domain_is_fine", {"/metadata/finalizers": ["plain"]}),
    ("a_finalizer_with_a_blank", {"/metadata/finalizers": ["a b"]}),
    ("finalizers_that_contradict", {"/metadata/finalizers": ["orphan", "foregroundDeletion"]}),
    ("a_quote_in_a_label", {"/metadata/labels": {"a": "x\"y\n<z>"}}),
]

spec("configmap", "configmaps", True, obj("v1", "ConfigMap", "conf", data={"a": "b"}), META + [
    ("nothing_wrong", {}),
    ("a_key_with_a_blank", {"/data": {"a b": "x"}}),
    ("a_key_that_is_a_dot", {"/data": {".": "x"}}),
    ("a_key_that_goes_up", {"/data": {"..x": "x"}}),
    ("a_key_too_long", {"/data": {A254: "x"}}),
    ("a_key_in_both_maps", {"/data": {"a": "x"}, "/binaryData": {"a": "eA=="}}),
    ("a_binary_key_that_is_bad", {"/binaryData": {"a/b": "eA=="}}),
    ("too_much_data", {"/data": {"a": {"$repeat": ["x", 1048577]}}}),
    ("a_bad_name_and_a_bad_key", {"/metadata/name": "A", "/data": {"a b": "x"}, "/metadata/labels": {"a": "?"}}),
])
spec("configmap_update", "configmaps", True,
     obj("v1", "ConfigMap", "conf-u", data={"a": "b"}, immutable=True), [
         ("nothing_changed", {}),
         ("immutable_data", {"/data/a": "c"}),
         ("immutable_is_taken_back", {"/immutable": False}),
         ("all_of_it", {"/immutable": None, "/data/a": "c", "/binaryData": {"x": "eA=="}}),
         ("a_bad_label_on_update", {"/metadata/labels": {"a": "?"}}),
         ("a_bad_label_and_owner_and_finalizer", {
             "/metadata/labels": {"a": "?"}, "/metadata/finalizers": ["x y"],
             "/metadata/ownerReferences": [{"apiVersion": "", "kind": "K", "name": "n", "uid": "u"}]}),
         ("a_deletion_timestamp_is_set", {"/metadata/deletionTimestamp": "2026-01-01T00:00:00Z"}),
         ("a_deletion_grace_is_set", {"/metadata/deletionGracePeriodSeconds": 5}),
     ], live=True)

spec("secret", "secrets", True, obj("v1", "Secret", "sec", data={"a": "eA=="}), [
    ("nothing_wrong", {}),
    ("a_bad_key", {"/data": {"a b": "eA=="}}),
    ("too_much_data", {"/data": {"a": {"$repeat": ["eHh4", 358400]}}}),
    ("tls_without_anything", {"/type": "kubernetes.io/tls"}),
    ("tls_without_a_key", {"/type": "kubernetes.io/tls", "/data": {"tls.crt": "eA=="}}),
    ("basic_auth_without_anything", {"/type": "kubernetes.io/basic-auth"}),
    ("basic_auth_with_a_user", {"/type": "kubernetes.io/basic-auth", "/data": {"username": "eA=="}}),
    ("ssh_auth_without_a_key", {"/type": "kubernetes.io/ssh-auth"}),
    ("dockercfg_without_a_file", {"/type": "kubernetes.io/dockercfg"}),
    ("dockerconfigjson_without_a_file", {"/type": "kubernetes.io/dockerconfigjson"}),
    ("dockerconfigjson_that_is_fine", {"/type": "kubernetes.io/dockerconfigjson",
                                       "/data": {".dockerconfigjson": "e30="}}),
    ("token_without_account", {"/type": "kubernetes.io/service-account-token"}),
])
spec("secret_update", "secrets", True, obj("v1", "Secret", "sec-u", data={"a": "eA=="}, immutable=True), [
    ("type_changes", {"/type": "other"}),
    ("immutable_data", {"/data/a": "eQ=="}),
    ("immutable_is_taken_back", {"/immutable": None}),
], live=True)

POD = obj("v1", "Pod", "web", spec={
    "serviceAccountName": "default", "automountServiceAccountToken": False,
    "containers": [{"name": "main", "image": "registry.test/app:1"}]})
C = "/spec/containers/0"
POD_CASES = [
    ("nothing_wrong", {}),
    ("no_containers", {"/spec/containers": []}),
    ("a_container_without_name", {C + "/name": None}),
    ("a_container_without_image", {C + "/image": None}),
    ("a_container_with_a_bad_name", {C + "/name": "Main_1"}),
    ("a_container_named_with_dots", {C + "/name": "a.b"}),
    ("two_containers_of_one_name", {"/spec/containers/1": {
        "name": "main", "image": "x", "imagePullPolicy": "Always", "terminationMessagePolicy": "File",
        "terminationMessagePath": "/x"}}),
    ("an_image_with_a_blank", {C + "/image": " x"}),
    ("an_unknown_pull_policy", {C + "/imagePullPolicy": "Sometimes"}),
    ("an_unknown_message_policy", {C + "/terminationMessagePolicy": "None"}),
    ("an_unknown_restart_policy", {"/spec/restartPolicy": "Maybe"}),
    ("an_unknown_dns_policy", {"/spec/dnsPolicy": "Maybe"}),
    ("dns_none_without_config", {"/spec/dnsPolicy": "None"}),
    ("dns_none_without_servers", {"/spec/dnsPolicy": "None", "/spec/dnsConfig": {}}),
    ("a_dns_server_that_is_none", {"/spec/dnsConfig": {"nameservers": ["x"]}}),
    ("too_many_dns_servers", {"/spec/dnsConfig": {"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]}}),
    ("a_dns_search_that_is_bad", {"/spec/dnsConfig": {"searches": ["a b"]}}),
    ("a_port_without_number", {C + "/ports": [{"name": "http", "protocol": "TCP", "containerPort": 0}]}),
    ("a_port_out_of_range", {C + "/ports": [{"containerPort": 70000, "protocol": "TCP"}]}),
    ("a_host_port_out_of_range", {C + "/ports": [{"containerPort": 80, "hostPort": 70000, "protocol": "TCP"}]}),
    ("an_unknown_protocol", {C + "/ports": [{"containerPort": 80, "protocol": "ICMP"}]}),
    ("port_names_twice", {C + "/ports": [{"name": "a", "containerPort": 80, "protocol": "TCP"},
                                         {"name": "a", "containerPort": 81, "protocol": "TCP"}]}),
    ("a_bad_port_name", {C + "/ports": [{"name": "Very--Long-Port-Name-", "containerPort": 80, "protocol": "TCP"}]}),
    ("a_port_name_of_digits", {C + "/ports": [{"name": "80", "containerPort": 80, "protocol": "TCP"}]}),
    ("host_ports_twice", {C + "/ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
                                         {"containerPort": 81, "hostPort": 80, "protocol": "TCP"}]}),
    ("an_env_without_name", {C + "/env": [{"value": "x"}]}),
    ("an_env_with_a_bad_name", {C + "/env": [{"name": "A=B"}]}),
    ("an_env_twice_is_fine", {C + "/env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}),
    ("an_env_with_value_and_source", {C + "/env": [{"name": "A", "value": "1", "valueFrom": {
        "configMapKeyRef": {"name": "c", "key": "k"}}}]}),
    ("an_env_without_source", {C + "/env": [{"name": "A", "valueFrom": {}}]}),
    ("an_env_with_two_sources", {C + "/env": [{"name": "A", "valueFrom": {
        "configMapKeyRef": {"name": "c", "key": "k"}, "secretKeyRef": {"name": "c", "key": "k"}}}]}),
    ("an_env_key_that_is_bad", {C + "/env": [{"name": "A", "valueFrom": {
        "configMapKeyRef": {"name": "C", "key": "k k"}}}]}),
    ("an_env_key_without_name_and_key", {C + "/env": [{"name": "A", "valueFrom": {
        "secretKeyRef": {"name": "", "key": ""}}}]}),
    ("an_env_field_that_is_not_offered", {C + "/env": [{"name": "A", "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}}]}),
    ("an_env_field_that_does_not_exist", {C + "/env": [{"name": "A", "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": "spec.x"}}}]}),
    ("an_env_field_with_subscript", {C + "/env": [{"name": "A", "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['a']"}}}]}),
    ("an_env_field_with_bad_subscript", {C + "/env": [{"name": "A", "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['a b']"}}}]}),
    ("an_env_resource_that_does_not_exist", {C + "/env": [{"name": "A", "valueFrom": {
        "resourceFieldRef": {"resource": "limits.gpu", "divisor": "0"}}}]}),
    ("an_env_divisor_that_is_bad", {C + "/env": [{"name": "A", "valueFrom": {
        "resourceFieldRef": {"resource": "limits.cpu", "divisor": "2m"}}}]}),
    ("an_env_from_without_source", {C + "/envFrom": [{}]}),
    ("an_env_from_with_two_sources", {C + "/envFrom": [{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}]}),
    ("an_env_from_without_name", {C + "/envFrom": [{"configMapRef": {"name": ""}}]}),
    ("a_request_above_the_limit", {C + "/resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}),
    ("a_negative_limit", {C + "/resources": {"limits": {"memory": "-1"}, "requests": {"memory": "-1"}}}),
    ("an_unknown_resource", {C + "/resources": {"limits": {"bananas": "1"}, "requests": {"bananas": "1"}}}),
    ("a_resource_for_quotas_only", {C + "/resources": {"limits": {"pods": "1"}, "requests": {"pods": "1"}}}),
    ("an_extended_resource_that_is_no_whole", {C + "/resources": {"limits": {"example.com/gpu": "1500m"},
                                                                  "requests": {"example.com/gpu": "1500m"}}}),
    ("an_extended_resource_without_limit", {C + "/resources": {"requests": {"example.com/gpu": "1"}}}),
    ("an_extended_resource_overcommitted", {C + "/resources": {"limits": {"example.com/gpu": "2"},
                                                               "requests": {"example.com/gpu": "1"}}}),
    ("huge_pages_alone", {C + "/resources": {"limits": {"hugepages-2Mi": "2Mi"}, "requests": {"hugepages-2Mi": "2Mi"}}}),
    ("a_volume_without_name", {"/spec/volumes": [{"emptyDir": {}}]}),
    ("a_volume_with_a_bad_name", {"/spec/volumes": [{"name": "V_1", "emptyDir": {}}]}),
    ("a_volume_with_two_sources", {"/spec/volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x", "type": ""}}]}),
    ("volumes_of_one_name", {"/spec/volumes": [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]}),
    ("a_negative_empty_dir", {"/spec/volumes": [{"name": "v", "emptyDir": {"sizeLimit": "-1"}}]}),
    ("a_host_path_without_path", {"/spec/volumes": [{"name": "v", "hostPath": {"path": "", "type": ""}}]}),
    ("a_host_path_that_goes_up", {"/spec/volumes": [{"name": "v", "hostPath": {"path": "/a/../b", "type": "X"}}]}),
    ("a_secret_volume_without_name", {"/spec/volumes": [{"name": "v", "secret": {"defaultMode": 420}}]}),
    ("a_secret_volume_with_a_bad_mode", {"/spec/volumes": [{"name": "v", "secret": {
        "secretName": "s", "defaultMode": 1000}}]}),
    ("a_config_map_volume_with_bad_items", {"/spec/volumes": [{"name": "v", "configMap": {
        "name": "", "defaultMode": 420, "items": [{"key": "", "path": "/abs"}, {"key": "k", "path": "../x"},
                                                  {"key": "k", "path": "..x", "mode": 2000}]}}]}),
    ("a_claim_without_name", {"/spec/volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": ""}}]}),
    ("an_nfs_volume_with_nothing", {"/spec/volumes": [{"name": "v", "nfs": {"server": "", "path": ""}}]}),
    ("a_downward_file_with_nothing", {"/spec/volumes": [{"name": "v", "downwardAPI": {
        "defaultMode": 420, "items": [{"path": "x"}]}}]}),
    ("a_downward_field_not_offered", {"/spec/volumes": [{"name": "v", "downwardAPI": {
        "defaultMode": 420, "items": [{"path": "x", "fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}]}}]}),
    ("projected_paths_that_collide", {"/spec/volumes": [{"name": "v", "projected": {"defaultMode": 420, "sources": [
        {"configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}},
        {"secret": {"name": "b", "items": [{"key": "k", "path": "p"}]}}]}}]}),
    ("a_projected_source_with_two", {"/spec/volumes": [{"name": "v", "projected": {"defaultMode": 420, "sources": [
        {"configMap": {"name": "a"}, "secret": {"name": "b"}}]}}]}),
    ("a_projected_token_too_short", {"/spec/volumes": [{"name": "v", "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"path": "", "expirationSeconds": 5}}]}}]}),
    ("a_mount_of_nothing", {C + "/volumeMounts": [{"name": "gone", "mountPath": "/x"}]}),
    ("a_mount_without_path", {"/spec/volumes": [{"name": "v", "emptyDir": {}}],
                              C + "/volumeMounts": [{"name": "v", "mountPath": ""}]}),
    ("mounts_of_one_path", {"/spec/volumes": [{"name": "v", "emptyDir": {}}],
                            C + "/volumeMounts": [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}]}),
    ("a_sub_path_that_goes_up", {"/spec/volumes": [{"name": "v", "emptyDir": {}}],
                                 C + "/volumeMounts": [{"name": "v", "mountPath": "/x", "subPath": "/../a"}]}),
    ("sub_path_and_expression", {"/spec/volumes": [{"name": "v", "emptyDir": {}}], C + "/volumeMounts": [
        {"name": "v", "mountPath": "/x", "subPath": "a", "subPathExpr": "b"}]}),
    ("a_mount_propagation_that_needs_more", {"/spec/volumes": [{"name": "v", "emptyDir": {}}], C + "/volumeMounts": [
        {"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"}]}),
    ("an_unknown_mount_propagation", {"/spec/volumes": [{"name": "v", "emptyDir": {}}], C + "/volumeMounts": [
        {"name": "v", "mountPath": "/x", "mountPropagation": "X"}]}),
    ("a_mount_of_a_bad_volume", {"/spec/volumes": [{"name": "V", "emptyDir": {}}], C + "/volumeMounts": [{"name": "v", "mountPath": "/x"}]}),
    ("a_probe_without_handler", {C + "/livenessProbe": {"timeoutSeconds": 1, "periodSeconds": 10,
                                                        "successThreshold": 1, "failureThreshold": 3}}),
    ("a_probe_with_two_handlers", {C + "/livenessProbe": {
        "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
        "exec": {"command": ["x"]}, "tcpSocket": {"port": 80}}}),
    ("a_probe_with_negative_numbers", {C + "/readinessProbe": {
        "timeoutSeconds": -1, "periodSeconds": -10, "successThreshold": -1, "failureThreshold": -3,
        "initialDelaySeconds": -1, "exec": {"command": []}}}),
    ("a_liveness_probe_that_wants_two", {C + "/livenessProbe": {
        "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 2, "failureThreshold": 3,
        "tcpSocket": {"port": 0}}}),
    ("an_http_probe_that_is_bad", {C + "/startupProbe": {
        "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
        "terminationGracePeriodSeconds": 0,
        "httpGet": {"path": "/", "port": "Bad Port", "scheme": "FTP", "httpHeaders": [{"name": "a b", "value": "c"}]}}}),
    ("a_readiness_probe_with_grace", {C + "/readinessProbe": {
        "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
        "terminationGracePeriodSeconds": 5, "tcpSocket": {"port": 80}}}),
    ("a_hook_without_handler", {C + "/lifecycle": {"preStop": {}}}),
    ("a_hook_that_sleeps_too_long", {C + "/lifecycle": {"preStop": {"sleep": {"seconds": 100}}}}),
    ("an_init_container_with_probes", {"/spec/initContainers": [{
        "name": "main", "image": "x", "imagePullPolicy": "Always", "terminationMessagePolicy": "File",
        "terminationMessagePath": "/x", "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
        "livenessProbe": {"tcpSocket": {"port": 80}, "timeoutSeconds": 1, "periodSeconds": 1, "successThreshold": 1,
                          "failureThreshold": 1}}]}),
    ("an_init_container_without_image", {"/spec/initContainers": [{
        "name": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File", "terminationMessagePath": "/x",
        "restartPolicy": "Perhaps"}]}),
    ("a_bad_node_selector", {"/spec/nodeSelector": {"a b": "c"}}),
    ("a_bad_toleration", {"/spec/tolerations": [{"key": "a b", "operator": "Near", "effect": "Explode",
                                                 "tolerationSeconds": 5}]}),
    ("a_toleration_of_everything_that_is_equal", {"/spec/tolerations": [{"operator": "Equal"}]}),
    ("a_toleration_that_exists_with_value", {"/spec/tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]}),
    ("node_affinity_without_terms", {"/spec/affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}}),
    ("node_affinity_with_bad_terms", {"/spec/affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
            "matchExpressions": [{"key": "a", "operator": "In"}, {"key": "a", "operator": "Exists", "values": ["x"]},
                                 {"key": "a", "operator": "Gt", "values": ["1", "2"]},
                                 {"key": "a b", "operator": "Near", "values": ["x y"]}],
            "matchFields": [{"key": "spec.x", "operator": "Near"},
                            {"key": "metadata.name", "operator": "In", "values": ["A"]}]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {
            "matchExpressions": [{"key": "a", "operator": "Maybe"}]}}]}}}),
    ("pod_affinity_with_bad_terms", {"/spec/affinity": {"podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "", "namespaces": ["A"], "labelSelector": {
            "matchExpressions": [{"key": "a", "operator": "In"}]}}],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "podAffinityTerm": {
            "topologyKey": "a b"}}]}, "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
                "topologyKey": ""}]}}}),
    ("bad_spreading", {"/spec/topologySpreadConstraints": [
        {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Cry", "minDomains": 0},
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "nodeAffinityPolicy": "X"},
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}),
    ("host_network_ports_that_differ", {"/spec/hostNetwork": True, C + "/ports": [
        {"containerPort": 80, "hostPort": 81, "protocol": "TCP"}]}),
    ("a_bad_service_account", {"/spec/serviceAccountName": "Bad", "/spec/serviceAccount": "Bad"}),
    ("small_fields_that_are_bad", {"/spec/activeDeadlineSeconds": 0, "/spec/hostname": "A", "/spec/subdomain": "b.c",
                                   "/spec/nodeName": "N"}),
    ("users_out_of_range", {"/spec/securityContext": {"runAsUser": -1, "fsGroup": -2, "supplementalGroups": [-3],
                                                      "fsGroupChangePolicy": "X"},
                            C + "/securityContext": {"runAsUser": -1, "runAsGroup": -1}}),
    ("an_unknown_seccomp_type", {"/spec/securityContext": {"seccompProfile": {"type": "X"}}}),
    ("a_local_seccomp_without_profile", {"/spec/securityContext": {"seccompProfile": {"type": "Localhost"}}}),
    ("shared_processes_with_the_host", {"/spec/shareProcessNamespace": True, "/spec/hostPID": True}),
    ("bad_host_aliases", {"/spec/hostAliases": [{"ip": "x", "hostnames": ["A b"]}]}),
    ("bad_gates", {"/spec/readinessGates": [{"conditionType": "a b"}], "/spec/schedulingGates": [
        {"name": "x"}, {"name": "x"}]}),
    ("many_faults_at_once", {C + "/image": None, C + "/ports": [{"containerPort": 0, "protocol": "X"}],
                             "/spec/restartPolicy": "X", "/metadata/labels": {"a": "b c"},
                             "/spec/volumes": [{"name": "v", "nfs": {"server": "", "path": "/x"}}],
                             C + "/volumeMounts": [{"name": "v", "mountPath": ""}]}),
]
spec("pod", "pods", True, POD, POD_CASES, forget={"/spec/priority": None, "/spec/tolerations": None})
POD_U = {**POD, "metadata": {"name": "web-u", "namespace": "default"}, "spec": {
    **POD["spec"], "tolerations": [{"key": "x", "operator": "Exists", "effect": "NoSchedule"}]}}
spec("pod_update", "pods", True, POD_U, [
    ("nothing_changed", {}),
    ("an_image_may_change", {C + "/image": "registry.test/app:2"}),
    ("an_image_may_not_be_empty", {C + "/image": ""}),
    ("a_container_may_not_be_added", {"/spec/containers/1": {"name": "b", "image": "b", "imagePullPolicy": "Always",
                                                             "terminationMessagePolicy": "File",
                                                             "terminationMessagePath": "/x"}}),
    ("a_toleration_may_be_added", {"/spec/tolerations/3": {"key": "z", "operator": "Exists"}}),
    ("a_toleration_may_not_change", {"/spec/tolerations/0/key": "y"}),
    ("a_deadline_may_be_set", {"/spec/activeDeadlineSeconds": 100}),
    ("an_env_may_not_change", {C + "/env": [{"name": "A", "value": "b"}]}),
    ("a_node_selector_may_not_change", {"/spec/nodeSelector": {"a": "b"}}),
    ("a_gate_may_not_come", {"/spec/schedulingGates": [{"name": "a.b/c"}]}),
    ("a_node_may_not_be_given", {"/spec/nodeName": "n", C + "/resources": {"requests": {"memory": "1Gi"}}}),
    ("volumes_and_probes_may_not_change", {
        "/spec/volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}},
                          {"name": "w", "configMap": {"name": "c", "defaultMode": 420}}],
        C + "/readinessProbe": {"httpGet": {"port": "web", "path": "/<>", "scheme": "HTTP"},
                                 "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}, C + "/args": ["a", "b"],
        "/spec/affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "h", "labelSelector": {"matchLabels": {"a": "b"}}}]}}}),
    ("empty_is_absent", {"/spec/nodeSelector": {}, "/spec/volumes": [], C + "/env": []}),
    ("an_empty_struct_is_not", {"/spec/affinity": {}}),
], live=True)
GATED = {**POD, "metadata": {"name": "web-g", "namespace": "default"}, "spec": {
    **POD["spec"], "schedulingGates": [{"name": "a.b/c"}], "nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}}}
TERMS = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
spec("pod_gated_update", "pods", True, GATED, [
    ("the_gate_may_go", {"/spec/schedulingGates": None}),
    ("a_label_of_nodes_may_be_added", {"/spec/nodeSelector/c": "d"}),
    ("a_label_of_nodes_may_not_change", {"/spec/nodeSelector/a": "d"}),
    ("an_expression_may_be_added", {TERMS + "/0/matchExpressions/1": {"key": "l", "operator": "Exists"}}),
    ("an_expression_may_not_go", {TERMS + "/0/matchExpressions/0": {"key": "l", "operator": "Exists"}}),
    ("a_term_may_not_be_added", {TERMS + "/1": {"matchExpressions": [{"key": "l", "operator": "Exists"}]}}),
    ("the_affinity_may_not_go", {"/spec/affinity": None}),
    ("a_pod_affinity_may_not_come", {"/spec/affinity/podAffinity": {}}),
], live=True)
MANY = {**POD, "metadata": {"name": "web-many", "namespace": "default"}, "spec": {"containers": [
    {"name": "c%d" % i, "image": "i"} for i in range(6)]}}
spec("pod_many_update", "pods", True, MANY, [
    ("two_far_apart", {"/spec/containers/0/command": ["a"], "/spec/containers/5/args": ["b"]}),
    ("two_change_places", {"/spec/containers/1/name": "c2", "/spec/containers/2/name": "c1"}),
], live=True)

SVC = obj("v1", "Service", "web", spec={"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]})
SVC_FORGET = {"/spec/clusterIP": None, "/spec/clusterIPs": None}
spec("service", "services", True, SVC, [
    ("nothing_wrong", {}),
    ("no_ports", {"/spec/ports": None}),
    ("a_port_out_of_range", {"/spec/ports/0/port": 0, "/spec/ports/0/targetPort": 70000}),
    ("a_bad_target_port_name", {"/spec/ports/0/targetPort": "Bad Name"}),
    ("an_unknown_protocol", {"/spec/ports/0/protocol": "X"}),
    ("two_ports_need_names", {"/spec/ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"},
                                              {"port": 81, "targetPort": 81, "protocol": "TCP"}]}),
    ("two_ports_of_one_name", {"/spec/ports/1": {"name": "http", "port": 81, "targetPort": 81, "protocol": "TCP"}}),
    ("two_ports_of_one_number", {"/spec/ports/1": {"name": "b", "port": 80, "targetPort": 81, "protocol": "TCP"}}),
    ("two_ports_of_one_name_and_number", {"/spec/ports/1": {"name": "http", "port": 80, "targetPort": 80,
                                                            "protocol": "TCP"}}),
    ("a_bad_port_name", {"/spec/ports/0/name": "Http_1"}),
    ("a_bad_app_protocol", {"/spec/ports/0/appProtocol": "a b"}),
    ("a_bad_selector", {"/spec/selector": {"a b": "c d"}}),
    ("an_unknown_type", {"/spec/type": "Rocket"}),
    ("an_unknown_affinity", {"/spec/sessionAffinity": "X"}),
    ("client_ip_with_a_long_timeout", {"/spec/sessionAffinity": "ClientIP",
                                       "/spec/sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 99999}}}),
    ("external_name_without_name", {"/spec/type": "ExternalName", "/spec/ipFamilies": None,
                                    "/spec/ipFamilyPolicy": None, "/spec/internalTrafficPolicy": None}),
    ("external_name_that_is_bad", {"/spec/type": "ExternalName", "/spec/externalName": "A b", "/spec/ipFamilies": None,
                                   "/spec/ipFamilyPolicy": None, "/spec/internalTrafficPolicy": None}),
    ("a_node_port_on_a_cluster_ip", {"/spec/ports/0/nodePort": 30080}),
    ("an_external_policy_without_reason", {"/spec/externalTrafficPolicy": "Local"}),
    ("an_unknown_external_policy", {"/spec/type": "NodePort", "/spec/externalTrafficPolicy": "X"}),
    ("an_unknown_internal_policy", {"/spec/internalTrafficPolicy": "X"}),
    ("an_unknown_distribution", {"/spec/trafficDistribution": "X"}),
    ("external_ips_that_are_bad", {"/spec/externalTrafficPolicy": "Cluster", "/spec/externalIPs": ["x", "127.0.0.1", "0.0.0.0", "169.254.1.1"]}),
    ("source_ranges_without_load_balancer", {"/spec/loadBalancerSourceRanges": ["10.0.0.0/8", "x"]}),
    ("a_class_without_load_balancer", {"/spec/loadBalancerClass": "a/b"}),
    ("a_headless_node_port", {"/spec/type": "NodePort", "/spec/clusterIP": "None", "/spec/clusterIPs": ["None"],
                              "/spec/externalTrafficPolicy": "Cluster"}),
    ("a_headless_service_without_ports_is_fine", {"/spec/clusterIP": "None", "/spec/clusterIPs": ["None"],
                                                  "/spec/ports": None}),
    ("a_cluster_ip_that_is_none", {"/spec/clusterIP": "x", "/spec/clusterIPs": ["x"]}),
    ("cluster_ips_that_differ", {"/spec/clusterIP": "10.0.0.5", "/spec/clusterIPs": ["10.0.0.6"]}),
    ("an_unknown_family", {"/spec/ipFamilies": ["IPv5"]}),
    ("a_health_port_without_reason", {"/spec/healthCheckNodePort": 30000}),
    ("a_name_that_starts_with_a_digit", {"/metadata/name": "1web"}),
    ("a_name_with_a_dot", {"/metadata/name": "a.b"}),
    ("many_faults", {"/spec/type": "X", "/spec/ports/0/port": -1, "/spec/selector": {"a": "b c"},
                     "/spec/sessionAffinity": "Y"}),
], forget=SVC_FORGET)
spec("service_update", "services", True,
     {**SVC, "metadata": {"name": "web-u", "namespace": "default"}}, [
         ("nothing_changed", {}),
         ("a_second_port_of_the_same_name", {"/spec/ports/1": {"name": "http", "port": 83, "targetPort": 80,
                                                               "protocol": "TCP"}}),
         ("a_cluster_ip_may_not_change", {"/spec/clusterIP": "10.0.0.77", "/spec/clusterIPs": ["10.0.0.77"]}),
         ("a_cluster_ip_may_not_change_to_none", {"/spec/clusterIP": "None", "/spec/clusterIPs": ["None"]}),
     ], live=True)

DEP = obj("apps/v1", "Deployment", "web", spec={"selector": {"matchLabels": {"app": "web"}}, "template": template()})
T = "/spec/template/spec"
WORKLOAD = [
    ("nothing_wrong", {}),
    ("no_template_labels", {"/spec/template/metadata/labels": None}),
    ("template_labels_that_do_not_match", {"/spec/template/metadata/labels": {"app": "other"}}),
    ("no_image", {T + "/containers/0/image": None}),
    ("no_containers", {T + "/containers": []}),
    ("a_bad_template_label", {"/spec/template/metadata/labels": {"app": "web", "b": "c d"}}),
    ("a_bad_template_annotation", {"/spec/template/metadata/annotations": {"b c": "d"}}),
    ("restart_never", {T + "/restartPolicy": "Never"}),
    ("an_active_deadline", {T + "/activeDeadlineSeconds": 5}),
    ("an_operator_that_is_unknown", {"/spec/selector": {"matchExpressions": [{"key": "app", "operator": "Near",
                                                                             "values": ["web"]}]}}),
    ("in_without_values", {"/spec/selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}}),
    ("exists_with_values", {"/spec/selector": {"matchExpressions": [{"key": "app", "operator": "Exists",
                                                                    "values": ["x"]}]}}),
    ("an_expression_that_matches_is_fine", {"/spec/selector": {
        "matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "b"]}]}}),
    ("an_expression_that_does_not_match", {"/spec/selector": {
        "matchLabels": {"app": "web"}, "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}}),
    ("an_empty_selector", {"/spec/selector": {}}),
    ("no_selector", {"/spec/selector": None}),
    ("a_bad_label_in_the_selector", {"/spec/selector": {"matchLabels": {"app": "w b"}}}),
    ("negative_seconds", {"/spec/minReadySeconds": -1}),
    ("a_bad_metadata_label", {"/metadata/labels": {"a": "b c"}}),
    ("many_faults", {"/metadata/name": "Web", "/spec/selector": {"matchLabels": {"app": "x"}},
                     T + "/containers/0/image": None, "/spec/minReadySeconds": -3}),
]
spec("deployment", "deployments", True, DEP, WORKLOAD + [
    ("negative_replicas", {"/spec/replicas": -1}),
    ("an_unknown_strategy", {"/spec/strategy": {"type": "Magic"}}),
    ("an_unknown_strategy_with_parameters", {"/spec/strategy/type": "Magic"}),
    ("recreate_with_rolling_update", {"/spec/strategy/type": "Recreate"}),
    ("rolling_update_of_nothing", {"/spec/strategy/rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
    ("rolling_update_of_no_percent", {"/spec/strategy/rollingUpdate": {"maxSurge": "0%", "maxUnavailable": "0%"}}),
    ("rolling_update_of_too_much", {"/spec/strategy/rollingUpdate/maxUnavailable": "101%"}),
    ("rolling_update_of_a_word", {"/spec/strategy/rollingUpdate/maxSurge": "many"}),
    ("rolling_update_that_is_negative", {"/spec/strategy/rollingUpdate": {"maxSurge": -1, "maxUnavailable": -2}}),
    ("a_negative_history", {"/spec/revisionHistoryLimit": -1}),
    ("a_progress_deadline_too_short", {"/spec/progressDeadlineSeconds": 5, "/spec/minReadySeconds": 5}),
    ("a_negative_progress_deadline", {"/spec/progressDeadlineSeconds": -5}),
    ("host_ports_in_a_template", {T + "/hostNetwork": True, T + "/containers/0/ports": [
        {"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81, "hostPort": 82, "protocol": "TCP"}]}),
    ("a_name_with_capitals", {"/metadata/name": "WEB"}),
    ("resources_in_a_template", {T + "/containers/0/resources": {"limits": {"cpu": "100m", "memory": "1Gi"},
                                                                 "requests": {"cpu": "200m", "memory": "1Gi"}}}),
    ("two_negative_numbers", {"/spec/replicas": -1, "/spec/minReadySeconds": -1}),
    ("two_environments", {T + "/containers/0/env": [{"name": "", "value": "x"}, {"name": "a=b"}]}),
])
spec("deployment_update", "deployments", True,
     {**DEP, "metadata": {"name": "web-u", "namespace": "default", "labels": {"a": "b"}}}, [
         ("nothing_changed", {}),
         ("the_selector_may_not_change", {"/spec/selector/matchLabels": {"app": "new"},
                                          "/spec/template/metadata/labels": {"app": "new"}}),
         ("the_selector_may_not_change_and_matches_nothing", {"/spec/selector/matchLabels": {"app": "new"}}),
         ("an_expression_may_not_be_added", {"/spec/selector/matchExpressions": [{"key": "app", "operator": "Exists"}]}),
         ("no_selector_any_more", {"/spec/selector": None}),
         ("negative_replicas", {"/spec/replicas": -5}),
         ("a_bad_label", {"/metadata/labels/a": "?"}),
         ("a_bad_finalizer", {"/metadata/finalizers": ["?"]}),
         ("both", {"/metadata/labels/a": "?", "/spec/replicas": -1}),
     ], live=True)
spec("deployment_status", "deployments", True,
     {**DEP, "metadata": {"name": "web-s", "namespace": "default"}}, [
         ("more_ready_than_there_are", {"/status": {"replicas": 1, "readyReplicas": 2}}),
         ("negative_numbers", {"/status": {"replicas": -1, "updatedReplicas": -1, "observedGeneration": -1,
                                           "collisionCount": -1}}),
         ("more_available_than_ready", {"/status": {"replicas": 3, "readyReplicas": 1, "availableReplicas": 2}}),
     ], live=True, subresource="status")
spec("deployment_scale", "deployments", True,
     {**DEP, "metadata": {"name": "web-c", "namespace": "default"}}, [
         ("negative_replicas", {"/spec/replicas": -1}),
         ("five_replicas", {"/spec/replicas": 5}),
     ], live=True, subresource="scale")
spec("replicaset", "replicasets", True,
     obj("apps/v1", "ReplicaSet", "web", spec={"selector": {"matchLabels": {"app": "web"}}, "template": template()}),
     WORKLOAD + [("negative_replicas", {"/spec/replicas": -1})])
spec("replicaset_update", "replicasets", True,
     obj("apps/v1", "ReplicaSet", "web-u", spec={"selector": {"matchLabels": {"app": "web"}}, "template": template(),
                                                 "replicas": 0}), [
         ("the_selector_may_not_change", {"/spec/selector/matchLabels": {"app": "new"}}),
         ("the_template_may_change", {T + "/containers/0/image": "x"})], live=True)
spec("statefulset", "statefulsets", True,
     obj("apps/v1", "StatefulSet", "db", spec={"serviceName": "db", "selector": {"matchLabels": {"app": "web"}},
                                               "template": template()}),
     WORKLOAD + [
         ("negative_replicas", {"/spec/replicas": -1}),
         ("an_unknown_management", {"/spec/podManagementPolicy": "X"}),
         ("an_unknown_strategy", {"/spec/updateStrategy": {"type": "X"}}),
         ("an_unknown_strategy_with_partition", {"/spec/updateStrategy/type": "X"}),
         ("on_delete_with_partition", {"/spec/updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}}),
         ("a_negative_partition", {"/spec/updateStrategy/rollingUpdate/partition": -1}),
         ("a_bad_service_name", {"/spec/serviceName": "Db_1"}),
         ("an_unknown_retention", {"/spec/persistentVolumeClaimRetentionPolicy": {"whenDeleted": "X",
                                                                                   "whenScaled": "Y"}}),
         ("a_negative_start", {"/spec/ordinals": {"start": -1}}),
         ("a_claim_without_modes", {"/spec/volumeClaimTemplates": [{
             "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d"},
             "spec": {"volumeMode": "Filesystem", "resources": {"requests": {"storage": "0"}}}}]}),
         ("a_claim_can_be_mounted", {"/spec/volumeClaimTemplates": [{
             "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d"},
             "spec": {"volumeMode": "Filesystem", "accessModes": ["ReadWriteOnce"],
                      "resources": {"requests": {"storage": "1Gi"}}}}],
             T + "/containers/0/volumeMounts": [{"name": "d", "mountPath": "/d"}]}),
         ("a_name_with_a_dot", {"/metadata/name": "a.b"}),
     ])
spec("statefulset_update", "statefulsets", True,
     obj("apps/v1", "StatefulSet", "db-u", spec={"serviceName": "db", "selector": {"matchLabels": {"app": "web"}},
                                                 "template": template(), "replicas": 0}), [
         ("the_service_name_may_not_change", {"/spec/serviceName": "other"}),
         ("the_selector_may_not_change", {"/spec/selector/matchLabels": {"app": "x"},
                                          "/spec/template/metadata/labels": {"app": "x"}}),
         ("the_management_may_not_change", {"/spec/podManagementPolicy": "Parallel"}),
         ("three_things_may_not_change", {"/spec/serviceName": "o", "/spec/podManagementPolicy": "Parallel",
                                          "/spec/selector/matchLabels": {"app": "x"}}),
         ("the_template_may_change", {T + "/containers/0/image": "x"}),
         ("replicas_may_change", {"/spec/replicas": 3}),
         ("the_history_limit_may_change", {"/spec/revisionHistoryLimit": 3}),
     ], live=True)
spec("daemonset", "daemonsets", True,
     obj("apps/v1", "DaemonSet", "agent", spec={"selector": {"matchLabels": {"app": "web"}}, "template": template()}),
     WORKLOAD + [
         ("an_unknown_strategy", {"/spec/updateStrategy": {"type": "X"}}),
         ("surge_and_unavailable", {"/spec/updateStrategy/rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}),
         ("neither", {"/spec/updateStrategy/rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
         ("too_much", {"/spec/updateStrategy/rollingUpdate": {"maxSurge": 0, "maxUnavailable": "150%"}}),
         ("a_negative_history", {"/spec/revisionHistoryLimit": -1}),
     ])
spec("daemonset_update", "daemonsets", True,
     obj("apps/v1", "DaemonSet", "agent-u", spec={"selector": {"matchLabels": {"app": "web"}}, "template": template()}), [
         ("the_selector_may_not_change", {"/spec/selector/matchLabels": {"app": "x"},
                                          "/spec/template/metadata/labels": {"app": "x"}}),
         ("the_template_may_change", {T + "/containers/0/image": "x"}),
     ], live=True)
spec("replicationcontroller", "replicationcontrollers", True,
     obj("v1", "ReplicationController", "old", spec={"selector": {"app": "web"}, "template": template()}), [
         ("nothing_wrong", {}),
         ("no_selector", {"/spec/selector": None, "/spec/template/metadata/labels": None}),
         ("labels_that_do_not_match", {"/spec/template/metadata/labels": {"app": "x"}}),
         ("negative_replicas", {"/spec/replicas": -1}),
         ("no_template", {"/spec/template": None}),
         ("negative_numbers_and_no_image", {"/spec/replicas": -1, "/spec/minReadySeconds": -1,
                                            T + "/containers/0/image": None}),
         ("restart_never", {T + "/restartPolicy": "Never"}),
     ])
spec("podtemplate", "podtemplates", True, obj("v1", "PodTemplate", "pt", template=template()), [
    ("nothing_wrong", {}),
    ("no_image", {"/template/spec/containers/0/image": None}),
])

spec("job", "jobs", True, obj("batch/v1", "Job", "once", spec={
    "manualSelector": True, "selector": {"matchLabels": {"app": "web"}}, "template": template(restartPolicy="Never")}), [
        ("nothing_wrong", {}),
        ("restart_always", {T + "/restartPolicy": "Always"}),
        ("an_unknown_restart", {T + "/restartPolicy": "X"}),
        ("negative_numbers", {"/spec/parallelism": -1, "/spec/completions": -1, "/spec/backoffLimit": -1,
                              "/spec/activeDeadlineSeconds": -1, "/spec/ttlSecondsAfterFinished": -1}),
        ("an_unknown_mode", {"/spec/completionMode": "X"}),
        ("indexed_without_completions", {"/spec/completionMode": "Indexed", "/spec/completions": None}),
        ("a_limit_per_index_without_index", {"/spec/backoffLimitPerIndex": 1}),
        ("a_failure_policy_that_is_bad", {"/spec/podFailurePolicy": {"rules": [
            {"action": "X"}, {"action": "FailIndex", "onExitCodes": {"operator": "Near", "values": []}},
            {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3, 0, 3], "containerName": "gone"}},
            {"action": "Count", "onPodConditions": [{"type": "a b", "status": "Perhaps"}]}]}}),
        ("an_unknown_replacement", {"/spec/podReplacementPolicy": "X"}),
        ("a_selector_that_does_not_match", {"/spec/selector/matchLabels": {"app": "x"}}),
        ("no_image", {T + "/containers/0/image": None}),
        ("many_faults", {"/spec/backoffLimit": -1, T + "/restartPolicy": "Always", "/metadata/labels": {"a": "b c"}}),
    ])
spec("job_update", "jobs", True, obj("batch/v1", "Job", "once-u", spec={
    "template": template(restartPolicy="Never"), "suspend": True}), [
        ("nothing_changed", {}),
        ("completions_may_not_change", {"/spec/completions": 5}),
        ("the_mode_may_not_change", {"/spec/completionMode": "Indexed", "/spec/completions": 1}),
        ("parallelism_may_change", {"/spec/parallelism": 3}),
        ("the_template_may_not_change", {T + "/containers/0/image": "x"}),
    ], live=True)
CRON = obj("batch/v1", "CronJob", "nightly", spec={
    "schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template(restartPolicy="OnFailure")}}})
spec("cronjob", "cronjobs", True, CRON, [
    ("nothing_wrong", {}),
    ("a_descriptor", {"/spec/schedule": "@hourly"}),
    ("an_unknown_descriptor", {"/spec/schedule": "@never"}),
    ("no_schedule", {"/spec/schedule": ""}),
    ("too_few_fields", {"/spec/schedule": "* * *"}),
    ("a_minute_that_is_no_number", {"/spec/schedule": "x * * * *"}),
    ("a_minute_out_of_range", {"/spec/schedule": "60 * * * *"}),
    ("a_day_below", {"/spec/schedule": "0 0 0 * *"}),
    ("a_range_that_runs_back", {"/spec/schedule": "30-10 * * * *"}),
    ("a_step_of_nothing", {"/spec/schedule": "*/0 * * * *"}),
    ("too_many_slashes", {"/spec/schedule": "*/1/2 * * * *"}),
    ("too_many_hyphens", {"/spec/schedule": "1-2-3 * * * *"}),
    ("names_of_days", {"/spec/schedule": "0 0 * JAN-MAR mon,fri"}),
    ("a_time_zone_in_the_schedule", {"/spec/schedule": "TZ=UTC 0 3 * * *"}),
    ("an_unknown_zone", {"/spec/timeZone": "Mars/Base"}),
    ("a_known_zone", {"/spec/timeZone": "Etc/UTC"}),
    ("an_unknown_concurrency", {"/spec/concurrencyPolicy": "X"}),
    ("negative_numbers", {"/spec/startingDeadlineSeconds": -1, "/spec/successfulJobsHistoryLimit": -1,
                          "/spec/failedJobsHistoryLimit": -1}),
    ("a_name_too_long", {"/metadata/name": "a" * 53}),
    ("a_selector", {"/spec/jobTemplate/spec/selector": {"matchLabels": {"a": "b"}},
                    "/spec/jobTemplate/spec/manualSelector": True}),
    ("no_image", {"/spec/jobTemplate/spec/template/spec/containers/0/image": None}),
    ("restart_always", {"/spec/jobTemplate/spec/template/spec/restartPolicy": "Always"}),
])

REF = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
HPA = obj("autoscaling/v2", "HorizontalPodAutoscaler", "web", spec={
    "scaleTargetRef": REF, "minReplicas": 1, "maxReplicas": 5,
    "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization",
                                                                          "averageUtilization": 50}}}]})
spec("hpa", "horizontalpodautoscalers", True, HPA, [
    ("nothing_wrong", {}),
    ("no_maximum", {"/spec/maxReplicas": 0}),
    ("a_negative_maximum", {"/spec/maxReplicas": -1}),
    ("a_maximum_below_the_minimum", {"/spec/minReplicas": 10}),
    ("a_minimum_of_zero", {"/spec/minReplicas": 0}),
    ("a_negative_minimum", {"/spec/minReplicas": -1}),
    ("no_target", {"/spec/scaleTargetRef": {"kind": "", "name": ""}}),
    ("a_target_with_a_slash", {"/spec/scaleTargetRef": {"kind": "a/b", "name": "..", "apiVersion": "a/b/c"}}),
    ("an_unknown_metric", {"/spec/metrics/0": {"type": "X"}}),
    ("a_metric_without_source", {"/spec/metrics/0": {"type": "Resource"}}),
    ("a_metric_with_the_wrong_source", {"/spec/metrics/0/type": "Pods"}),
    ("a_metric_target_without_value", {"/spec/metrics/0/resource/target": {"type": "Utilization"}}),
    ("a_metric_target_with_both", {"/spec/metrics/0/resource/target": {
        "type": "Utilization", "averageUtilization": 5, "averageValue": "1"}}),
    ("a_metric_target_that_is_negative", {"/spec/metrics/0/resource/target": {
        "type": "X", "averageUtilization": 0}}),
    ("a_pods_metric_that_is_empty", {"/spec/metrics/0": {"type": "Pods", "pods": {
        "metric": {"name": ""}, "target": {"type": "AverageValue"}}}}),
    ("an_object_metric_that_is_empty", {"/spec/metrics/0": {"type": "Object", "object": {
        "describedObject": {"kind": "", "name": ""}, "metric": {"name": "a"}, "target": {"type": "Value"}}}}),
    ("behavior_without_policies", {"/spec/behavior": {"scaleUp": {"stabilizationWindowSeconds": -1, "policies": []},
                                                      "scaleDown": {"stabilizationWindowSeconds": 4000,
                                                                    "selectPolicy": "X", "policies": [
                                                                        {"type": "X", "value": 0, "periodSeconds": 0},
                                                                        {"type": "Pods", "value": 1,
                                                                         "periodSeconds": 2000}]}}}),
    ("two_faults", {"/spec/minReplicas": -2, "/spec/maxReplicas": -3}),
])
spec("hpa_v1", "horizontalpodautoscalers", True, obj("autoscaling/v1", "HorizontalPodAutoscaler", "web", spec={
    "scaleTargetRef": REF, "maxReplicas": 5, "targetCPUUtilizationPercentage": 50}), [
        ("nothing_wrong", {}),
        ("a_target_of_nothing", {"/spec/targetCPUUtilizationPercentage": 0}),
        ("no_maximum", {"/spec/maxReplicas": 0}),
    ])
spec("pdb", "poddisruptionbudgets", True, obj("policy/v1", "PodDisruptionBudget", "web", spec={
    "minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}), [
        ("nothing_wrong", {}),
        ("both", {"/spec/maxUnavailable": 1}),
        ("a_negative_minimum", {"/spec/minAvailable": -1}),
        ("a_percentage_too_high", {"/spec/minAvailable": "101%"}),
        ("a_word", {"/spec/minAvailable": "some"}),
        ("a_bad_selector", {"/spec/selector": {"matchExpressions": [{"key": "a", "operator": "X"}]}}),
        ("an_unknown_eviction", {"/spec/unhealthyPodEvictionPolicy": "X"}),
        ("a_name_with_capitals_is_fine", {"/metadata/name": "Web"}),
        ("a_bad_label", {"/metadata/labels": {"a": "b c"}}),
    ])

ING = obj("networking.k8s.io/v1", "Ingress", "web", spec={"rules": [{"host": "a.example", "http": {"paths": [{
    "path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]}}]})
P0 = "/spec/rules/0/http/paths/0"
spec("ingress", "ingresses", True, ING, [
    ("nothing_wrong", {}),
    ("no_rules", {"/spec/rules": None}),
    ("a_host_that_is_an_address", {"/spec/rules/0/host": "10.0.0.1"}),
    ("a_bad_host", {"/spec/rules/0/host": "A_b"}),
    ("a_wildcard_host", {"/spec/rules/0/host": "*.example"}),
    ("a_bad_wildcard_host", {"/spec/rules/0/host": "a.*.example"}),
    ("no_paths", {"/spec/rules/0/http/paths": []}),
    ("no_path_type", {P0 + "/pathType": None}),
    ("an_unknown_path_type", {P0 + "/pathType": "X"}),
    ("a_relative_path", {P0 + "/path": "x"}),
    ("a_path_with_everything_wrong", {P0 + "/path": "a//b/./c/../d%2f/.."}),
    ("a_backend_without_anything", {P0 + "/backend": {}}),
    ("a_backend_with_both", {P0 + "/backend/resource": {"kind": "K", "name": "n"}}),
    ("a_backend_without_port", {P0 + "/backend/service/port": {}}),
    ("a_backend_with_two_ports", {P0 + "/backend/service/port": {"name": "a", "number": 80}}),
    ("a_backend_port_out_of_range", {P0 + "/backend/service/port/number": 70000}),
    ("a_backend_without_name", {P0 + "/backend/service/name": ""}),
    ("a_bad_tls_host", {"/spec/tls": [{"hosts": ["A b", "*.x.*"], "secretName": "S s"}]}),
    ("a_bad_class", {"/spec/ingressClassName": "A b"}),
    ("a_default_backend_that_is_bad", {"/spec/defaultBackend": {"service": {"name": "A", "port": {"name": "--"}}}}),
])
spec("networkpolicy", "networkpolicies", True, obj("networking.k8s.io/v1", "NetworkPolicy", "np", spec={
    "podSelector": {}, "policyTypes": ["Ingress"]}), [
        ("nothing_wrong", {}),
        ("an_unknown_type", {"/spec/policyTypes": ["X"]}),
        ("too_many_types", {"/spec/policyTypes": ["Ingress", "Egress", "Ingress"]}),
        ("a_bad_selector", {"/spec/podSelector": {"matchLabels": {"a": "b c"}}}),
        ("an_empty_peer", {"/spec/ingress": [{"from": [{}]}]}),
        ("a_peer_with_block_and_selector", {"/spec/ingress": [{"from": [{"podSelector": {}, "ipBlock": {
            "cidr": "10.0.0.0/8"}}]}]}),
        ("a_block_without_cidr", {"/spec/ingress": [{"from": [{"ipBlock": {"cidr": ""}}]}]}),
        ("a_block_that_is_none", {"/spec/egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/33"}}]}]}),
        ("an_exception_outside", {"/spec/egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": [
            "11.0.0.0/16", "10.0.0.0/8", "x"]}}]}]}),
        ("ports_that_are_bad", {"/spec/ingress": [{"ports": [
            {"protocol": "X"}, {"port": 0, "protocol": "TCP"}, {"port": 80, "endPort": 70, "protocol": "TCP"},
            {"port": "web", "endPort": 70, "protocol": "TCP"}, {"endPort": 70, "protocol": "TCP"},
            {"port": "Bad", "protocol": "TCP"}]}]}),
    ])

RB = "rbac.authorization.k8s.io/v1"
spec("role", "roles", True, obj(RB, "Role", "r", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]), [
    ("nothing_wrong", {}),
    ("a_name_with_colons", {"/metadata/name": "System:Reader"}),
    ("a_name_with_a_slash", {"/metadata/name": "a/b"}),
    ("no_verbs", {"/rules/0/verbs": []}),
    ("no_groups", {"/rules/0/apiGroups": None}),
    ("no_resources", {"/rules/0/resources": None}),
    ("a_url_in_a_namespace", {"/rules/0": {"nonResourceURLs": ["/x"], "verbs": ["get"]}}),
    ("nothing_at_all", {"/rules/0": {"verbs": []}, "/rules/1": {"verbs": []}}),
])
spec("clusterrole", "clusterroles", False, obj(RB, "ClusterRole", "truce-test-cr", False, rules=[
    {"nonResourceURLs": ["/x"], "verbs": ["get"]}]), [
        ("nothing_wrong", {}),
        ("urls_and_resources", {"/rules/0/resources": ["pods"]}),
        ("an_empty_aggregation", {"/aggregationRule": {}}),
        ("a_bad_aggregation", {"/aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b c"}}]}}),
        ("a_namespace", {"/metadata/name": "a%b"}),
    ])
spec("rolebinding", "rolebindings", True, obj(RB, "RoleBinding", "rb", roleRef={
    "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, subjects=[
        {"kind": "ServiceAccount", "name": "default", "namespace": "default"}]), [
        ("nothing_wrong", {}),
        ("an_unknown_kind", {"/roleRef/kind": "X"}),
        ("an_unknown_group", {"/roleRef/apiGroup": "x"}),
        ("no_name", {"/roleRef/name": ""}),
        ("a_subject_without_name", {"/subjects/0/name": ""}),
        ("a_subject_of_unknown_kind", {"/subjects/0/kind": "X"}),
        ("an_account_with_group", {"/subjects/0/apiGroup": "x"}),
        ("a_user_without_group", {"/subjects/0": {"kind": "User", "name": "u", "apiGroup": "x"}}),
        ("an_account_with_a_bad_name", {"/subjects/0/name": "A b"}),
    ])
spec("rolebinding_update", "rolebindings", True, obj(RB, "RoleBinding", "rb-u", roleRef={
    "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}), [
        ("the_reference_may_not_change", {"/roleRef/name": "other"}),
        ("a_subject_may_be_added", {"/subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]}),
    ], live=True)
spec("clusterrolebinding", "clusterrolebindings", False, obj(RB, "ClusterRoleBinding", "truce-test-crb", False, roleRef={
    "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}), [
        ("a_role", {"/roleRef/kind": "Role"}),
        ("an_account_without_namespace", {"/subjects": [{"kind": "ServiceAccount", "name": "a"}]}),
    ])

spec("serviceaccount", "serviceaccounts", True, obj("v1", "ServiceAccount", "sa"), [
    ("nothing_wrong", {}), ("a_bad_name", {"/metadata/name": "A"})])
spec("namespace", "namespaces", False, obj("v1", "Namespace", "truce-test-ns", False), [
    ("nothing_wrong", {}), ("a_bad_name", {"/metadata/name": "A"}), ("a_name_with_dots", {"/metadata/name": "a.b"}),
    ("a_bad_finalizer", {"/spec/finalizers": ["plain"]}), ("a_bad_label", {"/metadata/labels": {"a": "b c"}})])
spec("node", "nodes", False, obj("v1", "Node", "truce-test-node", False), [
    ("nothing_wrong", {}),
    ("bad_taints", {"/spec/taints": [{"key": "a b", "value": "c d", "effect": ""}, {"key": "a", "effect": "X"}]}),
    ("taints_twice", {"/spec/taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]}),
    ("a_bad_name", {"/metadata/name": "N"}),
    ("a_bad_block", {"/spec/podCIDRs": ["x"], "/spec/podCIDR": "x"}),
])
spec("event", "events", True, obj("v1", "Event", "ev", involvedObject={"kind": "Pod", "name": "p", "namespace": "default"},
                                  reason="R", message="m", type="Normal"), [
    ("nothing_wrong", {}), ("another_namespace", {"/involvedObject/namespace": "other"})])
spec("lease", "leases", True, obj("coordination.k8s.io/v1", "Lease", "l", spec={"holderIdentity": "a"}), [
    ("nothing_wrong", {}),
    ("bad_numbers", {"/spec/leaseDurationSeconds": 0, "/spec/leaseTransitions": -1}),
    ("a_bad_name", {"/metadata/name": "L l"}),
])
spec("priorityclass", "priorityclasses", False, obj("scheduling.k8s.io/v1", "PriorityClass", "truce-test-p", False, value=5), [
    ("nothing_wrong", {}),
    ("a_system_name", {"/metadata/name": "system-x"}),
    ("a_value_too_high", {"/value": 2000000000}),
    ("an_unknown_policy", {"/preemptionPolicy": "X"}),
])
spec("storageclass", "storageclasses", False, obj("storage.k8s.io/v1", "StorageClass", "truce-test-s", False,
                                                  provisioner="example.com/x"), [
    ("nothing_wrong", {}),
    ("no_provisioner", {"/provisioner": ""}),
    ("a_bad_provisioner", {"/provisioner": "a b"}),
    ("an_unknown_policy", {"/reclaimPolicy": "X"}),
    ("an_unknown_mode", {"/volumeBindingMode": "X"}),
])
spec("storageclass_update", "storageclasses", False, obj("storage.k8s.io/v1", "StorageClass", "truce-test-su", False,
                                                         provisioner="example.com/x"), [
    ("nothing_may_change", {"/provisioner": "example.com/y", "/parameters": {"a": "b"}, "/reclaimPolicy": "Retain",
                            "/volumeBindingMode": "WaitForFirstConsumer"}),
    ("expansion_may_change", {"/allowVolumeExpansion": True}),
    ("what_is_faulty_may_not_come", {"/reclaimPolicy": "Recycle", "/volumeBindingMode": "Odd", "/provisioner": "Bad Name"}),
    ("no_provisioner", {"/provisioner": ""}),
    ("topologies_without_values", {"/allowedTopologies": [{"matchLabelExpressions": [{"key": "z", "values": []}]}]}),
    ("topologies_twice", {"/allowedTopologies": [
        {"matchLabelExpressions": [{"key": "z", "values": ["a", "a"]}, {"key": "z", "values": ["a"]}]},
        {"matchLabelExpressions": [{"key": "Bad Key", "values": ["a"]}]},
        {"matchLabelExpressions": [{"key": "Bad Key", "values": ["a"]}]}]}),
], live=True)
PVC = obj("v1", "PersistentVolumeClaim", "data", spec={"accessModes": ["ReadWriteOnce"],
                                                       "resources": {"requests": {"storage": "1Gi"}}})
spec("pvc", "persistentvolumeclaims", True, PVC, [
    ("nothing_wrong", {}),
    ("no_modes", {"/spec/accessModes": None}),
    ("an_unknown_mode", {"/spec/accessModes": ["X"]}),
    ("modes_that_exclude", {"/spec/accessModes": ["ReadWriteOnce", "ReadWriteOncePod"]}),
    ("no_storage", {"/spec/resources": {}}),
    ("negative_storage", {"/spec/resources/requests/storage": "-1Gi"}),
    ("no_storage_at_all", {"/spec/resources/requests/storage": "0"}),
    ("a_bad_class", {"/spec/storageClassName": "A b"}),
    ("an_unknown_volume_mode", {"/spec/volumeMode": "X"}),
    ("a_bad_source", {"/spec/dataSource": {"kind": "X", "name": ""}, "/spec/dataSourceRef": {"kind": "X", "name": ""}}),
    ("two_sources", {"/spec/dataSource": {"kind": "PersistentVolumeClaim", "name": "a"},
                     "/spec/dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "b"}}),
    ("a_bad_attributes_class", {"/spec/volumeAttributesClassName": "A b"}),
])
spec("pvc_update", "persistentvolumeclaims", True, {**PVC, "metadata": {"name": "data-u", "namespace": "default"}}, [
    ("the_modes_may_not_change", {"/spec/accessModes": ["ReadWriteMany"]}),
    ("a_label_may_change", {"/metadata/labels": {"a": "b"}}),
    ("a_class_may_be_set_once", {"/spec/storageClassName": "fast"}),
    ("a_volume_may_be_set_once", {"/spec/volumeName": "v"}),
    ("less_is_no_change_of_its_own", {"/spec/resources/requests/storage": "1Mi"}),
    ("the_volume_mode_may_not_change", {"/spec/volumeMode": "Block", "/spec/selector": {"matchLabels": {"a": "<b>"}}}),
    ("an_empty_selector_is_one", {"/spec/selector": {}}),
    ("the_same_amount_in_other_words", {"/spec/resources/requests/storage": "1024Mi"}),
], live=True)
spec("pv_update", "persistentvolumes", False, obj("v1", "PersistentVolume", "truce-test-pv-u", False, spec={
    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}), [
        ("the_path_may_not_change", {"/spec/hostPath/path": "/y"}),
        ("the_source_may_not_change", {"/spec/hostPath": None, "/spec/csi": {"driver": "d.example.com", "volumeHandle": "h"}}),
        ("the_rest_may", {"/spec/capacity/storage": "2Gi", "/spec/storageClassName": "x", "/spec/mountOptions": ["ro"]}),
        ("the_mode_may_not_change", {"/spec/volumeMode": "Block"}),
    ], live=True)
spec("pv", "persistentvolumes", False, obj("v1", "PersistentVolume", "truce-test-pv", False, spec={
    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}), [
        ("nothing_wrong", {}),
        ("no_capacity", {"/spec/capacity": None}),
        ("no_modes", {"/spec/accessModes": None}),
        ("no_source", {"/spec/hostPath": None}),
        ("two_sources", {"/spec/nfs": {"server": "a", "path": "/b"}}),
        ("an_unknown_policy", {"/spec/persistentVolumeReclaimPolicy": "X"}),
        ("a_local_volume_without_node", {"/spec/hostPath": None, "/spec/local": {"path": "/x"}}),
        ("a_step_back", {"/spec/hostPath/path": "/a/../b"}),
        ("an_unknown_kind_of_path", {"/spec/hostPath/type": "X"}),
        ("a_bad_driver", {"/spec/hostPath": None, "/spec/csi": {"driver": "a b", "volumeHandle": ""}}),
        ("no_driver", {"/spec/hostPath": None, "/spec/csi": {"driver": "", "volumeHandle": "h"}}),
        ("a_bad_share", {"/spec/hostPath": None, "/spec/nfs": {"server": "", "path": "x"}}),
        ("the_root_recycled", {"/spec/hostPath/path": "/./", "/spec/persistentVolumeReclaimPolicy": "Recycle"}),
        ("an_attributes_class_without_csi", {"/spec/volumeAttributesClassName": ""}),
    ])
spec("limitrange", "limitranges", True, obj("v1", "LimitRange", "lr", spec={"limits": [{
    "type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "100m"}, "default": {"cpu": "500m"},
    "defaultRequest": {"cpu": "200m"}}]}), [
        ("nothing_wrong", {}),
        ("a_minimum_above", {"/spec/limits/0/min/cpu": "2"}),
        ("a_default_above", {"/spec/limits/0/default/cpu": "3"}),
        ("a_request_above", {"/spec/limits/0/defaultRequest/cpu": "700m"}),
        ("an_unknown_type", {"/spec/limits/0/type": "X"}),
        ("a_pod_with_defaults", {"/spec/limits/0/type": "Pod"}),
        ("types_twice", {"/spec/limits/1": {"type": "Container", "max": {"cpu": "1"}}}),
        ("an_unknown_resource", {"/spec/limits/0/max/bananas": "1", "/spec/limits/0/default/bananas": "1",
                                 "/spec/limits/0/defaultRequest/bananas": "1"}),
        ("a_claim_without_storage", {"/spec/limits/0": {"type": "PersistentVolumeClaim", "max": {"x.y/z": "1"}}}),
    ])
spec("resourcequota", "resourcequotas", True, obj("v1", "ResourceQuota", "rq", spec={"hard": {"pods": "5"}}), [
    ("nothing_wrong", {}),
    ("a_negative_amount", {"/spec/hard/pods": "-1"}),
    ("half_a_pod", {"/spec/hard/pods": "500m"}),
    ("an_unknown_resource", {"/spec/hard/bananas": "1"}),
    ("an_unknown_scope", {"/spec/scopes": ["X"]}),
    ("scopes_that_exclude", {"/spec/scopes": ["BestEffort", "NotBestEffort"]}),
    ("a_scope_that_does_not_fit", {"/spec/hard/secrets": "1", "/spec/scopes": ["Terminating"]}),
])
spec("endpointslice", "endpointslices", True, obj("discovery.k8s.io/v1", "EndpointSlice", "es", addressType="IPv4",
                                                  endpoints=[{"addresses": ["10.0.0.1"]}],
                                                  ports=[{"name": "a", "port": 80, "protocol": "TCP"}]), [
    ("nothing_wrong", {}),
    ("an_unknown_type", {"/addressType": "X"}),
    ("no_addresses", {"/endpoints/0/addresses": []}),
    ("an_address_that_is_none", {"/endpoints/0/addresses": ["x"]}),
    ("an_address_of_the_other_kind", {"/endpoints/0/addresses": ["::5"]}),
    ("a_loopback_address", {"/endpoints/0/addresses": ["127.0.0.1"]}),
    ("ports_twice", {"/ports/1": {"name": "a", "port": 81, "protocol": "TCP"}}),
    ("an_unknown_protocol", {"/ports/0/protocol": "X"}),
])
HOOK = obj("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "truce-test-hook", False, webhooks=[{
    "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
    "clientConfig": {"url": "https://x.example/y"},
    "rules": [{"apiGroups": ["truce.test"], "apiVersions": ["v1"], "resources": ["nothings"], "operations": ["CREATE"],
               "scope": "*"}]}])
spec("webhook", "validatingwebhookconfigurations", False, HOOK, [
    ("nothing_wrong", {}),
    ("a_short_name", {"/webhooks/0/name": "a.b"}),
    ("no_name", {"/webhooks/0/name": ""}),
    ("a_bad_name", {"/webhooks/0/name": "A b"}),
    ("side_effects", {"/webhooks/0/sideEffects": "Some"}),
    ("no_side_effects", {"/webhooks/0/sideEffects": None}),
    ("no_versions", {"/webhooks/0/admissionReviewVersions": []}),
    ("an_unknown_version", {"/webhooks/0/admissionReviewVersions": ["v9"]}),
    ("a_plain_url", {"/webhooks/0/clientConfig/url": "http://x/y"}),
    ("no_client", {"/webhooks/0/clientConfig": {}}),
    ("an_empty_rule", {"/webhooks/0/rules/0": {"scope": "X"}}),
    ("a_timeout_too_long", {"/webhooks/0/timeoutSeconds": 31}),
    ("names_twice", {"/webhooks/1": {**HOOK["webhooks"][0], "failurePolicy": "X", "matchPolicy": "Y",
                                     "timeoutSeconds": 5}}),
])
spec("apiservice", "apiservices", False, obj("apiregistration.k8s.io/v1", "APIService", "v1.served.test", False, spec={
    "group": "served.test", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
    "service": {"name": "s", "namespace": "n", "port": 443}, "insecureSkipTLSVerify": True}), [
        ("nothing_wrong", {}),
        ("another_name", {"/metadata/name": "v1.other"}),
        ("a_bad_version", {"/spec/version": "1"}),
        ("bad_priorities", {"/spec/groupPriorityMinimum": 0, "/spec/versionPriority": 5000}),
        ("no_service_name", {"/spec/service/name": ""}),
    ])


def crd(plural, kind, schema, **version):
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", plural + ".truce.test", False, spec={
        "group": "truce.test", "scope": "Namespaced", "names": {"plural": plural, "singular": kind.lower(), "kind": kind,
                                                                "listKind": kind + "List"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}]})


S = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
    "list": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}}}}}}
V = "/spec/versions/0"
SP = V + "/schema/openAPIV3Schema/properties/spec"
spec("crd", "customresourcedefinitions", False, crd("widgets", "Widget", S), [
    ("nothing_wrong", {}),
    ("another_name", {"/metadata/name": "other.truce.test"}),
    ("a_group_without_dot", {"/spec/group": "truce", "/metadata/name": "widgets.truce"}),
    ("a_bad_group", {"/spec/group": "Truce.test", "/metadata/name": "widgets.Truce.test"}),
    ("an_unknown_scope", {"/spec/scope": "X"}),
    ("a_bad_version_name", {V + "/name": "V_1"}),
    ("no_schema", {V + "/schema": None}),
    ("kind_and_list_kind_alike", {"/spec/names/listKind": "Widget"}),
    ("a_bad_kind", {"/spec/names/kind": "Wid_get"}),
    ("a_bad_short_name", {"/spec/names/shortNames": ["W_"]}),
    ("no_type_at_the_root", {V + "/schema/openAPIV3Schema/type": None}),
    ("no_type_of_a_field", {SP + "/type": None}),
    ("an_unknown_type", {SP + "/type": "thing"}),
    ("an_array_without_items", {SP + "/properties/list/items": None}),
    ("properties_and_additional_properties", {SP + "/additionalProperties": {"type": "string"}}),
    ("unique_items", {SP + "/properties/list/uniqueItems": True}),
    ("a_type_in_any_of", {SP + "/anyOf": [{"type": "object"}]}),
    ("a_default_in_not", {SP + "/not": {"properties": {"x": {"type": "string", "default": "a"}}}}),
    ("an_unknown_list_type", {SP + "/properties/list/x-kubernetes-list-type": "bag"}),
    ("a_list_map_without_keys", {SP + "/properties/list/x-kubernetes-list-type": "map"}),
    ("a_list_map_with_an_optional_key", {SP + "/properties/list/x-kubernetes-list-type": "map",
                                         SP + "/properties/list/x-kubernetes-list-map-keys": ["name"]}),
    ("a_list_map_with_an_unknown_key", {SP + "/properties/list/x-kubernetes-list-type": "map",
                                        SP + "/properties/list/x-kubernetes-list-map-keys": ["id"]}),
    ("a_list_type_on_an_object", {SP + "/x-kubernetes-list-type": "set"}),
    ("metadata_with_rules", {V + "/schema/openAPIV3Schema/properties/metadata": {
        "type": "object", "properties": {"labels": {"type": "object"}}}}),
    ("a_scale_without_paths", {V + "/subresources": {"scale": {"specReplicasPath": "", "statusReplicasPath": ""}}}),
    ("a_scale_with_bad_paths", {V + "/subresources": {"scale": {"specReplicasPath": "spec.x",
                                                               "statusReplicasPath": ".spec.y"}}}),
    ("a_column_that_is_bad", {V + "/additionalPrinterColumns": [{"name": "a", "type": "x", "jsonPath": "spec"}]}),
])

W = {"type": "object", "required": ["spec"], "properties": {"spec": {
    "type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "small": {"type": "integer", "format": "int32"},
        "above": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1, "exclusiveMaximum": True},
        "even": {"type": "integer", "multipleOf": 2},
        "color": {"type": "string", "enum": ["red", "green"]},
        "level": {"type": "integer", "enum": [1, 2]},
        "address": {"type": "string", "format": "ipv4"},
        "day": {"type": "string", "format": "date"},
        "when": {"type": "string", "format": "date-time"},
        "id": {"type": "string", "format": "uuid"},
        "data": {"type": "string", "format": "byte"},
        "flag": {"type": "boolean"},
        "maybe": {"type": "string", "nullable": True},
        "port": {"x-kubernetes-int-or-string": True},
        "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "rows": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
                 "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"},
                                                                               "n": {"type": "integer"}}}},
        "pairs": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
                  "items": {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"},
                                                                                    "b": {"type": "integer"}}}},
        "map": {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "integer"}},
        "any": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "one": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "all": {"type": "string", "allOf": [{"minLength": 3}, {"maxLength": 4}]},
        "no": {"type": "string", "not": {"enum": ["bad"]}},
    }}}}
CR = obj("truce.test/v1", "Gadget", "g", spec={"name": "abc"})
CR_CASES = [
    ("nothing_wrong", {}),
    ("no_spec", {"/spec": None}),
    ("no_name", {"/spec": {}}),
    ("a_name_of_a_number", {"/spec/name": 5}),
    ("a_name_too_short", {"/spec/name": "a"}),
    ("a_name_too_long", {"/spec/name": "abcdef"}),
    ("a_name_that_does_not_match", {"/spec/name": "ABC"}),
    ("a_size_of_text", {"/spec/size": "big"}),
    ("a_size_of_a_fraction", {"/spec/size": 1.5}),
    ("a_size_too_small", {"/spec/size": 0}),
    ("a_size_too_big", {"/spec/size": 11}),
    ("a_number_out_of_int32", {"/spec/small": 3000000000}),
    ("a_number_at_an_exclusive_bound", {"/spec/above": 0}),
    ("a_number_at_the_other_bound", {"/spec/above": 1}),
    ("a_number_within", {"/spec/above": 0.5}),
    ("an_odd_number", {"/spec/even": 3}),
    ("an_unknown_color", {"/spec/color": "blue"}),
    ("an_unknown_level", {"/spec/level": 3}),
    ("an_address_that_is_none", {"/spec/address": "1.2.3"}),
    ("a_day_that_is_none", {"/spec/day": "2026-02-30"}),
    ("a_time_that_is_none", {"/spec/when": "yesterday"}),
    ("an_id_that_is_none", {"/spec/id": "x"}),
    ("bytes_that_are_none", {"/spec/data": "???"}),
    ("a_flag_of_text", {"/spec/flag": "yes"}),
    ("a_null_that_may_be", {"/spec/maybe": "!null"}),
    ("a_port_of_a_truth", {"/spec/port": True}),
    ("an_empty_list", {"/spec/list": []}),
    ("a_list_too_long", {"/spec/list": ["a", "b", "c"]}),
    ("a_list_with_a_number", {"/spec/list": ["a", 1]}),
    ("a_list_of_text", {"/spec/list": "a"}),
    ("tags_twice", {"/spec/tags": ["a", "b", "a", "a"]}),
    ("rows_twice", {"/spec/rows": [{"id": "a"}, {"id": "b"}, {"id": "a", "n": 1}]}),
    ("rows_without_key", {"/spec/rows": [{"n": 1}]}),
    ("pairs_twice", {"/spec/pairs": [{"a": "x", "b": 1}, {"a": "x", "b": 2}, {"a": "x", "b": 1}]}),
    ("an_empty_map", {"/spec/map": {}}),
    ("a_map_too_big", {"/spec/map": {"a": 1, "b": 2, "c": 3}}),
    ("a_map_with_text", {"/spec/map": {"a": "x"}}),
    ("none_of_any", {"/spec/any": {}}),
    ("one_of_any", {"/spec/any": {"a": "x"}}),
    ("none_of_one", {"/spec/one": {}}),
    ("both_of_one", {"/spec/one": {"a": "x", "b": "y"}}),
    ("neither_of_all", {"/spec/all": "ab"}),
    ("too_long_for_all", {"/spec/all": "abcde"}),
    ("what_must_not_be", {"/spec/no": "bad"}),
    ("many_faults", {"/spec/name": "A", "/spec/size": 0, "/spec/color": "blue", "/spec/list": [1]}),
    ("a_bad_label", {"/metadata/labels": {"a": "b c"}}),
    ("a_bad_name", {"/metadata/name": "G_"}),
    ("a_bad_label_and_a_bad_size", {"/metadata/labels": {"a": "b c"}, "/spec/size": 0}),
]
spec("custom", "gadgets", True, CR, CR_CASES, crd=crd("gadgets", "Gadget", W))
spec("custom_update", "gadgets", True, {**CR, "metadata": {"name": "g-u", "namespace": "default"}}, [
    ("nothing_changed", {}),
    ("a_size_too_big", {"/spec/size": 11}),
    ("a_bad_label", {"/metadata/labels": {"a": "b c"}}),
    ("tags_twice", {"/spec/tags": ["a", "a"]}),
], live=True, crd=crd("gadgets", "Gadget", W))

TWO = crd("widgets", "Widget", S)
TWO["spec"]["versions"].append({"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {
    "type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}})
spec("crd_versions", "customresourcedefinitions", False, TWO, [
    ("nothing_wrong", {}),
    ("no_storage_version", {V + "/storage": False}),
    ("two_storage_versions", {"/spec/versions/1/storage": True}),
    ("versions_of_one_name", {"/spec/versions/1/name": "v1"}),
    ("a_fault_in_the_second", {"/spec/versions/1/schema/openAPIV3Schema/properties/spec/type": None,
                               "/spec/versions/1/schema/openAPIV3Schema/properties/spec/"
                               "x-kubernetes-preserve-unknown-fields": None}),
    ("no_schema_in_the_second", {"/spec/versions/1/schema": None}),
    ("a_column_in_the_first", {V + "/additionalPrinterColumns": [{"name": "", "type": "", "jsonPath": ""}]}),
    ("a_scale_in_the_second", {"/spec/versions/1/subresources": {"scale": {"specReplicasPath": ".x",
                                                                          "statusReplicasPath": "y"}}}),
])

# What is true of the metadata of each kind.
for _stem, _spec in SPECS.items():
    if not _spec.get("live"):
        _spec["cases"] = _spec["cases"] + [
            ("a_finalizer_without_domain", {"/metadata/finalizers": ["plain"]}),
            ("a_label_with_a_blank", {"/metadata/labels": {"a": "b c"}}),
        ]

# Their messages hold long texts of Go structs.
_LONG = {"crd_versions", "pod_update", "pvc_update", "job_update"}

# Several faults in one object, chosen once and for all: what comes first, and what hides what?
for _stem, _spec in SPECS.items():
    _small = [c for c in _spec["cases"] if c[1] and "$repeat" not in str(c[1]) and len(c[1]) < 3]
    _random = random.Random(_stem)
    for _n in range(8 if len(_small) >= 6 and _stem not in _LONG else 0):
        _together = {}
        for _name, _changes in _random.sample(_small, 3):
            if not any(a.startswith(b) or b.startswith(a) for a in _changes for b in _together):
                _together.update(_changes)
        _spec["cases"] = _spec["cases"] + [(f"together_{_n}", _together)]

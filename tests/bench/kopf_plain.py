# SPDX-License-Identifier: Apache-2.0
# The ModelCache operator on kopf, as its documentation shows how to write one: handlers for what happens to a ModelCache, a
# timer that looks after its ConfigMap, and the Kubernetes client for the requests. What it does is what modelcache.c does.
import kopf
import kubernetes

GROUP = ("lab.truce.dev", "v1", "modelcaches")
LABEL = "lab.truce.dev/model-cache"


def child_of(name, spec):
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-cache", "labels": {LABEL: name}},
        "data": {"model": spec["model"], "replicas": str(spec["replicas"])},
    }
    kopf.adopt(child)
    return child


def ensure_child(name, namespace, spec):
    api = kubernetes.client.CoreV1Api()
    child = child_of(name, spec)
    try:
        live = api.read_namespaced_config_map(child["metadata"]["name"], namespace)
    except kubernetes.client.ApiException as e:
        if e.status != 404:
            raise
        api.create_namespaced_config_map(namespace, child)
        return
    if live.data != child["data"]:
        api.patch_namespaced_config_map(child["metadata"]["name"], namespace, {"data": child["data"]})


@kopf.on.create(*GROUP)
@kopf.on.update(*GROUP)
@kopf.on.resume(*GROUP)
def changed(name, namespace, spec, meta, status, patch, **_):
    ensure_child(name, namespace, spec)
    patch.status["phase"] = "Ready"
    patch.status["child"] = f"{name}-cache"
    patch.status["observedGeneration"] = meta["generation"]


@kopf.timer(*GROUP, interval=30, initial_delay=30)
def looks(name, namespace, spec, **_):
    ensure_child(name, namespace, spec)

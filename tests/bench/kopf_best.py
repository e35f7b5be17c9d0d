# SPDX-License-Identifier: Apache-2.0
# The ModelCache operator on kopf, as well as we could write it: all asynchronous, no timer and so no finalizer, an index of
# what there is, so that nothing is written that is there already, and the events of the ConfigMaps, so that one that goes
# is made again at once. Events to the cluster are off. What it does is what modelcache.c does.
import base64
import ssl

import aiohttp
import kopf

GROUP = ("lab.truce.dev", "v1", "modelcaches")
LABEL = "lab.truce.dev/model-cache"


@kopf.on.login()
def login(**kwargs):
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.startup()
async def begin(settings, memo, **_):
    settings.posting.enabled = False
    access = kopf.login_with_kubeconfig(settings=settings)
    pem = base64.b64decode(access.ca_data).decode() if access.ca_data else None
    trust = ssl.create_default_context(cafile=access.ca_path, cadata=pem)
    memo.session = aiohttp.ClientSession(
        base_url=access.server,
        headers={"Authorization": f"Bearer {access.token}"},
        connector=aiohttp.TCPConnector(ssl=trust, limit=15),
    )


@kopf.on.cleanup()
async def end(memo, **_):
    await memo.session.close()


@kopf.index(*GROUP)
def models(namespace, name, uid, spec, meta, **_):
    return {(namespace, name): (uid, dict(spec), meta.get("deletionTimestamp") is not None)}


@kopf.index("configmaps", labels={LABEL: kopf.PRESENT})
def children(namespace, name, body, **_):
    owners = body["metadata"].get("ownerReferences") or [{}]
    return {(namespace, name): (owners[0].get("uid"), dict(body.get("data") or {}))}


def data_of(spec):
    return {"model": spec["model"], "replicas": str(spec["replicas"])}


async def create_child(session, namespace, name, uid, spec):
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{name}-cache",
            "labels": {LABEL: name},
            "ownerReferences": [
                {
                    "apiVersion": "lab.truce.dev/v1",
                    "kind": "ModelCache",
                    "name": name,
                    "uid": uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "data": data_of(spec),
    }
    async with session.post(f"/api/v1/namespaces/{namespace}/configmaps", json=child) as answer:
        if answer.status != 409:
            answer.raise_for_status()


async def ensure_child(session, children, namespace, name, uid, spec):
    there = next(iter(children.get((namespace, f"{name}-cache"), [])), None)
    if there is None:
        await create_child(session, namespace, name, uid, spec)
    elif there != (uid, data_of(spec)):
        async with session.patch(
            f"/api/v1/namespaces/{namespace}/configmaps/{name}-cache",
            json={"data": data_of(spec)},
            headers={"Content-Type": "application/merge-patch+json"},
        ) as answer:
            answer.raise_for_status()


@kopf.on.create(*GROUP)
@kopf.on.update(*GROUP)
@kopf.on.resume(*GROUP)
async def changed(namespace, name, uid, spec, meta, status, patch, memo, children, **_):
    await ensure_child(memo.session, children, namespace, name, uid, spec)
    if status.get("phase") != "Ready" or status.get("observedGeneration") != meta["generation"]:
        patch.status["phase"] = "Ready"
        patch.status["child"] = f"{name}-cache"
        patch.status["observedGeneration"] = meta["generation"]


@kopf.on.event("configmaps", labels={LABEL: kopf.PRESENT})
async def child_changed(type, namespace, labels, memo, models, children, **_):
    name = labels[LABEL]
    model = next(iter(models.get((namespace, name), [])), None)
    if model is None or type is None:
        return
    uid, spec, deleting = model
    if not deleting:
        await ensure_child(memo.session, children, namespace, name, uid, spec)

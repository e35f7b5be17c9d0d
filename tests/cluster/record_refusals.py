#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what a real API server says to the bodies of tests/cases/sandbox_decode/bodies.yaml (strict field validation),
and makes of the patches of tests/cases/sandbox_patch/*.yaml. Needs PyYAML; the tests need only the JSON.

    tests/cluster/with-cluster.sh --no-podsim tests/cluster/record_refusals.py
"""
import glob
import json
import os
import sys
import time
import urllib.error
import urllib.request

import yaml

sys.argv = sys.argv[:1]
from record_defaults import CA, SERVER, TOKEN, Text, call, collection, wait_until_served  # noqa: E402
import ssl  # noqa: E402

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cases")
PATCH_TYPES = {"json": "application/json-patch+json", "merge": "application/merge-patch+json",
               "strategic": "application/strategic-merge-patch+json"}
MADE_UP = ("uid", "creationTimestamp", "resourceVersion", "managedFields", "generation")


def send(method, path, text, content_type):
    request = urllib.request.Request(SERVER + path, text.encode(), {"Authorization": "Bearer " + TOKEN, "Content-Type": content_type}, method=method)
    try:
        with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=CA)) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def clean(o):
    for key in MADE_UP:
        o["metadata"].pop(key, None)
    return o


def write(path, cases):
    with open(path, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, sort_keys=True, separators=(",", ":")) for c in cases) + "\n]\n")
    print(os.path.basename(path), len(cases))


def refuse(path, text):
    code, reply = send("POST", path + "?dryRun=All&fieldValidation=Strict", text, "application/json")
    return {"body": text, "code": code, "message": reply.get("message", "")}


def record_bodies():
    with open(CASES + "/sandbox_decode/bodies.yaml", encoding="utf-8") as f:
        doc = yaml.load(f, Text)
    out = [{"crd": doc["crd"]}]
    for kind, bodies in doc["kinds"].items():
        api_version, name = kind.rsplit("/", 1)
        out += [refuse(collection({"apiVersion": api_version, "kind": name}), b) for b in bodies]
    call("POST", collection(doc["crd"]), doc["crd"])
    wait_until_served(doc["crd"])
    out += [refuse(collection({"apiVersion": "cases.example/v1", "kind": "Body"}), b) for b in doc["custom"]]
    call("DELETE", collection(doc["crd"]) + "/" + doc["crd"]["metadata"]["name"])
    write(CASES + "/sandbox_decode/bodies.json", out)


def patch(path, p):
    (kind, body), = p.items()
    code, reply = send("PATCH", path + "?dryRun=All&fieldValidation=Strict", json.dumps(body), PATCH_TYPES[kind])
    if code == 200:
        return {"type": kind, "patch": body, "code": code, "object": clean(reply)}
    causes = [c.get("message") for c in reply.get("details", {}).get("causes", [])]
    message = causes[0] if causes and reply["message"].startswith("the server rejected our request") else reply["message"]
    return {"type": kind, "patch": body, "code": code, "message": message}


def record_patches(name):
    with open(name, encoding="utf-8") as f:
        docs = list(yaml.load_all(f, Text))
    out = []
    for d in docs:
        path = collection(d["object"])
        live = call("POST", path, d["object"])
        if live["kind"] == "Status":
            raise SystemExit(live["message"])
        path += "/" + d["object"]["metadata"]["name"]
        if d["object"]["kind"] == "CustomResourceDefinition":
            wait_until_served(d["object"])
        time.sleep(1.5)  # until controllers have had their say
        live = call("GET", path)
        out.append({"live": live, "patches": [patch(path, p) for p in d.get("patches", [])]})
    for d in reversed(docs):
        path = collection(d["object"]) + "/" + d["object"]["metadata"]["name"]
        send("PATCH", path, '{"metadata":{"finalizers":null}}', PATCH_TYPES["merge"])
        call("DELETE", path)
    write(name[:-5] + ".json", out)


record_bodies()
for file in sorted(glob.glob(CASES + "/sandbox_patch/*.yaml")):
    record_patches(file)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what a real API server stores for the inputs of tests/cases/sandbox_default/*.yaml, one JSON file each:
a list of {"input": …, "stored": …}. Needs PyYAML; the tests need only the JSON.

    tests/cluster/with-cluster.sh --no-podsim tests/cluster/record_defaults.py [FILE.yaml…]

Everything is created with dryRun, except the CustomResourceDefinitions that open a file. What the server makes up is
left out: uid, times, resourceVersion, managedFields.
"""
import glob
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request

import yaml

SERVER, TOKEN, CA = (os.environ["TRUCE_TEST_" + k] for k in ("SERVER", "TOKEN", "CA"))
CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cases/sandbox_default")
MADE_UP = ("uid", "creationTimestamp", "resourceVersion", "managedFields")


class Text(yaml.SafeLoader):
    """YAML 1.2's numbers, as the rest of the project reads them: 1e3 is one, a time is a string."""


Text.add_implicit_resolver("tag:yaml.org,2002:float", __import__("re").compile(r"^[-+]?[0-9][0-9.]*[eE][-+]?[0-9]+$"), list("-+0123456789"))
Text.yaml_implicit_resolvers = {k: [r for r in v if r[0] != "tag:yaml.org,2002:timestamp"] for k, v in Text.yaml_implicit_resolvers.items()}


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(SERVER + path, data, {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=CA)) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as e:
        text = e.read()
        return json.loads(text) if text.startswith(b"{") else {}


def collection(o):
    group = "/apis/" + o["apiVersion"] if "/" in o["apiVersion"] else "/api/" + o["apiVersion"]
    for r in call("GET", group)["resources"]:
        if r["kind"] == o["kind"] and "/" not in r["name"]:
            return group + ("/namespaces/default/" if r["namespaced"] else "/") + r["name"]
    raise SystemExit("nobody serves %s" % o["kind"])


def record(o, really):
    reply = call("POST", collection(o) + ("" if really else "?dryRun=All"), o)
    if reply["kind"] == "Status":
        print("%s %s: %s" % (o["kind"], o["metadata"]["name"], reply["message"]), file=sys.stderr)
        return {"input": o}
    for key in MADE_UP:
        reply["metadata"].pop(key, None)
    return {"input": o, "stored": reply}


def wait_until_served(crd):
    path = "/apis/%s/%s" % (crd["spec"]["group"], crd["spec"]["versions"][0]["name"])
    while "resources" not in call("GET", path):
        time.sleep(0.1)
    time.sleep(1)


def record_file(name):
    with open(name, encoding="utf-8") as f:
        inputs = list(yaml.load_all(f, Text))
    really = inputs[0]["kind"] == "CustomResourceDefinition"
    out = []
    for i, o in enumerate(inputs):
        out.append(record(o, really and i == 0))
        if really and i == 0:
            wait_until_served(o)
    if really:
        call("DELETE", collection(inputs[0]) + "/" + inputs[0]["metadata"]["name"])
    with open(name[:-5] + ".json", "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, sort_keys=True, separators=(",", ":")) for c in out) + "\n]\n")
    print(os.path.basename(name), len(out))


if __name__ == "__main__":
    for file in sys.argv[1:] or sorted(glob.glob(CASES + "/*.yaml")):
        record_file(file)

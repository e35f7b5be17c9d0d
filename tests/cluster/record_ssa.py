#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what a real API server makes of the steps in tests/cases/ssa: objects, managedFields, conflicts.

    tests/cluster/with-cluster.sh --no-podsim tests/cluster/record_ssa.py [NAME…]      all, or those named
    … record_ssa.py --check [NAME…]                                                   only tells what would change

A case is a file NAME.json. Its steps run one after the other, at least a second apart, in a namespace ssa-NAME:

    do      apply, create, update (PUT), merge, strategic, json (patches), crd (puts a file of tests/cases/ssa/crd)
    as      fieldManager; empty: none
    of      "apiVersion Kind" when it is not that of the body;  name: likewise
    sub     status or scale;  force: true
    body    as sent; the namespace is added. A PUT gets the live resourceVersion when it has none

This script fills `now` and `expect`: the code; of a success the object without what differs between runs, and whether
it was written at all (`wrote`); of a failure message and causes. Step N writes at BASE + 10 N seconds. The cluster's
controller manager is stopped, so that nobody else writes. SSA_CASES_DIR: another folder of cases.
tests/unit/sandbox/test_ssa_cases.c replays them.
"""
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

CASES = pathlib.Path(os.environ.get("SSA_CASES_DIR") or pathlib.Path(__file__).resolve().parents[1] / "cases" / "ssa")
BASE = datetime.datetime(2026, 1, 1)
TYPES = {"apply": "application/apply-patch+yaml", "merge": "application/merge-patch+json",
         "strategic": "application/strategic-merge-patch+json", "json": "application/json-patch+json"}
CLUSTERED = {"Namespace", "ClusterRole", "ClusterRoleBinding", "PersistentVolume", "StorageClass", "PriorityClass",
             "CustomResourceDefinition"}
STARTED = datetime.datetime.utcnow().strftime("%Y-%m-%dT%H:%M:%SZ")
VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "generation")

context = ssl.create_default_context(cafile=os.environ["TRUCE_TEST_CA"])


def call(method, path, body=None, content="application/json"):
    request = urllib.request.Request(os.environ["TRUCE_TEST_SERVER"] + path, method=method,
                                     data=None if body is None else json.dumps(body).encode())
    request.add_header("Authorization", "Bearer " + os.environ["TRUCE_TEST_TOKEN"])
    request.add_header("Content-Type", content)
    request.add_header("User-Agent", "recorder/1")
    try:
        with urllib.request.urlopen(request, context=context) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as e:
        text = e.read()
        return e.code, json.loads(text) if text.startswith(b"{") else {"message": text.decode()}


def plural_of(kind):
    low = kind.lower()
    if low.endswith("y"):
        return low[:-1] + "ies"
    return low + ("es" if low.endswith(("s", "ss", "x")) else "s")


def path_of(api_version, kind, namespace, name):
    path = ("/apis/" if "/" in api_version else "/api/") + api_version
    if kind not in CLUSTERED:
        path += "/namespaces/" + namespace
    return path + "/" + plural_of(kind) + ("/" + name if name else "")


def spell_time(seconds):
    return (BASE + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Case:
    def __init__(self, file):
        self.file = file
        self.data = json.loads(file.read_text())
        self.namespace = "ssa-" + file.stem
        self.live, self.times = {}, {}

    def put_crd(self, name):
        crd = json.loads((CASES / "crd" / (name + ".json")).read_text())
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + crd["metadata"]["name"]
        before = call("GET", path)[1].get("metadata", {}).get("generation")
        code, reply = call("PATCH", path + "?fieldManager=crd&force=true", crd, TYPES["apply"])
        assert code in (200, 201), reply
        if reply["metadata"]["generation"] == before:
            return
        for _ in range(100):
            conditions = call("GET", path)[1].get("status", {}).get("conditions") or []
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                break
            time.sleep(0.1)
        time.sleep(3 if code == 200 else 1)  # discovery and handlers follow a little later

    def tidy(self, obj, moment):
        """Without what is another in each run: versions, times, uids, allotted addresses."""
        text = json.dumps(obj).replace(obj["metadata"]["uid"], "00000000-0000-0000-0000-000000000001")
        for address in set(re.findall(r'"(10\.96\.\d+\.\d+)"', text)):
            text = text.replace('"%s"' % address, '"10.96.0.99"')
        obj = json.loads(text)
        meta = obj["metadata"]
        for name in VOLATILE:
            meta.pop(name, None)
        for entry in meta.get("managedFields") or []:
            if entry.get("time", "") >= STARTED:
                entry["time"] = self.times.setdefault(entry["time"], moment)
        return obj

    def target(self, step):
        body = step["body"]
        api_version, kind = step["of"].split() if "of" in step else (body["apiVersion"], body["kind"])
        return api_version, kind, step.get("name") or body["metadata"]["name"]

    def send(self, step):
        body = step["body"]
        api_version, kind, name = self.target(step)
        if isinstance(body, dict) and step["do"] in ("apply", "create", "update") and kind not in CLUSTERED:
            body = {**body, "metadata": {"namespace": self.namespace, **body.get("metadata", {})}}
        if step["do"] == "update" and "resourceVersion" not in body["metadata"] and (kind, name) in self.live:
            body["metadata"]["resourceVersion"] = self.live[kind, name]["metadata"]["resourceVersion"]
        path = path_of(api_version, kind, self.namespace, "" if step["do"] == "create" else name)
        path += "/" + step["sub"] if "sub" in step else ""
        path += "?fieldManager=" + step["as"] if step.get("as") else "?"
        path += "&force=true" if step.get("force") else ""
        method = {"create": "POST", "update": "PUT"}.get(step["do"], "PATCH")
        code, reply = call(method, path, body, TYPES.get(step["do"], "application/json"))
        if code < 300 and step.get("sub") == "scale":
            reply = call("GET", path_of(api_version, kind, self.namespace, name))[1]
        return code, reply, (kind, name)

    def step(self, step, number):
        if step["do"] == "crd":
            self.put_crd(step["crd"])
            return
        time.sleep(1.02 - datetime.datetime.now().microsecond / 1e6)  # early in a second of its own
        step["now"] = spell_time(10 * number)
        code, reply, key = self.send(step)
        if code >= 300:
            details = reply.get("details") or {}
            # What validation finds comes in no order.
            message = reply["message"].split(" is invalid:")[0] if code == 422 else reply["message"]
            step["expect"] = {"code": code, "message": message, "causes": sorted(
                details.get("causes") or [], key=lambda c: (c["message"], c["field"]))}
            return
        before = self.live.get(key)
        self.live[key] = json.loads(json.dumps(reply))
        wrote = not before or before["metadata"]["resourceVersion"] != reply["metadata"]["resourceVersion"]
        step["expect"] = {"code": code, "wrote": wrote, "object": self.tidy(reply, step["now"])}

    def record(self):
        call("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        for path in {path_of(api_version, kind, self.namespace, name) for api_version, kind, name in
                     (self.target(step) for step in self.data["steps"] if step["do"] != "crd")}:
            while call("GET", path)[0] == 200:
                call("DELETE", path + "?gracePeriodSeconds=0&propagationPolicy=Background")
                call("PATCH", path, {"metadata": {"finalizers": None}}, TYPES["merge"])
        for number, step in enumerate(self.data["steps"]):
            self.step(step, number + 1)
        return self


def drop_crds():
    """From a run before. Cases share what they do not change."""
    for file in (CASES / "crd").glob("*.json"):
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + json.loads(file.read_text())["metadata"]["name"]
        call("DELETE", path)
        while call("GET", path)[0] != 404:
            time.sleep(0.1)


def spell(value, indent=0, width=116):
    """JSON in which everything that fits stands on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= width or not isinstance(value, (dict, list)) or not value:
        return flat
    pad = " " * (indent + 1)
    if isinstance(value, list):
        return "[\n" + ",\n".join(pad + spell(v, indent + 1) for v in value) + "\n" + pad[1:] + "]"
    lines = [pad + json.dumps(k, ensure_ascii=False) + ": " + spell(v, indent + 1) for k, v in value.items()]
    return "{\n" + ",\n".join(lines) + "\n" + pad[1:] + "}"


def main():
    check, names = "--check" in sys.argv, [a for a in sys.argv[1:] if a != "--check"]
    files = [CASES / (n + ".json") for n in names] or sorted(CASES.glob("*.json"))
    differ, steps = 0, 0
    cluster = pathlib.Path(os.environ["TRUCE_TEST_CA"]).parents[1]
    subprocess.run([pathlib.Path(__file__).with_name("cluster"), "stop", cluster, "controller-manager"], check=False)
    drop_crds()
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        for done in concurrent.futures.as_completed(pool.submit(Case(f).record) for f in files):
            case = done.result()
            text = spell(case.data) + "\n"
            steps += len(case.data["steps"])
            if text != case.file.read_text():
                differ += 1
                print("%s %s" % (case.file.stem, "differs" if check else "recorded"))
                if not check:
                    case.file.write_text(text)
    print("%d cases, %d steps, %d %s" % (len(files), steps, differ, "differ" if check else "written"))
    return 1 if check and differ else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a real API server what it says to faulty objects, and keeps the answers as test data.

Run as: tests/cluster/with-cluster.sh --no-podsim tests/cluster/record_validate.py [FILE-STEM…]

The faults are in record_validate_cases.py: for each base object a list of changes. A base is first created (dry run),
so that the test data hold it with all defaults; then each change is sent, as a creation (POST) or as an update (PUT) of
an object that exists. All requests but the making of those objects are dry runs. Each is sent several times: where the
server walks a Go map its order is random, and the case is marked `unordered`.

tests/cases/sandbox_validate/NAME.json:
  {"base": object, "live": bool, "subresource": "", "crd": object or absent,
   "cases": [{"name": claim, "set": [[pointer, value] …], "status": 422, "reason": "Invalid", "message": "…",
              "causes": [[reason, field, message] …], "unordered": true or absent}]}
In `set` the value null removes (the text "!null" is a JSON null), and {"$repeat": [text, n]} is a long text.
"""
import copy
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "cases", "sandbox_validate")
TRIES = 5
SETTLE_S = 2  # controllers write the status of what was just created

sys.path.insert(0, HERE)
import record_validate_cases as cases  # noqa: E402


def request(method, path, body=None):
    r = urllib.request.Request(os.environ["TRUCE_TEST_SERVER"] + path, method=method,
                               data=json.dumps(body).encode() if body is not None else None)
    r.add_header("Authorization", "Bearer " + os.environ["TRUCE_TEST_TOKEN"])
    r.add_header("Content-Type", "application/json")
    context = ssl.create_default_context(cafile=os.environ["TRUCE_TEST_CA"])
    try:
        with urllib.request.urlopen(r, context=context) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def collection(obj, plural, namespaced):
    group = obj["apiVersion"]
    prefix = "/apis/" + group if "/" in group else "/api/" + group
    return prefix + ("/namespaces/default/" if namespaced else "/") + plural


def expand(value):
    """{"$repeat": ["x", 1000]} stands for a long text."""
    if isinstance(value, dict) and "$repeat" in value:
        return value["$repeat"][0] * value["$repeat"][1]
    if isinstance(value, dict):
        return {k: expand(v) for k, v in value.items()}
    return value


def change(obj, sets):
    """Applies [[pointer, value] …]: missing maps are made, an index one past the end appends."""
    obj = copy.deepcopy(obj)
    for pointer, value in sets:
        at = obj
        parts = [p.replace("~1", "/").replace("~0", "~") for p in pointer.split("/")[1:]]
        for part, following in zip(parts[:-1], parts[1:]):
            if isinstance(at, list):
                at = at[int(part)]
            else:
                if part not in at or at[part] is None:
                    at[part] = [] if following.isdigit() and following == "0" else {}
                at = at[part]
        last = parts[-1]
        remove = value is None
        value = None if value == "!null" else expand(value)
        if isinstance(at, list):
            i = int(last)
            if i == len(at):
                at.append(value)
            elif remove:
                del at[i]
            else:
                at[i] = value
        elif remove:
            at.pop(last, None)
        else:
            at[last] = value
    return obj


def strip(obj, live):
    obj = copy.deepcopy(obj)
    meta = obj["metadata"]
    meta.pop("managedFields", None)
    if not live:
        for field in ("uid", "creationTimestamp", "resourceVersion", "generation"):
            meta.pop(field, None)
        obj.pop("status", None)
    return obj


def causes_of(reply):
    return [[c.get("reason", ""), c.get("field", ""), c.get("message", "")]
            for c in reply.get("details", {}).get("causes", [])]


def ask(spec, url, obj):
    method = "PUT" if spec.get("live") else "POST"
    answers = []
    for _ in range(TRIES):
        answers.append(request(method, url + "?dryRun=All", obj))
        if answers[0][0] != 422 or len(causes_of(answers[0][1])) < 2:
            break
    return answers


def record_case(spec, url, base, name, sets):
    obj = change(base, sets)
    answers = ask(spec, url, obj)
    status, reply = answers[0]
    case = {"name": name, "set": sets, "status": status}
    if status == 422:
        case["reason"] = reply.get("reason")
        case["message"] = reply["message"]
        case["causes"] = causes_of(reply)
        walks_maps = "crd" in spec or spec["plural"] in ("resourcequotas", "limitranges")
        if any(causes_of(a[1]) != case["causes"] for a in answers) or (walks_maps and len(case["causes"]) > 1):
            case["unordered"] = True
    elif status not in (200, 201):
        print(f"  {name}: {status} {reply.get('message')}", file=sys.stderr)
        return None
    return case


def pairs(changes):
    return [[k, v] for k, v in changes.items()]


def record(stem, spec):
    base = spec["base"]
    path = collection(base, spec["plural"], spec["namespaced"])
    if "crd" in spec:
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        request("POST", crds, spec["crd"])
        for _ in range(100):
            if request("GET", path)[0] == 200:
                break
    if spec.get("live"):
        one = path + "/" + base["metadata"]["name"]
        request("DELETE", one, {"propagationPolicy": "Background"})
        while request("GET", one)[0] != 404:
            time.sleep(0.1)
        status, reply = request("POST", path, base)
        url = path + "/" + base["metadata"]["name"]
        if status == 201:
            time.sleep(SETTLE_S)
            status, reply = request("GET", url)
    else:
        status, reply = request("POST", path + "?dryRun=All", base)
        url = path
    if status not in (200, 201):
        sys.exit(f"{stem}: the base is refused: {reply.get('message')}")
    if spec.get("subresource"):
        url += "/" + spec["subresource"]
        status, reply = request("GET", url)
    defaulted = strip(reply, spec.get("live"))
    defaulted = change(defaulted, pairs(spec.get("forget", {})))
    found = [record_case(spec, url, defaulted, name, pairs(changes)) for name, changes in spec["cases"]]
    data = {"base": defaulted, "live": bool(spec.get("live")), "subresource": spec.get("subresource", "")}
    if "crd" in spec:
        data["crd"] = spec["crd"]
    data["cases"] = [c for c in found if c]
    head = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in data.items() if k != "cases")
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in data["cases"])
    with open(os.path.join(OUT, stem + ".json"), "w", encoding="utf-8") as f:
        f.write("{" + head + ',\n"cases": [\n' + lines + "\n]}\n")
    return len(data["cases"])


def main():
    os.makedirs(OUT, exist_ok=True)
    stems = sys.argv[1:] or list(cases.SPECS)
    total = 0
    for stem in stems:
        count = record(stem, cases.SPECS[stem])
        print(f"{stem}: {count}")
        total += count
    print(f"total: {total}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what `truce adopt --all -o json` foretold of an object against what a sync made of it.

  adopt.py FORETOLD.json BEFORE.json AFTER.json KIND/NAME

BEFORE and AFTER are the object as the API server gives it, with managedFields. Paths are read from managedFields by this
script, not by truce.
"""
import json
import re
import sys

STRIPPED = {".metadata.name", ".metadata.namespace", ".apiVersion", ".kind"}
# What the steps lift before the sync.
LIFTED = ("toolkit.fluxcd.io/", "meta.helm.sh/")
MARKS = {'.metadata.annotations["argocd.argoproj.io/tracking-id"]', '.metadata.labels["truce.dev/installation"]'}


def leaves(fields, at=""):
    for key, below in fields.items():
        if key == ".":
            continue
        kind, text = key.split(":", 1)
        if kind == "f":
            step = '["%s"]' % text if any(c in text for c in '.["]') else "." + text
        elif kind == "k":
            step = "[" + ",".join("%s=%s" % (k, json.dumps(v)) for k, v in sorted(json.loads(text).items())) + "]"
        else:
            step = "[=%s]" % text
        if [k for k in below if k != "."]:
            yield from leaves(below, at + step)
        else:
            yield at + step


def owners(obj):
    """leaf -> names of its owners; status is left out."""
    out = {}
    for entry in obj["metadata"]["managedFields"]:
        for path in leaves(entry["fieldsV1"]):
            if not path.startswith(".status") and path not in STRIPPED | MARKS and not any(m in path for m in LIFTED):
                out.setdefault(path, set()).add(entry["manager"])
    paths = list(out)
    return {p: o for p, o in out.items() if not any(q != p and q.startswith(p) and q[len(p)] in ".[" for q in paths)}


STEP = re.compile(r'\.([^.\[]+)|\["([^"]+)"\]|\[((?:[A-Za-z]+=(?:"[^"]*"|[^],"]+),?)+)\]|\[=(.+?)\]')


def find(value, path):
    for field, quoted, keys, item in STEP.findall(path):
        if field or quoted:
            value = value.get(field or quoted) if isinstance(value, dict) else None
        elif keys:
            want = {k: json.loads(v) for k, v in re.findall(r'([A-Za-z]+)=("[^"]*"|[^],"]+)', keys)}
            value = next((i for i in value or [] if all(i.get(k, "TCP" if k == "protocol" else None) == v
                                                         for k, v in want.items())), None)
        else:
            value = item if json.loads(item) in (value or []) else None
    return value


def main():
    foretold, before, after = (json.load(open(f)) for f in sys.argv[1:4])
    kind, name = sys.argv[4].split("/")
    said = next(o for o in foretold["objects"] if o["object"]["kind"] == kind and o["object"]["name"] == name)
    bad = []
    was, is_ = owners(before), owners(after)

    for p in said["paths"]:
        path, what, owner = p["path"], p["kind"], p.get("owner", "").split(" (")[0]
        if any(m in path for m in LIFTED):
            continue
        now = is_.get(path, set())
        ours = "truce" in now
        right = {
            "changes": ours and owner not in now and owner in was.get(path, set()),
            "new": ours and not was.get(path),
            "shared": ours and len(now) > 1,
            "truce": ours and now == {"truce"},
            "stays": not ours and bool(now),
            "goes": not now,
        }[what]
        if not right:
            bad.append("%s: foretold %s %s, is owned by %s" % (path, what, owner, sorted(now)))
    told = {p["path"] for p in said["paths"]}
    for path in (set(was) | set(is_)) - told:
        bad.append("%s: owned by %s, not foretold" % (path, sorted(is_.get(path, was.get(path)))))

    for m in said["matters"]:
        value = find(after, m["path"])
        if m["kind"] == "value" and value != m.get("then"):
            bad.append("%s: foretold %r, is %r" % (m["path"], m.get("then"), value))
        if m["kind"] == "goes" and value is not None:
            bad.append("%s: foretold to go, is %r" % (m["path"], value))
        if m["kind"] in ("stays", "decide") and value != m.get("live"):
            bad.append("%s: foretold to stay %r, is %r" % (m["path"], m.get("live"), value))

    # Nothing else may have changed that somebody owned.
    changed = {m["path"] for m in said["matters"] if m["kind"] in ("value", "goes")}
    for path in set(was) & set(is_):
        if "deployment.kubernetes.io/revision" in path: # its controller counts rollouts
            continue
        if find(before, path) != find(after, path) and not any(path.startswith(c) for c in changed):
            bad.append("%s: %r became %r, not foretold" % (path, find(before, path), find(after, path)))
    if bad:
        sys.exit("%s:\n  %s" % (sys.argv[4], "\n  ".join(sorted(bad))))
    print("%s: %d paths, %d matters as foretold" % (sys.argv[4], len(said["paths"]), len(said["matters"])))


main()

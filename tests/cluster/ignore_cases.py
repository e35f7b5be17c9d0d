#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases of tests/cases/ignore that have a sync.yaml, for test_ignore_cases.sh: a step a call.

    namespaces, definitions, kinds   what there must be, and what to look at
    before, desired                  the repository and the configuration of the last commit, and of this one
    writes                           what others wrote in between: a user and kubectl's arguments, a line each
    check-diff, check-no-diff        $WORK/diff, of `truce diff -o json`
    check-live                       $WORK/live, and $WORK/audit: what the sync wrote

docs/testing.md says what a sync.yaml holds.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("step")
for name in ("cases", "work", "namespace", "url", "yaml", "only"):
    parser.add_argument("--" + name)
args = parser.parse_args()
WORK = pathlib.Path(args.work)
FILES = ("sync", "desired", "rules", "expected", "crd")
problems = []


def complain(case, text):
    problems.append(f"{case.name}: {text}")


class Case:
    def __init__(self, folder, number, documents):
        self.name = folder.name
        self.namespace = f"{args.namespace}-{number}"
        self.documents = documents
        self.sync = documents["sync"][0]
        self.desired = self.placed(documents["desired"][0])
        self.before = self.placed(self.sync.get("before", documents["desired"][0]))
        self.expected = documents["expected"][0]
        self.kind = self.desired["kind"]
        self.object = self.desired["metadata"]["name"]

    def placed(self, thing):
        """It gets its namespace from the application."""
        metadata = {k: v for k, v in thing["metadata"].items() if k != "namespace"}
        return {**thing, "metadata": metadata}

    def application(self):
        """The rules of the case, for this namespace."""
        rules = [d for d in self.documents.get("rules", []) if d["kind"] == "Application"]
        assert len(rules) == len(self.documents.get("rules", [])), f"{self.name}: at sync only Applications"
        spec = rules[0]["spec"] if rules else {}
        return {
            "annotations": rules[0]["metadata"].get("annotations", {}) if rules else {},
            "ignoreDifferences": spec.get("ignoreDifferences", []),
            "syncPolicy": spec.get("syncPolicy", {"automated": {"selfHeal": True}}),
        }


def read_all():
    """All files through one program."""
    folders = sorted(f.parent for f in pathlib.Path(args.cases).glob("*/sync.yaml"))
    files = [f / (n + ".yaml") for f in folders for n in FILES if (f / (n + ".yaml")).exists()]
    out = subprocess.run([args.yaml, *map(str, files)], check=True, capture_output=True, text=True).stdout
    documents = {}
    for file, line in zip(files, out.splitlines()):
        documents.setdefault(file.parent, {})[file.stem] = json.loads(line)
    cases = [Case(f, i, documents[f]) for i, f in enumerate(folders)]
    return [c for c in cases if not args.only or c.name == args.only]


def write(path, *things):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("---\n" + json.dumps(t) + "\n" for t in things))


def configure(case, rules):
    write(WORK / "etc" / (case.name + ".yaml"), {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": case.name, "annotations": rules.pop("annotations", {})},
        "spec": {
            "source": {"repoURL": args.url, "path": case.name, "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": case.namespace},
            **rules,
        },
    })


def commit(of, rules):
    agent = {"apiVersion": "truce.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "truce"},
             "spec": {"namespace": args.namespace + "-truce"}}
    write(WORK / "etc" / "agent.yaml", agent)
    for case in cases:
        write(WORK / "repo" / case.name / "object.yaml", of(case))
        configure(case, rules(case))


def definitions():
    found = {}
    for case in cases:
        for crd in case.documents.get("crd", []):
            assert found.setdefault(crd["metadata"]["name"], crd) == crd, f"{case.name}: two definitions of one name"
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(found.values())}))


def print_write(case, step):
    target = ["-n", case.namespace, "--field-manager", step["manager"]]
    if "apply" in step:
        file = WORK / "apply" / f"{case.name}.json"
        write(file, case.placed(step["apply"]))
        words = ["apply", "--server-side", "--force-conflicts", "-f", str(file), *target]
    else:
        kind = "merge" if "merge" in step else "strategic"
        patch, more = step.get(kind), []
        if "scale" in step:
            kind, patch, more = "merge", {"spec": {"replicas": step["scale"]}}, ["--subresource", "scale"]
        words = ["patch", case.kind, case.object, *target, "--type", kind, *more, "-p", json.dumps(patch)]
    print("operator", shlex.join(words))


def differences(case, entries):
    """The paths that differ: those that are ours to change."""
    return [e["path"] for e in entries
            if e["object"].get("namespace") == case.namespace and e["kind"] != "note" and e["class"] == "ours"]


def check_diff():
    diffs = read_diffs()
    for case in cases:
        have = differences(case, diffs)
        want = case.sync.get("differences", case.expected.get("differences"))
        if want is None and case.expected.get("differs") is False:
            want = []
        if want is None:
            if not have and case.expected.get("verdict") in ("apply", "patch"):
                complain(case, "truce diff shows no difference")
        elif sorted(want) != sorted(have):
            complain(case, f"truce diff shows {sorted(have)}, not {sorted(want)}")


def check_no_diff():
    diffs = read_diffs()
    for case in cases:
        have = differences(case, diffs)
        if have:
            complain(case, f"after the sync truce diff still shows {have}")


def read_diffs():
    return json.loads((WORK / "diff").read_text() or "[]")


def holds(have, want):
    if isinstance(want, dict):
        return isinstance(have, dict) and all(holds(have.get(k), v) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(have, list) and len(have) == len(want) and all(map(holds, have, want))
    return have == want


def at(thing, pointer):
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(thing, list):
            thing = thing[int(token)] if int(token) < len(thing) else None
        else:
            thing = thing.get(token) if isinstance(thing, dict) else None
    return thing


def owns(live, manager, pointer):
    return any(e["manager"] == manager and at(e["fieldsV1"], pointer) is not None
               for e in live["metadata"]["managedFields"])


def check_object(case, live):
    if not holds(live, case.sync["after"]):
        complain(case, f"live is {json.dumps({k: live.get(k) for k in case.sync['after']})}")
    for pointer in case.sync.get("gone", []):
        if at(live, pointer) is not None:
            complain(case, f"{pointer} is still there")
    for key, wanted in (("owners", True), ("notOwners", False)):
        for manager, pointers in case.sync.get(key, {}).items():
            for pointer in pointers:
                if owns(live, manager, pointer) != wanted:
                    complain(case, f"{manager} {'does not own' if wanted else 'owns'} {pointer}")


def writes_to(case, audit):
    return [e for e in audit if e["verb"] not in ("get", "list", "watch") and "dryRun=All" not in e["requestURI"] and
            e.get("objectRef", {}).get("namespace") == case.namespace]


def check_live():
    live = {(o["metadata"]["namespace"], o["kind"], o["metadata"]["name"]): o
            for o in json.loads((WORK / "live").read_text())["items"]}
    audit = [json.loads(line) for line in (WORK / "audit").read_text().splitlines()]
    for case in cases:
        found = live.get((case.namespace, case.kind, case.object))
        if found:
            check_object(case, found)
        else:
            complain(case, "the object is not there")
        wrote = len(writes_to(case, audit))
        verdict = case.sync.get("verdict", case.expected.get("verdict"))
        if verdict and (wrote == 0) != (verdict == "nothing"):
            complain(case, f"the verdict is {verdict}, and the sync wrote {wrote} times")
    print(f"# {len(cases)} cases")


cases = read_all()
if args.step == "namespaces":
    print("\n".join(c.namespace for c in cases))
elif args.step == "definitions":
    definitions()
elif args.step == "kinds":
    print(",".join(sorted({c.kind for c in cases})))
elif args.step == "before":
    commit(lambda c: c.before, lambda c: {"syncPolicy": {"automated": {"selfHeal": True}}})
elif args.step == "writes":
    for each in cases:
        for one in each.sync.get("writes", []):
            print_write(each, one)
elif args.step == "desired":
    commit(lambda c: c.desired, Case.application)
elif args.step == "check-diff":
    check_diff()
elif args.step == "check-no-diff":
    check_no_diff()
elif args.step == "check-live":
    check_live()
if problems:
    sys.exit("\n".join(problems))

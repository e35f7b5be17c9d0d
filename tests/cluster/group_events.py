#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every state that the Pods of a LeaderWorkerSet were ever in, from a watch of the API server, and what must hold in each.

A poll would miss the short states. The API server tells of all changes of Pods in their order, so what is put together
from them is what was stored at some time, event by event.

  group_events.py record NAMESPACE [NAME]     a line of JSON for each event of a set's Pods (or of all sets'), until killed
  group_events.py trace FILE NAME             the states, a line, repeats left out: A+A+B- are groups 0, 1, 2; a letter is a
                                              revision, in the order in which they came; + all of its Pods are Ready,
                                              - some live, -- none does (left out at the end)
  group_events.py check FILE NAME [--running N] [--groups N]
                                              what does not hold, a line each; status 1 then. Always: Pods of one life only
                                              for an index, also while they end; of one revision; no Pod on a node before
                                              all of its group were there; N groups or more that run, from when there were
                                              so many on; never more than N groups
  group_events.py nodes FILE NAME             how many Pods of groups 0, 1 … are on a node, a line, repeats left out: 4,0
  group_events.py gated FILE NAME             how many Pods live and have a scheduling gate now
  group_events.py counts FILE NAME            least and most groups that run, least and most Pods, from the first state in
                                              which all that there is runs
  group_events.py lives FILE NAME             a line for each life of a group: its index, its Pods at most, and the seconds
                                              from the end of the one before (a restart of a container, else that it
                                              leaves) to its first Pod
"""
import http.client
import json
import os
import ssl
import sys
import time
import urllib.parse

PREFIX = "leaderworkerset.sigs.k8s.io/"


class Api:
    """One connection to the API server of the environment, kept open."""

    def __init__(self):
        at = urllib.parse.urlsplit(os.environ["TRUCE_TEST_SERVER"])
        context = ssl.create_default_context(cafile=os.environ["TRUCE_TEST_CA"])
        self.connection = http.client.HTTPSConnection(at.hostname, at.port, context=context)
        self.token = os.environ.get("GROUP_EVENTS_TOKEN") or os.environ["TRUCE_TEST_TOKEN"]

    def open(self, method, path, body=None, content="application/json"):
        self.connection.request(method, path, body=None if body is None else json.dumps(body), headers={
            "Authorization": "Bearer " + self.token, "Content-Type": content, "User-Agent": "group-events/1"})
        return self.connection.getresponse()

    def call(self, method, path, body=None, content="application/json"):
        """The object that comes back; SystemExit where it is refused."""
        answer = self.open(method, path, body, content)
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {text.decode()}")
        return json.loads(text)


def brief(pod):
    meta, status = pod["metadata"], pod.get("status", {})
    labels = meta.get("labels", {})
    containers = status.get("initContainerStatuses", []) + status.get("containerStatuses", [])
    return {
        "set": labels.get(PREFIX + "name"),
        "name": meta["name"],
        "uid": meta["uid"],
        "group": int(labels.get(PREFIX + "group-index", -1)),
        "worker": int(labels.get(PREFIX + "worker-index", -1)),
        "life": labels.get("truce.dev/incarnation"),
        "revision": labels.get(PREFIX + "template-revision-hash"),
        "size": int(meta.get("annotations", {}).get(PREFIX + "size", 0)),
        "leaving": "deletionTimestamp" in meta,
        "gated": bool(pod["spec"].get("schedulingGates")),
        "node": pod["spec"].get("nodeName", ""),
        "ready": status.get("phase") == "Running" and any(
            c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", [])),
        "restarts": max([c.get("restartCount", 0) for c in containers], default=0),
    }


def events(api, namespace, name=None):
    """Yields (kind, pod): LISTED for what there is, SYNCED with None once, then ADDED, MODIFIED, DELETED, for ever."""
    path = f"/api/v1/namespaces/{namespace}/pods?labelSelector=" + urllib.parse.quote(
        PREFIX + "name" + (f"={name}" if name else ""))
    listed = api.call("GET", path)
    for pod in listed["items"]:
        yield "LISTED", brief(pod)
    yield "SYNCED", None
    answer = api.open("GET", path + "&watch=1&timeoutSeconds=36000&resourceVersion=" + listed["metadata"]["resourceVersion"])
    while line := answer.readline():
        event = json.loads(line)
        if event["type"] == "ERROR":
            sys.exit(f"the watch ended: {event['object']}")
        yield event["type"], brief(event["object"])
    sys.exit("the watch ended")


class State:
    """The Pods of one set at some time."""

    def __init__(self):
        self.pods = {}
        self.letters = {}  # revision → letter

    def apply(self, kind, pod):
        if kind == "DELETED":
            self.pods.pop(pod["name"], None)
            return
        self.pods[pod["name"]] = pod
        self.letters.setdefault(pod["revision"], chr(ord("A") + len(self.letters)))

    def groups(self):
        """Index → Pods, those that leave too."""
        groups = {}
        for pod in list(self.pods.values()):
            groups.setdefault(pod["group"], []).append(pod)
        return groups

    def live(self, group=None):
        return [p for p in list(self.pods.values()) if not p["leaving"] and group in (None, p["group"])]

    def uids(self, group=None):
        return {p["name"]: p["uid"] for p in self.live(group)}

    def gated(self):
        return sum(p["gated"] for p in self.live())

    def runs(self, group):
        live = self.live(group)
        return bool(live) and len(live) == live[0]["size"] and all(p["ready"] for p in live)

    def running(self):
        return sum(self.runs(g) for g in self.groups())

    def text(self):
        words = []
        for index in range(max(self.groups(), default=-1) + 1):
            live = self.live(index)
            words.append("--" if not live else self.letters[live[0]["revision"]] + "-+"[self.runs(index)])
        while words and words[-1] == "--":
            words.pop()
        return "".join(words) or "none"


class Checker:
    """Looks at each state; `wrong` gets what does not hold."""

    def __init__(self, running=None, groups=None):
        self.least_running, self.most_groups = running, groups
        self.is_armed = False
        self.seen = {}  # life → names of its Pods ever seen
        self.wrong = []

    def look(self, state, kind, pod):
        if kind != "DELETED":
            self.seen.setdefault(pod["life"], set()).add(pod["name"])
        groups = state.groups()
        for index, pods in groups.items():
            for what in ("life", "revision"):
                if len({p[what] for p in pods}) > 1:
                    self.say(state, f"group {index} has Pods of more than one {what}")
        if kind != "DELETED" and pod["node"] and len(self.seen[pod["life"]]) < pod["size"]:
            self.say(state, f"{pod['name']} is on a node, and its group was never complete")
        if self.most_groups is not None and len(groups) > self.most_groups:
            self.say(state, f"{len(groups)} groups")
        running = state.running()
        if self.least_running is None:
            return
        self.is_armed = self.is_armed or running >= self.least_running
        if self.is_armed and running < self.least_running:
            self.say(state, f"{running} groups run")

    def say(self, state, what):
        self.wrong.append(f"{what}: {state.text()}")


def play(file, name):
    """Yields (state, seconds, kind, pod) after each event of the set."""
    state = State()
    with open(file) as lines:
        for line in lines:
            if not line.endswith("\n"):
                return  # it is being written
            event = json.loads(line)
            if event["pod"] is None or event["pod"]["set"] != name:
                continue
            state.apply(event["kind"], event["pod"])
            yield state, event["at"], event["kind"], event["pod"]


def record(namespace, name=None):
    for kind, pod in events(Api(), namespace, name):
        print(json.dumps({"at": time.monotonic(), "kind": kind, "pod": pod}), flush=True)


def trace(file, name):
    texts = ["none"]
    for state, _, _, _ in play(file, name):
        text = state.text()
        if text != texts[-1]:
            texts.append(text)
    print("\n".join(texts[1:]))


def nodes(file, name):
    before = None
    for state, _, _, _ in play(file, name):
        groups = state.groups()
        now = [sum(bool(p["node"]) for p in groups.get(g, [])) for g in range(max(groups, default=-1) + 1)]
        if now != before:
            print(*now, sep=",")
        before = now


def gated(file, name):
    now = 0
    for state, _, _, _ in play(file, name):
        now = state.gated()
    print(now)


def option(words, name):
    return int(words[words.index(name) + 1]) if name in words else None


def check(file, name, *words):
    checker = Checker(option(words, "--running"), option(words, "--groups"))
    count = 0
    for state, _, kind, pod in play(file, name):
        checker.look(state, kind, pod)
        count += 1
    if not count:
        checker.wrong.append(f"no event of {name}")
    print("\n".join(checker.wrong or [f"{count} events"]))
    sys.exit(1 if checker.wrong else 0)


def counts(file, name):
    seen = []
    for state, _, _, _ in play(file, name):
        running, groups = state.running(), len(state.groups())
        if seen or (groups and running == groups):
            seen.append((running, len(state.pods)))
    print(*(f(column) for column in zip(*seen) for f in (min, max)))


def lives(file, name):
    lives, ended = {}, {}  # life → [index, names, seconds]; index → when its last life ended
    for _, at, kind, pod in play(file, name):
        index = pod["group"]
        if kind != "DELETED":
            begun = at - ended[index][1] if index in ended else 0
            life = lives.setdefault(pod["life"], [index, set(), begun])
            life[1].add(pod["name"])
        if (pod["restarts"] or pod["leaving"] or kind == "DELETED") and ended.get(index, ("", 0))[0] != pod["life"]:
            ended[index] = pod["life"], at
    for index, names, seconds in lives.values():
        print(index, len(names), f"{seconds:.2f}")


if __name__ == "__main__":
    COMMANDS = {"record": record, "trace": trace, "check": check, "nodes": nodes, "gated": gated, "counts": counts, "lives": lives}
    if len(sys.argv) < 3 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    try:
        COMMANDS[sys.argv[1]](*sys.argv[2:])
    except KeyboardInterrupt:
        pass

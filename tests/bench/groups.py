# SPDX-License-Identifier: Apache-2.0
"""The rows of groups.sh, which runs it: groups.py NAMESPACE ROUNDS START_S LONG (0 or 1).

Each row acts as a person does, and takes the time from the request until the event of a watch in which what is waited for
was true first. Whether the right Pods were replaced, in the right order, and what ran meanwhile, is judged at each event.
"""
import os
import re
import statistics
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from group_events import Api, Checker, State, events  # noqa: E402

PATIENCE_S = 180
UNREACHABLE_S = 5
EVICTION_S = 5  # left to the cluster's own eviction, docs/groups.md
GANG_S = 3
NO_BUDGET = "spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable: Invalid value: 0: must not be 0 when `maxSurge` is 0"


class Wait:
    def __init__(self, is_so):
        self.is_so, self.at, self.done = is_so, None, threading.Event()

    def look(self, state, at):
        if not self.at and self.is_so(state):
            self.at = at
            self.done.set()


class Set:
    """What is known of one LeaderWorkerSet: its state, each state since begin(), and who waits for which."""

    def __init__(self):
        self.lock = threading.Lock()
        self.state, self.waits, self.trace, self.nodes = State(), [], [], []
        self.checker = Checker()

    def see(self, kind, pod, at):
        with self.lock:
            self.state.apply(kind, pod)
            self.checker.look(self.state, kind, pod)
            self.note()
            for wait in self.waits:
                wait.look(self.state, at)

    def note(self):
        text = self.state.text()
        if not self.trace or self.trace[-1] != text:
            self.trace.append(text)
        groups = self.state.groups()
        nodes = [sum(bool(p["node"]) for p in groups.get(g, [])) for g in range(max(groups, default=-1) + 1)]
        if not self.nodes or self.nodes[-1] != nodes:
            self.nodes.append(nodes)

    def begin(self, running, groups, conditions):
        """From now on: this is revision A, so many groups run at least, there are so many at most."""
        with self.lock:
            self.state.letters = {p["revision"]: "A" for p in self.state.live()}
            self.checker.least_running, self.checker.most_groups, self.checker.is_armed = running, groups, False
            self.trace, self.nodes, self.waits = [], [], [Wait(c) for c in conditions]
            self.note()
            return self.waits


class Rig:
    def __init__(self, namespace, start_s):
        self.api, self.namespace, self.start_s = Api(), namespace, start_s
        self.sets, self.resets = {}, 0
        synced = threading.Event()
        threading.Thread(target=self.follow, args=(synced,), daemon=True).start()
        synced.wait(PATIENCE_S)

    def follow(self, synced):
        try:
            for kind, pod in events(Api(), self.namespace):
                if kind == "SYNCED":
                    synced.set()
                else:
                    self.set(pod["set"]).see(kind, pod, time.monotonic())
        except BaseException as e:  # nothing is measured without it
            print(f"the watch of Pods ended: {e}", file=sys.stderr)
            os._exit(1)

    def set(self, name):
        return self.sets.setdefault(name, Set())

    # What a person does

    def path(self, name, sub=""):
        return f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{self.namespace}/leaderworkersets/{name}{sub}"

    def patch(self, path, body):
        return self.api.call("PATCH", path, body, "application/merge-patch+json")

    def make(self, name, replicas, size, *, image="main:1", rolling=None, restart="RecreateGroupOnPodRestart", notes=None,
             pod_notes=None, leader=None, worker=None, leader_cpu=None, worker_cpu=None):
        def template(selector, cpu):
            return {"metadata": {"annotations": pod_notes or {}},
                    "spec": {"nodeSelector": {"rig": selector} if selector else {}, "containers": [
                        {"name": "main", "image": image, "resources": {"requests": {"cpu": cpu}} if cpu else {}}]}}
        self.api.call("PATCH", self.path(name) + "?fieldManager=person&force=true", {
            "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"name": name, "annotations": {"truce.dev/group-controller": "embedded", **(notes or {})}},
            "spec": {"replicas": replicas,
                     "rolloutStrategy": {"type": "RollingUpdate",
                                         "rollingUpdateConfiguration": rolling or {"maxUnavailable": 1}},
                     "leaderWorkerTemplate": {"size": size, "restartPolicy": restart,
                                              "leaderTemplate": template(leader, leader_cpu),
                                              "workerTemplate": template(worker, worker_cpu)}},
        }, "application/apply-patch+yaml")

    def drop(self, name):
        gone = self.set(name).begin(None, None, [lambda s: not s.pods])
        self.api.call("DELETE", self.path(name))
        self.ends(gone[0], name)

    def kill(self, pod):
        self.api.call("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{pod}", {"gracePeriodSeconds": 0})

    def scale(self, name, replicas):
        self.patch(self.path(name, "/scale"), {"spec": {"replicas": replicas}})

    def reset(self, name):
        """Restarts that were asked for are no crash loop."""
        self.resets += 1
        self.patch(self.path(name), {"metadata": {"annotations": {"truce.dev/reset-restarts": str(self.resets)}}})

    def node(self, name, cpu):
        size = {"cpu": str(cpu), "memory": "8Gi", "pods": "99"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name, "annotations": {"podsim.truce.dev/node": "true"}, "labels": {"rig": name}}}
        self.api.call("PATCH", f"/api/v1/nodes/{name}?fieldManager=person&force=true", node, "application/apply-patch+yaml")
        self.patch(f"/api/v1/nodes/{name}/status", {"status": {"capacity": size, "allocatable": size}})

    # What is waited for

    def ends(self, wait, name):
        if not wait.done.wait(PATIENCE_S):
            sys.exit(f"{name}: what is waited for does not come; it is at {self.set(name).state.text()}, was at "
                     f"{' '.join(self.set(name).trace[-20:])}")
        return wait.at

    def condition(self, name, kind):
        status = self.api.call("GET", self.path(name)).get("status", {})
        return next((c for c in status.get("conditions", []) if c["type"] == kind), {"status": "Unknown"})

    def until(self, name, kind, status="True"):
        """Until a condition says so; returns it, and when that was seen."""
        end = time.monotonic() + PATIENCE_S
        while (found := self.condition(name, kind))["status"] != status:
            if time.monotonic() > end:
                sys.exit(f"{name}: {kind} is {found}")
            time.sleep(0.01)
        return found, time.monotonic()

    def rests(self, name):
        self.until(name, "Available")
        time.sleep(0.5)  # what else it writes is not to be paid for by the next one

    def start(self, name, replicas, size, **more):
        runs = self.set(name).begin(None, replicas, [lambda s: s.running() == replicas])
        self.make(name, replicas, size, **more)
        self.ends(runs[0], name)
        self.rests(name)

    def take(self, name, act, *conditions, running=None, groups=None):
        """Seconds from before `act` until each condition."""
        waits = self.set(name).begin(running, groups, conditions)
        from_s = time.monotonic()
        act()
        return [self.ends(w, name) - from_s for w in waits]


class Table:
    def __init__(self, start_s):
        self.start_s, self.lines, self.wrong = start_s, {}, []

    def add(self, row, what, seconds, *, published="", allowed="", starts=0):
        """allowed: seconds above those of `starts` Pod starts one after the other."""
        line = self.lines.setdefault((row, what), {"published": published, "allowed": allowed, "starts": starts, "s": [], "bad": 0})
        line["s"].append(seconds)

    def judge(self, row, what, is_right, why):
        if not is_right:
            self.lines[(row, what)]["bad"] += 1
            self.wrong.append(f"{row} {what}: {why}")

    def show(self):
        print("| row | | published s | ours p50 s | max s | Pod starts in it | p50 without them | max allowed s | as it should be |")
        print("|---|---|---|---|---|---|---|---|---|")
        for (row, what), line in self.lines.items():
            s, starts = line["s"], line["starts"] * self.start_s
            allowed = "" if line["allowed"] == "" else f"{starts + line['allowed']:.1f}"
            print(f"| {row} | {what} | {line['published']} | {statistics.median(s):.2f} | {max(s):.2f} | {line['starts']} | "
                  f"{max(statistics.median(s) - starts, 0):.2f} | {allowed} | {len(s) - line['bad']} of {len(s)} |")
        for line in self.wrong:
            print("WRONG:", line)


def roll_of(groups, stop=0, surge=False):
    """The states of a roll, one group at a time."""
    words, texts = ["A+"] * groups, []

    def to(index, *steps):
        for step in steps:
            words[index] = step
            texts.append(re.sub("(--)+$", "", "".join(words)))

    to(0, "A+")
    if surge:
        words.append("")
        to(groups, "B-", "B+")
    for index in reversed(range(stop, groups)):
        to(index, "A-", "--", "B-", "B+")
    if surge:
        to(groups, "B-", "--")
    return texts


def are_new(old, new):
    return set(old) == set(new) and not set(old.values()) & set(new.values())


def worker_kill(rig, table, rounds):
    rig.start("demo", 2, 3)
    for _ in range(rounds):
        group, other = rig.set("demo").state.uids(0), rig.set("demo").state.uids(1)
        new, ready = rig.take("demo", lambda: rig.kill("demo-0-1"), lambda s: are_new(group, s.uids(0)),
                              lambda s: are_new(group, s.uids(0)) and s.runs(0), running=1, groups=2)
        table.add("L1", "worker killed: three new uids", new, published="2.0", allowed=1.0)
        table.judge("L1", "worker killed: three new uids", rig.set("demo").state.uids(1) == other, "group 1 has changed")
        table.add("L1", "and all three Ready", ready, allowed=1.0, starts=1)
        rig.rests("demo")
        rig.reset("demo")
    rig.drop("demo")


def worker_kill_alone(rig, table, rounds):
    rig.start("alone", 1, 3, restart="None")
    for _ in range(rounds):
        before = rig.set("alone").state.uids()
        new, ready = rig.take(
            "alone", lambda: rig.kill("alone-0-1"), lambda s: s.uids().get("alone-0-1", before["alone-0-1"]) != before["alone-0-1"],
            lambda s: s.uids().get("alone-0-1", before["alone-0-1"]) != before["alone-0-1"] and s.runs(0), groups=1)
        changed = {n for n, uid in rig.set("alone").state.uids().items() if before[n] != uid}
        table.add("L2", "policy None, worker killed: its new uid", new, published="1.9", allowed=1.0)
        table.judge("L2", "policy None, worker killed: its new uid", changed == {"alone-0-1"}, f"changed: {changed}")
        table.add("L2", "and Ready", ready, allowed=1.0, starts=1)
        rig.rests("alone")
        rig.reset("alone")
    rig.drop("alone")


def roll_two(rig, table, rounds):
    rig.start("roll", 2, 3)
    for i in range(rounds):
        first, begun, done = rig.take(
            "roll", lambda: rig.make("roll", 2, 3, image=f"main:{2 + i}"), lambda s: s.text() == "A+B+",
            lambda s: s.text() == "A-B+", lambda s: s.text() == "B+B+", running=1, groups=2)
        table.add("L3", "roll of 2 groups", done, published="4", allowed=1.0, starts=2)
        trace = rig.set("roll").trace
        table.judge("L3", "roll of 2 groups", trace == roll_of(2), trace)
        table.add("L3", "from one group Ready to the next one's end", begun - first, allowed=0.2)
        rig.rests("roll")
    rig.drop("roll")


def scale(rig, table, rounds):
    rig.start("scaled", 1, 3)
    for _ in range(rounds):
        first = rig.set("scaled").state.uids(0)
        for groups, published in ((2, ""), (3, "2.5")):
            made, ready = rig.take("scaled", lambda n=groups: rig.scale("scaled", n), lambda s, n=groups: len(s.live()) == 3 * n,
                                   lambda s, n=groups: s.running() == n, running=groups - 1, groups=groups)
            if groups == 3:
                table.add("L4", "scale 2 → 3: all Pods made", made, allowed=0.5)
                table.add("L4", "9 Pods Ready", ready, published=published, allowed=0.5, starts=1)
                table.judge("L4", "9 Pods Ready", rig.set("scaled").state.uids(0) == first, "group 0 has changed")
            rig.rests("scaled")
        gone, = rig.take("scaled", lambda: rig.scale("scaled", 1), lambda s: len(s.pods) == 3, running=1, groups=3)
        table.add("L5", "scale 3 → 1: 3 Pods left", gone)
        table.judge("L5", "scale 3 → 1: 3 Pods left", rig.set("scaled").state.uids() == first, "others than group 0 are left")
        rig.rests("scaled")
        made, ready = rig.take("scaled", lambda: rig.scale("scaled", 3), lambda s: len(s.live()) == 9, lambda s: s.running() == 3,
                               running=1, groups=3)
        table.add("L4", "scale 1 → 3: all Pods made", made, allowed=0.5)
        table.add("L4", "scale 1 → 3: 9 Pods Ready", ready, published="2.5", allowed=0.5, starts=1)
        rig.rests("scaled")
        rig.take("scaled", lambda: rig.scale("scaled", 1), lambda s: len(s.pods) == 3, running=1, groups=3)
        rig.rests("scaled")
    rig.drop("scaled")


def partition(rig, table, rounds):
    rig.start("parts", 4, 2)
    for i in range(rounds):
        def to(partition):
            rig.make("parts", 4, 2, image=f"main:{2 + i}", rolling={"maxUnavailable": 1, "partition": partition})
        below = {**rig.set("parts").state.uids(0), **rig.set("parts").state.uids(1)}
        half, = rig.take("parts", lambda: to(2), lambda s: s.text() == "A+A+B+B+", running=3, groups=4)
        what = "partition 2 of 4: groups 3 and 2"
        table.add("L8", what, half, published="5", allowed=2.0, starts=2)
        rig.rests("parts")
        now = {**rig.set("parts").state.uids(0), **rig.set("parts").state.uids(1)}
        table.judge("L8", what, rig.set("parts").trace == roll_of(4, 2) and now == below, rig.set("parts").trace)
        rest, = rig.take("parts", lambda: to(0), lambda s: s.text() in ("A+A+A+A+", "B+B+B+B+") and not
                         {p["uid"] for p in s.live()} & set(below.values()), running=3, groups=4)
        table.add("L8", "partition 0: the other two", rest, published="4", allowed=2.0, starts=2)
        rig.rests("parts")
    rig.drop("parts")


def surge(rig, table, rounds, unavailable):
    name, what = f"surge{unavailable}", f"maxSurge 1, maxUnavailable {unavailable}: 4 groups of 2"
    rolling = {"maxSurge": 1, "maxUnavailable": unavailable}
    rig.start(name, 4, 2, rolling=rolling)
    for i in range(rounds):
        pods, done = [], lambda s: s.text() == "B+B+B+B+" and len(s.pods) == 8

        def count(s):
            pods.append((s.running(), len(s.pods)))
            return False
        waits = rig.set(name).begin(4 - unavailable, 5, [done, count])
        from_s = time.monotonic()
        rig.make(name, 4, 2, image=f"main:{2 + i}", rolling=rolling)
        row = "L10" if unavailable else "L9"
        table.add(row, what, rig.ends(waits[0], name) - from_s, published="9", allowed=2.0, starts=4 if unavailable else 5)
        trace = rig.set(name).trace
        if unavailable:
            is_right = any(re.match(r"A\+A\+A\+(A-|--|B-)B-$", t) for t in trace) and trace[-1] == "B+B+B+B+"
        else:
            is_right = trace == roll_of(4, surge=True) and max(p for _, p in pods) == 10
        table.judge(row, what, is_right and min(r for r, _ in pods) == 4 - unavailable, trace)
        rig.rests(name)
    rig.drop(name)


def no_budget(rig, table, rounds):
    what = "both budgets 0: the condition, in upstream's words"
    for i in range(rounds):
        name = f"none{i}"
        rig.start(name, 2, 2)
        before = rig.set(name).state.uids()
        rig.set(name).begin(2, 2, [])
        from_s = time.monotonic()
        rig.make(name, 2, 2, image="main:2", rolling={"maxSurge": 0, "maxUnavailable": 0})
        said, at = rig.until(name, "Stalled")
        table.add("L11", what, at - from_s, published="refused")
        time.sleep(1)
        table.judge("L11", what, said["message"] == NO_BUDGET and rig.set(name).state.uids() == before, said)
        rig.drop(name)


def too_small(rig, table, rounds):
    """Room for one Pod of two groups of four: then for four."""
    for i in range(rounds):
        name = f"tight{i}"
        rig.node("small", 1)
        rig.set(name).begin(None, 2, [])
        from_s = time.monotonic()
        rig.make(name, 2, 4, leader="small", worker="small", leader_cpu="1", worker_cpu="1",
                 notes={"truce.dev/gang-timeout": f"{GANG_S}s"})
        end = from_s + PATIENCE_S
        while not (rig.condition(name, "WaitingForCapacity")["status"] == "True" and rig.set(name).state.gated() == 8):
            if time.monotonic() > end:
                sys.exit(f"{name} does not let go: {rig.set(name).nodes}")
            time.sleep(0.01)
        what = f"node too small for a group, gang timeout {GANG_S} s: nothing bound"
        table.add("L6", what, time.monotonic() - from_s, published="never: 1 of 8 Pods runs")
        runs, = rig.take(name, lambda: rig.node("small", 4), lambda s: s.runs(0), groups=2)
        table.add("L7", "room for 4 Pods comes: group 0 Ready, group 1 on no node", runs, allowed=1.0, starts=1)
        nodes = [n for n in rig.set(name).nodes if len(n) == 2]
        table.judge("L7", "room for 4 Pods comes: group 0 Ready, group 1 on no node",
                    nodes == [[k, 0] for k in range(5)], nodes)
        rig.drop(name)
    rig.api.call("DELETE", "/api/v1/nodes/small")


def node_lost(rig, table, rounds):
    for i, labels in enumerate(("leaders", "workers", "workers", "workers")):
        rig.patch(f"/api/v1/nodes/node-{i + 1}", {"metadata": {"labels": {"rig": labels}}})
    for i in range(rounds):
        name = f"lost{i}"
        rig.start(name, 2, 2, leader="leaders", worker="workers", worker_cpu="40",
                  notes={"truce.dev/unreachable-timeout": f"{UNREACHABLE_S}s"})
        state = rig.set(name).state
        group, other, node = state.uids(1), state.uids(0), state.pods[f"{name}-1-1"]["node"]
        path = f"/api/v1/nodes/{node}"
        left, = rig.take(name, lambda: rig.patch(path, {"metadata": {"annotations": {"podsim.truce.dev/down": "true"}}}),
                         lambda s: not s.live(1), running=1, groups=2)
        what = f"node lost (timeout {UNREACHABLE_S} s): the rest of its group is deleted"
        table.add("L12", what, left, allowed=UNREACHABLE_S + 1.0)
        table.judge("L12", what, f"{name}-1-1" in state.pods and state.uids() == other, state.text())
        taints = rig.api.call("GET", path)["spec"].get("taints", [])
        back, = rig.take(name, lambda: rig.patch(path, {"spec": {"taints": taints + [
            {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}]}}),
            lambda s: s.runs(1), running=1, groups=2)
        table.add("L12", "node out of service: the group Ready elsewhere", back, allowed=EVICTION_S + 1.0, starts=1)
        table.judge("L12", "node out of service: the group Ready elsewhere",
                    are_new(group, state.uids(1)) and state.uids(0) == other, state.text())
        rig.patch(path, {"spec": {"taints": None}})
        rig.patch(path, {"metadata": {"annotations": {"podsim.truce.dev/down": None}}})
        rig.drop(name)


def crash_loop(rig, table, seconds):
    """Each life ends as soon as it is up; what is measured is the time between the restarts."""
    begun, lives = [], set()

    def look(s):
        for pod in s.pods.values():
            if pod["life"] not in lives:
                lives.add(pod["life"])
                begun.append(time.monotonic())
        return False
    rig.set("loop").begin(None, 1, [look])
    rig.make("loop", 1, 2, pod_notes={"podsim.truce.dev/crashes": "1"})
    time.sleep(seconds)
    gaps = [b - a for a, b in zip(begun, begun[1:])]
    least = [0, 10, 20, 40, 80, 160, 300]
    what = f"crash loop of {seconds} s: first life to the last one's beginning"
    table.add("L14", what, begun[-1] - begun[0], published="unknown")
    table.judge("L14", what, len(gaps) <= 8 and all(g > w - 1 for g, w in zip(gaps, least)), gaps)
    print("L14: seconds between the beginnings of lives:", *(f"{g:.1f}" for g in gaps))
    rig.drop("loop")


def main(namespace, rounds, start_s, is_long):
    rounds, start_s, is_long = int(rounds), float(start_s), is_long == "1"
    rig, table = Rig(namespace, start_s), Table(start_s)
    rows = {
        "L1": lambda: worker_kill(rig, table, 50 if is_long else rounds),
        "L2": lambda: worker_kill_alone(rig, table, rounds),
        "L3": lambda: roll_two(rig, table, rounds),
        "L4": lambda: scale(rig, table, rounds),
        "L8": lambda: partition(rig, table, rounds),
        "L9": lambda: surge(rig, table, rounds, 0),
        "L10": lambda: surge(rig, table, rounds, 1),
        "L11": lambda: no_budget(rig, table, rounds),
        "L6": lambda: too_small(rig, table, rounds),
        "L12": lambda: node_lost(rig, table, rounds),
        "L14": lambda: crash_loop(rig, table, 600),
    }
    wanted = os.environ.get("BENCH_ROWS", "").split() or [r for r in rows if is_long or r != "L14"]
    try:
        for row in wanted:
            rows[row]()
    finally:  # what was measured is told in any case
        for name, known in rig.sets.items():
            table.wrong += [f"{name}: {what}" for what in known.checker.wrong]
        table.show()
    sys.exit(1 if table.wrong else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])

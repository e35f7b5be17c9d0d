#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Why did each Pod of a LeaderWorkerSet end? By watches of the API server, in the order of resourceVersions.

  group_causes.py SETS PODS     prints "GROUPS roll N scale N none N"; a line for each end without cause comes before

SETS has a line for each state of the set: RESOURCEVERSION REPLICAS READY UPDATED IMAGE. PODS has one for each state of its Pods:
RESOURCEVERSION NAME UID GROUP INCARNATION IMAGE [DELETIONTIMESTAMP].

A Pod ends for a cause when, at any time of its life, fewer groups were wanted than its index needs (scale), or another image
(roll). What ends in the same incarnation is one group.
"""
import sys


def states(file):
    return sorted([(int(rv), int(replicas), image) for rv, replicas, _, _, image in map(str.split, open(file))])


class Life:
    """One Pod: from which resourceVersion on it was there, and from which on it was on its way out."""

    def __init__(self, words):
        self.begin, self.name, self.uid, self.group, self.incarnation, self.image = int(words[0]), *words[1:6]
        self.end = None

    def see(self, words):
        if len(words) > 6 and self.end is None:
            self.end = int(words[0])


def lives(file):
    """In the order in which they began; one that went without a word ended when the next of its name began."""
    by_uid, newest = {}, {}
    for words in sorted((line.split() for line in open(file)), key=lambda w: int(w[0])):
        name, uid = words[1], words[2]
        if uid not in by_uid:
            by_uid[uid] = Life(words)
            before = newest.get(name)
            if before and before.end is None:
                before.end = by_uid[uid].begin
            newest[name] = by_uid[uid]
        by_uid[uid].see(words)
    return list(by_uid.values())


def cause(life, sets):
    """The last state from before it began counts, too."""
    before = [s for s in sets if s[0] <= life.begin][-1:]
    seen = before + [s for s in sets if life.begin < s[0] <= life.end]
    if any(image != life.image for _, _, image in seen):
        return "roll"
    if any(replicas <= int(life.group) for _, replicas, _ in seen):
        return "scale"
    return "none"


def main(sets_file, pods_file):
    sets, groups = states(sets_file), {}
    for life in lives(pods_file):
        if life.end is None:
            continue
        why = cause(life, sets)
        groups.setdefault((life.group, life.incarnation), set()).add(why)
        if why == "none":
            print(f"{life.name} uid {life.uid} image {life.image}: from {life.begin} to {life.end}")
    count = {why: sum(why in whys for whys in groups.values()) for why in ("roll", "scale", "none")}
    print("GROUPS", *(f"{why} {n}" for why, n in count.items()))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

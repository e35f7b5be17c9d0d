#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How long groups take: LeaderWorkerSets that truce runs on a real API server with its controller manager, each row beside
# what was published of upstream's controller. Needs a release build and the control plane of tests/cluster.
#
#   groups.sh [ROUNDS]        5 rounds of each row: p50 and max are shown
#   BENCH_START_MS=1000       a Pod is Running and Ready so long after it was put on a node
#   BENCH_LONG=1              50 killed workers, and a crash loop of ten minutes
#   BENCH_ROWS='L1 L12'       only these: L1 L2 L3 L4 (with L5) L8 L9 L10 L11 L6 (with L7) L12 L14 (ten minutes)
#
# The published values are of a machine that ran busybox without probes, whose start is in them. Here Pods are simulated
# (podsim): each start takes BENCH_START_MS, the same in all rows, and containers end at once. "Pod starts in it" says how many
# follow one another in a row. "Allowed" is that and what is required on top. Times are those of one run on one machine; the
# last column is what must hold on any: right Pods, right order, as many groups running as required at each event of a
# watch, one life of a group at a time. When one of those is wrong the exit status is 1.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${TRUCE_BUILD_DIR:=$here/../../build/release}"
rounds=${1:-5}
start_ms=${BENCH_START_MS:-1000}
# shellcheck source=tests/cluster/lib.sh
. "$here/../cluster/lib.sh"
# shellcheck source=tests/cluster/truce.sh
. "$here/../cluster/truce.sh"
# shellcheck source=tests/cluster/groups.sh
. "$here/../cluster/groups.sh"

cluster_begin --podsim-delay="${start_ms}ms" --podsim-arg=--nodes=4 --podsim-arg=--node-cpu=64
cluster_needs own
truce_begin bench
groups_agent
printf 'A Pod is Ready %s ms after it was put on a node and ends at once; %s rounds, %s.\n' "$start_ms" "$rounds" "$(date +%F)"
status=0
python3 "$here/groups.py" "$NS" "$rounds" "$(awk "BEGIN { print $start_ms / 1000 }")" "${BENCH_LONG:-0}" || status=$?
agent_stop
exit "$status"

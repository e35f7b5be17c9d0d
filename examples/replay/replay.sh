#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A fight that was seen on a cluster, replayed without it: who owns what, and what would truce do with other rules?
# docs/testing.md explains it.
#
#   replay.sh [DUMP [FOLDER]]      the dump and the manifests beside this script by default
#
# CONFIG names the rules (a file or folder for --config), OBJECT what is asked about (deployment/web), NAMESPACE where it is
# (shop), TRUCE the program. Ends as `truce diff` does: 0 when nothing is to be done, with 1 when something is, with 2 when
# that could not be found out. Needs git.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
truce=${TRUCE:-truce}
dump=${1:-$here/dump.yaml}
folder=${2:-$here/deploy}
if [ $# -gt 2 ] || [ ! -d "$folder" ]; then
	echo "usage: replay.sh [DUMP [FOLDER]]; there is no folder $folder" >&2
	exit 2
fi
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# A repository of what is in the folder now, committed or not.
git init -q -b main "$work/repo"
cp -R "$folder" "$work/repo/deploy"
git -C "$work/repo" add -A
git -C "$work/repo" -c user.name=replay -c user.email=replay@example.invalid commit -q -m 'what Git says'

"$truce" sandbox --kubeconfig "$work/kubeconfig" --from "$dump" >"$work/sandbox.log" 2>&1 &
for _ in $(seq 100); do
	[ ! -s "$work/kubeconfig" ] || break
	sleep 0.1
done
[ -s "$work/kubeconfig" ] || { cat "$work/sandbox.log" >&2 && exit 2; }

flags=(--kubeconfig "$work/kubeconfig" --config "${CONFIG:-$here/agent.yaml}" --repo "$work/repo" --path deploy --name shop
	--namespace "${NAMESPACE:-shop}" --data-dir "$work/data")
"$truce" owners "${OBJECT:-deployment/web}" "${flags[@]}"
echo
"$truce" diff "${flags[@]}"

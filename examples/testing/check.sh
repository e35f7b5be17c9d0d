#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A pull request's check without a cluster: are the manifests of a folder accepted, with the policies beside it, and is
# a second sync at rest? docs/testing.md explains it.
#
#   check.sh [FOLDER]      the one beside this script by default
#
# Ends with 0, with 1 when an object is refused, with 2 when it could not be found out. TRUCE names the program, RULES
# another file of policies. Needs git.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
truce=${TRUCE:-truce}
folder=${1:-$here/deploy}
if [ $# -gt 1 ] || [ ! -d "$folder" ]; then
	echo "usage: check.sh [FOLDER]; there is no folder $folder" >&2
	exit 2
fi
[ -n "$(ls -A "$folder")" ] || { echo "there is nothing in $folder" >&2 && exit 2; }
command -v "$truce" >/dev/null || { echo "there is no $truce: TRUCE names the program" >&2 && exit 2; }
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# A repository of what is in the folder now, committed or not.
git init -q -b main "$work/repo"
cp -R "$folder" "$work/repo/deploy"
git -C "$work/repo" add -A
git -C "$work/repo" -c user.name=check -c user.email=check@example.invalid commit -q -m 'what is checked'

"$truce" sandbox --kubeconfig "$work/kubeconfig" --rules "${RULES:-$here/rules.yaml}" >"$work/sandbox.log" 2>&1 &
for _ in $(seq 100); do
	[ ! -s "$work/kubeconfig" ] || break
	sleep 0.1
done
[ -s "$work/kubeconfig" ] || { cat "$work/sandbox.log" && exit 2; }

flags=(--kubeconfig "$work/kubeconfig" --repo "$work/repo" --path deploy --namespace shop --create-namespace
	--data-dir "$work/data")
"$truce" sync "${flags[@]}"
"$truce" diff "${flags[@]}"
echo 'accepted, and at rest'

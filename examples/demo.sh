#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first minute with truce, from a clone: installs what building needs and is missing (only that needs root), builds,
# and runs `truce demo`: a small shop in a Git repository, and what happens when an autoscaler, a person and a typing
# error get in its way. Then it stays for your own hands until Ctrl-C.
#
#   demo.sh [--exit] [FLAG…]     flags of `truce demo`; --exit ends after the story
#
# Plays on a Kubernetes API in memory; where KUBECONFIG is set, on that cluster (a terminal is asked first), in namespaces
# of its own that are removed at the end. TRUCE_BUILD_DIR names a build to use instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build() {
	local log=build/demo.log ninja_flags=()
	mkdir -p build
	! command -v dpkg-query >/dev/null || tests/install-packages.sh build
	export NINJA_STATUS='building truce, once  %f of %t  '
	[ -t 1 ] || ninja_flags=(--quiet)
	if ! cmake --preset release -B "$1" >"$log" 2>&1; then
		cat "$log" >&2
		exit 2
	fi
	ninja "${ninja_flags[@]}" -C "$1" truce
	[ ! -t 1 ] || printf '\033[A\033[K'
}

cluster=()
if [ -n "${KUBECONFIG-}" ]; then
	answer=y
	[ ! -t 0 ] || read -rp 'KUBECONFIG is set: play on that cluster, not in memory? [y/N] ' answer
	[[ $answer != [yY]* ]] || cluster=(--cluster)
fi
dir=${TRUCE_BUILD_DIR-}
if [ -z "$dir" ]; then
	dir=build/release
	build "$dir"
fi
exec "$dir/src/truce" demo "${cluster[@]}" "$@"

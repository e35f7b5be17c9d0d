#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command with a cluster's environment ("cluster env" lists it) and stops
# what it started; the exit status is the command's.
#
#   with-cluster.sh [UP-FLAG…] COMMAND [ARGUMENT…]
#
# A shared cluster ($TRUCE_CLUSTER_DIR) or a given one ($TRUCE_TEST_KUBECONFIG,
# $KUBECONFIG) is used as it is, as lib.sh says.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

flags=()
while [ "${1-}" != "${1#-}" ]; do
	flags+=("$1")
	shift
done
if [ $# -eq 0 ]; then
	printf 'usage: with-cluster.sh [UP-FLAG…] COMMAND [ARGUMENT…]\n' >&2
	exit 2
fi

cluster_begin ${flags[@]+"${flags[@]}"}
"$@"

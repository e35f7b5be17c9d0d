#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The sandbox answers as a real API server does: random requests to both, as many as fit into FIDELITY_SECONDS (75); in the
# long form FIDELITY_REQUESTS (10,000) at least. Nobody else may write meanwhile: the controller manager is stopped.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=${TRUCE_BUILD_DIR:?}/tests/cluster/fidelity/fidelity
if [ ! -x "$program" ]; then
	echo "$program is not built" >&2
	exit 1
fi
if [ -n "${TRUCE_LONG-}" ]; then
	export FIDELITY_REQUESTS=${FIDELITY_REQUESTS:-10000}
fi
cluster_begin --no-podsim
cluster stop controller-manager
"$program" "$here/fidelity"

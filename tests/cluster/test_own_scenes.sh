#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Hand-over, take-back, take-over and conflicts, decided by own/ and played out on a real API server.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=${TRUCE_BUILD_DIR:?}/tests/cluster/diff_proof/own_scenes
if [ ! -x "$program" ]; then
	echo "$program is not built" >&2
	exit 1
fi
exec "$here/with-cluster.sh" "$program"

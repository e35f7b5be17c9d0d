#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The fingerprint and the no-op proof are never wrong: 5,200 random edits, drawn evenly from eight categories, against
# what a real API server does. Each run has a seed of its own; TRUCE_DIFF_PROOF_EDITS and _SEED change that.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=${TRUCE_BUILD_DIR:?}/tests/cluster/diff_proof/diff_proof
if [ ! -x "$program" ]; then
	echo "$program is not built" >&2
	exit 1
fi
seed=${TRUCE_DIFF_PROOF_SEED:-$RANDOM}
printf 'TRUCE_DIFF_PROOF_SEED=%s\n' "$seed"
exec "$here/with-cluster.sh" "$program" "$here/diff_proof" "${TRUCE_DIFF_PROOF_EDITS:-5200}" "$seed"

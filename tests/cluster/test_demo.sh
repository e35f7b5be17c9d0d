#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo holds what it tells: it checks each of its steps.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

: "${TRUCE_BUILD_DIR:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/debug}"
export TRUCE_BUILD_DIR

the_demo_runs_through() {
	"$cluster_source/../../examples/demo.sh" --end
}

cluster_begin "$@"
run_cases the_demo_runs_through

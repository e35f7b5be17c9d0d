#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A pull request's check of health rules, without a cluster: does each rule say of its samples what its suite wants?
# docs/health.md explains it.
#
#   check.sh [FOLDER]      the rules beside this script by default
#
# Ends with 0, with 1 when a case fails, with 2 when one cannot be run. TRUCE names the program; JUNIT a file for the
# report that the pipeline shows (health.xml in the working directory by default).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
truce=${TRUCE:-truce}
folder=${1:-$here/rules}
if [ $# -gt 1 ] || [ ! -d "$folder" ]; then
	echo "usage: check.sh [FOLDER]; there is no folder $folder" >&2
	exit 2
fi
command -v "$truce" >/dev/null || { echo "there is no $truce: TRUCE names the program" >&2 && exit 2; }

"$truce" test "$folder" -o junit --output-file "${JUNIT:-health.xml}"

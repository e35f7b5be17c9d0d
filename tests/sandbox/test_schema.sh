#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The JSON Schema of the Agent document: what it says of documents is what truce says of them (schema.py).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec python3 "$here/schema.py" "${TRUCE:-$TRUCE_BUILD_DIR/src/truce}" "$here/../.."

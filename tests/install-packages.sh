#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what of tests/packages.txt is missing, with apt.
#
#   install-packages.sh build       what building needs
#   install-packages.sh cluster     that, and a Go to build the tests' control plane with
#   install-packages.sh             that, and what the tests need
#
# Go is only installed where there is none: tests/cluster fetches the version it wants with any Go since 1.19.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
last=${1:-test}

wanted() {
	sed -e 's/[[:space:]]*#.*//' -e '/^$/d' "$here/packages.txt" |
		if [ "$last" = test ]; then cat; else sed '/^\[test\]/,$d'; fi |
		sed '/^\[/d'
	[ "$last" = build ] || command -v go >/dev/null || [ -n "${TRUCE_GO-}" ] || echo golang-go
}

missing=()
while IFS= read -r package; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done < <(wanted)
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		printf 'these packages are missing, and only root can install them: %s\n' "${missing[*]}" >&2
		exit 1
	}
	as_root=(sudo)
fi
# A new machine may be at its first upgrade: that lock is waited for. (sudo passes no environment on.)
apt_get() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}

printf 'installing: %s\n' "${missing[*]}"
apt_get update
apt_get install -y --no-install-recommends "${missing[@]}" >/dev/null

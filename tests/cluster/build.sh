#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a program of tests/cluster outside of the work tree, once per state of
# its sources, and prints its path.
#
#   build.sh [controlplane|cluster|yamlgolden]    the default is controlplane
#   build.sh --path NAME                          only the path, built or not
#
# controlplane takes about 9 minutes and 5 GB of Go's caches the first time, the
# others seconds. Exit status 3: no usable Go (one line says so).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
module=$here/controlplane
cache=${TRUCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/truce}

only_path=false
if [ "${1-}" = --path ]; then
	only_path=true
	shift
fi
name=${1:-controlplane}
own=() # packages of this module that it consists of beside its own
case $name in
controlplane) package=. own=(./sim) ;;
cluster | yamlgolden) package=./cmd/$name ;;
*)
	printf 'build: unknown program %s\n' "$name" >&2
	exit 2
	;;
esac

# The sources of one package and what pins its dependencies and flags.
sources_hash() {
	(
		cd "$module"
		# shellcheck disable=SC2046 # names without blanks
		sha256sum go.mod go.sum ../build.sh \
			$(find "$package" ${own[@]+"${own[@]}"} -maxdepth 1 -name '*.go' ! -name '*_test.go' | LC_ALL=C sort) |
			sha256sum | cut -c1-16
	)
}

program=$cache/$name-$(sources_hash)/$name
if $only_path || [ -x "$program" ]; then
	printf '%s\n' "$program"
	exit 0
fi

go=$("$here/toolchain.sh")
# No version control: Git refuses a work tree that belongs to another user (a container's mount), and go then fails.
export GOTOOLCHAIN=local GOFLAGS='-mod=readonly -buildvcs=false'

# Kubernetes' own version has to be linked in, or kubectl refuses the server.
link_flags() {
	local version major minor
	version=$(cd "$module" && "$go" list -m -f '{{.Version}}' k8s.io/kubernetes)
	IFS=. read -r major minor _ <<<"${version#v}"
	printf '%s' "-s -w"
	printf ' -X k8s.io/component-base/version.%s' \
		"gitVersion=$version" "gitMajor=$major" "gitMinor=$minor"
}

mkdir -p "$(dirname "$program")"
exec 9>"$cache/$name.lock"
flock 9
if [ ! -x "$program" ]; then
	printf 'build: building %s (once; the control plane takes minutes)\n' "$name" >&2
	(cd "$module" && nice "$go" build -trimpath -ldflags "$(link_flags)" -o "$program.new" "$package" 9>&-) >&2
	mv "$program.new" "$program"
fi
printf '%s\n' "$program"

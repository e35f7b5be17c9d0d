#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a Go command that is new enough to build the control plane.
# An older one (1.19 or later, such as Debian 12's) fetches the right one as a
# module. Otherwise: one line on stderr and exit status 3.
set -euo pipefail

wanted=1.26     # what go.mod asks for
pinned=1.26.8   # what is fetched
able=1.19       # the oldest that can fetch a module

fail() {
	printf 'toolchain: %s\n' "$1" >&2
	exit 3
}

# go_version GO: "1.26.8"; release candidates count as their release.
go_version() {
	GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null | sed -n 's/^go\([0-9][0-9.]*\).*/\1/p'
}

at_least() {
	[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# field NAME: of the JSON that `go mod download` prints.
field() {
	sed -n "s/^[[:space:]]*\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p"
}

# fetch GO: asks the module proxy for the pinned toolchain and prints its folder; why there is none goes to stderr.
fetch() {
	local go=$1 work dir answer
	work=$(mktemp -d)
	# shellcheck disable=SC2064 # the value of now is meant
	trap "rm -rf '$work'" EXIT
	printf 'module toolchain\n' >"$work/go.mod"
	answer=$(
		cd "$work"
		GOTOOLCHAIN=local GOFLAGS='' "$go" mod download -json \
			"golang.org/toolchain@v0.0.1-go$pinned.linux-$("$go" env GOARCH)" 2>&1
	) || true
	dir=$(field Dir <<<"$answer")
	if [ -z "$dir" ]; then
		field Error <<<"$answer" | head -n 1 >&2
		return 1
	fi
	# Modules carry no executable bits.
	chmod +x "$dir"/bin/* "$dir"/pkg/tool/*/*
	printf '%s\n' "$dir"
}

go=${TRUCE_GO:-$(command -v go || true)}
[ -n "$go" ] || fail "no Go found; on Debian: apt-get install golang-go, or set TRUCE_GO"
version=$(go_version "$go")
[ -n "$version" ] || fail "$go does not tell its version"

if at_least "$version" "$wanted"; then
	printf '%s\n' "$go"
	exit 0
fi
at_least "$version" "$able" || fail "Go $version is too old to fetch Go $pinned (needs $able)"
dir=$(fetch "$go" 2>&1) || fail "Go $version is older than $wanted and Go $pinned cannot be fetched: ${dir:-no answer}"
[ "$(go_version "$dir/bin/go")" = "$pinned" ] || fail "the fetched Go in $dir does not run"
printf '%s\n' "$dir/bin/go"

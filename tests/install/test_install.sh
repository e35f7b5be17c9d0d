#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a folder of its own, and uses what is there as a stranger would.
#
#   test_install.sh BUILD-DIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/truce-install.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
	printf 'FAILED: %s\n' "$*"
	exit 1
}

DESTDIR=$work cmake --install "$build" >"$work/log" || {
	cat "$work/log"
	fail 'cmake --install'
}
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
library=$(find "$work$prefix" -name 'libtruce.so')
[ -n "$library" ] || fail 'there is no libtruce.so'

"$work$prefix/bin/truce" version | grep -q '^truce [0-9]' || fail 'the program does not say its version'
for header in base value own diff; do
	[ -f "$work$prefix/include/truce/$header.h" ] || fail "truce/$header.h is not installed"
done

bash --norc -c '. "$1/bash-completion/completions/truce" && complete -p truce' bash "$work$prefix/share" >"$work/log" ||
	fail 'bash does not take the completion that is installed'
[ -s "$work$prefix/share/zsh/site-functions/_truce" ] || fail 'there is no completion for zsh'
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work$prefix/share/truce/agent.schema.json" ||
	fail 'there is no schema of the Agent document'

readelf -d "$library" | grep -q 'SONAME.*\[libtruce\.so\.[0-9.]*\]' || fail 'libtruce has no SONAME'
visible=$(nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort)
declared=$(grep -hoE '\btruce_[a-z_]+\(' "$work$prefix"/include/truce/*.h | tr -d '(' | LC_ALL=C sort -u)
[ "$visible" = "$declared" ] ||
	fail "what can be linked with (<) is not what the headers declare (>):" "$(diff <(cat <<<"$visible") <(cat <<<"$declared"))"

export PKG_CONFIG_SYSROOT_DIR=$work PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
read -ra flags < <(pkg-config --cflags --libs truce)
cc -std=c11 -Wall -Wextra -pedantic -Werror -o "$work/program" "$here/program.c" "${flags[@]}"
said=$(LD_LIBRARY_PATH=$(dirname "$library") "$work/program")
[ "$said" = "$(pkg-config --modversion truce) .spec.replicas hpa scale" ] || fail "the program says: $said"
printf 'ok - a program of %d lines works with what is installed\n' "$(wc -l <"$here/program.c")"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures `truce sandbox` beside a real API server, in one run, and prints ratios: the same objects by server-side apply,
# the same reads, by the same clients; then the sandbox's memory and the size of the program. Needs a release build.
#
#   sandbox.sh [OBJECTS] [ROUNDS]      1000 objects, 3 rounds: the median is shown
#
# Both without controllers, so that the API alone is measured. The real server speaks HTTP/2 over TLS, the sandbox HTTP/1.1.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
objects=${1:-1000}
rounds=${2:-3}
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"
cluster stop controller-manager

rss() { awk '/^(VmRSS|RssAnon):/ { printf "%s %.1f MiB  ", $1, $2 / 1024 }' "/proc/$started/status"; }

"$truce" sandbox --no-controllers --kubeconfig "$work/kubeconfig" >/dev/null &
started=$!
for _ in $(seq 100); do
	[ ! -s "$work/kubeconfig" ] || break
	sleep 0.1
done
api=$(sed -n 's/.*"server": "\([^"]*\)".*/\1/p' "$work/kubeconfig" | head -n 1)
empty=$(rss)

# ask SIDE CURL-ARG…
ask() {
	local side=$1
	shift
	if [ "$side" = sandbox ]; then
		curl -s "$@"
	else
		curl -s --cacert "$TRUCE_TEST_CA" -H "Authorization: Bearer $TRUCE_TEST_TOKEN" "$@"
	fi
}

# ms SIDE FILE: how long its requests take, 8 at a time.
ms() {
	local from
	from=$(now_ms)
	ask "$1" --parallel --parallel-max 8 -K "$2" >/dev/null 2>&1
	printf '%s\n' $(($(now_ms) - from))
}

measure() {
	local side=$1 round=$2 url=$TRUCE_TEST_SERVER config=$TRUCE_TEST_KUBECONFIG namespace=bench-$2 i
	[ "$side" = real ] || url=$api config=$work/kubeconfig
	ask "$side" -o /dev/null -X POST -H 'Content-Type: application/json' -d "{\"metadata\":{\"name\":\"$namespace\"}}" \
		"$url/api/v1/namespaces"
	"$here/objects.sh" "$objects" "$namespace" json >"$work/objects"
	"$floor" "$config" 32 <"$work/objects" >>"$work/apply.$side"
	for i in $(seq "$objects"); do
		printf 'url = "%s/api/v1/namespaces/%s/configmaps/o%s"\noutput = "/dev/null"\n' "$url" "$namespace" $((i / 10 * 10))
	done >"$work/gets"
	ms "$side" "$work/gets" >>"$work/get.$side"
	for i in $(seq 20); do
		printf 'url = "%s/api/v1/namespaces/%s/configmaps"\noutput = "/dev/null"\n' "$url" "$namespace"
	done >"$work/lists"
	ms "$side" "$work/lists" >>"$work/list.$side"
	if [ "$round" = 1 ] && [ "$side" = sandbox ]; then
		loaded=$(rss)
	fi
}

for round in $(seq "$rounds"); do
	measure real "$round"
	measure sandbox "$round"
done

printf '%s objects, %s rounds, medians\n\n' "$objects" "$rounds"
printf '%-28s %10s %10s %18s\n' '' 'real ms' 'sandbox ms' 'sandbox is … times as fast'
for what in apply get list; do
	real=$(median <"$work/$what.real") own=$(median <"$work/$what.sandbox")
	printf '%-28s %10s %10s %18s\n' "$what" "$real" "$own" "$(awk "BEGIN { printf \"%.1f\", $real / ($own > 0 ? $own : 1) }")"
done
printf '\nmemory, empty:        %s\nmemory, %s objects: %s\n' "$empty" "$objects" "${loaded-}"
strip -o "$work/stripped" "$truce" && printf 'program, stripped:    %s bytes\n' "$(stat -c %s "$work/stripped")"

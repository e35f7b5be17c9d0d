#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything: installs what is missing, builds in every form, runs every test. The last line is ctest's summary.
#
#   run.sh            the short form
#   run.sh --long     also what is labelled "long": many seeds, clang's analyzer, a minute of fuzzing for each target; and
#                     the long forms of cluster tests (TRUCE_LONG=1): five minutes of scaling, two of ignored operators …
#
# One ctest runs it all, from build/all. It holds the tests of build/debug under their own names, and the same programs
# in other forms under a prefix: asan. (unit tests and corpora), tsan. (tests that use threads), valgrind. (base/).
# A test is never registered here: add the file, and the CMakeLists.txt of its folder finds it.
#
# Cluster tests share one control plane, built in the background meanwhile (tests/cluster). With CI=true one that
# is skipped counts as failed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

long=false
case ${1-} in
'') ;;
--long)
	long=true
	export TRUCE_LONG=1
	;;
*)
	printf 'usage: run.sh [--long]\n' >&2
	exit 2
	;;
esac

all=build/all
cluster_log=build/cluster.log
mkdir -p "$all"

say() {
	printf '== %s (%d s)\n' "$1" "$SECONDS"
}

# ---- building ----

# build DIR PRESET TARGET… [-- CMAKE-OPTION…]: no target means all. What compilers say goes to the screen only when
# something is wrong.
build() {
	local dir=build/$1 preset=$2 targets=()
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		targets+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	say "build $dir"
	cmake --preset "$preset" -B "$dir" "$@" >"$dir.log" 2>&1 || {
		cat "$dir.log"
		exit 1
	}
	ninja -k 0 -j "$(nproc)" -C "$dir" ${targets[@]+"${targets[@]}"} >"$dir.log" 2>&1 || {
		grep -v '^\[' "$dir.log" || true
		printf 'FAILED: %s does not build\n' "$dir"
		exit 1
	}
}

# Unit tests that start threads: by pthread_create() or with the real loop, which has pools.
threaded_tests() {
	grep -lE '\b(loop_new|pthread_create)\(' tests/unit/*/test_*.c | grep -v /test_cluster_ |
		sed 's|tests/unit/\(.*\)/\(.*\)\.c|\1_\2|'
}

# ---- one ctest for all ----

# borrow PREFIX DIR TIMES CTEST-OPTION… [-- COMMAND…]: writes the tests that ctest selects in DIR into the common list,
# as PREFIX.name, behind COMMAND, with TIMES the time.
borrow() {
	local prefix=$1 dir=$2 times=$3 select=()
	shift 3
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		select+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	ctest --test-dir "$dir" "${select[@]}" --show-only=json-v1 |
		jq -r --arg prefix "$prefix" --argjson times "$times" '
			def quote: "[==[" + . + "]==]";
			def text: if type == "array" then join(";") else tostring end;
			.tests[] | select(.command) |
			($prefix + "." + .name) as $name |
			"add_test(\($name | quote) \($ARGS.positional + .command | map(quote) | join(" ")))",
			"set_tests_properties(\($name | quote) PROPERTIES LABELS \($prefix) " + ([
				.properties[] | select(.name != "LABELS") |
				if .name == "TIMEOUT" then .value *= $times else . end |
				"\(.name) \(.value | text | quote)"
			] | join(" ")) + ")"
		' --args -- "$@" >"$all/$prefix.cmake"
	grep -q '^add_test' "$all/$prefix.cmake" || {
		printf 'FAILED: no tests for %s\n' "$prefix"
		exit 1
	}
	printf 'include([==[%s]==])\n' "$root/$all/$prefix.cmake" >>"$all/CTestTestfile.cmake"
}

collect() {
	printf 'subdirs([==[%s]==])\n' "$root/build/debug" >"$all/CTestTestfile.cmake"
	borrow asan build/asan 5 -L '^(unit|fuzz|sim|sandbox)$'
	borrow tsan build/tsan 10 -R "^(sim\\..*|unit\\.($(threaded_tests | sed 's/_test_/\\.test_/' | paste -sd '|')))\$" -LE '^long$'
	borrow valgrind build/debug 20 -R '^unit\.base\.' -- \
		valgrind -q --leak-check=full --error-exitcode=99 --child-silent-after-fork=yes
	if $long; then
		fuzz_tests >"$all/fuzzing.cmake"
		printf 'include([==[%s]==])\n' "$root/$all/fuzzing.cmake" >>"$all/CTestTestfile.cmake"
	fi
}

# A minute of each target, from its corpus; what it finds is left in build/fuzz/findings.
fuzz_tests() {
	local program name
	mkdir -p build/fuzz/findings
	for program in build/fuzz/tests/fuzz/fuzz_*; do
		[[ -f $program && -x $program ]] || continue
		name=${program##*/fuzz_}
		mkdir -p "build/fuzz/new/$name"
		printf 'add_test(fuzzing.%s %s -max_total_time=60 -rss_limit_mb=4096 -artifact_prefix=%s %s %s)\n' "$name" \
			"$root/$program" "$root/build/fuzz/findings/$name-" "$root/build/fuzz/new/$name" \
			"$root/tests/fuzz/corpus/$name"
		printf 'set_tests_properties(fuzzing.%s PROPERTIES LABELS long TIMEOUT 300)\n' "$name"
	done
}

# run_tests: ctest, inside a shared cluster where one can be had. What it prints also goes to build/all/output.
run_tests() {
	local command=(ctest --test-dir "$all" --output-on-failure -j "$(nproc)")
	$long || command+=(-LE '^long$')
	if $has_cluster; then
		command=(tests/cluster/with-cluster.sh "${command[@]}")
	fi
	"${command[@]}" 2>&1 | tee "$all/output"
}

# Tests and single cases that passed on a real API server, from what they printed.
count_cluster() {
	awk '
		/^[0-9]+\/[0-9]+ Test: / { is_cluster = $3 ~ /^cluster\./; cases = 0 }
		is_cluster && /^(ok - |\[       OK \] )/ { cases++ }
		is_cluster && /^Test Passed\./ { tests++; all_cases += cases }
		END { printf "%d tests with %d cases ran on a real API server\n", tests, all_cases }
	' "$all/Testing/Temporary/LastTest.log"
}

# ---- the run ----

tests/install-packages.sh
(tests/cluster/build.sh controlplane && tests/cluster/build.sh cluster) >"$cluster_log" 2>&1 &
cluster_build=$!

build debug debug
build release release
build clang debug -- -DCMAKE_C_COMPILER=clang-14
build asan asan
mapfile -t threaded < <(threaded_tests)
build tsan tsan "${threaded[@]}" sim
if $long; then
	build fuzz fuzz
fi
collect

say 'control plane'
has_cluster=true
if ! wait "$cluster_build" && [ -z "${KUBECONFIG-}${TRUCE_TEST_KUBECONFIG-}" ]; then
	has_cluster=false
	tail -n 5 "$cluster_log"
fi

say 'tests'
failed=0
run_tests || failed=1
printf '\n'
count_cluster
printf 'everything took %d s\n' "$SECONDS"
grep 'tests passed, .* tests failed out of' "$all/output" | tail -n 1
exit $failed

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For shell tests that need a cluster: source it, call cluster_begin, then work. ../lib.sh comes with it.
#
#   cluster_begin [UP-FLAG…]   a cluster of one of three kinds, see below
#   cluster_needs private|own  skip the test where the cluster is not of that kind
#   cluster COMMAND ARG…       the cluster tool on this cluster (cluster stop apiserver)
#   kc USER ARG…               kubectl as admin, truce, person or operator
#   new_namespace PREFIX       set NS to a fresh namespace, removed at the end
#   audit_count FILTER…        number of requests (--user --verb --resource --since …)
#   skip REASON                end with 77; with CI=true that is a failure
#
# CLUSTER_KIND afterwards:
#   shared    TRUCE_CLUSTER_DIR names a running cluster (with-cluster.sh); it is
#             used as it is when no flags are asked for, and left running
#   external  TRUCE_TEST_KUBECONFIG or KUBECONFIG is set: that cluster, as that user
#   private   otherwise: started here, gone when the script ends, however it ends
# "own" means private or shared: there are an audit log and all identities.
set -euo pipefail
shopt -s inherit_errexit

cluster_source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CLUSTER_KIND=
NS=
cluster_namespaces=()
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$cluster_source/../lib.sh"

skip() {
	if [ "${CI-}" = true ]; then
		printf 'FAILED, may not be skipped when CI=true: %s\n' "$1"
		exit 1
	fi
	printf 'SKIPPED: %s\n' "$1"
	exit 77
}

# Where nothing is built and nothing can build it, a test is skipped.
cluster_require_programs() {
	local name reason
	for name in cluster controlplane; do
		[ ! -x "$("$cluster_source/build.sh" --path "$name")" ] || continue
		reason=$("$cluster_source/toolchain.sh" 2>&1 >/dev/null) ||
			skip "no kubeconfig given and no control plane: $reason"
		"$cluster_source/build.sh" "$name" >/dev/null
	done
}

cluster_is_shared() {
	[ -n "${TRUCE_CLUSTER_DIR-}" ] && "$cluster_source/cluster" status "$TRUCE_CLUSTER_DIR" >/dev/null 2>&1
}

# KUBECONFIG may also come from our own "cluster env": that is not external, also where a test has unset
# TRUCE_CLUSTER_DIR to get a cluster for itself.
cluster_external_kubeconfig() {
	local file=${TRUCE_TEST_KUBECONFIG:-${KUBECONFIG-}}
	case $file in
	"${TRUCE_CLUSTER_DIR:-/dev/null}"/* | "${TRUCE_CLUSTER_KUBECONFIG:-/dev/null}") ;;
	*) printf '%s' "$file" ;;
	esac
}

cluster_begin() {
	local external
	trap cluster_end EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	external=$(cluster_external_kubeconfig)
	if [ $# -eq 0 ] && cluster_is_shared; then
		CLUSTER_KIND=shared
	elif [ -n "$external" ]; then
		CLUSTER_KIND=external
		cluster_use_external "$external"
		return
	else
		cluster_begin_private "$@"
	fi
	cluster_environment=$("$cluster_source/cluster" env "$TRUCE_CLUSTER_DIR")
	eval "$cluster_environment"
	export TRUCE_CLUSTER_KUBECONFIG=$TRUCE_TEST_KUBECONFIG
}

cluster_begin_private() {
	cluster_require_programs
	TRUCE_CLUSTER_DIR=$(mktemp -d "${TMPDIR:-/tmp}/truce-cluster.XXXXXX")
	export TRUCE_CLUSTER_DIR
	CLUSTER_KIND=private
	"$cluster_source/cluster" up "$TRUCE_CLUSTER_DIR" --owner $$ "$@"
}

cluster_use_external() {
	unset TRUCE_CLUSTER_DIR TRUCE_TEST_AUDIT_LOG
	export KUBECONFIG=$1 TRUCE_TEST_KUBECONFIG=$1
	export TRUCE_TEST_KUBECONFIG_TRUCE=${TRUCE_TEST_KUBECONFIG_TRUCE:-$1}
	export TRUCE_TEST_KUBECONFIG_PERSON=${TRUCE_TEST_KUBECONFIG_PERSON:-$1}
	export TRUCE_TEST_KUBECONFIG_OPERATOR=${TRUCE_TEST_KUBECONFIG_OPERATOR:-$1}
	export TRUCE_TEST_KUBECTL=${TRUCE_TEST_KUBECTL:-$(command -v kubectl || true)}
	[ -n "$TRUCE_TEST_KUBECTL" ] || skip "a kubeconfig is given, but there is no kubectl (set TRUCE_TEST_KUBECTL)"
}

# cluster_end [STATUS]: the script ends with it, the default is $?. A trap of one's own calls this last: while the
# trap for EXIT runs, bash takes no other.
cluster_end() {
	local status=${1-$?} namespace
	trap - EXIT
	if [ "$status" -ne 0 ] && [ "$status" -ne 77 ] && [ -n "$test_case" ]; then
		printf 'not ok - %s\n' "$test_case"
		[ "$CLUSTER_KIND" != private ] || cluster_show_logs
	fi
	if [ "$CLUSTER_KIND" = private ]; then
		"$cluster_source/cluster" down "$TRUCE_CLUSTER_DIR" || status=1
		rm -rf "$TRUCE_CLUSTER_DIR"
	else
		for namespace in ${cluster_namespaces[@]+"${cluster_namespaces[@]}"}; do
			kc admin delete namespace "$namespace" --ignore-not-found --wait=false >/dev/null || true
		done
	fi
	exit "$status"
}

cluster_show_logs() {
	local log
	for log in "$TRUCE_CLUSTER_DIR"/log/*.log; do
		if [ "${log##*/}" != audit.log ] && [ -s "$log" ]; then
			printf -- '--- end of %s\n' "${log##*/}"
			tail -n 5 "$log"
		fi
	done >&2
}

cluster_needs() {
	case $1-$CLUSTER_KIND in
	private-private | own-private | own-shared) ;;
	*) skip "needs a control plane of its own, and this one is $CLUSTER_KIND" ;;
	esac
}

cluster() {
	local command=$1
	shift
	"$cluster_source/cluster" "$command" "$TRUCE_CLUSTER_DIR" "$@"
}

kc() {
	local user=$1 file
	shift
	case $user in
	admin) file=$TRUCE_TEST_KUBECONFIG ;;
	truce) file=$TRUCE_TEST_KUBECONFIG_TRUCE ;;
	person) file=$TRUCE_TEST_KUBECONFIG_PERSON ;;
	operator) file=$TRUCE_TEST_KUBECONFIG_OPERATOR ;;
	*) fail "kc: unknown user $user" ;;
	esac
	"$TRUCE_TEST_KUBECTL" --kubeconfig="$file" "$@"
}

new_namespace() {
	NS=$1-$$-${#cluster_namespaces[@]}
	kc admin create namespace "$NS" >/dev/null
	cluster_namespaces+=("$NS")
}

audit_count() {
	cluster audit --count "$@"
}

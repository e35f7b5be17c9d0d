# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For tests of who writes replicas: source it after truce.sh.
#
#   replicas_are RESOURCE NAME N [FIELD]
#   owners RESOURCE NAME             who owns spec.replicas, MANAGER or MANAGER/SUBRESOURCE, a line each; owner_is … WANT
#   watch_values RESOURCE NAME [FIELD]   writes down every value from now on; values NAME, assert_values NAME WANT
#   end_watches
#   written RESOURCE NAME [FIELD]    what truce sent for it since the mark, a line for each request, "refused" behind those
#                                    that the server did not take; taken … only the others
#
# FIELD: another field of the spec than replicas.

WATCHES=()

replicas_are() {
	[ "$(got "$1" "$2" "{.spec.${4-replicas}}")" = "$3" ]
}

owners() {
	kc admin get "$1" "$2" -n "$NS" --show-managed-fields -o json | python3 -c '
import json, sys
for e in json.load(sys.stdin)["metadata"].get("managedFields", []):
    if "f:replicas" in e.get("fieldsV1", {}).get("f:spec", {}):
        print(e["manager"] + ("/" + e["subresource"] if "subresource" in e else ""))'
}

owner_is() {
	[ "$(owners "$1" "$2")" = "$3" ]
}

# Every value that was ever live, from a watch of our own: a poll would miss the short ones.
watch_values() {
	kc admin get "$1" "$2" -n "$NS" --watch -o "jsonpath={.spec.${3-replicas}}{\"\\n\"}" >"$WORK/values.$2" 2>/dev/null &
	WATCHES+=($!)
	wait_until 10 test -s "$WORK/values.$2"
}

# values NAME: what was seen, repeats left out.
values() {
	uniq "$WORK/values.$1" | tr '\n' ' ' | sed 's/ $//'
}

values_are() {
	[ "$(values "$1")" = "$2" ]
}

# assert_values NAME WANT: what the watch shows may come a moment later.
assert_values() {
	(wait_until 10 values_are "$1" "$2") || true
	assert_eq "$2" "$(values "$1")" "values of $1"
}

end_watches() {
	local pid
	for pid in ${WATCHES[@]+"${WATCHES[@]}"}; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	WATCHES=()
}

written() {
	cluster audit --lines --user truce --verb patch,update,create --resource "$1" --namespace "$NS" --name "$2" \
		--since "$MARK" | python3 -c '
import json, sys
field = sys.argv[1]
for line in sys.stdin:
    event = json.loads(line)
    body = event.get("requestObject")
    if isinstance(body, dict) and "dryRun=All" not in line and field in (body.get("spec") or {}):
        print(body["spec"][field], *[] if event["responseStatus"]["code"] < 300 else ["refused"])
    if isinstance(body, list):
        print(*["patch of " + op["path"] for op in body if not op["path"].startswith("/metadata/")], sep="\n", end="")' "${3-replicas}"
}

taken() {
	written "$@" | grep -v refused || true
}

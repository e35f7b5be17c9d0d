#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# same_trace.sh SIM FILE…: two processes that play the same seeds see the same events and bodies.
sim=$1
shift
hash() {
        "$sim" --chaos --seeds 1..2 "$@" | sed -n 's/.* all //p'
}
first=$(hash "$@")
second=$(hash "$@")
[ -n "$first" ] && [ "$first" = "$second" ] && exit 0
echo "two processes differ: $first, $second"
exit 1

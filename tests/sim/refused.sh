#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# refused.sh SIM: scenarios and arguments that are wrong are refused with status 2 and a word on what is wrong; files name
# it in their second line.
sim=$1
cd "$(dirname "$0")" || exit 1
bad=0

refuses() { # TEXT ARGUMENT…
        text=$1
        shift
        said=$("$sim" "$@" 2>&1)
        status=$?
        case $status:$said in
        2:*"$text"*) ;;
        *)
                printf '%s: status %s, not 2 with "%s":\n%s\n' "$*" "$status" "$text" "$said"
                bad=1
                ;;
        esac
}

for file in refused/*.yaml; do
        refuses "$(sed -n 's/^# says: //p' "$file")" "$file"
done
good=scenarios/first-sync.yaml
refuses 'cannot be read' nowhere.yaml
refuses 'which scenario?' --seed 1
refuses '--seed takes a number' $good --seed x
refuses 'smaller one first' $good --seeds 5..2
refuses 'do not go together' $good --seed 1 --seeds 2..3
refuses '--moment takes' $good --moment before:0
refuses 'not all' $good --crash --moment before:1
refuses 'I from 1 to N' $good --share 3/2
refuses 'nothing to run' $good --sweep
refuses 'unknown option' $good --nonsense
exit $bad

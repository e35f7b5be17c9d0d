#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `truce completion`: what bash and zsh offer, asked of the shells themselves.
set -euo pipefail
# shellcheck source=tests/sandbox/lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

mkdir "$WORK/fpath" "$WORK/files" "$WORK/files/folder"
touch "$WORK/files/a b.yaml" "$WORK/files/c.yaml"
"$TRUCE" completion bash >"$WORK/truce.bash"
"$TRUCE" completion zsh >"$WORK/fpath/_truce"

# bash_offers WORD…: as after Tab at the end of the last word. $OUT gets the offers, sorted.
bash_offers() {
	OUT=$(cd "$WORK/files" && bash --norc -c '
		. "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		compopt() { :; } # only a completion that runs has options
		_truce
		printf "%s\n" "${COMPREPLY[@]}"' bash "$WORK/truce.bash" "$@" | LC_ALL=C sort)
}

zsh_offers() {
	OUT=$(cd "$WORK/files" && timeout 60 python3 "$here/zsh_complete.py" "$WORK/fpath" "$1" | LC_ALL=C sort -u)
}

lines() {
	printf '%s\n' "$@"
}

# What --help lists.
flags_of() {
	"$TRUCE" "$1" --help | sed -nE 's/^  (-[a-z], |    )(--[a-z-]+).*/\2/p' | LC_ALL=C sort -u
}

both_know_every_verb() {
	local verbs
	verbs=$("$TRUCE" --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v '^truce$' | LC_ALL=C sort)
	[ "$(wc -l <<<"$verbs")" -ge 13 ] || fail "the verbs are $verbs"
	bash_offers truce ''
	assert_eq "$(lines --help --version help "$verbs" | LC_ALL=C sort)" "$OUT"
	zsh_offers 'truce '
	assert_eq "$(lines help "$verbs" | LC_ALL=C sort)" "$OUT"
	bash_offers truce s
	assert_eq "$(lines sandbox status sync)" "$OUT"
	zsh_offers 'truce s'
	assert_eq "$(lines sandbox status sync)" "$OUT"
	bash_offers truce help ow
	assert_eq owners "$OUT"
}

# But for --no-…, which is offered where it changes something.
both_know_every_flag() {
	local verb
	for verb in run sync diff owners adopt status render config sandbox demo; do
		bash_offers truce "$verb" --
		assert_eq "$(lines --help "$(flags_of "$verb")" | LC_ALL=C sort)" "$(grep -v '^--no-' <<<"$OUT")" "flags of $verb"
	done
	for verb in sync sandbox; do
		zsh_offers "truce $verb --"
		assert_eq "$(lines --help "$(flags_of "$verb")" | LC_ALL=C sort)" "$(grep -v '^--no-' <<<"$OUT")" "flags of $verb, zsh"
	done
	bash_offers truce sandbox --no-
	assert_eq --no-controllers "$OUT"
	bash_offers truce version --
	assert_eq --help "$OUT"
}

a_choice_is_offered() {
	bash_offers truce diff --output ''
	assert_eq "$(lines json markdown text)" "$OUT"
	bash_offers truce diff --output = ''
	assert_eq "$(lines json markdown text)" "$OUT"
	bash_offers truce diff --output =
	assert_eq "$(lines json markdown text)" "$OUT"
	bash_offers truce diff -o m
	assert_eq markdown "$OUT"
	bash_offers truce run --log-level = w
	assert_eq warn "$OUT"
	zsh_offers 'truce diff --output '
	assert_eq "$(lines json markdown text)" "$OUT"
	zsh_offers 'truce diff -o m'
	assert_eq markdown "$OUT"
	zsh_offers 'truce run --log-level=w'
	assert_eq warn "$OUT"
	zsh_offers 'truce sync --wait=a'
	assert_eq applied "$OUT"
}

files_and_folders_are_looked_for() {
	bash_offers truce sandbox --from ''
	assert_eq "$(lines 'a b.yaml' c.yaml folder)" "$OUT"
	bash_offers truce sync --path ''
	assert_eq folder "$OUT"
	bash_offers truce test ''
	assert_eq folder "$OUT"
	bash_offers truce sync --timeout ''
	assert_eq '' "$OUT"
	zsh_offers 'truce sandbox --from '
	says c.yaml
	says folder
	zsh_offers 'truce sync --path '
	assert_eq folder "${OUT%/}"
}

operands_are_counted() {
	bash_offers truce config ''
	assert_eq "$(lines check schema)" "$OUT"
	bash_offers truce config -o json ''
	assert_eq "$(lines check schema)" "$OUT"
	bash_offers truce config check --output = json c
	assert_eq c.yaml "$OUT"
	bash_offers truce completion ''
	assert_eq "$(lines bash zsh)" "$OUT"
	bash_offers truce owners dep
	assert_eq deployment/ "$OUT"
	bash_offers truce nothing ''
	assert_eq '' "$OUT"
	zsh_offers 'truce config '
	assert_eq "$(lines check schema)" "$OUT"
	zsh_offers 'truce config check c'
	says c.yaml
	zsh_offers 'truce owners dep'
	assert_eq deployment/ "$OUT"
}

bash_takes_it_as_it_is() {
	assert_eq 'complete -F _truce truce' "$(bash --norc -c '. "$1"; complete -p truce' bash "$WORK/truce.bash")"
	bash -n "$WORK/truce.bash"
	zsh -n "$WORK/fpath/_truce"
	zsh -f -c 'compdef() { print $*; }; source $1' zsh "$WORK/fpath/_truce" >"$WORK/out"
	assert_eq '_truce truce' "$(<"$WORK/out")"
}

what_is_no_shell_is_told() {
	RC=0
	OUT=$("$TRUCE" completion fish 2>&1) || RC=$?
	assert_eq 2 "$RC"
	says 'truce completion bash, or truce completion zsh'
}

run_cases both_know_every_verb both_know_every_flag a_choice_is_offered files_and_folders_are_looked_for \
	operands_are_counted bash_takes_it_as_it_is what_is_no_shell_is_told

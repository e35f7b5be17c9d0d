#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes *.golden anew: what the real sigs.k8s.io/yaml makes of our inputs, one line each, JSON or "error".
#
#   scalars.txt    one scalar a line; asked alone and in the places that templates.txt names ("@" is the scalar)
#   documents.txt  one document each, between lines of =====
#   bytes/         one document per file, for what a text file cannot hold
#   streams/       files of several documents, cut by Kubernetes' own reader first
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here"
yamlgolden=${YAMLGOLDEN:-$(bash ../../cluster/build.sh yamlgolden)}

answers() {
	sed -e 's/^{\(.*\)"error": .*/{\1"error": true}/' -e 's/^{"error": true}$/error/' -e 's/^{"json": \(.*\)}$/\1/'
}

# Each line of the templates makes one document of each scalar; all answers of one template follow each other.
while IFS= read -r template; do
	while IFS= read -r scalar; do
		printf '%s\0' "${template/@/"$scalar"}"
	done <scalars.txt
done <templates.txt | "$yamlgolden" | answers >scalars.golden

sed -z 's/=====\n/\x00/g' documents.txt | "$yamlgolden" | answers >documents.golden
"$yamlgolden" bytes | answers >bytes.golden
"$yamlgolden" --split streams | sed 's/"doc\(_base64\)\{0,1\}": "\([^"\\]\|\\.\)*", //' | answers >streams.golden
wc -l ./*.golden

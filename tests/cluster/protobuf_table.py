#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints src/sandbox/protobuf_table.inc: the numbers that Kubernetes' protobuf messages give to the fields of its objects.

    tests/cluster/protobuf_table.py src/sandbox

From the .proto files of Kubernetes' modules, for what can be reached from the kinds of src/sandbox/types_table.inc. A row is
a message by the last three parts of its name, and "NUMBER=FIELD" for each field. ":MESSAGE" behind a field that may be an
embedded struct: JSON has its fields in the struct around it.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ["k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator"]
# Embedded structs whose field is not called as their type.
EMBEDDED = {"core.v1.Probe": {"handler"}}
FIELD = re.compile(r"^\s*(optional|repeated|map<\w+,)\s+([.\w]+)>?\s+(\w+) = (\d+);")


def module_dirs():
    go = subprocess.check_output([HERE + "/toolchain.sh"], text=True).strip()
    return subprocess.check_output([go, "list", "-m", "-f", "{{.Dir}}"] + MODULES, cwd=HERE + "/controlplane",
                                   text=True).split()


def short(name):
    return ".".join(name.split(".")[-3:])


def read(path, messages):
    package, message = "", None
    with open(path) as text:
        for line in text:
            if m := re.match(r"package ([\w.]+);", line):
                package = m[1]
            elif m := re.match(r"message (\w+) \{", line):
                message = messages.setdefault(short(f"{package}.{m[1]}"), [])
            elif message is not None and (m := FIELD.match(line)):
                kind = m[2][1:] if m[2].startswith(".") else f"{package}.{m[2]}" if m[2][0].isupper() else ""
                message.append((int(m[4]), m[3], short(kind) if kind else ""))


def field(owner, number, name, kind):
    type_name = kind.rsplit(".", 1)[-1]
    embedded = type_name[:1].lower() + type_name[1:] == name or name in EMBEDDED.get(owner, ())
    return f"{number}={name}" + (f":{kind}" if kind and embedded else "")


def main():
    messages = {}
    for module in module_dirs():
        for folder, _, files in os.walk(module):
            if "generated.proto" in files:
                read(os.path.join(folder, "generated.proto"), messages)
    with open(os.path.join(sys.argv[1], "types_table.inc")) as table:
        kinds = re.findall(r'^\t? *\{ "[^"]*", "[^"]*", "([^"]*)" \},$', table.read(), re.M)
    reached, queue = set(), list(kinds)
    while queue:
        name = queue.pop()
        if name in messages and name not in reached:
            reached.add(name)
            queue += [kind for _, _, kind in messages[name] if kind]
    with open(os.path.join(sys.argv[1], "protobuf_table.inc"), "w") as out:
        out.write("/* SPDX-License-Identifier: Apache-2.0 */\n"
                  "/* Made by tests/cluster/protobuf_table.py from Kubernetes v1.37.2. */\n"
                  "static const struct message_row message_rows[] = {\n")
        for name in sorted(reached):
            text = ",".join(field(name, *f) for f in sorted(messages[name]))
            out.write(f'        {{ "{name}", "{text}" }},\n')
        out.write("};\n")


main()

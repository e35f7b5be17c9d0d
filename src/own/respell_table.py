#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of respell.c: where quantities stand in built-in kinds. From the sandbox's table of types, which is made
from the published OpenAPI and Go types:

    src/own/respell_table.py src/sandbox/types_table.inc > src/own/respell_table.inc

The notation is explained in respell.c.
"""
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
kinds_text, types_text = text.split("static const struct type_row")
STRING = r'"((?:[^"\\]|\\.)*)"'

kinds = [tuple(re.findall(STRING, row)) for row in re.findall(r"\{ (\"[^}]*) \},", kinds_text)]
rows = {}
for row in re.findall(r"\{ (\"(?:[^{}]|\{[=]?\})*\") \}", types_text):
    name, *fields = [bytes(s, "utf-8").decode("unicode_escape") for s in re.findall(STRING, row)]
    rows[name] = "".join(fields)


def plain(notation):
    """q, a row's name, *q for a map of them; lists and how they merge do not matter here."""
    notation = re.sub(r"%[^%]*%", "", notation)
    maps = ""
    while True:
        m = re.match(r"\{=?\}|\[[^\]]*\]|=", notation)
        if not m:
            break
        maps += "*" if m.group(0)[0] == "{" else ""
        notation = notation[m.end():]
    return maps + re.split(r"['=]", notation)[0]


def fields_of(name):
    for field in rows[name].split(" "):
        m = re.match(r"([A-Za-z0-9_$]+)(?:<[^>]*>)?[!*?0]*:(.*)", field)
        if m and m.group(1) != "status":
            yield m.group(1), plain(m.group(2))


leads = {}


def leads_to_quantity(name, seen=()):
    if name in seen:
        return False
    if name not in leads:
        leads[name] = any(is_of_interest(t, seen + (name,)) for _, t in fields_of(name))
    return leads[name]


def is_of_interest(notation, seen=()):
    base = notation.lstrip("*")
    return base == "q" or (base in rows and leads_to_quantity(base, seen))


def wrap(words, width=100):
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > width:
            lines.append(line + " ")
            line = ""
        line += (" " if line else "") + word
    return "\n          ".join('"%s"' % l for l in lines + [line])


used = sorted(n for n in rows if leads_to_quantity(n))
print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by respell_table.py. */")
print("static const struct kind_row kind_rows[] = {")
for version, kind, name in kinds:
    if name in rows and leads_to_quantity(name):
        print('        { "%s", "%s", "%s" },' % (version, kind, name))
print("};\n\nstatic const struct type_row type_rows[] = {")
for name in used:
    print('        { "%s",\n          %s },' % (name, wrap(["%s:%s" % f for f in fields_of(name) if is_of_interest(f[1])])))
print("};\n\n/* All structs of core/v1, also those without quantities. */")
core = sorted(n[len("core.v1."):] for n in rows if n.startswith("core.v1."))
print("static const char core_types[] =\n          %s;" % wrap(core))

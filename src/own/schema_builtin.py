#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of schema_builtin.c from the OpenAPI v3 documents of a Kubernetes server (GET /openapi/v3/apis/apps/v1
and so on, one file each; v2 does not carry the defaults of list keys).

    src/own/schema_builtin.py v1.37.2 FILE.json… > src/own/schema_builtin.inc

Only what decides ownership is kept: composite fields. Scalars and status are left out. The notation is explained in
schema_builtin.c.
"""
import json
import sys

docs = [json.load(open(f, encoding="utf-8")) for f in sys.argv[2:]]
defs = {name: s for doc in docs for name, s in doc.get("components", {}).get("schemas", {}).items()}
version = sys.argv[1]

SCALARS = ("string", "integer", "number", "boolean")
HARD = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ".",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "=",
}


def ref_of(s):
    ref = s.get("$ref") or (s["allOf"][0].get("$ref") if len(s.get("allOf", [])) == 1 else None)
    return ref.rsplit("/", 1)[1] if ref else None


def is_atomic_map(s):
    return s.get("x-kubernetes-map-type") == "atomic"


def is_atomic_ref(s, name):
    """A property's own word counts more than that of the type it refers to: a volume's claimRef is granular."""
    return is_atomic_map(s) or ("x-kubernetes-map-type" not in s and is_atomic_map(defs[name]))


def list_notation(s):
    kind = s.get("x-kubernetes-list-type")
    keys = s.get("x-kubernetes-list-map-keys")
    if kind is None and "merge" in s.get("x-kubernetes-patch-strategy", ""):
        key = s.get("x-kubernetes-patch-merge-key")
        kind, keys = ("map", [key]) if key else ("set", None)
    if kind == "set":
        return "set"
    if kind != "map":
        return "="
    items = s["items"]
    props = defs[ref_of(items)].get("properties", {}) if ref_of(items) else items.get("properties", {})
    shown = []
    for k in sorted(keys):
        default = props.get(k, {}).get("default")
        shown.append(k if default is None else "%s=%s" % (k, json.dumps(default).strip('"')))
    return "[" + ",".join(shown) + "]" + notation(items)


def notation(s):
    name = ref_of(s)
    if name:
        return "=" if is_atomic_ref(s, name) else type_notation(name)
    kind = s.get("type")
    if kind in SCALARS or s.get("format") == "int-or-string" or "oneOf" in s:
        return "."
    if kind == "array":
        return list_notation(s)
    if is_atomic_map(s):
        return "="
    extra = s.get("additionalProperties")
    if kind == "object" and isinstance(extra, dict) and not s.get("properties"):
        return "*" + notation(extra)
    return "?"


def type_notation(name):
    if name in HARD:
        return HARD[name]
    s = defs[name]
    if s.get("type") != "object" or not s.get("properties"):
        return notation(s)
    return short(name)


wanted, order, shorts = {}, [], {}


def short(name):
    if name not in shorts:
        parts = name.split(".")
        plain = parts[-1]
        shorts[name] = plain if plain not in shorts.values() else "%s.%s.%s" % (parts[-3], parts[-2], plain)
        wanted[name] = None
        order.append(name)
        fields = {f: notation(p) for f, p in defs[name]["properties"].items() if f != "status"}
        wanted[name] = {f: n for f, n in fields.items() if n != "."}
    return shorts[name]


roots = []
for name, s in sorted(defs.items()):
    gvks = s.get("x-kubernetes-group-version-kind", [])
    if len(gvks) != 1 or "metadata" not in s.get("properties", {}) or gvks[0]["kind"].endswith("List"):
        continue
    if ref_of(s["properties"]["metadata"]).endswith("ListMeta") or "/" in gvks[0]["kind"]:
        continue
    g = gvks[0]
    av = (g["group"] + "/" if g["group"] else "") + g["version"]
    roots.append((av, g["kind"], name))

lines = []
for av, kind, name in roots:
    fields = {f: notation(p) for f, p in defs[name]["properties"].items() if f not in ("status", "metadata")}
    fields = {f: n for f, n in sorted(fields.items()) if n != "."}
    lines.append((av, kind, fields))


def settle(table):
    """A struct of scalars only is "+"; named ones disappear."""
    plain = {shorts[n] for n, f in wanted.items() if f is not None and not f}
    def swap(n):
        i = max(n.rfind("]"), n.rfind("*")) + 1
        return n[:i] + ("+" if n[i:] in plain else n[i:])
    return {f: swap(n) for f, n in sorted(table.items())}


def rows(text):
    words, line = text.split(" "), ""
    out = []
    for w in words:
        if len(line) + len(w) > 92:
            out.append(line)
            line = ""
        line += (" " if line else "") + w
    out.append(line)
    return "\n          ".join('"%s"' % (l + (" " if i + 1 < len(out) else "")) for i, l in enumerate(out))


print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by schema_builtin.py from the OpenAPI document of Kubernetes %s. */" % version)
print("static const struct kind_row kind_rows[] = {")
for av, kind, fields in lines:
    print('        { "%s", "%s",\n          %s },' % (av, kind, rows(" ".join("%s:%s" % i for i in settle(fields).items()))))
print("};\n\nstatic const struct type_row type_rows[] = {")
for name in sorted(order, key=lambda n: shorts[n]):
    if wanted[name]:
        print('        { "%s",\n          %s },' % (shorts[name], rows(" ".join("%s:%s" % i for i in settle(wanted[name]).items()))))
print("};")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints src/sandbox/types_table.inc and resources_table.inc from a running API server and from Kubernetes' Go types.

    tests/cluster/with-cluster.sh --no-podsim tests/cluster/openapi_table.py src/sandbox

From OpenAPI v3: defaults, required fields, list types and keys, atomic maps. From the Go types (controlplane/cmd/gotypes):
what OpenAPI does not say, see there. From discovery: the resources. The notation is explained in types_table.c.
"""
import json
import os
import ssl
import subprocess
import sys
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER, TOKEN, CA = (os.environ["TRUCE_TEST_" + k] for k in ("SERVER", "TOKEN", "CA"))
# Groups whose kinds nobody meets in the sandbox: schedulers' devices, the server's own flow control and migrations.
LEFT_OUT = {"resource.k8s.io", "flowcontrol.apiserver.k8s.io", "storagemigration.k8s.io"}
EXTRA_KINDS = [("v1", "DeleteOptions", "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"),
               ("v1", "Status", "io.k8s.apimachinery.pkg.apis.meta.v1.Status")]
CUSTOM = {"Quantity": "q", "IntOrString": "x", "Time": "t", "MicroTime": "u", "Duration": "d", "RawExtension": "a",
          "JSON": "a?", "FieldsV1": "a?", "JSONSchemaPropsOrArray": "a+", "JSONSchemaPropsOrBool": "a+",
          "JSONSchemaPropsOrStringArray": "a+"}
SCALAR = {"string": "s", "int32": "i", "int64": "I", "float64": "n", "bool": "b", "bytes": "y", "interface": "a?"}
PLAIN = {"string", "int32", "int64", "float64", "bool", "[]uint8", "interface {}"}


def get(path, accept="application/json"):
    request = urllib.request.Request(SERVER + path, headers={"Authorization": "Bearer " + TOKEN, "Accept": accept})
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=CA)) as reply:
        return json.load(reply)


def go_types():
    go = subprocess.check_output([HERE + "/toolchain.sh"], text=True).strip()
    return json.loads(subprocess.check_output([go, "run", "./cmd/gotypes"], cwd=HERE + "/controlplane"))


def openapi():
    defs = {}
    for entry in get("/openapi/v3")["paths"].values():
        defs.update(get(entry["serverRelativeURL"]).get("components", {}).get("schemas", {}))
    return defs


defs, structs = openapi(), go_types()


def short(name):
    """apps.v1.Deployment, meta.v1.ObjectMeta: the group's folder, the version, the Go name."""
    return ".".join(name.split(".")[-3:])


def ref_of(s):
    ref = s.get("$ref") or (s["allOf"][0].get("$ref") if len(s.get("allOf", [])) == 1 else None)
    return ref.rsplit("/", 1)[1] if ref else None


def resolved(s):
    return defs.get(ref_of(s), s) if ref_of(s) else s


def is_atomic_map(s):
    """A property's own word counts more than that of the type it refers to: a volume's claimRef is granular."""
    return (s.get("x-kubernetes-map-type") or resolved(s).get("x-kubernetes-map-type")) == "atomic"


def compact(value):
    text = json.dumps(value, separators=(",", ":"))
    assert " " not in text, text
    return text


def list_form(s):
    """As in structured-merge-diff's conversion of OpenAPI: without a list type the patch strategy counts."""
    kind, keys = s.get("x-kubernetes-list-type"), s.get("x-kubernetes-list-map-keys")
    if kind is None and "merge" in s.get("x-kubernetes-patch-strategy", ""):
        key = s.get("x-kubernetes-patch-merge-key")
        kind, keys = ("map", [key]) if key else ("set", None)
    if kind != "map":
        return "[set]" if kind == "set" else "[]"
    props = resolved(s["items"]).get("properties", {})
    shown = []
    for k in sorted(keys):
        default = props.get(k, {}).get("default")
        shown.append(k if default is None else "%s=%s" % (k, json.dumps(default).strip('"')))
    return "[" + ",".join(shown) + "]"


wanted = {}


def notation(shape, s):
    """The type's notation and the Go name it would have by itself."""
    form, go = shape["form"], shape["go"]
    if form == "ptr":
        return notation(shape["item"], s)
    if form == "custom":
        want = CUSTOM[go.rsplit(".", 1)[-1]]
        if want == "a+":
            visit("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
            return "a+" + go.rsplit(".", 1)[-1], go
        return want, go
    if form == "struct":
        if go == "v1.Duration":
            return "d", go
        visit(shape["name"])
        return ("=" if is_atomic_map(s) else "") + short(shape["name"]), go
    s = resolved(s)
    if form == "list":
        item, item_go = notation(shape["item"], s.get("items", {}))
        return list_form(s) + item, "[]" + item_go
    if form == "map":
        item, item_go = notation(shape["item"], s.get("additionalProperties") or {})
        return ("{=}" if is_atomic_map(s) else "{}") + item, "map[string]" + item_go
    return SCALAR[form], go if go in PLAIN else form


def field_text(f, schema):
    s = schema.get("properties", {}).get(f["name"], {})
    text, derived = notation(f["type"], s)
    go = f["type"]["item"]["go"] if f["type"]["form"] == "ptr" else f["type"]["go"]
    pointer = f["type"]["form"] == "ptr"
    marks = "!" if f["name"] in schema.get("required", []) else ""
    marks += "*" if pointer else ""
    marks += ("?" if f.get("omitempty") else "") + ("0" if f.get("omitzero") else "")
    letters = {"merge": "m", "retainKeys": "r", "replace": "w"}
    patch = "".join(letters[p] for p in f.get("strategy", "").split(",") if p)
    patch = "%%%s,%s%%" % (patch, f.get("key", "")) if patch else ""
    name = f["name"] + ("<" + f["embedded"] + ">" if f.get("embedded") else "")
    default = s.get("default")
    # OpenAPI gives every plain field its zero as a default; only a pointer's means something.
    tail = "=" + compact(default) if default is not None and (pointer or default not in ("", 0, False, {})) else ""
    return name + marks + ":" + patch + text + ("'" + go if go != derived else "") + tail


def visit(name):
    if name in wanted:
        return
    wanted[name] = None
    schema = defs.get(name, {})
    wanted[name] = [field_text(f, schema) for f in structs[name]]


def rows(words):
    out, line = [], ""
    for w in words:
        if line and len(line) + len(w) > 100:
            out.append(line)
            line = ""
        line += (" " if line else "") + w
    out.append(line)
    quote = lambda l: '"' + l.replace("\\", "\\\\").replace('"', '\\"')
    return "\n          ".join(quote(l) + (' "' if i + 1 < len(out) else '"') for i, l in enumerate(out))


VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def verbs(names):
    return sum(1 << VERBS.index(v) for v in names)


def group_versions():
    yield "", "v1", get("/api/v1")["resources"]
    for g in get("/apis")["groups"]:
        if g["name"] not in LEFT_OUT:
            for v in g["versions"]:
                yield g["name"], v["version"], get("/apis/" + v["groupVersion"])["resources"]


def resources():
    out = []
    for group, version, found in group_versions():
        mains = {r["name"]: (r, []) for r in found if "/" not in r["name"]}
        for r in found:
            if "/" in r["name"]:
                main, sub = r["name"].split("/", 1)
                if main not in mains:
                    mains[main] = ({"name": main, "singularName": "", "namespaced": r["namespaced"], "kind": "", "verbs": []}, [])
                mains[main][1].append((sub, r))
        out += [(group, version, r, subs) for _, (r, subs) in sorted(mains.items())]
    return out


def resource_text(group, version, r, subs):
    # ComponentStatus and the like answer with lists of their own name, as all others do.
    sub_words = ["%s:%s/%s/%s:%d" % (name, s.get("group", ""), s.get("version", ""), s["kind"], verbs(s["verbs"]))
                 for name, s in sorted(subs)]
    cells = [group, version, r["kind"], r["name"], r["singularName"], ",".join(r.get("shortNames", [])),
             ",".join(r.get("categories", [])), r.get("storageVersionHash", "")]
    return "        { %s, %s, %d,\n          %s },\n" % (
        ", ".join('"%s"' % c for c in cells), "true" if r["namespaced"] else "false", verbs(r["verbs"]), rows(sub_words))


def kinds(found):
    """(apiVersion, kind, definition) of every body that some resource or subresource takes."""
    by_gvk = {}
    for name, s in defs.items():
        for g in s.get("x-kubernetes-group-version-kind", []):
            if len(s["x-kubernetes-group-version-kind"]) == 1:
                by_gvk[(g["group"], g["version"], g["kind"])] = name
    out = set(EXTRA_KINDS)
    for group, version, r, subs in found:
        bodies = [(group, version, r["kind"])]
        bodies += [(s.get("group", group), s.get("version", version), s["kind"]) for _, s in subs]
        for g, v, k in bodies:
            name = by_gvk.get((g, v, k))
            if name in structs:
                out.add(((g + "/" if g else "") + v, k, name))
    return sorted(out)


def main():
    folder, version = sys.argv[1], get("/version")["gitVersion"]
    head = "/* SPDX-License-Identifier: Apache-2.0 */\n/* Made by tests/cluster/openapi_table.py from Kubernetes %s. */\n" % version
    found = resources()
    with open(folder + "/resources_table.inc", "w", encoding="utf-8") as f:
        f.write(head + "static const struct resource_row resource_rows[] = {\n")
        f.write("".join(resource_text(*r) for r in found) + "};\n")
    roots = kinds(found)
    for _, _, name in roots:
        visit(name)
    with open(folder + "/types_table.inc", "w", encoding="utf-8") as f:
        f.write(head + "static const struct kind_row kind_rows[] = {\n")
        f.write("".join('        { "%s", "%s", "%s" },\n' % (av, k, short(n)) for av, k, n in roots))
        f.write("};\n\nstatic const struct type_row type_rows[] = {\n")
        for name in sorted(wanted, key=lambda n: short(n).encode()):
            f.write('        { "%s",\n          %s },\n' % (short(name), rows(wanted[name])))
        f.write("};\n")


main()

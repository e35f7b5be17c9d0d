# SPDX-License-Identifier: Apache-2.0
"""What the schema of `truce config schema` says of Agent documents, beside what truce says of them.

schema.py TRUCE SOURCE-DIR
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import yaml
from jsonschema import Draft7Validator

truce, source = sys.argv[1:]
schema = json.loads(subprocess.run([truce, "config", "schema"], check=True, capture_output=True).stdout)
Draft7Validator.check_schema(schema)
validator = Draft7Validator(schema)
failed = 0


def fail(text):
    global failed
    failed += 1
    print("FAILED: " + text)


def checked(text):
    """The exit status of `truce config check` and its words."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([truce, "config", "check", file.name], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def documents(path):
    with open(path) as file:
        return re.split(r"^---\n", file.read(), flags=re.M)


def blocks(text):
    """Code of Markdown: lines that are indented by four."""
    return re.findall(r"(?:^(?: {4}.*)?\n)+", text, flags=re.M)


def agents_of(path):
    """Every Agent document of a file, also one that stands in Markdown."""
    with open(path, errors="replace") as file:
        text = file.read()
    if path.endswith(".md"):
        text = "---\n".join(re.sub(r"^ {4}", "", block, flags=re.M) for block in blocks(text))
    for piece in re.split(r"^---\n", text, flags=re.M):
        if re.search(r"^kind: Agent$", piece, flags=re.M):
            yield piece


def walk():
    for folder in ("docs", "examples", "tests/cases/config"):
        for root, _, names in os.walk(os.path.join(source, folder)):
            for name in sorted(names):
                if name.endswith((".md", ".yaml", ".yml")):
                    yield os.path.join(root, name)


cases = os.path.join(source, "tests", "cases", "agent")
good, wrong = documents(cases + "/good.yaml"), documents(cases + "/wrong.yaml")
for text in good:
    errors = [e.message for e in validator.iter_errors(yaml.safe_load(text))]
    status, words = checked(text)
    if errors or status != 0:
        fail(f"{text}the schema says {errors}, truce ends with {status}: {words}")
for text in wrong:
    status, words = checked(text)
    if validator.is_valid(yaml.safe_load(text)) or status != 2:
        fail(f"{text}the schema says {validator.is_valid(yaml.safe_load(text))}, truce ends with {status}: {words}")

found = 0
for path in walk():
    for text in agents_of(path):
        found += 1
        for e in validator.iter_errors(yaml.safe_load(text)):
            fail(f"{path}: {e.message}")
if found < 2:
    fail(f"only {found} Agent documents in docs, examples and tests/cases/config")


def leaves(v):
    for name, child in v.get("properties", {}).items():
        yield from leaves(child) if "properties" in child else [(name, child)]


for name, child in leaves(schema["properties"]["spec"]):
    if not child.get("description") or not ("type" in child or "enum" in child):
        fail(f"{name} lacks a description or a type")
    if "default" in child and not Draft7Validator(child).is_valid(child["default"]):
        fail(f"{name}: the default {child['default']!r} does not fit")

print(f"ok - {len(good)} good and {len(wrong)} wrong documents are judged alike, {found} of docs and tests fit")
sys.exit(1 if failed else 0)

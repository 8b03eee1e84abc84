#!/usr/bin/env python3
"""Generates the derived parts of the Python package: the types of requests and responses from the OpenAPI document, and
the blocking client from the asynchronous one.

Usage: src/python/generate.py [--check]

The document is the snapshot that the tests of the service accept. --check writes nothing and exits with 1 if a file
differs from what the script would write, so it fails after a change of the contract until this script is run.
"""

import argparse
import builtins
import json
import keyword
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
SNAPSHOT = HERE.parent.parent / "tests/contract/snapshots/openapi.snap"
PACKAGE = HERE / "toise"
WIDTH = 120

TYPES_HEAD = '''"""Types of the requests and responses of the service, generated from its OpenAPI document by
`src/python/generate.py`.

Every record is a plain `dict`; these types describe its keys to type checkers and editors. A key that may be missing is
`NotRequired`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict
'''

# Names of shapes that many requests share; other shapes are named after the place where they first occur.
SHARED = {("from", "to"): "DateRange", ("distance", "lat", "lon"): "GeoDistance"}

# The parts of a schema that determine its type.
SHAPING = frozenset(
    ["type", "required", "enum", "const", "items", "prefixItems", "$ref", "oneOf", "anyOf", "additionalProperties"]
)

# Replacements that make the blocking client from the asynchronous one; whole words only.
BLOCKING = [
    (r"async (def|for|with)", r"\1"),
    (r"await ", ""),
    (r"Awaitable\[Page\[T\]\]", "Page[T]"),
    (r"AsyncIterator, Awaitable, Callable", "Callable, Iterator"),
    (r"AsyncIterator", "Iterator"),
    (r"AsyncIterable", "Iterable"),
    (r"AsyncContextManager", "ContextManager"),
    (r"Async(\w+)", r"\1"),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"__aiter__", "__iter__"),
    (r"__anext__", "__next__"),
    (r"StopAsyncIteration", "StopIteration"),
    (r"asynccontextmanager", "contextmanager"),
    (r"aclose", "close"),
    (r"aread", "read"),
    (r"aiter_(\w+)", r"iter_\1"),
    (r"asyncio", "time"),
    (r"_async", "_sync"),
    (r"asynchronous", "blocking"),
]


def pascal(name):
    """A name as types are written: `code_insee_ban` becomes `CodeInseeBan`."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^0-9A-Za-z]+", name))


class Types:
    """Declarations made from schemas; a schema inside another one gets its own name."""

    def __init__(self, document):
        self.schemas = document["components"]["schemas"]
        self.declarations = []
        self.taken = set(self.schemas)
        self.by_shape = {shape(schema): name for name, schema in self.schemas.items() if schema.get("properties")}
        for name, schema in self.schemas.items():
            self.declare(name, schema)
        for methods in document["paths"].values():
            for operation in methods.values():
                self.operation(operation)

    def operation(self, operation):
        """Names the bodies of the request and the response of an operation, unless they are components."""
        name = pascal(operation["operationId"])
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if body and "$ref" not in body and body.get("properties"):
            self.declare(name + "Request", body)
        for status in ("200", "202"):
            content = operation["responses"].get(status, {}).get("content", {})
            answer = content.get("application/json", {}).get("schema")
            if answer and "$ref" not in answer and answer.get("properties"):
                suffix = "Answer" if status == "200" or "200" not in operation["responses"] else "Pending"
                self.declare(name + suffix, answer)

    def declare(self, name, schema):
        """Declares a component, or a schema inside one, under a name."""
        self.taken.add(name)
        place = len(self.declarations)
        self.declarations.append("")
        if schema.get("properties"):
            text = self.typed_dict(name, schema)
        else:
            text = f"{name}: TypeAlias = {quoted(self.type_of(name, schema))}"
            if schema.get("description"):
                text += "\n" + docstring(schema["description"], "")
        self.declarations[place] = text

    def typed_dict(self, name, schema):
        required = set(schema.get("required", ()))
        fields = {}
        for key, value in schema["properties"].items():
            kind = self.type_of(name + pascal(key), value)
            fields[key] = kind if key in required else f"NotRequired[{kind}]"
        if all(key.isidentifier() and not keyword.iskeyword(key) for key in fields):
            lines = [f"class {name}(TypedDict):"]
            if schema.get("description"):
                lines += [docstring(schema["description"], "    "), ""]
            for key, kind in fields.items():
                lines.append(f"    {key}: {kind}")
                description = schema["properties"][key].get("description")
                if description:
                    lines.append(docstring(description, "    "))
            return "\n".join(lines)
        # A key that is a keyword of Python, such as `from`, can only be declared this way, with types in quotes.
        lines = [f"{name} = TypedDict(", f'    "{name}",', "    {"]
        lines += [f'        "{key}": {quoted(kind)},' for key, kind in fields.items()]
        return "\n".join([*lines, "    },", ")"])

    def type_of(self, name, schema):
        """The type of a schema; `name` is the name for a record inside it."""
        if "$ref" in schema:
            return schema["$ref"].rsplit("/", 1)[-1]
        if "const" in schema:
            return f"Literal[{json.dumps(schema['const'])}]"
        if "enum" in schema:
            values = ("None" if value is None else json.dumps(value, ensure_ascii=False) for value in schema["enum"])
            return "Literal[" + ", ".join(values) + "]"
        kind = schema.get("type")
        if isinstance(kind, list):
            parts = [self.type_of(name, {**schema, "type": one}) if one != "null" else "None" for one in kind]
            return " | ".join(dict.fromkeys(parts))
        alternatives = schema.get("oneOf") or schema.get("anyOf")
        if alternatives and kind in (None, "object") and not schema.get("properties"):
            own = name + "Object" if name in self.taken else name
            parts = [self.type_of(f"{own}{number or ''}", one) for number, one in enumerate(alternatives)]
            return " | ".join(dict.fromkeys(parts))
        if kind == "null":
            return "None"
        if kind == "array":
            items = schema.get("items") or {}
            if schema.get("prefixItems"):
                items = schema["prefixItems"][0]
            return f"list[{self.type_of(name + 'Item', items) if items else 'Any'}]"
        if kind == "object":
            if schema.get("properties"):
                known = self.by_shape.get(shape(schema))
                if known:
                    return known
                name = SHARED.get(tuple(sorted(schema["properties"])), name)
                assert name not in self.taken, f"two types would be called {name}"
                self.by_shape[shape(schema)] = name
                self.declare(name, schema)
                return name
            rest = schema.get("additionalProperties")
            return f"dict[str, {self.type_of(name + 'Value', rest) if isinstance(rest, dict) and rest else 'Any'}]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(kind, "Any")


def shape(schema):
    """The parts that two schemas of the same type have in common: all but their descriptions."""
    if isinstance(schema, dict):
        kept = {key: shape(value) for key, value in schema.items() if key in SHAPING and key != "properties"}
        fields = {key: shape(value) for key, value in schema.get("properties", {}).items()}
        return tuple(sorted(kept.items())), tuple(sorted(fields.items()))
    return tuple(map(shape, schema)) if isinstance(schema, list) else schema


def quoted(kind):
    """A type as written in an expression: a name that is declared later is in quotes."""
    is_known = kind in ("str", "int", "float", "bool") or kind.startswith("Literal[")
    return kind if is_known else "'" + kind + "'" if '"' in kind else f'"{kind}"'


def docstring(text, indent):
    """A docstring wrapped to the width."""
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")
    text = text if text.endswith((".", "?", "!", ":")) else text + "."
    text = text if not text.startswith('"') else " " + text
    one_line = f'{indent}"""{text}"""'
    if len(one_line) <= WIDTH and not text.endswith('"'):
        return one_line
    wrapped = textwrap.wrap(text, WIDTH - len(indent) - 3, break_long_words=False, break_on_hyphens=False)
    return f'{indent}"""' + f"\n{indent}".join(wrapped) + f'\n{indent}"""'


def types():
    """The text of `types.py`."""
    text = SNAPSHOT.read_text(encoding="utf-8")
    document = json.loads(text[text.index("\n{") :])
    made = Types(document)
    names = sorted(name for name in made.taken if not hasattr(builtins, name) or name[0].isupper())
    rows = textwrap.wrap(", ".join(f'"{name}"' for name in names) + ",", WIDTH - 4)
    exported = "__all__ = [\n" + "".join(f"    {row}\n" for row in rows) + "]\n"
    return TYPES_HEAD + "\n" + exported + "\n\n" + "\n\n\n".join(made.declarations) + "\n"


def blocking(text):
    """The blocking version of an asynchronous module."""
    for pattern, replacement in BLOCKING:
        text = re.sub(rf"(?<!\w){pattern}" + ("" if pattern.endswith(" ") else r"(?!\w)"), replacement, text)
    return text


def outputs():
    """Every generated file, with its text."""
    yield PACKAGE / "types.py", types()
    for source in sorted((PACKAGE / "_async").glob("*.py")):
        head = f"# Made from _async/{source.name} by src/python/generate.py; change that file instead.\n"
        yield PACKAGE / "_sync" / source.name, head + blocking(source.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    stale = []
    for path, text in outputs():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if not is_check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path.relative_to(HERE.parent.parent)}: {'is not as generated' if is_check else 'written'}")
    if is_check and stale:
        sys.exit("run src/python/generate.py")


if __name__ == "__main__":
    main()

"""Reads documentation out of Python sources without importing them.

Runs as a worker process: ``python -m trainer.datasets.docs_extraction`` takes
lines ``["module", "path"]`` on stdin and answers each with one JSON line of
entries, in the same order.  Only the standard library is imported, so a
worker is ready in a few milliseconds.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

QUERY_CHARS: Final = (15, 300)
QUERY_WORDS: Final = 3
BODY_CHARS: Final = 6000

_ROLE = re.compile(r":[a-z:+-]+:`~?\.?([^`<]*?)(?:\s*<[^`>]*>)?`")
_MARKS = re.compile(r"[`*]+")
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)(?<!cf\.)\s+(?=[A-Z(\"'])")
_SIGNATURE_LINE = re.compile(r"[\w.]+\(.*\)(\s*->.*)?")
_PLACEHOLDER = re.compile(r"\{\w+\}")

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Entry(NamedTuple):
    """One documented function or class."""

    name: str
    query: str
    document: str


def entries_of(source: bytes, module: str) -> list[Entry]:
    """The documented functions and classes of one module, in the order of the source.

    Raises:
        SyntaxError, ValueError: the source is not Python for this interpreter.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in other people's sources
        tree = ast.parse(source)
    found: list[Entry] = []
    for name, signature, docstring in _documented(tree, module):
        entry = make_entry(name, signature, docstring)
        if entry is not None:
            found.append(entry)
    return found


def make_entry(name: str, signature: str, docstring: str) -> Entry | None:
    """Split a docstring into query and document; None when it says too little or too much alike."""
    paragraphs = inspect.cleandoc(docstring).strip().split("\n\n")
    if len(paragraphs) > 1 and _SIGNATURE_LINE.fullmatch(_SPACE.sub(" ", paragraphs[0])):
        signature = _SPACE.sub(" ", paragraphs.pop(0))
    lead = plain(paragraphs[0])
    query, *rest = _SENTENCE_END.split(lead, maxsplit=1)
    if not (QUERY_CHARS[0] <= len(query) <= QUERY_CHARS[1]) or len(query.split()) < QUERY_WORDS:
        return None
    if not query[0].isalnum() or ">>>" in query or "->" in query:
        return None
    body = "\n\n".join([*rest, *paragraphs[1:]]).strip()
    body = _shorten(_without(body, query))
    document = f"{signature}\n\n{body}" if body else signature
    if fold(query) in fold(document):
        return None
    return Entry(name, query, document)


def plain(text: str) -> str:
    """``text`` on one line, without reStructuredText marks."""
    return _SPACE.sub(" ", _MARKS.sub("", _ROLE.sub(r"\1", text))).strip()


def fold(text: str) -> str:
    """``text`` as it is compared when looking for repetitions: plain, lower case, no end stop."""
    return plain(text).lower().rstrip(".!?: ")


def _without(body: str, query: str) -> str:
    """``body`` without the paragraphs that repeat the query."""
    wanted = fold(query)
    if wanted not in fold(body):
        return body
    return "\n\n".join(part for part in body.split("\n\n") if wanted not in fold(part))


def _shorten(body: str) -> str:
    if len(body) <= BODY_CHARS:
        return body
    cut = body.rfind("\n", BODY_CHARS // 2, BODY_CHARS)
    return body[: cut if cut > 0 else BODY_CHARS].rstrip() + "\n…"


def _documented(tree: ast.Module, module: str) -> Iterator[tuple[str, str, str]]:
    """Name, signature and docstring of everything documented in ``tree``."""
    pending: list[tuple[str, ast.stmt]] = [(module, node) for node in reversed(tree.body)]
    while pending:
        prefix, node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}.{node.name}"
            docstring = ast.get_docstring(node, clean=False)
            if docstring:
                yield name, _signature(node, name), docstring
            if isinstance(node, ast.ClassDef):
                pending.extend((name, child) for child in reversed(node.body))
        elif isinstance(node, (ast.If, ast.Try)):
            pending.extend((prefix, child) for child in reversed(node.body))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            attached = _attached(node.value)
            if attached is not None:
                yield attached


def _attached(call: ast.Call) -> tuple[str, str, str] | None:
    """Documentation given to a compiled function from outside, as in ``add_docstr(torch.abs, "…")``."""
    if not isinstance(call.func, ast.Name) or call.func.id != "add_docstr" or len(call.args) < 2:
        return None
    text = _literal(call.args[1])
    if text is None:
        return None
    name = ast.unparse(call.args[0])
    return name, name, _PLACEHOLDER.sub("", text)


def _literal(node: ast.expr) -> str | None:
    """The text of ``"…"``, ``"…".format(…)`` and sums of them; None when it is computed otherwise."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _literal(node.left), _literal(node.right)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _literal(node.func.value)
    return None


def _signature(node: _Definition, name: str) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        return f"class {name}({bases})" if bases else f"class {name}"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{name}({ast.unparse(node.args)}){returns}"


def main() -> None:
    """Answer each module named on stdin with a line of its entries."""
    for line in sys.stdin:
        module, path = json.loads(line)
        try:
            entries = entries_of(Path(path).read_bytes(), module)
        except (OSError, SyntaxError, ValueError, RecursionError):
            entries = []  # a source that this interpreter cannot read documents nothing
        sys.stdout.write(json.dumps(entries) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

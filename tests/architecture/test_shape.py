"""Sizes, names and documentation of every module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import ROOT, files_with, product_modules, shown, tracked_files, tree_of

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
EMPTY_NAMES = {
    "utils",
    "helpers",
    "common",
    "misc",
    "manager",
    "handler",
    "managers",
    "handlers",
    "util",
    "helper",
}


def functions_of(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions and methods of a file."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def test_no_source_file_is_longer_than_a_person_reads() -> None:
    sources = files_with(".py", ".js", ".css", ".html")
    lengths = {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{shown(path, node.lineno)} {node.name}: {length} lines"
        for path in files_with(".py")
        if path.relative_to(ROOT).parts[0] != "migrations"  # generated: as long as the schema
        for node in functions_of(path)
        if (length := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert "\n".join(long) == ""


def test_no_file_has_a_name_that_says_nothing() -> None:
    empty = [
        shown(path)
        for path in tracked_files()
        if EMPTY_NAMES & set(path.relative_to(ROOT).with_suffix("").parts)
    ]
    assert "\n".join(empty) == ""


def test_nothing_in_the_code_has_a_name_that_says_nothing() -> None:
    found = []
    for path in product_modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = node.name
            elif isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            else:
                continue
            if name.lower() in EMPTY_NAMES | {"data"} or name.endswith(
                ("Manager", "Handler", "Helper", "Utils")
            ):
                found.append(f"{shown(path, node.lineno)} {name}")
    assert "\n".join(found) == ""


LAZY_PACKAGES = {"trainer/telemetry/__init__.py"}  # scripts import from it; it loads nothing until they do


def test_package_files_hold_a_docstring_and_nothing_else() -> None:
    packages = [path for path in product_modules() if path.name == "__init__.py"]
    assert packages
    for path in packages:
        if shown(path) in LAZY_PACKAGES:
            continue
        body = tree_of(path).body
        assert len(body) == 1, f"{shown(path)} must hold a docstring only"
        assert ast.get_docstring(tree_of(path)), f"{shown(path)} needs a docstring"


def test_every_module_says_what_it_is() -> None:
    modules = [path for path in files_with(".py") if not path.name.startswith("test_")]  # their tests say it
    silent = [shown(path) for path in modules if not ast.get_docstring(tree_of(path)) and path.read_bytes()]
    assert "\n".join(silent) == ""


def test_everything_public_is_documented() -> None:
    missing = [
        f"{shown(path, node.lineno)} {node.name}"
        for path in product_modules()
        for node in public_definitions(tree_of(path))
        if not ast.get_docstring(node)
    ]
    assert "\n".join(missing) == ""


def public_definitions(
    owner: ast.Module | ast.ClassDef,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public classes, functions and methods, but for a class's one-line members: their name says it."""
    for node in owner.body:
        if not isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            yield node
            yield from public_definitions(node)
        elif isinstance(owner, ast.Module) or (node.end_lineno or 0) - node.body[0].lineno > 2:
            yield node

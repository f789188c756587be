"""Rules of the design that no type checker and no import contract can see."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import ROOT, files_with, product_modules, shown, tracked_files, tree_of

NOT_AT_IMPORT = {
    *("Flask", "APIFlask", "SocketIO", "create_app", "create_engine", "sessionmaker", "scoped_session"),
    *(
        "Thread",
        "Timer",
        "ThreadPoolExecutor",
        "ProcessPoolExecutor",
        "Popen",
        "Store",
        "Container",
        "Client",
    ),
    *(
        "open",
        "connect",
        "getenv",
        "from_env",
        "mkdir",
        "read_text",
        "read_bytes",
        "write_text",
        "write_bytes",
    ),
}
# Written in pieces: this file must not find itself.
FORBIDDEN_TEXT = {
    "an absolute path of somebody's machine": r"(?<![\w.])/(wo"
    + r"rk|ro"
    + r"ot|Users|opt/wh"
    + r"eels|opt/py"
    + r"pi)/[\w.-]+",
    "a package mirror or its host": r"\b(pypi|npm)-?(mirror|proxy)\b|registry\.npmjs|files\.python"
    + r"hosted",
    "a word about who typed it": r"\b(cla"
    + r"ude|anth"
    + r"ropic|co"
    + r"pilot|chat"
    + r"gpt|LL"
    + r"M-generated)\b",
    "work left open": r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b",
}
TEXT_SUFFIXES = {".py", ".js", ".css", ".html", ".md", ".toml", ".txt", ".sh", ".ini", ".json", ".mako", ""}


def import_time_calls(tree: ast.Module) -> Iterator[ast.Call | ast.Attribute]:
    """Calls, and looks at ``os.environ``, that happen while the module is imported."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            pending += [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.If) and "__main__" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Call) or (isinstance(node, ast.Attribute) and node.attr == "environ"):
            yield node
        pending += ast.iter_child_nodes(node)


def called_name(call: ast.Call) -> str:
    """``f`` of ``f()`` and of ``x.f()``."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def test_nothing_is_built_and_no_setting_is_read_at_import() -> None:
    found = []
    for path in product_modules():
        for node in import_time_calls(tree_of(path)):
            if isinstance(node, ast.Attribute):
                found.append(f"{shown(path, node.lineno)} reads os.environ at import")
            elif called_name(node) in NOT_AT_IMPORT:
                found.append(f"{shown(path, node.lineno)} calls {called_name(node)}() at import")
    assert "\n".join(found) == ""


def state_writes(tree: ast.Module) -> Iterator[int]:
    """Lines that set the column ``state`` otherwise than through ``store.runs``."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(re.search(r"(?<!self)\.state$", ast.unparse(target)) for target in targets):
                yield node.lineno
        elif isinstance(node, ast.Call) and called_name(node) in {"values", "touch"}:
            if any(keyword.arg == "state" for keyword in node.keywords):
                yield node.lineno
        elif isinstance(node, ast.Constant) and re.search(
            r"(?is)UPDATE\s+runs\s.*\bstate\b", str(node.value)
        ):
            yield node.lineno


def test_only_the_run_store_writes_the_state_of_a_run() -> None:
    found = [
        shown(path, line)
        for path in files_with(".py", under=("app", "wsgi.py"))
        if shown(path) != "app/store/runs.py"
        for line in state_writes(tree_of(path))
    ]
    assert "\n".join(found) == ""


def test_only_the_metric_store_writes_points() -> None:
    writers = {"app/store/metrics.py", "app/store/compaction.py"}
    found = [
        shown(path, node.lineno)
        for path in files_with(".py", under=("app", "wsgi.py"))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and called_name(node) == "MetricChunk" and shown(path) not in writers
    ]
    assert "\n".join(found) == ""


def test_no_code_is_switched_on_by_tests() -> None:
    asks = re.compile(r"PYTEST|sys\.modules\[.pytest|\bTESTING\b")
    found = [shown(path) for path in product_modules() if asks.search(path.read_text(encoding="utf-8"))]
    assert "\n".join(found) == ""


def texts() -> Iterator[tuple[Path, str]]:
    """Every text of the repository."""
    for path in tracked_files():
        if path.suffix in TEXT_SUFFIXES and path.stat().st_size < 1_000_000:
            yield path, path.read_text(encoding="utf-8", errors="replace")


def test_the_repository_names_no_machine_and_leaves_nothing_open() -> None:
    found = []
    for path, text in texts():
        for what, pattern in FORBIDDEN_TEXT.items():
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{shown(path, line)} holds {what}: {match.group()}")
    assert "\n".join(found) == ""


def test_pages_load_no_script_and_no_style_from_elsewhere() -> None:
    elsewhere = re.compile(r"""(src|href)=["'](https?:)?//(?!127\.0\.0\.1)""")
    pages = files_with(".html", under=("templates",))
    found = [shown(path) for path in pages if elsewhere.search(path.read_text(encoding="utf-8"))]
    assert "\n".join(found) == ""


def test_pages_hold_no_inline_script_style_or_event_attribute() -> None:
    inline = re.compile(
        r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>|\sstyle=|<style|\son[a-z]+=", re.I
    )
    found = [
        f"{shown(path)}: {match.group()}"
        for path in files_with(".html", under=("templates",))
        for match in inline.finditer(path.read_text(encoding="utf-8"))
        # the one page that leaves the server, and must need nothing beside itself
        if (shown(path), match.group()) != ("templates/export/_page.html", "<style")
    ]
    assert "\n".join(found) == ""


def test_no_javascript_turns_text_into_markup() -> None:
    markup = re.compile(r"\.(innerHTML|outerHTML|insertAdjacentHTML|write)\b\s*[(=]|\beval\(|new Function\(")
    found = []
    for path in files_with(".js", under=("static",)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if markup.search(line):
                found.append(f"{shown(path, number)} {line.strip()}")
    assert "\n".join(found) == ""


def test_the_readme_names_only_places_that_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(
        re.findall(
            r"`((?:app|trainer|tests|docs|benchmarks|migrations|static|templates|scripts)/[\w./-]*)`", readme
        )
    )
    named |= set(re.findall(r"\]\((?!https?:|#)([\w./-]+)\)", readme))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_readme_fits_one_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 80


def test_the_readme_and_the_gate_run_the_same_command() -> None:
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_decision_is_short_and_complete() -> None:
    records = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert records
    for number, path in enumerate(records, start=1):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert path.name.startswith(f"{number:04d}-"), f"{path.name}: numbers have no gaps"
        assert 6 <= len(lines) <= 30, f"{path.name}: {len(lines)} lines"

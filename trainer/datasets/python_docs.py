"""The demo corpus: the documentation of the Python packages that every installation of ours has.

The query is the first sentence of a docstring, the document is the qualified
name, the signature and the rest of the docstring, the group is the module.
Sources are parsed, never imported.  The corpus is deterministic for given
package versions, and kept under ``python_docs/<key>/`` where the key covers
the names and sizes of all files read.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, Final

import trainer
from trainer.datasets.docs_extraction import fold
from trainer.datasets.records import DatasetError, Tell, TextPairs
from trainer.protocol.files import write_atomic

NAME: Final = "python_docs"
FORMAT: Final = 2
PACKAGES: Final = (
    "alembic", "apiflask", "bidict", "blinker", "click", "engineio", "faiss", "filelock", "flask",
    "flask_socketio", "fsspec", "gunicorn", "itsdangerous", "jinja2", "mako", "markupsafe", "mpmath",
    "networkx", "numpy", "psutil", "pydantic", "requests", "socketio", "sqlalchemy", "sympy", "torch",
    "urllib3", "websocket", "werkzeug", "wsproto",
)  # fmt: skip
# Tests, generated code, private compilers and vendored copies: slow to parse, poor to search.
_SKIPPED_FOLDERS: Final = frozenset({
    "__pycache__", "test", "tests", "testing", "idle_test", "site-packages", "dist-packages", "idlelib",
    "lib2to3", "turtledemo", "ensurepip", "pydoc_data", "_pyrepl", "_inductor", "_dynamo", "_vendor",
    "_functorch", "_export", "_higher_order_ops", "include", "bin", "distutils",
})  # fmt: skip
PAIRS_PER_BYTE: Final = 33_700 / 76_400_000  # of sources, as measured with the pinned packages
_NUM_WORKERS: Final = 2
_DOCSTRING_MARK: Final = b'"""'


def load(datasets_dir: Path, tell: Tell) -> TextPairs:
    """The corpus of this installation; builds it the first time (about 10 s on two cores).

    Raises:
        DatasetError: the cache cannot be written, or nothing was found to read.
    """
    sources = list(_sources())
    folder = datasets_dir / NAME / _key(sources)
    pairs = _read(folder)
    if pairs is None:
        tell("reading the documentation of the installed packages", 0.0)
        try:
            _build(folder, sources, tell)
        except OSError as exc:
            raise DatasetError(f"{folder}: cannot write the documentation corpus ({exc.strerror})") from exc
        pairs = _read(folder)
    if pairs is None:
        raise DatasetError(f"{folder}: the documentation corpus cannot be read back; is the disk full?")
    return pairs


def kept(datasets_dir: Path) -> TextPairs | None:
    """The corpus of this installation where it has been built, else None; builds nothing."""
    return _read(datasets_dir / NAME / _key(list(_sources())))


def expected_pairs() -> int:
    """About how many pairs building the corpus would give."""
    return round(sum(size for _, _, size in _sources()) * PAIRS_PER_BYTE)


def _sources() -> Iterator[tuple[str, Path, int]]:
    """Module name, path and size of every source file of the corpus, in a fixed order."""
    yield from _modules_below(Path(sysconfig.get_path("stdlib")), "")
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)  # of a top-level package: imports nothing
        for location in (spec.submodule_search_locations or []) if spec is not None else []:
            yield from _modules_below(Path(location), package)


def _modules_below(root: Path, package: str) -> Iterator[tuple[str, Path, int]]:
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(set(subfolders) - _SKIPPED_FOLDERS)
        parts = (
            [package, *Path(folder).relative_to(root).parts]
            if package
            else [*Path(folder).relative_to(root).parts]
        )
        for file in sorted(files):
            path = Path(folder, file)
            if file.endswith(".py") and path.stem.isidentifier():
                names = parts if path.stem == "__init__" else [*parts, path.stem]
                yield ".".join(names), path, path.stat().st_size


def _key(sources: Sequence[tuple[str, Path, int]]) -> str:
    listing = json.dumps([FORMAT, [(module, size) for module, _, size in sources]])
    return hashlib.sha256(listing.encode()).hexdigest()[:16]


def _build(folder: Path, sources: Sequence[tuple[str, Path, int]], tell: Tell) -> None:
    started = time.monotonic()
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    unfinished.mkdir(parents=True, exist_ok=True)  # first of all: better refused now than after all the work
    try:
        rows = _distinct(_extract(sources, tell))
        if not rows:
            raise DatasetError("no documentation found in the installed packages; is this a stripped Python?")
        names = ("ids", "queries", "documents", "groups")
        columns = {name: [row[index] for row in rows] for index, name in enumerate(names)}
        content = json.dumps(columns, ensure_ascii=False).encode()
        manifest = {
            "format": FORMAT,
            "content_hash": hashlib.sha256(content).hexdigest(),
            "num_pairs": len(rows),
            "num_files": len(sources),
            "build_s": round(time.monotonic() - started, 2),
        }
        write_atomic(unfinished / "pairs.json", content)
        write_atomic(unfinished / "manifest.json", json.dumps(manifest, indent=2).encode())
        if folder.exists():  # unreadable, or we would not be here
            shutil.rmtree(folder)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    tell(f"{len(rows):,} pairs", 1.0)


def _extract(sources: Sequence[tuple[str, Path, int]], tell: Tell) -> list[tuple[str, list[list[str]]]]:
    """The entries of every module, in the order of ``sources``; two processes share the work."""
    with_docs = [source for source in sources if _DOCSTRING_MARK in source[1].read_bytes()]
    by_size = sorted(range(len(with_docs)), key=lambda index: -with_docs[index][2])
    answers: list[list[list[str]]] = [[] for _ in with_docs]
    total_bytes = sum(size for _, _, size in with_docs) or 1
    done_bytes, lock = 0, Lock()

    def work(indices: list[int]) -> None:
        nonlocal done_bytes
        for index, entries in zip(indices, _ask_worker([with_docs[i] for i in indices]), strict=True):
            answers[index] = entries
            with lock:
                done_bytes += with_docs[index][2]
                tell(f"reading {with_docs[index][0]}", done_bytes / total_bytes)

    with ThreadPoolExecutor(_NUM_WORKERS) as pool:
        for finished in [pool.submit(work, by_size[start::_NUM_WORKERS]) for start in range(_NUM_WORKERS)]:
            finished.result()
    return [(module, entries) for (module, _, _), entries in zip(with_docs, answers, strict=True)]


def _ask_worker(sources: Sequence[tuple[str, Path, int]]) -> Iterator[list[list[str]]]:
    command = [sys.executable, "-P", "-m", "trainer.datasets.docs_extraction"]
    environment = {**os.environ, "PYTHONPATH": str(Path(trainer.__path__[0]).parent), "PYTHONUTF8": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
    ) as worker:
        if worker.stdin is None or worker.stdout is None:  # both are pipes; this satisfies the type checker
            raise DatasetError("the process that reads documentation has no pipes")
        try:
            for module, path, _ in sources:
                worker.stdin.write(json.dumps([module, str(path)]) + "\n")
                worker.stdin.flush()
                line = worker.stdout.readline()
                if not line:
                    raise DatasetError(f"the process that reads documentation died at {path}")
                yield json.loads(line)
        finally:
            worker.stdin.close()
            if worker.poll() is None:
                worker.terminate()


def _distinct(modules: list[tuple[str, list[list[str]]]]) -> list[tuple[str, str, str, str]]:
    """Rows (id, query, document, group); of entries with the same query or name the first is kept."""
    seen_queries: set[str] = set()
    seen_names: set[str] = set()
    rows: list[tuple[str, str, str, str]] = []
    for module, entries in modules:
        for name, query, document in entries:
            folded = fold(query)
            if folded in seen_queries or name in seen_names:
                continue
            seen_queries.add(folded)
            seen_names.add(name)
            rows.append((name, query, document, module))
    return rows


def _read(folder: Path) -> TextPairs | None:
    """The corpus kept in ``folder``, or None when there is none or it is damaged."""
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
        content = (folder / "pairs.json").read_bytes()
        if hashlib.sha256(content).hexdigest() != manifest["content_hash"]:
            return None
        columns: dict[str, list[str]] = json.loads(content)
        return TextPairs(name=NAME, titles=columns["ids"], content_hash=manifest["content_hash"], **columns)
    except (OSError, ValueError, KeyError, TypeError):
        return None

"""Reads a ``script.toml``: every key known, of the right type and allowed, or a message that names it."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from trainer.scripts.declaration import FILE_NAME, Resuming, Script, ScriptError
from trainer.scripts.parameter_reading import read_parameters
from trainer.scripts.safety import check_file, check_folder
from trainer.scripts.template import read_arguments

MAX_BYTES: Final = 256 * 1024
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_WORDS: Final = {
    "working_directory": ("script", "run"),
    "profile": ("auto", "safe", "classic"),
    "dataset": ("none", "optional", "required"),
}
_TEXTS: Final = ("entry", "title", "summary", "interpreter", "dataset_flag", *_WORDS)
_KEYS: Final = (*_TEXTS, "arguments", "resume", "parameters", "output")
_MAX_TEXT: Final = 2000


def load_script(folder: Path) -> Script:
    """The script registered in ``folder``, with everything about it checked that can be without running it.

    Raises:
        ScriptError: names file, key and remedy.
    """
    if not NAME.fullmatch(folder.name):
        raise ScriptError(
            str(folder),
            "is no name of a script",
            "rename the folder: letters, digits, _ . and -, 64 at most, a letter or digit first",
        )
    check_folder(folder)
    file = folder / FILE_NAME
    check_file(folder, file)
    script = parse_script(folder, read_text(file))
    check_file(folder, script.program)
    return script


def read_text(file: Path) -> str:
    """The text of a declaration, which is never large.

    Raises:
        ScriptError: it cannot be read, is too large, or is no UTF-8.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except OSError as exc:
        raise ScriptError(str(file), str(exc.strerror), "check its permissions") from exc
    if len(content) > MAX_BYTES:
        raise ScriptError(str(file), f"is larger than {MAX_BYTES:,} bytes", "keep only the declaration in it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ScriptError(str(file), f"is not UTF-8 at byte {exc.start}", "save it as UTF-8") from exc


def parse_script(folder: Path, text: str) -> Script:
    """The script that ``text``, the declaration in ``folder``, describes; no file is looked at.

    Raises:
        ScriptError: names the key.
    """
    file = str(folder / FILE_NAME)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ScriptError(file, f"is no TOML: {exc}", "correct the line it names") from exc
    check_keys(table, _KEYS, place=file)
    texts = {key: _text(table[key], place=f"{file}: {key}") for key in _TEXTS if key in table}
    for key, words in _WORDS.items():
        if key in texts and texts[key] not in words:
            raise ScriptError(
                f"{file}: {key}", f"cannot be {texts[key]!r}", f"write one of {', '.join(words)}"
            )
    if not texts.get("entry"):
        raise ScriptError(f"{file}: entry", "is missing", 'name the file to start: entry = "train.py"')
    _check_entry(texts["entry"], place=f"{file}: entry")
    if not texts.get("interpreter", "python"):
        raise ScriptError(f"{file}: interpreter", "is empty", 'write "python", or leave the key out')
    parameters = read_parameters(table.get("parameters", {}), file=file)
    wish: Any = texts
    return Script(
        name=folder.name,
        folder=folder,
        parameters=parameters,
        arguments=_arguments(table, parameters, dataset=texts.get("dataset", "none"), file=file),
        resuming=_resuming(table, parameters, file=file),
        output=_table(table.get("output", {}), place=f"{file}: output"),
        **{"title": folder.name, **wish},
    )


def check_keys(table: Mapping[str, Any], known: Iterable[str], *, place: str) -> None:
    """Refuse a key that nobody knows: a misspelt one would have no effect, silently.

    Raises:
        ScriptError: names the key and the most similar one.
    """
    words = list(known)
    for key in table:
        if key not in words:
            close = difflib.get_close_matches(key, words, n=1)
            remedy = f"did you mean {close[0]}?" if close else f"there are {', '.join(words)}"
            raise ScriptError(f"{place}: {key}", "there is no such key", remedy)


def _arguments(
    table: Mapping[str, Any], parameters: Mapping[str, Any], *, dataset: str, file: str
) -> tuple[Any, ...] | None:
    if "arguments" not in table:
        return None
    places = {"checkpoint"} if dataset != "none" else {"checkpoint", "dataset"}
    return read_arguments(
        table["arguments"], parameters, place=f"{file}: arguments", without=places, may_group=True
    )


def _resuming(table: Mapping[str, Any], parameters: Mapping[str, Any], *, file: str) -> Resuming | None:
    if "resume" not in table:
        return None
    place = f"{file}: resume"
    asked = _table(table["resume"], place=place)
    check_keys(asked, ("checkpoint", "arguments"), place=place)
    pattern = _text(asked.get("checkpoint", ""), place=f"{place}.checkpoint")
    if not pattern or Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise ScriptError(
            f"{place}.checkpoint",
            "must be a pattern of file names inside the working directory or the run's folder",
            'write for example "checkpoints/*.pt" or "{run_dir}/checkpoint-*"',
        )
    words = read_arguments(asked.get("arguments"), parameters, place=f"{place}.arguments", without=set())
    return Resuming(pattern, tuple(str(word) for word in words))


def _check_entry(entry: str, *, place: str) -> None:
    path = Path(entry)
    if path.is_absolute() or ".." in path.parts:
        raise ScriptError(place, f"{entry!r} leads out of the folder", "write a path inside the folder")


def _text(value: object, *, place: str) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ScriptError(place, "must be text", 'write it in quotes: "…"')
    if len(value) > _MAX_TEXT:
        raise ScriptError(place, f"is longer than {_MAX_TEXT} characters", "shorten it")
    return value.strip()


def _table(value: object, *, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ScriptError(place, "must be a table", f"write [{place.rpartition(': ')[2]}] above its keys")
    return value

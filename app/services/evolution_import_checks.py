"""One snapshot file of the original system, checked field by field.

Every refusal names the field and what to do; the caller puts the file's name in
front. Numbers may be NaN or infinite (Python writes them into JSON) or null;
texts may be anything that UTF-8 can carry.
"""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NoReturn

import orjson

from app.domain.snapshots import IMPORTED, SnapshotRecord
from app.services.evolution_original import ANSWERED, EXAMPLE, HEADER, SUMMARY, printable
from app.services.ingest_checks import MAX_STEP, MAX_TIME
from app.services.ingest_snapshots import MAX_PROBES
from trainer.protocol.events import decode_number, encode_number

MAX_TEXT: Final = 10**7  # characters of one text
_BOM: Final = b"\xef\xbb\xbf"
_REMEDY: Final = "Put it right in the file, or leave the file out."


class BadSnapshotFile(ValueError):
    """A file cannot be taken; the message names the field and what to do."""


@dataclass(frozen=True)
class ImportedSnapshot:
    """A checked file.

    ``header`` is what the database's columns do not keep as it was written: ``snapshot_id``,
    ``timestamp`` and ``summary``, numbers that JSON lacks as words. ``unknown`` names the fields that
    are left out.
    """

    record: SnapshotRecord
    header: dict[str, Any]
    sha256: str
    unknown: tuple[str, ...]


def digest(content: bytes) -> str:
    """By which a file is known again."""
    return hashlib.sha256(content).hexdigest()


def parse_original(content: bytes, *, step: int, dataset: str) -> ImportedSnapshot:
    """Check the content of the file of ``step``.

    Args:
        content: the whole file.
        step: as the file's name says.
        dataset: under which name it is taken.
    Raises:
        BadSnapshotFile: something is wrong with it.
    """
    raw = _object_in(content)
    fields = _Fields(raw, HEADER)
    if fields.whole("training_step", high=MAX_STEP) != step:
        fields.refuse("training_step", f"is {raw['training_step']}, but the file's name says {step}")
    examples = [_example(one, index, step=step) for index, one in enumerate(_examples(fields))]
    _check_ids(examples)
    timestamp = fields.text("timestamp", limit=100)
    summary = _summary(fields.value("summary"), examples)
    record = SnapshotRecord(
        dataset=dataset,
        task=IMPORTED,
        attempt=None,
        step=step,
        epoch=None,
        t=_unix_seconds(timestamp, fields),
        model_version=fields.text("model_version", limit=200),
        cost_s=None,
        **_asked(examples),
        columns=_columns(examples),
        outputs=[_output(one) for one in examples],
        documents={},
        summary=summary,
    )
    header = {"snapshot_id": fields.text("snapshot_id", limit=1_000), "timestamp": timestamp}
    unknown = {*fields.unknown, *(f"examples[].{name}" for one in examples for name in one.keys() - EXAMPLE)}
    return ImportedSnapshot(record, header, digest(content), tuple(sorted(unknown)))


class _Fields:
    """The fields of one object, each fetched with its type; every refusal names it."""

    def __init__(self, raw: Mapping[str, Any], known: tuple[str, ...], *, place: str = "") -> None:
        self._raw = raw
        self._place = place
        self.unknown = tuple(raw.keys() - set(known))

    def value(self, name: str) -> Any:
        if name not in self._raw:
            self.refuse(name, "is missing")
        return self._raw[name]

    def text(self, name: str, *, limit: int) -> str:
        value = self.value(name)
        if not isinstance(value, str):
            self.refuse(name, f"must be text, got {_shown(value)}")
        if len(value) > limit:
            self.refuse(name, f"has {len(value):,} characters, the limit is {limit:,}")
        try:
            value.encode()
        except UnicodeEncodeError:
            self.refuse(name, "holds half of a surrogate pair, which is no text")
        return value

    def whole(self, name: str, *, high: int) -> int:
        value = self.value(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= high:
            self.refuse(name, f"must be a whole number from 0 to {high}, got {_shown(value)}")
        return value

    def truth(self, name: str) -> bool:
        value = self.value(name)
        if not isinstance(value, bool):
            self.refuse(name, f"must be true or false, got {_shown(value)}")
        return value

    def number(self, name: str, *, high: float = math.inf) -> float:
        """A number from 0 to ``high`` (any number where it is infinite); NaN where it says null."""
        value = self.value(name)
        if value is None:
            return math.nan
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            self.refuse(name, f"must be a number, got {_shown(value)}")
        if isinstance(value, int) and abs(value) > MAX_STEP:
            self.refuse(name, f"must be a number of at most {MAX_STEP}, got {_shown(value)}")
        if high < math.inf and not (math.isnan(value) or 0 <= value <= high):
            self.refuse(name, f"must lie within 0 and {high:g}, got {_shown(value)}")
        return float(value)

    def refuse(self, name: str, why: str) -> NoReturn:
        raise BadSnapshotFile(f"{self._place}{name} {why}. {_REMEDY}")


def _object_in(content: bytes) -> dict[str, Any]:
    if not content.strip():
        raise BadSnapshotFile("the file is empty: its writing was interrupted. Leave it out.")
    try:
        text = content.removeprefix(_BOM).decode()
    except UnicodeDecodeError as exc:
        raise BadSnapshotFile(f"it is not UTF-8 (byte {exc.start}). Save it as UTF-8.") from exc
    try:
        raw = json.loads(text)
    except RecursionError as exc:
        raise BadSnapshotFile(f"it is nested too deeply. {_REMEDY}") from exc
    except ValueError as exc:
        what = "it ends in the middle of the JSON, half-written" if _is_cut(exc, text) else "it is not JSON"
        raise BadSnapshotFile(f"{what} ({printable(str(exc), limit=120)}). {_REMEDY}") from exc
    if not isinstance(raw, dict):
        raise BadSnapshotFile(f"it must hold a JSON object, got {_shown(raw)}. {_REMEDY}")
    return raw


def _is_cut(error: ValueError, text: str) -> bool:
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")


def _examples(fields: _Fields) -> list[Any]:
    listed = fields.value("examples")
    if not isinstance(listed, list):
        fields.refuse("examples", f"must be a list, got {_shown(listed)}")
    if not 1 <= len(listed) <= MAX_PROBES:
        fields.refuse("examples", f"must have 1 to {MAX_PROBES:,} entries, got {len(listed):,}")
    return listed


def _example(raw: Any, index: int, *, step: int) -> dict[str, Any]:
    """``raw`` when every field of it is right."""
    place = f"examples[{index}]"
    if not isinstance(raw, dict):
        raise BadSnapshotFile(f"{place} must be an object, got {_shown(raw)}. {_REMEDY}")
    fields = _Fields(raw, EXAMPLE, place=f"{place}.")
    if not fields.text("example_id", limit=200):
        fields.refuse("example_id", "is empty")
    for name in ("input", "expected_output", "model_output"):
        fields.text(name, limit=MAX_TEXT)
    if fields.whole("step", high=MAX_STEP) != step:
        fields.refuse("step", f"is {raw['step']}, but the snapshot is of step {step}")
    fields.number("loss")
    fields.truth("exact_match")
    fields.whole("output_length", high=MAX_STEP)
    fields.number("similarity", high=1)
    return raw


def _check_ids(examples: list[dict[str, Any]]) -> None:
    first: dict[str, int] = {}
    for index, one in enumerate(examples):
        earlier = first.setdefault(one["example_id"], index)
        if earlier != index:
            raise BadSnapshotFile(
                f"examples[{index}].example_id {printable(one['example_id'], limit=60)!r} is that of "
                f"examples[{earlier}], too. Give each example an id of its own."
            )


def _summary(raw: Any, examples: list[dict[str, Any]]) -> dict[str, Any]:
    """The summary, numbers that JSON lacks as words; its counts must be those of the examples."""
    if not isinstance(raw, dict):
        raise BadSnapshotFile(f"summary must be an object, got {_shown(raw)}. {_REMEDY}")
    fields = _Fields(raw, SUMMARY, place="summary.")
    fields.number("avg_loss")
    fields.number("accuracy", high=1)
    num_right = sum(1 for one in examples if one["exact_match"])
    counted = {
        "total_examples": len(examples),
        "correct": num_right,
        "incorrect": len(examples) - num_right,
    }
    for name, number in counted.items():
        if fields.whole(name, high=MAX_STEP) != number:
            fields.refuse(name, f"is {raw[name]}, but the examples make it {number}")
    return {name: _worded(raw[name]) for name in SUMMARY}


def _asked(examples: list[dict[str, Any]]) -> dict[str, Any]:
    """``probe_set`` and ``examples`` of the record: what was asked, known by its content."""
    asked = [{name: one[name] for name in ("example_id", "input", "expected_output")} for one in examples]
    content = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    return {"probe_set": hashlib.sha256(content).hexdigest(), "examples": asked}


def _columns(examples: list[dict[str, Any]]) -> dict[str, array[float]]:
    return {
        "loss": array("d", [_float(one["loss"]) for one in examples]),
        "correct": array("d", [float(one["exact_match"]) for one in examples]),
        "similarity": array("d", [_float(one["similarity"]) for one in examples]),
    }


def _output(example: dict[str, Any]) -> dict[str, Any]:
    """What was answered; its numbers as they were written, so that 5 does not come back as 5.0."""
    return {"output": example["model_output"], **{name: _worded(example[name]) for name in ANSWERED}}


def _unix_seconds(timestamp: str, fields: _Fields) -> float:
    """A time without a zone is this machine's, as the original wrote it."""
    try:
        t = datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError, OSError):
        t = -1.0
    if not 0 <= t <= MAX_TIME:
        fields.refuse("timestamp", f"must be a time such as 2025-11-22T10:30:00, got {_shown(timestamp)}")
    return t


def _worded(value: Any) -> Any:
    return encode_number(value) if isinstance(value, float) else value


def unworded(value: Any) -> Any:
    """Inverse of what is done to numbers that JSON lacks; texts of examples never come here."""
    return decode_number(value) if isinstance(value, str) else value


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**18:
        return "a number with over 18 digits"
    return printable(json.dumps(value, ensure_ascii=False), limit=60)

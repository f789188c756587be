"""Snapshot files from supervisors, unpacked within a limit and checked field by field."""

from __future__ import annotations

import zlib
from array import array
from typing import Any, Final

import numpy as np
import orjson

from app.domain.snapshots import IMPORTED, PackedVectors, SnapshotRecord, name_trouble, plain_name
from app.errors import InvalidRequest, TooLarge
from app.services.ingest_answers import MAX_TEXT, check_depth, check_outputs, wrong
from app.services.ingest_checks import MAX_STEP, MAX_TIME
from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import SNAPSHOT_FORMAT, decode_number
from trainer.protocol.snapshot_vectors import read_vectors

MAX_UNPACKED_BYTES: Final = 256 * 1024 * 1024
MAX_PROBES: Final = 100_000
_GZIP: Final = 31


def parse(payload: bytes) -> SnapshotRecord:
    """Unpack and check a snapshot file.

    Raises:
        InvalidRequest: not gzip, not JSON, or a field is wrong; ``field`` and message name it.
        TooLarge: it unpacks to more than 256 MiB.
    """
    raw = _unpack(payload)
    if raw.get("format") != SNAPSHOT_FORMAT:
        raise wrong("format", f"must be {SNAPSHOT_FORMAT}, got {raw.get('format')!r:.80}")
    outputs = _listing(raw, "outputs")
    if not 1 <= len(outputs) <= MAX_PROBES:
        raise wrong("outputs", f"must have 1 to {MAX_PROBES} entries, got {len(outputs)}")
    check_outputs(outputs)
    for name in ("outputs", "probes", "summary"):
        check_depth(raw.get(name), name)
    probe_set, examples = _probes(raw, len(outputs))
    dataset = plain_name(_text(raw, "dataset", limit=1_000))
    trouble = name_trouble(dataset)
    if trouble is not None:
        raise wrong("dataset", trouble)
    return SnapshotRecord(
        dataset=dataset,
        task=_task(raw),
        attempt=None if raw.get("attempt") is None else _integer(raw, "attempt", low=1, high=2**31 - 1),
        step=_integer(raw, "step", low=0, high=MAX_STEP),
        epoch=_number(raw, "epoch"),
        t=_time(raw),
        model_version=_text(raw, "model_version", limit=200),
        cost_s=_number(raw, "cost_s"),
        probe_set=probe_set,
        examples=examples,
        columns=_columns(raw, len(outputs)),
        outputs=outputs,
        documents=_documents(raw),
        summary=_object(raw, "summary"),
        vectors=_vectors(raw, len(outputs)),
    )


def _unpack(payload: bytes) -> dict[str, Any]:
    unpacker = zlib.decompressobj(_GZIP)
    try:
        text = unpacker.decompress(payload, MAX_UNPACKED_BYTES)
    except zlib.error as exc:
        raise InvalidRequest(f"snapshot: not a gzip file ({exc})", field="body") from exc
    if unpacker.unconsumed_tail:
        raise TooLarge(f"snapshot: it unpacks to more than {MAX_UNPACKED_BYTES // 2**20} MiB")
    if not unpacker.eof or unpacker.unused_data:
        raise InvalidRequest("snapshot: the gzip file is cut short or something follows it", field="body")
    try:
        raw = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise InvalidRequest(f"snapshot: not JSON ({exc})", field="body") from exc
    if not isinstance(raw, dict):
        raise InvalidRequest("snapshot: must be a JSON object", field="body")
    return raw


def _task(raw: dict[str, Any]) -> str:
    task = _text(raw, "task", limit=32)
    if task == IMPORTED:
        raise wrong("task", f"must not be {IMPORTED}, which are snapshots of the original system's files")
    return task


def _probes(raw: dict[str, Any], count: int) -> tuple[str, list[dict[str, Any]] | None]:
    probe_set = _text(raw, "probe_set", limit=64)
    if raw.get("probes") is None:
        return probe_set, None
    probes = _object(raw, "probes")
    if probes.get("hash", probe_set) != probe_set:
        raise wrong("probes.hash", f"is {probes['hash']!r:.80}, but probe_set is {probe_set!r}")
    examples = _listing(probes, "examples", prefix="probes.")
    if len(examples) != count:
        raise wrong("probes.examples", f"has {len(examples)} entries, but outputs has {count}")
    seen: set[str] = set()
    for index, example in enumerate(examples):
        _check_example(example, f"probes.examples[{index}]")
        if example["example_id"] in seen:
            raise wrong(f"probes.examples[{index}].example_id", f"{example['example_id']!r} comes twice")
        seen.add(example["example_id"])
    return probe_set, examples


def _check_example(example: Any, place: str) -> None:
    if not isinstance(example, dict):
        raise wrong(place, "must be an object")
    for name, limit in (("example_id", 200), ("input", MAX_TEXT), ("expected_output", MAX_TEXT)):
        _text(example, name, limit=limit, prefix=f"{place}.")
    if not example["example_id"]:
        raise wrong(f"{place}.example_id", "must not be empty")


def _columns(raw: dict[str, Any], count: int) -> dict[str, array[float]]:
    columns = {}
    for name, entries in _object(raw, "columns").items():
        if not 1 <= len(name) <= 32:
            raise wrong(f"columns.{name[:40]}", "the name must have 1 to 32 characters")
        if not isinstance(entries, list) or len(entries) != count:
            have = len(entries) if isinstance(entries, list) else "no list"
            raise wrong(f"columns.{name}", f"must have one entry per probe ({count}), got {have}")
        columns[name] = array("d", [_cell(f"columns.{name}", row, cell) for row, cell in enumerate(entries)])
    return columns


def _cell(place: str, row: int, cell: object) -> float:
    if cell is None:
        return float("nan")
    try:
        return decode_number(cell)
    except (ProtocolError, OverflowError) as exc:
        raise wrong(f"{place}[{row}]", f"must be a number, got {cell!r:.80}") from exc


def _vectors(raw: dict[str, Any], count: int) -> PackedVectors | None:
    if raw.get("vectors") is None:
        return None
    try:
        dim, packed = read_vectors(raw["vectors"], num_probes=count)
    except ProtocolError as exc:
        place, _, why = str(exc).partition(" ")
        raise wrong(place, why) from exc
    finite = np.isfinite(np.frombuffer(packed, "<f2"))
    if not finite.all():
        row = int(np.argmin(finite)) // dim
        raise wrong("vectors.base64", f"holds a number that is not finite, for probe {row}")
    return PackedVectors(dim, packed)


def _documents(raw: dict[str, Any]) -> dict[str, tuple[str, str]]:
    documents = {}
    for document_id, document in _object(raw, "documents").items():
        place = f"documents.{document_id[:60]}"
        if not 1 <= len(document_id) <= 200:
            raise wrong(place, "the id must have 1 to 200 characters")
        if not isinstance(document, dict):
            raise wrong(place, "must be an object")
        documents[document_id] = (
            _text(document, "title", limit=10_000, prefix=f"{place}."),
            _text(document, "text", limit=MAX_TEXT, prefix=f"{place}."),
        )
    return documents


def _text(raw: dict[str, Any], name: str, *, limit: int, prefix: str = "") -> str:
    value = raw.get(name)
    if not isinstance(value, str):
        raise wrong(prefix + name, f"must be text, got {value!r:.80}")
    if len(value) > limit:
        raise wrong(prefix + name, f"has {len(value)} characters, the limit is {limit}")
    return value


def _integer(raw: dict[str, Any], name: str, *, low: int, high: int) -> int:
    value = raw.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise wrong(name, f"must be a whole number from {low} to {high}, got {value!r:.80}")
    return value


def _number(raw: dict[str, Any], name: str) -> float | None:
    value = raw.get(name)
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise wrong(name, f"must be a number, got {value!r:.80}")
    return float(value)


def _time(raw: dict[str, Any]) -> float:
    t = _number(raw, "t")
    if t is None or not 0 <= t <= MAX_TIME:
        raise wrong("t", f"must be Unix seconds, got {t!r}")
    return t


def _object(raw: dict[str, Any], name: str) -> dict[str, Any]:
    value = raw.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wrong(name, f"must be an object, got {value!r:.80}")
    return value


def _listing(raw: dict[str, Any], name: str, *, prefix: str = "") -> list[Any]:
    value = raw.get(name)
    if not isinstance(value, list):
        raise wrong(prefix + name, f"must be a list, got {value!r:.80}")
    return value

"""What was answered to each probe of a snapshot, as lines of ``app.domain.answer_lines``.

``snapshot_blocks`` says how they are packed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import orjson
from sqlalchemy import and_, insert, select
from sqlalchemy.orm import Session

from app.store.models import SnapshotBlock, SnapshotDictionary
from app.store.snapshot_blocks import blocks_of, dictionary_from, pack_block, unpack_block

_IN_LIST: Final = 500


class Stored(Protocol):
    """A snapshot that is stored, with or without its summary."""

    @property
    def id(self) -> int: ...
    @property
    def probe_set(self) -> str: ...
    @property
    def block_rows(self) -> int: ...


def save(session: Session, snapshot: Stored, lines: Sequence[bytes], *, expected: Sequence[str]) -> None:
    """Store the answers; the first ones of a probe set become the dictionaries of those to come.

    Args:
        session: a writing session.
        snapshot: whose they are.
        lines: one per probe.
        expected: what each probe expects.
    """
    blocks = blocks_of(lines, block_rows=snapshot.block_rows)
    dictionaries = _dictionaries(session, snapshot)
    if not dictionaries:
        hoped = blocks_of([orjson.dumps(one) for one in expected], block_rows=snapshot.block_rows)
        pairs = enumerate(zip(blocks, hoped, strict=True))
        dictionaries = {number: dictionary_from(block, expected=some) for number, (block, some) in pairs}
        key = {"probe_set": snapshot.probe_set, "block_rows": snapshot.block_rows}
        session.execute(
            insert(SnapshotDictionary),
            [{**key, "block": number, "dictionary": one} for number, one in dictionaries.items()],
        )
    session.execute(
        insert(SnapshotBlock),
        [
            {"snapshot_id": snapshot.id, "block": number, "packed": pack_block(block, dictionaries[number])}
            for number, block in enumerate(blocks)
        ],
    )


def read(session: Session, snapshot: Stored, rows: Sequence[int] | None = None) -> dict[int, bytes]:
    """What a snapshot answered, by position of the probe; of all probes, or of these."""
    size = snapshot.block_rows
    found: dict[int, bytes] = {}
    for block, packed, dictionary in _packed(session, snapshot, rows):
        found.update(enumerate(unpack_block(packed, dictionary), start=block * size))
    return found if rows is None else {row: found[row] for row in rows}


class RowReader:
    """Reads what many snapshots of one probe set answered to one probe."""

    def __init__(self, session: Session, *, probe_set: str, row: int) -> None:
        found = session.execute(
            select(SnapshotDictionary.block_rows, SnapshotDictionary.dictionary).where(
                SnapshotDictionary.probe_set == probe_set,
                SnapshotDictionary.block == row // SnapshotDictionary.block_rows,
            )
        )
        self._dictionaries = {one.block_rows: one.dictionary for one in found}
        self._row = row

    def line(self, packed: bytes, *, block_rows: int) -> bytes:
        """The answer in the block that holds the row."""
        return unpack_block(packed, self._dictionaries[block_rows])[self._row % block_rows]


def _packed(
    session: Session, snapshot: Stored, rows: Sequence[int] | None
) -> Iterable[tuple[int, bytes, bytes]]:
    """Blocks with their dictionaries, all or those that hold some rows."""
    statement = (
        select(SnapshotBlock.block, SnapshotBlock.packed, SnapshotDictionary.dictionary)
        .join(
            SnapshotDictionary,
            and_(
                SnapshotDictionary.probe_set == snapshot.probe_set,
                SnapshotDictionary.block_rows == snapshot.block_rows,
                SnapshotDictionary.block == SnapshotBlock.block,
            ),
        )
        .where(SnapshotBlock.snapshot_id == snapshot.id)
    )
    if rows is None:
        yield from session.execute(statement)
        return
    wanted = sorted({row // snapshot.block_rows for row in rows})
    for index in range(0, len(wanted), _IN_LIST):
        some = SnapshotBlock.block.in_(wanted[index : index + _IN_LIST])
        yield from session.execute(statement.where(some))


def _dictionaries(session: Session, snapshot: Stored) -> dict[int, bytes]:
    found = session.execute(
        select(SnapshotDictionary.block, SnapshotDictionary.dictionary).where(
            SnapshotDictionary.probe_set == snapshot.probe_set,
            SnapshotDictionary.block_rows == snapshot.block_rows,
        )
    )
    return {one.block: one.dictionary for one in found}

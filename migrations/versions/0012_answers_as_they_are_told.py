"""Answers lie as finished JSON, as they are told, and no longer as numbers and outputs to be put into words.

Every snapshot is packed anew, with the new form of the first one of its probe
set as the dictionary.  The way back takes the outputs out of what was told.

Revision 0012_answers_as_they_are_told, follows 0011_dictionaries_of_answers.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator
from typing import Any, Final

import orjson
import sqlalchemy as sa
from alembic import op

from app.domain.answer_lines import answer_in, lines_of, written_in
from app.domain.snapshots import IMPORTED

revision = "0012_answers_as_they_are_told"
down_revision = "0011_dictionaries_of_answers"
branch_labels = None
depends_on = None

_BLOCK_BYTES: Final = 1_024
_MOST_ROWS: Final = 64
_DICTIONARY_BYTES: Final = 2**15
_TOLD_OF_EVERY: Final = frozenset({"exact_match", "loss", "similarity", "model_output", "output_length"})
_TOLD_OF_SOME: Final = frozenset(
    {"rank", "margin", "score", "confidence", "predicted", "top", "probabilities"}
)


def upgrade() -> None:
    connection = op.get_bind()
    for probe_set in _probe_sets(connection):
        dictionaries = _dictionaries(connection, probe_set)
        _forget_dictionaries(connection, probe_set)
        examples = _examples(connection, probe_set)
        documents = _documents(connection, probe_set)
        made: dict[int, list[bytes]] = {}
        for snapshot_id, task, block_rows in _snapshots(connection, probe_set):
            columns, outputs = _as_sent(connection, snapshot_id, block_rows, dictionaries)
            lines = lines_of(task, examples, columns, outputs, documents)
            size = _rows_per_block(lines)
            blocks = [b"\n".join(lines[start : start + size]) for start in range(0, len(lines), size)]
            if size not in made:
                made[size] = _new_dictionaries(blocks, examples, size)
            packed = [_packed(block, one) for block, one in zip(blocks, made[size], strict=True)]
            _replace(connection, snapshot_id, packed, block_rows=size)
        for size, some in made.items():
            _remember_dictionaries(connection, probe_set, size, some)


def downgrade() -> None:
    connection = op.get_bind()
    for probe_set in _probe_sets(connection):
        dictionaries = _dictionaries(connection, probe_set)
        for snapshot_id, task, block_rows in _snapshots(connection, probe_set):
            columns = _columns(connection, snapshot_id)
            numbers = list(zip(*columns.values(), strict=True))
            blocks = []
            for number, text in _blocks(connection, snapshot_id, block_rows, dictionaries):
                start = number * block_rows
                outputs = [_output_of(line, task, columns) for line in text.split(b"\n")]
                rows = numbers[start : start + len(outputs)] if columns else [()] * len(outputs)
                pairs = [orjson.dumps(pair) for pair in zip(rows, outputs, strict=True)]
                blocks.append(zlib.compress(b"\n".join([orjson.dumps(list(columns)), *pairs])))
            _replace(connection, snapshot_id, blocks, block_rows=block_rows)
        _forget_dictionaries(connection, probe_set)


def _probe_sets(connection: sa.Connection) -> list[str]:
    return list(connection.execute(sa.text("SELECT hash FROM probe_sets")).scalars())


def _snapshots(connection: sa.Connection, probe_set: str) -> list[Any]:
    statement = sa.text("SELECT id, task, block_rows FROM snapshots WHERE probe_set = :set ORDER BY id")
    return list(connection.execute(statement, {"set": probe_set}).all())


def _examples(connection: sa.Connection, probe_set: str) -> list[dict[str, Any]]:
    statement = sa.text("SELECT examples FROM probe_sets WHERE hash = :set")
    found: list[dict[str, Any]] = orjson.loads(
        zlib.decompress(connection.execute(statement, {"set": probe_set}).scalar_one())
    )
    return found


def _documents(connection: sa.Connection, probe_set: str) -> dict[str, tuple[str, str]]:
    statement = sa.text("SELECT document_id, title, text FROM probe_documents WHERE probe_set = :set")
    return {one: (title, text) for one, title, text in connection.execute(statement, {"set": probe_set})}


def _dictionaries(connection: sa.Connection, probe_set: str) -> dict[tuple[int, int], bytes]:
    statement = sa.text(
        "SELECT block_rows, block, dictionary FROM snapshot_dictionaries WHERE probe_set = :set"
    )
    return {(size, block): one for size, block, one in connection.execute(statement, {"set": probe_set})}


def _forget_dictionaries(connection: sa.Connection, probe_set: str) -> None:
    connection.execute(
        sa.text("DELETE FROM snapshot_dictionaries WHERE probe_set = :set"), {"set": probe_set}
    )


def _remember_dictionaries(
    connection: sa.Connection, probe_set: str, block_rows: int, dictionaries: list[bytes]
) -> None:
    connection.execute(
        sa.text("INSERT INTO snapshot_dictionaries VALUES (:set, :block_rows, :block, :dictionary)"),
        [
            {"set": probe_set, "block_rows": block_rows, "block": block, "dictionary": one}
            for block, one in enumerate(dictionaries)
        ],
    )


def _blocks(
    connection: sa.Connection, snapshot_id: int, block_rows: int, known: dict[tuple[int, int], bytes]
) -> Iterator[tuple[int, bytes]]:
    """The blocks of a snapshot in order, unpacked; the oldest were packed without a dictionary."""
    statement = sa.text("SELECT block, packed FROM snapshot_answers WHERE snapshot_id = :id ORDER BY block")
    for block, packed in connection.execute(statement, {"id": snapshot_id}).all():
        unpacker = zlib.decompressobj(zdict=known.get((block_rows, block), b""))
        yield block, unpacker.decompress(packed)


def _as_sent(
    connection: sa.Connection, snapshot_id: int, block_rows: int, known: dict[tuple[int, int], bytes]
) -> tuple[dict[str, list[float]], list[dict[str, Any]]]:
    """Numbers by column and outputs, as blocks held them before."""
    names: list[str] = []
    rows: list[Any] = []
    for _, text in _blocks(connection, snapshot_id, block_rows, known):
        names, *some = (orjson.loads(line) for line in text.split(b"\n"))
        rows += some
    columns = {
        name: [float("nan") if numbers[place] is None else numbers[place] for numbers, _ in rows]
        for place, name in enumerate(names)
    }
    return columns, [output for _, output in rows]


def _columns(connection: sa.Connection, snapshot_id: int) -> dict[str, list[float]]:
    statement = sa.text('SELECT name, "values" FROM snapshot_columns WHERE snapshot_id = :id')
    return {
        name: array("d", packed).tolist()
        for name, packed in connection.execute(statement, {"id": snapshot_id})
    }


def _output_of(line: bytes, task: str, columns: dict[str, list[float]]) -> dict[str, Any]:
    """What a trainer sent of an answer: what is told without the numbers and what was made of them."""
    if task == IMPORTED:
        return written_in(line)
    answer = answer_in(line)
    left_out = _TOLD_OF_EVERY | columns.keys()
    if task in ("retrieval", "classification"):
        left_out |= _TOLD_OF_SOME
    output = {name: value for name, value in answer.items() if name not in left_out}
    if "top" in answer and task == "retrieval":
        return {"top": [[hit["document_id"], hit["score"]] for hit in answer["top"]], **output}
    if task == "classification":
        sure = [[one["label"], one["probability"]] for one in answer["probabilities"]]
        output["probabilities"] = sure
    return {"output": answer["model_output"], **output}


def _rows_per_block(lines: list[bytes]) -> int:
    mean_bytes = sum(map(len, lines)) / max(1, len(lines))
    rows = 1
    while rows < _MOST_ROWS and 2 * rows * mean_bytes <= _BLOCK_BYTES:
        rows *= 2
    return rows


def _packed(block: bytes, dictionary: bytes) -> bytes:
    packer = zlib.compressobj(6, zdict=dictionary)
    return packer.compress(block) + packer.flush()


def _new_dictionaries(blocks: list[bytes], examples: list[dict[str, Any]], size: int) -> list[bytes]:
    expected = [orjson.dumps(one["expected_output"]) for one in examples]
    some = [b"\n".join(expected[start : start + size]) for start in range(0, len(expected), size)]
    return [(one + b"\n" + block)[-_DICTIONARY_BYTES:] for one, block in zip(some, blocks, strict=True)]


def _replace(connection: sa.Connection, snapshot_id: int, packed: list[bytes], *, block_rows: int) -> None:
    connection.execute(sa.text("DELETE FROM snapshot_answers WHERE snapshot_id = :id"), {"id": snapshot_id})
    connection.execute(
        sa.text("UPDATE snapshots SET block_rows = :block_rows WHERE id = :id"),
        {"block_rows": block_rows, "id": snapshot_id},
    )
    if packed:
        connection.execute(
            sa.text(
                "INSERT INTO snapshot_answers (snapshot_id, block, packed) VALUES (:id, :block, :packed)"
            ),
            [{"id": snapshot_id, "block": block, "packed": one} for block, one in enumerate(packed)],
        )

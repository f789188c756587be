"""Revisions 0010 to 0012, snapshots by dataset and the forms of answers: nothing is lost on the way."""

from __future__ import annotations

import json
import zlib
from array import array
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, text

from app.domain.answer_lines import answer_in
from app.store import schema, snapshot_answers, snapshots
from app.store.connections import create_private_file, migration_engine
from app.store.engine import Store

RUN = """
INSERT INTO runs (id, name, recipe, dataset, columns, params, tags, policy, profile, environment, rungs,
  state, stop_requested, priority, queued_at, created_at, attempt, step, latest)
VALUES ('r1', 'a', 'two', 'd', '{}', '{}', '[]', '{}', 'auto', '{}', '[]',
  'finished', 0, 0, 1.0, 1.0, 1, 5, '{}')
"""
PROBES = """
INSERT INTO probe_sets (hash, task, num_examples, examples, stored_at)
VALUES ('set', 'retrieval', 1, x'00', 1.0)
"""
SNAPSHOT = """
INSERT INTO snapshots (id, run_id, dataset, task, attempt, step, t, model_version, probe_set, num_examples,
  summary, block_rows)
VALUES (:id, 'r1', :dataset, 'retrieval', 1, 5, 1.0, 'v', 'set', 1, '{}', 1)
"""
ANSWER = "INSERT INTO snapshot_answers (snapshot_id, block, packed) VALUES (:snapshot, 0, :packed)"
COLUMN = "INSERT INTO snapshot_columns (snapshot_id, name, \"values\") VALUES (1, 'loss', x'00')"


def migrate(url: str, revision: str, *, down: bool = False) -> None:
    engine = migration_engine(url)
    config = schema._config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        (command.downgrade if down else command.upgrade)(config, revision)
    engine.dispose()


def run_sql(url: str, statement: str, **values: Any) -> list[Any]:
    engine = migration_engine(url)
    try:
        with engine.begin() as connection:
            return _rows(connection, statement, values)
    finally:
        engine.dispose()


def _rows(connection: Connection, statement: str, values: dict[str, Any]) -> list[Any]:
    result = connection.execute(text(statement), values)
    return [tuple(row) for row in result] if result.returns_rows else []


def with_a_snapshot(folder: Path, revision: str) -> str:
    """A database of that revision with one run and its one snapshot."""
    path = folder / "signalbox.db"
    create_private_file(path)
    url = f"sqlite:///{path}"
    migrate(url, revision)
    for statement in (RUN, PROBES):
        run_sql(url, statement)
    run_sql(url, SNAPSHOT, id=1, dataset="d")
    return url


def test_what_is_stored_survives_both_ways(tmp_path: Path) -> None:
    url = with_a_snapshot(tmp_path, "0009_vectors_of_snapshots")
    run_sql(url, COLUMN)
    with pytest.raises(Exception, match="UNIQUE"):
        run_sql(url, SNAPSHOT, id=2, dataset="d (added probes)")
    migrate(url, "0010_snapshots_by_dataset")
    run_sql(url, SNAPSHOT, id=2, dataset="d (added probes)")
    with pytest.raises(Exception, match="UNIQUE"):
        run_sql(url, SNAPSHOT, id=3, dataset="d")
    assert run_sql(url, "SELECT snapshot_id, name FROM snapshot_columns") == [(1, "loss")]
    migrate(url, "0009_vectors_of_snapshots", down=True)
    assert run_sql(url, "SELECT id, dataset FROM snapshots") == [(1, "d")]
    assert run_sql(url, "SELECT snapshot_id, name FROM snapshot_columns") == [(1, "loss")]
    with pytest.raises(Exception, match="UNIQUE"):
        run_sql(url, SNAPSHOT, id=2, dataset="another")


def test_answers_are_readable_by_the_version_before(tmp_path: Path) -> None:
    url = with_a_snapshot(tmp_path, "0010_snapshots_by_dataset")
    run_sql(url, ANSWER, snapshot=1, packed=zlib.compress(b"before"))
    migrate(url, "0011_dictionaries_of_answers")
    assert run_sql(url, "SELECT packed FROM snapshot_answers") == [(zlib.compress(b"before"),)]
    run_sql(url, SNAPSHOT, id=2, dataset="e")
    run_sql(
        url,
        "INSERT INTO snapshot_dictionaries VALUES ('set', 1, 0, :dictionary)",
        dictionary=b"after, of course",
    )
    packer = zlib.compressobj(zdict=b"after, of course")
    run_sql(url, ANSWER, snapshot=2, packed=packer.compress(b"after") + packer.flush())
    migrate(url, "0010_snapshots_by_dataset", down=True)
    read = run_sql(url, "SELECT packed FROM snapshot_answers ORDER BY snapshot_id")
    assert [zlib.decompress(packed) for (packed,) in read] == [b"before", b"after"]


PROBES_OF_TWO = [{"example_id": name, "input": "q", "expected_output": "b", "gold": "d1"} for name in "xy"]
OUTPUTS: dict[str, list[dict[str, Any]]] = {
    "retrieval": [{"top": [["d1", 0.5], ["d2", 0.25]]}, {"top": [["d2", 0.125]], "note": "ünï\n"}],
    "classification": [{"output": "b", "probabilities": [["b", 0.75], ["a", 0.25]]}] * 2,
    "causal_lm": [{"output": "b c", "tokens": [["b", -0.5]], "is_cut": False}, {"output": ""}],
    "imported": [{"output": "b", "loss": "NaN", "exact_match": True, "output_length": 9, "similarity": 1}]
    * 2,
}


@pytest.mark.parametrize("task", OUTPUTS)
def test_answers_become_what_is_told_and_outputs_again(tmp_path: Path, task: str) -> None:
    url = with_a_snapshot(tmp_path, "0011_dictionaries_of_answers")
    packed = zlib.compress(json.dumps(PROBES_OF_TWO).encode())
    run_sql(url, "UPDATE probe_sets SET examples = :packed, num_examples = 2", packed=packed)
    run_sql(url, "UPDATE snapshots SET task = :task, num_examples = 2, block_rows = 2", task=task)
    run_sql(url, "INSERT INTO probe_documents VALUES ('set', 'd1', 'the title', 'the text')")
    run_sql(url, COLUMN.replace("x'00'", ":values"), values=array("d", [0.5, float("nan")]).tobytes())
    lines = [["loss"], *([[loss], output] for loss, output in zip((0.5, None), OUTPUTS[task], strict=True))]
    block = "\n".join(map(json.dumps, lines)).encode()
    run_sql(url, "INSERT INTO snapshot_dictionaries VALUES ('set', 2, 0, :dictionary)", dictionary=block)
    packer = zlib.compressobj(zdict=block)
    run_sql(url, ANSWER, snapshot=1, packed=packer.compress(block) + packer.flush())

    migrate(url, "0012_answers_as_they_are_told")
    store = Store(url)
    with store.read() as session:
        (taken,) = snapshots.list_snapshots(session, "r1", dataset="d")
        told = [answer_in(line) for line in snapshot_answers.read(session, taken).values()]
    store.close()
    assert [one["loss"] for one in told] == [0.5, None]
    first = {"retrieval": "the text", "classification": "b", "causal_lm": "b c", "imported": "b"}
    assert told[0]["model_output"] == first[task]

    migrate(url, "0011_dictionaries_of_answers", down=True)
    ((packed,),) = run_sql(url, "SELECT packed FROM snapshot_answers")
    assert [json.loads(line) for line in zlib.decompress(packed).split(b"\n")] == lines
    assert run_sql(url, "SELECT count(*) FROM snapshot_dictionaries") == [(0,)]

"""The spool reader delivers every whole line once, in order, from any position, whatever is between them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from trainer.protocol.batches import BATCH_BYTES, Batch
from trainer.protocol.events import EventType, Stream
from trainer.supervisor.spool_reader import SpoolReader, last_seq


def metrics(seq: int, values: dict[str, Any], *, attempt: int = 1) -> dict[str, Any]:
    return {
        "seq": seq,
        "t": 100.0 + seq,
        "type": "metrics",
        "attempt": attempt,
        "step": seq,
        "values": values,
    }


def phase(seq: int) -> dict[str, Any]:
    return {"seq": seq, "t": 100.0 + seq, "type": "phase", "attempt": 1, "name": "training", "step": seq}


def write(folder: Path, lines: list[dict[str, Any] | bytes], *, segment: int = 1) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{segment:06d}.jsonl"
    with path.open("ab") as file:
        for line in lines:
            file.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
    return path


def reader(folder: Path, *, have: int = 0) -> SpoolReader:
    return SpoolReader(folder, run="r", stream=Stream.TRAINER, have=have)


def read_all(source: SpoolReader) -> list[Batch]:
    batches = []
    while read := source.read():
        batches += read
    source.close()
    return batches


def test_metrics_of_the_same_names_become_columns_and_the_rest_stays(tmp_path: Path) -> None:
    write(
        tmp_path / "s",
        [metrics(1, {"a": 1, "b": 2.5}), phase(2), metrics(3, {"a": 3, "b": 4}), metrics(4, {"a": 5})],
    )
    (batch,) = read_all(reader(tmp_path / "s"))
    assert (batch.first, batch.last) == (1, 4)
    assert [block.names for block in batch.blocks] == [["a", "b"], ["a"]]
    assert batch.blocks[0].steps.tolist() == [1, 3]
    assert batch.blocks[0].times.tolist() == [101.0, 103.0]
    assert [column.tolist() for column in batch.blocks[0].values] == [[1.0, 3.0], [2.5, 4.0]]
    assert [event["seq"] for event in batch.events] == [2]


def test_words_for_nan_and_infinities_become_numbers_again(tmp_path: Path) -> None:
    write(tmp_path / "s", [metrics(1, {"a": "NaN"}), metrics(2, {"a": "-Infinity"}), metrics(3, {"a": 1.5})])
    (batch,) = read_all(reader(tmp_path / "s"))
    values = batch.blocks[0].values[0]
    assert math.isnan(values[0])
    assert values[1:].tolist() == [-math.inf, 1.5]


def test_a_torn_last_line_waits_until_it_is_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "s", [metrics(1, {"a": 1}), b'{"seq":2,"t":1,"ty'])
    source = reader(tmp_path / "s")
    assert [batch.last for batch in source.read()] == [1]
    assert source.read() == []
    with path.open("ab") as file:
        file.write(b'pe":"phase","attempt":1}\n')
    assert [batch.last for batch in source.read()] == [2]
    source.close()


@pytest.mark.parametrize("have", [0, 1, 149, 150, 151, 299, 300])
def test_reading_resumes_behind_any_position_in_any_segment(tmp_path: Path, have: int) -> None:
    for segment in (1, 2, 3):
        first = (segment - 1) * 100 + 1
        write(
            tmp_path / "s", [metrics(seq, {"a": seq}) for seq in range(first, first + 100)], segment=segment
        )
    batches = read_all(reader(tmp_path / "s", have=have))
    steps = [step for batch in batches for block in batch.blocks for step in block.steps]
    assert steps == list(range(have + 1, 301))


def test_the_backlog_counts_what_is_unread_here_and_then_in_the_next_segment(tmp_path: Path) -> None:
    source = reader(tmp_path / "s")
    assert source.backlog_bytes() == 0
    write(tmp_path / "s", [phase(1)])
    assert [batch.last for batch in source.read()] == [1]
    assert source.backlog_bytes() == 0
    write(tmp_path / "s", [phase(2)], segment=2)
    assert source.backlog_bytes() == (tmp_path / "s" / "000002.jsonl").stat().st_size
    write(tmp_path / "s", [phase(2)])
    assert source.backlog_bytes() > 0
    source.close()


def test_a_segment_begun_while_reading_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "s", [phase(1)])
    source = reader(tmp_path / "s")
    assert [batch.last for batch in source.read()] == [1]
    write(tmp_path / "s", [phase(2)])
    write(tmp_path / "s", [phase(3)], segment=2)
    assert [batch.last for batch in source.read()] == [2]
    assert [batch.last for batch in source.read()] == [3]
    source.close()


def test_the_spool_may_appear_later(tmp_path: Path) -> None:
    source = reader(tmp_path / "s")
    assert source.read() == []
    write(tmp_path / "s", [phase(1)])
    assert [batch.last for batch in source.read()] == [1]
    source.close()


def test_unreadable_lines_are_told_as_a_gap_and_what_follows_arrives(tmp_path: Path) -> None:
    write(tmp_path / "s", [phase(1), b"\xff\x00 rubbish\n", b"[1, 2]\n", b"\n", phase(4)])
    (batch,) = read_all(reader(tmp_path / "s"))
    assert (batch.first, batch.last) == (1, 4)
    assert [event["seq"] for event in batch.events] == [1, 2, 4]
    assert "events 2 to 3" in batch.events[1]["text"]


@pytest.mark.parametrize(
    "broken",
    [
        {"seq": 2, "t": 1.0, "type": "metrics", "attempt": 1, "step": 1, "values": {"a": None}},
        {"seq": 2, "t": 1.0, "type": "metrics", "attempt": 1, "step": 1.5, "values": {"a": 1}},
        {"seq": 2, "t": 1.0, "type": "metrics", "attempt": 1, "step": 1, "values": [1]},
        {"seq": 2, "t": 1.0, "type": "metrics", "attempt": 1, "step": 1, "values": {}},
        {"seq": 2, "t": 1.0, "type": "metrics", "attempt": [], "step": 1, "values": {"a": 1}},
        {"seq": 2, "t": 1.0, "type": "metrics", "attempt": 1, "step": 2**70, "values": {"a": 1}},
        {"seq": 2, "t": 1.0, "type": "magic", "attempt": 1},
        {"seq": 2, "t": "now", "type": "phase", "attempt": 1},
        {"seq": 2},
    ],
)
def test_a_line_that_breaks_the_contract_is_replaced_by_a_notice(
    tmp_path: Path, broken: dict[str, Any]
) -> None:
    write(tmp_path / "s", [metrics(1, {"a": 1}), broken, metrics(3, {"a": 3})])
    batches = read_all(reader(tmp_path / "s"))
    assert [step for batch in batches for block in batch.blocks for step in block.steps] == [1, 3]
    assert [(event["seq"], event["type"]) for batch in batches for event in batch.events] == [
        (2, EventType.ALERT)
    ]
    assert batches[-1].last == 3


def test_lines_that_were_delivered_before_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "s", [phase(1), phase(2), phase(1), phase(2), phase(3)])
    batches = read_all(reader(tmp_path / "s"))
    assert [event["seq"] for batch in batches for event in batch.events] == [1, 2, 3]


@pytest.mark.parametrize("names", [1, 200])
def test_no_batch_exceeds_its_limit_on_the_wire_and_none_is_wastefully_small(
    tmp_path: Path, names: int
) -> None:
    values = {f"metric/{index}": 0.5 for index in range(names)}
    write(tmp_path / "s", [metrics(seq, values) for seq in range(1, 20_000 // names + 1)])
    batches = read_all(reader(tmp_path / "s"))
    sizes = [len(json.dumps(batch.to_wire())) for batch in batches]
    assert max(sizes) <= BATCH_BYTES
    assert [batch.first for batch in batches] == [1] + [batch.last + 1 for batch in batches[:-1]]
    assert len(batches) <= 8


def test_a_metric_with_new_names_at_every_step_still_stays_below_the_limit(tmp_path: Path) -> None:
    write(tmp_path / "s", [metrics(seq, {f"m{seq}": 1}) for seq in range(1, 5001)])
    batches = read_all(reader(tmp_path / "s"))
    assert max(len(json.dumps(batch.to_wire())) for batch in batches) <= BATCH_BYTES
    assert sum(block.count for batch in batches for block in batch.blocks) == 5000


def test_an_event_too_large_to_send_is_replaced_by_a_notice(tmp_path: Path) -> None:
    write(tmp_path / "s", [phase(1) | {"detail": "x" * 3_000_000}, phase(2)])
    batches = read_all(reader(tmp_path / "s"))
    told = [event for batch in batches for event in batch.events]
    assert [event["type"] for event in told] == ["alert", "phase"]
    assert "too large" in told[0]["text"]


def test_reading_event_by_event_delivers_the_same(tmp_path: Path) -> None:
    write(tmp_path / "s", [phase(seq) for seq in range(1, 6)])
    source = reader(tmp_path / "s")
    assert [source.read(max_events=1)[0].last for _ in range(5)] == [1, 2, 3, 4, 5]
    assert source.read(max_events=1) == []
    source.close()


def test_the_last_seq_is_that_of_the_last_whole_line(tmp_path: Path) -> None:
    assert last_seq(tmp_path / "s") == 0
    write(tmp_path / "s", [phase(1), phase(2), b'{"seq":3,"t'])
    assert last_seq(tmp_path / "s") == 2

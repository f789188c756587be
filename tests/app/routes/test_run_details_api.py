"""Attempts, environment, checkpoints, events and output over REST."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.routes.api_rig import Api
from trainer.protocol.batches import Batch
from trainer.protocol.events import Stream

TEXT = "ß line\nnaïve 🚂 train\nlast"


def report_events(api: Api, run_id: str, *events: dict[str, Any], stream: Stream = Stream.SUPERVISOR) -> None:
    numbered = [{"seq": n, "t": 1.0, "attempt": 1, **event} for n, event in enumerate(events, 1)]
    api.parts.ingest.accept(Batch(run_id, stream, 1, len(numbered), [], numbered))


def test_an_attempt_is_shown_with_its_environment(api: Api) -> None:
    run_id = api.new_run()
    assert api.call("GET", f"/api/runs/{run_id}/environment").status_code == 404
    variable = {"name": "A", "value": "1", "reason": "r", "source": "always"}
    started = {"type": "attempt", "what": "started", "pid": 5, "from_step": 0, "command": ["python"]}
    report_events(api, run_id, {**started, "environment": [variable]})
    (attempt,) = api.get(f"/api/runs/{run_id}/attempts")["attempts"]
    assert (attempt["attempt"], attempt["pid"]) == (1, 5)
    shown = api.get(f"/api/runs/{run_id}/environment?attempt=1")
    assert (shown["command"], shown["environment"]) == (["python"], [variable])
    assert api.call("GET", f"/api/runs/{run_id}/environment?attempt=2").status_code == 404


def test_checkpoints_and_events_come_as_they_were_reported(api: Api) -> None:
    run_id = api.new_run()
    checkpoint = {"type": "checkpoint", "step": 5, "file": "step_000005.pt", "bytes": 9, "sha256": "f" * 64}
    alert = {"type": "alert", "level": "warning", "title": "t", "text": "x"}
    report_events(
        api,
        run_id,
        {**checkpoint, "metrics": {"mrr@10": "NaN"}, "best": True, "reason": "due"},
        alert,
        stream=Stream.TRAINER,
    )
    (shown,) = api.get(f"/api/runs/{run_id}/checkpoints")["checkpoints"]
    assert (shown["step"], shown["bytes"], shown["best"], shown["metrics"]) == (5, 9, True, {"mrr@10": None})
    (event,) = api.get(f"/api/runs/{run_id}/events?types=alert")["events"]
    assert (event["type"], event["title"], event["stream"], event["seq"]) == ("alert", "t", "trainer", 2)
    refused = api.call("GET", f"/api/runs/{run_id}/events?types=odd")
    assert (refused.status_code, refused.get_json()["error"]["field"]) == (422, "types")


def test_findings_come_newest_attempt_first_and_best_first(api: Api) -> None:
    run_id = api.new_run()
    words = {"cause": "c", "remedy": "r", "confidence": 0.9, "lines": ["x"], "source": "s"}
    words |= {"rungs": ["cpu", "new_kind"]}
    told = [(1, "cuda_oom"), (2, "disk_full"), (2, "ckpt_corrupt")]
    report_events(
        api, run_id, *[{"type": "finding", "attempt": n, "step": 5, "id": name, **words} for n, name in told]
    )
    shown = api.get(f"/api/runs/{run_id}/findings")["findings"]
    assert [(one["attempt"], one["id"]) for one in shown] == [*told[1:], told[0]]
    assert words.items() <= shown[0].items()
    assert shown[0]["rungs_in_words"] == [
        {"rung": "cpu", "title": "train on the CPU", "changes_numbers": True, "is_unsafe": False},
        {"rung": "new_kind", "title": "new kind", "changes_numbers": False, "is_unsafe": False},
    ]
    assert api.call("GET", "/api/runs/nobody/findings").status_code == 404


@pytest.mark.parametrize("limit", [1, 4, 5, 7, 1000])
def test_output_read_piece_by_piece_is_whole_and_never_torn(api: Api, limit: int) -> None:
    run_id = api.new_run()
    api.parts.ingest.accept_output(run_id, attempt=1, offset=0, text=TEXT.encode())
    pieces, offset = [], 0
    while True:
        piece = api.get(f"/api/runs/{run_id}/logs?offset={offset}&limit={limit}")
        assert piece["offset"] == offset
        if piece["next_offset"] == offset:
            break
        pieces.append(piece["text"])
        offset = piece["next_offset"]
    assert "".join(pieces) == TEXT
    assert offset == piece["total_bytes"] == len(TEXT.encode())


def test_a_negative_offset_reads_the_end_from_a_whole_character_on(api: Api) -> None:
    run_id = api.new_run()
    api.parts.ingest.accept_output(run_id, attempt=1, offset=0, text="aé".encode())
    assert api.get(f"/api/runs/{run_id}/logs?offset=-2")["text"] == "é"
    assert api.get(f"/api/runs/{run_id}/logs?offset=-99")["text"] == "aé"
    assert api.get(f"/api/runs/{run_id}/logs")["text"] == "aé"


def test_output_that_is_no_text_is_still_readable_to_its_end(api: Api) -> None:
    run_id = api.new_run()
    raw = b"\x80\x81\x82\x83\x84\xff\xc3"
    api.parts.ingest.accept_output(run_id, attempt=1, offset=0, text=raw)
    offset, num_rounds = 0, 0
    while num_rounds < 20:
        piece = api.get(f"/api/runs/{run_id}/logs?offset={offset}&limit=4")
        if piece["next_offset"] == offset:
            break
        offset, num_rounds = piece["next_offset"], num_rounds + 1
    assert piece["total_bytes"] == len(raw)
    assert offset >= len(raw) - 1  # a torn character at the very end may still be completed


@pytest.mark.parametrize("query", ["attempt=0", "attempt=x", "limit=0", "offset=1e3", f"offset={10**40}"])
def test_odd_places_in_the_output_are_refused(api: Api, query: str) -> None:
    assert api.call("GET", f"/api/runs/{api.new_run()}/logs?{query}").status_code == 422

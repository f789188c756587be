"""Snapshots that somebody made to hurt: refused naming what is wrong, or shown safely at every address."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest

from app.errors import InvalidRequest
from app.services.evolution_export import original_json
from app.services.evolution_page import SORTS as PAGE_SORTS
from tests.app.routes.api_rig import Api
from tests.app.rows import snapshot_content

PAIRS: Final[list[tuple[Any, str]]] = [
    (None, ""), (5, ""), ("ab", ""), ({}, ""), ([[1, 2, 3]], "[0]"), ([["a"]], "[0]"),
    ([["a", "b"]], "[0][1]"),
    ([["a", 1], ["b", [1]]], "[1][1]"), ([["a", True]], "[0][1]"), ([[None, 1]], "[0]"),
    ([[["a"], 1]], "[0]"), (["ab"], "[0]"),
]  # fmt: skip
SIGNS: Final = "<script>alert(1)</script> \x1b[31mred\x1b[0m \u202egnp.exe \u2066 \x00 \x7f \ufeff"
RESERVED: Final = {
    "example_id": 5, "index": "x", "step": [], "input": None, "expected_output": {}, "group": 1,
    "loss": "lots",
    "similarity": "much", "rank": "first", "score": {}, "margin": [], "exact_match": "yes",
    "output_length": "long",
    "confidence": "x", "model_output": 5, "gold": {}, "timestamp": 1, "is_cut": 7, "correct": "x",
    "x": {"y": [1]},
    "index_of": 2**64 - 1,
}  # fmt: skip


def nested(depth: int) -> list[Any]:
    """A list in a list in a list …"""
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def text_content(**changes: Any) -> dict[str, Any]:
    """A snapshot of answers that are plain texts."""
    content = snapshot_content(10, task="script", outputs=[{"text": "right"}, {"text": "wrong"}])
    content["columns"] = {"loss": [0.5, 2.0], "correct": [1.0, 0.0]}
    return {**content, **changes}


def classified(**changes: Any) -> dict[str, Any]:
    """A snapshot of labels with their probabilities."""
    shares = [["text 0", 0.75], ["text 1", 0.25]]
    outputs = [{"output": "text 0", "probabilities": shares}] * 2
    return snapshot_content(10, **{"task": "classification", "outputs": outputs, **changes})


def upload(api: Api, content: dict[str, Any], *, run_id: str | None = None) -> str:
    """Store a snapshot, of a new run unless one is named."""
    run_id = run_id or api.new_run()
    api.parts.ingest.accept_snapshot(run_id, gzip.compress(json.dumps(content).encode()))
    return run_id


@pytest.mark.parametrize("name", ["top", "probabilities", "tokens"])
@pytest.mark.parametrize(("pairs", "place"), PAIRS, ids=repr)
def test_malformed_pairs_are_refused_naming_answer_and_field(
    api: Api, name: str, pairs: Any, place: str
) -> None:
    for make in (snapshot_content, lambda at, **changes: classified(**changes)):
        with pytest.raises(InvalidRequest) as caught:
            upload(api, make(10, outputs=[{"output": "x"}, {"output": "x", name: pairs}]))
        assert caught.value.field == f"outputs[1].{name}{place}"


REFUSED: Final[list[tuple[str, dict[str, Any]]]] = [
    ("step", {"step": -1}), ("step", {"step": 2**63}), ("step", {"step": 1e300}), ("step", {"step": "5"}),
    ("step", {"step": None}), ("step", {"step": True}), ("step", {"step": 5.0}), ("attempt", {"attempt": 0}),
    ("task", {"task": "imported"}), ("task", {"task": None}), ("task", {"task": "x" * 33}),
    ("t", {"t": -1}), ("t", {"t": 1e300}),
    ("outputs[0].output", {"outputs": [{"output": None}, {}]}),
    ("outputs[1].text", {"outputs": [{}, {"text": {"a": 1}}]}),
    ("outputs", {"outputs": [{"x": nested(40)}, {}]}),
    ("summary", {"summary": {"x": nested(300)}}),
    ("columns.loss[1]", {"columns": {"loss": [1.0, [2.0]]}}),
    ("columns.loss[0]", {"columns": {"loss": [True, 2.0]}}),
    ("columns.loss[0]", {"columns": {"loss": ["x" * 10**6, 2.0]}}),
    ("columns.", {"columns": {"": [1.0, 2.0]}}),
    ("format", {"format": "x" * 10**6}),
    ("documents.d", {"documents": {"d": None}}),
    ("epoch", {"epoch": "x"}),
    ("cost_s", {"cost_s": []}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "changes"), REFUSED, ids=lambda value: repr(value)[:40])
def test_absurd_fields_are_refused_in_a_short_sentence(api: Api, field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        upload(api, snapshot_content(10, **changes))
    assert caught.value.field == field
    assert len(caught.value.message) < 300


@pytest.mark.parametrize("name", ["example_id", "input", "expected_output"])
@pytest.mark.parametrize("value", [None, 5, ["x"], ...])
def test_a_probe_without_its_texts_is_refused(api: Api, name: str, value: Any) -> None:
    content = snapshot_content(10)
    del content["probes"]["examples"][1][name]
    if value is not ...:
        content["probes"]["examples"][1][name] = value
    with pytest.raises(InvalidRequest) as caught:
        upload(api, content)
    assert caught.value.field == f"probes.examples[1].{name}"


@pytest.mark.parametrize("example_id", ["", "ex_0000"])
def test_an_id_that_names_nothing_or_two_is_refused(api: Api, example_id: str) -> None:
    content = snapshot_content(10)
    content["probes"]["examples"][1]["example_id"] = example_id
    with pytest.raises(InvalidRequest) as caught:
        upload(api, content)
    assert caught.value.field == "probes.examples[1].example_id"


WHOLE = json.dumps(snapshot_content(10)).encode()


@pytest.mark.parametrize(
    ("content", "kept_bytes"),
    [
        pytest.param(WHOLE, 200, id="the file is cut"),
        pytest.param(WHOLE[:-20], None, id="the JSON is cut"),
        pytest.param(b'{"format": 1, "dataset": "\\ud800"}', None, id="half a surrogate"),
        pytest.param(b'{"format": 1, "step": NaN}', None, id="NaN"),
        pytest.param(b'{"format": 1, "step": 1e999}', None, id="beyond all numbers"),
        pytest.param(
            b'{"format": 1, "x": ' + b"[" * 2_000 + b"]" * 2_000 + b"}", None, id="2,000 lists deep"
        ),
    ],
)
def test_what_is_no_whole_snapshot_is_refused(api: Api, content: bytes, kept_bytes: int | None) -> None:
    run_id = api.new_run()
    with pytest.raises(InvalidRequest, match="snapshot"):
        api.parts.ingest.accept_snapshot(run_id, gzip.compress(content)[:kept_bytes])


def shown_contents() -> Iterator[tuple[str, dict[str, Any]]]:
    """What is taken in, and must not break any reading."""
    yield "fields of its own", text_content(outputs=[{"text": "x", **RESERVED}, {"text": "y"}])
    names = ["example_id", "index", "step", "input", "group", "top", "tokens", "probabilities", "<b>"]
    names += ["model_output", "exact_match", "timestamp"]
    columns = {**text_content()["columns"], **{name: [1.0, None] for name in names}}
    yield "columns of those names", text_content(columns=columns)
    yield "a step and a time far away", text_content(step=2**53, t=2.0**33, attempt=2**31 - 1)
    yield "a name of signs", text_content(dataset="<b>\x1b[31m\u202e\x00%2F")


def odd_answers() -> Iterator[tuple[str, dict[str, Any]]]:
    """Pairs and numbers that are in form, but odd, for each kind of task."""
    for task in ("retrieval", "classification", "script", "odd"):
        yield (
            f"pairs in {task}",
            text_content(
                task=task,
                outputs=[
                    {"top": [], "probabilities": [], "tokens": []},
                    {
                        "output": "x",
                        "top": [["nobody", "NaN"], ["nobody", None]],
                        "probabilities": [[SIGNS, "Infinity"], ["b", -1e300], ["b", 2]],
                        "tokens": [["", None], [SIGNS, "-Infinity"]],
                    },
                ],
            ),
        )
        yield f"no columns in {task}", text_content(task=task, columns={})
        extreme = [1e308, -1e308]
        names = ["loss", "correct", "rank", "score", "margin", "similarity", "confidence", "output_length"]
        yield f"extremes in {task}", text_content(task=task, columns=dict.fromkeys(names, extreme))
        words = ["NaN", "-Infinity"]
        yield f"words in {task}", text_content(task=task, columns=dict.fromkeys(names, words))
        yield f"empty answers in {task}", text_content(task=task, outputs=[{}, {}])


def odd_summaries() -> Iterator[tuple[str, dict[str, Any]]]:
    """Counts that count nothing."""
    totals = [0, -1, 0.5, 1e300, "NaN", None, {}, True]
    for total in totals:
        yield (
            f"a summary of {total}",
            text_content(
                summary={
                    "total_examples": total,
                    "correct": total,
                    "avg_loss": total,
                    "accuracy": total,
                    SIGNS: total,
                }
            ),
        )
        yield f"a count of {total}", text_content(summary={"total_examples": total, "correct": total})


def odd_probes() -> Iterator[tuple[str, dict[str, Any]]]:
    """Groups that are no texts, and texts of a megabyte."""
    probes = text_content()["probes"]
    groups: list[Any] = [5, {}, ["x"], True, SIGNS, nested(20)]
    for group in groups:
        examples = [{**one, "group": group, "gold": group, "index": "x"} for one in probes["examples"]]
        yield f"groups of {group!r:.20}", text_content(probes={**probes, "examples": examples})
    long = "\u202e<b>" + "x" * 1_000_000
    examples = [{**one, "input": long, "expected_output": SIGNS} for one in probes["examples"]]
    yield "long texts", text_content(
        outputs=[{"text": SIGNS}, {"text": long}],
        probes={**probes, "examples": [{**examples[0], "example_id": SIGNS}, examples[1]]},
        model_version=SIGNS,
        documents={SIGNS: {"title": SIGNS, "text": long}},
        cost_s=-1e308, epoch=1e308,
    )  # fmt: skip


SHOWN: Final = [*shown_contents(), *odd_answers(), *odd_summaries(), *odd_probes()]


@pytest.mark.parametrize("content", [content for _, content in SHOWN], ids=[name for name, _ in SHOWN])
def test_what_is_taken_in_is_shown_at_every_address(api: Api, content: dict[str, Any]) -> None:
    vectors = base64.b64encode(bytes(range(8))).decode()
    content = {**content, "vectors": {"dim": 2, "dtype": "float16", "base64": vectors}, "probe_set": "odd"}
    content["probes"] = {**content["probes"], "hash": "odd"}
    run_id = upload(
        api, text_content(step=1, probe_set="odd", probes=content["probes"], dataset=content["dataset"])
    )
    upload(api, content, run_id=run_id)
    base = f"/api/evolution/{quote(content['dataset'], safe='')}"
    example_id = content["probes"]["examples"][0]["example_id"]
    for path in addresses(base, content["step"], quote(example_id, safe="")):
        response = api.call("GET", path)
        assert response.status_code == 200, (path, response.get_data(as_text=True)[:500])
        if response.mimetype == "text/html":
            page = response.get_data(as_text=True)
            assert "<script>alert" not in page
            assert "\x1b" not in page
        elif response.mimetype == "application/json":
            json.loads(response.get_data(), parse_constant=_no_constant)
    original = original_json(api.parts.store, content["dataset"], run_id, content["step"])
    json.dumps(original, allow_nan=False)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def addresses(base: str, step: int, example_id: str) -> Iterator[str]:
    """Every reading, in every format and order."""
    yield "/api/evolution/datasets"
    yield f"{base}/snapshots"
    for query in (
        "",
        "?q=x",
        "?texts=short",
        "?format=csv",
        "?format=html",
        "?filter=correct",
        "?format=html&q=x",
    ):
        yield f"{base}/snapshot/{step}{query}"
    for sort in PAGE_SORTS:
        yield f"{base}/snapshot/best?sort=-{sort}&texts=short"
        yield f"{base}/snapshot/{step}?sort={sort}&q=e"
    for query in (
        "",
        "?q=x",
        "?texts=short&sort=-rank",
        "?format=csv",
        "?sort=-loss_change",
        "?sort=confidence",
    ):
        yield f"{base}/examples{query}"
    yield f"{base}/examples/{example_id}"
    yield f"{base}/dynamics"
    for query in ("", "&format=csv", "&format=html", "&sort=-rank", "&sort=loss"):
        yield f"{base}/compare?from=1&to={step}{query}"
        yield f"{base}/compare?from={step}&to=1{query}"
    yield f"{base}/map"
    yield f"{base}/snapshot/{step}/neighbors?example={example_id}"

"""The reader follows output in pieces of any size, never goes back, and no line can hold it up."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.trainer.telemetry.output.corpus import FOLDER, lines_of
from trainer.telemetry.output.reader import OutputReader
from trainer.telemetry.output.settings import OutputSettings, OutputSettingsError


def all_events(reader: OutputReader, *texts: str) -> list[dict[str, Any]]:
    found = [event for number, text in enumerate(texts) for event in reader.feed(text, number / 10)]
    return found + reader.close()


def points(events: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    return [(event["step"], event["values"]) for event in events if event["type"] == "metrics"]


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


def test_it_does_not_matter_where_the_output_is_cut() -> None:
    names = ("huggingface.txt", "lightning.txt", "keras2.txt", "fairseq.txt")
    for name in names:
        text = "".join(line.text + "\n" for line in lines_of(FOLDER / name))
        whole = points(all_events(OutputReader(), text))
        choice = random.Random(name)
        cuts = sorted(choice.sample(range(len(text)), 40))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert points(all_events(OutputReader(), *pieces)) == whole
        assert whole


def test_steps_of_a_series_only_grow_whatever_is_printed() -> None:
    choice = random.Random(7)
    lines = [line.text for path in FOLDER.glob("*.txt") for line in lines_of(path)]
    for _ in range(30):
        choice.shuffle(lines)
        newest: dict[str, int] = {}
        progress = 0
        for event in all_events(OutputReader(), *(line + "\n" for line in lines)):
            if event["type"] == "progress":
                assert event["step"] >= progress
                progress = event["step"]
            for name in event.get("values", {}):
                assert event["step"] > newest.get(name, -1)
                newest[name] = event["step"]


def test_progress_tells_steps_and_epochs_as_far_as_the_output_does() -> None:
    bar = "\rEpoch 2/4:  50%|#####     | 50/100 [00:05<00:05, 10.00it/s, loss=0.9]\n"
    (told,) = of_type(all_events(OutputReader(), bar), "progress")
    assert told == {"type": "progress", "step": 150, "total_steps": 400, "epoch": 1.5, "num_epochs": 4}


def test_a_bar_before_the_training_is_shown_as_loading_and_one_inside_as_evaluating() -> None:
    events = all_events(
        OutputReader(),
        "\rTokenizing: 50%|##   | 5/10 [00:01<00:01, 5.00it/s]\n",
        "step 1 loss 0.5\n",
        "\rEvaluating: 50%|##   | 5/10 [00:01<00:01, 5.00it/s]\n",
        "step 2 loss 0.4\n",
    )
    phases = [(event["name"], event.get("detail")) for event in of_type(events, "phase")]
    assert phases == [
        ("loading", "Tokenizing"), ("training", None), ("evaluating", "Evaluating"), ("training", None),
    ]  # fmt: skip


def test_lines_without_any_step_are_counted_as_the_settings_say() -> None:
    reader = OutputReader(OutputSettings(steps_per_report=50), from_step=100)
    assert points(all_events(reader, "loss: 0.5\nloss: 0.4\n")) == [
        (150, {"train/loss": 0.5}), (200, {"train/loss": 0.4}),
    ]  # fmt: skip


def test_a_user_s_pattern_is_read_before_everything_else() -> None:
    settings = OutputSettings(patterns=(r"^>> (?P<step>\d+) L=(?P<loss>\S+) V=(?P<eval__loss>\S+)",))
    events = all_events(OutputReader(settings), ">> 7 L=0.5 V=0.75\n>> 8 L=none V=1\n")
    assert points(events) == [(7, {"train/loss": 0.5, "eval/loss": 0.75})]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(?P<loss>(a+a+)+)y", "far too long"),
        (r"loss (\d+)", "names nothing to read"),
        (r"loss (?P<loss>", "no regular expression"),
        ("(?P<loss>x)" + "y" * 500, "characters"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(pattern: str, words: str) -> None:
    with pytest.raises(OutputSettingsError, match=words) as caught:
        OutputSettings.from_json({"patterns": [r"(?P<step>\d+)", pattern]})
    assert "number 2" in str(caught.value)


def test_a_pattern_that_runs_away_all_the_same_is_switched_off_and_that_is_told() -> None:
    settings = OutputSettings(patterns=(r"(?P<loss>(q+q+)+)y",))  # not among what the check tries
    reader = OutputReader(settings)
    begin = time.monotonic()
    events = all_events(reader, *("q" * 200 + "z\n" for _ in range(50)), "step 1 loss 0.5\n")
    assert time.monotonic() - begin < 5
    assert [event["title"] for event in of_type(events, "alert")] == [
        "A pattern for the output was switched off"
    ]
    assert points(events) == [(1, {"train/loss": 0.5})]


HOSTILE = {
    "a long word": "a" * 100_000,
    "spaces": "loss" + " " * 100_000 + "x1",
    "words": "loss a " * 20_000,
    "numbers": "1 " * 50_000,
    "bars": "%|" * 50_000 + "1/2 [",
    "brackets": "[" * 50_000 + "loss 1",
    "an object": '{"loss": ' * 10_000 + "1}",
    "pairs": "loss=0.5, " * 20_000,
    "keras": "1/2 " + "━ " * 50_000 + "loss",
    "clocks": "12:00:00 " * 10_000 + "loss 1",
    "no end": "loss",
    "dashes": "-" * 100_000 + " loss: 1.5",
    "half escapes": "\x1b[" * 30_000 + "loss 1",
    "surrogates and controls": "loss=\udc80\x00\x01 1.5 step 1",
    "huge number": "step 1 loss " + "9" * 5_000,
    "huge step": "step " + "9" * 400 + " loss 0.5",
    "minus": "step -5 loss 0.5",
}


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_no_line_can_hold_the_reader_up_or_break_it(kind: str) -> None:
    begin = time.process_time()
    for event in all_events(OutputReader(), HOSTILE[kind] + "\n", HOSTILE[kind]):
        assert 0 <= event["step"] <= 2**53
    assert time.process_time() - begin < 0.5


def test_the_number_of_series_is_bounded() -> None:
    lines = "".join(f"step {n} loss=0.5 name{n}=1.5\n" for n in range(2_000))
    names = {name for _, values in points(all_events(OutputReader(), lines)) for name in values}
    assert len(names) == 500


REAL_TQDM = """
import sys, time
from tqdm import tqdm, trange
for _ in tqdm(range(30), desc="Loading shards"): pass
for epoch in range(2):
    with tqdm(range(20), desc=f"Epoch {epoch}", mininterval=0) as bar:
        for n in bar:
            bar.set_postfix(loss=1.0 / (1 + n + 20 * epoch))
"""


@pytest.mark.process
def test_what_tqdm_really_prints_is_read() -> None:
    command = [sys.executable, "-c", REAL_TQDM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    events = all_events(OutputReader(), done.stderr)
    assert [step for step, _ in points(events)][-1] == 40
    assert of_type(events, "progress")[-1]["step"] == 40
    assert points(events)[-1][1]["train/loss"] == pytest.approx(1 / 40, abs=0.001)

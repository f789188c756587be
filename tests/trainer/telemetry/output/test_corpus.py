"""What real programs print is read right, and what only looks like it is not read at all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.trainer.telemetry.output.corpus import FOLDER, HELD_OUT, Score, lines_of, score

FILES = sorted(FOLDER.glob("*.txt"))
UNSEEN = sorted(HELD_OUT.glob("*.txt"))


@pytest.mark.parametrize("name", [path.name for path in FILES])
def test_every_line_of_the_corpus_says_what_its_label_says(name: str) -> None:
    got, faults = score(FOLDER / name)
    assert (got.wrong, got.missed) == (0, 0), "\n".join(faults)


def table(paths: list[Path]) -> tuple[Score, str]:
    """The score of all files together, and a line per file."""
    whole, rows = Score(), []
    for path in paths:
        one, _ = score(path)
        whole.right, whole.wrong = whole.right + one.right, whole.wrong + one.wrong
        whole.missed += one.missed
        figures = f"precision {one.precision:.3f}, recall {one.recall:.3f}"
        rows.append(f"  {path.stem:28} {len(lines_of(path)):4} lines, {figures}")
    return whole, "\n".join(rows)


@pytest.mark.parametrize(("paths", "what"), [(FILES, "corpus"), (UNSEEN, "held out")])
def test_how_well_each_style_is_read(
    paths: list[Path], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, rows = table(paths)
    with capsys.disabled():
        figures = f"precision {whole.precision:.3f}, recall {whole.recall:.3f}"
        sys.stdout.write(f"\noutput, {what}: {figures}\n{rows}\n")
    if what == "corpus":
        assert whole.precision == 1.0


def test_talk_that_was_held_out_is_no_progress() -> None:
    got, faults = score(HELD_OUT / "talk.txt")
    assert got.wrong == 0, "\n".join(faults)

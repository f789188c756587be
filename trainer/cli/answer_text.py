"""Answers of trained models, and why there is none, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from typing import Any, Final

from trainer.asking.faults import AskingError
from trainer.cli.diagnose import in_words

_WIDTH: Final = 100
_BAR: Final = 30


def answer_text(result: Mapping[str, Any]) -> str:
    """The answer by its kind, below it which checkpoint gave it."""
    answer = result["answer"]
    lines = _KINDS[answer["kind"]](answer)
    if answer.get("note"):
        lines += ["", *textwrap.wrap(answer["note"], _WIDTH)]
    return "\n".join([*lines, "", _origin(result)])


def fault_text(fault: AskingError) -> str:
    """What went wrong and what helps."""
    place = f"{fault.field}: " if fault.field else ""
    parts = [f"error: {place}{fault.message}"]
    if fault.hint:
        parts.append(fault.hint)
    parts += [in_words(finding) for finding in fault.findings]
    if fault.lines and not any(finding.lines for finding in fault.findings):
        parts += ["Its last lines:", *(f"  | {line}" for line in fault.lines)]
    return "\n".join(parts)


def _ranking(answer: Mapping[str, Any]) -> list[str]:
    lines = []
    for place, document in enumerate(answer["documents"], start=1):
        score = document["score"]
        number = "    none" if score is None else f"{score:8.4f}"
        lines.append(f"{place:3d} {number}  {_one_line(document['title'] or document['id'], _WIDTH)}")
    lines.append(f"Best of {answer['num_candidates']:,} documents.")
    return lines


def _labels(answer: Mapping[str, Any]) -> list[str]:
    width = max((len(one["label"]) for one in answer["labels"]), default=0)
    lines = []
    for one in answer["labels"]:
        share = one["probability"] or 0.0
        lines.append(f"{one['label']:<{width}} {share:7.1%}  {'#' * round(share * _BAR)}")
    return lines


def _completion(answer: Mapping[str, Any]) -> list[str]:
    cut = " (cut: the longest answer allowed)" if answer.get("ended") == "length" else ""
    return [answer["completion"], "", f"{answer['num_tokens']:,} tokens{cut}."]


def _origin(result: Mapping[str, Any]) -> str:
    checkpoint = result["checkpoint"]
    names = [name for name in ("best", "last") if checkpoint[name]]
    which = f" ({', '.join(names)})" if names else ""
    return (
        f"Checkpoint of step {checkpoint['step']:,}{which}; opened in {result['open_s']:.1f} s, "
        f"answered in {result['answer_s'] * 1000:.0f} ms."
    )


def _one_line(text: str, width: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 3] + "..."


_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[str]]]] = {
    "ranking": _ranking,
    "labels": _labels,
    "completion": _completion,
}

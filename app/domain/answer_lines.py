"""How an answer is written down: one line of JSON, as it will be told.

Whoever reads a snapshot or an example's way puts lines together and never
takes them apart: a thousand answers cost no more than their bytes.  A line
lacks its opening brace, so that fields of the example can stand before its
own.  What became of an answer comes first, ``model_output`` after it::

    "exact_match":true,"loss":0.25,"similarity":0.5,"model_output":"…",…}

Of an imported answer the output follows after a tab, which JSON never holds:
its numbers are there as the original wrote them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from app.domain.answers import Documents, answer_of
from app.domain.snapshots import IMPORTED

_FRONT_ENDS: Final = b',"model_output":'
_SIMILARITY: Final = b',"similarity":'
_WRITTEN: Final = b"\t"


def lines_of(
    task: str,
    examples: Sequence[dict[str, Any]],
    columns: Mapping[str, Sequence[float]],
    outputs: Sequence[dict[str, Any]],
    documents: Documents,
) -> list[bytes]:
    """A line per probe.

    Args:
        task: decides what is told of an output.
        examples: the probes.
        columns: per name one number per probe.
        outputs: one per probe, as ``trainer.protocol.events`` has them.
        documents: at least those that outputs name and that are known.
    """
    finite = {
        name: [one if math.isfinite(one) else None for one in column] for name, column in columns.items()
    }
    rows = zip(*finite.values(), strict=True) if finite else [()] * len(outputs)
    told = zip(examples, rows, outputs, strict=True)
    lines = [
        line_of(answer_of(probe, task, dict(zip(finite, row, strict=True)), output, documents))
        for probe, row, output in told
    ]
    if task != IMPORTED:
        return lines
    return [line + _WRITTEN + orjson.dumps(output) for line, output in zip(lines, outputs, strict=True)]


def line_of(answer: dict[str, Any]) -> bytes:
    """An answer of ``answer_of`` on a line."""
    return orjson.dumps(answer)[1:]


def answer_in(line: bytes) -> dict[str, Any]:
    """The whole answer."""
    answer: dict[str, Any] = orjson.loads(b"{" + without_output(line))
    return answer


def front_of(line: bytes) -> dict[str, Any]:
    """``exact_match``, ``loss`` and, where it was said, ``similarity``; the rest is not parsed."""
    front: dict[str, Any] = orjson.loads(b"{%b}" % line.partition(_FRONT_ENDS)[0])
    return front


def tells_similarity(line: bytes) -> bool:
    """Whether anybody has said how alike the answer is to what was expected."""
    return line.find(_SIMILARITY, 0, line.find(_FRONT_ENDS)) >= 0


def written_in(line: bytes) -> dict[str, Any]:
    """The output of an imported answer."""
    written: dict[str, Any] = orjson.loads(line.partition(_WRITTEN)[2])
    return written


def without_output(line: bytes) -> bytes:
    """What is told of an answer that may have been imported."""
    return line.partition(_WRITTEN)[0]


def listed(answers: Iterable[tuple[bytes, bytes]]) -> orjson.Fragment:
    """Answers as a list of JSON objects that ``orjson`` takes as it is.

    Args:
        answers: fields that come first, ending with a comma, and what is told of the answer.
    """
    parts = [b"["]
    for fields, told in answers:
        parts += (b",{", fields, told)
    if len(parts) > 1:
        parts[1] = b"{"
    return orjson.Fragment(b"".join([*parts, b"]"]))

"""How an answer is written down: one line of JSON, as it will be told.

Whoever reads a snapshot or an example's way puts lines together and never
takes them apart: a thousand answers cost no more than their bytes.  What
became of an answer stands at its front, before ``model_output``::

    {"exact_match":true,"loss":0.25,"similarity":0.5,"model_output":"…",…}

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
    return [
        _line_of(answer_of(probe, task, dict(zip(finite, row, strict=True)), output, documents), task, output)
        for probe, row, output in told
    ]


def _line_of(answer: dict[str, Any], task: str, output: dict[str, Any]) -> bytes:
    line = orjson.dumps(answer)
    return line + _WRITTEN + orjson.dumps(output) if task == IMPORTED else line


def answer_in(line: bytes) -> dict[str, Any]:
    """The whole answer."""
    answer: dict[str, Any] = orjson.loads(line.partition(_WRITTEN)[0])
    return answer


def front_of(line: bytes) -> dict[str, Any]:
    """``exact_match``, ``loss`` and, where it was said, ``similarity``; the rest is not parsed."""
    front: dict[str, Any] = orjson.loads(line.partition(_FRONT_ENDS)[0] + b"}")
    return front


def tells_similarity(line: bytes) -> bool:
    """Whether anybody has said how alike the answer is to what was expected."""
    return line.find(_SIMILARITY, 0, line.find(_FRONT_ENDS)) >= 0


def written_in(line: bytes) -> dict[str, Any]:
    """The output of an imported answer."""
    written: dict[str, Any] = orjson.loads(line.partition(_WRITTEN)[2])
    return written


def beginning_with(fields: bytes, line: bytes) -> bytes:
    """The answer as an object with some ``fields`` before its own; they end with a comma."""
    return b"{%b%b" % (fields, line.partition(_WRITTEN)[0][1:])


def listed(objects: Iterable[bytes]) -> orjson.Fragment:
    """Finished JSON objects as a list that ``orjson`` puts into an answer as it is."""
    return orjson.Fragment(b"[%b]" % b",".join(objects))

"""Progress bars: those of tqdm, which Lightning and the Hugging Face Trainer use too, and those of Keras.

A bar is only a bar. Whether it counts steps of the training, an evaluation or a
download shows by its words, by the metrics behind it and by what the lines
around it say; :class:`BarKind` is what its words alone say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final

from trainer.telemetry.output.names import Part
from trainer.telemetry.output.pairs import postfix_values
from trainer.telemetry.output.reading import count

_TQDM: Final = re.compile(
    r"(?<![\d.])\d{1,3}%(?:\|[^|]*\|)?[ \t]*"
    r"(?P<n>\d+)/(?P<total>\d+)[ \t]*\[(?P<elapsed>[\d:]+)<(?P<left>[^,\]]{1,20}),[ \t]*"
    r"(?P<rate>\?|[\d.]+)[ \t]*(?P<unit>[A-Za-z/]{1,24})(?:,[ \t]*(?P<postfix>[^\]]*))?\]"
)
_ENDLESS: Final = re.compile(
    r"(?<![\w.])(?P<n>\d+)(?:it|batch|step)s?[ \t]*\[(?P<elapsed>[\d:]+),[ \t]*"
    r"(?P<rate>\?|[\d.]+)[ \t]*(?P<unit>[A-Za-z/]{1,24})(?:,[ \t]*(?P<postfix>[^\]]*))?\]"
)
_KERAS: Final = re.compile(
    r"[ \t]*(?P<n>\d+)/(?P<total>\d+|Unknown)[ \t]+"
    r"(?:\[[=>.]*\]|[━╸╺─╴╶]+(?:[ \t]+[━╸╺─╴╶]+)*|(?=- ))[ \t]*(?:-[ \t]*)?"
    r"(?P<time>(?:ETA:[ \t]*)?[\d:.]+(?:[mun]?s)?)"
    r"(?P<pace>[ \t]+[\d.]+(?:[mun]?s)?/(?:step|epoch|sample))?(?P<rest>.*)"
)
_KERAS_VALUE: Final = re.compile(
    r" - ([A-Za-z_][\w@.-]*): ([-+]?[\d.]+(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf))(?=$|[ \t])"
)
_DESC_EPOCH: Final = re.compile(r"epoch\W{0,4}(\d+)(?:\s*(?:/|of)\s*(\d+))?", re.IGNORECASE)
_EVALUATING: Final = re.compile(
    r"\b(?:val\w*|eval\w*|test\w*|dev|predict\w*|sanity\w*|inference|scoring|metrics?)\b", re.IGNORECASE
)
_TRAINING: Final = re.compile(
    r"\W*(?:train(?:ing)?|epochs?|iterations?|steps?|fine-?tun\w+|pre-?train\w*|sgd|optimi[sz]ing)\b",
    re.IGNORECASE,
)
_ELSEWHERE: Final = re.compile(
    r"load|download|fetch|token|map\b|filter|shard|split|extract|dataset|pack|truncat|adding|cach|process"
    r"|prepar|comput|convert|upload|push|sav|writ|read|build|index|encod|embed|collat|warm|compil|batches\b"
    r"|generat|files?\b",
    re.IGNORECASE,
)
_UNIT: Final = r"(?:it|iter|iters|batch|batches|step|steps|update|updates)"
_UNITS: Final = re.compile(rf"{_UNIT}/s|s/{_UNIT}")
_EPOCH_UNITS: Final = re.compile(r"epochs?/s|s/epochs?|ep/s|s/ep")


class BarKind(Enum):
    """What a bar counts, as far as its words tell."""

    TRAINING = "training"
    EPOCHS = "epochs"
    EVALUATING = "evaluating"
    ELSEWHERE = "elsewhere"
    NAMELESS = "nameless"


@dataclass(slots=True)
class Bar:
    """One rendering of a bar. ``total`` is None where its end is unknown; ``rest`` is text behind it."""

    kind: BarKind
    desc: str
    n: int
    total: int | None
    values: dict[str, float] = field(default_factory=dict)
    epoch: int | None = None
    num_epochs: int | None = None
    rest: str = ""
    is_keras: bool = False


def read_bar(text: str) -> Bar | None:
    """The bar a line shows; None where it shows none."""
    if "[" in text and ("/s" in text or "s/" in text or "?it" in text):
        match = _TQDM.search(text) or _ENDLESS.search(text)
        if match is not None:
            return _tqdm(match, text)
    if "/" in text and (match := _KERAS.match(text)) is not None:
        return _keras(match)
    return None


def _tqdm(match: re.Match[str], text: str) -> Bar | None:
    fields = match.groupdict()
    n, total = count(fields["n"]), count(fields.get("total"))
    if n is None:
        return None
    desc = text[: match.start()].strip(" \t:|")
    kind = _kind(desc, fields["unit"])
    part = Part.EVAL if kind is BarKind.EVALUATING else Part.TRAIN
    values = postfix_values(fields["postfix"], part) if fields["postfix"] else {}
    if not values and "oss" in desc:
        values = postfix_values(desc, part)
    if values and kind in (BarKind.NAMELESS, BarKind.ELSEWHERE) and _UNITS.fullmatch(fields["unit"]):
        kind = BarKind.TRAINING
    bar = Bar(kind, desc, n, total, values, rest=text[match.end() :])
    epoch = _DESC_EPOCH.search(desc)
    if epoch is not None:
        bar.epoch, bar.num_epochs = count(epoch[1]), count(epoch[2])
    return bar


@lru_cache(maxsize=1024)
def _kind(desc: str, unit: str) -> BarKind:
    if _EPOCH_UNITS.fullmatch(unit):
        return BarKind.EPOCHS
    if not _UNITS.fullmatch(unit):
        return BarKind.ELSEWHERE
    if not desc.strip(" :-"):
        return BarKind.NAMELESS
    if _ELSEWHERE.search(desc):
        return BarKind.ELSEWHERE
    if _EVALUATING.search(desc):
        return BarKind.EVALUATING
    if desc.strip(" :").lower() in ("epoch", "epochs"):
        return BarKind.EPOCHS
    return BarKind.TRAINING if _TRAINING.match(desc) or _DESC_EPOCH.search(desc) else BarKind.ELSEWHERE


def _keras(match: re.Match[str]) -> Bar | None:
    n = count(match["n"])
    if n is None or not (match["pace"] or " - " in match["rest"]):
        return None
    printed = ", ".join(f"{key}={value}" for key, value in _KERAS_VALUE.findall(match["rest"]))
    values = postfix_values(printed, Part.TRAIN)
    if not values and match["pace"] is None:
        return None
    return Bar(BarKind.TRAINING, "keras", n, count(match["total"]), values, is_keras=True)

"""Names with numbers behind them, in the lines people and libraries print.

``loss=0.5``, ``loss: 0.5`` and ``loss 0.5`` are read when a name that people
measure is among them, and either the line says where in the run it is
(``step 300``, ``Epoch [3][50/2500]``, ``[100]``) or it consists of nothing else
and its numbers are no whole ones. Everything else is talk.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from trainer.telemetry.output.names import Part, is_known, is_ours, metric_name, part_named, split_part
from trainer.telemetry.output.reading import Reading, count

_NUMBER: Final = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|NaN|NAN|inf|Inf|Infinity)\b"
_PAIR: Final = re.compile(
    r"(?<![\w@/.'-])(?P<key>[A-Za-z][\w@/.'-]*+(?:[ \t]++[A-Za-z][\w@/.'-]*+){0,3}?)"
    r"(?P<sign>\s*[=:]+\s*|\s+)"
    rf"[\[(]?(?:tensor\()?(?P<value>{_NUMBER})"
    r"(?P<unit>%|[A-Za-z]+(?:/[A-Za-z]+)?)?(?:[ \t]?/[ \t]?(?P<of>\d+))?"
    r"(?=$|[\s,;|)\]}%\"']|:(?!\d)|\.$)(?:[ \t]*\([ \t]*[-+.\d]+[ \t]*%?[ \t]*\))?"
)
_FILLER: Final = re.compile(
    r"(?:[\s,;|()\[\]:>*=#.-]|\b(?:train|training|val|valid|validation|eval|evaluation|test|dev|set|results?|metrics?"
    r"|stats|summary|epoch|end|of|on|final)\b|\b\d+(?:\.\d+)?[ ]?(?:ms|s|secs?|seconds|min|h)\b)*",
    re.IGNORECASE,
)
_PREFIX: Final = re.compile(
    r"(?:\[(?:rank|default)?_?(?P<rank>\d+)\]:\s*)?"
    r"(?:\[?(?:[\d/.-]+[ T])?\d\d:\d\d:\d\d(?:[.,]\d+)?[^\]\s]*\]?(?:[ \t]+[\w.]+\])?[\s:|,-]*)?"
    r"(?:\[?(?:[A-Za-z_][\w.]*[ \t]*[-|:][ \t]*)?(?:DEBUG|INFO|WARNING|Info)\]?\b[\s:|\]-]*"
    r"(?:[\w.]+(?::\d+)?[ \t]*(?:[-|:][ \t]*)+)?)?"
)
_EPOCH: Final = re.compile(
    r"\bepoch(?:\((?P<part>\w+)\))?\W{0,4}(?P<epoch>\d+)(?:\s*/\s*(?P<of>\d+))?(?![.\w])", re.IGNORECASE
)
_TRAIN_EPOCH: Final = re.compile(
    r"\W*train(?:ing)?:\s*(?P<epoch>\d+)(?:/(?P<of>\d+))?[^\[]{0,12}\[(?P<part>(?!))?", re.IGNORECASE
)
_STEP: Final = re.compile(
    r"\b(?P<word>global[_ ]?step|num[_ ]updates|(?:train(?:ing)?[_ ])?(?:steps?|iter(?:ation)?s?)|updates?"
    r"|total[_ ](?:t|timesteps)|batch(?:_idx)?|mini-?batch|it)"
    r"\b\W{0,4}(?P<step>\d+)(?:\s*/\s*(?P<total>\d+))?(?![.\w])",
    re.IGNORECASE,
)
_BRACKET: Final = re.compile(r"\[\s*(?P<step>\d+)\s*/\s*(?P<total>\d+)(?:\s*\(\s*\d+\s*%\s*\))?\s*\]")
_AFTER_EPOCH: Final = re.compile(r"[:|,-]?[\s|]+(?P<step>\d+)\s*/\s*(?P<total>\d+)\s")
_STEP_BEHIND: Final = re.compile(r"\s+step\s+(?P<step>\d+)(?P<total>(?!))?\b")
_EPOCH_AND_STEP: Final = re.compile(
    r"\W{0,3}\[\s*(?P<epoch>\d+)(?:\s*/\s*(?P<of>\d+)\s*\]\s*\[|\s*,)\s*(?P<step>\d+)(?:\s*/\s*(?P<total>\d+))?\s*\]"
)
_BOOSTING: Final = re.compile(rf"(\d+):\s+learn:\s+({_NUMBER})(?:\s+test:\s+({_NUMBER}))?\s")
_TIMES: Final = frozenset({"ms", "s", "sec", "secs", "m", "min", "h"})
_ROUND: Final = re.compile(r"\[(?P<step>\d+)\]\s+\S")
_HEADER: Final = re.compile(r"\W*epoch\W{0,3}(\d+)(?:\s*(?:/|of)\s*(\d+))?\W*", re.IGNORECASE)
_PART: Final = re.compile(
    r"\W*(?:epoch\W{0,4}\d+(?:\s*/\s*\d+)?\W+)?(?:\w+\W+)??"
    r"(?P<part>val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev)\b",
    re.IGNORECASE,
)
_TALK: Final = re.compile(
    r"\W*(?:[\w.-]+\W+){0,2}?(?:load\w*|resum\w+|restor\w+|sav(?:ed|ing|e)|best|early|error|exception|skip\w*|config\w*"
    r"|arg\w*|param\w*|using|default|expect\w*|target|reset\w*|initial\w*|checkpoint\w*|download\w*|install\w*"
    r"|requirement|usage|stopp\w+|namespace|hparams|hyperparam\w*|loss_scale|found|previous|will|should)\b",
    re.IGNORECASE,
)
_SETTINGS: Final = re.compile(
    r"\b(?:batch_size|weight_decay|hidden_size|hidden_dim|num_layers|dropout|seed|optimizer|num_workers|vocab_size"
    r"|architectures|model_type|max_epochs|warmup_steps|num_train_epochs|gradient_accumulation_steps|d_model)\b",
    re.IGNORECASE,
)
_STATEMENT: Final = re.compile(r"\s*(?:return|yield)\s+\S+\s*")  # a line of a traceback, not a return
_CODE: Final = re.compile(r"\s*(?:[*+]|/(?!\s*\d)|\*\*)")
_GLOBAL: Final = ("global", "num", "update", "total")


def without_prefix(line: str) -> str | None:
    """``line`` without the clock, level and rank in front; None where another rank than 0 speaks."""
    match = _PREFIX.match(line)
    if match is None:
        return line
    if match["rank"] not in (None, "0"):
        return None
    return line[match.end() :]


def has_settings(text: str) -> bool:
    """Whether the text names what is set and not measured."""
    return _SETTINGS.search(text) is not None


def part_of(text: str) -> Part:
    """The part a line speaks of by its first words."""
    match = _PART.match(text)
    if match is None:
        return Part.TRAIN
    return Part.TEST if match["part"].lower().startswith("test") else Part.EVAL


def read_pairs(text: str) -> Reading | None:
    """The metrics of a line without its prefix; None where it says nothing about the training."""
    if "poch" in text.lower()[:12] and (header := _HEADER.fullmatch(text)) is not None:
        return Reading(epoch=count(header[1]), num_epochs=count(header[2]), is_epoch_header=True)
    if "learn:" in text and (boosting := _BOOSTING.match(text)) is not None:
        return _boosting(boosting)
    if _TALK.match(text) or _STATEMENT.fullmatch(text) or (":" in text and _is_trouble(text)):
        return None
    part = part_of(text)
    reading = Reading(part=part)
    read_place(text, reading)
    found = _pairs(text, part, is_placed=reading.has_place)
    if found is None:
        return None
    reading.values, covered, is_fraction = found
    if not reading.has_place and (not covered or not is_fraction or has_settings(text)):
        return None
    return reading


def _boosting(match: re.Match[str]) -> Reading:
    """A round of CatBoost, which says neither what it measures nor the word for a step."""
    values = {"train/loss": float(match[2])}
    if match[3] is not None:
        values["eval/loss"] = float(match[3])
    return Reading(values, step=count(match[1]))


def _is_trouble(text: str) -> bool:
    """Whether the line is a warning or an error that mentions a metric."""
    return any(word in text for word in ("Warning:", "Error:", "Exception:"))


def postfix_values(text: str, part: Part) -> dict[str, float]:
    """The metrics behind a progress bar, ``loss=0.5, acc=0.9``; empty where none is known."""
    found = _pairs(text, part, is_placed=True)
    return {} if found is None else found[0]


def _pairs(text: str, part: Part, *, is_placed: bool) -> tuple[dict[str, float], bool, bool] | None:
    """Values by name, whether the line holds nothing else, and whether a known one is no whole number.

    What else a line holds is not asked when it says where it belongs (``is_placed``).
    """
    values: dict[str, float] = {}
    is_any_known = is_fraction = False
    covered, position, before = not is_placed, 0, ""
    may_be_code = "*" in text or "+" in text or " /" in text
    for match in _PAIR.finditer(text):
        key, sign, printed, unit, of = match.groups()
        start, end = match.span()
        covered = covered and (start == position or _is_filler(text[position:start]))
        position = end
        is_metric, is_setting, is_part, ends_with_part = _meaning(key)
        if (unit is not None and unit != "%") or (may_be_code and _CODE.match(text, position)):
            covered = covered and unit in _TIMES and not is_metric
            continue
        if not is_metric and not is_setting and sign.isspace():
            covered = covered and key.isidentifier()
            continue
        name = f"{_part(key)}/{before}" if is_part and before else metric_name(key, default=part)
        if name is None:
            continue
        if is_metric:
            is_any_known = True
            is_fraction = is_fraction or of is not None or not printed.lstrip("+-").isdigit()
            before = name.partition("/")[2] if ends_with_part else before
        if name not in values:
            values[name] = _number(printed, of)
    if not is_any_known:
        return None
    return values, covered and _is_filler(text[position:].rstrip(" .%!")), is_fraction


@lru_cache(maxsize=4096)
def _meaning(key: str) -> tuple[bool, bool, bool, bool]:
    """Whether a name is measured, is shown though it is set, is that of a part, and ends with one."""
    ends_with_part = part_named(key.split()[-1]) is not None
    return is_known(key), is_ours(key), part_named(key) is not None, ends_with_part


@lru_cache(maxsize=1024)
def _is_filler(gap: str) -> bool:
    """Whether what stands between two values says nothing."""
    return _FILLER.fullmatch(gap) is not None


def _part(key: str) -> str:
    part = part_named(key)
    return "" if part is None else part.value


def _number(printed: str, of: str | None) -> float:
    whole = float(of) if of is not None else 0.0
    return float(printed) / whole if whole else float(printed)


def _epoch_in(text: str) -> re.Match[str] | None:
    found = _EPOCH.search(text) if "poch" in text or "POCH" in text else None
    if found is None and "rain" in text[:16]:
        found = _TRAIN_EPOCH.match(text)
    return found


def _may_name_step(lower: str) -> bool:
    return "step" in lower or "it" in lower or "batch" in lower or "update" in lower or "total" in lower


def read_place(text: str, reading: Reading) -> None:
    """Take from ``text`` where in the run a reading belongs, as far as it says so."""
    both = _EPOCH_AND_STEP.match(text) if "[" in text[:4] else None
    if both is not None:
        reading.epoch, reading.num_epochs = count(both["epoch"]), count(both["of"])
        reading.step, reading.total = count(both["step"]), count(both["total"])
        return
    end_of_epoch = 0
    epoch = _epoch_in(text)
    if epoch is not None:
        reading.epoch, reading.num_epochs = count(epoch["epoch"]), count(epoch["of"])
        end_of_epoch = epoch.end()
        if epoch["part"] and split_part(f"{epoch['part']}_x")[0] not in (None, Part.TRAIN):
            reading.part = Part.EVAL
    place = _STEP.search(text) if _may_name_step(text.lower()) else None
    if place is not None:
        reading.word = place["word"].lower()
        reading.is_global_step = reading.word.startswith(_GLOBAL)
        if reading.word.startswith("iter") and (behind := _STEP_BEHIND.match(text, place.end())) is not None:
            place, reading.word = behind, "step"
    elif epoch is not None and (after := _AFTER_EPOCH.match(text, end_of_epoch)):
        place = after
    else:
        place = _BRACKET.search(text)
    if place is not None:
        reading.step, reading.total = count(place["step"]), count(place["total"])
    elif epoch is None and (first := _ROUND.match(text)):
        reading.step = count(first["step"])

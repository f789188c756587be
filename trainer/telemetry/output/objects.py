"""Lines that are one object: a Python dict as the Hugging Face Trainer prints it, or one line of JSON."""

from __future__ import annotations

import re
from typing import Final

from trainer.telemetry.output.names import Part, is_known, metric_name
from trainer.telemetry.output.pairs import has_settings
from trainer.telemetry.output.reading import Reading

_ENTRY: Final = re.compile(
    r"""['"](?P<key>[\w@/. -]{1,100})['"]\s*:\s*(?:[A-Za-z_][\w.]*\()?['"]?"""
    r"""(?P<value>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|NaN|inf|Infinity))['"]?(?=[\s,)}])"""
)
_STEPS: Final = ("step", "global_step", "num_updates", "train_num_updates", "valid_num_updates", "iter",
                 "iteration", "_step", "trainer/global_step", "train/global_step")  # fmt: skip
_TOTALS: Final = ("total_steps", "max_steps")
_SUMMARY: Final = "train_runtime"


def object_start(text: str) -> int:
    """Where the object begins with which the line ends; -1 where it ends with none."""
    return text.find("{") if text.endswith("}") else -1


def read_object(text: str) -> Reading | None:
    """The metrics of an object; None where it holds none, as a configuration does."""
    printed: dict[str, str] = {}
    for match in _ENTRY.finditer(text):
        printed.setdefault(match["key"], match["value"])
    known = [value for key, value in printed.items() if is_known(key)]
    if not known:
        return None
    entries = {key: float(value) for key, value in printed.items()}
    step = _whole(entries, _STEPS)
    is_plain = step is None and "epoch" not in entries
    if is_plain and (has_settings(text) or all(value.lstrip("+-").isdigit() for value in known)):
        return None
    reading = Reading(step=step, total=_whole(entries, _TOTALS), is_global_step=True)
    reading.progress_epoch = entries.get("epoch")
    reading.is_final = _SUMMARY in entries
    for key, value in entries.items():
        name = metric_name(key)
        if name is not None and key not in _STEPS:
            reading.values[f"final/{name.partition('/')[2]}" if reading.is_final else name] = value
    if reading.values and all(not name.startswith("train/") for name in reading.values):
        reading.part = Part.EVAL
    return reading


def _whole(entries: dict[str, float], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = entries.get(name)
        if value is not None and 0 <= value < 2**53 and value == int(value):
            return int(value)
    return None

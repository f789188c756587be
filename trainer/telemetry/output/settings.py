"""How the output of a script is read; a script's declaration may say it, the defaults fit most."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object, write_atomic
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.output.patterns import check_pattern

MAX_PATTERNS: Final = 16
_FILE: Final = "output.json"


class OutputSettingsError(ValueError):
    """A setting is wrong; the message names it and the remedy. ``key`` is the setting's name."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key


@dataclass(frozen=True)
class OutputSettings:
    """How output is read.

    ``reads`` False reads nothing at all. ``formats`` False leaves only the
    user's own ``patterns``: regular expressions with named groups, of which
    ``step``, ``total_steps``, ``epoch`` and ``num_epochs`` tell the place and
    all others are metrics (``eval__loss`` is ``eval/loss``).
    ``steps_per_report`` is how many steps pass between two lines that name no
    step themselves.
    """

    reads: bool = True
    formats: bool = True
    patterns: tuple[str, ...] = ()
    steps_per_report: int = 1

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> OutputSettings:
        """Check what a declaration says, e.g. the table ``[output]`` of a ``script.toml``.

        Raises:
            OutputSettingsError: names the key, what is wrong and what is allowed.
        """
        known = {"reads", "formats", "patterns", "steps_per_report"}
        for key in raw:
            if key not in known:
                raise OutputSettingsError(str(key), f"is unknown; there are {', '.join(sorted(known))}")
        for key in ("reads", "formats"):
            if not isinstance(raw.get(key, True), bool):
                raise OutputSettingsError(key, f"must be true or false, got {raw[key]!r:.60}")
        steps = raw.get("steps_per_report", 1)
        if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= 1_000_000:
            raise OutputSettingsError("steps_per_report", f"must be from 1 to 1000000, got {steps!r:.60}")
        return cls(
            reads=raw.get("reads", True),
            formats=raw.get("formats", True),
            patterns=_patterns(raw.get("patterns", ())),
            steps_per_report=steps,
        )

    def to_json(self) -> dict[str, Any]:
        """What :meth:`from_json` reads."""
        return {**asdict(self), "patterns": list(self.patterns)}

    def save(self, paths: RunPaths) -> None:
        """Keep the settings in the run folder, before its first attempt.

        Raises:
            OSError: the disk refuses.
        """
        write_atomic(paths.root / _FILE, json.dumps(self.to_json(), indent=2).encode())

    @classmethod
    def load(cls, paths: RunPaths) -> OutputSettings:
        """The settings of a run; the defaults where it has none of its own.

        Raises:
            ProtocolError: the file is there but cannot be used.
        """
        if not (paths.root / _FILE).exists():
            return cls()
        try:
            return cls.from_json(read_object(paths.root / _FILE))
        except OutputSettingsError as exc:
            raise ProtocolError(f"{paths.root / _FILE}: {exc}") from exc


def _patterns(raw: Any) -> tuple[str, ...]:
    if not isinstance(raw, (list, tuple)) or not all(isinstance(pattern, str) for pattern in raw):
        raise OutputSettingsError("patterns", "must be a list of regular expressions, each in quotes")
    if len(raw) > MAX_PATTERNS:
        raise OutputSettingsError("patterns", f"there may be {MAX_PATTERNS}, got {len(raw)}")
    for number, pattern in enumerate(raw, start=1):
        trouble = check_pattern(pattern)
        if trouble is not None:
            raise OutputSettingsError("patterns", f"number {number}, {pattern!r:.80}: {trouble}")
    return tuple(raw)

"""The table ``[output]`` of a declaration, checked: how the reader of outputs takes it."""

from __future__ import annotations

from trainer.scripts.declaration import Script, ScriptError
from trainer.telemetry.output.settings import OutputSettings, OutputSettingsError


def output_settings(script: Script) -> OutputSettings:
    """How the output of ``script`` is read.

    Raises:
        ScriptError: names the key.
    """
    try:
        return OutputSettings.from_json(script.output)
    except OutputSettingsError as exc:
        problem = str(exc).removeprefix(f"{exc.key}: ")
        raise ScriptError(f"{script.file}: output.{exc.key}", problem, "see docs/scripts.md") from exc

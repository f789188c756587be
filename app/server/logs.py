"""The server's own log: one line per event, nothing in it that could fake a second one."""

from __future__ import annotations

import logging
import re
import sys
from typing import Final

from app.config import Settings

_SECRET: Final = re.compile(r"(code=|Bearer |sbx_)[\w\-.]{8,}")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class PlainFormatter(logging.Formatter):
    """Escapes control characters and blacks out secrets; tracebacks keep their lines."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as text."""
        record.message = record.getMessage().replace("\n", "\\n")
        record.asctime = self.formatTime(record, self.datefmt)
        text = self.formatMessage(record)
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        text = _SECRET.sub(r"\1[hidden]", text)
        return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def set_up_logging(settings: Settings) -> None:
    """Send all logs to standard error, third parties from warning on."""
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(
        PlainFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S")
    )
    level = settings.log_level.upper()
    root = logging.getLogger()
    root.handlers[:] = [stream]
    root.setLevel(max(logging.getLevelName(level), logging.WARNING))
    for name in ("app", "signalbox"):
        logging.getLogger(name).setLevel(level)

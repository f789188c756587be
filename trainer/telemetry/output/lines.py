"""Text that comes in pieces becomes lines: carriage returns start anew, colours go, length is bounded."""

from __future__ import annotations

import re
from typing import Final

MAX_LINE: Final = 2_048
_COLOURS: Final = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])|\x08")
_GAPS: Final = re.compile(r"[ \t]{3,}")
_ENDS: Final = re.compile(r"[\r\n]+")


class LineSplitter:
    """Remembers the line that is still being written; of a longer one only the first 2,048 characters."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> list[str]:
        """The lines that are whole now, without their ends, none of them empty."""
        pieces = _ENDS.split(self._rest + text)
        rest = pieces.pop()
        self._rest = rest[:MAX_LINE]
        return [_clean(piece) for piece in pieces if piece]

    def flush(self) -> list[str]:
        """The last line, which nobody has ended."""
        rest, self._rest = self._rest, ""
        return [_clean(rest)] if rest else []


def _clean(piece: str) -> str:
    if len(piece) > MAX_LINE:
        piece = piece[:MAX_LINE]
    if "\x1b" in piece or "\x08" in piece:
        piece = _COLOURS.sub("", piece)
    return _GAPS.sub("  ", piece) if "   " in piece else piece

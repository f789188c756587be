"""JSON as bytes, fast where orjson is installed: a script's own interpreter may lack it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any, Final


def _plain_dumps(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _fastest() -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    try:
        orjson = importlib.import_module("orjson")
    except ImportError:
        return _plain_dumps, json.loads
    return orjson.dumps, orjson.loads


dumps: Final = _fastest()[0]
loads: Final = _fastest()[1]

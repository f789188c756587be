"""Byte counts as people read them."""

from __future__ import annotations

from typing import Final

MIB: Final = 1024 * 1024
GIB: Final = 1024 * MIB


def size(num_bytes: float) -> str:
    """``1536`` becomes ``1.5 KiB``."""
    value, unit = float(num_bytes), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"

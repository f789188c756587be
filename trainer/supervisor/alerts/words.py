"""Numbers as people read them, for the texts of alerts."""

from __future__ import annotations


def number(value: float) -> str:
    """Four significant digits, no needless zeros."""
    return f"{value:.4g}"


def percent(share: float) -> str:
    """``12 %`` of 0.1234."""
    return f"{100 * share:.0f} %"


def size(num_bytes: float) -> str:
    """Bytes in the unit that gives a short number: ``1.5 GiB``."""
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20)):
        if num_bytes >= factor:
            return f"{num_bytes / factor:.3g} {unit}"
    return f"{num_bytes / 1024:.3g} KiB"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever is short."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"

"""How a trainer reports: spool, heartbeat, controls. Never imports torch.

A user's own script says ``from trainer.telemetry import current_run``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer.telemetry.current import alert, current_run, finish, init, log

__all__ = ["alert", "current_run", "finish", "init", "log"]


def __getattr__(name: str) -> Any:
    """The words of :mod:`trainer.telemetry.current`, loaded when a script asks for one."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - nothing else needs it, and nobody asks twice

    return getattr(importlib.import_module("trainer.telemetry.current"), name)

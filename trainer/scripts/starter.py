"""Runs a person's Python script as if it had been called itself: ``starter.py STACKS SCRIPT ARGUMENTS…``.

The one thing it adds: at SIGUSR1 the stacks of all threads are written to the
file ``STACKS``, without which a script that hangs could not show where.  It
runs under interpreters of any version and environment, so it needs nothing but
the standard library, and it leaves no trace of itself in ``sys.modules``.
"""

import faulthandler
import os
import signal
import sys


def answer_with_stacks(path: str) -> None:
    """Write all stacks into the file ``path`` at SIGUSR1; a script without it is run all the same."""
    if not path or not hasattr(faulthandler, "register"):
        return
    try:
        faulthandler.register(
            signal.SIGUSR1, file=os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        )
    except (OSError, RuntimeError, ValueError):
        return


def main() -> None:
    """Become the script: its arguments, its folder first on the module path, its name ``__main__``."""
    stacks, script = sys.argv[1], sys.argv[2]
    answer_with_stacks(stacks)
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.realpath(script))  # noqa: PTH120 - pathlib costs every start
    with open(script, "rb") as file:  # noqa: PTH123
        code = compile(file.read(), script, "exec")
    module = sys.modules["__main__"]
    names = vars(module)
    for name in [name for name in names if not (name.startswith("__") and name.endswith("__"))]:
        del names[name]
    names["__file__"] = script
    names["__doc__"] = None
    names["__cached__"] = None
    exec(code, names)  # noqa: S102 - a registered script, checked by whoever started this process


if __name__ == "__main__":
    main()

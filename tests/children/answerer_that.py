"""A model's process that misbehaves: ``python -m tests.children.answerer_that HOW``.

It takes requests as JSON lines and answers them as ``trainer.asking`` does, until HOW says otherwise.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any


def main() -> None:
    """Open well, then answer as asked for on the command line."""
    how = sys.argv[1]
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "open":
            say({"tell": "reading the weights", "fraction": 0.5})
            say({"done": "open"})
        else:
            misbehave(how)
            say({"done": "answer", "answer": {"kind": "labels", "label": "a", "labels": []}})


def misbehave(how: str) -> None:
    """Do what makes the answer fail."""
    if how == "is_killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "crashes":
        sys.stderr.write("Fatal Python error: Segmentation fault\n")
        sys.stderr.flush()
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif how == "runs_out_of_memory":
        raise MemoryError
    elif how == "hangs":
        time.sleep(600)
    elif how == "eats":
        eaten = [bytearray(8 * 1024 * 1024) for _ in range(40)]
        time.sleep(600)
        del eaten
    elif how == "says_too_much":
        say({"answer": "x" * (6 * 1024 * 1024)})
    elif how == "leaves_a_child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        say({"tell": str(child.pid), "fraction": 0.0})
        time.sleep(600)


def say(word: dict[str, Any]) -> None:
    """One JSON line."""
    sys.stdout.write(json.dumps(word) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Stacks from outside, by py-spy where it is installed: for a trainer that does not answer SIGUSR1.

Optional and never required: without py-spy on the PATH (or beside the interpreter) nothing
happens, and a system that forbids to look into other processes is quoted.  Its answer is put
into the form of faulthandler's, so that everything that reads stacks reads one form; native
frames come along where py-spy can see them.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_WAIT_S: Final = 5.0
_REFUSALS: Final = ("permission denied", "operation not permitted", "ptrace")


def find_py_spy() -> str | None:
    """The program, on the PATH or beside this interpreter; None where it is not installed."""
    return shutil.which("py-spy") or shutil.which("py-spy", path=str(Path(sys.executable).parent))


class PySpyRequest:
    """One dump, from the start of py-spy to the text; look at it until ``is_over``.

    ``text`` is empty when there is none; ``trouble`` then says why, in words.
    """

    def __init__(self, pid: int) -> None:
        self.text = ""
        self.trouble = ""
        self.is_over = False
        self._asked_at = time.monotonic()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the request is over
        program = find_py_spy()
        if program is None:
            self._end("py-spy, which could look into it from outside, is not installed")
            return
        command = [program, "dump", "--json", "--pid", str(pid)]
        if sys.platform == "linux":
            command.append("--native")
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT
            )
        except OSError as exc:
            self._end(f"py-spy cannot be started: {exc.strerror}")

    @property
    def decisive(self) -> str:
        """The part of the text that tells where it stands: all of it."""
        return self.text

    def look(self) -> None:
        """Read the answer once it is complete; give up after a few seconds."""
        if self.is_over:
            return
        if self._process.poll() is None:
            if time.monotonic() - self._asked_at >= _WAIT_S:
                self.abandon()
                self.trouble = f"py-spy gave no answer within {_WAIT_S:.0f} s"
            return
        self._output.seek(0)
        said = self._output.read().decode("utf-8", "replace")
        self.text = as_faulthandler(said)
        self._end("" if self.text else _in_words(said))

    def abandon(self) -> None:
        """End it, whatever it is doing: py-spy may have stopped the trainer to look at it."""
        if not self.is_over:
            with contextlib.suppress(OSError):
                self._process.kill()
            self._process.wait()
            self._end("")

    def _end(self, trouble: str) -> None:
        self.is_over = True
        self.trouble = trouble
        self._output.close()


def as_faulthandler(said: str) -> str:
    """py-spy's JSON in the form of a faulthandler dump, the main thread last; empty where it is none."""
    try:
        found = [(_is_main(thread), _thread(thread)) for thread in json.loads(said)]
    except (ValueError, TypeError, KeyError, AttributeError):
        return ""
    return "\n\n".join(text for _, text in sorted(found, key=lambda entry: entry[0]))


def _thread(thread: Mapping[str, Any]) -> str:
    kind = "Current thread" if _is_main(thread) else "Thread"
    frames = [
        f'  File "{frame["filename"]}", line {frame["line"] or "???"} in {frame["name"]}'
        for frame in thread["frames"]
    ]
    return "\n".join([f"{kind} {int(thread['thread_id']):#018x} (most recent call first):", *frames])


def _is_main(thread: Mapping[str, Any]) -> bool:
    return bool(thread["thread_name"] == "MainThread" or thread["os_thread_id"] == thread["pid"])


def _in_words(said: str) -> str:
    """Why py-spy had no answer: the first line it said, or that looking is forbidden here."""
    if any(word in said.lower() for word in _REFUSALS):
        return "py-spy may not look into it: this system does not permit ptrace"
    first = said.strip().splitlines()
    return f"py-spy could not look into it: {first[0][:200] if first else 'it said nothing'}"

"""Commands that read files of strangers bind themselves first: memory, time, and nothing may be written."""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import resource
import sys
from typing import Any, Final

_GIB: Final = 1024**3
_MAX_FILES: Final = 256
_MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
_PR_SET_NO_NEW_PRIVS: Final = 38
_CREATE_RULESET: Final = 444  # Landlock's numbers are the same on x86-64 and arm64
_RESTRICT_SELF: Final = 446
_VERSION: Final = 1  # flag: tell the version of the interface instead
# write, remove, make, refer, truncate: everything Landlock knows but executing and reading
_WRITES_BY_VERSION: Final = {1: 0x1FF2, 2: 0x3FF2, 3: 0x7FF2}
_NET_SINCE: Final = 4
_NET_TCP: Final = 0b11  # bind and connect


def add_bounds(parser: argparse.ArgumentParser) -> None:
    """Add the options that :func:`bind` obeys."""
    parser.add_argument("--max-memory-gib", type=float, metavar="N", help="give up beyond it")
    parser.add_argument("--max-cpu-s", type=int, metavar="N", help="give up beyond it")
    parser.add_argument("--read-only", action="store_true", help="forbid this process to write any file")


def bind(arguments: argparse.Namespace) -> None:
    """Set the limits asked for; they hold until this process ends."""
    if arguments.max_memory_gib is not None:
        lower(resource.RLIMIT_AS, int(arguments.max_memory_gib * _GIB))
    if arguments.max_cpu_s is not None:
        lower(resource.RLIMIT_CPU, arguments.max_cpu_s)
    if arguments.read_only:
        lower(resource.RLIMIT_CORE, 0)
        lower(resource.RLIMIT_NOFILE, _MAX_FILES)
        lower(
            resource.RLIMIT_FSIZE, _MAX_ANSWER_BYTES
        )  # what it prints may go to a file that is open already
        forbid_writing()


def lower(what: int, value: int) -> None:
    """Lower a limit of this process; one that is lower already stays."""
    _, hard = resource.getrlimit(what)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (bound, hard))


def forbid_writing() -> bool:
    """Take this process the right to write, make or remove files and to connect; whether the system can.

    On Linux by Landlock, where the kernel has it; elsewhere the limits have to do.
    """
    if not sys.platform.startswith("linux"):
        return False
    system: Any = ctypes.CDLL(None, use_errno=True)
    version = system.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    if version < 1:
        return False
    writes = _WRITES_BY_VERSION[min(version, max(_WRITES_BY_VERSION))]
    handled = (ctypes.c_uint64 * 2)(writes, _NET_TCP if version >= _NET_SINCE else 0)
    size = ctypes.c_size_t(16 if version >= _NET_SINCE else 8)
    ruleset = system.syscall(_CREATE_RULESET, ctypes.byref(handled), size, 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        if system.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or system.syscall(_RESTRICT_SELF, ruleset, 0):
            number = ctypes.get_errno() or errno.EPERM
            raise OSError(number, os.strerror(number))
    finally:
        os.close(ruleset)
    return True

"""Native libraries that clash, are missing, were built for another machine, or broke the heap."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Role, Signature
from trainer.protocol.rungs import Rung

_ABSEIL: Final = (
    "Uninstall tensorflow (or use a version below 2.20), set USE_TF=0, and import pyarrow before it; "
    "another torch "
    "does not help, and neither does leaving MPS."
)

SIGNATURES: Final = (
    Signature(
        "abseil_mutex_hang",
        r"\[mutex\.cc : \d+\] RAW: Lock blocking",
        cause="TensorFlow and pyarrow brought two copies of the same library (abseil), which lock each "
        "other out.",
        remedy=_ABSEIL,
        source="https://github.com/tensorflow/tensorflow/issues/99464",
        role=Role.HANG,
        rank=8,
    ),
    Signature(
        "abseil_mutex_invalid",
        r"mutex lock failed: Invalid argument",
        cause="TensorFlow and pyarrow brought two copies of the same library (abseil), and one used the "
        "other's lock.",
        remedy=_ABSEIL,
        source="https://github.com/apache/arrow/issues/40088",
        rank=8,
    ),
    Signature(
        "numpy_abi",
        r"compiled using NumPy 1\.x cannot be run in|_ARRAY_API not found"
        r"|numpy\.core\.multiarray failed to import"
        r"|numpy\.(?:dtype|ndarray) size changed, may indicate binary incompatibility",
        cause="A package was built for another major version of NumPy than the one installed.",
        remedy="Upgrade that package (faiss-cpu 1.9.0 is the first for NumPy 2), or install numpy below 2.",
        source="https://github.com/faiss-wheels/faiss-wheels/issues/104",
        rank=6,
    ),
    Signature(
        "native_lib_missing",
        r"GLIBC(?:XX)?_[\d.]+' not found|DLL load failed|\[WinError (?:126|127|193)\]"
        r"|cannot open shared object file"
        r"|Library not loaded: @|undefined symbol: \w+|Could not load library libcudnn",
        cause="A library outside Python is missing or does not fit this system.",
        remedy="Reinstall the package for this system and this Python; the message names the library it "
        "lacks.",
        source="https://docs.python.org/3/library/exceptions.html#ImportError",
        rank=6,
    ),
    Signature(
        "illegal_instruction",
        r"Illegal instruction|\bSIGILL\b",
        cause="The program used an instruction this processor does not have: a package was built for a "
        "newer processor.",
        remedy="Install the generic build of the package (faiss without AVX2 or AVX512). The file "
        "/proc/cpuinfo lists what this processor can do.",
        source="measured with torch 2.13 and faiss-cpu 1.15.1",
        rank=4,
    ),
    Signature(
        "heap_corruption",
        r"double free or corruption|free\(\): (?:invalid|double free)|malloc\(\): |malloc_consolidate\(\): "
        r"|corrupted (?:size|double-linked)|munmap_chunk\(\)|\*\*\* stack smashing detected"
        r"|pointer being freed was not allocated|Corruption of the heap|incorrect checksum for freed object",
        cause="Code outside Python wrote over memory that was not its own; two clashing libraries are the "
        "usual reason.",
        remedy="Run mining in a process of its own and with one thread; the Python lines above the end name "
        "the package.",
        source="https://docs.python.org/3/library/faulthandler.html",
        rank=5,
        rungs=(Rung.MINING_PROCESS, Rung.THREADS),
    ),
    Signature(
        "objc_fork",
        r"may have been in progress in another thread when fork\(\) was called",
        cause="A process was forked after macOS frameworks had been used, which macOS ends on the spot.",
        remedy="Use the start method spawn (the default), or no workers.",
        source="https://github.com/rails/rails/issues/38560",
        rank=8,
        rungs=(Rung.WORKERS,),
    ),
    Signature(
        "stack_overflow",
        r"^Fatal Python error: (?:Cannot recover from stack overflow|_Py_CheckRecursiveCall)"
        r"|Stack overflow$"
        r"|RecursionError: maximum recursion depth exceeded",
        cause="A function called itself until the stack was used up.",
        remedy="Look at the lines that repeat in the traceback; often it is a module that contains itself, "
        "or __getattr__.",
        source="https://docs.python.org/3/library/exceptions.html#RecursionError",
    ),
    Signature(
        "protobuf_version",
        r"Descriptors cannot (?:not )?be created directly|Detected mismatched Protobuf",
        cause="Generated protobuf code is older than the installed protobuf package.",
        remedy="Upgrade the package named in the traceback, or install protobuf below 4.",
        source="https://github.com/protocolbuffers/protobuf/issues/10064",
    ),
)

"""The vectors of a snapshot: one per probe, as the model saw it at that step.

In the file they are ``{"dim", "dtype": "float16", "base64"}``: the rows one
after the other, little-endian half floats. They need not have unit norm:
whoever compares them does so by their cosine. Half floats have three digits,
enough for neighbours and maps, and a quarter of the bytes of what tasks
calculate with. Only the standard library may be imported here.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Sequence
from typing import Any, Final

from trainer.protocol.errors import ProtocolError

DTYPE: Final = "float16"
MAX_DIM: Final = 4096
MAX_VECTOR_BYTES: Final = 48 * 1024 * 1024  # a whole snapshot may have 64 MiB on its way
LARGEST: Final = 65504.0  # half floats end there
_BYTES_EACH: Final = 2


def vectors_field(dim: int, packed: bytes) -> dict[str, Any]:
    """The field ``vectors`` of a snapshot file, from packed half floats."""
    return {"dim": dim, "dtype": DTYPE, "base64": base64.b64encode(packed).decode("ascii")}


def pack_rows(rows: Sequence[Sequence[float]]) -> tuple[int, bytes]:
    """Length of the rows, and their numbers as half floats; what is larger than those is cut.

    Raises:
        ValueError: the rows are empty, differ in length or hold what is no finite number.
    """
    dim = len(rows[0]) if rows else 0
    parts = []
    for number, row in enumerate(rows):
        if len(row) != dim:
            raise ValueError(f"vector {number} has {len(row)} numbers, the first has {dim}")
        numbers = [float(value) for value in row]
        if not all(map(math.isfinite, numbers)):
            raise ValueError(f"vector {number} holds a number that is not finite")
        parts.append(struct.pack(f"<{dim}e", *(min(LARGEST, max(-LARGEST, value)) for value in numbers)))
    why = refusal(len(rows), dim)
    if why is not None:
        raise ValueError(why)
    return dim, b"".join(parts)


def refusal(num_vectors: int, dim: int) -> str | None:
    """Why so many vectors of this length cannot be kept; None when they can."""
    if not 1 <= dim <= MAX_DIM:
        return f"vectors may have 1 to {MAX_DIM} numbers, these have {dim}"
    size = num_vectors * dim * _BYTES_EACH
    if size > MAX_VECTOR_BYTES:
        return f"{num_vectors} vectors of {dim} numbers take {size} bytes, the limit is {MAX_VECTOR_BYTES}"
    return None


def read_vectors(raw: Any, *, num_probes: int) -> tuple[int, bytes]:
    """Length and packed half floats of the field ``vectors``; whether they are finite is not looked at.

    Raises:
        ProtocolError: the field is not as described above; the message begins with the place.
    """
    if not isinstance(raw, dict):
        raise ProtocolError(f"vectors must be an object, got {raw!r:.80}")
    dim, text = raw.get("dim"), raw.get("base64")
    if raw.get("dtype") != DTYPE:
        raise ProtocolError(f"vectors.dtype must be {DTYPE!r}, got {raw.get('dtype')!r:.80}")
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise ProtocolError(f"vectors.dim must be a whole number, got {dim!r:.80}")
    why = refusal(num_probes, dim)
    if why is not None:
        raise ProtocolError(f"vectors.dim is refused: {why}")
    if not isinstance(text, str):
        raise ProtocolError(f"vectors.base64 must be text, got {text!r:.80}")
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise ProtocolError(f"vectors.base64 is not base64 ({exc})") from exc
    expected = num_probes * dim * _BYTES_EACH
    if len(packed) != expected:
        raise ProtocolError(
            f"vectors.base64 holds {len(packed)} bytes; {num_probes} probes of {dim} numbers need {expected}"
        )
    return dim, packed

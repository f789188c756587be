"""What trainers print, kept byte for byte by attempt and offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.store.models import LogChunk

_CHUNK_BYTES: Final = 16 * 1024  # small pieces are put together up to this size


@dataclass(frozen=True)
class OutputPiece:
    """Bytes ``offset .. offset + len(content)`` of the ``total_bytes`` stored of one attempt's output."""

    offset: int
    content: bytes
    total_bytes: int


def output_have(session: Session, run_id: str, attempt: int) -> int:
    """How many bytes of an attempt's output are stored; they have no holes."""
    end = select(func.max(LogChunk.offset + LogChunk.num_bytes))
    return session.scalar(end.where(LogChunk.run_id == run_id, LogChunk.attempt == attempt)) or 0


def output_marks(session: Session, run_id: str) -> dict[int, int]:
    """Stored bytes per attempt."""
    rows = session.execute(
        select(LogChunk.attempt, func.max(LogChunk.offset + LogChunk.num_bytes))
        .where(LogChunk.run_id == run_id)
        .group_by(LogChunk.attempt)
    )
    return {attempt: have for attempt, have in rows if have is not None}


def append_output(session: Session, run_id: str, *, attempt: int, offset: int, content: bytes) -> int:
    """Store a piece of output; what is already there is skipped, a piece beyond a hole is not taken.

    Returns:
        How many bytes are stored now: the offset to send from next.
    """
    last = session.scalar(
        select(LogChunk)
        .where(LogChunk.run_id == run_id, LogChunk.attempt == attempt)
        .order_by(LogChunk.offset.desc())
        .limit(1)
    )
    have = 0 if last is None else last.offset + last.num_bytes
    fresh = content[have - offset :] if offset <= have else b""
    if not fresh:
        return have
    if last is not None and last.num_bytes + len(fresh) <= _CHUNK_BYTES:
        last.content += fresh
        last.num_bytes += len(fresh)
    else:
        session.add(
            LogChunk(run_id=run_id, attempt=attempt, offset=have, num_bytes=len(fresh), content=fresh)
        )
    return have + len(fresh)


def read_output(
    session: Session, run_id: str, *, attempt: int, offset: int | None = 0, limit_bytes: int = 65_536
) -> OutputPiece:
    """At most ``limit_bytes`` from ``offset`` on; from None: the last ``limit_bytes``."""
    total = output_have(session, run_id, attempt)
    begin = max(0, total - limit_bytes) if offset is None else min(max(0, offset), total)
    end = min(total, begin + limit_bytes)
    chunks = session.execute(
        select(LogChunk.offset, LogChunk.content)
        .where(
            LogChunk.run_id == run_id,
            LogChunk.attempt == attempt,
            LogChunk.offset < end,
            LogChunk.offset + LogChunk.num_bytes > begin,
        )
        .order_by(LogChunk.offset)
    ).all()
    content = b"".join(chunk for _, chunk in chunks)
    skipped = begin - chunks[0][0] if chunks else 0
    return OutputPiece(begin, content[skipped : skipped + end - begin], total)

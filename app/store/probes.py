"""The fixed examples of snapshots, and the documents their answers name: each stored once per probe set."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from app.domain.snapshots import SnapshotRecord
from app.errors import InvalidRequest
from app.store.models import ProbeDocument, ProbeSet
from app.store.snapshot_blocks import pack_rows, unpack_rows

_IN_LIST: Final = 500


def save_probes(session: Session, record: SnapshotRecord) -> None:
    """Store the probes of a snapshot, unless they are known.

    Raises:
        InvalidRequest: the file leaves out probes that are not known, or their number differs.
    """
    known = session.scalar(select(ProbeSet.num_examples).where(ProbeSet.hash == record.probe_set))
    if known is None:
        if record.examples is None:
            raise InvalidRequest(
                f"snapshot: probes are missing and the probe set {record.probe_set!r} is not known",
                field="probes",
            )
        session.add(
            ProbeSet(
                hash=record.probe_set,
                task=record.task,
                num_examples=len(record.examples),
                examples=pack_rows(record.examples),
                stored_at=time.time(),
            )
        )
        session.flush()
    elif known != len(record.outputs):
        raise InvalidRequest(
            f"snapshot: outputs has {len(record.outputs)} entries, the probe set has {known}", field="outputs"
        )


def save_documents(session: Session, record: SnapshotRecord) -> None:
    """Store those documents of a snapshot that are not known yet."""
    wanted = list(record.documents)
    known: set[str] = set()
    for index in range(0, len(wanted), _IN_LIST):
        known.update(
            session.scalars(
                select(ProbeDocument.document_id).where(
                    ProbeDocument.probe_set == record.probe_set,
                    ProbeDocument.document_id.in_(wanted[index : index + _IN_LIST]),
                )
            )
        )
    rows = [
        {"probe_set": record.probe_set, "document_id": document_id, "title": title, "text": text}
        for document_id, (title, text) in record.documents.items()
        if document_id not in known
    ]
    if rows:
        session.execute(insert(ProbeDocument), rows)


def stored_at(session: Session, probe_set: str) -> float:
    """When a set was stored, Unix seconds: with its hash this is what a reader may keep it under."""
    return session.scalars(select(ProbeSet.stored_at).where(ProbeSet.hash == probe_set)).one()


def examples(session: Session, probe_set: str) -> list[dict[str, Any]]:
    """The probes of a set, in the order of every column."""
    return unpack_rows(session.scalars(select(ProbeSet.examples).where(ProbeSet.hash == probe_set)).one())


def documents(session: Session, probe_set: str, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """``{id: (title, text)}`` of those documents that are known."""
    wanted = list(ids)
    found: dict[str, tuple[str, str]] = {}
    for index in range(0, len(wanted), _IN_LIST):
        rows = session.execute(
            select(ProbeDocument.document_id, ProbeDocument.title, ProbeDocument.text).where(
                ProbeDocument.probe_set == probe_set,
                ProbeDocument.document_id.in_(wanted[index : index + _IN_LIST]),
            )
        )
        found.update((document_id, (title, text)) for document_id, title, text in rows)
    return found

"""Which runs train on which files."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.store.models import Run


def run_names(session: Session, ids: Collection[str]) -> dict[str, str]:
    """What the runs with these ids are called; those that are deleted are left out."""
    statement = select(Run.id, Run.name).where(Run.id.in_(ids), Run.deleted_at.is_(None))
    return {row.id: row.name for row in session.execute(statement)}


def runs_on(session: Session, paths: Collection[str], *, limit: int) -> Sequence[Run]:
    """The runs whose dataset is one of ``paths``: those that have not ended first, then the newest."""
    statement = (
        select(Run)
        .where(Run.dataset.in_(paths), Run.deleted_at.is_(None))
        .order_by(Run.ended_at.is_not(None), Run.created_at.desc())
        .limit(limit)
    )
    return session.scalars(statement).all()

"""Dropped files as rows, and what was chosen on the inbox page.

From the moment an item has a run, where it stands is read off that run:
:func:`listed` and :func:`same_content` join the two.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, case, delete, func, or_, select, update
from sqlalchemy.orm import Session

from app.domain.inbox_states import KNOWN, InboxState, state_with_run
from app.domain.run_states import RunState
from app.errors import NotFound
from app.store.models import InboxItem, InboxSettings, Run

_ONLY_ROW: Final = 1


@dataclass(frozen=True)
class Choice:
    """What was chosen on the page; None where nothing was."""

    is_on: bool | None = None
    recipe: str | None = None
    preset: str | None = None


@dataclass(frozen=True)
class Listed:
    """An item, where it really stands, and its run where it has one."""

    item: InboxItem
    state: InboxState
    run: Run | None


def choice(session: Session) -> Choice:
    """What was chosen last."""
    row = session.get(InboxSettings, _ONLY_ROW)
    return Choice() if row is None else Choice(row.is_on, row.recipe, row.preset)


def choose(session: Session, **changes: Any) -> Choice:
    """Keep what was chosen; what is not named stays as it is."""
    row = session.get(InboxSettings, _ONLY_ROW)
    if row is None:
        row = InboxSettings(id=_ONLY_ROW)
        session.add(row)
    for name, value in changes.items():
        setattr(row, name, value)
    row.changed_at = time.time()
    session.flush()
    return choice(session)


def get(session: Session, item_id: str) -> Listed:
    """The item.

    Raises:
        NotFound: there is none with this id.
    """
    row = session.execute(_joined().where(InboxItem.id == item_id)).first()
    if row is None:
        raise NotFound(f"The inbox has no item {item_id!r}.", hint="GET /api/inbox lists those there are.")
    return Listed(row[0], InboxState(row[2]), row[1])


def listed(
    session: Session, *, state: InboxState | None = None, limit: int = 200, offset: int = 0
) -> list[Listed]:
    """One page of items, newest first."""
    statement = _joined().order_by(InboxItem.created_at.desc(), InboxItem.id.desc())
    if state is not None:
        statement = statement.where(_STATE.in_([state.value]))
    rows = session.execute(statement.limit(limit).offset(offset))
    return [Listed(item, InboxState(word), run) for item, run, word in rows]


def counts(session: Session) -> dict[str, int]:
    """How many items stand where; every state is named."""
    statement = (
        select(_STATE, func.count())
        .select_from(InboxItem)
        .join(Run, InboxItem.run_id == Run.id, isouter=True)
        .group_by(_STATE)
    )
    found = {word: int(number) for word, number in session.execute(statement)}
    return {state.value: found.get(state.value, 0) for state in InboxState}


def add(session: Session, items: Iterable[InboxItem]) -> None:
    """Store new items."""
    session.add_all(list(items))
    session.flush()


def change(
    session: Session, item_id: str, *, old: Iterable[InboxState] | None = None, **values: Any
) -> InboxItem | None:
    """Set columns of an item; None, and nothing changed, when it is gone or its row is not in ``old``."""
    statement = update(InboxItem).where(InboxItem.id == item_id).values({**values, "changed_at": time.time()})
    if old is not None:
        statement = statement.where(InboxItem.state.in_([state.value for state in old]))
    changed = session.scalar(statement.returning(InboxItem.id).execution_options(synchronize_session=False))
    session.expire_all()
    return None if changed is None else session.get(InboxItem, item_id)


def forget(session: Session, item_ids: Sequence[str], *, old: Iterable[InboxState] | None = None) -> int:
    """Remove rows, only those in ``old`` where it is given; how many went."""
    statement = delete(InboxItem).where(InboxItem.id.in_(item_ids))
    if old is not None:
        statement = statement.where(InboxItem.state.in_([state.value for state in old]))
    gone = session.scalars(
        statement.returning(InboxItem.id).execution_options(synchronize_session=False)
    ).all()
    session.expire_all()
    return len(gone)


def waiting(session: Session) -> list[InboxItem]:
    """The items that wait, in the order in which they are taken."""
    return list(
        session.scalars(
            select(InboxItem)
            .where(InboxItem.state == InboxState.WAITING.value)
            .order_by(InboxItem.priority.desc(), InboxItem.created_at, InboxItem.id)
        )
    )


def unfinished(session: Session) -> list[InboxItem]:
    """The items that were begun: being checked, or with a move that may not be complete."""
    begun = or_(InboxItem.state == InboxState.CHECKING.value, InboxItem.goal.is_not(None))
    return list(session.scalars(select(InboxItem).where(begun).order_by(InboxItem.changed_at, InboxItem.id)))


def left_in_place(session: Session, paths: Sequence[bytes]) -> list[InboxItem]:
    """Those failed items that still lie at one of ``paths``."""
    statement = select(InboxItem).where(
        InboxItem.state == InboxState.FAILED.value, InboxItem.goal.is_(None), InboxItem.path.in_(paths)
    )
    return list(session.scalars(statement))


def is_taken_path(session: Session, path: bytes) -> bool:
    """Whether some item lies, or will lie, at ``path``."""
    either = or_(InboxItem.path == path, InboxItem.goal == path)
    return session.scalar(select(InboxItem.id).where(either).limit(1)) is not None


def same_content(session: Session, sha256: str, *, but: str) -> Listed | None:
    """An earlier item with the same bytes whose training is under way or done."""
    statement = _joined().where(
        InboxItem.sha256 == sha256,
        InboxItem.id != but,
        _STATE.in_([state.value for state in KNOWN]),
    )
    row = session.execute(statement.order_by(InboxItem.created_at).limit(1)).first()
    return None if row is None else Listed(row[0], InboxState(row[2]), row[1])


def num_queued(session: Session, *, priority: int) -> int:
    """How many runs of dropped files wait in the queue with at least this priority."""
    statement = (
        select(func.count())
        .select_from(InboxItem)
        .join(Run, InboxItem.run_id == Run.id)
        .where(Run.state == RunState.QUEUED.value, Run.priority >= priority)
    )
    return session.scalar(statement) or 0


def users_of(session: Session, dataset: str) -> list[str]:
    """Names of the runs that need the file ``dataset`` where it is: all that are not finished."""
    statement = select(Run.name).where(
        Run.dataset == dataset, Run.state != RunState.FINISHED.value, Run.deleted_at.is_(None)
    )
    return list(session.scalars(statement.limit(3)))


def settle(session: Session, run: Run) -> None:
    """Write down where the items of a run stand that is about to be deleted."""
    state = state_with_run(RunState(run.state))
    values = {"state": state.value, "reason": "its run was deleted", "changed_at": time.time()}
    if state is InboxState.DONE:
        values["reason"] = "its run finished and was deleted"
    session.execute(
        update(InboxItem)
        .where(InboxItem.run_id == run.id)
        .values(values)
        .execution_options(synchronize_session=False)
    )


def _state() -> ColumnElement[str]:
    """Where an item stands, in SQL: off its run where it has one."""
    told = [(Run.state == run.value, state_with_run(run).value) for run in RunState]
    return case(*told, else_=InboxItem.state)


def _joined() -> Any:
    return (
        select(InboxItem, Run, _STATE)
        .select_from(InboxItem)
        .join(Run, InboxItem.run_id == Run.id, isouter=True)
    )


_STATE: Final = _state()

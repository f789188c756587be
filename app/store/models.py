"""Tables: columns and constraints, no behaviour.

Times are Unix seconds (UTC, float).  Points are columnar: a row of
``metric_chunks`` holds a run of consecutive points of one series.  The same
models run on SQLite and PostgreSQL.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """All tables of Signalbox."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        dict[str, Any]: JSON,
        list[Any]: JSON,
        bytes: LargeBinary,
    }


class Run(Base):
    """One thing somebody asked to train; its newest facts, for tables and badges."""

    __tablename__ = "runs"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    recipe: Mapped[str] = mapped_column(String(64), index=True)
    dataset: Mapped[str] = mapped_column(
        Text, index=True
    )  # as asked for: a name, or a path under an allowed root
    columns: Mapped[dict[str, Any]] = mapped_column(default=dict)  # role -> column of the file
    dataset_hash: Mapped[str | None] = mapped_column(
        String(64)
    )  # of what was trained on, as the trainer read it
    dataset_counts: Mapped[dict[str, Any] | None]  # examples of each kind, as the trainer says
    params: Mapped[dict[str, Any]]
    # name of a registered script; empty for every other recipe
    script: Mapped[str] = mapped_column(String(64), default="", server_default=text("''"))
    tags: Mapped[list[Any]]
    policy: Mapped[dict[str, Any]]
    profile: Mapped[str] = mapped_column(String(16))
    environment: Mapped[dict[str, Any]] = mapped_column(default=dict)  # the user's own variables, as given
    rungs: Mapped[list[Any]] = mapped_column(
        default=list
    )  # in force: [{"rung", "title", "changes_numbers", …}]
    idempotency_key: Mapped[str | None] = mapped_column(String(200), unique=True)
    state: Mapped[str] = mapped_column(String(16), index=True)
    reason: Mapped[str | None] = mapped_column(Text)  # why it ended, in words
    stop_requested: Mapped[bool] = mapped_column(default=False)
    priority: Mapped[int] = mapped_column(default=0)  # higher first; see app.domain.priorities
    # order inside a priority: lower first, then by queued_at; 0 where nobody has arranged anything
    queue_rank: Mapped[int] = mapped_column(default=0, server_default="0")
    queued_at: Mapped[float]
    created_at: Mapped[float] = mapped_column(index=True)
    started_at: Mapped[float | None]
    ended_at: Mapped[float | None]
    attempt: Mapped[int] = mapped_column(default=0)  # 0 until the first launch
    step: Mapped[int] = mapped_column(BigInteger, default=0)
    total_steps: Mapped[int | None] = mapped_column(BigInteger)
    epoch: Mapped[float | None]
    num_epochs: Mapped[int | None]
    phase: Mapped[str | None] = mapped_column(String(32))
    device: Mapped[str | None] = mapped_column(String(64))
    heartbeat_at: Mapped[float | None]  # wall clock of the last pulse, for display
    progress_at: Mapped[float | None]  # wall clock of the last progress
    exit_code: Mapped[int | None]
    exit_signal: Mapped[int | None]
    latest: Mapped[dict[str, Any]]  # newest value per series name; NaN and infinities as words
    active_alerts: Mapped[int] = mapped_column(default=0, server_default="0")  # open and not dismissed
    deleted_at: Mapped[float | None]


class Attempt(Base):
    """One launch of a run's trainer."""

    __tablename__ = "attempts"
    __table_args__ = (UniqueConstraint("run_id", "number"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    number: Mapped[int]
    from_step: Mapped[int] = mapped_column(BigInteger)  # points of earlier attempts beyond it are superseded
    reached_step: Mapped[int | None] = mapped_column(BigInteger)  # known when the attempt has ended
    pid: Mapped[int | None]
    started_at: Mapped[float]
    ended_at: Mapped[float | None]
    exit_code: Mapped[int | None]
    exit_signal: Mapped[int | None]
    command: Mapped[list[Any]]
    environment: Mapped[list[Any]]  # [{"name", "value", "reason", "source"}]
    plan: Mapped[dict[str, Any] | None] = mapped_column(
        JSON
    )  # what the fallback ladder changed; see AttemptPlan
    ended_reason: Mapped[str | None] = mapped_column(Text)


class StreamMark(Base):
    """High-water mark of one stream: every seq up to ``have`` is stored."""

    __tablename__ = "stream_marks"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    stream: Mapped[str] = mapped_column(String(16), primary_key=True)
    have: Mapped[int] = mapped_column(BigInteger)


class Series(Base):
    """One named metric of one run. Its points are numbered from 0 in order of arrival."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("run_id", "name"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(200))
    total_points: Mapped[int] = mapped_column(BigInteger, default=0)
    last_step: Mapped[int | None] = mapped_column(BigInteger)
    last_time: Mapped[float | None]
    open_chunks: Mapped[int] = mapped_column(default=0, index=True)  # not yet merged to full size


class MetricChunk(Base):
    """Consecutive points ``start .. start + count - 1`` of one series and one attempt."""

    __tablename__ = "metric_chunks"
    __table_args__ = (Index("ix_metric_chunks_series_start", "series_id", "start", unique=True),)
    id: Mapped[int] = mapped_column(primary_key=True)
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    start: Mapped[int] = mapped_column(BigInteger)
    count: Mapped[int]
    first_step: Mapped[int] = mapped_column(BigInteger)
    last_step: Mapped[int] = mapped_column(BigInteger)
    first_time: Mapped[float]
    last_time: Mapped[float]
    # min and max points per bucket: what a zoomed-out chart needs.  Before the big columns, so that
    # reading it does not walk their overflow pages.
    sketch: Mapped[bytes | None]
    steps: Mapped[bytes]
    times: Mapped[bytes]
    values: Mapped[bytes]


class LogChunk(Base):
    """A piece of an attempt's output at a byte offset."""

    __tablename__ = "log_chunks"
    __table_args__ = (UniqueConstraint("run_id", "attempt", "offset"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    offset: Mapped[int] = mapped_column(BigInteger)
    num_bytes: Mapped[int]
    content: Mapped[bytes]


class RunEvent(Base):
    """A sparse event as it came: alerts, phases, attempts, snapshots skipped …"""

    __tablename__ = "run_events"
    __table_args__ = (
        UniqueConstraint("run_id", "stream", "seq"),
        Index("ix_run_events_type", "run_id", "type"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    stream: Mapped[str] = mapped_column(String(16))
    seq: Mapped[int] = mapped_column(BigInteger)
    t: Mapped[float]
    type: Mapped[str] = mapped_column(String(32))
    step: Mapped[int | None] = mapped_column(BigInteger)
    body: Mapped[dict[str, Any]]


class Alert(Base):
    """Something that deserves a person's attention, from when it was raised to when it was over."""

    __tablename__ = "alerts"
    __table_args__ = (
        Index(
            "ix_alerts_open_slot",
            "run_id",
            "slot",
            unique=True,
            sqlite_where=text("resolved_at IS NULL"),
            postgresql_where=text("resolved_at IS NULL"),
        ),
        Index("ix_alerts_run", "run_id", "id"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    slot: Mapped[str] = mapped_column(String(80))  # what at most one may be open of: category, or said title
    category: Mapped[str | None] = mapped_column(String(64))  # None: the trainer's own words
    level: Mapped[str] = mapped_column(String(16))
    title: Mapped[str] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)
    raised_step: Mapped[int | None] = mapped_column(BigInteger)
    raised_at: Mapped[float]
    resolved_step: Mapped[int | None] = mapped_column(BigInteger)
    resolved_at: Mapped[float | None]
    outcome: Mapped[str | None] = mapped_column(Text)  # how it was over, in words
    dismissed_at: Mapped[float | None]


class Preference(Base):
    """A setting that people change on the pages."""

    __tablename__ = "preferences"
    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    value: Mapped[dict[str, Any]]
    changed_at: Mapped[float]


class Checkpoint(Base):
    """A checkpoint in the run folder, as announced by the trainer."""

    __tablename__ = "checkpoints"
    __table_args__ = (UniqueConstraint("run_id", "file"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    step: Mapped[int] = mapped_column(BigInteger)
    file: Mapped[str] = mapped_column(String(200))
    num_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))
    metrics: Mapped[dict[str, Any]]
    best: Mapped[bool]
    reason: Mapped[str] = mapped_column(String(32))
    created_at: Mapped[float]


class ProbeSet(Base):
    """The fixed examples asked at every snapshot, stored once per content hash."""

    __tablename__ = "probe_sets"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    task: Mapped[str] = mapped_column(String(32))
    num_examples: Mapped[int]
    examples: Mapped[bytes]  # zlib of the JSON list of probes
    # with the hash it names the set for readers that keep it: a set may go with its last run and come again
    stored_at: Mapped[float] = mapped_column(default=0.0, server_default=text("0"))


class ProbeDocument(Base):
    """A document some snapshot of a probe set retrieved; stored once per set."""

    __tablename__ = "probe_documents"
    probe_set: Mapped[str] = mapped_column(
        ForeignKey("probe_sets.hash", ondelete="CASCADE"), primary_key=True
    )
    document_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    title: Mapped[str] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)


class Snapshot(Base):
    """What a model answered to its probes at one step.

    Its numbers lie by column in ``snapshot_columns``, its answers by row in ``snapshot_answers``.
    """

    __tablename__ = "snapshots"
    __table_args__ = (
        UniqueConstraint("run_id", "dataset", "step", name="snapshots_run_id_dataset_step_key"),
        Index("ix_snapshots_dataset", "dataset", "step"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    dataset: Mapped[str] = mapped_column(Text)  # the dataset's plain name, as used in the evolution API
    task: Mapped[str] = mapped_column(String(32))
    attempt: Mapped[int]
    step: Mapped[int] = mapped_column(BigInteger)
    epoch: Mapped[float | None]
    t: Mapped[float]
    model_version: Mapped[str] = mapped_column(String(200))
    probe_set: Mapped[str] = mapped_column(ForeignKey("probe_sets.hash"))
    num_examples: Mapped[int]
    cost_s: Mapped[float | None]
    summary: Mapped[dict[str, Any]]
    block_rows: Mapped[int]  # probes per block of its answers


class SnapshotColumn(Base):
    """One packed float64 column of a snapshot: loss, correct, rank, score …"""

    __tablename__ = "snapshot_columns"
    snapshot_id: Mapped[int] = mapped_column(ForeignKey("snapshots.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    values: Mapped[bytes]


class SnapshotVectors(Base):
    """Where the model placed the probes of a snapshot: rows of ``dim`` packed half floats."""

    __tablename__ = "snapshot_vectors"
    snapshot_id: Mapped[int] = mapped_column(ForeignKey("snapshots.id", ondelete="CASCADE"), primary_key=True)
    dim: Mapped[int]
    values: Mapped[bytes]


class SnapshotBlock(Base):
    """A few rows of a snapshot, each with its numbers and its output: what one probe's trajectory reads."""

    __tablename__ = "snapshot_answers"
    snapshot_id: Mapped[int] = mapped_column(ForeignKey("snapshots.id", ondelete="CASCADE"), primary_key=True)
    block: Mapped[int] = mapped_column(primary_key=True)  # position of the probe // block_rows
    packed: Mapped[bytes]  # see app.store.snapshot_blocks


class SnapshotDictionary(Base):
    """What the blocks of a probe set are packed with: those of its first snapshot of this block size."""

    __tablename__ = "snapshot_dictionaries"
    probe_set: Mapped[str] = mapped_column(
        ForeignKey("probe_sets.hash", ondelete="CASCADE"), primary_key=True
    )
    block_rows: Mapped[int] = mapped_column(primary_key=True)
    block: Mapped[int] = mapped_column(primary_key=True)
    dictionary: Mapped[bytes]


class LoginCode(Base):
    """A one-time code of a login link; only its hash is stored."""

    __tablename__ = "login_codes"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    expires_at: Mapped[float]


class BrowserSession(Base):
    """A logged-in browser; only the hash of its cookie is stored."""

    __tablename__ = "browser_sessions"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    created_at: Mapped[float]
    seen_at: Mapped[float]


class ApiToken(Base):
    """A bearer token for scripts (scope owner or viewer); only its hash is stored."""

    __tablename__ = "api_tokens"
    id: Mapped[int] = mapped_column(primary_key=True)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    scope: Mapped[str] = mapped_column(String(16))
    label: Mapped[str] = mapped_column(Text)
    created_at: Mapped[float]


class RunToken(Base):
    """The supervisor's bearer token of one run; only its hash is stored."""

    __tablename__ = "run_tokens"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    hash: Mapped[str] = mapped_column(String(64))


class InboxItem(Base):
    """One file that was dropped into the inbox, from its first sight until somebody forgets it.

    ``path`` is where the file lies; ``goal``, while it is being moved, where it will lie. A name may be
    no text at all, so both are the bytes the file system knows. ``state`` is an ``InboxState``.
    """

    __tablename__ = "inbox_items"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(Text)  # for people; bytes that are no text are replaced
    state: Mapped[str] = mapped_column(String(16), index=True)
    reason: Mapped[str | None] = mapped_column(Text)
    priority: Mapped[int] = mapped_column(default=0)
    path: Mapped[bytes] = mapped_column(index=True)
    goal: Mapped[bytes | None]
    num_bytes: Mapped[int] = mapped_column(BigInteger)
    mtime_ns: Mapped[int] = mapped_column(BigInteger)
    inode: Mapped[str] = mapped_column(String(64))  # device and number, as text: 64 bits without a sign
    sha256: Mapped[str | None] = mapped_column(String(64), index=True)
    facts: Mapped[dict[str, Any] | None]  # what the check found: kind, num_pairs, num_groups
    sidecar: Mapped[str | None] = mapped_column(Text)  # NAME.json as it came
    wish: Mapped[dict[str, Any] | None]  # recipe, params, name, tags, profile, policy, as decided
    is_forced: Mapped[bool] = mapped_column(default=False)  # train it although its content is known
    tries: Mapped[int] = mapped_column(default=0)  # counts retries; part of the run's idempotency key
    run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"), index=True)
    created_at: Mapped[float] = mapped_column(index=True)
    changed_at: Mapped[float]


class InboxSettings(Base):
    """What was chosen on the inbox page; one row, none until somebody has chosen."""

    __tablename__ = "inbox_settings"
    id: Mapped[int] = mapped_column(primary_key=True)
    is_on: Mapped[bool | None]  # None: as the settings file says
    recipe: Mapped[str | None] = mapped_column(String(64))
    preset: Mapped[str | None] = mapped_column(String(64))
    changed_at: Mapped[float]

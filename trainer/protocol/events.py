"""What is said: streams, event types, phases, commands, numbers, snapshots."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, Final

from trainer.protocol.errors import ProtocolError

UPLINK_NAMESPACE: Final = "/uplink"
VIEWER_NAMESPACE: Final = "/viewer"


class Stream(StrEnum):
    """Who numbered the events."""

    TRAINER = "trainer"
    SUPERVISOR = "supervisor"


class EventType(StrEnum):
    """What an event line says."""

    METRICS = "metrics"  # step, values {name: number}
    PROGRESS = "progress"  # step, total_steps, epoch, num_epochs
    PHASE = "phase"  # name (a Phase), step, detail?
    SNAPSHOT = "snapshot"  # step, file, summary, cost_s
    SNAPSHOT_SKIPPED = "snapshot_skipped"  # step, reason
    CHECKPOINT = "checkpoint"  # step, file, bytes, sha256, metrics, best, reason
    ALERT = "alert"  # level (info|warning|error), title, text, step?, category?, what? (raised|resolved)
    DEVICE = "device"  # name, in words
    DATASET = "dataset"  # name, content_hash, counts {..}
    FINISHED = "finished"  # step, reason (completed|stopped|early_stop), metrics {last, best}
    ATTEMPT = "attempt"  # supervisor: attempt, what (started|ended), pid, from_step, command, exit_*
    STATE = "state"  # supervisor: state, reason
    STALL = "stall"  # supervisor, part of the hang verdicts
    STACKS = "stacks"
    FINDING = "finding"  # supervisor, best first: id, cause, remedy, confidence, lines, source, rungs, step


_EVENT_TYPES: Final = tuple(EventType)  # a tuple: testing a strange value against it must not raise


class Phase(StrEnum):
    """What a trainer is doing."""

    LOADING = "loading"
    TRAINING = "training"
    MINING = "mining"
    EVALUATING = "evaluating"
    SNAPSHOTTING = "snapshotting"
    SAVING = "saving"
    PAUSED = "paused"


class Command(StrEnum):
    """What a person may ask of a live run; the words on the socket and in ``control/``."""

    STOP = "stop"
    KILL = "kill"
    CHECKPOINT = "checkpoint"
    SNAPSHOT = "snapshot"
    PAUSE = "pause"
    RESUME = "resume"


def encode_number(value: float) -> float | str:
    """A JSON-safe number: NaN and infinities become the words ``NaN``, ``Infinity``, ``-Infinity``."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def decode_number(raw: object) -> float:
    """Inverse of :func:`encode_number`.

    Raises:
        ProtocolError: ``raw`` is neither a number nor one of the three words.
    """
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return float(raw)
    if raw in ("NaN", "Infinity", "-Infinity"):
        return float(str(raw))
    raise ProtocolError(f"not a number: {raw!r}")


def check_event(raw: object) -> dict[str, Any]:
    """Return ``raw`` if it is a well-formed event line.

    Raises:
        ProtocolError: names the field that is wrong.
    """
    if not isinstance(raw, dict):
        raise ProtocolError("an event must be an object")
    seq, t = raw.get("seq"), raw.get("t")
    if not isinstance(seq, int) or isinstance(seq, bool) or seq < 1:
        raise ProtocolError(f"event.seq must be a positive integer, got {seq!r}")
    if not isinstance(t, (int, float)) or isinstance(t, bool) or not math.isfinite(t):
        raise ProtocolError(f"event.t must be Unix seconds, got {t!r}")
    if raw.get("type") not in _EVENT_TYPES:
        raise ProtocolError(f"event.type {raw.get('type')!r} is unknown")
    return raw


SNAPSHOT_FORMAT: Final = 1
# A snapshot is one gzipped JSON object (see docs/architecture.md):
#   format, task, dataset, step, epoch, t, model_version, probe_set, cost_s,
#   columns   {"loss": [...], "correct": [...], "rank": [...], "score": [...], …}, one entry per probe
#   outputs   one entry per probe; retrieval: {"top": [[document_id, score], …]}
#   documents {document_id: {"title", "text"}} named in outputs or probes and not sent before by this run
#   probes    {"hash", "examples": [{"example_id", "input", "expected_output", "group", "gold"}]}
#   vectors   optional: {"dim", "dtype": "float16", "base64"}, a vector per probe (snapshot_vectors.py)
#   summary   {"avg_loss", "accuracy", "total_examples", "correct", "incorrect", …}


def snapshot_name(step: int) -> str:
    """File name of the snapshot at ``step``."""
    return f"step_{step:06d}.json.gz"

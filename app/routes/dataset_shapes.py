"""Shapes of what is sent to and answered by ``/api/datasets``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from app.routes.answers import Answer
from app.routes.inputs import Body, Query
from app.routes.requests import Columns
from trainer.protocol.dataset_shelf import NAME_RULE


class UploadQuery(Query):
    """What the file is called where it comes from."""

    name: str = Field(min_length=1, max_length=255, description="Its ending says how it is read.")


class UploadAnswer(Answer):
    """A file that has come in; it is removed after a day unless it gets a name."""

    upload: str
    name: str
    num_bytes: int


class InspectionRequest(Body):
    """Which file, and how it is to be read; what is left out suggests itself."""

    upload: str | None = Field(
        default=None, max_length=64, description="An id from POST /api/datasets/uploads."
    )
    path: str | None = Field(default=None, max_length=1024, description="A file under a dataset folder.")
    kind: str = Field(default="", max_length=64, description="A name from `kinds` of GET /api/datasets.")
    columns: Columns | None = Field(default=None, max_length=32, description="Role -> column; empty: none.")
    tokenizer: str = Field(
        default="", max_length=1024, description="A tokenizer.json from GET /api/datasets/tokenizers."
    )


class QuickInspectionRequest(InspectionRequest):
    """The same, or of the first thousand rows only."""

    quick: bool = Field(
        default=False, description="Only the first rows; no hash, not the reader of training."
    )


class RegistrationRequest(InspectionRequest):
    """A file, and the name it gets."""

    name: str = Field(min_length=1, max_length=64, description=f"{NAME_RULE}.")


class OverlapRequest(Body):
    """Two registered datasets, as NAME or NAME@VERSION."""

    train: str = Field(min_length=1, max_length=80)
    validation: str = Field(min_length=1, max_length=80)


class InspectionAnswer(Answer):
    """What was found; what is wrong stands in ``check``, with file, row and remedy."""

    name: str
    kind: str | None = Field(description="null: say which of `kinds` it is.")
    mapping: dict[str, str]
    check: dict[str, Any] = Field(description="ok; then num_rows, num_groups, content_hash, or error.")


class VersionAnswer(Answer):
    """One version of a registered dataset."""

    dataset: str = Field(description="NAME@VERSION, which names this version for good.")
    name: str
    version: int
    kind: str
    path: str
    columns: dict[str, str]
    num_rows: int
    num_bytes: int
    sha256: str
    content_hash: str
    is_copy: bool
    created_at: float
    trouble: str | None = Field(description="Why the file is no longer what was registered.")


class RegisteredAnswer(Answer):
    """A registered dataset: its versions, newest first, what was found in the newest, and its runs."""

    name: str
    holds: str
    facts: dict[str, Any]
    versions: list[VersionAnswer]
    runs: list[dict[str, Any]]


class OverlapAnswer(Answer):
    """How many validation rows hold what training rows hold, by role and as whole rows."""

    kind: str
    rows: dict[str, int]
    shared: dict[str, dict[str, Any]]


class TokenizersAnswer(Answer):
    """Tokenizers of exported models, by which lengths can be counted in tokens."""

    tokenizers: list[dict[str, str]]


class RunDatasetAnswer(Answer):
    """What a run has trained on, and how the file stands."""

    dataset: str
    columns: dict[str, str]
    content_hash: str | None
    counts: dict[str, Any] | None
    registered: VersionAnswer | None
    status: Literal["same", "changed", "gone", "touched", "unknown", "builtin"]
    message: str

"""Pairs of texts: a query and the document that answers it."""

from __future__ import annotations

from trainer.datasets.kinds.declaration import DatasetKind, Role

KIND = DatasetKind(
    name="pairs",
    title="Pairs of texts",
    help="A query and the document that answers it, row by row: for retrieval.",
    roles=(
        Role("query", "What is asked.", ("question", "anchor", "search", "title", "text_a", "sentence1")),
        Role(
            "document",
            "What answers it.",
            ("answer", "passage", "positive", "context", "doc", "body", "text_b", "sentence2", "text"),
        ),
        Role("group", "Rows that belong together: never split.", ("category", "topic", "module", "source")),
        Role("id", "A unique name of the row.", ("key", "uid", "row_id")),
    ),
    needs=(("query", "document"),),
    endings=(".jsonl", ".ndjson", ".csv", ".tsv"),
    reader="trainer.datasets.pairs:read",
)

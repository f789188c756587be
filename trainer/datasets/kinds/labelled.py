"""Texts with a class each."""

from __future__ import annotations

from trainer.datasets.kinds.declaration import DatasetKind, Role

KIND = DatasetKind(
    name="labelled",
    title="Labelled texts",
    help="A text and its class, row by row: for classification.",
    roles=(
        Role(
            "text",
            "What is to be classified.",
            ("sentence", "content", "review", "comment", "message", "body", "document", "input"),
        ),
        Role(
            "label",
            "Its class.",
            ("class", "category", "target", "sentiment", "intent", "tag", "y"),
            is_label=True,
        ),
        Role("group", "Rows that belong together: never split.", ("author", "user", "source", "thread")),
        Role("id", "A unique name of the row.", ("key", "uid", "row_id")),
    ),
    needs=(("text", "label"),),
    endings=(".jsonl", ".ndjson", ".csv", ".tsv"),
    reader="trainer.datasets.labelled_texts:read",
)

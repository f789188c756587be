"""Pairs of embeddings computed elsewhere."""

from __future__ import annotations

from trainer.datasets.kinds.declaration import DatasetKind, Role

KIND = DatasetKind(
    name="vectors",
    title="Pairs of vectors",
    help="Embeddings of queries and documents in an NPZ file, row by row: for retrieval.",
    roles=(
        Role("query_vectors", "Floats [N, T, D] or [N, D].", ("queries", "query_embeddings", "x")),
        Role("document_vectors", "Floats [N, D].", ("documents", "document_embeddings", "y")),
        Role("groups", "Text or integers [N]: rows that belong together.", ("group",)),
        Role("ids", "Text or integers [N]: unique names of the rows.", ("id", "keys")),
        Role("query_texts", "Text [N]: what a query says.", ("texts",)),
        Role("document_titles", "Text [N]: what a document is called.", ("titles",)),
    ),
    needs=(("query_vectors", "document_vectors"),),
    endings=(".npz",),
    reader="trainer.datasets.vectors:read",
    is_array=True,
)

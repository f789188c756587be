"""Rows as files to download: CSV, and Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from flask import Response

from app.errors import InvalidRequest

Rows = Sequence[Mapping[str, Any]]
PARQUET: Final = "application/vnd.apache.parquet"
_SCALAR: Final = (str, int, float, bool, type(None))


def table(rows: Rows, *, name: str, kind: str) -> Response:
    """The scalar fields of ``rows`` as a file; ``kind`` is ``csv`` or ``parquet``.

    Raises:
        InvalidRequest: Parquet, and pyarrow is not installed.
    """
    columns = dict.fromkeys(key for row in rows for key, value in row.items() if isinstance(value, _SCALAR))
    content, media = (_csv(rows, list(columns)), "text/csv") if kind == "csv" else (
        _parquet(rows, list(columns)), PARQUET,
    )  # fmt: skip
    response = Response(content, mimetype=media)
    file_name = "".join(character if character.isalnum() else "_" for character in name)[:100]
    response.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(file_name)}.{kind}"
    return response


def _csv(rows: Rows, columns: list[str]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _parquet(rows: Rows, columns: list[str]) -> bytes:
    try:  # when it is wished for, not at the start: it is 40 MB that few need
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as exc:
        raise InvalidRequest(
            "Parquet needs the package pyarrow, which is not installed here.",
            field="format",
            hint="Ask for format=csv, or install it beside Signalbox (.venv/bin/pip install pyarrow).",
        ) from exc
    file = io.BytesIO()
    parquet.write_table(arrow.table({name: [row.get(name) for row in rows] for name in columns}), file)
    return file.getvalue()

"""``/api/runs/ID/export``: the files a run leaves to be used elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Final
from urllib.parse import quote

from apiflask import APIBlueprint
from flask import Response

from app.container import container
from app.routes.answers import Answer
from app.routes.replies import reply
from app.security.access import requires
from app.services.run_exports import archive, exported_files, open_exported
from trainer.protocol.run_folder import RunPaths

_BLOCK: Final = 1024 * 1024
_ANY: Final = "application/octet-stream"
bp = APIBlueprint("exports_api", __name__, url_prefix="/api/runs/<run_id>")


class ExportedFileAnswer(Answer):
    """One file; ``name`` has slashes for folders."""

    name: str
    bytes: int
    changed_at: float


class ExportAnswer(Answer):
    """All files of a run's export, by name; empty before the run has exported anything."""

    files: list[ExportedFileAnswer]
    total_bytes: int


@bp.get("/export")
@requires("viewer")
@bp.output(ExportAnswer)
@bp.doc(tags=["Export"])
def index(run_id: str) -> Response:
    """List what a run has exported."""
    files = exported_files(_paths(run_id))
    total = sum(file.num_bytes for file in files)
    return reply({"files": [file.to_json() for file in files], "total_bytes": total})


@bp.get("/export.zip")
@requires("viewer")
@bp.output({}, content_type="application/zip")
@bp.doc(tags=["Export"])
def download(run_id: str) -> Response:
    """Download the whole export as a ZIP, made while it is sent."""
    paths = _paths(run_id)
    response = Response(archive(paths, top=run_id), mimetype="application/zip")
    response.headers["Content-Disposition"] = f'attachment; filename="{run_id}.zip"'
    return response


@bp.get("/export/<path:name>")
@requires("viewer")
@bp.output({}, content_type=_ANY)
@bp.doc(tags=["Export"])
def download_file(run_id: str, name: str) -> Response:
    """Download one file of the export."""
    file, facts = open_exported(_paths(run_id), name)
    response = Response(_blocks(file), mimetype=_ANY)
    response.headers["Content-Length"] = str(facts.num_bytes)
    last = quote(facts.name.rsplit("/", 1)[-1], safe="")
    response.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{last}"
    response.call_on_close(file.close)
    return response


def _paths(run_id: str) -> RunPaths:
    runs = container().runs
    return runs.paths(runs.get(run_id).id)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while block := file.read(_BLOCK):
            yield block

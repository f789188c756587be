"""Where supervisors put what is too big for the socket: snapshots."""

from __future__ import annotations

from typing import Final

from apiflask import APIBlueprint
from flask import request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from app.container import container
from app.errors import InvalidRequest, TooLarge
from app.security.access import requires_run_token

MAX_SNAPSHOT_BYTES: Final = 64 * 1024 * 1024

bp = APIBlueprint("uplink", __name__, url_prefix="/api/uplink", tag="Uplink")


@bp.put("/runs/<run_id>/snapshots/<int:step>")
@bp.doc(
    summary="Store a snapshot file (gzip); for supervisors, idempotent",
    responses={
        204: "Stored",
        401: "No token",
        403: "Another run's token",
        413: "Over 64 MiB",
        422: "Malformed",
    },
)
@requires_run_token
def put_snapshot(run_id: str, step: int) -> ResponseReturnValue:
    """Take in one snapshot file of the run whose token is shown."""
    if request.mimetype != "application/gzip":
        raise InvalidRequest("a snapshot is sent as application/gzip", field="Content-Type")
    request.max_content_length = MAX_SNAPSHOT_BYTES
    try:
        payload = request.get_data(cache=False)
    except RequestEntityTooLarge:
        raise TooLarge(f"a snapshot has at most {MAX_SNAPSHOT_BYTES} bytes") from None
    container().ingest.accept_snapshot(run_id, payload)
    return "", 204

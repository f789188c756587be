"""``/api/doctor``: examine this machine, read the last report, end leftover processes."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from app.container import container
from app.routes.answers import DoctorAnswer, EndedProcessesAnswer
from app.routes.inputs import takes_body
from app.routes.replies import reply
from app.routes.requests import LeftoverProcesses
from app.security.access import requires

bp = APIBlueprint("doctor_api", __name__, url_prefix="/api/doctor")


@bp.get("")
@requires("owner")
@bp.output(DoctorAnswer)
@bp.doc(tags=["Doctor"])
def show() -> Response:
    """Show the last report, its age, and whether an examination is running."""
    return reply(container().doctor.status())


@bp.post("")
@requires("owner")
@bp.output(DoctorAnswer, status_code=202)
@bp.doc(tags=["Doctor"])
def examine() -> Response:
    """Examine this machine; while an examination is running, no second one is started."""
    return reply(container().doctor.examine(), status=202)


@bp.post("/end-leftovers")
@requires("owner")
@takes_body(LeftoverProcesses)
@bp.output(EndedProcessesAnswer)
@bp.doc(tags=["Doctor"])
def end_leftovers(body: LeftoverProcesses) -> Response:
    """End those of the processes named that are found again to be leftovers of this instance."""
    wanted = [(one.pid, one.create_time) for one in body.processes]
    return reply({"ended": container().doctor.end_leftovers(wanted)})

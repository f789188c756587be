"""``/api/datasets``: what can be trained on; looking files over, registering, comparing and deleting them."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response, request, url_for

from app.container import container
from app.routes.answers import DatasetListAnswer
from app.routes.dataset_shapes import (
    InspectionAnswer,
    InspectionRequest,
    OverlapAnswer,
    OverlapRequest,
    QuickInspectionRequest,
    RegisteredAnswer,
    RegistrationRequest,
    RunDatasetAnswer,
    TokenizersAnswer,
    UploadAnswer,
    UploadQuery,
    VersionAnswer,
)
from app.routes.inputs import takes_body, takes_query
from app.routes.replies import no_content, reply
from app.security.access import requires
from app.services.dataset_inspection import InspectionWish
from app.services.run_dataset import dataset_of, look_again

bp = APIBlueprint("datasets_api", __name__, url_prefix="/api")


@bp.get("/datasets")
@requires("viewer")
@bp.output(DatasetListAnswer)
@bp.doc(tags=["Recipes and datasets"])
def index() -> Response:
    """List the built-in and registered datasets, the files under the dataset folders, and the kinds."""
    return reply(container().datasets.listing())


@bp.post("/datasets/uploads")
@requires("owner")
@takes_query(UploadQuery)
@bp.output(UploadAnswer, status_code=201)
@bp.doc(tags=["Recipes and datasets"])
def upload(query: UploadQuery) -> Response:
    """Send a file: its bytes are the body, of type `application/octet-stream`."""
    uploads = container().datasets.uploads
    request.max_content_length = uploads.max_bytes + 1
    received = uploads.receive(query.name, request.stream, length=request.content_length)
    told = {"upload": received.id, "name": received.path.name, "num_bytes": received.num_bytes}
    return reply(told, status=201)


@bp.delete("/datasets/uploads/<upload_id>")
@requires("owner")
@bp.output({}, status_code=204)
@bp.doc(tags=["Recipes and datasets"])
def cancel(upload_id: str) -> Response:
    """Remove a file that has come in and has no name; harmless when it is gone."""
    container().datasets.uploads.forget(upload_id)
    return no_content()


@bp.post("/datasets/inspect")
@requires("owner")
@takes_body(QuickInspectionRequest)
@bp.output(InspectionAnswer)
@bp.doc(tags=["Recipes and datasets"])
def inspect(body: QuickInspectionRequest) -> Response:
    """Look a file over: columns, kinds, first rows, figures, and what is wrong with it."""
    return reply(container().datasets.inspect(_source(body), _wish(body, is_quick=body.quick)))


@bp.post("/datasets")
@requires("owner")
@takes_body(RegistrationRequest)
@bp.output(VersionAnswer, status_code=201)
@bp.doc(tags=["Recipes and datasets"])
def register(body: RegistrationRequest) -> Response:
    """Give a sound file a name; a name that exists gets a new version. 200 when nothing has changed."""
    stored, is_new = container().datasets.register(body.name, _source(body), _wish(body))
    location = url_for("datasets_api.show", name=stored.name)
    return reply(stored.to_json(), status=201 if is_new else 200, headers={"Location": location})


@bp.get("/datasets/tokenizers")
@requires("viewer")
@bp.output(TokenizersAnswer)
@bp.doc(tags=["Recipes and datasets"])
def tokenizers() -> Response:
    """List the tokenizers by which lengths can be counted in tokens."""
    return reply({"tokenizers": container().datasets.tokenizers()})


@bp.post("/datasets/overlap")
@requires("owner")
@takes_body(OverlapRequest)
@bp.output(OverlapAnswer)
@bp.doc(tags=["Recipes and datasets"])
def overlap(body: OverlapRequest) -> Response:
    """Count the texts of a validation dataset that are in a training dataset."""
    return reply(container().datasets.overlap(body.train, body.validation))


@bp.get("/datasets/<name>")
@requires("viewer")
@bp.output(RegisteredAnswer)
@bp.doc(tags=["Recipes and datasets"])
def show(name: str) -> Response:
    """Show a registered dataset: versions, figures, first rows, and the runs on it."""
    return reply(container().datasets.show(name))


@bp.delete("/datasets/<name>")
@requires("owner")
@bp.output({}, status_code=204)
@bp.doc(tags=["Recipes and datasets"])
def delete(name: str) -> Response:
    """Move a registered dataset to `instance/trash`; a file that lies elsewhere stays."""
    container().datasets.delete(name)
    return no_content()


@bp.get("/runs/<run_id>/dataset")
@requires("viewer")
@bp.output(RunDatasetAnswer)
@bp.doc(tags=["Runs"])
def of_run(run_id: str) -> Response:
    """Show what a run has trained on, and whether the file still holds it."""
    parts = container()
    return reply(dataset_of(parts.runs.get(run_id), settings=parts.settings))


@bp.post("/runs/<run_id>/dataset/check")
@requires("owner")
@bp.output(RunDatasetAnswer)
@bp.doc(tags=["Runs"])
def check_of_run(run_id: str) -> Response:
    """Read the file of a run again, as the run has, and say whether its rows have changed."""
    parts = container()
    inspections = parts.datasets.inspections
    return reply(look_again(parts.runs.get(run_id), settings=parts.settings, inspections=inspections))


def _source(body: InspectionRequest) -> dict[str, str | None]:
    return {"upload": body.upload, "path": body.path}


def _wish(body: InspectionRequest, *, is_quick: bool = False) -> InspectionWish:
    return InspectionWish(kind=body.kind, columns=body.columns, is_quick=is_quick, tokenizer=body.tokenizer)

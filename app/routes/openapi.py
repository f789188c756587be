"""The OpenAPI document: what APIFlask finds in the views, completed with errors and credentials."""

from __future__ import annotations

from typing import Any, Final

from apiflask import APIFlask
from pydantic import BaseModel

from app.container import EXTENSION
from app.domain.callers import Scope
from app.routes.answers import ErrorAnswer, EvolutionErrorAnswer
from app.security.access import decision_of
from app.security.sessions import cookie_name

ERRORS: Final = {
    "400": "The request cannot be understood",
    "401": "Nobody is logged in",
    "403": "The caller may not do this",
    "404": "There is no such thing",
    "405": "This address does not take that method",
    "409": "The present state does not allow it",
    "413": "The body is too large",
    "415": "The body has the wrong type",
    "422": "A value of the request is wrong",
    "429": "Too many requests",
    "503": "Not now; try again",
}
SCHEMES: Final = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "From `python -m app token create`; supervisors use their run's token.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "description": "The browser's session cookie; changes also need `X-Requested-By: signalbox`.",
    },
}


def describe(app: APIFlask) -> None:
    """Let ``GET /openapi.json`` describe the API of ``app`` completely."""
    app.config.update(
        AUTO_SERVERS=False,
        AUTO_TAGS=False,
        AUTO_OPERATION_ID=True,
        AUTO_404_RESPONSE=False,
        AUTO_VALIDATION_ERROR_RESPONSE=False,
        AUTO_AUTH_ERROR_RESPONSE=False,
        DESCRIPTION="Starts, watches, rescues and explains training runs on your own machine.",
    )
    app.spec_processor(lambda document: _complete(app, document))


def _complete(app: APIFlask, document: Any) -> dict[str, Any]:
    """The document with errors, credentials and tidy parameters; ``document`` is APIFlask's as a dict."""
    components = document.setdefault("components", {})
    cookie = cookie_name(app.extensions[EXTENSION].settings)
    components["securitySchemes"] = {**SCHEMES, "session": {**SCHEMES["session"], "name": cookie}}
    components.get("schemas", {}).pop("HTTPError", None)
    for model in (ErrorAnswer, EvolutionErrorAnswer):
        _add_schema(components.setdefault("schemas", {}), model)
    decisions = _decisions(app)
    for path, operations in document.get("paths", {}).items():
        for operation in operations.values():
            _add_errors(operation, is_evolution=path.startswith("/api/evolution/"))
            scope = decisions.get(operation.get("operationId", ""), Scope.OWNER)
            operation["security"] = [] if scope is Scope.ANONYMOUS else [{"token": []}, {"session": []}]
            operation["x-scope"] = scope.value
            for parameter in operation.get("parameters", []):
                _tidy_parameter(parameter)
    return dict(document)


def _decisions(app: APIFlask) -> dict[str, Scope]:
    found = {}
    for rule in app.url_map.iter_rules():
        decision = decision_of(app.view_functions[rule.endpoint])
        for method in rule.methods or ():
            if decision is not None:
                found[f"{method.lower()}_{rule.endpoint.replace('.', '_')}"] = decision
    return found


def _add_schema(schemas: dict[str, Any], model: type[BaseModel]) -> None:
    schema = model.model_json_schema(ref_template=f"#/components/schemas/{model.__name__}.{{model}}")
    for name, definition in schema.pop("$defs", {}).items():
        schemas[f"{model.__name__}.{name}"] = definition
    schemas[model.__name__] = schema


def _add_errors(operation: dict[str, Any], *, is_evolution: bool) -> None:
    model = EvolutionErrorAnswer if is_evolution else ErrorAnswer
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    responses = operation["responses"]
    for status, description in ERRORS.items():
        told = responses.get(status, {}).get("description", description)
        if not _is_own(responses.get(status)):
            responses[status] = {"description": told, "content": content}


def _is_own(response: dict[str, Any] | None) -> bool:
    """Whether a view has said itself what this error looks like; APIFlask's default shape does not count."""
    body = (response or {}).get("content", {}).get("application/json", {}).get("schema", {})
    return bool(body) and body != {"$ref": "#/components/schemas/HTTPError"}


def _tidy_parameter(parameter: dict[str, Any]) -> None:
    """A parameter that may be left out has no null: neither as a type nor as its default."""
    schema = parameter.get("schema", {})
    kinds = [kind for kind in schema.pop("anyOf", []) if kind != {"type": "null"}]
    if kinds:
        schema.update(kinds[0])
    if schema.get("default", ...) is None:
        del schema["default"]
    if "description" in schema:
        parameter["description"] = schema.pop("description")

"""Requests turned into checked objects, with errors that name the field.

``@takes_body(Model)``, ``@takes_query(Model)`` and ``@takes_headers(Model)``
parse, check and pass the result on as ``body=``, ``query=`` or ``headers=``,
and leave the description APIFlask needs for the OpenAPI document.  JSON is
read strictly: no NaN, no numbers beyond a double, no lone surrogates, at most
one MiB.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

import orjson
from flask import request
from pydantic import BaseModel, ConfigDict, ValidationError
from werkzeug.exceptions import RequestEntityTooLarge

from app.errors import InvalidRequest, TooLarge
from trainer.recipes.refusals import refusal

Model = TypeVar("Model", bound=BaseModel)
View = Callable[..., Any]
MAX_BODY_BYTES: Final = 1024 * 1024


class Body(BaseModel):
    """Base of all request bodies: unknown keys are refused, values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Query(BaseModel):
    """Base of all query strings; unknown parameters are ignored, as browsers and proxies add some."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, populate_by_name=True)


def takes_body(model: type[Body]) -> Callable[[View], View]:
    """Pass the request's JSON body on as ``body``, an instance of ``model``."""

    def decorate(view: View) -> View:
        @wraps(view)
        def parsed(*args: Any, **kwargs: Any) -> Any:
            return view(*args, body=_check(model, _json_body()), **kwargs)

        return _describe(parsed, body=model, content_type="application/json")

    return decorate


def takes_query(model: type[Query]) -> Callable[[View], View]:
    """Pass the query string on as ``query``, an instance of ``model``."""

    def decorate(view: View) -> View:
        @wraps(view)
        def parsed(*args: Any, **kwargs: Any) -> Any:
            return view(*args, query=_check(model, request.args.to_dict()), **kwargs)

        return _describe(parsed, args=[(model, "query")])

    return decorate


def takes_headers(model: type[Query]) -> Callable[[View], View]:
    """Pass headers on as ``headers``; the field ``idempotency_key`` is the header ``Idempotency-Key``."""

    def decorate(view: View) -> View:
        @wraps(view)
        def parsed(*args: Any, **kwargs: Any) -> Any:
            named = {name: _header_name(name) for name in model.model_fields}
            raw = {
                name: request.headers[header] for name, header in named.items() if header in request.headers
            }
            return view(*args, headers=_check(model, raw, shown=_header_name), **kwargs)

        return _describe(parsed, args=[(model, "headers")])

    return decorate


def _header_name(field: str) -> str:
    return field.replace("_", "-").title()


def _json_body() -> object:
    request.max_content_length = MAX_BODY_BYTES
    try:
        raw = request.get_data()
    except RequestEntityTooLarge as exc:
        raise TooLarge("the body may have at most 1 MiB") from exc
    if not raw:
        raise InvalidRequest("the body is missing", field="body", hint="send a JSON object")
    if not request.is_json:
        raise InvalidRequest(
            f"the body must be JSON, not {request.mimetype or 'untyped'}",
            field="body",
            hint="send the header Content-Type: application/json",
        )
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as exc:
        raise InvalidRequest(f"the body is not JSON: {exc}", field="body") from exc


def _check(model: type[Model], raw: object, *, shown: Callable[[str], str] = str) -> Model:
    try:
        return model.model_validate(raw)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        field = shown(".".join(str(part) for part in first["loc"])) or "body"
        known = ", ".join(field.alias or name for name, field in model.model_fields.items())
        hint = f"known keys: {known}" if first["type"] == "extra_forbidden" else None
        raise InvalidRequest(refusal(first), field=field, hint=hint) from exc


def _describe(view: View, **facts: Any) -> View:
    """Add ``facts`` to what APIFlask reads from a view when it writes the OpenAPI document."""
    view._spec = {**getattr(view, "_spec", {}), **facts}  # type: ignore[attr-defined]
    return view

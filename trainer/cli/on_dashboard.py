"""``run … --dashboard URL``: the same run, queued and supervised by a dashboard, and followed from here.

The terminal may go away: the run is the dashboard's.  Ctrl-C asks for a stop
after a checkpoint, a second one for an end at once.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from trainer.cli.assignments import settings_of
from trainer.cli.columns import columns_of
from trainer.cli.errors import UsageError
from trainer.cli.own_environment import checked_environment
from trainer.cli.policy_options import policy_of
from trainer.cli.progress_bar import ProgressBar, Standing
from trainer.recipes.registry import ParameterError, Recipe, validate

TOKEN: Final = "SIGNALBOX_TOKEN"  # noqa: S105 - the name of a variable
_MAKE_ONE: Final = "make one where it runs: python -m app token create --scope owner"
FOLLOW_EVERY_S: Final = 1.0
ANSWER_S: Final = 130.0  # the preflight of a run may take a while
UNREACHABLE_S: Final = 600.0
_ENDED: Final = {"finished": 0, "stopped": 130}
_MOST_BYTES: Final = 8 * 1024 * 1024


def run_on_dashboard(
    arguments: argparse.Namespace, recipe: Recipe, preset: Mapping[str, Any], table: Callable[..., None]
) -> int:
    """Start or resume the run there, and follow it to its end.

    Args:
        arguments: of the command line.
        recipe: what is trained.
        preset: parameters under those of the command line.
        table: prints last and best metrics, as for a run of this terminal.

    Raises:
        UsageError: the dashboard refuses, or cannot be reached; nothing was started.
    """
    there = _Dashboard(arguments.dashboard)
    if arguments.resume:
        if not arguments.run_dir:
            raise UsageError("--resume: name the run to go on with by --run-dir, by its folder or its id")
        run = there.asked("POST", f"/api/runs/{Path(arguments.run_dir).name}/resume")
    else:
        run = there.asked("POST", "/api/runs", _wish(arguments, recipe, preset))
    print(f"run: {there.url}/runs/{run['id']}", file=sys.stderr)
    run = _followed(there, run)
    stream = sys.stderr if arguments.json else sys.stdout
    print(f"{run['state']}: {run['reason'] or 'see its page'} (attempt {run['attempt']})", file=stream)
    table(run["latest"], {}, stream)
    if arguments.json:
        told = {name: run[name] for name in ("id", "state", "reason", "exit_code", "exit_signal", "attempt")}
        print(json.dumps({**told, "steps": run["step"], "metrics": {"last": run["latest"]}}), flush=True)
    return _ENDED.get(run["state"], run["exit_code"] or 1)


def _wish(arguments: argparse.Namespace, recipe: Recipe, preset: Mapping[str, Any]) -> dict[str, Any]:
    """The body of ``POST /api/runs``: a file of this folder by its whole path."""
    if arguments.run_dir:
        raise UsageError("--run-dir: a dashboard keeps its runs in its own folder; leave it away")
    settings = {**preset, **settings_of(arguments.settings)}
    try:
        validate(recipe, settings)
    except ParameterError as exc:
        raise UsageError(f"--set {exc}") from exc
    dataset = arguments.dataset or ""
    named = dataset if not Path(dataset).is_file() else str(Path(dataset).resolve())
    wish = {
        "recipe": recipe.name,
        "dataset": named,
        "params": settings,
        "columns": columns_of(arguments.columns, kind_names=recipe.dataset_kinds),
        "environment": checked_environment(arguments.environment),
        "policy": policy_of(arguments),
        "profile": arguments.profile,
        "script": arguments.script,
        "preflight": "skip" if arguments.force else "require",
    }
    return {name: value for name, value in wish.items() if value not in (None, "", {})}


def _followed(there: _Dashboard, run: dict[str, Any]) -> dict[str, Any]:
    """The run when it has ended; a dashboard that is restarted meanwhile is waited for."""
    bar, orders = ProgressBar(sys.stderr), ["stop", "kill"]
    heard = time.monotonic()
    try:
        while not run["is_ended"]:
            try:
                time.sleep(FOLLOW_EVERY_S)
                run = there.asked("GET", f"/api/runs/{run['id']}")
                heard = time.monotonic()
                bar.show(_standing(run))
            except KeyboardInterrupt:
                if not orders:
                    raise
                there.asked("POST", f"/api/runs/{run['id']}/{orders.pop(0)}")
            except Unreachable:
                if time.monotonic() - heard > UNREACHABLE_S:
                    raise
    finally:
        bar.close()
    return run


def _standing(run: Mapping[str, Any]) -> Standing:
    latest = {name: value for name, value in run["latest"].items() if value is not None}
    phase = run["phase"] if run["state"] == "running" else run["state"]
    return Standing(step=run["step"] or 0, total_steps=run["total_steps"], phase=phase, latest=latest)


class Unreachable(UsageError):
    """Nobody answers at the dashboard's address."""


class _Dashboard:
    """Its REST addresses, asked with the owner's token."""

    def __init__(self, url: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"--dashboard: {url!r} is no address; name it like http://127.0.0.1:8421")
        self.url = url.rstrip("/")
        self._token = os.environ.get(TOKEN, "")
        if not self._token:
            raise UsageError(f"--dashboard: set {TOKEN} to an owner's token; {_MAKE_ONE}")

    def asked(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What it answers.

        Raises:
            Unreachable: nobody answers.
            UsageError: it refuses; tells its message and what helps.
        """
        request = urllib.request.Request(  # noqa: S310 - http and https only
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:  # noqa: S310 - as above
                told: dict[str, Any] = json.loads(answer.read(_MOST_BYTES))
        except urllib.error.HTTPError as exc:
            with exc:
                if exc.code == HTTPStatus.UNAUTHORIZED:
                    raise UsageError(
                        f"--dashboard: {self.url} does not know the token in {TOKEN}; {_MAKE_ONE}"
                    ) from exc
                raise _refusal(exc.code, exc.read(_MOST_BYTES)) from exc
        except (OSError, http.client.HTTPException) as exc:
            raise Unreachable(f"--dashboard: {self.url} does not answer ({exc})") from exc
        except ValueError as exc:
            raise UsageError(f"--dashboard: what answers at {self.url} is no dashboard") from exc
        return told


def _refusal(status: int, answer: bytes) -> UsageError:
    """The dashboard's error in one line, and its red findings in one line each."""
    try:
        told = json.loads(answer)
        error = told["error"] if isinstance(told["error"], dict) else {"message": told["error"]}
        said = " ".join(str(error[part]) for part in ("field", "message", "hint") if error.get(part))
        red = error.get("checks") or told.get("checks") or []
        found = [f"{one['title']}: {one['found']} {one['remedy']}" for one in red]
    except (ValueError, KeyError, TypeError):
        said, found = f"it answered with status {status}", []
    return UsageError("; ".join([f"--dashboard: {said}", *found]))

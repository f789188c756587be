"""Everything a person may do with datasets: look over, register, see versions, compare, delete."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from app.config import Settings
from app.domain.run_states import ENDED, RunState
from app.errors import Conflict, InvalidRequest, NotFound, Unavailable
from app.services.dataset_inspection import Inspections, InspectionWish
from app.services.dataset_uploads import Uploads
from app.services.datasets import check_file, describe_datasets, is_inside, resolve_file
from app.store import datasets as rows
from app.store.engine import Store
from trainer.datasets.kinds.registry import endings_of, kinds
from trainer.protocol import dataset_shelf as shelf
from trainer.protocol.dataset_shelf import DatasetVersion, ShelfError
from trainer.recipes.files import recipes_for
from trainer.recipes.registry import recipes

MAX_RUNS_NAMED: Final = 50
TOKENIZER: Final = "tokenizer.json"


class DatasetDesk:
    """The use cases of datasets."""

    def __init__(
        self, store: Store, *, settings: Settings, inspections: Inspections, uploads: Uploads
    ) -> None:
        self._store = store
        self._settings = settings
        self.inspections = inspections
        self.uploads = uploads

    def listing(self) -> dict[str, Any]:
        """Built-in, registered and other files, the folders they may lie in, and the kinds there are."""
        roots = self._settings.dataset_roots
        described = describe_datasets(recipes().values(), roots=roots)
        registered = [self._entry(name) for name in shelf.names(self._settings.datasets_dir)]
        taken = {entry["path"] for entry in registered}
        others = [one for one in described if one.get("path") not in taken]
        builtin = [one for one in others if one["kind"] == "builtin"]
        files = [one for one in others if one["kind"] == "file"]
        return {
            "datasets": [*builtin, *registered, *files],
            "folders": [str(root) for root in roots],
            "kinds": [_kind_to_json(name) for name in kinds()],
            "max_upload_mib": self._settings.max_upload_mib,
        }

    def inspect(self, source: Mapping[str, str | None], wish: InspectionWish) -> dict[str, Any]:
        """Look a file over; ``source`` holds either ``upload`` (an id) or ``path``.

        Raises:
            InvalidRequest: the path is not allowed, or the kind or a role does not exist.
            NotFound: there is no such upload.
            Unavailable: too many files are being looked over.
        """
        path = self._source(source)
        self._check(wish)
        tokenizer = str(self._tokenizer(wish.tokenizer)) if wish.tokenizer else ""
        report = self.inspections.inspect(path, replace(wish, tokenizer=tokenizer))
        return _without_folder(report, path)

    def register(
        self, name: str, source: Mapping[str, str | None], wish: InspectionWish
    ) -> tuple[DatasetVersion, bool]:
        """Look a file over and put it on the shelf; whether that made a new version.

        Raises:
            InvalidRequest: the name is taken by something else, or the file cannot be trained on.
            Unavailable: the disk is full, or too many files are being looked over.
        """
        self._check_name(name)
        report = self.inspect(source, replace(wish, is_quick=False))
        path = self._source(source)
        folder = self._settings.datasets_dir
        try:
            version = shelf.version_of(name, {**report, "path": str(path)})
            before = {one.version for one in shelf.versions(folder, name)}
            stored = shelf.add(folder, version, take=path if source.get("upload") else None)
        except ShelfError as exc:
            field = "name" if report["check"]["ok"] else "columns"
            raise InvalidRequest(str(exc), field=field) from exc
        except OSError as exc:
            raise Unavailable(f"It cannot be stored: {exc.strerror}.", hint="Make room on the disk.") from exc
        if source.get("upload"):
            self.uploads.forget(str(source["upload"]))
        return stored, stored.version not in before

    def show(self, name: str) -> dict[str, Any]:
        """A registered dataset: its versions, newest first, with what was found in the newest.

        Raises:
            NotFound: nothing is registered under this name.
        """
        there = self._versions(name)
        paths = {version.path for version in there}
        with self._store.read() as session:
            users = rows.runs_on(session, paths, limit=MAX_RUNS_NAMED)
        newest = there[-1]
        return {
            **self._entry(name),
            "facts": newest.facts,
            "versions": [version.to_json() for version in reversed(there)],
            "runs": [
                {"id": run.id, "name": run.name, "state": run.state, "dataset_hash": run.dataset_hash}
                for run in users
            ],
        }

    def delete(self, name: str) -> None:
        """Move a registered dataset to ``instance/trash``; a file that lies elsewhere stays.

        Raises:
            NotFound: nothing is registered under this name.
            Conflict: a run that has not ended uses it.
        """
        there = self._versions(name)
        with self._store.read() as session:
            users = rows.runs_on(session, {version.path for version in there}, limit=MAX_RUNS_NAMED)
        busy = [run.name for run in users if RunState(run.state) not in ENDED]
        if busy:
            raise Conflict(f"{name} is used by {', '.join(busy[:3])}.", hint="Stop these runs first.")
        try:
            shelf.discard(self._settings.datasets_dir, name, trash=self._settings.instance / "trash")
        except OSError as exc:
            raise Unavailable(f"It cannot be moved: {exc.strerror}.", hint="Try again.") from exc

    def overlap(self, train: str, validation: str) -> dict[str, Any]:
        """What two registered datasets of one kind share.

        Raises:
            InvalidRequest: they are of different kinds, or one of them cannot be read.
            NotFound: one of them is not registered.
        """
        first, second = self._version(train), self._version(validation)
        if first.kind != second.kind:
            raise InvalidRequest(
                f"{first.label} holds {first.kind} and {second.label} {second.kind}", field="validation"
            )
        return self.inspections.overlap(
            (Path(first.path), Path(second.path)), kind=first.kind, columns=(first.columns, second.columns)
        )

    def tokenizers(self) -> Sequence[dict[str, str]]:
        """The tokenizers of exported models, newest run first, by which lengths can be counted in tokens."""
        found = sorted(self._settings.runs_dir.glob(f"*/export/{TOKENIZER}"), reverse=True)
        names = {path: path.parents[1].name for path in found if path.is_file()}
        with self._store.read() as session:
            runs = rows.run_names(session, set(names.values()))
        return [{"run": run, "name": runs.get(run, run), "path": str(path)} for path, run in names.items()]

    def _entry(self, name: str) -> dict[str, Any]:
        newest = self._versions(name)[-1]
        return {
            "kind": "registered",
            "title": name,
            "holds": newest.kind,
            "recipes": recipes_for(newest.kind),
            **{key: value for key, value in newest.to_json().items() if key != "kind"},
            "format": newest.facts.get("format", ""),
        }

    def _versions(self, name: str) -> list[DatasetVersion]:
        there = shelf.versions(self._settings.datasets_dir, name)
        if not there:
            raise NotFound(f"No dataset is registered as {name!r}.", hint="GET /api/datasets lists them.")
        return there

    def _version(self, wanted: str) -> DatasetVersion:
        version = shelf.find(self._settings.datasets_dir, wanted)
        if version is None:
            raise NotFound(f"No dataset is registered as {wanted!r}.", hint="GET /api/datasets lists them.")
        return version

    def _source(self, source: Mapping[str, str | None]) -> Path:
        upload, path = source.get("upload"), source.get("path")
        if (upload is None) == (path is None):
            raise InvalidRequest("name one of the two", field="path", hint="either upload or path")
        if upload is not None:
            return self.uploads.find(upload).path
        roots = [*self._settings.dataset_roots, self._settings.datasets_dir / shelf.SHELF]
        return Path(resolve_file(str(path), roots=roots, endings=endings_of(kinds()), field="path"))

    def _tokenizer(self, wanted: str) -> Path:
        real = Path(os.path.realpath(wanted))
        if real.name != TOKENIZER or not is_inside(real, [self._settings.runs_dir]):
            raise InvalidRequest("is no tokenizer of an exported model", field="tokenizer")
        check_file(real, shown=wanted, endings=(".json",))
        return real

    def _check(self, wish: InspectionWish) -> None:
        if wish.kind and wish.kind not in kinds():
            raise InvalidRequest(
                f"there is no kind {wish.kind!r}", field="kind", hint=f"there are: {', '.join(kinds())}"
            )

    def _check_name(self, name: str) -> None:
        try:
            shelf.check_name(name)
        except ShelfError as exc:
            raise InvalidRequest(str(exc), field="name") from exc
        if name in (one.name for recipe in recipes().values() for one in recipe.builtin_datasets):
            raise InvalidRequest(f"{name} is built in", field="name", hint="Choose another name.")


def _kind_to_json(name: str) -> dict[str, Any]:
    kind = kinds()[name]
    return {
        "name": kind.name,
        "title": kind.title,
        "help": kind.help,
        "endings": list(kind.endings),
        "needs": [list(need) for need in kind.needs],
        "roles": [{"name": role.name, "help": role.help, "is_label": role.is_label} for role in kind.roles],
    }


def _without_folder(report: dict[str, Any], path: Path) -> dict[str, Any]:
    """The report with the file's plain name in its messages: the folder says nothing to a person."""
    check = dict(report["check"])
    if "error" in check:
        check["error"] = str(check["error"]).replace(str(path), path.name)
    return {**report, "check": check, "name": path.name}

"""The parameter ``probe_file``: probes in a file beside the dataset, which a run takes along at its launch.

Only the standard library may be imported here.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import beside, write_atomic
from trainer.protocol.probe_files import AddedProbe, lines_of, probes_path, read_probes
from trainer.protocol.run_folder import RunPaths, RunSpec

MAX_FILE_BYTES: Final = 16 * 1024 * 1024


def take_probes_along(spec: RunSpec, paths: RunPaths) -> None:
    """Copy the probes that a new run names into its folder; call it before its spec is written.

    A run that has been launched before keeps what it has: people may have added and removed some since.

    Raises:
        ProtocolError: the file cannot be read, or a row of it is wrong; names file and row.
        OSError: the folder cannot be written.
    """
    if paths.spec.exists() or spec.script:
        return
    found = named_probes(spec.params, dataset=spec.dataset, datasets_dir=Path(spec.datasets_dir))
    if found is not None:
        write_atomic(probes_path(paths), lines_of(found), mode=0o600)


def named_probes(params: Mapping[str, Any], *, dataset: str, datasets_dir: Path) -> list[AddedProbe] | None:
    """The probes of the file that ``params`` names; None where they name none.

    Raises:
        ProtocolError: it cannot be read, or a row of it is wrong; names file and row.
    """
    name = str(params.get("probe_file", ""))
    if not name:
        return None
    path = beside(dataset, name, datasets_dir=datasets_dir)
    try:
        status = path.stat()
    except OSError as exc:
        raise ProtocolError(f"probe_file: {path}: {exc.strerror}") from exc
    if not stat.S_ISREG(status.st_mode):
        raise ProtocolError(f"probe_file: {path}: is not a regular file")
    if status.st_size > MAX_FILE_BYTES:
        raise ProtocolError(f"probe_file: {path}: is larger than {MAX_FILE_BYTES // 2**20} MiB")
    found = read_probes(path)
    if not found:
        raise ProtocolError(f"probe_file: {path}: holds no probe; write one object per line")
    return found

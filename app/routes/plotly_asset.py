"""plotly.js as the installed Python package carries it, compressed once.

The page and the server thereby always agree on the version, and no third-party
script lies in the repository.  Flask does not compress static files, and the
bundle is 4.8 MB raw, 1.5 MB gzipped: the first request writes the compressed
copy into ``instance/cache``, later ones send that file.
"""

from __future__ import annotations

import gzip
import importlib.metadata
import importlib.util
import threading
from functools import cache
from pathlib import Path

from app.errors import Unavailable
from trainer.protocol.files import write_atomic

_compressing = threading.Lock()


@cache
def plotly_version() -> str:
    """Version of the installed plotly package."""
    return importlib.metadata.version("plotly")


@cache
def plotly_source() -> Path:
    """The bundled script; found without importing plotly.

    Raises:
        Unavailable: plotly is not installed as ``requirements.txt`` asks.
    """
    spec = importlib.util.find_spec("plotly")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        script = Path(folder) / "package_data" / "plotly.min.js"
        if script.is_file():
            return script
    raise Unavailable("plotly.js is missing", hint="install the packages of requirements.txt again")


def compressed_plotly(cache_dir: Path) -> Path:
    """The gzipped script in ``cache_dir``, made on first use."""
    target = cache_dir / f"plotly-{plotly_version()}.js.gz"
    if target.is_file():
        return target
    with _compressing:
        if not target.is_file():
            write_atomic(target, gzip.compress(plotly_source().read_bytes(), compresslevel=6, mtime=0))
    return target

"""Settings of the web process: ``SIGNALBOX_*`` variables over ``signalbox.toml`` over defaults.

Nothing is read at import.  Every bad value becomes one line that names the
variable and says what to write instead; all of them are reported at once.
"""

from __future__ import annotations

import difflib
import ipaddress
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from app.domain.webhook_address import trouble_with
from trainer.scripts.catalogue import scripts_folder

PREFIX: Final = "SIGNALBOX_"
CONFIG_VARIABLE: Final = "SIGNALBOX_CONFIG"
SPARE_THREADS: Final = 32  # request threads that stay free for HTTP when every socket is taken
LOG_LEVELS: Final = ("debug", "info", "warning", "error")


class SettingsError(ValueError):
    """One or more settings are wrong; each line of the message names one and its remedy."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the web process needs to know before it starts.

    Attributes:
        host: address to listen on; loopback unless ``allowed_hosts`` is given too.
        port: TCP port, also part of the cookie's name and of the allowed origins.
        instance: absolute folder of database, runs, datasets and inbox.
        database_url: SQLAlchemy URL.
        max_runs: runs that may be active at the same time.
        max_sockets: websockets served at once; more are refused so that HTTP survives.
        threads: request threads; every socket holds one.
        allowed_hosts: further names (without port) under which the server may be addressed.
        dataset_roots: folders from which datasets may be read.
        stop_grace_s: seconds a stopped run gets for its last checkpoint.
        log_level: debug, info, warning or error.
        webhook_url: where alerts are posted to; empty: as chosen on the settings page, by default nowhere.
        webhook_secret: signs what is posted.
        inbox: whether files dropped into the inbox are taken, until the page's switch says otherwise.
        max_upload_mib: a dataset that a browser sends may have at most so many MiB.
    """

    instance: Path
    database_url: str
    dataset_roots: tuple[Path, ...]
    host: str = "127.0.0.1"
    port: int = 8421
    max_runs: int = 1
    max_sockets: int = 200
    threads: int = 512
    allowed_hosts: tuple[str, ...] = ()
    stop_grace_s: float = 30.0
    log_level: str = "info"
    webhook_url: str = field(default="", repr=False)
    webhook_secret: str = field(default="", repr=False)
    inbox: bool = False
    max_upload_mib: int = 4096

    @property
    def runs_dir(self) -> Path:
        """One folder per run."""
        return self.instance / "runs"

    @property
    def datasets_dir(self) -> Path:
        """Built-in datasets and their caches."""
        return self.instance / "datasets"

    @property
    def scripts_dir(self) -> Path:
        """A folder per script of people's own."""
        return scripts_folder(self.instance)

    @property
    def inbox_dir(self) -> Path:
        """Where datasets are dropped."""
        return self.instance / "inbox"

    @property
    def base_url(self) -> str:
        """Where this machine's supervisors and browsers reach the server, without trailing slash."""
        wildcard = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not listened on
        host = wildcard.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    @classmethod
    def from_env(cls, environ: Mapping[str, str], *, toml_path: Path | None = None) -> Settings:
        """Build settings from variables, a file and defaults, in that order of precedence.

        Args:
            environ: where ``SIGNALBOX_*`` variables are looked up.
            toml_path: the file to read; None, or a missing file, stands for an empty one.
        Raises:
            SettingsError: one line per wrong value.
        """
        problems: list[str] = []
        raw = _file_values(toml_path, problems)
        raw |= _environment_values(environ, problems)
        values: dict[str, Any] = {}
        for name, (place, text) in raw.items():
            try:
                values[name] = _PARSERS[name](text)
            except ValueError as exc:
                shown = "" if name.startswith("webhook_") else f"={text!r}"  # it may hold a secret
                problems.append(f"{place}{shown}: {exc}")
        if not problems:
            problems = _contradictions(values)
        if problems:
            raise SettingsError("\n".join(problems))
        return cls(**_with_folders(values))


def config_file(environ: Mapping[str, str]) -> Path:
    """The settings file of a command line: ``SIGNALBOX_CONFIG``, else ``signalbox.toml`` beside it."""
    return Path(environ.get(CONFIG_VARIABLE) or "signalbox.toml")


def is_loopback(host: str) -> bool:
    """Whether ``host`` (a name or an address, no port) means this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _integer(low: int, high: int) -> Callable[[object], int]:
    def parse(raw: object) -> int:
        try:
            value = int(str(raw), 10)
        except ValueError:
            raise ValueError(f"write a whole number from {low} to {high}") from None
        if not low <= value <= high:
            raise ValueError(f"write a whole number from {low} to {high}")
        return value

    return parse


def _seconds(raw: object) -> float:
    try:
        value = float(str(raw))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:
        raise ValueError("write seconds from 0 to 3600")
    return value


def _folder(raw: object) -> Path:
    if not isinstance(raw, str) or not raw.strip():
        raise ValueError("write the path of a folder")
    return Path(raw).expanduser().absolute()


def _list(raw: object) -> list[str]:
    parts = raw.split(",") if isinstance(raw, str) else raw
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError('write a list: with commas in a variable, ["a", "b"] in the file')
    return [part.strip() for part in parts if part.strip()]


def _folders(raw: object) -> tuple[Path, ...]:
    return tuple(_folder(part) for part in _list(raw))


def _host(raw: object) -> str:
    if not isinstance(raw, str) or not raw.strip() or "/" in raw or "*" in raw:
        raise ValueError("write an address to listen on, such as 127.0.0.1")
    return raw.strip().strip("[]").lower()


def _host_names(raw: object) -> tuple[str, ...]:
    names = tuple(name.lower() for name in _list(raw))
    for name in names:
        bare = name.strip("[]")
        is_ipv6 = ":" in bare and _is_address(bare)
        if "*" in name or "/" in name or (":" in name and not is_ipv6):
            raise ValueError(f"{name!r} must be an exact host name without scheme, port or wildcard")
    return names


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _database_url(raw: object) -> str:
    if not isinstance(raw, str) or not raw.startswith(("sqlite:///", "postgresql")):
        raise ValueError("write sqlite:///PATH or postgresql://USER@HOST/NAME")
    return raw


def _webhook_url(raw: object) -> str:
    url = raw.strip() if isinstance(raw, str) else ""
    if url and (trouble := trouble_with(url)):
        raise ValueError(f"it {trouble}")
    return url


def _webhook_secret(raw: object) -> str:
    if not isinstance(raw, str) or len(raw) > 200:
        raise ValueError("write at most 200 characters")
    return raw


def _switch(raw: object) -> bool:
    words = {"on": True, "true": True, "yes": True, "1": True}
    words |= {"off": False, "false": False, "no": False, "0": False}
    if isinstance(raw, bool):
        return raw
    if not isinstance(raw, str) or raw.strip().lower() not in words:
        raise ValueError("write on or off (in the file true or false)")
    return words[raw.strip().lower()]


def _log_level(raw: object) -> str:
    if not isinstance(raw, str) or raw.lower() not in LOG_LEVELS:
        raise ValueError(f"write one of {', '.join(LOG_LEVELS)}")
    return raw.lower()


_PARSERS: Final[dict[str, Callable[[object], Any]]] = {
    "host": _host,
    "port": _integer(1, 65535),
    "instance": _folder,
    "database_url": _database_url,
    "max_runs": _integer(1, 256),
    "max_sockets": _integer(4, 10_000),
    "threads": _integer(8, 20_000),
    "allowed_hosts": _host_names,
    "dataset_roots": _folders,
    "stop_grace_s": _seconds,
    "log_level": _log_level,
    "webhook_url": _webhook_url,
    "webhook_secret": _webhook_secret,
    "inbox": _switch,
    "max_upload_mib": _integer(1, 1_000_000),
}


def _file_values(path: Path | None, problems: list[str]) -> dict[str, tuple[str, object]]:
    if path is None or not path.exists():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        problems.append(f"{path}: cannot be read as TOML: {exc}")
        return {}
    problems.extend(f"{path}: {name} is no setting{_suggest(name)}" for name in table if name not in _PARSERS)
    return {name: (f"{path}: {name}", value) for name, value in table.items() if name in _PARSERS}


def _environment_values(environ: Mapping[str, str], problems: list[str]) -> dict[str, tuple[str, object]]:
    found: dict[str, tuple[str, object]] = {}
    for variable, text in environ.items():
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or variable == CONFIG_VARIABLE:
            continue
        if name in _PARSERS:
            found[name] = (variable, text)
        elif suggestion := _suggest(name, prefix=PREFIX):
            problems.append(f"{variable} is no setting{suggestion}")
    return found


def _suggest(name: str, *, prefix: str = "") -> str:
    close = difflib.get_close_matches(name.lower(), _PARSERS, n=1, cutoff=0.75)
    shown = [f"{prefix}{match.upper()}" if prefix else match for match in close]
    return f"; did you mean {shown[0]}?" if shown else ""


def _contradictions(values: Mapping[str, Any]) -> list[str]:
    problems = []
    if not is_loopback(values.get("host", Settings.host)) and not values.get("allowed_hosts"):
        problems.append(
            f"SIGNALBOX_HOST={values['host']!r} opens the server to other machines: set "
            "SIGNALBOX_ALLOWED_HOSTS to the exact names it may be called by, or listen on 127.0.0.1"
        )
    sockets, threads = (
        values.get("max_sockets", Settings.max_sockets),
        values.get("threads", Settings.threads),
    )
    if threads < sockets + SPARE_THREADS:
        problems.append(
            f"SIGNALBOX_THREADS={threads}: every socket holds a thread, so write at least "
            f"SIGNALBOX_MAX_SOCKETS + {SPARE_THREADS} = {sockets + SPARE_THREADS}"
        )
    return problems


def _with_folders(values: dict[str, Any]) -> dict[str, Any]:
    instance: Path = values.setdefault("instance", Path("instance").absolute())
    values.setdefault("database_url", f"sqlite:///{instance / 'signalbox.db'}")
    values.setdefault("dataset_roots", (instance / "datasets", instance / "inbox"))
    return values

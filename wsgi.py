"""Starts the dashboard: ``python wsgi.py [--demo]``.

One gunicorn worker with threads.  The parent process migrates, holds the lock
on the instance folder and prints the login link; every thread of ours lives in
the worker.  Runs belong to their supervisors: neither process takes them along.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from app.config import Settings, SettingsError, config_file
from app.errors import SignalboxError
from app.server.instance_lock import InstanceLock, InstanceTaken, PortTaken, check_port
from app.server.login_links import login_link, require_owner_token
from app.server.logs import set_up_logging
from app.server.serve import serve
from app.store.schema import upgrade


def main(arguments: list[str]) -> int:
    """Serve until told to stop; 2 when it cannot start, with one clear line."""
    parser = argparse.ArgumentParser(prog="wsgi.py", description="Start the Signalbox dashboard.")
    parser.add_argument("--demo", action="store_true", help="start a training run unless one is under way")
    options = parser.parse_args(arguments)
    try:
        settings = Settings.from_env(os.environ, toml_path=config_file(os.environ))
        set_up_logging(settings)
        os.umask(0o077)  # what lies in the instance folder is for its owner only
        settings.instance.mkdir(parents=True, exist_ok=True)
        lock = InstanceLock(settings.instance)
        lock.acquire()
        check_port(settings)
        upgrade(settings.database_url)
        require_owner_token(settings)
        link = login_link(settings)
    except (SettingsError, InstanceTaken, PortTaken, SignalboxError, OSError) as exc:
        print(f"signalbox: {exc}", file=sys.stderr)
        return 2

    def announce() -> None:
        print(f"Signalbox listens on {settings.base_url} (instance {_shown(settings.instance)})")
        print(f"Log in within 10 minutes: {link}", flush=True)

    serve(settings, demo=options.demo, announce=announce)
    return 0


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

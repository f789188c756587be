"""The dashboard's command line: ``python -m app token create | login-link | migrate``."""

from __future__ import annotations

import argparse
import os
import sys

from app.config import Settings, SettingsError, config_file
from app.domain.callers import Scope
from app.errors import SignalboxError
from app.server.login_links import api_token, login_link
from app.store.schema import upgrade


def main(arguments: list[str]) -> int:
    """Run one command; 2 on a user's mistake, with one clear line."""
    options = _parser().parse_args(arguments)
    os.umask(0o077)
    try:
        settings = Settings.from_env(os.environ, toml_path=config_file(os.environ))
        settings.instance.mkdir(parents=True, exist_ok=True)
        upgrade(settings.database_url)
        if options.command == "token":
            print(api_token(settings, scope=Scope(options.scope), label=options.label))
        elif options.command == "login-link":
            print(login_link(settings))
        else:
            print(f"the database of {settings.instance} has the newest schema")
    except (SettingsError, SignalboxError, OSError) as exc:
        print(f"signalbox: {exc}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m app", description="Manage the Signalbox dashboard.")
    commands = parser.add_subparsers(dest="command", required=True)
    token = commands.add_parser("token", help="API tokens").add_subparsers(dest="action", required=True)
    create = token.add_parser("create", help="print a new API token; it is shown once")
    create.add_argument("--scope", choices=[Scope.OWNER.value, Scope.VIEWER.value], required=True)
    create.add_argument("--label", default="", help="what the token is for, to recognise it later")
    commands.add_parser("login-link", help="print a link that logs one browser in, within ten minutes")
    commands.add_parser("migrate", help="bring the database to the newest schema")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

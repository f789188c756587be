"""The dashboard's command line: ``python -m app token create | login-link | migrate | …-evolution``."""

from __future__ import annotations

import argparse
import os
import sys

from app.cli import export_evolution, import_evolution
from app.config import Settings, SettingsError, config_file
from app.domain.callers import Scope
from app.errors import SignalboxError
from app.server.login_links import api_token, login_link
from app.store.schema import upgrade


def main(arguments: list[str]) -> int:
    """Run one command; 2 on a user's mistake, with one clear line."""
    parser = _parser()
    options, late = parser.parse_known_args(arguments)
    if late and not (options.command == "export-evolution" and export_evolution.take_late(options, late)):
        parser.error(f"unrecognized arguments: {' '.join(late)}")
    os.umask(0o077)
    try:
        settings = Settings.from_env(os.environ, toml_path=config_file(os.environ))
        settings.instance.mkdir(parents=True, exist_ok=True)
        upgrade(settings.database_url)
        return int(options.main(settings, options))
    except SignalboxError as exc:
        hint = "" if exc.hint is None else f" {exc.hint}"
        print(f"signalbox: {exc}{hint}", file=sys.stderr)
    except (SettingsError, OSError) as exc:
        print(f"signalbox: {exc}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m app", description="Manage the Signalbox dashboard.")
    commands = parser.add_subparsers(dest="command", required=True)
    token = commands.add_parser("token", help="API tokens").add_subparsers(dest="action", required=True)
    create = token.add_parser("create", help="print a new API token; it is shown once")
    create.add_argument("--scope", choices=[Scope.OWNER.value, Scope.VIEWER.value], required=True)
    create.add_argument("--label", default="", help="what the token is for, to recognise it later")
    create.set_defaults(main=_print_token)
    link = commands.add_parser("login-link", help="print a link that logs one browser in, within ten minutes")
    link.set_defaults(main=_print_login_link)
    migrate = commands.add_parser("migrate", help="bring the database to the newest schema")
    migrate.set_defaults(main=_tell_schema)
    import_evolution.add_parser(commands)
    export_evolution.add_parser(commands)
    return parser


def _print_token(settings: Settings, options: argparse.Namespace) -> int:
    print(api_token(settings, scope=Scope(options.scope), label=options.label))
    return 0


def _print_login_link(settings: Settings, options: argparse.Namespace) -> int:
    print(login_link(settings))
    return 0


def _tell_schema(settings: Settings, options: argparse.Namespace) -> int:
    print(f"the database of {settings.instance} has the newest schema")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The database's shape over time: migrations to the newest revision.

``create_app`` calls :func:`upgrade`
before the store is opened.  A new revision is one file in
``migrations/versions``; ``python -m alembic -c migrations/alembic.ini check``
tells whether models and migrations agree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, make_url

from app.errors import Unavailable
from app.store.connections import create_private_file, migration_engine, sqlite_path

MIGRATIONS: Final = Path(__file__).resolve().parents[2] / "migrations"


class SchemaTooNew(Unavailable):
    """The database was written by a newer version of Signalbox."""


def upgrade(database_url: str) -> None:
    """Create the database where it is missing and bring it to the newest revision, all or nothing.

    Raises:
        SchemaTooNew: the database knows a revision this code does not.
    """
    path = sqlite_path(make_url(database_url))
    if path is not None:
        create_private_file(path)
    engine = migration_engine(database_url)
    try:
        with engine.begin() as connection:
            _refuse_newer(connection, database_url)
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def _refuse_newer(connection: Connection, database_url: str) -> None:
    known = {revision.revision for revision in _script().walk_revisions()}
    unknown = set(MigrationContext.configure(connection).get_current_heads()) - known
    if unknown:
        shown = make_url(database_url).render_as_string(hide_password=True)
        raise SchemaTooNew(
            f"The database {shown} was written by a newer Signalbox (schema {', '.join(sorted(unknown))}).",
            hint="Update this copy of Signalbox, or point SIGNALBOX_INSTANCE at another folder.",
        )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _script() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())

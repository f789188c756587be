"""What Alembic runs: in the product on the connection given, for developers on a scratch database."""

from __future__ import annotations

from alembic import context
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, create_engine

from app.store.models import Base


def run_on(connection: Connection) -> None:
    """Run whatever command was asked for, as one transaction."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        transactional_ddl=True,
        render_as_batch=True,  # SQLite alters tables by rebuilding them
        compare_type=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def bring_to_newest(connection: Connection) -> None:
    """Apply every revision to an empty database without the command machinery."""
    migration = MigrationContext.configure(connection)
    with Operations.context(migration):
        for revision in reversed(list(context.script.walk_revisions())):
            revision.module.upgrade()
    migration.stamp(context.script, "head")


def main() -> None:
    """Use the product's connection, ``-x url=...``, or a scratch database in memory."""
    given = context.config.attributes.get("connection")
    if given is not None:
        run_on(given)
        return
    url = context.get_x_argument(as_dictionary=True).get("url")
    engine = create_engine(url or "sqlite://")
    with engine.connect() as connection:
        if url is None:
            bring_to_newest(connection)
        run_on(connection)
        connection.commit()
    engine.dispose()


main()

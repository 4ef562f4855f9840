"""Alembic's entry point: `studio.compute.opening` hands it a connection that already holds the lock."""

from alembic import context

from studio.compute import schema

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=schema.metadata,
    transactional_ddl=True,  # SQLite too: the transaction is ours, and begins before the first statement
)
context.run_migrations()

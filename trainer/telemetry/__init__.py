"""How a trainer reports: spool, heartbeat, controls. Never imports torch."""

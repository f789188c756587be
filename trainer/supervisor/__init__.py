"""The parent of a trainer: spawns, watches, ships, stops. Never imports torch."""

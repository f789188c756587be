"""The whole product: a real server, supervisors, trainers and a real browser."""

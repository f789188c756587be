"""Running the application as a server process: lock, port, log, gunicorn."""

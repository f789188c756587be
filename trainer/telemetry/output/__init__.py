"""What a script's own output says: metrics, progress and phases read from lines printed for people."""

"""What must survive: processes killed in mid-run, on the real product."""

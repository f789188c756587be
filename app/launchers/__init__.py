"""How a supervisor gets started."""

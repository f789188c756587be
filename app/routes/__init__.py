"""Pages and one REST blueprint per noun."""

"""Engine, models, and one query module per noun."""

"""The training side of Signalbox: recipes, trainer, supervisor. Works without ``app``."""

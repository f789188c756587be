"""Why a trainer died: evidence in, ranked findings with cause and remedy out.  Standard library only."""

"""Back-filling: every kept checkpoint of a run is asked what it would have said, after the fact."""

"""One Plotly figure per file."""

"""People's own training scripts: registered in a folder, checked, and started without any shell."""

"""What can be trained: one declaration per file, torch-free."""

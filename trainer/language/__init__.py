"""What both language recipes share: where models and tokenizers come from, token ids on disk, exports."""

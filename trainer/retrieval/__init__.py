"""Search and hard-negative mining; the only importer of faiss."""

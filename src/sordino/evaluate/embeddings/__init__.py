"""Attacks on vectors: the run behind `evaluate embeddings`."""

"""Discrete units of speech: k-means over frames of a ready model's features."""

"""Randomised releases of vectors, each with a stated differential privacy."""

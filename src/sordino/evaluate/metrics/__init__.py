"""Figures from arrays of scores: a pure function for each; they know nothing of recordings."""

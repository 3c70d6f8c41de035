"""Comparing speaker vectors: scores, their normalisation, calibration and thresholds."""

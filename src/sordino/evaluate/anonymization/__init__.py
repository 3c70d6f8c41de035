"""Attacks on anonymized speech, and what is left of it: the run behind `evaluate anonymization`."""

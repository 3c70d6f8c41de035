"""Whole voices: units, content, vocoder and pool, one after the other."""

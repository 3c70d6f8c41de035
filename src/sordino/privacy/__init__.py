"""Secrets and randomised mechanisms. Knows nothing of speech."""

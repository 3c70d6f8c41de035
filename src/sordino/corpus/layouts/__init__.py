"""How collections of speech lie on disk: a reader for each way."""

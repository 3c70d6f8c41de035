"""Training wing: networks, recipes and their export. Needs the extra `train` (PyTorch)."""

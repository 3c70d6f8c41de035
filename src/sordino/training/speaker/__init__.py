"""Training of speaker encoders: recipe, data, losses, validation, run."""

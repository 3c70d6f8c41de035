"""Training of content encoders: recipe, data, losses, validation, run, export."""

"""Training of generators of speech: recipe, frames, crops, adversarial steps, run."""

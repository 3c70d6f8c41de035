"""The voice in a trigger phrase as one row of numbers: supervectors of hidden Markov models."""

"""What a classifier of voices knows, taught to a network that tells speakers apart."""

"""Learning from data that stays on devices, with differential privacy."""

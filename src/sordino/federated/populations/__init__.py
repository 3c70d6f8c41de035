"""Users with their vectors and labels, for simulations."""

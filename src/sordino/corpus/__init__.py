"""Which recordings there are, and who speaks in them."""

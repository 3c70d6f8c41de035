"""Attackers who guess an attribute, such as the sex, from vectors; and what they learn."""

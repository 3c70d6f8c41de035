"""How well voices are recognised, and how well they are hidden."""

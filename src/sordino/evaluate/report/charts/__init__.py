"""Charts as SVG: a pure function from figures to markup in each file."""

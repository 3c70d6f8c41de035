"""What concealers hide and what verification keeps: the run behind `evaluate concealment`."""

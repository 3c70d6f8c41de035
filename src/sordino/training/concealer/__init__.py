"""Training of concealers: networks that hide attributes in speaker vectors."""

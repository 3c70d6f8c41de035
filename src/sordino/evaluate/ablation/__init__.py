"""Which part of an anonymizer does what: one evaluation of many variants, as one table."""

"""Attacks on a federated training: what is learnt of a user, with and without noise."""

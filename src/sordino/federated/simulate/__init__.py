"""Federated training of many users in one process, to see what a plan would learn."""

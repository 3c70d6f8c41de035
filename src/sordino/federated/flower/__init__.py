"""Federated training over a network, with Flower as the engine."""

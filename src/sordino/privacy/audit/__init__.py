"""Tests of privacy mechanisms from outside: how much epsilon can be shown to be spent.

An audit gives a lower bound on epsilon. A bound above the claim refutes the claim; a bound below
it proves nothing, and each figure says how far it could have reached.
"""

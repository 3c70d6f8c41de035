from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis.extra.numpy import arrays

from sordino.privacy.ledger.memo import by_input, by_name, packed, place_of, scope_of, unpacked
from tests.privacy.ledger.mechanisms import KEY, OTHER_KEY

vectors = arrays(np.float64, 5, elements={"allow_nan": False, "allow_infinity": False})


@given(vectors)
def test_what_is_stored_comes_back_to_the_last_bit(vector):
    found = unpacked(packed(vector))
    assert found.tobytes() == vector.tobytes()
    assert found.flags.writeable


@given(vectors)
def test_any_changed_bit_makes_another_request(vector):
    for index in range(vector.size):
        changed = vector.copy()
        changed[index] = np.nextafter(changed[index], np.inf if changed[index] <= 0 else -np.inf)
        assert by_input(changed) != by_input(vector)
    assert by_input(vector.copy()) == by_input(vector)
    assert by_input(-np.zeros(5)) == by_input(np.zeros(5))


def test_a_name_is_no_input():
    vector = np.ones(3)
    assert by_name(by_input(vector)[1]) != by_input(vector)


def test_a_place_depends_on_everything_and_on_the_key():
    scopes = [
        scope_of(KEY, "ledger", "log-in", "statement"),
        scope_of(OTHER_KEY, "ledger", "log-in", "statement"),
        scope_of(KEY, "other", "log-in", "statement"),
        scope_of(KEY, "ledger", "survey", "statement"),
        scope_of(KEY, "ledger", "log-in", "other"),
        scope_of(KEY, "ledgerl", "og-in", "statement"),
    ]
    asked = [("anna", by_name("1")), ("bruno", by_name("1")), ("anna", by_name("2"))]
    asked += [("anna", ("input", "1")), ("ann", ("aname", "1"))]
    places = {place_of(scope, *one) for scope in scopes for one in asked}
    assert len(places) == len(scopes) * len(asked)
    assert place_of(scopes[0], *asked[0]) in places

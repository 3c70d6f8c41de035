import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.federated.regimes import Regime
from sordino.federated.upload import Request, Upload

NONCE = bytes(range(16))


def upload(points, below=None):
    return Upload(3, NONCE, "änna", "ab" * 8, np.array(points, dtype=np.int64), below)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_any_numbers_come_back(points):
    back = Upload.from_bytes(upload(points).to_bytes())
    assert back.points.tolist() == points
    assert back.points.dtype == np.int64
    assert (back.round, back.nonce, back.sender, back.regime) == (3, NONCE, "änna", "ab" * 8)


@pytest.mark.parametrize("below", [None, 1, -1])
def test_signs_come_back(below):
    assert Upload.from_bytes(upload([1], below).to_bytes()).below == below


def test_small_numbers_take_little_room():
    sizes = [len(upload([top] * 1000).to_bytes()) for top in (100, 30_000, 2**30, 2**60)]
    assert np.diff(sizes).tolist() == [1000, 2000, 4000]


def test_requests_come_back():
    regime = Regime.central(3, 1.0, 0.5)
    parameters = np.array([0.1, -2, 3e-30], dtype=np.float32)
    back = Request.from_bytes(Request(5, NONCE, parameters, regime.terms()).to_bytes())
    assert (back.round, back.nonce) == (5, NONCE)
    assert Regime.from_terms(back.regime) == regime
    np.testing.assert_array_equal(back.parameters, parameters)


@given(st.data())
def test_damaged_bytes_are_refused_or_read(data):
    good = upload([1, -2, 300], 1).to_bytes()
    place = data.draw(st.integers(0, len(good) - 1))
    broken = bytearray(good)
    broken[place] ^= data.draw(st.integers(1, 255))
    for bad in (bytes(broken), good[:place], good + b"x"):
        try:
            read = Upload.from_bytes(bad)
        except UsageError:
            continue
        assert read.points.shape == (3,)


def header_of(**changes):
    header = {"kind": "upload", "round": 1, "nonce": NONCE.hex(), "sender": "a", "regime": "b"}
    header |= {"below": None, "dtype": "<i1", "size": 1, **changes}
    text = json.dumps(header).encode()
    return b"SDFL\x01" + len(text).to_bytes(4, "little") + text + b"\x05"


def test_headers_that_lie_are_refused():
    assert Upload.from_bytes(header_of()).points.tolist() == [5]
    for changes in (
        {"kind": "request"},
        {"round": -1},
        {"round": True},
        {"round": 1.5},
        {"nonce": "zz"},
        {"nonce": "00"},
        {"nonce": 7},
        {"sender": 3},
        {"regime": None},
        {"below": 2},
        {"below": True},
        {"below": 1.0},
        {"dtype": "|O"},
        {"dtype": "<f8"},
        {"size": 2},
        {"size": 0},
        {"size": 10**12},
        {"size": -1},
    ):
        with pytest.raises(UsageError):
            Upload.from_bytes(header_of(**changes))


def test_requests_with_bad_parameters_or_no_regime_are_refused():
    for bad in (np.nan, np.inf):
        parameters = np.array([bad], dtype=np.float32)
        with pytest.raises(UsageError, match="NaN"):
            Request.from_bytes(Request(0, NONCE, parameters, {}).to_bytes())
    with pytest.raises(UsageError):
        Request.from_bytes(upload([1]).to_bytes())

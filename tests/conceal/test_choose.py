from __future__ import annotations

import pytest

from sordino.conceal.choose import concealer_for
from sordino.errors import UsageError
from tests import concealers


@pytest.fixture
def mine(tmp_path) -> dict[str, str]:
    """A models folder with a concealer for the encoder of digest c0ffee."""
    concealers.write_concealer(tmp_path / "mine")
    return {"SORDINO_MODELS": str(tmp_path)}


def test_the_only_one_for_an_encoder(mine, tmp_path):
    concealers.write_concealer(tmp_path / "another", concealers.description(encoder_digest="dead"))
    assert concealer_for("c0ffee", environment=mine) == "mine"
    assert concealer_for("dead", environment=mine) == "another"


def test_several(mine, tmp_path):
    concealers.write_concealer(tmp_path / "too")
    with pytest.raises(UsageError, match="several concealers are for vectors of tiny: mine, too;"):
        concealer_for("c0ffee", "tiny", environment=mine)


def test_none_and_not_known(mine):
    with pytest.raises(UsageError, match=r"no concealer is for vectors of tiny \(beef\); name"):
        concealer_for("beef", "tiny", environment=mine)
    with pytest.raises(UsageError, match="nothing says of which encoder"):
        concealer_for("", environment=mine)


def test_a_damaged_model_is_passed_over(mine, tmp_path):
    concealers.write_concealer(tmp_path / "broken")
    (tmp_path / "broken/model.json").write_text("{")
    assert concealer_for("c0ffee", environment=mine) == "mine"

from __future__ import annotations

import json
import math

import pytest

from sordino.conceal.description import Description
from sordino.errors import UsageError
from tests.concealers import description, laplace


@pytest.mark.parametrize(
    "said",
    [
        description(),
        description(mechanism="none", epsilon_train=math.inf, unit_length=True),
        laplace(clip=18.35, length=2.5),
        laplace(mechanism="gaussian", delta=1e-6, attributes=("sex", "age")),
    ],
)
def test_metadata_tell_all_of_it(said):
    text = json.dumps(said.metadata, allow_nan=False)
    assert Description.from_metadata(json.loads(text)) == said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder": ""}, "no text encoder"),
        ({"encoder_digest": 5}, "no text encoder_digest"),
        ({"dimension": 0}, "no whole number above 0 as dimension"),
        ({"latent": True}, "no whole number above 0 as latent"),
        ({"attributes": ()}, "no list of attributes"),
        ({"attributes": ("sex", 3)}, "no list of attributes"),
        ({"mechanism": "dice"}, "a mechanism 'dice'; known: laplace, gaussian"),
        ({"clip": -1.0}, "a clip that is no number above 0"),
        ({"clip": math.nan}, "a clip that is no number above 0"),
        ({"clip": "4"}, "a clip that is no number above 0"),
        ({"clip": None}, "no clip, which laplace needs"),
        ({"clip_origin": ""}, "no clip_origin: where the clip comes from"),
        ({"length": math.inf}, "a length that is no number above 0"),
        ({"epsilon_train": 0}, "no epsilon_train above 0"),
        ({"epsilon_train": math.nan}, "no epsilon_train above 0"),
        ({"mechanism": "gaussian"}, "no delta between 0 and 1, which gaussian needs"),
        ({"mechanism": "gaussian", "delta": 1.0}, "no delta between 0 and 1"),
        ({"unit_length": "yes"}, "a unit_length that is not true or false"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(UsageError, match=message):
        laplace(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder": None}, "no section 'encoder'"),
        ({"encoder": {}}, "no text encoder"),
        ({"latent": None}, "no whole number above 0 as latent"),
        ({"attributes": "sex"}, "no list of attributes"),
        ({"mechanism": "laplace"}, "no section 'mechanism'"),
        ({"mechanism": {}}, "a mechanism ''"),
        ({"mechanism": {"name": "privunit"}}, "no epsilon_train above 0"),
        ({"mechanism": {"name": "privunit", "epsilon_train": "none"}}, "no epsilon_train above 0"),
    ],
)
def test_metadata_of_something_else(change, message):
    with pytest.raises(UsageError, match=message):
        Description.from_metadata({**description().metadata, **change})

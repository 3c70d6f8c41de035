from __future__ import annotations

import json

import pytest

from sordino.errors import UsageError
from sordino.evaluate.utility.extra import folder_of, installed_folder, load_extra


def test_a_module_that_is_there():
    assert load_extra("json", "figures", "json") is json
    assert folder_of("sordino", "figures", "sordino").joinpath("py.typed").is_file()


def test_what_is_not_there_is_said():
    with pytest.raises(UsageError, match=r"^scores need the package of-it: pip install 'sordino\["):
        load_extra("no_such_module", "scores", "of-it")
    with pytest.raises(UsageError, match=r"^scores need the package of-it: pip install 'sordino\["):
        folder_of("no_such_module", "scores", "of-it")
    assert installed_folder("no_such_module") is None
    # A module that is one file has no folder.
    assert installed_folder("colorsys") is None

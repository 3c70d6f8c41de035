"""One large evaluation for all tests of the report."""

from __future__ import annotations

import pytest

from sordino.evaluate.results import Results
from tests.evaluate.report.evaluations import realistic


@pytest.fixture(scope="session")
def whole() -> Results:
    """Four systems and the original, all scenarios, with everything that there can be."""
    return realistic(16)

import os
import platform

from sordino.evaluate.machine import facts


def test_facts_are_those_of_this_machine() -> None:
    found = facts()
    assert found["python"] == platform.python_version()
    assert found["processors"] == str(os.cpu_count())
    assert int(found["memory"].split()[0]) >= 1

from __future__ import annotations

import pytest

from sordino.training.record import LOG, newest


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("", {}),
        ("1,0.5,,\n", {}),
        ("1,0.5,3,4\n2,0.4,,\n", {"far": 3.0, "off": 4.0}),
        ("1,0.5,3,4\n2,0.4,2,\n", {"far": 2.0}),
    ],
)
def test_what_was_measured_last(tmp_path, rows, expected):
    (tmp_path / LOG).write_text(f"step,loss,far,off\n{rows}")
    assert newest(tmp_path, ("far", "off")) == expected

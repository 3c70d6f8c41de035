"""What a concealer's bundle says of itself in `model.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sordino.errors import UsageError

KIND = "concealer"
ENCODER, DECODER, ERASURE = "encoder.onnx", "decoder.onnx", "erasure.npz"

NO_RELEASE = "none"
# The norm of latents that each mechanism bounds; None where it takes directions only.
NORMS: Mapping[str, Literal["l1", "l2"] | None] = {
    "laplace": "l1",
    "gaussian": "l2",
    "privunit": None,
    "privunit-g": None,
}


@dataclass(frozen=True)
class Description:
    """A concealer, apart from its networks.

    Attributes:
        encoder: name of the speaker encoder whose vectors it takes and gives.
        encoder_digest: the digest of that encoder.
        dimension: numbers in a vector.
        latent: numbers in a latent, to which noise is added.
        attributes: what it conceals.
        mechanism: the release that it was made for: "laplace", "gaussian", "privunit",
            "privunit-g", or "none".
        clip: the bound of latents, in the norm of the mechanism; None where it has none.
        clip_origin: where that number comes from.
        epsilon_train: of the noise in training; infinity for none.
        delta: of the Gaussian mechanism; None for others.
        length: of the latents that the decoder knows, for releases of directions.
        unit_length: whether vectors are brought to length 1 before anything else.

    Raises:
        UsageError: a value is out of range, or one that the mechanism needs is missing.

    Example:
        >>> Description("ecapa-small", "00", 192, 64, ("sex",), mechanism="privunit").clip is None
        True
    """

    encoder: str
    encoder_digest: str
    dimension: int
    latent: int
    attributes: tuple[str, ...]
    mechanism: str = NO_RELEASE
    clip: float | None = None
    clip_origin: str = ""
    epsilon_train: float = math.inf
    delta: float | None = None
    length: float | None = None
    unit_length: bool = False

    def __post_init__(self) -> None:
        for key in ("encoder", "encoder_digest"):
            _require(isinstance(getattr(self, key), str) and getattr(self, key), f"no text {key}")
        for key in ("dimension", "latent"):
            size = getattr(self, key)
            whole = isinstance(size, int) and not isinstance(size, bool)
            _require(whole and size >= 1, f"no whole number above 0 as {key}")
        named = self.attributes and all(isinstance(name, str) and name for name in self.attributes)
        _require(named, "no list of attributes")
        known = (*NORMS, NO_RELEASE)
        _require(
            self.mechanism in known, f"a mechanism {self.mechanism!r}; known: {', '.join(known)}"
        )
        for key in ("clip", "length"):
            value = getattr(self, key)
            _require(value is None or _above_0(value), f"a {key} that is no number above 0")
        _require(_above_0(self.epsilon_train, infinite=True), "no epsilon_train above 0")
        if NORMS.get(self.mechanism) is not None:
            _require(self.clip is not None, f"no clip, which {self.mechanism} needs")
            _require(self.clip_origin, "no clip_origin: where the clip comes from")
        if self.mechanism == "gaussian":
            fits = self.delta is not None and _above_0(self.delta) and self.delta < 1
            _require(fits, "no delta between 0 and 1, which gaussian needs")
        _require(isinstance(self.unit_length, bool), "a unit_length that is not true or false")

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Description:
        """Read what `metadata` wrote.

        Raises:
            UsageError: something is missing or out of range; the message goes on after "gives".
        """
        encoder, release = (_section(metadata, key) for key in ("encoder", "mechanism"))
        attributes = metadata.get("attributes")
        _require(isinstance(attributes, list), "no list of attributes")
        return cls(
            encoder.get("name", ""),
            encoder.get("digest", ""),
            encoder.get("dimension", 0),
            metadata.get("latent", 0),
            tuple(attributes or ()),
            release.get("name", ""),
            release.get("clip"),
            release.get("clip_origin", ""),
            math.inf if release.get("epsilon_train") == "inf" else release.get("epsilon_train", 0),
            release.get("delta"),
            release.get("length"),
            metadata.get("unit_length", False),
        )

    @property
    def metadata(self) -> dict[str, Any]:
        """The same for `model.json`."""
        release: dict[str, Any] = {
            "name": self.mechanism,
            "clip": self.clip,
            "clip_origin": self.clip_origin,
            "epsilon_train": "inf" if math.isinf(self.epsilon_train) else self.epsilon_train,
        }
        if self.delta is not None:
            release["delta"] = self.delta
        if self.length is not None:
            release["length"] = self.length
        return {
            "encoder": {
                "name": self.encoder,
                "digest": self.encoder_digest,
                "dimension": self.dimension,
            },
            "latent": self.latent,
            "mechanism": release,
            "attributes": list(self.attributes),
            "unit_length": self.unit_length,
        }


def _section(metadata: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = metadata.get(key)
    _require(isinstance(value, Mapping), f"no section {key!r}")
    return value if isinstance(value, Mapping) else {}


def _above_0(value: object, *, infinite: bool = False) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and float(value) > 0 and (infinite or float(value) < math.inf)  # type: ignore[arg-type]


def _require(fits: object, otherwise: str) -> None:
    if not fits:
        raise UsageError(otherwise)

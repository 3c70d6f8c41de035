"""Enrolment and verification by protected templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.conceal.concealment import Concealment
from sordino.errors import UsageError
from sordino.speaker.base import SpeakerEncoder, Vector
from sordino.speaker.encoders import OnnxEncoder
from sordino.speaker.store import EncoderIdentity, Template
from sordino.speaker.verification import identity_of

if TYPE_CHECKING:
    from sordino.privacy.ledger import Ledger

Counting = Callable[[Vector, Concealment], npt.NDArray[np.floating]]

# Between the digest of an encoder and that of what conceals its vectors.
_MARK = "+"


class ProtectedEncoder(SpeakerEncoder):
    """A speaker encoder whose vectors are protected templates.

    Its name and digest tell which encoder, concealer, mechanism and epsilon, so that a store keeps
    such templates apart from others.

    Args:
        encoder: what listens.
        concealment: what protects.
        count: what makes a protected vector of one and counts that, for example by a ledger (see
            `counted_for`); None for the concealment alone.

    Raises:
        UsageError: the concealer is for vectors of another encoder.
    """

    def __init__(
        self, encoder: SpeakerEncoder, concealment: Concealment, count: Counting | None = None
    ) -> None:
        require_encoder(encoder, concealment)
        self.inner = encoder
        self.concealment = concealment
        self.name = protected_name(encoder.name, concealment)
        self.digest = protected_digest(encoder.digest, concealment)
        self.dimension = encoder.dimension
        self.sample_rate = encoder.sample_rate
        self._count = count

    def embed(self, recording: Recording) -> Vector:
        """See `SpeakerEncoder.embed`; each call is a release."""
        return self._protected(self.inner.embed(recording))

    def embed_blocks(self, blocks: Iterable[npt.NDArray[np.floating]], sample_rate: int) -> Vector:
        """See `SpeakerEncoder.embed_blocks`; each call is a release."""
        return self._protected(self.inner.embed_blocks(blocks, sample_rate))

    def _protected(self, vector: Vector) -> Vector:
        if self._count is None:
            released: npt.NDArray[np.floating] = self.concealment.release(vector[None])[0]
        else:
            released = self._count(vector, self.concealment)
        return released.astype(np.float32)


def counted_for(ledger: Ledger, person: str, purpose: str) -> Counting:
    """Makes protected vectors that a ledger counts for somebody.

    Args:
        ledger: what counts, and remembers what was asked before.
        person: whose vectors they are.
        purpose: what they are for.
    """

    def release(vector: Vector, concealment: Concealment) -> npt.NDArray[np.floating]:
        return ledger.release(person, purpose, vector, concealment)

    return release


def protected_name(encoder: str, concealment: Concealment) -> str:
    """What an encoder is called whose vectors are concealed."""
    return f"{encoder} + {concealment.name}"


def protected_digest(encoder: str, concealment: Concealment) -> str:
    """The digest of such an encoder: that of the encoder, and that of the concealer."""
    return f"{encoder}{_MARK}{concealment.concealer.digest}"


def is_protected(digest: str) -> bool:
    """Whether a digest is of protected templates.

    Example:
        >>> is_protected("c0ffee"), is_protected("c0ffee+7ea")
        (False, True)
    """
    return _MARK in digest


def require_encoder(encoder: SpeakerEncoder, concealment: Concealment) -> None:
    """Refuse an encoder whose vectors the concealer was not made for.

    Raises:
        UsageError: it is another.
    """
    description = concealment.concealer.description
    if encoder.digest != description.encoder_digest:
        raise UsageError(
            f"the concealer {concealment.concealer.name} is for vectors of {description.encoder}"
            f" ({description.encoder_digest[:8]}), not of {encoder.name} ({encoder.digest[:8]})"
        )


def comparable(template: Template, encoder: SpeakerEncoder) -> Template:
    """A template as one of the encoder that will make the trial's vector.

    Protected templates are vectors of the same space as those they were made of: either side of a
    comparison may be protected, or both, by one concealer or two.

    Args:
        template: as it is stored.
        encoder: what makes the other vector.

    Returns:
        The template under the encoder's identity; unchanged if their spaces are not the same.
    """
    identity = identity_of(encoder)
    if _space(template.encoder) != _space(identity):
        return template
    return replace(template, encoder=identity)


def measured(
    template: Template, encoder: OnnxEncoder | ProtectedEncoder
) -> Mapping[str, Any] | None:
    """What is known of verification with a template, for `choose_threshold`.

    Args:
        template: as it is stored.
        encoder: what makes the trial's vector.

    Returns:
        What the encoder's bundle says where neither side is protected, else what the concealer's
        says of that; None where nothing was measured.
    """
    if not isinstance(encoder, ProtectedEncoder):
        if is_protected(template.encoder.digest):
            return None
        known: Mapping[str, Any] | None = encoder.bundle.metadata.get("verification")
        return known
    concealer, epsilon = encoder.concealment.concealer, encoder.concealment.epsilon
    own = encoder.concealment.release_of_latents.kind == concealer.description.mechanism
    both = is_protected(template.encoder.digest)
    if not own or (both and template.encoder != identity_of(encoder)):
        return None
    return concealer.verification("both" if both else "one", epsilon)


def _space(identity: EncoderIdentity) -> str:
    return identity.digest.partition(_MARK)[0]

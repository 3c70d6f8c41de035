"""What every anonymizer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from sordino.audio.formats import LARGEST_SAMPLE, MAX_RATE, MIN_RATE
from sordino.audio.level import LevelFollower, Limiter, limited, matching_gain
from sordino.audio.loudness import LoudnessMeter
from sordino.errors import AudioError, UsageError
from sordino.privacy.keys import SecretKey

if TYPE_CHECKING:
    from sordino.anonymize.pseudo.base import Source
    from sordino.speaker.base import SpeakerEncoder

FloatArray = npt.NDArray[np.float64]
Blocks = Iterable[npt.NDArray[np.floating]]
Level = Literal["speaker", "utterance"]

CEILING = 0.99
_BLOCK = 2**20
_FEW_CHANNELS = 32


@dataclass(frozen=True)
class Draws:
    """Random choices for one pseudo-speaker: a keyed function of who is speaking.

    Attributes:
        key: the secret.
        labels: everything that the numbers depend on besides the key.
        source: how the speaker sounds, where that is known; never shown or compared, since it is
            what must stay secret.
    """

    key: SecretKey
    labels: tuple[str, ...]
    source: Source | None = field(default=None, repr=False, compare=False)

    def uniform(self, purpose: str) -> float:
        """A number in [0, 1), always the same for one purpose."""
        return self.key.uniform("voice", *self.labels, purpose)


class Anonymizer(ABC):
    """Turns speech into the same words in another voice.

    Args:
        level: "speaker" gives a speaker the same pseudo-speaker in every utterance, "utterance"
            a new one in each.

    Attributes:
        name: the system's name.
        version: raised whenever the same input and key would give another output.
        protection: one sentence on what it protects from, for people.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    protection: ClassVar[str]

    def __init__(self, level: Level = "speaker") -> None:
        if level not in get_args(Level):
            raise UsageError(f"level {level!r} is not one of: {', '.join(get_args(Level))}")
        self.level: Level = level

    @abstractmethod
    def parameters(self) -> Mapping[str, object]:
        """Public settings, as they appear in run records; never what a key decides."""

    @abstractmethod
    def transform(self, blocks: Blocks, sample_rate: int, draws: Draws) -> Iterator[FloatArray]:
        """Change the voice of one signal; its level may change too.

        Args:
            blocks: arrays (channels, samples), one signal cut into pieces.
            sample_rate: in Hz, 8,000 to 192,000.
            draws: the pseudo-speaker's random choices.

        Yields:
            Arrays (channels, samples); as many samples in total as came in.
        """

    def resynthesis(self) -> Anonymizer | None:
        """The same system with each speaker's own voice: what the processing alone does.

        None where a system cannot do that.
        """
        return None

    @property
    def needs_source(self) -> bool:
        """Whether pseudo-speakers depend on how the speaker sounds (`Draws.source`)."""
        return False

    def source_encoder(self) -> SpeakerEncoder:
        """What tells how a speaker sounds; only for a system that needs to know it.

        A source's vector is the mean of the speaker's utterances' vectors, each of length 1.

        Raises:
            UsageError: the system does not need to know it, or its encoder cannot be found.
        """
        raise UsageError(f"{self.name} does not ask how a speaker sounds")

    def check(self) -> None:
        """Find out at once what would fail for every speaker.

        Raises:
            UsageError: nobody can be given a voice with these settings.
        """
        return

    def draws(
        self,
        key: SecretKey | bytes,
        speaker: str,
        utterance: str | None = None,
        *,
        source: Source | None = None,
    ) -> Draws:
        """The pseudo-speaker for a speaker, or for one utterance of theirs.

        Args:
            key: secret, at least 16 bytes.
            speaker: id of the speaker, not empty.
            utterance: id of the utterance; needed at level "utterance", else without effect.
            source: how the speaker sounds; None where that is not known or not needed.

        Raises:
            UsageError: an id is missing, the key is too short, or the source is something else.
        """
        if not isinstance(speaker, str) or not speaker:
            raise UsageError("the speaker's id is empty or not text")
        if self.level == "utterance" and not utterance:
            raise UsageError('level "utterance" needs the utterance\'s id')
        if not isinstance(key, (SecretKey, bytes)):
            raise UsageError(f"the key is {type(key).__name__}; give bytes")
        secret = key if isinstance(key, SecretKey) else SecretKey.from_secret(key)
        if source is not None:
            from sordino.anonymize.pseudo.base import Source  # it imports this module

            if not isinstance(source, Source):
                raise UsageError(
                    f"the source is {type(source).__name__}; give a"
                    " sordino.anonymize.pseudo.base.Source"
                )
        labels: tuple[str, ...] = (self.name, self.level, speaker)
        if self.level == "utterance":
            labels = (*labels, str(utterance))
        return Draws(secret, labels, source)

    def anonymize(
        self,
        samples: npt.NDArray[np.floating],
        sample_rate: int,
        *,
        speaker: str,
        key: SecretKey | bytes,
        utterance: str | None = None,
        source: Source | None = None,
    ) -> npt.NDArray[np.float32]:
        """Anonymize a whole recording; loudness is kept and nothing passes 0.99 of full scale.

        Args:
            samples: shape (samples,) or (channels, samples), full scale 1.
            sample_rate: in Hz, 8,000 to 192,000.
            speaker: id of the speaker.
            key: secret, at least 16 bytes.
            utterance: id of the utterance; needed at level "utterance".
            source: how the speaker sounds, for systems that ask for it (`needs_source`); None for
                what can be heard in this recording. With the same source a speaker has the same
                voice in every recording.

        Returns:
            float32, the shape of `samples`.

        Raises:
            AudioError: samples or rate cannot be processed.
            UsageError: an id is missing or the key is too short.
        """
        sample_rate = checked_rate(sample_rate)
        signal = checked(samples)
        pieces = [signal[:, i : i + _BLOCK] for i in range(0, signal.shape[1], _BLOCK)]
        if source is None and self.needs_source:
            from sordino.anonymize.sources import heard_source

            source = heard_source(self.source_encoder(), pieces, sample_rate)
        draws = self.draws(key, speaker, utterance, source=source)
        before, after = LoudnessMeter(sample_rate), LoudnessMeter(sample_rate)
        changed = []
        for piece in pieces:
            before.add(piece)
        for block in self.transform(pieces, sample_rate, draws):
            after.add(block)
            changed.append(block)
        gain = matching_gain(
            lambda: changed,
            before.loudness(),
            after.loudness(),
            ceiling=CEILING,
            sample_rate=sample_rate,
        )
        parts = limited(changed, gain, ceiling=CEILING, sample_rate=sample_rate)
        output = np.concatenate(list(parts), axis=1).astype(np.float32)
        return output.reshape(np.shape(samples))

    def stream(
        self,
        blocks: Blocks,
        sample_rate: int,
        *,
        speaker: str,
        key: SecretKey | bytes,
        utterance: str | None = None,
        source: Source | None = None,
    ) -> Iterator[npt.NDArray[np.float32]]:
        """Anonymize a stream as it arrives, in memory that does not grow.

        The level follows the source over half a second, since the loudness of the whole is not
        known; nothing passes 0.99 of full scale. Samples leave soon after they came in; the
        smaller the blocks, the slower the work.

        Args:
            blocks: arrays (samples,) or (channels, samples), of any lengths.
            sample_rate: in Hz, 8,000 to 192,000.
            speaker: id of the speaker.
            key: secret, at least 16 bytes.
            utterance: id of the utterance; needed at level "utterance".
            source: how the speaker sounds, for systems that ask for it (`needs_source`); None for
                what the system can hear before it has to begin.

        Yields:
            float32 arrays with the dimensions of the input's; as many samples in total as came in.

        Raises:
            AudioError: samples or rate cannot be processed.
            UsageError: an id is missing or the key is too short.
        """
        sample_rate = checked_rate(sample_rate)
        draws = self.draws(key, speaker, utterance, source=source)
        waiting: list[FloatArray] = []
        flat = False

        def arriving() -> Iterator[FloatArray]:
            nonlocal flat
            for block in blocks:
                if np.size(block):
                    flat = np.ndim(block) == 1
                    signal = checked(block)
                    if waiting and len(signal) != len(waiting[0]):
                        raise AudioError(f"{len(signal)} channels follow {len(waiting[0])}")
                    waiting.append(signal)
                    yield signal

        follower, limiter = LevelFollower(sample_rate), Limiter(CEILING, sample_rate)

        def shaped(output: FloatArray) -> npt.NDArray[np.float32]:
            return (output[0] if flat else output).astype(np.float32)

        for block in self.transform(arriving(), sample_rate, draws):
            original = np.concatenate(waiting, axis=1)
            waiting[:] = [original[:, block.shape[1] :]]
            levelled = follower.process(original[:, : block.shape[1]], block)
            if (output := limiter.process(levelled)).size:
                yield shaped(output)
        if (output := limiter.flush()).size:
            yield shaped(output)


def checked(samples: npt.NDArray[np.floating]) -> FloatArray:
    """Samples as a float64 array (channels, samples).

    Raises:
        AudioError: not floating point, of another shape, transposed (which would pass for many
            channels too short to be changed), empty, not finite, or far beyond full scale.
    """
    array = np.asarray(samples)
    if not np.issubdtype(array.dtype, np.floating):
        raise AudioError(f"samples are {array.dtype}; expected floating point with full scale 1")
    transposed = array.ndim == 2 and array.shape[0] > max(_FEW_CHANNELS, array.shape[1])
    if array.ndim not in (1, 2) or array.size == 0 or transposed:
        raise AudioError(
            f"samples have shape {array.shape}; expected (samples,) or (channels, samples)"
        )
    signal = np.atleast_2d(array).astype(np.float64)
    if not (np.abs(signal) <= LARGEST_SAMPLE).all():
        raise AudioError("samples hold NaN, infinity or numbers far beyond full scale 1")
    return signal


def checked_rate(sample_rate: float) -> int:
    """A sample rate as a whole number.

    Raises:
        AudioError: it is not a whole number from 8,000 to 192,000 Hz.
    """
    if not isinstance(sample_rate, Real) or float(sample_rate) % 1 != 0:
        raise AudioError(f"sample rate {sample_rate!r} is not a whole number")
    if not MIN_RATE <= sample_rate <= MAX_RATE:
        raise AudioError(f"sample rate {sample_rate} Hz is outside {MIN_RATE} to {MAX_RATE} Hz")
    return int(sample_rate)

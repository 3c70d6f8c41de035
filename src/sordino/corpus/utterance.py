"""One stretch of speech by one person."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.errors import AudioError, UsageError

if TYPE_CHECKING:
    from sordino.audio.recording import Recording

_BLOCK = 2**16
# Tables of segments are rounded; Kaldi lets a segment end this much after its recording.
_OVERSHOOT_S = 0.5
_SEXES = {"f": "F", "female": "F", "m": "M", "male": "M"}
_NO_SEX = frozenset({"", "-", "o", "other", "u", "unknown"})


@dataclass(frozen=True, slots=True)
class Utterance:
    """What is known of an utterance. None stands for what is not known.

    Attributes:
        id: its name, unique in a corpus.
        path: the recording that it is in.
        speaker: who speaks.
        sex: "F" or "M".
        language: a code such as "en".
        text: what is said.
        corpus: the collection that it comes from; its channel and room come with it.
        split: the part of the corpus, such as "train" or "test".
        duration: length in seconds, where the corpus tells it.
        start: where it begins in the recording, in seconds; None for its beginning.
        end: where it ends in the recording, in seconds; None for its end.

    Raises:
        UsageError: the id or speaker is empty, the sex is another word, or the times are no
            stretch of a recording.

    Example:
        >>> Utterance("alice-1", Path("alice/1.wav"), "alice", sex="F").sex
        'F'
    """

    id: str
    path: Path
    speaker: str
    sex: str | None = None
    language: str | None = None
    text: str | None = None
    corpus: str | None = None
    split: str | None = None
    duration: float | None = None
    start: float | None = None
    end: float | None = None

    def __post_init__(self) -> None:
        if not self.id or not self.speaker:
            raise UsageError(f"the utterance {self.id or self.path} has no id or no speaker")
        if self.sex not in {None, "F", "M"}:
            raise UsageError(f"the sex of utterance {self.id} is {self.sex!r}; expected F or M")
        if self.duration is not None and not 0 < self.duration < float("inf"):
            raise UsageError(f"utterance {self.id} has a duration of {self.duration} s")
        start, end = self.start or 0.0, float("inf") if self.end is None else self.end
        if not 0 <= start < end:
            raise UsageError(f"utterance {self.id} goes from {self.start} to {self.end} s")

    def read(self) -> Recording:
        """The samples, cut from the recording where the utterance is a part of it.

        Raises:
            AudioError: the recording cannot be read or is too short; the message starts with its
                path.
        """
        from sordino.audio.recording import Recording

        if self.start is None and self.end is None:
            return Recording.read(self.path)
        try:
            return _read_part(self.path, self.start or 0.0, self.end)
        except AudioError as error:
            raise AudioError(f"{self.path}: {error}") from error


def sex_of(label: str) -> str | None:
    """The sex that a corpus' label stands for: "F", "M" or None for unknown.

    Args:
        label: F, M, female, male or a word for unknown, in either case; may be empty.

    Raises:
        UsageError: the label is another word.

    Example:
        >>> sex_of("female"), sex_of("m"), sex_of("")
        ('F', 'M', None)
    """
    word = label.strip().lower()
    if word in _NO_SEX:
        return None
    if word not in _SEXES:
        raise UsageError(f"the sex {label!r} is not F, M or empty")
    return _SEXES[word]


def _read_part(path: Path, start: float, end: float | None) -> Recording:
    import numpy as np

    from sordino.audio.read import open_audio
    from sordino.audio.recording import Recording

    kept = []
    with open_audio(path) as reader:
        rate = reader.info.sample_rate
        first, last = round(start * rate), None if end is None else round(end * rate)
        done = 0
        for block in reader.blocks(_BLOCK):
            piece = block[:, max(0, first - done) : None if last is None else max(0, last - done)]
            if piece.shape[1]:
                kept.append(piece)
            done += block.shape[1]
            if last is not None and done >= last:
                break
    if not kept or (last is not None and done < last - _OVERSHOOT_S * rate):
        wanted = f"{start:g} s to {'its end' if end is None else f'{end:g} s'}"
        raise AudioError(f"lasts {done / rate:.3f} s; the utterance should be in {wanted}")
    return Recording(np.concatenate(kept, axis=1), rate)

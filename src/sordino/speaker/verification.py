"""Is this the voice of that name, and whose voice is it?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.errors import AudioError, UsageError
from sordino.speaker.base import SpeakerEncoder
from sordino.speaker.detector import SpeechDetector
from sordino.speaker.quality import Limits, Quality, Reason, faults, measure
from sordino.speaker.scoring.calibration import AffineCalibration
from sordino.speaker.scoring.cosine import mean_models, unit
from sordino.speaker.store import (
    EncoderIdentity,
    Enrolment,
    Store,
    Template,
    checked_name,
    other_encoder,
)

Decision = Literal["accept", "reject", "cannot tell"]
Scoring = Literal["cosine", "mean-cosine"]

DEFAULT_FALSE_ACCEPTS = 0.01
ENROLMENT_SPEECH = 2.0
_LEAST_FILE = 0.5
# More than any real calibration has, and far from what overflows.
_STEEPEST = 1e6


@dataclass(frozen=True)
class Threshold:
    """The lowest score that is accepted.

    Attributes:
        score: the threshold itself.
        false_accepts: share of other speakers' trials that it was measured to accept; None where
            it was chosen by hand.
        measured_on: the speech that this was measured on.
        calibration: from scores to log-likelihood ratios; None where the encoder has none.
    """

    score: float
    false_accepts: float | None = None
    measured_on: str | None = None
    calibration: AffineCalibration | None = None


@dataclass(frozen=True)
class Verification:
    """The answer to: is this the voice of that name?

    Attributes:
        name: the name that was claimed.
        decision: "accept", "reject", or "cannot tell" where the recording is not good enough.
        score: of the recording against the template; None where nothing could be compared.
        threshold: what the score was held against.
        llr: the score as a log-likelihood ratio (natural), where the encoder is calibrated.
        reasons: why it cannot be told; empty otherwise.
        quality: what was measured of the recording.
    """

    name: str
    decision: Decision
    score: float | None
    threshold: Threshold
    llr: float | None
    reasons: tuple[Reason, ...]
    quality: Quality


@dataclass(frozen=True)
class Match:
    """A name and how well it fits.

    Attributes:
        name: an enrolled name.
        score: of the recording against its template.
        llr: the score as a log-likelihood ratio (natural), where the encoder is calibrated.
    """

    name: str
    score: float
    llr: float | None


@dataclass(frozen=True)
class Identification:
    """The answer to: whose voice is this?

    Attributes:
        name: the best match at or above the threshold; None for nobody, or where it cannot be told.
        decision: "accept" for a name, "reject" for nobody, or "cannot tell".
        matches: the best matches, best first, above the threshold or not.
        threshold: what their scores were held against.
        reasons: why it cannot be told; empty otherwise.
        quality: what was measured of the recording.
    """

    name: str | None
    decision: Decision
    matches: tuple[Match, ...]
    threshold: Threshold
    reasons: tuple[Reason, ...]
    quality: Quality


@dataclass(frozen=True, eq=False)
class Gallery:
    """Templates made ready to be compared with many recordings.

    Attributes:
        encoder: what made their vectors.
        names: one for each template.
        models: float32, shape (names, dimension); its product with a unit vector gives all scores.
        left_out: names whose templates are of other encoders.
    """

    encoder: EncoderIdentity
    names: tuple[str, ...]
    models: npt.NDArray[np.float32]
    left_out: tuple[str, ...]

    @classmethod
    def of(
        cls, templates: Iterable[Template], encoder: SpeakerEncoder, scoring: Scoring = "cosine"
    ) -> Gallery:
        """Gather the templates that this encoder made.

        Args:
            templates: for example `store.templates()`.
            encoder: what the recordings will be embedded with.
            scoring: "cosine" against the mean of the unit vectors, or "mean-cosine", the mean of
                the cosines with each of them.

        Raises:
            UsageError: none is of this encoder.
        """
        identity = identity_of(encoder)
        found: list[Template] = []
        left_out: list[Template] = []
        for template in templates:
            (found if template.encoder == identity else left_out).append(template)
        if not found:
            others = ", ".join(sorted({str(template.encoder) for template in left_out}))
            raise UsageError(
                f"nobody is enrolled with the encoder {identity}"
                + (f", only with {others}" if others else "; use sordino enroll first")
            )
        ends = np.cumsum([len(template.enrolments) for template in found])
        models = mean_models(
            np.concatenate([template.vectors for template in found]),
            [np.arange(end - len(t.enrolments), end) for t, end in zip(found, ends, strict=True)],
            unit_length=scoring == "cosine",
        )
        return cls(
            identity,
            tuple(template.name for template in found),
            models.astype(np.float32),
            tuple(template.name for template in left_out),
        )

    def scores(self, vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Scores of a recording's vector, shape (dimension,), against all names, shape (names,)."""
        products = self.models @ unit(vector[None])[0].astype(np.float32)
        scores: npt.NDArray[np.float32] = np.clip(products, -1, 1)
        return scores


class Judge:
    """Compares recordings with templates and decides.

    Args:
        encoder: what makes vectors of recordings.
        threshold: see `choose_threshold`.
        scoring: see `Gallery.of`.
        limits: what a recording needs in order to be judged.
        detector: None to load one.

    Example:
        >>> judge = Judge(encoder, Threshold(0.5))  # doctest: +SKIP
        >>> judge.verify(store.template("anna"), Recording.read("call.wav"))  # doctest: +SKIP
    """

    def __init__(
        self,
        encoder: SpeakerEncoder,
        threshold: Threshold,
        *,
        scoring: Scoring = "cosine",
        limits: Limits | None = None,
        detector: SpeechDetector | None = None,
    ) -> None:
        self.encoder = encoder
        self.threshold = threshold
        self.scoring = scoring
        self.limits = limits or Limits()
        self._detector = detector or SpeechDetector()

    def verify(self, template: Template, recording: Recording) -> Verification:
        """Is this the voice of that template?

        Raises:
            UsageError: the template is of another encoder.
        """
        identity = identity_of(self.encoder)
        if template.encoder != identity:
            raise UsageError(other_encoder(template.name, template.encoder, identity))
        gallery = Gallery.of([template], self.encoder, self.scoring)
        found = self.identify(gallery, recording)
        match = found.matches[0] if found.matches else None
        return Verification(
            template.name,
            found.decision,
            match.score if match else None,
            self.threshold,
            match.llr if match else None,
            found.reasons,
            found.quality,
        )

    def identify(self, gallery: Gallery, recording: Recording, *, top: int = 5) -> Identification:
        """Whose voice is this?

        With many names somebody is accepted by chance more often than in one comparison: about as
        many times as there are names, while that is small.

        Args:
            gallery: whom to compare with.
            recording: any rate, any number of channels.
            top: how many matches to give, at least 1.

        Raises:
            UsageError: the gallery is of another encoder.
        """
        if gallery.encoder != identity_of(self.encoder):
            raise UsageError(f"the gallery is of another encoder: {gallery.encoder}")
        if top < 1:
            raise UsageError(f"{top} matches cannot be given; at least 1")
        quality = measure(recording, self._detector)
        reasons = faults(quality, self.limits)
        matches: tuple[Match, ...] = ()
        if quality.snr is not None:
            try:
                matches = self._matches(gallery, self.encoder.embed(recording), top)
            except AudioError as error:
                reasons = (*reasons, Reason("not-embedded", str(error)))
        best = matches[0] if matches else None
        decision = decide(best.score if best else None, self.threshold.score, reasons)
        name = best.name if best and decision == "accept" else None
        return Identification(name, decision, matches, self.threshold, reasons, quality)

    def _matches(
        self, gallery: Gallery, vector: npt.NDArray[np.float32], top: int
    ) -> tuple[Match, ...]:
        scores = gallery.scores(vector)
        best = np.argsort(-scores, kind="stable")[:top]
        calibration = self.threshold.calibration
        return tuple(
            Match(
                gallery.names[index],
                float(scores[index]),
                float(calibration(scores[index])) if calibration else None,
            )
            for index in best
        )


def enroll(
    store: Store,
    encoder: SpeakerEncoder,
    name: str,
    recordings: Iterable[tuple[str, Recording]],
    *,
    limits: Limits | None = None,
    detector: SpeechDetector | None = None,
) -> Template:
    """Add recordings of a voice to a name: all of them, or none if one is not good enough.

    Args:
        store: where to.
        encoder: what makes vectors of the recordings.
        name: a new one, or one to which recordings are added.
        recordings: each after what it is called in messages, for example its path; taken one
            after another.
        limits: what they need; the seconds of speech (2 if not given) count for the name as a
            whole, each recording needs half a second.
        detector: None to load one.

    Returns:
        The template with the new enrolments.

    Raises:
        AudioError: a recording is not good enough, or there is too little speech in all of them.
        UsageError: the name is not one, or it is enrolled with another encoder.
        OutputError: the store cannot be written.
        StoreError: the store is damaged, or another program holds it.
    """
    limits = limits or Limits(speech=ENROLMENT_SPEECH)
    name = checked_name(name)
    identity = identity_of(encoder)
    detector = detector or SpeechDetector()
    each = Limits(min(_LEAST_FILE, limits.speech), limits.snr, limits.clipped)
    added = []
    for label, recording in recordings:
        quality = measure(recording, detector)
        reasons = faults(quality, each)
        if reasons:
            raise AudioError(f"{label}: {'; '.join(reason.text for reason in reasons)}")
        try:
            added.append(Enrolment(encoder.embed(recording), quality.speech))
        except AudioError as error:
            raise AudioError(f"{label}: {error}") from error
    return store.enroll(name, identity, added, least_speech=limits.speech)


def identity_of(encoder: SpeakerEncoder) -> EncoderIdentity:
    """What is stored of an encoder, so that its vectors are compared with its own only.

    Raises:
        UsageError: the encoder does not say which it is.
    """
    if not encoder.digest:
        raise UsageError(f"the encoder {encoder.name} has no digest that tells it from others")
    return EncoderIdentity(encoder.name, encoder.digest)


def decide(score: float | None, threshold: float, reasons: Sequence[Reason]) -> Decision:
    """Accept scores at or above the threshold, unless there are reasons not to judge at all.

    Example:
        >>> decide(0.7, 0.5, []), decide(0.3, 0.5, []), decide(0.7, 0.5, [Reason("noisy", "...")])
        ('accept', 'reject', 'cannot tell')
    """
    if score is None or reasons:
        return "cannot tell"
    return "accept" if score >= threshold else "reject"


def choose_threshold(
    known: Mapping[str, Any] | None,
    *,
    score: float | None = None,
    false_accepts: float | None = None,
    scoring: Scoring = "cosine",
) -> Threshold:
    """The threshold for a wanted rate of false accepts, or one chosen by hand.

    Args:
        known: what the encoder's bundle says under "verification" in its `model.json`:
            `thresholds` by rate, `calibration` with `slope` and `offset`, `measured_on`, and
            `scoring` where it is not "cosine".
        score: a threshold chosen by hand; not together with `false_accepts`.
        false_accepts: a rate that `known` has a threshold for; 0.01 if neither is given.
        scoring: how scores will be made.

    Raises:
        UsageError: there is no threshold for that rate, encoder or scoring.

    Example:
        >>> known = {"thresholds": {"0.01": 0.42, "0.001": 0.55}}
        >>> choose_threshold(known, false_accepts=0.001).score
        0.55
    """
    if known is not None and not isinstance(known, Mapping):
        raise UsageError("what the encoder's bundle says of verification is no table")
    fits = known is not None and known.get("scoring", "cosine") == scoring
    usable: Mapping[str, Any] = known if known is not None and fits else {}
    calibration = _calibration(usable.get("calibration"))
    if score is not None:
        if false_accepts is not None:
            raise UsageError("give a threshold or a rate of false accepts, not both")
        if not -1 <= score <= 1:
            raise UsageError(f"threshold {score:g} is not a cosine, which lies between -1 and 1")
        return Threshold(score, calibration=calibration)
    rate = DEFAULT_FALSE_ACCEPTS if false_accepts is None else false_accepts
    thresholds = _thresholds(usable.get("thresholds"))
    if not thresholds:
        lacks = f"for the scoring {scoring}" if known and not fits else "of its own"
        raise UsageError(f"the encoder has no thresholds {lacks}; give one with --threshold")
    if rate not in thresholds:
        rates = ", ".join(f"{known_rate:g}" for known_rate in sorted(thresholds, reverse=True))
        raise UsageError(
            f"the encoder has no threshold for a false-accept rate of {rate:g}, only for {rates};"
            " choose one of these, or give a threshold with --threshold"
        )
    measured_on = usable.get("measured_on")
    return Threshold(thresholds[rate], rate, str(measured_on) if measured_on else None, calibration)


def _thresholds(said: Any) -> dict[float, float]:
    try:
        said = said or {}
        thresholds = {float(rate): float(score) for rate, score in said.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError("the encoder's thresholds are not numbers by rates") from error
    if not all(-1 <= score <= 1 for score in thresholds.values()):
        raise UsageError("the encoder's thresholds are not cosines, which lie between -1 and 1")
    return thresholds


def _calibration(said: Any) -> AffineCalibration | None:
    if said is None:
        return None
    try:
        slope, offset = (float(said[key]) for key in ("slope", "offset"))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError("the encoder's calibration has no slope and offset") from error
    if not (0 < slope < _STEEPEST and abs(offset) < _STEEPEST):
        raise UsageError("the encoder's calibration is not a rising line")
    return AffineCalibration(slope, offset)

"""How well speaker encoders tell speakers apart, on speakers that they have not heard.

Run from the repository root; prints a Markdown report:

    python -m benchmarks.verification --speech ../shared/speech/manifest.csv MODEL...
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

# Numerical libraries count their threads when they are loaded.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import numpy as np
import numpy.typing as npt

from benchmarks.anonymize import processor
from sordino.audio.recording import Recording
from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.detect import read_corpus
from sordino.corpus.trials import Trials, make_trials
from sordino.errors import UsageError
from sordino.evaluate.metrics.bootstrap import bootstrap_over_speakers
from sordino.evaluate.metrics.eer import WeightedEER, equal_error_rate
from sordino.speaker.encoders import OnnxEncoder, load_encoder
from sordino.speaker.scoring.cosine import mean_models, score_trials, unit
from sordino.speaker.scoring.plda import fit_plda
from sordino.speaker.scoring.products import trial_products
from sordino.speaker.scoring.snorm import cohort_statistics, s_norm_trials

FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.floating]

ENROLMENTS = 2
TARGETS_PER_MODEL = 10
# Two halves of one recording: easy, and no test of telling sessions apart.
ONE_SESSION = frozenset({"librispeech_1utt"})
NOISE_DB = 5.0
COHORT = 100


@dataclass(frozen=True)
class TestSet:
    """The corpus, its trials and what groups of trials there are."""

    corpus: Corpus
    trials: Trials

    @cached_property
    def groups(self) -> dict[str, BoolArray]:
        """Which trials belong to each row of the table."""
        known = self.corpus.by_id()
        utterances = [known[name] for name in self.trials.utterances]
        enrolled_sex = np.array(
            [known[e.utterances[0]].sex or "?" for e in self.trials.enrolments]
        )[self.trials.model]
        index = self.trials.utterance
        corpora = np.array([u.corpus or "?" for u in utterances])[index]
        languages = np.array([u.language or "?" for u in utterances])[index]
        sexes = np.array([u.sex or "?" for u in utterances])[index]
        apart = ~np.isin(corpora, list(ONE_SESSION))
        groups = {"**all**": apart}
        groups |= {f"corpus {name}": corpora == name for name in sorted(set(corpora))}
        groups |= {
            f"language {name}": (languages == name) & apart for name in sorted(set(languages))
        }
        for sex in "FM":
            groups[f"{sex}-{sex}"] = (enrolled_sex == sex) & (sexes == sex) & apart
        same = enrolled_sex == sexes
        groups["same sex"] = same & (sexes != "?") & apart
        return groups


def test_set(corpus: Corpus) -> TestSet:
    """Trials inside each collection."""
    trials = make_trials(
        corpus, enrolments_per_speaker=ENROLMENTS, targets_per_model=TARGETS_PER_MODEL
    )
    return TestSet(corpus, trials)


def vectors_of(
    encoder: OnnxEncoder, corpus: Corpus, change: Callable[[Recording, str], Recording]
) -> dict[str, FloatArray]:
    """A vector of each utterance."""
    return {u.id: encoder.embed(change(u.read(), u.id)) for u in corpus}


def as_is(recording: Recording, name: str) -> Recording:
    """No change."""
    del name
    return recording


def with_noise(recording: Recording, name: str) -> Recording:
    """Pink noise, 5 dB below the speech."""
    generator = np.random.default_rng(list(name.encode()))
    samples = recording.samples
    spectrum = np.fft.rfft(generator.standard_normal(samples.shape[1]))
    frequency = np.fft.rfftfreq(samples.shape[1], 1 / recording.sample_rate)
    noise = np.fft.irfft(spectrum / np.sqrt(np.maximum(frequency, 20)), samples.shape[1])
    gain = np.sqrt(np.square(samples).mean() / np.square(noise).mean()) * 10 ** (-NOISE_DB / 20)
    return Recording((samples + gain * noise).astype(np.float32), recording.sample_rate)


@dataclass(frozen=True)
class Heard:
    """Vectors for a test: enrolments, and utterances that are tried."""

    models: FloatArray
    tried: FloatArray


def heard(
    test: TestSet, enrolled: Mapping[str, FloatArray], tried: Mapping[str, FloatArray]
) -> Heard:
    """Vectors in the order of the trials."""
    names = [name for e in test.trials.enrolments for name in e.utterances]
    rows = np.stack([enrolled[name] for name in names])
    sizes = [len(e.utterances) for e in test.trials.enrolments]
    ends = np.cumsum(sizes)
    sets = [range(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    return Heard(
        mean_models(rows, sets), np.stack([tried[name] for name in test.trials.utterances])
    )


def cosine_scores(test: TestSet, vectors: Heard) -> Scores:
    """Cosine against the mean of the enrolment vectors."""
    return score_trials(vectors.models, vectors.tried, test.trials.model, test.trials.utterance)


def cell(scores: Scores, test: TestSet, chosen: BoolArray) -> str:
    """EER in per cent with its interval."""
    trials = test.trials
    try:
        found = bootstrap_over_speakers(
            WeightedEER(scores[chosen], trials.is_target[chosen]),
            trials.enrolled[chosen],
            trials.tried[chosen],
        )
    except UsageError:
        # Too few speakers for an interval.
        targets = scores[chosen & trials.is_target]
        others = scores[chosen & ~trials.is_target]
        return f"{100 * equal_error_rate(targets, others).rate:.1f} (few speakers)"
    return f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def error(scores: Scores, test: TestSet, chosen: BoolArray) -> float:
    """EER in per cent."""
    own = test.trials.is_target
    return 100 * equal_error_rate(scores[chosen & own], scores[chosen & ~own]).rate


def table(test: TestSet, columns: Mapping[str, Scores]) -> Iterator[str]:
    """The EER of each group of trials by each way of scoring."""
    yield "| trials | speakers | target | non-target | " + " | ".join(columns) + " |"
    yield "| --- | --- | --- | --- |" + " --- |" * len(columns)
    for name, chosen in test.groups.items():
        own = chosen & test.trials.is_target
        others = chosen & ~test.trials.is_target
        if not own.any() or not others.any():
            continue
        people = np.union1d(test.trials.enrolled[chosen], test.trials.tried[chosen]).size
        cells = " | ".join(cell(scores, test, chosen) for scores in columns.values())
        yield f"| {name} | {people} | {own.sum()} | {others.sum()} | {cells} |"


def back_ends(
    test: TestSet, vectors: Heard, training: Corpus, known: Mapping[str, FloatArray]
) -> dict[str, Scores]:
    """Scores by other back ends, fitted on training speakers."""
    index = (test.trials.model, test.trials.utterance)
    rows = unit(np.stack([known[utterance.id] for utterance in training]))
    labels = np.array([utterance.speaker for utterance in training])
    mean = rows.mean(axis=0)
    cohort = mean_models(rows, [np.flatnonzero(labels == name) for name in sorted(set(labels))])
    plda = fit_plda(rows, labels)
    return {
        "centred": score_trials(vectors.models - mean, unit(vectors.tried) - mean, *index),
        "AS-norm": s_norm_trials(
            cosine_scores(test, vectors),
            cohort_statistics(vectors.models, cohort, top=COHORT),
            cohort_statistics(unit(vectors.tried), cohort, top=COHORT),
            *index,
        ),
        "PLDA": trial_products(
            np.stack([plda.enrol(model[None]) for model in vectors.models]),
            plda.prepare(unit(vectors.tried)),
            *index,
        ),
    }


def threshold_rows(encoder: OnnxEncoder, scores: Scores, test: TestSet) -> Iterator[str]:
    """What the thresholds in a bundle do on the test speakers."""
    facts = encoder.bundle.metadata.get("verification", {})
    chosen = test.groups["**all**"]
    own = test.trials.is_target
    for rate, threshold in facts.get("thresholds", {}).items():
        accepted = scores >= threshold
        false_accepts = accepted[chosen & ~own].mean()
        false_rejects = 1 - accepted[chosen & own].mean()
        yield (
            f"| {encoder.name} | {100 * float(rate):g} % | {threshold:.3f}"
            f" | {100 * false_accepts:.2f} % | {100 * false_rejects:.1f} % |"
        )


def report(
    speech: Path, names: Sequence[str], test_split: str, training_split: str
) -> Iterator[str]:
    """The whole report, line by line."""
    corpus = read_corpus(speech)
    test = test_set(corpus.select(split=test_split))
    training = corpus.select(split=training_split)
    encoders = [load_encoder(name) for name in names]
    clean: dict[str, Scores] = {}
    noisy: dict[str, Scores] = {}
    others: dict[str, Scores] = {}
    for encoder in encoders:
        vectors = vectors_of(encoder, test.corpus, as_is)
        in_noise = vectors_of(encoder, test.corpus, with_noise)
        clean[encoder.name] = cosine_scores(test, heard(test, vectors, vectors))
        noisy[encoder.name] = cosine_scores(test, heard(test, vectors, in_noise))
        known = vectors_of(encoder, training, as_is)
        found = back_ends(test, heard(test, vectors, vectors), training, known)
        others |= {f"{encoder.name}, {name}": scores for name, scores in found.items()}
    chosen = test.groups["**all**"]

    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    yield (
        f"Measured {date}: {processor()}, {os.cpu_count()} processors;"
        f" Python {platform.python_version()}."
    )
    yield ""
    yield (
        f"Equal error rate in per cent, [95 % interval from drawing speakers anew]. {ENROLMENTS}"
        f" enrolment utterances, cosine against their mean, at most {TARGETS_PER_MODEL} target"
        " trials of a speaker, impostors from the same collection. *All* leaves out"
        f" {', '.join(sorted(ONE_SESSION))}, whose clips of a speaker are from one recording."
    )
    yield ""
    yield from table(test, clean)
    first = error(clean[encoders[0].name], test, chosen)
    for encoder in encoders[1:]:
        ratio = error(clean[encoder.name], test, chosen) / first
        yield ""
        yield (
            f"Over all trials {encoder.name} has {ratio:.2f} times the error of {encoders[0].name}."
        )
    yield ""
    yield f"With pink noise {NOISE_DB:g} dB below the speech in the utterances that are tried:"
    yield ""
    yield from table(test, noisy)
    yield ""
    yield (
        f"Other back ends, fitted on the {len(training.speakers)} speakers of the split"
        f" {training_split}:"
    )
    yield ""
    yield from table(test, others)
    yield ""
    yield "What the thresholds that come with an encoder do on these speakers (*all*):"
    yield ""
    yield "| encoder | meant for false accepts | threshold | false accepts | false rejects |"
    yield "| --- | --- | --- | --- | --- |"
    for encoder in encoders:
        yield from threshold_rows(encoder, clean[encoder.name], test)


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="the first is the reference")
    parser.add_argument("--speech", type=Path, required=True, help="a corpus with splits")
    parser.add_argument("--test", default="test", metavar="SPLIT")
    parser.add_argument("--training", default="dev", metavar="SPLIT")
    options = parser.parse_args()
    for line in report(options.speech, options.models, options.test, options.training):
        print(line, flush=True)


if __name__ == "__main__":
    main()

"""How much pseudo-speakers differ from each other, from real people and from their sources.

Run from the repository root, with swift-f0 installed; prints a Markdown report:

    python -m benchmarks.pseudo_speakers --speech ../shared/speech/manifest.csv MODEL...
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from time import process_time

# Numerical libraries count their threads when they are loaded.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import numpy as np
import numpy.typing as npt

from benchmarks.anonymize import processor
from sordino.anonymize.base import Draws
from sordino.anonymize.pseudo import make_strategy
from sordino.anonymize.pseudo.base import Source, Strategy, unit
from sordino.anonymize.pseudo.codebook import codebook
from sordino.anonymize.pseudo.pool import Pool
from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.detect import read_corpus
from sordino.corpus.partition import split_speakers
from sordino.dsp.pitch import load_tracker
from sordino.dsp.pitch.base import HOP
from sordino.evaluate.utility.wave import wave_of
from sordino.privacy.keys import SecretKey
from sordino.speaker.encoders import load_encoder

FloatArray = npt.NDArray[np.float64]

POOL_SHARE = 2 / 3
KEYS = tuple(SecretKey(bytes([number]) * 32) for number in range(5))
VOICED_FRAMES = 1000
SEMITONE = np.log(2) / 12
SETTINGS: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("average", {"gender": "same", "candidates": 60, "averaged": 30}),
    ("average", {"gender": "same", "candidates": 30, "averaged": 15}),
    ("average", {"gender": "same", "candidates": 10, "averaged": 5}),
    ("density", {"gender": "same", "voices": 4096}),
    ("density", {"gender": "same", "voices": 0}),
    ("density", {"gender": "same", "voices": 4096, "spread": 1.3}),
    ("orthogonal", {"turn": "common"}),
    ("orthogonal", {"turn": "own"}),
    ("pool", {"gender": "same"}),
)


Register = tuple[float, float]


@dataclass(frozen=True)
class Side:
    """Speakers who are in the pool, or who get pseudo-speakers.

    Attributes:
        speakers: a row of the pool for each.
        pool: their vectors, sexes and pitch.
        recordings: vectors of length 1 of each speaker's recordings.
    """

    speakers: tuple[str, ...]
    pool: Pool
    recordings: tuple[FloatArray, ...]

    def one_person(self) -> FloatArray:
        """Cosines between two recordings of one speaker."""
        return np.concatenate([upper(rows @ rows.T) for rows in self.recordings])

    def sources(self) -> list[Source]:
        """The speakers as sources."""
        rows = zip(self.pool.vectors, self.pool.sex, strict=True)
        return [Source(vector, str(sex)) for vector, sex in rows]


def side(corpus: Corpus, vectors: Mapping[str, FloatArray], pitch: Mapping[str, Register]) -> Side:
    """The speakers of a corpus.

    Args:
        corpus: says who and of what sex they are.
        vectors: of each utterance.
        pitch: mean and deviation of log F0 of each speaker.
    """
    groups = corpus.by_speaker()
    recordings = tuple(unit(np.stack([vectors[u.id] for u in group])) for group in groups.values())
    means, deviations = zip(*(pitch[name] for name in groups), strict=True)
    pool = Pool(
        np.stack([rows.mean(axis=0) for rows in recordings]),
        np.array([group[0].sex or "" for group in groups.values()]),
        np.array(means),
        np.array(deviations),
    )
    return Side(tuple(groups), pool, recordings)


def registers(corpus: Corpus) -> dict[str, Register]:
    """Mean and deviation of log F0 of each speaker, over ten seconds of voice."""
    tracker = load_tracker("swift")
    found = {}
    for speaker, utterances in corpus.by_speaker().items():
        logs = np.zeros(0)
        for utterance in utterances:
            wave = wave_of(utterance.read())
            f0 = tracker.track(wave[: wave.size // HOP * HOP])
            logs = np.append(logs, np.log(f0[f0 > 0]))
            if logs.size >= VOICED_FRAMES:
                break
        found[speaker] = (float(logs.mean()), float(logs.std()))
    return found


def upper(matrix: FloatArray) -> FloatArray:
    """What lies above the diagonal."""
    values: FloatArray = matrix[np.triu_indices(len(matrix), 1)]
    return values


def same_sex(vectors: FloatArray, sex: npt.NDArray[np.str_]) -> FloatArray:
    """Cosines of all pairs of one sex."""
    return np.concatenate([upper(vectors[sex == s] @ vectors[sex == s].T) for s in "FM"])


def row(
    name: str, pairs: FloatArray, alike: float, to_pool: FloatArray, to_source: FloatArray | None
) -> str:
    """A row of the table."""
    low, middle, high = np.quantile(pairs, [0.05, 0.5, 0.95])
    source = "" if to_source is None else f"{np.median(to_source):.2f}"
    return (
        f"| {name} | {pairs.size:,} | {pairs.mean():.3f} | {low:.2f} | {middle:.2f} | {high:.2f}"
        f" | {pairs.max():.2f} | {100 * (pairs >= alike).mean():.2f} | {np.median(to_pool):.2f}"
        f" | {source} |"
    )


def real_row(name: str, who: Side, alike: float) -> str:
    """A row for real speakers."""
    vectors = who.pool.vectors
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    return row(name, same_sex(vectors, who.pool.sex), alike, cosines.max(axis=1), None)


def pseudo_row(strategy: Strategy, pool: Side, sources: Side, alike: float) -> str:
    """A row for the pseudo-speakers of all sources, under several keys."""
    pairs, to_pool, to_source = [], [], []
    for key in KEYS:
        chosen = np.stack(
            [
                strategy.choose(pool.pool, Draws(key, ("neural", "speaker", name)), source)
                for name, source in zip(sources.speakers, sources.sources(), strict=True)
            ]
        )
        pairs.append(same_sex(chosen, sources.pool.sex))
        to_pool.append((chosen @ pool.pool.vectors.T).max(axis=1))
        to_source.append((chosen * sources.pool.vectors).sum(axis=1))
    settings = ", ".join(f"{name} {value}" for name, value in strategy.settings().items())
    return row(
        f"**{strategy.name}** ({settings})",
        np.concatenate(pairs),
        alike,
        np.concatenate(to_pool),
        np.concatenate(to_source),
    )


def collision_row(name: str, pool: Pool, group: str) -> str:
    """A row of the table of densities: how near voices drawn on their own come to each other."""
    strategy = make_strategy("density", gender=group, voices=0)
    drawn = np.stack(
        [strategy.choose(pool, Draws(KEYS[0], ("neural", str(n)))) for n in range(2000)]
    )
    pairs = upper(drawn @ drawn.T)
    started = process_time()
    book = codebook(pool, b"benchmark", group, 4096, 1.0)
    seconds = process_time() - started
    nearest = float((book @ book.T - 2 * np.eye(len(book))).max())
    return (
        f"| {name} | {group} | {(pool.sex == group).sum()} | {seconds:.2f} | {nearest:.2f}"
        f" | {1e6 / 4096:.0f} | {1e6 * (pairs >= nearest).mean():.0f} | {pairs.max():.2f} |"
    )


def fit_row(name: str, pool: Pool, others: Pool) -> str:
    """A row of the table of what is predicted from vectors."""
    right = np.mean(
        [
            pool.sex_of(vector).sex == sex
            for vector, sex in zip(others.vectors, others.sex, strict=True)
        ]
    )
    means = np.array([pool.register(vector).mean for vector in others.vectors])
    error = np.sqrt(np.mean((means - others.pitch_mean) ** 2)) / SEMITONE
    spread = others.pitch_mean.std() / SEMITONE
    within = np.concatenate(
        [
            others.pitch_mean[others.sex == s] - others.pitch_mean[others.sex == s].mean()
            for s in "FM"
        ]
    ).std()
    return (
        f"| {name} | {len(pool)} | {len(others)} | {100 * right:.1f} % | {error:.2f}"
        f" | {pool.pitch_fits[0].error / SEMITONE:.2f} | {spread:.2f} | {within / SEMITONE:.2f} |"
    )


def report(speech: Path, names: Sequence[str], split: str) -> Iterator[str]:
    """The whole report, line by line."""
    corpus = read_corpus(speech).select(split=split, sex=("F", "M"))
    pool_part, source_part = split_speakers(corpus, POOL_SHARE)
    pitch = registers(corpus)
    sides: dict[str, tuple[Side, Side]] = {}
    for name in names:
        encoder = load_encoder(name)
        vectors = {u.id: encoder.embed(u.read()).astype(np.float64) for u in corpus}
        sides[encoder.name] = side(pool_part, vectors, pitch), side(source_part, vectors, pitch)

    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    yield (
        f"Measured {date}: {processor()}, {os.cpu_count()} processors;"
        f" Python {platform.python_version()}, NumPy {np.__version__}."
    )
    for name, (pool, sources) in sides.items():
        alike = float(np.median(np.concatenate([pool.one_person(), sources.one_person()])))
        counts = [
            f"{(who.pool.sex == 'F').sum()} women and {(who.pool.sex == 'M').sum()} men"
            for who in (pool, sources)
        ]
        yield ""
        yield (
            f"**{name}**, {pool.pool.dimension} numbers; pool {counts[0]}, sources {counts[1]},"
            f" {len(corpus)} recordings. Median cosine between two recordings of one person:"
            f" {alike:.2f}."
        )
        yield ""
        yield (
            "| voices | pairs | mean | 5 % | median | 95 % | largest | as one person, %"
            " | to the pool | to the source |"
        )
        yield "| --- |" + " ---: |" * 9
        yield real_row("real people of the pool", pool, alike)
        yield real_row("real people who are the sources", sources, alike)
        for strategy, settings in SETTINGS:
            yield pseudo_row(make_strategy(strategy, **settings), pool, sources, alike)
    yield ""
    yield (
        "| encoder | sex | pool voices | s for a list of 4,096 | largest cosine in it"
        " | same voice, pairs in a million | without a list: that near, pairs in a million"
        " | largest cosine of 2,000 |"
    )
    yield "| --- | --- |" + " ---: |" * 6
    for name, (pool, _) in sides.items():
        for group in "FM":
            yield collision_row(name, pool.pool, group)
    yield ""
    yield (
        "| encoder | pool | sources | sex guessed right | register: error, semitones"
        " | in the pool, leaving one out | spread of all | spread within a sex |"
    )
    yield "| --- |" + " ---: |" * 7
    for name, (pool, sources) in sides.items():
        yield fit_row(name, pool.pool, sources.pool)


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="names or folders of encoders")
    parser.add_argument("--speech", type=Path, required=True, help="a corpus with splits")
    parser.add_argument("--split", default="dev", help="whose speakers to take")
    options = parser.parse_args()
    for line in report(options.speech, options.models, options.split):
        print(line, flush=True)


if __name__ == "__main__":
    main()

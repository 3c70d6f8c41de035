"""The paper's system at full size, with random weights: file to file, in float and in 8 bits.

Speed does not depend on the weights; nothing here says how it sounds. Needs the extras ssl and
train. Run from the repository root; prints a Markdown report:

    python -m benchmarks.full_size [--speech FOLDER] [--minutes M]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import numpy as np
import torch

from benchmarks.anonymize import alone, processor, write_file
from benchmarks.neural import Contender, run_file, spent_in
from sordino.anonymize.voice import Voice
from sordino.audio.recording import Recording
from sordino.models.find import load_model
from sordino.training.content.export import write_content
from sordino.training.generator_export import write_vocoder
from sordino.training.networks.content import build_content
from sordino.training.networks.generators import build_generator
from sordino.training.voice.quantise import quantise_voice
from sordino.training.voice_bundle import write_voice

HUBERT_BASE = {"model_type": "hubert"}  # the defaults of transformers are its sizes
UNITS, DIMENSION, POOL = 200, 192, 100
ABOUT = {"summary": "Random weights, for timing.", "licence": "CC0-1.0", "name": "full-size"}


def make_voice(folder: Path) -> Path:
    """Soft HuBERT-Base, YAAPT, HiFi-GAN of the paper's sizes."""
    torch.manual_seed(0)
    network = {
        "architecture": "ssl",
        "ssl": {"config": HUBERT_BASE},
        "output": "soft",
        "units": UNITS,
    }
    content = write_content(folder / "content", build_content(network), network, ABOUT, "# Random")
    spoken = {
        "architecture": "hifigan",
        "content": {"channels": UNITS},
        "speaker": DIMENSION,
        "pitch": "hertz",
    }
    encoder = load_model("ecapa-small", "speaker-encoder")
    facts = {
        **ABOUT,
        "content": {"hop": 320, "channels": UNITS},
        "pitch": {"tracker": "yaapt"},
        "speaker": {
            "dimension": DIMENSION,
            "encoder": encoder.name,
            "digest": encoder.digest,
        },
    }
    vocoder = write_vocoder(folder / "vocoder", build_generator(spoken), spoken, facts, "# Random")
    rng = np.random.default_rng(0)
    pool = {
        "vectors": rng.normal(size=(POOL, DIMENSION)),
        "sex": np.array(["F", "M"] * (POOL // 2)),
        "pitch_mean": np.full(POOL, 5.0) + 0.1 * rng.normal(size=POOL),
        "pitch_deviation": np.full(POOL, 0.2),
    }
    return write_voice(folder / "voice", content, vocoder, pool, ABOUT, "# Random").folder


def rows(voices: dict[str, Path], source: Path, seconds: int) -> Iterator[str]:
    """A row for each voice."""
    for name, voice in voices.items():
        contender = Contender("neural", (("voice", str(voice)),))
        target = source.with_name("target.wav")
        run = alone(run_file, contender, source, target)
        spent = alone(spent_in, contender, source, target)
        parts = " | ".join(f"{value / seconds:.3f}" for value in spent.values())
        size = Voice.load(str(voice)).bundle.size / 1e6
        yield (
            f"| {name} | {size:.0f} | {run.seconds:.1f} | {run.seconds / seconds:.3f}"
            f" | {run.processor / seconds:.3f} | {parts} | {run.peak:.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="The paper's system at full size.")
    parser.add_argument("--speech", type=Path, help="folder of recordings; else made up")
    parser.add_argument("--minutes", type=int, default=1, help="length of the file")
    options = parser.parse_args()
    minutes: int = options.minutes
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        source = folder / "source.wav"
        alone(write_file, options.speech, minutes, source)
        plain = make_voice(folder)
        heard = Recording.read(source)
        parts = [heard.samples[:, start : start + 64000] for start in range(0, 640000, 64000)]
        speech = [Recording(part, heard.sample_rate) for part in parts]
        voice = Voice.load(str(plain))
        voices = {"float32": plain}
        for name, which in (
            ("generator in 8 bits", ("generator",)),
            ("both in 8 bits", ("generator", "content")),
        ):
            small = folder / name.replace(" ", "-")
            quantise_voice(voice, speech, small, name=small.name, parts=which)  # type: ignore[arg-type]
            voices[name] = small
        print(f"# The paper's system at full size, {datetime.now(timezone.utc):%Y-%m-%d}\n")
        print(
            f"{processor()}, {os.cpu_count()} processors, one thread; a WAV file of"
            f" {minutes} min to another, loading included; random weights. Columns from content on:"
            " processor time as a share of the sound's length.\n"
        )
        columns = [
            *("voice", "MB", "seconds", "real-time factor", "processor time"),
            *("content", "generator", "pitch", "all else", "peak memory, MiB"),
        ]
        print(f"| {' | '.join(columns)} |")
        print("| --- |" + " ---: |" * (len(columns) - 1))
        for row in rows(voices, source, 60 * minutes):
            print(row, flush=True)


if __name__ == "__main__":
    main()

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("onnx", reason="needs the extra train")

from sordino.anonymize.voice import Voice
from sordino.audio.recording import Recording
from sordino.cli.main import main
from sordino.errors import OutputError, UsageError
from sordino.training.generator_export import generator_graph
from sordino.training.networks.generators import build_generator
from sordino.training.voice.quantise import quantise_voice
from tests.helpers import voice as speech
from tests.neural_voices import CHANNELS, DIMENSION, write_voice


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Voice:
    torch.manual_seed(0)
    generator = build_generator(
        {
            "architecture": "hifigan",
            "content": {"channels": CHANNELS},
            "speaker": DIMENSION,
            "sizes": {"channels": 128},
        }
    )
    folder = tmp_path_factory.mktemp("voices") / "plain"
    facts = {"hop": 160, "context": generator.context_frames, "architecture": "hifigan"}
    graph = {"generator.onnx": generator_graph(generator)}
    return Voice.load(str(write_voice(folder, graph, generator=facts).folder))


def recordings(count: int = 4) -> list[Recording]:
    return [
        Recording(speech(2.0, 16000, seed=seed).T.astype(np.float32), 16000)
        for seed in range(count)
    ]


def test_smaller_and_nearly_the_same(voice: Voice, tmp_path: Path) -> None:
    bundle = quantise_voice(voice, recordings(), tmp_path / "small", name="small")
    assert bundle.metadata["quantised"] is True
    assert bundle.name == "small"
    assert bundle.size < 0.7 * voice.bundle.size
    assert "8 bits" in bundle.card
    small = Voice.load(str(bundle.folder))
    rng = np.random.default_rng(0)
    inputs = {
        "content": voice.content(speech(1.28, 16000, seed=9)[:, 0]),
        "f0": np.full(128, 150.0),
        "speaker": rng.normal(size=DIMENSION),
    }
    plain, changed = voice.speech(inputs), small.speech(inputs)
    assert np.abs(plain - changed).max() > 0
    assert np.corrcoef(plain, changed)[0, 1] > 0.99
    with pytest.raises(OutputError, match="exists already"):
        quantise_voice(voice, [], tmp_path / "small", name="small")
    with pytest.raises(UsageError, match="in 8 bits already"):
        quantise_voice(small, recordings(), tmp_path / "again", name="again")


def test_silence_is_no_speech(voice: Voice, tmp_path: Path) -> None:
    silence = Recording(np.zeros((1, 32000), np.float32), 16000)
    with pytest.raises(UsageError, match="needs recordings with speech"):
        quantise_voice(voice, [silence], tmp_path / "small", name="small")
    assert not (tmp_path / "small").exists()


def test_the_command(voice: Voice, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "speech"
    place.mkdir()
    for number, recording in enumerate(recordings()):
        soundfile.write(place / f"{number}.wav", recording.samples.T, 16000)
    target = tmp_path / "small"
    status = main(["models", "quantise", str(voice.bundle.folder), str(place), "-o", str(target)])
    assert status == 0
    assert "quantised tiny-voice as tiny-voice-int8" in capsys.readouterr().out
    assert Voice.load(str(target)).name == "tiny-voice-int8"

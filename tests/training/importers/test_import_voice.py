"""The anonymizer's release as a voice, against its parts put together another way."""

from __future__ import annotations

import csv
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra ssl")
pytest.importorskip("onnx")

from sordino.anonymize.voice import Voice
from sordino.errors import OutputError, UsageError
from sordino.models.bundle import Bundle
from sordino.training.importers import import_model
from sordino.training.importers import voice as voice_importer
from tests.training.importers.released import (
    SMALL,
    SMALL_HIFIGAN,
    generator,
    hidden_states,
    hubert,
    save_generator,
    soft_model,
    soft_units,
    speech_of,
)
from tests.training.importers.test_import_pool import write_pool
from tests.training.speechbrain_models import randomize, speechbrain
from tests.training.waves import speech

KIND = "speaker-anonymization-release"
UNITS = 24


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release's folder with everything in it, and what it was made of."""
    folder = tmp_path_factory.mktemp("release")
    model = hubert(seed=6, **SMALL)
    soft = soft_model(model, UNITS)
    (folder / "HuBERT_soft").mkdir()
    torch.save(soft, folder / "HuBERT_soft" / "soft_model.pt")
    torch.manual_seed(7)
    ecapa = speechbrain().Ecapa(
        80, lin_neurons=192, channels=[64] * 4 + [96], attention_channels=24, se_channels=16
    )
    (folder / "ECAPA-TDNN").mkdir()
    torch.save(randomize(ecapa).state_dict(), folder / "ECAPA-TDNN" / "embedding_model.ckpt")
    weights = generator(SMALL_HIFIGAN)
    save_generator(folder / "HiFi-GAN" / "libri", weights, SMALL_HIFIGAN)
    write_pool(folder / "pool", dimension=192)
    return folder, model, soft, weights


@pytest.fixture(scope="module")
def imported(release, tmp_path_factory):
    """The voice of the release, in a models folder."""
    models = tmp_path_factory.mktemp("models")
    return import_model(KIND, release[0], models / "released", "released")


@pytest.fixture
def ready_encoder(imported, monkeypatch):
    """The encoder is not exported again; that takes longest."""
    encoder = Bundle.load(f"{imported.folder}-speaker")
    monkeypatch.setattr(voice_importer, "import_ecapa", lambda *_: encoder)


def test_a_voice_that_speaks(imported, release, speech_root, monkeypatch):
    _, model, soft, weights = release
    monkeypatch.setenv("SORDINO_MODELS", str(imported.folder.parent))
    assert sorted(imported.files) == ["CARD.md", "content.onnx", "generator.onnx", "pool.npz"]
    voice = Voice.load("released")
    assert (voice.hop, voice.channels, voice.dimension) == (320, UNITS, 192)
    assert voice.content_context is None
    assert voice.tracker.name == "yaapt"
    assert voice.wants == {"content", "f0", "speaker"}
    assert len(voice.pool) == 3
    assert voice.encoder().bundle.name == "released-speaker"

    wave = speech(speech_root, 3.2, seed=9)
    f0 = np.where(np.arange(320) % 80 < 50, np.linspace(90, 180, 320), 0.0)
    vector = voice.pool.vectors[1]
    content = soft_units(hidden_states(model, wave), soft["W"])
    expected = speech_of(weights, SMALL_HIFIGAN, content, f0, vector)
    found = voice.speech({"content": voice.content(wave), "f0": f0, "speaker": vector})
    print(f"voice: largest difference {np.abs(found - expected).max():.1e}")
    assert expected.std() > 0.02
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert "3 speakers: 2 F, 1 M" in imported.card
    assert "features have length 1 over time" in imported.card


@pytest.mark.usefixtures("ready_encoder")
def test_the_content_that_the_vocoder_carries_along_comes_first(tmp_path, release, speech_root):
    folder, _, _, weights = release
    other = hubert(seed=8, **SMALL)
    carried = soft_model(other, UNITS, "latent_encoder.", pretraining=False)
    ours = tmp_path / "theirs"
    for part in ("ECAPA-TDNN", "pool"):
        shutil.copytree(folder / part, ours / part)
    speaker = {"xv_model.fc.conv.weight": torch.zeros(192, 64, 1)}
    held = {**weights, **carried, **speaker}
    save_generator(ours / "HiFi-GAN" / "libri", held, SMALL_HIFIGAN)
    voice = Voice(import_model(KIND, ours, tmp_path / "ours", "ours"))
    wave = speech(speech_root, 1.28, seed=4)
    expected = soft_units(hidden_states(other, wave), carried["latent_encoder.W"])
    np.testing.assert_allclose(voice.content(wave), expected, rtol=0, atol=1e-4)


@pytest.mark.usefixtures("ready_encoder")
def test_a_pool_of_recordings(tmp_path, release, speech_root):
    pytest.importorskip("swift_f0")
    folder, *_ = release
    people = tmp_path / "people"
    with (speech_root / "manifest.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus"] == "librispeech"]
    for sex in "FM":
        row = next(row for row in rows if row["sex"] == sex)
        (people / row["speaker"]).mkdir(parents=True)
        shutil.copy(speech_root / row["path"], people / row["speaker"])
    bundle = import_model(KIND, folder, tmp_path / "ours", "ours", pool=people)
    pool = Voice(bundle).pool
    assert len(pool) == 2
    assert pool.dimension == 192
    assert (np.exp(pool.pitch_mean) > 70).all()


def test_what_is_missing_is_said_and_nothing_is_left(tmp_path, release):
    folder, *_ = release
    whole = tmp_path / "theirs"
    shutil.copytree(folder, whole)

    def fails(message, kind=UsageError, **options):
        with pytest.raises(kind, match=message):
            import_model(KIND, whole, tmp_path / "ours" / "new", "new", **options)
        assert not list((tmp_path / "ours").glob("*"))

    fails("has no folder other", vocoder="other")
    fails("nowhere: is no folder; a voice needs a pool", pool=tmp_path / "nowhere")
    (whole / "HiFi-GAN" / "multilan").mkdir()
    fails(r"holds 2 vocoders \(libri, multilan\); say which is meant")
    (whole / "HiFi-GAN" / "multilan").rmdir()
    (whole / "ECAPA-TDNN" / "embedding_model.ckpt").unlink()
    fails(r"ECAPA-TDNN: has no embedding_model\.ckpt")
    shutil.rmtree(whole / "HiFi-GAN")
    fails("has no folder HiFi-GAN; expected the release's folder")


@pytest.mark.usefixtures("ready_encoder")
def test_parts_that_do_not_fit(tmp_path, release):
    folder, model, *_ = release
    whole = tmp_path / "theirs"
    shutil.copytree(folder, whole)
    torch.save(soft_model(model, 20), whole / "HuBERT_soft" / "soft_model.pt")
    with pytest.raises(UsageError, match=r"takes content with channels 24; .* gives 20"):
        import_model(KIND, whole, tmp_path / "ours", "ours")
    assert [place.name for place in tmp_path.iterdir()] == ["theirs"]


@pytest.mark.parametrize("name", ["ours", "ours-speaker"])
def test_what_is_there_is_left(tmp_path, release, name):
    folder, *_ = release
    (tmp_path / name).mkdir()
    with pytest.raises(OutputError, match=f"{name}: exists already"):
        import_model(KIND, folder, tmp_path / "ours", "ours")
    assert [place.name for place in tmp_path.iterdir()] == [name]

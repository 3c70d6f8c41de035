from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyloudnorm
import pytest
import soundfile

from sordino.anonymize import render as render_module
from sordino.anonymize.base import Anonymizer
from sordino.anonymize.mcadams import McAdams
from sordino.anonymize.render import Shape, render
from sordino.errors import SordinoError
from sordino.privacy.keys import SecretKey
from tests.helpers import voice, write_voice

KEY = SecretKey.from_secret(b"a key for the tests")
MCADAMS = McAdams(alpha=0.7)


class Louder(Anonymizer):
    """Multiplies by a constant: everything about the output is known."""

    name, version, protection = "louder", 1, "none"

    def __init__(self, factor: float = 40.0) -> None:
        super().__init__()
        self.factor = factor

    def parameters(self):
        return {}

    def transform(self, blocks, sample_rate, draws) -> Iterator[np.ndarray]:
        for block in blocks:
            yield block * self.factor


class Broken(Louder):
    def transform(self, blocks, sample_rate, draws):
        for block in blocks:
            yield np.where(np.arange(block.shape[1]) == 7, np.nan, block)


class Short(Louder):
    def transform(self, blocks, sample_rate, draws):
        for block in blocks:
            yield block[:, 1:]


def run(source, target, anonymizer=MCADAMS, form="wav", shape=None):
    draws = anonymizer.draws(KEY, "anna")
    return render(
        source,
        target,
        anonymizer,
        draws,
        format_name=form,
        shape=shape or Shape(),
        scratch=target.parent,
    )


def test_loudness_rate_channels_and_length_stay(tmp_path):
    source = write_voice(tmp_path / "in.wav", 3.0, 44100, channels=2)
    rendered = run(source, tmp_path / "out.wav")
    before, rate = soundfile.read(source)
    after, same_rate = soundfile.read(tmp_path / "out.wav")
    assert (after.shape, same_rate) == (before.shape, rate)
    meter = pyloudnorm.Meter(rate)
    assert meter.integrated_loudness(after) == pytest.approx(
        meter.integrated_loudness(before), abs=0.2
    )
    assert (rendered.sample_rate, rendered.channels, rendered.samples) == (rate, 2, len(before))
    assert rendered.loudness_change == pytest.approx(0, abs=0.2)


def test_file_equals_the_arrays_result(tmp_path):
    source = write_voice(tmp_path / "in.wav", 2.0, subtype="FLOAT")
    run(source, tmp_path / "out.wav")
    samples, rate = soundfile.read(source, dtype="float32")
    expected = MCADAMS.anonymize(samples, rate, speaker="anna", key=KEY)
    np.testing.assert_allclose(soundfile.read(tmp_path / "out.wav")[0], expected, atol=1e-5)


def test_gain_of_the_system_is_undone(tmp_path):
    source = write_voice(tmp_path / "in.wav", 2.0, subtype="FLOAT")
    run(source, tmp_path / "out.wav", Louder())
    np.testing.assert_allclose(
        soundfile.read(tmp_path / "out.wav")[0], soundfile.read(source)[0], atol=1e-5
    )


@pytest.mark.parametrize("form", ["wav", "flac", "mp3", "ogg"])
def test_nothing_clips(tmp_path, form):
    loud = voice(1.0, 16000)
    loud = np.sign(loud) * np.minimum(1, np.abs(loud) * 10)
    soundfile.write(tmp_path / "in.wav", loud, 16000, subtype="FLOAT")
    run(tmp_path / "in.wav", tmp_path / "out", form=form)
    assert np.abs(soundfile.read(tmp_path / "out")[0]).max() < 1.0


def test_other_rate_and_one_channel_if_asked(tmp_path):
    source = write_voice(tmp_path / "in.wav", 1.0, 44100, channels=2)
    rendered = run(source, tmp_path / "out.wav", shape=Shape(16000, mono=True))
    info = soundfile.info(tmp_path / "out.wav")
    assert (info.samplerate, info.channels, info.frames) == (16000, 1, 16000)
    assert (rendered.sample_rate, rendered.channels, rendered.samples) == (16000, 1, 16000)


def test_sample_type_stays(tmp_path):
    for subtype in ("PCM_16", "PCM_24", "PCM_32", "FLOAT", "ULAW"):
        source = write_voice(tmp_path / "in.wav", 0.2, subtype=subtype)
        run(source, tmp_path / "out.wav")
        assert soundfile.info(tmp_path / "out.wav").subtype == subtype


@pytest.mark.parametrize("anonymizer", [Broken(), Short()])
def test_a_faulty_system_leaves_nothing(tmp_path, anonymizer):
    source = write_voice(tmp_path / "in" / "in.wav")
    (tmp_path / "out").mkdir()
    with pytest.raises(SordinoError):
        run(source, tmp_path / "out" / "out.wav", anonymizer)
    assert list((tmp_path / "out").iterdir()) == []


def test_temporary_store_holds_no_original_samples(tmp_path, monkeypatch):
    """What is spilled to disk is what the system gave out, never what it took in."""
    monkeypatch.setattr(render_module, "_IN_MEMORY", 1)
    spilled = []
    original = McAdams.transform

    def watched(self, blocks, sample_rate, draws):
        for block in original(self, blocks, sample_rate, draws):
            spilled.append(block.astype(np.float32))
            yield block

    monkeypatch.setattr(McAdams, "transform", watched)
    stored = []
    real = render_module._stored

    def looked_at(store, channels, samples):
        store.seek(0)
        stored.append(np.frombuffer(store.read(), np.float32))
        return real(store, channels, samples)

    monkeypatch.setattr(render_module, "_stored", looked_at)
    source = write_voice(tmp_path / "in.wav", 2.0)
    run(source, tmp_path / "out.wav")
    np.testing.assert_array_equal(stored[0], np.concatenate(spilled, axis=1)[0])
    assert not np.allclose(stored[0], soundfile.read(source)[0], atol=1e-3)


def test_loudness_that_the_limiter_takes_is_made_up(tmp_path):
    """Loud speech whose changed peaks would clip still comes out as loud as it was."""
    speech = voice(4.0, 16000)[:, 0]
    soundfile.write(tmp_path / "in.wav", speech * 0.99 / np.abs(speech).max(), 16000)
    rendered = run(tmp_path / "in.wav", tmp_path / "out.wav", McAdams(alpha=0.5))
    assert rendered.loudness_change == pytest.approx(0, abs=0.3)
    assert np.abs(soundfile.read(tmp_path / "out.wav")[0]).max() < 1.0

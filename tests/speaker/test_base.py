from __future__ import annotations

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sordino.audio.recording import Recording
from sordino.errors import AudioError
from sordino.speaker.base import SpeakerEncoder, mean_vector


class Extremes(SpeakerEncoder):
    """Lowest and highest sample."""

    name = "extremes"
    dimension = 2
    sample_rate = 16000

    def embed(self, recording: Recording) -> np.ndarray:
        if recording.samples.shape[1] < 2:
            raise AudioError("is too short")
        return np.array([recording.samples.min(), recording.samples.max()], dtype=np.float32)


def recording(*samples: float) -> Recording:
    return Recording(np.array([samples], dtype=np.float32), 16000)


def test_many_are_taken_one_after_another():
    taken = []

    def recordings():
        for value in (0.25, 0.5, 0.75):
            taken.append(value)
            yield recording(-value, value)

    vectors = Extremes().embed_many(recordings())
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, [[-0.25, 0.25], [-0.5, 0.5], [-0.75, 0.75]])
    assert Extremes().embed_many([]).shape == (0, 2)


def test_an_error_tells_which_recording():
    with pytest.raises(AudioError, match=r"^recording 1: is too short$"):
        Extremes().embed_many([recording(0, 1), recording(0)])


def test_blocks_and_files(tmp_path):
    samples = np.random.default_rng(0).uniform(-1, 1, (2, 200_000)).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", samples.T, 16000, subtype="FLOAT")
    whole = Extremes().embed(Recording(samples, 16000))
    np.testing.assert_array_equal(Extremes().embed_blocks(np.split(samples, 5, 1), 16000), whole)
    np.testing.assert_array_equal(Extremes().embed_file(tmp_path / "a.wav"), whole)


def test_errors_of_files_name_them(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(1), 16000)
    with pytest.raises(AudioError, match=r"a\.wav: is too short$"):
        Extremes().embed_file(str(tmp_path / "a.wav"))
    with pytest.raises(AudioError, match=r"b\.wav: cannot be opened"):
        Extremes().embed_file(tmp_path / "b.wav")
    with pytest.raises(AudioError, match="no samples"):
        Extremes().embed_blocks([], 16000)


def test_mean_of_directions():
    np.testing.assert_allclose(mean_vector([[3, 4]]), [3, 4], rtol=1e-6)
    # A long vector counts no more than a short one; the length is the mean length.
    mean = mean_vector([[100, 0], [0, 1]])
    np.testing.assert_allclose(mean, 50.5 * np.array([1, 1]) / np.sqrt(2), rtol=1e-6)
    weighted = mean_vector([[100, 0], [0, 1]], [1, 3])
    np.testing.assert_allclose(weighted / weighted[0], [1, 3], rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(weighted), (100 + 3) / 4, rtol=1e-6)


def test_mean_of_nothing_and_of_opposites():
    np.testing.assert_array_equal(mean_vector([[1, 0], [-1, 0]]), [0, 0])
    np.testing.assert_array_equal(mean_vector([[0, 0]]), [0, 0])
    np.testing.assert_allclose(mean_vector([[0, 0], [2, 0]]), [1, 0])


@given(
    hnp.arrays(np.float32, (4, 3), elements=st.floats(0.25, 4, width=32)),
    st.permutations(range(4)),
    st.floats(0.5, 2),
)
def test_mean_does_not_depend_on_order_and_scales(vectors, order, scale):
    mean = mean_vector(vectors)
    assert mean.dtype == np.float32
    np.testing.assert_allclose(mean_vector(vectors[order]), mean, rtol=1e-5)
    np.testing.assert_allclose(mean_vector(vectors * scale), scale * mean, rtol=1e-5)

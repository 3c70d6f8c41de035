from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance, sex_of
from sordino.errors import AudioError, UsageError

RATE = 8000


@pytest.fixture
def ramp(tmp_path: Path) -> Path:
    """Forty seconds, longer than a block, whose every sample tells its place."""
    path = tmp_path / "ramp.wav"
    places = np.arange(40 * RATE) / 2**20
    soundfile.write(path, np.stack([places, -places], axis=1), RATE, subtype="FLOAT")
    return path


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [
        (None, None, 0, 40 * RATE),
        (1.0, 2.5, RATE, 2.5 * RATE),
        (None, 0.5, 0, 0.5 * RATE),
        (39.0, None, 39 * RATE, 40 * RATE),
        (8.0, 25.0, 8 * RATE, 25 * RATE),
        (39.0, 40.4, 39 * RATE, 40 * RATE),
        (0.00004, 0.0003, 0, 2),
    ],
)
def test_a_part_of_a_recording_is_read(
    ramp: Path, start: float | None, end: float | None, first: float, last: float
) -> None:
    recording = Utterance("a", ramp, "ann", start=start, end=end).read()
    places = np.arange(first, last, dtype=np.float32) / 2**20
    np.testing.assert_array_equal(recording.samples, np.stack([places, -places]))
    assert recording.sample_rate == RATE


def test_a_whole_file_is_what_recording_reads(ramp: Path) -> None:
    whole = Recording.read(ramp)
    np.testing.assert_array_equal(Utterance("a", ramp, "ann").read().samples, whole.samples)


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [(40.0, 41.0, "40 s to 41 s"), (50.0, None, "50 s to its end"), (39.0, 40.6, "39 s to 40.6 s")],
)
def test_a_recording_that_is_too_short_is_an_error(
    ramp: Path, start: float, end: float | None, wanted: str
) -> None:
    with pytest.raises(AudioError) as caught:
        Utterance("a", ramp, "ann", start=start, end=end).read()
    assert str(caught.value) == f"{ramp}: lasts 40.000 s; the utterance should be in {wanted}"


def test_what_is_no_audio_is_told_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "1.wav"
    path.write_text("no audio")
    for start in (None, 1.0):
        with pytest.raises(AudioError, match=r"1\.wav: is not audio"):
            Utterance("a", path, "ann", start=start).read()


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"speaker": ""},
        {"sex": "f"},
        {"sex": ""},
        {"duration": 0.0},
        {"duration": -1.0},
        {"duration": math.nan},
        {"duration": math.inf},
        {"start": -1.0},
        {"end": 0.0},
        {"start": 2.0, "end": 2.0},
        {"start": math.nan},
        {"end": math.nan},
    ],
)
def test_what_makes_no_utterance_is_refused(wrong: dict[str, object]) -> None:
    right = {"id": "a1", "path": Path("a1.wav"), "speaker": "ann"}
    assert Utterance(**right).id == "a1"
    with pytest.raises(UsageError, match="utterance"):
        Utterance(**{**right, **wrong})


def test_utterances_go_to_other_processes() -> None:
    utterance = Utterance("a", Path("a.wav"), "ann", sex="F", start=1.0)
    assert pickle.loads(pickle.dumps(utterance)) == utterance  # noqa: S301 - made here


@pytest.mark.parametrize(
    ("label", "sex"),
    [
        *((word, "F") for word in ("F", "f", "Female")),
        *((word, "M") for word in (" m ", "MALE")),
        *((word, None) for word in ("", "unknown", "Other", "-")),
    ],
)
def test_labels_of_sex(label: str, sex: str | None) -> None:
    assert sex_of(label) == sex


@pytest.mark.parametrize("label", ["femal", "mf", "1", "x"])
def test_other_labels_of_sex_are_refused(label: str) -> None:
    with pytest.raises(UsageError, match=f"the sex '{label}' is not F, M or empty"):
        sex_of(label)

"""Pools from folders of vectors and tables."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.training.importers.pool import read_pool

SPEAKERS = {"1001": ("F", 3), "103": ("M", 1), "22": ("F", 2)}


def write_pool(folder, dimension=6, pitch=True, seed=0):
    """A pool of three speakers; the vectors by utterance."""
    rng = np.random.default_rng(seed)
    (folder / "xvectors" / "deep").mkdir(parents=True)
    vectors = {}
    for speaker, (_, count) in SPEAKERS.items():
        for number in range(count):
            name = f"{speaker}_{number}"
            vectors[name] = (10 * rng.standard_normal(dimension)).astype("<f4")
            place = "xvectors/deep" if number else "xvectors"
            (folder / place / f"{name}.xvector").write_bytes(vectors[name].tobytes())
    (folder / "utt2spk").write_text("".join(f"{u} {u.split('_')[0]}\n" for u in vectors))
    genders = {speaker: sex.lower() for speaker, (sex, _) in SPEAKERS.items()} | {"999": "m"}
    (folder / "spk2gender").write_text("".join(f"{s} {g}\n" for s, g in genders.items()))
    if pitch:
        (folder / "spk2pitch").write_text("22 5.3 0.21\n103 4.75 0.17\n1001 5.2 0.2\n")
    return vectors


def sorted_by_pitch(pool):
    order = np.argsort(pool["pitch_mean"])
    return {name: array[order] for name, array in pool.items()}


def test_vectors_sexes_and_pitch(tmp_path):
    vectors = write_pool(tmp_path)
    pool = sorted_by_pitch(read_pool(tmp_path))
    expected = []
    for speaker in ("103", "1001", "22"):
        own = [v.astype(float) for name, v in vectors.items() if name.split("_")[0] == speaker]
        expected.append(np.mean([v / np.linalg.norm(v) for v in own], axis=0))
    assert pool.keys() == {"vectors", "sex", "pitch_mean", "pitch_deviation"}
    assert pool["vectors"].dtype == np.float32
    np.testing.assert_allclose(pool["vectors"], expected, atol=1e-6)
    assert pool["sex"].tolist() == ["M", "F", "F"]
    assert pool["pitch_mean"].tolist() == [4.75, 5.2, 5.3]
    assert pool["pitch_deviation"].tolist() == [0.17, 0.2, 0.21]


def test_nothing_tells_who_they_are(tmp_path):
    write_pool(tmp_path)
    pool = read_pool(tmp_path)
    assert not any(name in str(pool["sex"].tolist()) for name in SPEAKERS)
    # Nor does the order, which is that of the vectors.
    assert pool["vectors"].tolist() == sorted(pool["vectors"].tolist())


def test_pitch_is_measured_on_recordings(tmp_path):
    pytest.importorskip("swift_f0")
    write_pool(tmp_path, pitch=False)
    tones = {"1001": 210.0, "103": 110.0, "22": 180.0}
    lines = []
    for name in (tmp_path / "utt2spk").read_text().splitlines():
        utterance, speaker = name.split()
        time = np.arange(3 * 8000) / 8000
        bend = 0.05 * np.sin(2 * np.pi * 1.5 * time) / (2 * np.pi * 1.5)
        phase = 2 * np.pi * tones[speaker] * (time + bend)
        wave = sum(np.cos(k * phase) / k for k in range(1, 8))
        stereo = 0.1 * np.stack([wave, wave], axis=1)
        soundfile.write(tmp_path / f"{utterance}.wav", stereo, 8000)
        lines.append(f"{utterance} {utterance}.wav\n")
    (tmp_path / "wav.scp").write_text("".join(lines))
    pool = sorted_by_pitch(read_pool(tmp_path))
    np.testing.assert_allclose(np.exp(pool["pitch_mean"]), [110, 180, 210], rtol=0.01)
    # A bend of 5 % of the frequency, in natural logarithms, over whole periods.
    np.testing.assert_allclose(pool["pitch_deviation"], 0.05 / np.sqrt(2), rtol=0.15)
    soundfile.write(tmp_path / "103_0.wav", np.zeros(24000), 8000)
    with pytest.raises(UsageError, match="pool speaker 103: 0 frames of 10 ms are voiced"):
        read_pool(tmp_path)


def test_without_pitch(tmp_path):
    write_pool(tmp_path, pitch=False)
    with pytest.raises(
        UsageError, match=r"says nothing of the speakers' pitch; expected spk2pitch"
    ):
        read_pool(tmp_path)


def changed(folder, name, before, after):
    text = (folder / name).read_text()
    assert before in text
    (folder / name).write_text(text.replace(before, after))


@pytest.mark.parametrize(
    ("name", "before", "after", "message"),
    [
        ("utt2spk", "103_0 103\n", "", r"103_0\.xvector: .*utt2spk does not say whose it is"),
        ("utt2spk", "22_1 22", "22_1 22\n22_2 22", r"utt2spk, line 7: there is no 22_2\.xvector"),
        ("spk2gender", "22 f\n", "", "spk2gender: lacks the speaker 22"),
        ("spk2gender", "22 f\n", "22 female-ish\n", "spk2gender, line 3: the sex 'female-ish'"),
        ("spk2pitch", "22 5.3 0.21\n", "", "spk2pitch: lacks the speaker 22"),
        ("spk2pitch", "22 5.3 0.21\n", "22 5.3\n", "spk2pitch, line 1: expected a speaker, a mean"),
        ("spk2pitch", "22 5.3 0.21\n", "22 high low\n", "spk2pitch, line 1: expected a speaker"),
    ],
)
def test_tables_that_are_not_right(tmp_path, name, before, after, message):
    write_pool(tmp_path)
    changed(tmp_path, name, before, after)
    with pytest.raises(UsageError, match=message):
        read_pool(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has 0 bytes; expected four for each number"),
        (b"\0" * 23, "has 23 bytes"),
        (b"\0" * 24, r"is no speaker vector \(its length is 0\)"),
        (np.full(6, np.nan, "<f4").tobytes(), r"is no speaker vector \(its length is nan\)"),
        (np.ones(7, "<f4").tobytes(), "holds vectors of 6 and of 7 numbers"),
    ],
    ids=["empty", "odd", "zero", "nan", "longer"],
)
def test_files_that_are_no_vectors(tmp_path, content, message):
    write_pool(tmp_path)
    (tmp_path / "xvectors" / "103_0.xvector").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        read_pool(tmp_path)


def test_a_vector_twice_and_vectors_of_several_sizes_for_one_speaker(tmp_path):
    write_pool(tmp_path)
    (tmp_path / "103_0.xvector").write_bytes(np.ones(6, "<f4").tobytes())
    with pytest.raises(UsageError, match=r"103_0\.xvector: stands in .* too"):
        read_pool(tmp_path)
    (tmp_path / "103_0.xvector").unlink()
    (tmp_path / "xvectors" / "1001_0.xvector").write_bytes(np.ones(5, "<f4").tobytes())
    with pytest.raises(UsageError, match="holds vectors of 5 and of 6 numbers"):
        read_pool(tmp_path)

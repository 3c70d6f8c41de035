"""Frames on disk and the crops that are taken of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")
pytest.importorskip("swift_f0", reason="swift-f0 is in the extra evaluate, not installed")

from torch.utils.data import default_collate

from sordino.anonymize.input_level import levelled
from sordino.anonymize.windows import cells
from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.dsp.excitation import harmonic
from sordino.dsp.pitch import load_tracker
from sordino.errors import AudioError, UsageError
from sordino.models.find import load_model
from sordino.models.session import Session
from sordino.speaker.encoders import load_encoder
from sordino.training.features.base import load_features
from sordino.training.vocoder.data import Crops, crop, surroundings
from sordino.training.vocoder.frames import (
    Sources,
    content_facts,
    content_of,
    f0_of,
    make_frames,
    standard_of,
    training_wave,
    wave_of,
)
from sordino.training.vocoder.recipe import DataSettings, SpeakerSettings
from tests.helpers import voice
from tests.talkers import talkers
from tests.training.tiny_hubert import save_hubert
from tests.training.vocoder.toys import CHANNELS, toy_content

RATE = 16000
BOTH = ("harmonic", "noise")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    content = toy_content(tmp_path_factory.mktemp("models") / "content").folder
    return Sources(str(content), "ecapa-small", "swift", 8000, 40000)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return talkers(tmp_path_factory.mktemp("talkers"), speakers=3, utterances=3)


@pytest.fixture(scope="module")
def framed(corpus, sources, tmp_path_factory):
    folder = tmp_path_factory.mktemp("frames")
    return make_frames(corpus.utterances, folder, sources, 1, quiet=True)


def crops(framed, speaker=None, **data):
    known, vectors = framed
    settings = DataSettings(**{"segment": 3200, "seed": 1, **data})
    return Crops(known, vectors, settings, speaker or SpeakerSettings(), BOTH)


class TestTrainingWave:
    def test_has_the_level_of_run_time(self):
        spoken = voice(4.0, RATE)[:, 0].astype(np.float32)
        spoken = 0.3 * spoken[:63360]
        mine = training_wave(Recording(spoken[None], RATE), 10**6)
        pieces = levelled(cells([spoken[None]], 10), ahead=40)
        theirs = np.concatenate([piece.tracks["wave"] for piece in pieces], axis=1)[0]
        ratio = theirs[: mine.size].std() / mine.std()
        assert 0.8 < ratio < 1.25

    def test_never_clips(self):
        clicks = np.zeros((1, 16000), np.float32)
        clicks[0, ::4000] = 1.0
        clicks[0] += 0.001 * np.random.default_rng(0).normal(size=16000).astype(np.float32)
        assert np.abs(training_wave(Recording(clicks, RATE), 16000)).max() <= 1.0

    def test_is_whole_rows_of_the_beginning_at_16_khz(self):
        loud = voice(1.0, 44100, channels=2).T.astype(np.float32)
        assert training_wave(Recording(loud, 44100), 10**6).shape == (16000,)
        assert training_wave(Recording(loud, 44100), 1000).shape == (960,)

    def test_silence_stays(self):
        assert not training_wave(Recording(np.zeros((1, 16000), np.float32), RATE), 16000).any()


class TestFrames:
    def test_are_those_of_the_models(self, corpus, framed, sources):
        known, vectors = framed
        assert [each.utterance for each in known] == list(corpus)
        for place in (0, 4):
            utterance = corpus.utterances[place]
            wave = training_wave(utterance.read(), sources.longest)
            rows = known[place].read()
            assert known[place].rows == rows.size == wave.size // 320
            assert np.abs(wave_of(rows) - wave).max() < 1 / 32767
            session = Session(load_model(sources.content, "content"), "content.onnx")
            (content,) = session.run({"wave": wave[None]}, ["content"])
            assert np.allclose(content_of(rows), content[0], rtol=1e-3, atol=1e-3)
            assert np.allclose(f0_of(rows), load_tracker("swift").track(wave), rtol=1e-6)
            vector = load_encoder("ecapa-small").embed(Recording(wave[None], RATE))
            assert np.allclose(vectors[place], vector / np.linalg.norm(vector), atol=1e-6)

    def test_of_content_at_100_hz(self, corpus, sources, tmp_path):
        content = toy_content(tmp_path / "content", hop=160).folder
        known, _ = make_frames(
            corpus.utterances[:1],
            tmp_path / "frames",
            replace(sources, content=str(content)),
            1,
            quiet=True,
        )
        assert content_of(known[0].read(2, 3)).shape == (6, CHANNELS)

    def test_without_content_hold_none(self, corpus, framed, sources, tmp_path):
        some = corpus.utterances[:1]
        known, _ = make_frames(some, tmp_path, replace(sources, content=""), 1, quiet=True)
        rows = known[0].read()
        assert content_of(rows).shape == (len(rows), 0)
        assert np.array_equal(wave_of(rows), wave_of(framed[0][0].read()))

    def test_a_teachers_features_take_the_place_of_content(self, corpus, sources, tmp_path):
        pytest.importorskip("transformers", reason="needs the extra ssl")
        hubert = save_hubert(tmp_path / "hubert")
        features = {"source": "ssl", "ssl": {"source": str(hubert)}, "layer": 1}
        chosen = replace(sources, content="", features=json.dumps(features), device="cpu")
        known, _ = make_frames(corpus.utterances[:4], tmp_path / "frames", chosen, 1, quiet=True)
        teacher = load_features(features, device="cpu")
        rows = [content_of(each.read()) for each in known]
        wave = training_wave(corpus.utterances[0].read(), sources.longest)
        assert np.allclose(rows[0], teacher.features(wave), atol=2e-3)
        standard = standard_of(known)
        every = np.concatenate([each[::10] for each in rows]).astype(np.float64)
        assert np.allclose(standard.mean, every.mean(axis=0), atol=1e-4)
        assert np.allclose(standard.deviation, every.std(axis=0) + 1e-3, atol=1e-4)

    def test_processes_make_the_same(self, corpus, framed, sources, tmp_path):
        found, vectors = make_frames(corpus.utterances[:3], tmp_path, sources, 2, quiet=True)
        assert np.array_equal(vectors, framed[1][:3])
        for mine, theirs in zip(found, framed[0], strict=False):
            assert mine.path.read_bytes() == theirs.path.read_bytes()

    def test_too_short_and_silent_ones_are_left_out(self, corpus, sources, tmp_path):
        soundfile.write(tmp_path / "short.wav", 0.1 * voice(0.4, RATE), RATE)
        soundfile.write(tmp_path / "silent.wav", np.zeros(RATE), RATE)
        odd = [Utterance(name, tmp_path / f"{name}.wav", "x") for name in ("short", "silent")]
        known, vectors = make_frames(
            [*odd, corpus.utterances[0]], tmp_path / "frames", sources, 1, quiet=True
        )
        assert [each.utterance.id for each in known] == ["v0-0"]
        assert vectors.shape == (1, 192)
        with pytest.raises(UsageError, match=r"0\.5 s"):
            make_frames(odd, tmp_path / "frames", sources, 1, quiet=True)

    def test_what_cannot_be_read_is_named(self, sources, tmp_path):
        (tmp_path / "odd.wav").write_bytes(b"no sound")
        with pytest.raises(AudioError, match=r"odd\.wav"):
            make_frames(
                [Utterance("odd", tmp_path / "odd.wav", "x")], tmp_path, sources, 1, quiet=True
            )

    def test_content_has_to_fit(self, tmp_path):
        bundle = toy_content(tmp_path / "content", hop=640)
        with pytest.raises(UsageError, match="its hop is 640"):
            content_facts(bundle)


class TestCrops:
    def test_are_functions_of_their_numbers(self, framed):
        one, other = crops(framed), crops(framed)
        for number in (13, 2, 30, 2):
            for mine, theirs in zip(one[number], other[number], strict=True):
                assert torch.equal(mine, theirs)
        assert not torch.equal(one[2].wave, crops(framed, seed=2)[2].wave)

    def test_every_utterance_comes_once_in_a_pass(self, framed):
        some = crops(framed)
        vectors = framed[1]

        def heard(numbers):
            return [int(np.argmax(vectors @ some[number].speaker.numpy())) for number in numbers]

        first, second = heard(range(9)), heard(range(9, 18))
        assert sorted(first) == sorted(second) == list(range(9))
        assert first != second

    def test_all_of_a_crop_is_of_the_same_moment(self, framed):
        known, vectors = framed
        for number in range(20):
            item = crops(framed)[number]
            index = int(np.argmax(vectors @ item.speaker.numpy()))
            rows = known[index].read()
            wave = wave_of(rows)
            starts = range(0, wave.size - 3199, 320)
            (first,) = (s for s in starts if np.array_equal(wave[s : s + 3200], item.wave))
            row = first // 320
            assert np.array_equal(item.content, content_of(rows)[row : row + 10])
            assert np.array_equal(item.f0, f0_of(rows)[2 * row : 2 * row + 20])
            assert known[index].utterance.speaker == f"v{int(item.who)}"

    @pytest.mark.parametrize("first", [0, 7, 40])
    def test_harmonic_source_is_a_piece_of_the_wholes(self, first, framed):
        known = framed[0][0]
        track = f0_of(known.read())
        rows = min(10, known.rows - first)
        item = crop(known, first, rows, framed[1][0], 0, BOTH, np.random.default_rng(5))
        before = 2 * first
        _, ended = harmonic(track[:before], hop=160, sample_rate=RATE, after=track[before])
        phase = np.random.default_rng(5).random() - ended
        whole, _ = harmonic(track, hop=160, sample_rate=RATE, phase=phase % 1)
        piece = whole[320 * first :][: 320 * rows]
        assert piece.any()
        assert np.allclose(item.harmonic, piece, atol=1e-3)
        assert item.noise.shape == item.wave.shape

    def test_sources_are_left_out_where_nobody_wants_them(self, framed):
        some = Crops(*framed, DataSettings(segment=3200), SpeakerSettings(), ())
        assert some[0].harmonic.shape == some[0].noise.shape == (0,)
        assert some[0].wave.shape == (3200,)

    def test_mixed_vectors_are_the_mean_or_the_own(self, framed):
        known, vectors = framed
        some = crops(framed, SpeakerSettings(of="mixed"))
        found = []
        for number in range(30):
            item = some[number]
            own = [i for i, each in enumerate(known) if each.utterance.speaker == f"v{item.who}"]
            where = next(i for i in own if item.wave.numpy() in _Windows(wave_of(known[i].read())))
            mean = vectors[own].mean(axis=0)
            wanted = np.stack([vectors[where], mean / np.linalg.norm(mean)])
            near = np.abs(wanted - item.speaker.numpy()).max(axis=1) < 1e-6
            assert near.sum() == 1
            found.append(int(near.argmax()))
        assert 8 < sum(found) < 22

    @pytest.mark.parametrize("of", ["utterance", "another", "speaker"])
    def test_vector_is_the_one_asked_for(self, of, framed):
        known, vectors = framed
        some = crops(framed, SpeakerSettings(of=of))
        for number in range(12):
            item = some[number]
            own = [i for i, each in enumerate(known) if each.utterance.speaker == f"v{item.who}"]
            where = next(i for i in own if item.wave.numpy() in _Windows(wave_of(known[i].read())))
            near = {i for i in own if np.allclose(vectors[i], item.speaker, atol=1e-6)}
            mean = vectors[own].mean(axis=0)
            if of == "utterance":
                assert where in near
            elif of == "another":
                assert near
                assert where not in near
            else:
                assert np.allclose(item.speaker, mean / np.linalg.norm(mean), atol=1e-6)

    def test_vector_with_noise_and_dropout_keeps_its_length(self, framed):
        some = crops(framed, SpeakerSettings(noise=0.5, dropout=0.25))
        plain = crops(framed)
        for number in range(4):
            vector = some[number].speaker.numpy()
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
            assert 0.1 < np.mean(vector == 0) < 0.4
            assert 0.4 < vector @ plain[number].speaker.numpy() < 0.95

    def test_whole_in_anothers_voice(self, framed):
        some = crops(framed)
        own, other = some.whole(0, 30), some.whole(0, 30, as_index=some.stranger(0))
        assert some.stranger(0) == 3
        assert torch.equal(own.wave, other.wave)
        assert own.wave.shape == (30 * 320,)
        assert np.array_equal(other.speaker, framed[1][3])
        voiced = own.f0 > 0
        ratios = (other.f0[voiced] / own.f0[voiced]).numpy()
        assert np.ptp(ratios) < 1e-5
        f0 = [f0_of(framed[0][i].read()) for i in (0, 3)]
        wanted = [np.log(track[track > 0]).mean() for track in f0]
        assert np.log(ratios[0]) == pytest.approx(wanted[1] - wanted[0], abs=1e-4)


class _Windows:
    """All crops that begin with a row."""

    def __init__(self, wave: np.ndarray) -> None:
        self.wave = wave

    def __contains__(self, crop: np.ndarray) -> bool:
        starts = range(0, self.wave.size - crop.size + 1, 320)
        return any(np.array_equal(self.wave[s : s + crop.size], crop) for s in starts)


class TestSurroundings:
    @pytest.mark.parametrize("first", [0, 5, 11, 40])
    def test_hold_the_crop_where_they_say(self, framed, first):
        known = max(framed[0], key=lambda each: each.rows)
        first = min(first, known.rows - 10)
        wave, place = surroundings(known, first, 10, 30)
        assert wave.size == 30 * 320
        np.testing.assert_array_equal(wave[place : place + 3200], wave_of(known.read(first, 10)))
        start = first - place // 320
        assert 0 <= start <= known.rows - 30
        np.testing.assert_array_equal(wave, wave_of(known.read(start, 30)))

    def test_silence_follows_what_is_too_short(self, framed):
        known = framed[0][0]
        wave, place = surroundings(known, 3, 10, known.rows + 7)
        assert place == 3 * 320
        np.testing.assert_array_equal(wave[: -7 * 320], wave_of(known.read()))
        assert not wave[-7 * 320 :].any()

    def test_come_with_crops_that_are_wanted_so(self, framed):
        settings = DataSettings(segment=3200)
        some = Crops(*framed, settings, SpeakerSettings(), BOTH, heard=6400)
        plain = Crops(*framed, settings, SpeakerSettings(), BOTH)
        for number in range(5):
            item, place = some[number], int(some[number].place)
            assert torch.equal(item.heard[place : place + 3200], item.wave)
            assert torch.equal(item.wave, plain[number].wave)
            assert not plain[number].heard.numel()


class TestOthers:
    def test_speak_the_same_moment_at_their_own_pitch(self, framed):
        known, vectors = framed
        some = Crops(*framed, DataSettings(segment=3200), SpeakerSettings(), BOTH, others=True)
        speakers = sorted({each.utterance.speaker for each in known})
        registers, means = [], []
        for speaker in speakers:
            own = [index for index, each in enumerate(known) if each.utterance.speaker == speaker]
            track = np.concatenate([f0_of(known[index].read()) for index in own])
            registers.append(np.log(track[track > 0]).mean())
            mean = vectors[own].mean(axis=0)
            means.append(mean / np.linalg.norm(mean))
        strangers = set()
        for number in range(30):
            item = some[number]
            other = int(np.argmax(np.array(means) @ item.other_speaker.numpy()))
            np.testing.assert_allclose(item.other_speaker, means[other], atol=1e-5)
            ratio = np.exp(registers[other] - registers[int(item.who)])
            np.testing.assert_allclose(item.other_f0, ratio * item.f0, rtol=1e-4)
            assert item.other_harmonic.shape == item.harmonic.shape
            strangers.add(other)
        assert len(strangers) == len(speakers)

    def test_take_the_place_of_the_first_items(self, framed):
        some = Crops(*framed, DataSettings(segment=3200), SpeakerSettings(), BOTH, others=True)
        batch = default_collate([some[number] for number in range(4)])
        others = batch.as_other(2)
        assert torch.equal(others.f0, batch.other_f0[:2])
        assert torch.equal(others.speaker, batch.other_speaker[:2])
        assert torch.equal(others.harmonic, batch.other_harmonic[:2])
        assert torch.equal(others.noise, batch.noise[:2])

